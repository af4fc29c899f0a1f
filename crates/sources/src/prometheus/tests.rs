//! Text of Prometheus: what a line becomes, every mistake with its place, and any cutting of the input.

use super::*;
use proptest::prelude::*;

fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, times: Times) -> (Vec<String>, u64) {
    let mut parser = PrometheusParser::of(times);
    let mut items = Vec::new();
    let show = |item: Result<Sample<'_>, PrometheusError>| match item {
        Ok(Sample { line, time_ns, series, value, mark, .. }) => {
            assert_eq!(mark, Mark::As(Type::F64));
            format!("{line} {time_ns:?} {series} {value:?}")
        }
        Err(error) => error.to_string(),
    };
    for piece in pieces {
        parser.feed(piece, |item| items.push(show(item)));
    }
    parser.finish(|item| items.push(show(item)));
    (items, parser.exemplars())
}

fn of(text: &str) -> Vec<String> {
    items([text.as_bytes()], Times::checked()).0
}

#[test]
fn what_promtool_prints_becomes_series() {
    let text = "# HELP up Whether.\n# TYPE up gauge\n\
                up{job=\"a\",instance=\"b:1\"} 1 1700000000.123\n\
                up{instance=\"b:1\", job=\"a\",} 0 1700000001\r\n\
                \n\
                http_requests_total{code=\"200\"} 1.5e+06 1700000000.000 # {trace_id=\"}\"} 0.5 1700000000.1\n\
                le_bucket{le=\"+Inf\"} +Inf\n  plain NaN 1700000000123  \n\
                # EOF\n";
    let (found, exemplars) = items([text.as_bytes()], Times::default().of_unit(1_000_000_000));
    assert_eq!(
        found,
        [
            "3 Some(1700000000123000000) up{instance=\"b:1\",job=\"a\"} Float(1.0)",
            "4 Some(1700000001000000000) up{instance=\"b:1\",job=\"a\"} Float(0.0)",
            "6 Some(1700000000000000000) http_requests_total{code=\"200\"} Float(1500000.0)",
            "7 None le_bucket{le=\"+Inf\"} Float(inf)",
            "line 8, column 13: expected a time from 1677 to 2262 (is --precision right?), found \
             \"1700000000123\"",
        ]
    );
    assert_eq!(exemplars, 1);
}

#[test]
fn a_metric_within_the_braces_is_that_of_the_series() {
    let text = "{__name__=\"up\", job=\"a\"} 1 1700000000123\n\
                {Zone=\"x,}\\\"\", __name__=\"my \\\"metric\"} 2 1700000000123\n\
                {__name__=\"alone\"} 3 1700000000123\n\
                {__name__=\"a\", __name__=\"b\"} 4 1700000000123\n\
                up{__name__=\"a\"} 5 1700000000123\n";
    let found = of(text);
    let time = "Some(1700000000123000000)";
    assert_eq!(
        found[..3],
        [
            format!("1 {time} up{{job=\"a\"}} Float(1.0)"),
            format!("2 {time} {{\"my \\\"metric\",Zone=\"x,}}\\\"\"}} Float(2.0)"),
            format!("3 {time} alone Float(3.0)"),
        ]
    );
    assert!(found[3].contains("line 4, column 1: expected the name of a series"), "{found:?}");
    assert!(found[4].contains("line 5, column 1: expected the name of a series"), "{found:?}");
}

#[test]
fn an_integer_is_milliseconds_unless_that_is_hardly_meant() {
    assert_eq!(of("up 1 1700000000123"), ["1 Some(1700000000123000000) up Float(1.0)"]);
    assert_eq!(of("up 1 -5"), ["1 Some(-5000000) up Float(1.0)"]);
    assert_eq!(of("up 1 1.5"), ["1 Some(1500000000) up Float(1.0)"]);
    for (time, unit) in
        [("1700000000", "s"), ("1700000000123456", "us"), ("1700000000123456789", "ns")]
    {
        let told = of(&format!("up 1 {time}"));
        let precision = format!("--precision {unit} if it is in {unit}");
        assert!(told[0].contains(&precision), "{told:?}");
    }
    assert!(of("up 1 90000000000000000000")[0].contains("a time from 1677 to 2262"));
}

