//! The line protocol: what a line becomes, every mistake with its place, and any cutting of the input.

use super::*;
use crate::key::{Key, KeyMaker};
use proptest::prelude::*;

fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, unit_ns: i64) -> Vec<String> {
    let mut parser = InfluxParser::new(unit_ns);
    let mut items = Vec::new();
    let show = |item: Result<InfluxSample<'_>, InfluxError>| match item {
        Ok(InfluxSample { line, time_ns, series, value, .. }) => {
            format!("{line} {time_ns:?} {series} {value:?}")
        }
        Err(error) => error.to_string(),
    };
    for piece in pieces {
        parser.feed(piece, |item| items.push(show(item)));
    }
    parser.finish(|item| items.push(show(item)));
    items
}

fn of(text: &str) -> Vec<String> {
    items([text.as_bytes()], 1)
}

#[test]
fn fields_become_series_with_their_tags_sorted() {
    let text = "weather,site=b,area=a temp=21.5,raining=f,n=3i,u=4u 1700000000000000001\n\n# note\n\
                m f=-1e-3\r\n";
    let labels = "{area=\"a\",site=\"b\"}";
    let time = "Some(1700000000000000001)";
    assert_eq!(
        of(text),
        [
            format!("1 {time} weather_temp{labels} Float(21.5)"),
            format!("1 {time} weather_raining{labels} Boolean(false)"),
            format!("1 {time} weather_n{labels} Integer(3)"),
            format!("1 {time} weather_u{labels} Unsigned(4)"),
            "4 None m_f Float(-0.001)".to_owned(),
        ]
    );
}

