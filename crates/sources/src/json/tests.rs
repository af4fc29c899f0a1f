//! JSON lines: both forms, mistakes, and bytes cut anywhere.

use super::*;
use crate::form::{Kind, Role};
use proptest::prelude::*;

fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    items_of(TextForm::default(), pieces)
}

fn items_of<'a>(form: TextForm, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut parser = JsonParser::of(form);
    let mut items = Vec::new();
    let mut item = |item: Result<JsonSample<'_>, JsonError>| {
        items.push(match item {
            Ok(JsonSample { sample: Sample { line, time_ns, series, value, .. }, .. }) => {
                format!("{line} {time_ns:?} {series} {value:?}")
            }
            Err(error) => error.to_string(),
        });
    };
    for piece in pieces {
        parser.feed(piece, &mut item);
    }
    parser.finish(&mut item);
    items
}

fn only(line: &str) -> String {
    let items = items([line.as_bytes()]);
    assert_eq!(items.len(), 1, "{items:?}");
    items.into_iter().next().unwrap()
}

#[test]
fn both_forms_are_read() {
    let input = "\u{feff}{\"time\":1700000000123456789,\"series\":\"temp\",\"value\":21.5}\r\n\n\
                 {\"value\":9007199254740993,\"series\":\"a\\u00e4\\\"\"}\n\
                 {\"time_ns\":1700000000.123456789,\"temp\":1,\"p\":2.5e3,\"on\":true}\n\
                 {\"time\":\"2023-11-14T22:13:20Z\",\"value\":null}\n{\"time\":null,\"x\":-0}";
    let expected = [
        "1 Some(1700000000123456789) temp Float(21.5)",
        "3 None aä\" Integer(9007199254740993)",
        "4 Some(1700000000123456789) temp Integer(1)",
        "4 Some(1700000000123456789) p Float(2500.0)",
        "4 Some(1700000000123456789) on Boolean(true)",
        "5 Some(1700000000000000000) value Float(NaN)",
        "6 None x Float(-0.0)",
    ];
    assert_eq!(items([input.as_bytes()]), expected);
}

#[test]
fn a_bad_line_is_one_error_and_takes_nothing() {
    for (line, said) in [
        ("nonsense", "line 1: column 1: expected one JSON object, found \"nonsense\""),
        ("[1]", "expected one JSON object"),
        ("{\"a\":1", "column 6: expected one JSON object, found the end of the line within it"),
        (
            "{",
            "expected one JSON object, found the end of the line within it (each object on one line",
        ),
        (
            "{\"a\":1}{\"b\":2}",
            "column 8: expected one JSON object, found \"{\\\"b\\\":2}\" (trailing characters)",
        ),
        ("{}", "found no value"),
        ("{\"time\":1}", "found no value"),
        ("{\"a\":1,\"b\":[\"x\"]}", "series \"b\": expected a number of 64 bits, true or false"),
        ("{\"a\":[1]}", "found [1]"),
        ("{\"a\":{\"b\":1}}", "series \"a\""),
        ("{\"a\":99999999999999999999}", "found 99999999999999999999"),
        ("{\"a\":1e999}", "found 1e999"),
        ("{\"a\":1,\"a\":2}", "\"a\" twice"),
        ("{\"time\":1,\"time_ns\":2,\"a\":1}", "twice"),
        ("{\"time\":true,\"a\":1}", "expected a time"),
        ("{\"time\":1e30,\"a\":1}", "expected a time"),
        ("{\"time\":\"2023-02-30T00:00:00Z\",\"a\":1}", "expected a date and time that exist"),
        ("{\"series\":1,\"value\":1}", "name of a series in quotes"),
        ("{\"series\":\"\",\"value\":1}", "name of a series, found nothing"),
        ("{\"\":1}", "name of a series, found nothing"),
        ("{\"series\":\"a\",\"value\":1,\"unit\":7}", "label \"unit\": expected a text"),
    ] {
        let found = only(line);
        assert!(found.starts_with("line 1: ") && found.contains(said), "{line}: {found}");
    }
    assert_eq!(items([&b"{\"a\":\xff}"[..]]).len(), 1);
    // After a bad line the next counts, with its number.
    assert_eq!(items([&b"?\n{\"a\":1}"[..]])[1], "2 None a Integer(1)");
}

