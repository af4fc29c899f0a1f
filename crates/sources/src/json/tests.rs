//! JSON lines: both forms, mistakes, and bytes cut anywhere.

use super::*;
use proptest::prelude::*;

fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let mut parser = JsonParser::new();
    let mut items = Vec::new();
    let mut item = |item: Result<Sample<'_>, JsonError>| {
        items.push(match item {
            Ok(Sample { line, time_ns, series, value, .. }) => {
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
        ("nonsense", "line 1: column 2: expected one JSON object"),
        ("[1]", "expected one JSON object"),
        ("{\"a\":1", "expected one JSON object"),
        ("{\"a\":1}{\"b\":2}", "expected one JSON object"),
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
        ("{\"series\":\"a\",\"value\":1,\"unit\":\"K\"}", "found \"unit\" too"),
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

fn near_json() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"{\"time\":1,".to_vec()),
        Just(b"\"series\":\"a\",".to_vec()),
        Just(b"\"value\":2}".to_vec()),
        Just(b"{\"a\":1.5,\"b\":true}".to_vec()),
        Just(b"\n".to_vec()),
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
                \"timestamps\":[1700000000000,1700000000001,2,3]}";
    let expected = [
        "1 Some(1700000000000000000) up{job=\"a b\"} Integer(1)",
        "1 Some(1700000000001000000) up{job=\"a b\"} Float(0.5)",
        "1 Some(2000000) up{job=\"a b\"} Float(NaN)",
        "1 Some(3000000) up{job=\"a b\"} Float(inf)",
    ];
    assert_eq!(items([line.as_bytes()]), expected);
    for (line, said) in [
        ("{\"metric\":{\"__name__\":\"up\"},\"values\":[1],\"timestamps\":[1,2]}", "found [1,2]"),
        ("{\"metric\":{\"__name__\":1},\"values\":[1],\"timestamps\":[1]}", "found {"),
        ("{\"metric\":{},\"values\":[1],\"timestamps\":[1]}", "name of a series, found nothing"),
        ("{\"metric\":{\"a\":\"b\"},\"values\":[\"x\"],\"timestamps\":[1]}", "found \"x\""),
        (
            "{\"metric\":{\"a\":\"b\"},\"values\":[1],\"timestamps\":[9223372036854775807]}",
            "1677 to",
        ),
    ] {
        assert!(only(line).contains(said), "{line}: {}", only(line));
    }
    // It has floats alone, also where they look like integers that 64 bits do not hold.
    let line = "{\"metric\":{\"__name__\":\"up\"},\"values\":[100000000000000000000,-0],\"timestamps\":[1,2]}";
    let expected = ["1 Some(1000000) up Float(1e20)", "1 Some(2000000) up Float(-0.0)"];
    assert_eq!(items([line.as_bytes()]), expected);
    // Others may call a series so.
    assert_eq!(items([&b"{\"metric\":1,\"a\":2,\"b\":3}"[..]]).len(), 3);
}