#[test]
fn escapes_are_undone_and_made_anew_in_names() {
    let text = r#"a\ b\,c,k\=e\ y=v"1\ 2\x f\,1="x\"y\\z, =\a" 5"#;
    assert_eq!(of(text), [r#"1 Some(5) {"a b,c_f,1","k=e y"="v\"1 2\\x"} Text("x\"y\\z, =\\a")"#]);
    assert_eq!(of("living\\ room temp=1"), ["1 None living room_temp Float(1.0)"]);
    // One that could be taken for a metric with a label stands in quotes.
    assert_eq!(
        of("a{b\\=\"1 f=1,\"}=2"),
        ["1 None {\"a{b=\\\"1_f\"} Float(1.0)", "1 None {\"a{b=\\\"1_\\\"}\"} Float(2.0)",]
    );
    // And one that could be taken for a metric whose label has lost its quotes.
    assert_eq!(of("nan{1 \\=7_\\=}=2"), ["1 None {\"nan{1_=7_=}\"} Float(2.0)"]);
    // As Prometheus writes it: the tag says the measurement again, which is no label.
    assert_eq!(
        of("ALERTS,__name__=ALERTS,host=a value=1\nup,__name__=up value=1"),
        ["1 None ALERTS_value{host=\"a\"} Float(1.0)", "2 None up_value Float(1.0)"]
    );
    // A backslash before any other letter is one, also before one of several bytes.
    assert_eq!(of("m\\ä f=1"), ["1 None m\\ä_f Float(1.0)"]);
    assert_eq!(of("m f=\"\""), ["1 None m_f Text(\"\")"]);
    // Two of them are two, and the second takes what is behind it into the value.
    assert_eq!(
        of(r"m,k=C:\\ Temp,j=a\\,b,l=c\\d f=1 5"),
        [r#"1 Some(5) m_f{j="a\\,b",k="C:\\ Temp",l="c\\\\d"} Float(1.0)"#]
    );
}

#[test]
fn what_stands_before_a_name_is_passed_over() {
    // Also of a series that was met before.
    let text = "\tm,h=a v=1 1\n\tm,h=a v=2 2\nm,h=a v=3 3\n \t\0m,h=a v=4 4\n";
    let expected = (1..5).map(|n| format!("{n} Some({n}) m_v{{h=\"a\"}} Float({n}.0)"));
    assert_eq!(of(text), expected.collect::<Vec<_>>());
}

#[test]
fn times_are_counted_in_the_unit_given() {
    assert_eq!(
        items([&b"m f=1 1700000000\n"[..]], 1_000_000_000),
        ["1 Some(1700000000000000000) m_f Float(1.0)"]
    );
    let far = items([&b"m f=1 1700000000000000000\n"[..]], 1_000);
    assert!(far[0].contains("expected a time from 1677 to 2262"), "{far:?}");
}

#[test]
fn every_mistake_is_one_error_with_its_place() {
    for (line, said) in [
        (",a=b f=1", "column 1: expected the name of a measurement, found \",a=b f=1\""),
        ("m", "column 2: expected a field as key=value, found the end of the line"),
        ("m,a f=1", "column 3: expected a tag as key=value, found \"a f=1\""),
        ("m,a= f=1", "column 5: expected the value of a tag, found \" f=1\""),
        ("m,a=1,a=2 f=1", "column 7: expected each tag once, found \"a\" twice"),
        ("m,a=b=c f=1", "column 6: expected a comma or a blank behind the value of a tag (an = in"),
        ("m,d=C:\\,site=b f=1", "column 13: expected a comma or a blank behind the value of a tag"),
        ("m,__name__=n f=1", "column 12: expected a tag __name__ that is the measurement"),
        ("m f=1,f=2", "column 7: expected each field once, found \"f\" twice"),
        ("m f", "column 3: expected a field as key=value, found \"f\""),
        (
            "m f=",
            "column 5: expected a number, an integer such as 3i or 3u, true, false, or text \
                  in quotes, found the end of the line",
        ),
        ("m f=nan", "column 5: expected a number"),
        ("m f=1e999", "column 5: expected a number that a float of 64 bits holds"),
        ("m f=99999999999999999999i", "column 5: expected an integer of 64 bits"),
        ("m f=-1u", "column 5: expected a number"),
        ("m f=\"x", "column 5: expected a closing quote"),
        ("m f=\"x\"y", "column 8: expected a comma or a blank behind the value, found \"y\""),
        ("m f=1 1.5", "column 7: expected a time as an integer"),
        ("m f=1 5 6", "column 7: expected a time as an integer"),
        ("m f=1, 5", "column 7: expected a field as key=value"),
    ] {
        let found = of(&format!("{line}\nok f=1\n"));
        assert_eq!(found.len(), 2, "{line}: {found:?}");
        assert!(found[0].starts_with(&format!("line 1, {said}")), "{line}: {}", found[0]);
        assert_eq!(found[1], "2 None ok_f Float(1.0)");
    }
}

#[test]
fn errors_quote_little() {
    let found = of(&format!("m f={}", "é".repeat(20_000)));
    assert!(found[0].contains(&format!("found \"{}...\"", "é".repeat(60))), "{}", found[0]);
    assert!(found[0].len() < 300);
}

#[test]
fn a_line_of_very_many_fields_is_read_and_a_double_found() {
    let fields: Vec<String> = (0..100_000).map(|n| format!("f{n}=1")).collect();
    let found = of(&format!("m {}\nm {},f7=2\n", fields.join(","), fields.join(",")));
    assert_eq!(found.len(), 100_001);
    assert_eq!(found[99_999], "1 None m_f99999 Float(1.0)");
    assert!(found[100_000].ends_with("expected each field once, found \"f7\" twice"));
}

#[test]
fn texts_may_have_line_breaks_and_a_forgotten_quote_costs_its_line() {
    let text = "m a=\"x\ny\",b=\"\\\"\n\",c=1i 5\nm d=\"x 6\nm e=1 7\n";
    let found = of(text);
    assert_eq!(found[0], "1 Some(5) m_a Text(\"x\\ny\")");
    assert_eq!(found[1], "1 Some(5) m_b Text(\"\\\"\\n\")");
    assert_eq!(found[2], "1 Some(5) m_c Integer(1)");
    assert!(found[3].starts_with("line 4, column 5: expected a closing quote"), "{found:?}");
    assert_eq!(found[4..], ["5 Some(7) m_e Float(1.0)"]);
}

/// As InfluxDB has it, whose lines end where no quote is open.
#[test]
fn lines_of_a_text_are_no_points_of_a_point_that_is_refused() {
    for bad in [
        "m v=x,s=\"a\nevil v=666 1\nb\" 1",
        "m,t s=\"a\nevil v=666 1\nb\" 1",
        "m s=\"a\nevil v=666 1\nb\",g=bad 1",
        "m s=\"a\nevil v=666 1\nb\" notatime",
        "m s=\"a\nevil v=666 1\nb\" 1 extra",
        // Behind a point whose quote was forgotten.
        "m a=\"forgot 1\nm v=x,b=\"a\nevil v=666 1\nb\" 2",
    ] {
        let found = of(&format!("{bad}\nok v=2 2\n"));
        let taken: Vec<&String> = found.iter().filter(|item| !item.starts_with("line")).collect();
        assert!(taken.len() == 1 && taken[0].contains("ok"), "{bad:?}: {found:?}");
    }
}

#[test]
fn lines_of_a_text_that_is_too_long_or_cut_off_are_no_points() {
    let prose = "it was said\nevil v=666 1\nand nothing else\n".repeat(LINE_BYTES_MAX / 32);
    let text = format!("a v=1 1\nm b=\"{prose}\" 2\nok v=2 2\n");
    let found = of(&text);
    assert!(found[1].starts_with("line 2, column 5: expected a closing quote"), "{:?}", &found[1]);
    assert!(found[2].contains("the lines from 3 to this one are not read"), "{:?}", found[2]);
    assert_eq!((found.len(), found[3].contains(" ok_v ")), (4, true), "{:?}", &found[..3]);
    for cut in [40, prose.len() / 2] {
        let found = of(&text[..cut]);
        assert_eq!(
            (found.len(), found[0].contains(" a_v ")),
            (3, true),
            "{cut}: {:?}",
            &found[..2]
        );
    }
}

#[test]
fn a_point_with_line_breaks_is_told_by_the_line_in_which_it_begins() {
    // A quote in a name is a letter, before the text and behind it.
    let text = "a b=1 1\nm\"x,t=\"o f\"=\"x\ny\",g\"h=\"z\n\\\"\",i\"=2i 5\nc d=1 7\n";
    assert_eq!(
        of(text),
        [
            "1 Some(1) a_b Float(1.0)".to_owned(),
            r#"2 Some(5) {"m\"x_f\"",t="\"o"} Text("x\ny")"#.to_owned(),
            r#"2 Some(5) {"m\"x_g\"h",t="\"o"} Text("z\n\"")"#.to_owned(),
            r#"2 Some(5) {"m\"x_i\"",t="\"o"} Integer(2)"#.to_owned(),
            "5 Some(7) c_d Float(1.0)".to_owned(),
        ]
    );
    for (point, said) in [
        ("m f=\"x\ny\",g=zz 5", "line 2, column 13: expected a number"),
        ("m f\"g=\"x\ny\",g\"=zz 5", "line 2, column 16: expected a number"),
        ("m f=\"x\ny\" 5 6", "line 2, column 11: expected a time as an integer"),
        ("m f=\"x\ny\",f=1 5", "line 2, column 11: expected each field once"),
        ("m f=\"x\ny\"z 5", "line 2, column 10: expected a comma or a blank"),
    ] {
        let found = of(&format!("a b=1 1\n{point}\nc d=1 7\n"));
        assert_eq!(found.len(), 3, "{point}: {found:?}");
        assert!(found[1].starts_with(said), "{point}: {found:?}");
        assert_eq!(found[2], "4 Some(7) c_d Float(1.0)");
    }
    // Where a point begins in one of the lines, a quote was forgotten in the first.
    let found = of("m d=\"x 6\nm e=\"y\" 7\nm g=1 8\n");
    assert!(found[0].starts_with("line 1, column 5: expected a closing quote"), "{found:?}");
    assert_eq!(found[1..], ["2 Some(7) m_e Text(\"y\")", "3 Some(8) m_g Float(1.0)"]);
}

#[test]
fn a_dump_and_a_byte_order_mark_are_read() {
    let dump = "\u{feff}# DDL\nCREATE DATABASE telegraf WITH NAME autogen\n# DML\n\
                # CONTEXT-DATABASE:telegraf\nm f=1 5\n";
    assert_eq!(of(dump), ["5 Some(5) m_f Float(1.0)"]);
    assert_eq!(of("\u{feff}m f=1 5\n"), ["1 Some(5) m_f Float(1.0)"]);
    let found = of("m\0 \0f\0=\0\n\0m\0\n\0");
    assert!(found.len() == 1 && found[0].contains("found UTF-16"), "{found:?}");
}

#[test]
fn a_time_that_is_hardly_nanoseconds_is_refused_with_its_unit() {
    let mut parser = InfluxParser::of(Times::checked());
    let mut found = Vec::new();
    parser.feed(b"m f=1 1700000000\nm f=1 1\n", |item| {
        found.push(item.map(|sample| sample.time_ns).map_err(|error| error.to_string()));
    });
    let Err(said) = &found[0] else { panic!("{found:?}") };
    assert!(said.contains("line 1, column 7") && said.contains("--precision s"), "{said}");
    assert_eq!(found[1], Ok(Some(1)));
}

/// Text that is nearly line protocol.
fn near() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        ",", "=", " ", "\n", "\r\n", "\"", "\\", "#", "m", "1i", "1.5", "t", "é", "1700", "2u",
    ]);
    let piece = prop_oneof![
        8 => word.prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..5),
        4 => Just(b"\nm,a=b f=1,g=\"x\" 12\n".to_vec()),
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_items(
        bytes in prop_oneof![near(), prop::collection::vec(any::<u8>(), 0..600)],
        cut in 0..600_usize,
    ) {
        let whole = items([bytes.as_slice()], 1);
        let (head, tail) = bytes.split_at(cut.min(bytes.len()));
        prop_assert_eq!(items([head, tail], 1), whole.clone());
        prop_assert_eq!(items(bytes.chunks(1), 1), whole);
    }

    #[test]
    fn points_that_were_met_are_read_as_before(
        bytes in prop_oneof![near(), prop::collection::vec(any::<u8>(), 0..600)],
        cut in 0..1200_usize,
    ) {
        // What comes again has been met, behind a line that may be cut.
        let twice = [bytes.as_slice(), b"\n", bytes.as_slice()].concat();
        let whole = items([twice.as_slice()], 1);
        prop_assert_eq!(remembered([twice.as_slice()]).0, whole.clone());
        let (head, tail) = twice.split_at(cut.min(twice.len()));
        prop_assert_eq!(remembered([head, tail]).0, whole);
    }

    #[test]
    fn any_name_and_value_comes_back(
        tag in "[a-z ,=\"ä]{1,10}",
        value in any::<f64>().prop_filter("finite", |value| value.is_finite()),
        time_ns in any::<i64>(),
    ) {
        let escape = |text: &str| text.replace(',', "\\,").replace('=', "\\=").replace(' ', "\\ ");
        let line = format!("m,k={} f={value:?} {time_ns}", escape(&tag));
        let label = tag.replace('"', "\\\"");
        let expected = format!("1 Some({time_ns}) m_f{{k=\"{label}\"}} Float({value:?})");
        prop_assert_eq!(of(&line), [expected]);
    }
}