#[test]
fn errors_quote_little() {
    let long = "x".repeat(100_000);
    for line in [format!("{{\"a\":[\"{long}\"]}}"), format!("{{\"{long}\":[]}}"), long.clone()] {
        assert!(only(&line).len() < 400, "{}", only(&line).len());
    }
    let nested = "[".repeat(500_000);
    assert!(only(&format!("{{\"a\":{nested}")).contains("expected one JSON object"));
}

#[test]
fn a_line_that_is_too_long_is_one_error() {
    let mut input = b"{\"a\":\"".to_vec();
    input.resize(3 * LINE_BYTES_MAX, b'x');
    input.extend(b"\n{\"a\":1}\n");
    let mut expected = items([input.as_slice()]);
    assert_eq!(expected.len(), 2);
    assert!(expected[0].contains("longer than 1048576 bytes"));
    assert_eq!(expected.remove(1), "2 None a Integer(1)");
}

#[test]
fn an_array_is_read_in_one_line_or_many() {
    let expected = ["1 Some(5) a Float(1.5)", "1 Some(6) a Float(2.5)"];
    let one = "[{\"time\":5,\"a\":1.5},{\"time\":6,\"a\":2.5}]";
    assert_eq!(items([one.as_bytes()]), expected);
    assert_eq!(items([format!("\u{feff} {one}\r\n").as_bytes()]), expected);
    // As pandas and DuckDB indent it, with brackets and commas in texts.
    let many = "\n[\n  {\n    \"time\":5,\n    \"a\":\"]},{\\\"\"\n  },\n\t{\"time\":6,\"a\":2.5},\n\n]\n\
                {\"time\":7,\"a\":3.5}\n";
    assert_eq!(
        items([many.as_bytes()]),
        ["3 Some(5) a Text(\"]},{\\\"\")", "7 Some(6) a Float(2.5)", "10 Some(7) a Float(3.5)"]
    );
    // Far longer than a line may be.
    let long = format!("[{}]", vec!["{\"time\":5,\"a\":1.5}"; 100_000].join(","));
    assert!(long.len() > LINE_BYTES_MAX);
    assert_eq!(items([long.as_bytes()]).len(), 100_000);
    // What is broken costs itself alone.
    for (broken, line) in [
        ("[\n{\"time\":5,\n{\"time\":6,\"a\":2.5}\n]", 3),
        ("[\n{\"time\":5,\"a\":\"x\n{\"time\":6,\"a\":2.5}\n]", 3),
        ("[{\"time\":5,\"a\":},{\"time\":6,\"a\":2.5}]", 1),
        ("[[1,{\"a\":2}],{\"time\":6,\"a\":2.5}]", 1),
        ("[7,{\"time\":6,\"a\":2.5}]", 1),
    ] {
        let found = items([broken.as_bytes()]);
        assert!(found.len() == 2 && found[0].contains("expected one JSON object"), "{found:?}");
        assert_eq!(found[1], format!("{line} Some(6) a Float(2.5)"), "{broken}");
    }
    let mut input = b"[{\"a\":\"".to_vec();
    input.resize(3 * LINE_BYTES_MAX, b'x');
    input.extend(b"\"},\n{\"a\":1}]");
    let found = items([input.as_slice()]);
    assert!(found[0].contains("longer than 1048576 bytes"), "{found:?}");
    assert_eq!(found[1..], ["2 None a Integer(1)"]);
    assert_eq!(items([&b"[]"[..]]).len(), 0);
    let found = items([&b"[\0{\0\"\0a\0"[..]]);
    assert!(found.len() == 1 && found[0].contains("found UTF-16"), "{found:?}");
}