#[test]
fn labels_have_escapes_and_names_may_be_in_quotes() {
    assert_eq!(
        of("a{x=\"b\\\"c\\\\d\\ne } 1\",y=\"\"} 2"),
        ["1 None a{x=\"b\\\"c\\\\d\\ne } 1\"} Float(2.0)"]
    );
    assert_eq!(
        of("{\"my metric\",\"data centre\"=\"x\"} 2 1.5"),
        ["1 Some(1500000000) {\"my metric\",\"data centre\"=\"x\"} Float(2.0)"]
    );
    // As clients of OpenMetrics write seconds.
    assert_eq!(of("a 8 1.700000001e+09"), ["1 Some(1700000001000000000) a Float(8.0)"]);
}

#[test]
fn what_is_no_sample_is_refused_with_its_place() {
    for (line, expected) in [
        ("up", "column 3: expected a number, NaN or +Inf, found \"\""),
        ("up x", "column 4: expected a number, NaN or +Inf, found \"x\""),
        ("up 1e999", "column 4: expected a number that a float"),
        ("up 1 x", "column 6: expected a time (seconds with a point"),
        ("up 1 2026-01-02", "column 6: expected a time (seconds with a point"),
        ("up 1 2026-01-02T03:04:05Z", "column 6: expected a time (seconds with a point"),
        ("up 1 1.5 x", "column 10: expected the end of the line, or an exemplar, found \"x\""),
        ("up 1 1.5 # x", "column 10: expected the end of the line, or an exemplar"),
        ("up 1 1.5 # {a=\"b\"}", "column 10: expected the end of the line"),
        ("up{a=\"b\" 1", "column 1: expected the name of a series"),
        ("up{a=b} 1", "column 1: expected the name of a series"),
        ("up{a=\"b\",a=\"c\"} 1", "column 1: expected the name of a series"),
        ("{} 1", "column 1: expected the name of a series"),
        ("{a=\"b\"} {count:1}", "column 9: expected a number, NaN or +Inf"),
        ("1 2", "column 1: expected the name of a series"),
        ("time,series,value", "column 5: expected a number"),
        ("weather,site=a temp=21.5 1", "column 8: expected a number"),
    ] {
        let told = of(line);
        assert!(told.len() == 1 && told[0].contains(expected), "{line}: {told:?}");
    }
    let long = format!("up{{a=\"{}\"}} 1\nup 2", "x".repeat(LINE_BYTES_MAX));
    let told = of(&long);
    assert!(told[0].contains("longer than 1048576 bytes"), "{:.100}", told[0]);
    assert_eq!(told[1..], ["2 None up Float(2.0)"]);
    assert_eq!(items([&b"\xff\xfeu\0p\0"[..]], Times::default()).0.len(), 1);
    assert!(items([&b"up{a=\"\xff\"} 1"[..]], Times::default()).0[0].contains("column 7"));
}

#[test]
fn the_first_line_tells_whether_it_is_of_this_form() {
    for text in [
        "# HELP up x\n",
        "\n# TYPE up gauge\n",
        "# UNIT a seconds\n",
        "# a comment\nup 1\n",
        "up{a=\"b\"} 1 1700000000.5\n",
        "{\"my metric\"} 1\n",
    ] {
        assert!(is_prometheus(text), "{text}");
    }
    for text in [
        "",
        "up 1",
        "# a comment\n",
        "# TYPE\n",
        "#datatype,string,long\n",
        "time,series,value\n1,up,2\n",
        "weather,site=a temp=21.5 1\n",
        "{\"time\":1,\"up\":2}\n",
        "1 2 3\n",
        "hello world\n",
    ] {
        assert!(!is_prometheus(text), "{text}");
    }
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_items(
        text in "(up|a\\{b=\"[ \\\\\"}ä]{0,3}\"\\}|# |\\{|\\}| |\n|\r|1|\\.5|NaN|#\\{|\u{feff}){0,40}",
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = text.as_bytes();
        let (first, second) = bytes.split_at(cut.index(bytes.len() + 1));
        let whole = items([bytes], Times::checked());
        prop_assert_eq!(&whole, &items([first, second], Times::checked()));
        prop_assert_eq!(whole, items(bytes.chunks(1), Times::checked()));
    }
}