/// Remembers what was written, and shows all points as [`items`] does.
struct Remembers {
    reader: PointReader,
    known: std::collections::HashMap<Key, u32>,
    names: Vec<String>,
    at: (u64, Option<i64>),
    items: Vec<String>,
    before: usize,
    met: usize,
}

impl Points for Remembers {
    type Series = u32;

    fn find(&self, key: Key) -> Option<u32> {
        self.known.get(&key).copied()
    }

    fn begin(&mut self, line: u64, time_ns: Option<i64>) {
        (self.at, self.before) = ((line, time_ns), self.items.len());
        self.met += 1;
    }

    fn field(&mut self, series: u32, value: InfluxValue<'_>) -> bool {
        let (line, time_ns) = self.at;
        self.items.push(format!("{line} {time_ns:?} {} {value:?}", self.names[series as usize]));
        // One that is not taken comes once more.
        value != InfluxValue::Integer(1)
    }

    fn leave(&mut self) {
        self.items.truncate(self.before);
    }

    fn whole(&mut self, line: u64, text: &str) {
        let Remembers { reader, known, names, items, .. } = self;
        reader.read((line, text), KeyMaker::new([3, 4]), |key, sample| {
            let InfluxSample { line, time_ns, series, value, .. } = sample;
            items.push(format!("{line} {time_ns:?} {series} {value:?}"));
            let place = names.iter().position(|name| name == series).unwrap_or_else(|| {
                names.push(series.to_owned());
                names.len() - 1
            });
            known.insert(key, place as u32);
        });
    }