#[test]
fn a_time_under_another_name_is_the_time() {
    for (key, value) in [
        ("timestamp", "1700000000123456789"),
        ("ts", "\"2023-11-14T22:13:20.123456789Z\""),
        ("Timestamp_ns", "1700000000123456789"),
        ("_time", "1700000000.123456789"),
        ("@timestamp", "\"2023-11-14T22:13:20.123456789Z\""),
        ("datetime", "\"2023-11-14 22:13:20.123456789+00\""),
    ] {
        let found = only(&format!("{{\"{key}\":{value},\"a\":1}}"));
        assert_eq!(found, "1 Some(1700000000123456789) a Integer(1)", "{key}");
    }
    assert_eq!(
        only("{\"ts_ms\":1700000000123,\"series\":\"a\",\"value\":1}"),
        "1 Some(1700000000123000000) a Integer(1)"
    );
    // A time that is called so goes first; rounds of training are no times.
    let both = items([&b"{\"time\":5,\"timestamp\":6}\n{\"epoch\":3,\"loss\":0.5}"[..]]);
    assert_eq!(
        both,
        ["1 Some(5) timestamp Integer(6)", "2 None epoch Integer(3)", "2 None loss Float(0.5)"]
    );
    let two = only("{\"ts\":5,\"date\":6,\"a\":1}");
    assert!(two.contains("expected one time, found \"ts\" and \"date\""), "{two}");
    assert!(only("{\"timestamp\":true,\"a\":1}").contains("expected a time"));
}

#[test]
fn metrics_of_telegraf_are_series() {
    let one = "{\"fields\":{\"usage\":1.5,\"n\":3,\"on\":true,\"say\":\"x\"},\"name\":\"cpu\",\
               \"tags\":{\"host\":\"a b\",\"cpu\":\"0\",\"none\":\"\"},\"timestamp\":1700000000000000000}";
    let labels = "{cpu=\"0\",host=\"a b\"}";
    let expected = [
        format!("1 Some(1700000000000000000) cpu_usage{labels} Float(1.5)"),
        format!("1 Some(1700000000000000000) cpu_n{labels} Integer(3)"),
        format!("1 Some(1700000000000000000) cpu_on{labels} Boolean(true)"),
        format!("1 Some(1700000000000000000) cpu_say{labels} Text(\"x\")"),
    ];
    assert_eq!(items([one.as_bytes()]), expected);
    let batch = format!("{{\"metrics\":[{one},{one}]}}");
    assert_eq!(items([batch.as_bytes()]), [&expected[..], &expected[..]].concat());
    for (line, said) in [
        (one.replace("\"x\"", "[1]"), "series \"say\""),
        (one.replace("\"a b\"", "7"), "expected a metric of Telegraf"),
        (one.replace("\"n\":3", "\"usage\":3"), "\"usage\" twice"),
        (one.replace("\"cpu\":\"0\"", "\"__name__\":\"x\""), "a tag __name__ is no label"),
        (batch.replace("},{", "},7,{"), "expected a metric of Telegraf"),
    ] {
        assert!(only(&line).contains(said), "{line}: {}", only(&line));
    }
    // Others may have such keys.
    assert_eq!(items([&b"{\"fields\":1,\"name\":2,\"tags\":3,\"timestamp\":4}"[..]]).len(), 3);
}

fn near_json() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"{\"time\":1,".to_vec()),
        Just(b"\"series\":\"a\",".to_vec()),
        Just(b"\"value\":2}".to_vec()),
        Just(b"{\"a\":1.5,\"b\":true}".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"[".to_vec()),
        Just(b",\n{\"a\":\"]\",".to_vec()),
        Just(b"]".to_vec()),
        Just(vec![0xef, 0xbb, 0xbf]),
        prop::collection::vec(any::<u8>(), 0..4),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_items(bytes in near_json(), cut in 1..40_usize) {
        let whole = items([bytes.as_slice()]);
        prop_assert_eq!(items(bytes.chunks(cut)), whole.clone());
        prop_assert_eq!(items(bytes.chunks(1)), whole);
    }
}

#[test]
fn texts_types_and_what_is_written_beside_samples() {
    let input = "[\n{\"series\":\"a\",\"time_ns\":1700000000,\"value\":\"x\\ny\"},\n\
                 {\"series\":\"b\",\"time_ns\":2,\"value\":9007199254740993,\"value_type\":\"i64\"}\n]\n\
                 {\"time_ns\":5,\"note\":\"the realtime clock was stepped\"}\n";
    let expected =
        ["2 Some(1700000000) a Text(\"x\\ny\")", "3 Some(2) b Integer(9007199254740993)"];
    assert_eq!(items([input.as_bytes()]), expected);
    for (line, said) in [
        ("{\"time\":1,\"series\":\"q\"}", "expected \"value\" beside \"series\""),
        ("{\"time_ns\":1,\"channel\":\"c\",\"bytes\":1,\"hex\":\"00\"}", "a frame of a channel"),
        ("{\"series\":\"a\",\"value\":1.5,\"value_type\":\"i64\"}", "found 1.5"),
        ("{\"series\":\"a\",\"value\":1,\"value_type\":\"int\"}", "value_type: expected f64"),
    ] {
        let found = only(line);
        assert!(found.contains(said), "{line}: {found}");
    }
    assert!(items([&b"\xff\xfe{\0\n\0{\0"[..]])[0].contains("found UTF-16"));
    assert_eq!(items([&b"\xff\xfe{\0\n\0{\0"[..]]).len(), 1);
}

