//! Tests of the CSV parser: what lines mean, what errors say, and that cutting changes nothing.

use proptest::prelude::*;

use super::*;

/// An item in a form that owns its text; floats by their bits, so that NaN equals itself.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Sample(u64, Option<i64>, String, &'static str, u64),
    Error(CsvError),
}

fn own(item: Result<Sample<'_>, CsvError>) -> Item {
    match item {
        Ok(Sample { line, time_ns, series, value }) => {
            let (kind, bits) = match value {
                Scalar::Float(value) => ("f", value.to_bits()),
                Scalar::Integer(value) => ("i", value.cast_unsigned()),
                Scalar::Boolean(value) => ("b", u64::from(value)),
            };
            Item::Sample(line, time_ns, series.into_owned(), kind, bits)
        }
        Err(error) => Item::Error(error),
    }
}

fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut parser = CsvParser::new();
    let mut items = Vec::new();
    for piece in pieces {
        parser.feed(piece, |item| items.push(own(item)));
        assert!(parser.lines.pending_bytes() <= LINE_BYTES_MAX);
    }
    parser.finish(|item| items.push(own(item)));
    items
}

fn value_of(text: &str) -> Scalar {
    parse_value(text).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn error_of(line: &[u8]) -> (usize, CsvProblem) {
    match items([line]).as_slice() {
        [Item::Error(error)] => (error.column, error.problem.clone()),
        other => panic!("{}: {other:?}", String::from_utf8_lossy(line)),
    }
}

fn sample(line: u64, time_ns: Option<i64>, series: &str, value: i64) -> Item {
    Item::Sample(line, time_ns, series.to_owned(), "i", value.cast_unsigned())
}

#[test]
fn lines_become_samples() {
    let text = b"\xef\xbb\xbftime,series,value\r\n\
        1700000000000000000,temp,1\r\n\
        \r\n\
        # a comment, with commas\n\
        \x20 # another\n\
        1.5,\"cpu{a=\"\"b\"\",c=\"\"d\"\"}\",2\n\
        1970-01-01T01:00:00+01:00 , \"quoted\" , 3 \n\
        time,series,value\n\
        ,room{x=\"y\"},4\n\
        \"7\",\"s\",\"5\"\n\
        8,last,6";
    let expected = [
        sample(2, Some(1_700_000_000_000_000_000), "temp", 1),
        sample(6, Some(1_500_000_000), "cpu{a=\"b\",c=\"d\"}", 2),
        sample(7, Some(0), "quoted", 3),
        sample(9, None, "room{x=\"y\"}", 4),
        sample(10, Some(7), "s", 5),
        sample(11, Some(8), "last", 6),
    ];
    assert_eq!(items([text.as_slice()]), expected);
}

#[test]
fn values_keep_the_kind_they_were_written_in() {
    assert_eq!(value_of("-9223372036854775808"), Scalar::Integer(i64::MIN));
    assert_eq!(value_of("+5"), Scalar::Integer(5));
    assert_eq!(value_of("5.0"), Scalar::Float(5.0));
    assert_eq!(value_of("-1e-3"), Scalar::Float(-0.001));
    assert_eq!(value_of("-inf"), Scalar::Float(f64::NEG_INFINITY));
    assert!(matches!(value_of("NaN"), Scalar::Float(value) if value.is_nan()));
    assert_eq!(value_of("true"), Scalar::Boolean(true));
    assert_eq!(value_of("false"), Scalar::Boolean(false));
    // "-0" is an integer and loses its sign, as integers do; "-0.0" keeps it.
    assert!(matches!(value_of("-0.0"), Scalar::Float(value) if value.is_sign_negative()));
}

#[test]
fn errors_say_where_and_what() {
    let found = |text: &str| text.to_owned();
    assert_eq!(error_of(b"x,s,1"), (1, CsvProblem::Time { found: found("x") }));
    let calendar = CsvProblem::TimeCalendar { found: found("2026-02-30T00:00:00Z") };
    assert_eq!(error_of(b" 2026-02-30T00:00:00Z,s,1"), (2, calendar));
    let range = CsvProblem::TimeRange { found: found("99999999999.5") };
    assert_eq!(error_of(b"99999999999.5,s,1"), (1, range));
    assert_eq!(error_of(b"1"), (2, CsvProblem::FieldMissing { field: "series" }));
    assert_eq!(error_of(b"1,s\r\n"), (4, CsvProblem::FieldMissing { field: "value" }));
    assert_eq!(error_of(b"1,,5"), (3, CsvProblem::SeriesEmpty));
    assert_eq!(error_of(b"1,\"\",5"), (3, CsvProblem::SeriesEmpty));
    assert_eq!(error_of(b"1,s,"), (5, CsvProblem::Value { found: found("") }));
    assert_eq!(error_of(b"1,s, 5x"), (6, CsvProblem::Value { found: found("5x") }));
    for large in ["1e400", "-1e400", ".9e309"] {
        let problem = CsvProblem::FloatRange { found: large.to_owned() };
        assert_eq!(error_of(format!("1,a,{large}").as_bytes()), (5, problem));
    }
    let range = CsvProblem::ValueRange { found: found("9223372036854775808") };
    assert_eq!(error_of(b"1,s,9223372036854775808"), (5, range));
    assert_eq!(error_of(b"1,a{b,c},5"), (10, CsvProblem::FieldExtra { found: found("5") }));
    assert_eq!(error_of(b"1,\"s,5"), (3, CsvProblem::QuoteOpen));
    assert_eq!(error_of(b"1,\"s\"\",5"), (3, CsvProblem::QuoteOpen));
    assert_eq!(error_of(b"1,\"s\" t,5"), (7, CsvProblem::AfterQuote { found: found("t,5") }));
    assert_eq!(error_of(b"1,s\xff,5"), (4, CsvProblem::NotUtf8));
    assert_eq!(error_of(b"\xef\xbb\xbfx,s,1"), (4, CsvProblem::Time { found: found("x") }));
}

#[test]
fn a_bad_line_costs_only_itself() {
    let got = items([b"1,a,1\n\xff\xff\n2,b,\n3,c,3\n".as_slice()]);
    assert_eq!(got.len(), 4);
    assert_eq!(got[0], sample(1, Some(1), "a", 1));
    assert_eq!(got[3], sample(4, Some(3), "c", 3));
    let Item::Error(error) = &got[2] else { panic!("{got:?}") };
    assert_eq!((error.line, error.column), (3, 5));
    assert!(error.to_string().starts_with("line 3, column 5: expected a number"), "{error}");
}

#[test]
fn comments_may_hold_any_bytes() {
    assert_eq!(items([b"# \xff\xfe\n1,a,1".as_slice()]), [sample(2, Some(1), "a", 1)]);
}

#[test]
fn lines_that_are_too_long_are_one_error() {
    let name = "x".repeat(LINE_BYTES_MAX - 4);
    let fits = format!("1,{name},2\n3,c,4\n");
    assert_eq!(fits.find('\n'), Some(LINE_BYTES_MAX));
    let expected = [sample(1, Some(1), &name, 2), sample(2, Some(3), "c", 4)];
    assert_eq!(items([fits.as_bytes()]), expected);
    let long = format!("1,y{name},2\n3,c,4\n");
    let expected = [Item::Error(too_long(1)), sample(2, Some(3), "c", 4)];
    let endless = vec![b'z'; 10 * LINE_BYTES_MAX];
    for piece_bytes in [1, 1000, 4096, LINE_BYTES_MAX, LINE_BYTES_MAX + 1, 1 << 20] {
        assert_eq!(items(long.as_bytes().chunks(piece_bytes)), expected, "{piece_bytes}");
        assert_eq!(items(endless.chunks(piece_bytes)), [Item::Error(too_long(1))]);
        assert_eq!(items(fits.as_bytes().chunks(piece_bytes)).len(), 2, "{piece_bytes}");
    }
}

#[test]
fn errors_quote_little() {
    let line = format!("1,s,{}", "é".repeat(20_000));
    let (column, CsvProblem::Value { found }) = error_of(line.as_bytes()) else { panic!() };
    assert_eq!((column, found), (5, format!("{}...", "é".repeat(60))));
}

#[test]
fn a_name_that_was_kept_from_being_a_formula_is_read_without_that() {
    for (written, series) in [
        ("'=1+1", "=1+1"),
        ("\"'=a,\"\"b\"\"\"", "=a,\"b\""),
        ("\"' =a\"", " =a"),
        ("\"'\t=a\"", "\t=a"),
        ("''-a", "'-a"),
        ("=1+1", "=1+1"),
        ("-a", "-a"),
        ("'a'", "'a'"),
        ("a'=b", "a'=b"),
    ] {
        let line = format!("1,{written},-5\n");
        assert_eq!(items([line.as_bytes()]), [sample(1, Some(1), series, -5)], "{written}");
    }
}

/// Text that is nearly CSV: random bytes alone rarely get past the first field.
fn near_csv() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        ",",
        "\n",
        "\r\n",
        "\"",
        "\"\"",
        "#",
        " ",
        "time",
        "series",
        "value",
        "1",
        "1.5",
        "-7",
        "2026-01-02T03:04:05Z",
        "nan",
        "true",
        "cpu{a=\"b\"}",
        "é",
        "\u{feff}",
    ]);
    let piece = prop_oneof![
        8 => word.prop_map(|word| word.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..5),
        4 => Just(b"\n12,\"a\"\"b\",3.5\n".to_vec()),
    ];
    prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_items(
        bytes in prop_oneof![near_csv(), prop::collection::vec(any::<u8>(), 0..600)],
        cuts in prop::collection::vec(0..30_usize, 1..30),
    ) {
        let mut pieces = Vec::new();
        let mut rest = bytes.as_slice();
        for cut in cuts {
            let (head, tail) = rest.split_at(cut.min(rest.len()));
            pieces.push(head);
            rest = tail;
        }
        pieces.push(rest);
        let whole = items([bytes.as_slice()]);
        prop_assert_eq!(items(pieces), whole.clone());
        prop_assert_eq!(items(bytes.chunks(1)), whole);
    }

    #[test]
    fn what_is_written_is_read_back(
        time_ns in any::<i64>(),
        series in prop_oneof!["[^\r\n]{1,40}", "'{0,3}[ =+@-][^\r\n]{0,20}"],
        value in any::<f64>(),
    ) {
        // Debug prints every float with a point, an exponent, or as inf or NaN.
        // An export puts a `'` where the reader takes one away.
        let guarded = format!("'{series}");
        let name = if unguarded(guarded.as_str().into()) == series { guarded } else { series.clone() };
        let line = format!("{time_ns},\"{}\",{value:?}\n", name.replace('"', "\"\""));
        let got = items([line.as_bytes()]);
        let expected = Item::Sample(1, Some(time_ns), series, "f", value.to_bits());
        if value.is_nan() {
            prop_assert!(matches!(got[..], [Item::Sample(.., "f", bits)] if f64::from_bits(bits).is_nan()));
        } else {
            prop_assert_eq!(got, [expected]);
        }
    }
}