    fn fault(&mut self, error: InfluxError) {
        self.items.push(error.to_string());
    }
}

/// The items of a remembering parser, and how many points had been met before.
fn remembered<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<String>, usize) {
    let maker = KeyMaker::new([3, 4]);
    let reader = PointReader::new(Times::default());
    let known = std::collections::HashMap::new();
    let (names, items) = (Vec::new(), Vec::new());
    let mut points = Remembers { reader, known, names, at: (0, None), items, before: 0, met: 0 };
    let mut parser = PointParser::new(Times::default());
    pieces.into_iter().for_each(|piece| parser.feed(piece, maker, &mut points));
    parser.finish(maker, &mut points);
    (points.items, points.met)
}

#[test]
fn points_that_come_again_are_met_whatever_their_values() {
    let text = "m,a=b f=1.5,g=\"x\" 5\nm,a=b f=2i,g=\"y\\\"\nz\" 6\nm,a=b g=t\nm,a=b f=1 x\nm,a=b f=1,f=2\n\
                m\\ n,a=\\= f=1\nm\\ n,a=\\= f=2\r\nm,a=b f=1,h=2\nm,a=b h=1i,f=2 7\n";
    let (found, met) = remembered([text.as_bytes()]);
    assert_eq!(found, of(text));
    // The second, the third, the one with blanks, and the last, which is left.
    assert_eq!(met, 4);
    let fields: Vec<String> = (0..100).map(|n| format!("f{n}=1")).collect();
    let line = format!("m {}\n", fields.join(","));
    let text = format!("{line}{line}m {},f7=2\n", fields.join(","));
    let (found, met) = remembered([text.as_bytes()]);
    assert_eq!((found, met), (of(&text), 1));
}

#[test]
fn a_live_text_is_judged_when_its_time_is_over() {
    let judged = |pieces: &[&str]| {
        let mut parser = InfluxParser::live(Times::default());
        let mut found = Vec::new();
        let mut item = |item: Result<InfluxSample<'_>, InfluxError>| {
            found.push(match item {
                Ok(sample) => format!("{} {}", sample.line, sample.series),
                Err(error) => error.to_string(),
            });
        };
        for piece in pieces {
            parser.feed(piece.as_bytes(), &mut item);
            parser.judge(&mut item);
        }
        parser.finish(&mut item);
        found
    };
    let found = judged(&["t v=\"forgot\n", "x v=1\ny v=2\n", "z v=3\n"]);
    assert!(found[0].starts_with("line 1, column 5: expected a closing quote"), "{found:?}");
    assert_eq!(found[1..], ["2 x_v", "3 y_v", "4 z_v"]);
    let found = judged(&["t v=\"one\n", "two\n", "x v=66\n", "end\"\nx v=1\n"]);
    assert!(found[1].starts_with("line 4, column 1: the lines from 2"), "{found:?}");
    assert_eq!((found.len(), found[2].as_str()), (3, "5 x_v"));
}