#[test]
fn a_series_of_victoriametrics_is_read() {
    let line = "{\"metric\":{\"job\":\"a b\",\"__name__\":\"up\"},\"values\":[1,0.5,null,\"Infinity\"],\
                \"timestamps\":[1700000000000,1700000000001,315532800000,315532800001]}";
    let expected = [
        "1 Some(1700000000000000000) up{job=\"a b\"} Integer(1)",
        "1 Some(1700000000001000000) up{job=\"a b\"} Float(0.5)",
        "1 Some(315532800000000000) up{job=\"a b\"} Float(NaN)",
        "1 Some(315532800001000000) up{job=\"a b\"} Float(inf)",
    ];
    assert_eq!(items([line.as_bytes()]), expected);
    for (line, said) in [
        ("{\"metric\":{\"__name__\":\"up\"},\"values\":[1],\"timestamps\":[1,2]}", "found [1,2]"),
        ("{\"metric\":{\"__name__\":1},\"values\":[1],\"timestamps\":[1]}", "found {"),
        ("{\"metric\":{},\"values\":[1],\"timestamps\":[1]}", "name of a series, found nothing"),
        ("{\"metric\":{\"a\":\"b\"},\"values\":[\"x\"],\"timestamps\":[1]}", "found \"x\""),
        (
            "{\"metric\":{\"a\":\"b\"},\"values\":[1],\"timestamps\":[9223372036854775807]}",
            "before 2100",
        ),
    ] {
        assert!(only(line).contains(said), "{line}: {}", only(line));
    }
    // It has floats alone, also where they look like integers that 64 bits do not hold.
    let line = "{\"metric\":{\"__name__\":\"up\"},\"values\":[100000000000000000000,-0],\"timestamps\":[1700000000001,1700000000002]}";
    let expected = [
        "1 Some(1700000000001000000) up Float(1e20)",
        "1 Some(1700000000002000000) up Float(-0.0)",
    ];
    assert_eq!(items([line.as_bytes()]), expected);
    // Others may call a series so.
    assert_eq!(items([&b"{\"metric\":1,\"a\":2,\"b\":3}"[..]]).len(), 3);
}

/// By the rules of CSV: else the sample of one sensor would overwrite that of another in a series `value`.
#[test]
fn a_named_value_is_long() {
    for key in ["series", "name", "sensor", "metric", "signal", "variable", "Sensor"] {
        for value in ["value", "Value", "_value"] {
            let found = only(&format!("{{\"time\":5,\"{key}\":\"a\",\"{value}\":1}}"));
            assert_eq!(found, "1 Some(5) a Integer(1)", "{key} {value}");
        }
    }
    // Other texts are labels, beside those that the name has.
    assert_eq!(
        only(
            "{\"sensor\":\"t{b=\\\"2\\\"}\",\"value\":1.5,\"room\":\"lab\",\"of\":null,\"no\":\"\"}"
        ),
        "1 None t{b=\"2\",room=\"lab\"} Float(1.5)"
    );
    // A number under such a key is no name, and a value alone a series called so.
    assert_eq!(
        items([&b"{\"signal\":-50,\"t\":3}\n{\"value\":1}"[..]]),
        ["1 None signal Integer(-50)", "1 None t Integer(3)", "2 None value Integer(1)"]
    );
    for (line, said) in [
        ("{\"sensor\":\"a\",\"temp\":1}", "expected \"value\" beside \"sensor\""),
        ("{\"sensor\":7,\"value\":1}", "expected the name of a series in quotes, found 7"),
        ("{\"sensor\":null,\"value\":1}", "expected the name of a series in quotes"),
        ("{\"sensor\":\"a\",\"metric\":\"b\",\"value\":1}", "found \"sensor\" and \"metric\""),
        ("{\"sensor\":\"a\",\"_value\":2,\"value\":1}", "found \"_value\" and \"value\""),
        ("{\"sensor_id\":7,\"value\":1}", "--columns sensor_id=series"),
        // A text, too, would make one series of two devices.
        ("{\"device_id\":\"d1\",\"temp\":1}", "--columns device_id=label"),
        ("{\"temp\":1,\"Id\":true}", "--columns Id=label"),
        ("{\"value\":1,\"state\":\"on\"}", "what \"state\" is beside \"value\""),
        (
            "{\"name\":\"a\",\"value\":1,\"id\":\"7\"}",
            "label \"id\": expected a text that is no number",
        ),
        ("{\"name\":\"a\",\"value\":1,\"id\":{}}", "label \"id\": expected a text"),
        ("{\"name\":\"a\",\"value\":1,\"__name__\":\"x\"}", "a name that a label can have"),
        ("{\"name\":\"a{b=\\\"1\\\"}\",\"value\":1,\"b\":\"x\"}", "found \"b\" in the name"),
    ] {
        assert!(only(line).contains(said), "{line}: {}", only(line));
    }
}

#[test]
fn what_is_said_of_keys_counts() {
    let of = |columns: &[(&str, Role)], text: &str| {
        let columns = columns.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect();
        items_of(TextForm { columns, ..TextForm::default() }, [text.as_bytes()])
    };
    let row = "{\"at\":5,\"id\":7,\"room\":\"lab\",\"value\":1}";
    let label = [("at", Role::Time), ("id", Role::Label), ("room", Role::Series)];
    assert_eq!(of(&label, row), ["1 Some(5) lab{id=\"7\"} Integer(1)"]);
    let wide = [("at", Role::Time), ("id", Role::Values(Some(Kind::F64))), ("room", Role::Skip)];
    assert_eq!(of(&wide, row), ["1 Some(5) id Float(7.0)", "1 Some(5) value Integer(1)"]);
    let labelled = [("at", Role::Time), ("id", Role::Label), ("room", Role::Label)];
    assert_eq!(of(&labelled, row), ["1 Some(5) value{id=\"7\",room=\"lab\"} Integer(1)"]);
    let plain = "{\"value\":1,\"temp\":2}";
    assert_eq!(of(&[("value", Role::Values(None))], plain).len(), 2);
    let named = [("at", Role::Value), ("id", Role::Skip), ("value", Role::Skip)];
    assert!(
        of(&named, row)[0].contains("found none (--columns KEY=series"),
        "{:?}",
        of(&named, row)
    );
    // One that no object has is a mistake, and is told.
    let found = of(&[("idd", Role::Label)], "{\"time\":5,\"a\":1}\n{\"time\":6,\"a\":1}\n");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[2].starts_with("line 2: --columns idd: expected an object"), "{found:?}");
    assert!(of(&[("idd", Role::Label)], "\n").is_empty());
}

/// The end of the input is missing, and with it what stood there.
#[test]
fn an_array_that_nothing_closes_is_told() {
    for (text, samples, line) in [
        ("[{\"time\":5,\"a\":1},\n", 1, 1),
        ("\n[{\"time\":5,\"a\":1}", 1, 2),
        ("[\n", 0, 1),
        ("[", 0, 1),
        // As files that were put together.
        ("[\n{\"time\":5,\"a\":1}\n]\n[\n{\"time\":6,\"a\":1},\n", 2, 4),
        ("{\"time\":5,\"a\":1}\n[\n{\"time\":6,\"a\":1},\n", 2, 2),
    ] {
        let found = items([text.as_bytes()]);
        assert_eq!(found.len(), samples + 1, "{found:?}");
        let said =
            format!("line {line}: expected ] behind the array that begins here, found the end");
        assert!(found[samples].starts_with(&said), "{found:?}");
    }
    // An element that is cut off is told by itself; the end of an array alone is what somebody goes on with.
    assert_eq!(items([&b"[{\"a\":1},{\"a\""[..]]).len(), 2);
    assert_eq!(items([&b"{\"time\":5,\"a\":1}\n]\n"[..]]).len(), 1);
    let mut parser = JsonParser::new();
    let mut found = 0;
    parser.feed(b"[{\"a\":1},\n", |_| found += 1);
    parser.stop(|_| found += 1);
    assert_eq!(found, 1);
}

/// A line may have many: who takes them gives each a time of its own.
#[test]
fn objects_are_counted() {
    let mut parser = JsonParser::new();
    let mut found = Vec::new();
    let mut item = |item: Result<JsonSample<'_>, JsonError>| {
        found.push(item.map(|one| (one.object, one.sample.line)).ok());
    };
    parser.feed(b"[{\"a\":1,\"b\":2},{\"a\":3},7]\n{\"a\":4}\n", &mut item);
    parser.finish(&mut item);
    assert_eq!(found, [Some((1, 1)), Some((1, 1)), Some((2, 1)), None, Some((4, 2))]);
}

#[test]
fn times_of_victoriametrics_in_another_unit_are_refused() {
    let line = |times: &str| {
        format!("{{\"metric\":{{\"__name__\":\"up\"}},\"values\":[1],\"timestamps\":[{times}]}}")
    };
    for (time, said) in [
        ("1700000000", "milliseconds from 1980 on (--precision s if it is in s"),
        ("1700000000000000000", "--precision ns if it is in ns"),
        ("5000000000000", "milliseconds before 2100"),
    ] {
        assert!(only(&line(time)).contains(said), "{time}: {}", only(&line(time)));
    }
    let seconds =
        TextForm { times: Times::default().of_unit(1_000_000_000), ..TextForm::default() };
    let found = items_of(seconds, [line("1700000000").as_bytes()]);
    assert_eq!(found, ["1 Some(1700000000000000000) up Integer(1)"]);
    // Samples of a batch of Telegraf have times too.
    let null = "{\"fields\":{\"a\":null,\"b\":1},\"name\":\"m\",\"tags\":{},\"timestamp\":5}";
    assert_eq!(items([null.as_bytes()]), ["1 Some(5) m_b Integer(1)"]);
    let none = "{\"fields\":{\"a\":1},\"name\":\"m\",\"tags\":{},\"timestamp\":null}";
    assert!(only(none).contains("expected a metric of Telegraf"), "{}", only(none));
}

/// What `cat` says beside samples is none; a note of anybody else is a value.
#[test]
fn notes_of_others_are_values() {
    for note in ["the realtime clock was stepped", "12 records lost: ring full 12"] {
        let line = format!("{{\"time_ns\":5,\"note\":\"{note}\"}}");
        assert_eq!(items([line.as_bytes()]), Vec::<String>::new(), "{note}");
    }
    for (line, expected) in [
        ("{\"time\":5,\"note\":\"pump replaced\"}", "1 Some(5) note Text(\"pump replaced\")"),
        ("{\"time_ns\":5,\"note\":7}", "1 Some(5) note Integer(7)"),
        (
            "{\"time_ns\":5,\"note\":\"records lost: 5\"}",
            "1 Some(5) note Text(\"records lost: 5\")",
        ),
    ] {
        assert_eq!(only(line), expected);
    }
}

/// As JavaScript prints seconds since a test began: of the second form it would be nanoseconds.
#[test]
fn early_times_with_a_point_and_without_are_not_of_one_unit() {
    let found =
        items([&b"{\"time\":0.5,\"a\":1}\n{\"time\":1,\"a\":2}\n{\"time\":1.5,\"a\":3}\n"[..]]);
    assert!(
        found.len() == 3 && found[1].contains("expected times that all have a point"),
        "{found:?}"
    );
    let found = items([
        &b"{\"time_ns\":1,\"a\":1}\n{\"time\":1700000000.5,\"a\":2}\n{\"t_s\":1,\"a\":3}\n"[..],
    ]);
    assert!(found.iter().all(|found| !found.contains("expected")), "{found:?}");
}

/// Programs write `null` for a value that is missing: it makes no series and costs the others nothing.
#[test]
fn null_beside_other_values_is_no_value() {
    let found = items([
        &b"{\"time\":5,\"temp\":1,\"state\":null,\"on\":null}\n{\"time\":6,\"a\":null,\"b\":null}"
            [..],
    ]);
    assert_eq!(found, ["1 Some(5) temp Integer(1)"]);
    let said = TextForm {
        columns: vec![("state".to_owned(), Role::Values(Some(Kind::Text)))],
        ..TextForm::default()
    };
    let line = &b"{\"time\":5,\"state\":null}\n{\"time\":6,\"state\":\"a\"}\n"[..];
    assert_eq!(items_of(said, [line]), ["2 Some(6) state Text(\"a\")"]);
}
