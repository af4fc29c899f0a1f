//! Tests of the CSV parser: what lines mean, what errors say, and that cutting changes nothing.

mod otherwise;
mod unclear;

use proptest::prelude::*;

use super::*;
use crate::form::Role;
use crate::number;
use crate::sample::Scalar;

/// An item in a form that owns its text; floats by their bits, so that NaN equals itself.
#[derive(Debug, Clone, PartialEq)]
enum Item {
    Sample(u64, Option<i64>, String, &'static str, u64),
    Text(u64, Option<i64>, String, String),
    Error(CsvError),
}

fn own(item: Result<Sample<'_>, CsvError>) -> Item {
    match item {
        Ok(Sample { line, time_ns, series, value, .. }) => {
            // In quotes: what it is where nothing else is said.
            let value = match &value {
                Scalar::Quoted(text) => number::scalar(text).unwrap_or(value),
                _ => value,
            };
            let (kind, bits) = match value {
                Scalar::Text(text) | Scalar::Quoted(text) | Scalar::QuotedComma(text) => {
                    return Item::Text(line, time_ns, series.into_owned(), text.into_owned());
                }
                Scalar::Unsigned(value) => ("u", value),
                Scalar::Float(value) => ("f", value.to_bits()),
                Scalar::Integer(value) => ("i", value.cast_unsigned()),
                Scalar::Boolean(value) => ("b", u64::from(value)),
                Scalar::Nothing => ("nothing", 0),
                Scalar::QuotedNothing(_) => ("quoted nothing", 0),
            };
            Item::Sample(line, time_ns, series.into_owned(), kind, bits)
        }
        Err(error) => Item::Error(error),
    }
}

fn items<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    items_of(TextForm::default(), pieces)
}

fn items_of<'a>(form: TextForm, pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<Item> {
    let mut parser = CsvParser::of(form);
    let mut items = Vec::new();
    for piece in pieces {
        parser.feed(piece, |item| items.push(own(item)));
        assert!(parser.records.pending_bytes() <= LINE_BYTES_MAX);
    }
    parser.finish(|item| items.push(own(item)));
    items
}

fn value_of(text: &str) -> Scalar<'static> {
    number::scalar(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
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
        1700000001.5,\"cpu{a=\"\"b\"\",c=\"\"d\"\"}\",2\n\
        1970-01-01T01:00:00+01:00 , \"quoted\" , 3 \n\
        time,series,value\n\
        ,room{x=\"y\"},4\n\
        \"7\",\"s\",\"5\"\n\
        8,last,6";
    let expected = [
        sample(2, Some(1_700_000_000_000_000_000), "temp", 1),
        sample(6, Some(1_700_000_001_500_000_000), "cpu{a=\"b\",c=\"d\"}", 2),
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
    // No integer has the sign of "-0": it is a float that was printed without places.
    for zero in ["-0.0", "-0", "-00"] {
        assert!(matches!(value_of(zero), Scalar::Float(value) if value.is_sign_negative()));
    }
    assert_eq!(value_of("+0"), Scalar::Integer(0));
}

#[test]
fn errors_say_where_and_what() {
    let found = |text: &str| text.to_owned();
    assert_eq!(
        error_of(b"x,s,1"),
        (1, CsvProblem::Time { found: found("x"), fault: TimeFault::Form })
    );
    let calendar =
        CsvProblem::Time { found: found("2026-02-30T00:00:00Z"), fault: TimeFault::Calendar };
    assert_eq!(error_of(b" 2026-02-30T00:00:00Z,s,1"), (2, calendar));
    let range = CsvProblem::Time { found: found("99999999999.5"), fault: TimeFault::Range };
    assert_eq!(error_of(b"99999999999.5,s,1"), (1, range));
    assert_eq!(error_of(b"1"), (2, CsvProblem::FieldMissing { field: "series" }));
    assert_eq!(error_of(b"1,s\r\n"), (4, CsvProblem::FieldMissing { field: "value" }));
    assert_eq!(error_of(b"1,,5"), (3, CsvProblem::SeriesEmpty));
    assert_eq!(error_of(b"1,\"\",5"), (3, CsvProblem::SeriesEmpty));
    assert_eq!(error_of(b"1,s,"), (5, CsvProblem::Value { found: found("") }));
    assert_eq!(error_of(b"1,s, 5x"), (6, CsvProblem::Value { found: found("5x") }));
    for large in ["1e400", "-1e400", ".9e309", "1e-400", "-2e-324"] {
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
    assert_eq!(
        error_of(b"\xef\xbb\xbfx,s,1"),
        (4, CsvProblem::Time { found: found("x"), fault: TimeFault::Form })
    );
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
fn what_others_write_beside_the_values_is_understood() {
    // Numbers of rows in a column without a name.
    for (header, one, two) in
        [(",time,a", "0,5,1.5", "17,6,2.5"), ("\"\",time,a", "\"1\",5,1.5", "\"2\",6,2.5")]
    {
        let found = plain(&format!("{header}\n{one}\n{two}\nx,7,3.5\n"));
        assert_eq!(found[..2], ["2 5 a Float(1.5) None", "3 6 a Float(2.5) None"]);
        assert!(found[2].contains("line 4, column 1: expected the number of the row"), "{found:?}");
    }
    assert_eq!(plain(",time,name,value\n0,5,a,1.5\n"), ["2 5 a Float(1.5) None"]);
    assert!(plain("time,,a\n5,,1.5\n")[0].contains("expected a name for each column"));
    // Words and quotes that say that there is no value.
    let of = |nothing: &str| plain(&format!("time,a,b:f64,t:text\n5,{nothing},{nothing},x\n"));
    assert_eq!(of(""), ["2 5 t Text(\"x\") As(Text)"]);
    for nothing in ["NA", "n/a", "NULL", "none", "\\N"] {
        let expected = ["2 5 a Nothing None", "2 5 b Nothing None", "2 5 t Text(\"x\") As(Text)"];
        assert_eq!(of(nothing), expected, "{nothing}");
    }
    // With quotes around everything the series says whether it is a text.
    for nothing in ["", "NA"] {
        let text = format!("\"time\",\"a\",\"b:f64\"\n\"5\",\"{nothing}\",\"{nothing}\"\n");
        let found = plain(&text);
        assert_eq!(found[0], format!("2 5 a QuotedNothing({nothing:?}) None"));
        assert_eq!(
            found.get(1).map(String::as_str),
            (!nothing.is_empty()).then_some("2 5 b Nothing None")
        );
    }
    assert_eq!(plain("time,t:text\n5,NA\n"), ["2 5 t Text(\"NA\") As(Text)"]);
    assert_eq!(plain("time,a,b\n5,\"NA\",1\n")[0], "2 5 a Quoted(\"NA\") None");
    let found = plain("time,say\n5,hello\n");
    assert!(found[0].contains("say=text if it holds texts"), "{found:?}");
    // What Excel says of the separator.
    for first in ["sep=;", "\"sep=;\"", "\u{feff}sep=;"] {
        assert_eq!(plain(&format!("{first}\r\ntime;a\r\n5;1.5\r\n")), ["3 5 a Float(1.5) None"]);
    }
}

#[test]
fn lines_that_end_with_cr_alone_are_told_and_not_taken_for_a_header() {
    for text in ["time,a\r5,1.5\r", "time,series,value\r5,a,1.5\r"] {
        let found = plain(text);
        assert!(found.len() == 1 && found[0].contains("found CR alone"), "{text:?}: {found:?}");
    }
    assert_eq!(plain("time,\"a\rb\"\r\n5,1.5\r\n"), ["2 5 a\rb Float(1.5) None"]);
}

#[test]
fn names_with_and_without_what_keeps_them_from_being_formulas_are_not_mixed() {
    let refused = |found: &[String], line: u64, said: &str| {
        let begin = format!("line {line}, column 3: expected a ' before all names and texts");
        assert!(found.iter().any(|one| one.starts_with(&begin) && one.contains(said)), "{found:?}");
    };
    for header in ["", "time,series,value\n", "time,sensor,value\n"] {
        let first = header.lines().count() as u64 + 1;
        let found = plain(&format!("{header}1,'=x,1\n2,=x,2\n3,'=y,3\n4,x,4\n"));
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found[0].contains(" =x ") && found[2].contains(" =y "), "{found:?}");
        refused(&found, first + 1, &format!("line {first} has a ', found none before \"=x\""));
        let found = plain(&format!("{header}1,=x,1\n2,'=x,2\n3,' +y,3\n4,'x,4\n"));
        assert_eq!(found.len(), 4, "{found:?}");
        refused(&found, first + 1, &format!("line {first} has no ', found one before \"'=x\""));
        refused(&found, first + 2, "found one before \"' +y\"");
        assert!(found[3].contains(" 'x "), "{found:?}");
    }
    // Nor are texts; what a query of InfluxDB answers has none before a formula.
    let found = plain("1,a,\"'=x\"\n2,a,\"=x\"\n");
    assert!(found[0].contains("=x") && !found[0].contains('\''), "{found:?}");
    assert!(found[1].starts_with("line 2, column 5: expected a '"), "{found:?}");
    let found = plain("time,a:text\n1,-x\n2,'-x\n");
    assert!(found[1].starts_with("line 3, column 3: expected a '"), "{found:?}");
    let table = "#datatype,string,long,dateTime:RFC3339,string,string,string\n\
        ,result,table,_time,_value,_field,_measurement\n,,0,2024-01-01T00:00:00Z,'=x,f,m\n";
    assert!(plain(table)[0].contains("'=x"), "{:?}", plain(table));
    // Nor are names of several files that go to the same place.
    let mut parser = CsvParser::of_several(TextForm::default());
    let mut names = Vec::new();
    for text in ["1,'=x,1\n", "1,b,1\n", "1,=x,1\n1,'=x,1\n"] {
        let mut item = |item: Result<Sample<'_>, CsvError>| {
            names.push(item.map_or_else(|error| error.to_string(), |s| s.series.into_owned()));
        };
        parser.feed(text.as_bytes(), &mut item);
        parser.finish(&mut item);
    }
    refused(&names, 1, "an earlier file has a ', found none before \"=x\"");
    names.retain(|name| !name.starts_with("line"));
    assert_eq!(names, ["=x", "b", "=x"]);
    // Another input is another matter.
    let mut parser = CsvParser::new();
    let mut names = Vec::new();
    for text in ["1,'=x,1\n", "1,=x,1\n"] {
        let mut item =
            |item: Result<Sample<'_>, CsvError>| names.push(item.unwrap().series.into_owned());
        parser.feed(text.as_bytes(), &mut item);
        parser.finish(&mut item);
    }
    assert_eq!(names, ["=x", "=x"]);
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

/// Names, times and values, in short.
fn short(form: TextForm, text: &str) -> Vec<String> {
    short_of(CsvParser::of(form), text)
}

fn short_of(mut parser: CsvParser, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut item = |item: Result<Sample<'_>, CsvError>| {
        found.push(match item {
            Ok(sample) => {
                let Sample { line, time_ns, series, value, mark, .. } = sample;
                let time = time_ns.map_or("now".to_owned(), |time_ns| time_ns.to_string());
                format!("{line} {time} {series} {value:?} {mark:?}")
            }
            Err(error) => error.to_string(),
        });
    };
    parser.feed(text.as_bytes(), &mut item);
    parser.finish(&mut item);
    found
}

fn plain(text: &str) -> Vec<String> {
    short(TextForm::default(), text)
}

#[test]
fn a_wide_header_makes_a_series_of_each_column() {
    let found = plain("time,temp,hum:i64,on\n1,21.5,40,true\n2,,41,\n# note\n\n3,x,42,false\n");
    assert_eq!(
        found,
        [
            "2 1 temp Float(21.5) None",
            "2 1 hum Integer(40) As(I64)",
            "2 1 on Boolean(true) None",
            "3 2 hum Integer(41) As(I64)",
            "line 6, column 3: column \"temp\": expected a number, true or false, or text in quotes, \
             found \"x\" (--columns temp=label if it tells series apart, temp=text if it holds texts)",
        ]
    );
    let found = plain("Date;\"room temp\";p{site=\"\"a\"\"}\n2026-01-02T00:00:00Z;1;2.5\n");
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains(" room temp Integer(1)"), "{found:?}");
    let found = plain("ts\ta\tb\n1\t2\t\"x\ty\"\n");
    assert_eq!(found, ["2 1 a Integer(2) None", "2 1 b Quoted(\"x\\ty\") None"]);
}

#[test]
fn a_long_header_may_have_any_order_and_labels() {
    let found = plain(
        "sensor,value,timestamp,host,line\na,1.5,7,h1,x\n#b{line=\"\"},2,8,,\n\"c{host=\"\"k\"\"}\",3,9,h,\n\
         a,1,8,17,\na,1,8,2026-01-01,\n",
    );
    assert_eq!(found[0], "2 7 a{host=\"h1\",line=\"x\"} Float(1.5) None");
    assert!(found[1].starts_with("3 8 #b"), "{found:?}");
    assert!(found[2].contains("expected each label once, found \"host\""), "{found:?}");
    assert!(found[3].contains("column \"host\": expected a text that is a label"), "{found:?}");
    assert!(found[4].contains("--columns host=label"), "{found:?}");
    let form = TextForm {
        columns: vec![("host".into(), Role::Label), ("q".into(), Role::Skip)],
        ..TextForm::default()
    };
    let found = short(form, "time,name,value,host,q\n1,a,2,17,192\n");
    assert_eq!(found, ["2 1 a{host=\"17\"} Integer(2) None"]);
}

#[test]
fn types_are_said_in_a_column() {
    let found = plain(
        "time,series,value,value_type\n1,a,9007199254740993,i64\n1,b,-0,f64\n1,c,\"5\",text\n\
         1,d,18446744073709551615,u64\n1,e,true,bool\n1,f,1.5,i64\n1,g,x,frame\n1,h,,text\n",
    );
    assert_eq!(
        found[..5],
        [
            "2 1 a Integer(9007199254740993) As(I64)",
            "3 1 b Float(-0.0) As(F64)",
            "4 1 c Text(\"5\") As(Text)",
            "5 1 d Unsigned(18446744073709551615) As(I64)",
            "6 1 e Boolean(true) As(Bool)",
        ]
    );
    assert!(found[5].starts_with("line 7, column 5: expected an integer of 64"), "{found:?}");
    for (value, kind, said) in [
        ("-1", "u64", "an integer from 0 on"),
        ("1", "bool", "true or false"),
        ("x", "f64", "a number"),
    ] {
        let found = plain(&format!("1,a,{value},{kind}\n"));
        assert!(found[0].contains(&format!("expected {said}, since {kind} is said")), "{found:?}");
    }
    assert!(found[6].contains("line 8, column 7: expected the end of the line"), "{found:?}");
    assert_eq!(found[7], "9 1 h Text(\"\") As(Text)");
    assert_eq!(plain("1,a,5,i64\n"), ["1 1 a Integer(5) As(I64)"]);
    let found = plain("value_type;time;series;value\ni64;1;a;5\nframe;1;a;5\n");
    assert_eq!(found[0], "2 1 a Integer(5) As(I64)");
    let said = "expected f64, i64, u64, bool or text, found \"frame\"";
    assert!(found[1].contains(said), "{found:?}");
}

#[test]
fn a_first_line_that_says_nothing_is_told_as_that() {
    for (text, said) in [
        ("2026-01-01T00:00:00Z,21.5,40\n", "expected the name of a series, found \"21.5\""),
        ("2026-01-01T00:00:00Z,1e400,40\n", "expected the name of a series, found \"1e400\""),
        ("1,21.5,40,3\n", "expected the end of the line"),
        ("1,21.5\n", "expected a comma and the value"),
        ("1;a;2\n", "expected a comma and the series"),
        ("temp,hum\n", "expected a comma and the value"),
        ("time,sensor,temp\n", "header: expected a column value beside \"sensor\""),
        (
            "date,time,temp\n",
            "found \"date\" and \"time\" (if one has the day and the other one the time of day, join them to one \
             before; else --columns date=skip or --columns time=skip says which counts)",
        ),
        ("time,a,a\n", "header: expected each name once, found \"a\" twice"),
        ("time,,a\n", "header: expected a name for each column"),
        ("f\0f\0f\0", "found UTF-16"),
    ] {
        let mut parser = CsvParser::new();
        let mut found = Vec::new();
        let mut item =
            |item: Result<Sample<'_>, CsvError>| found.push(item.map(|_| ()).unwrap_err());
        parser.feed(text.as_bytes(), &mut item);
        parser.feed(text.as_bytes(), &mut item);
        parser.finish(&mut item);
        assert!(found[0].unknown_form, "{text}");
        assert!(found[0].to_string().contains(said), "{text}: {}", found[0]);
        // UTF-16 is said once, others for each line.
        assert_eq!(found.len(), if text.contains('\0') { 1 } else { 2 }, "{text}: {found:?}");
    }
    // In quotes, or behind a header, a name may be a number.
    assert_eq!(plain("1,\"42\",5\n"), ["1 1 42 Integer(5) None"]);
    assert_eq!(plain("time,series,value\n1,42,5\n"), ["2 1 42 Integer(5) None"]);
    // Behind a row a line of another form costs only itself.
    assert!(!items([b"1,a,1\n1,a\n".as_slice()]).is_empty());
}

#[test]
fn what_is_hardly_a_name_is_none_without_a_header() {
    let refused = [
        "10:00:00", "10:00", "10:00 am", "21.5 C", "21.5C", "50%", "$5", "-€3.50", "0x1F", "1_000",
        "null", "N/A", "-", "5 m", "3°C", "1'000", "5 mg/l", "<5", ">=5", "~5", "(5)", "½", "٣",
        "#N/A", "#DIV/0!",
    ];
    for name in refused {
        let (column, problem) = error_of(format!("2026-01-01T00:00:00Z,{name},4\n").as_bytes());
        assert_eq!((column, problem), (22, CsvProblem::SeriesNumber { found: name.into() }));
    }
    for name in
        ["1A", "3D", "10ms", "2.tmp", "192.168.0.1", "4_abc", "00:1a:2b:3c:4d:5e", "1/min", "oven"]
    {
        let line = format!("1700000000000000000,{name},4\n");
        assert_eq!(items([line.as_bytes()]), [sample(1, Some(1_700_000_000_000_000_000), name, 4)]);
        // Said to be names, all of these are.
        let line = format!("time,series,value\n1700000000000000000,{name},4\n");
        assert_eq!(items([line.as_bytes()]).len(), 1, "{name}");
    }
}

#[test]
fn a_column_that_may_tell_devices_apart_is_asked_for() {
    for name in ["id", "sensor_id", "deviceId", "Machine ID", "tag-id", "Device", "node"] {
        let text = format!("time,{name},temp\n2026-01-01T00:00:00Z,1,5\n");
        let found = plain(&text);
        assert!(found[0].contains("expected to know what"), "{name}: {found:?}");
    }
    for name in ["humid", "paid", "Grid", "id:f64", "nodes"] {
        let text = format!("time,{name},temp\n2026-01-01T00:00:00Z,1,5\n");
        assert_eq!(plain(&text).len(), 2, "{name}");
    }
}

#[test]
fn another_header_says_what_comes_behind_it() {
    let found = plain("time,a,b\n1,2,3\ntime,b,a\n1,4,5\ntime,b,a\ntime,series,value\n1,c,6\n");
    assert_eq!(
        found,
        [
            "2 1 a Integer(2) None",
            "2 1 b Integer(3) None",
            "4 1 b Integer(4) None",
            "4 1 a Integer(5) None",
            "7 1 c Integer(6) None",
        ]
    );
    // A bad row is none.
    let found = plain("1,a,1\nbad,time,5\n2,a,2\n");
    assert_eq!((found.len(), found[2].as_str()), (3, "3 2 a Integer(2) None"), "{found:?}");
}

/// Which of two lines names the columns is not known, so neither does.
#[test]
fn a_line_of_units_does_not_name_the_columns() {
    let toa5 = "\"TIMESTAMP\",\"RECORD\",\"Batt\"\n\"TS\",\"RN\",\"Volts\"\n\"2026-02-01 00:00:00\",0,12.6\n";
    for text in [toa5, "Time,temp,press\nDate,degC,bar\n1,1.5,2\n", "a,time\nbar,ts\n1.5,1\n"] {
        let found = plain(text);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("line 2") && found[0].contains("names or units"), "{found:?}");
        assert!(found[1].contains("line 2 says why"), "{found:?}");
    }
    // Empty rows, and lines that are refused, may stand between both.
    for between in [",,", ",Ambient,Line", "range,-40,10", "----,----,----", "NA,NA"] {
        let found = plain(&format!("Time,temp,press\n{between}\nDate,degC,bar\n1,1.5,2\n"));
        assert!(found.iter().all(|one| one.starts_with("line ")), "{between}: {found:?}");
    }
    let found = plain("Time,temp,press\nUTC,degC,bar\nmean,avg,max\n1,1.5,2\n");
    assert_eq!(found[2..], ["4 1 temp Float(1.5) None", "4 1 press Integer(2) None"]);
    // Of other columns it is another header: a program was started twice.
    let found = plain("time,x,y\ntime,x,z\n1,2,3\n");
    assert_eq!(found, ["3 1 x Integer(2) None", "3 1 z Integer(3) None"]);
    let again = plain("time,x\n\"time\",\"x\"\n1,2\n");
    assert!(again[0].contains("found the header once more"), "{again:?}");
    assert_eq!(again[1], "3 1 x Integer(2) None");
    let found = plain("time,a\ntime,a,b\n1,2,3\n");
    assert_eq!(found, ["3 1 a Integer(2) None", "3 1 b Integer(3) None"]);
    // Where it says no time it is a row that is refused, and the names stay.
    let found = plain("Time,temp,press\ns,degC,bar\n1,1.5,2\n");
    assert!(found[0].contains("line 2"), "{found:?}");
    assert_eq!(found[1..], ["3 1 temp Float(1.5) None", "3 1 press Integer(2) None"]);
}

/// Files get put together, and not each of their headers is known to be one.
#[test]
fn names_that_are_not_understood_end_those_before() {
    let marked = plain("\u{feff}time,a,b\n1,1,2\n\u{feff}time,b,a\n2,2,1\n");
    assert_eq!(marked[2..], ["4 2 b Integer(2) None", "4 2 a Integer(1) None"]);
    let form = || TextForm { columns: vec![("Zeit".into(), Role::Time)], ..TextForm::default() };
    let said = short(form(), "Zeit,a,b\n1,1,2\nZeit,b,a\n2,2,1\n");
    assert_eq!(said, marked);
    // Names that are numbers too: the name of the time says what they are.
    let depths = plain("time,0.5,1.0\n1,1,2\ntime,1.0,0.5\n2,2,1\n");
    assert_eq!(depths[2..], ["4 2 1.0 Integer(2) None", "4 2 0.5 Integer(1) None"]);
    let file = |text: &str| short_of(CsvParser::of_several(TextForm::default()), text);
    for (first, row, second) in [
        ("time,a,b", "1,1,2", "Zeit,b,a"),
        ("time,a,b", "1,1,2", "Zeit,x,y"),
        ("time,a,b", "1,1,2", "\"Zeit\",\"x\",\"y\""),
        ("time,a", "1,1", "Zeit,hum"),
        ("time,a,b", "1,\"on\",2", "Zeit,x,y"),
        ("time,a,b", "1,1,2", "Zeit,x,x"),
        (",time,a", "0,1,1", ",Zeit,b"),
        ("time;a;", "1;1;", "Zeit;b;"),
        ("time,a,b", "1,1,2", "2,2,1Zeit,b,a"),
    ] {
        let found = file(&format!("{first}\n{row}\n{second}\n0,2,1\n2,2,1\n{first}\n{row}\n"));
        let other = |one: &&String| one.contains("names of other columns");
        assert_eq!(found.iter().filter(other).count(), 1, "{second}: {found:?}");
        let taken: Vec<_> = found.iter().filter(|one| !one.starts_with("line ")).collect();
        let lines: Vec<_> = taken.iter().map(|one| &one[..2]).collect();
        assert!(lines.iter().all(|line| *line == "2 " || *line == "7 "), "{second}: {found:?}");
        assert_eq!(lines.iter().filter(|line| **line == "7 ").count() * 2, lines.len(), "{second}");
    }
    // A row that is wrong is one all the same where its words are none of names.
    for bad in ["ERR,ERR,ERR", "?,1,bad", "??,,bad", "---,*,bad", "reset"] {
        let found = file(&format!("time,a,b\n1,1,2\n{bad}\n2,3,1\n"));
        assert_eq!(found[found.len() - 1], "4 2 b Integer(1) None", "{bad}: {found:?}");
    }
    // The same header behind a last line that was not ended is the same.
    let found = file("time,a,b\n1,1,2\n2,2,1time,a,b\n3,3,1\n");
    assert_eq!(found[found.len() - 1], "4 3 b Integer(1) None", "{found:?}");
    // Of a stream a broken row costs no others, but where it has names that are known.
    assert_eq!(plain("time,a,b\n1,1,2\nreset,x,y\n2,3,1\n")[4], "4 2 b Integer(1) None");
    assert!(plain("time,a,b\n1,1,2\nZeit,b,a\n2,3,1\n")[3].contains("line 3 says why"));
}

#[test]
fn decimal_commas_are_read_only_if_said() {
    let text = "time;a\n1;21,5\n2;21.5\n";
    assert!(plain(text)[0].contains("expected a number"), "{:?}", plain(text));
    let form = TextForm { decimal_comma: true, ..TextForm::default() };
    let found = short(form, text);
    assert_eq!(found[0], "2 1 a Float(21.5) None");
    assert!(found[1].contains("expected a number"), "{found:?}");
    // In quotes it is kept as it stands, for a series of texts.
    let form = TextForm { decimal_comma: true, ..TextForm::default() };
    let found = short(form, "time;a\n1;\"21,5\"\n2;\"1.000,5\"\n3;\"21.5\"\n");
    let expected = [
        "2 1 a QuotedComma(\"21,5\") None",
        "3 2 a QuotedComma(\"1.000,5\") None",
        "4 3 a QuotedComma(\"21.5\") None",
    ];
    assert_eq!(found, expected);
    // So are times, with a point too.
    let form = TextForm { decimal_comma: true, ..TextForm::default() };
    let found = short(form, "time;a\n0,5;1,5\n0.5;2\n\"1,25\";3\n");
    let expected = ["2 500000000 a Float(1.5) None", "3 500000000 a Integer(2) None"];
    assert_eq!(
        (&found[..2], &*found[2]),
        (&expected.map(str::to_owned)[..], "4 1250000000 a Integer(3) None")
    );
}

#[test]
fn the_name_of_a_time_says_its_unit() {
    for (name, time) in [
        ("time_ns", 5),
        ("ts_us", 5_000),
        ("Timestamp_ms", 5_000_000),
        ("@timestamp", 5),
        ("@timestamp_ms", 5_000_000),
    ] {
        let form = TextForm { times: Times::checked(), ..TextForm::default() };
        assert_eq!(
            short(form, &format!("{name},a\n5,1\n")),
            [format!("2 {time} a Integer(1) None")]
        );
    }
}

#[test]
fn a_text_may_have_line_breaks() {
    let text = "1,a,\"x\ny\"\n2,b,1\n3,\"n\r\n\"\"m\",\"\n\n\"\r\n4,c,2";
    assert_eq!(
        plain(text),
        [
            "1 1 a Quoted(\"x\\ny\") None",
            "3 2 b Integer(1) None",
            "4 3 n\r\n\"m Quoted(\"\\n\\n\") None",
            "8 4 c Integer(2) None",
        ]
    );
}

#[test]
fn a_forgotten_quote_costs_its_line_alone() {
    for (text, rows) in [
        ("1,a,1\n2,\"b,2\n3,c,3\n4,d,4\n", 3),
        ("1,a,1\n2,\"b,2\n3,c,3\n4,\"d,4\n5,e,5\n", 3),
        // What is behind it might be lines of a text.
        ("1,a,1\n2,\"b,2\n3,c,\"x\"y\n5,e,5\n", 1),
    ] {
        let found = plain(text);
        assert!(found[1].starts_with("line 2, column 3: expected a closing quote"), "{found:?}");
        let taken = found.iter().filter(|item| !item.starts_with("line")).count();
        assert_eq!(taken, rows, "{found:?}");
    }
    // Each of many such lines is looked at a bounded number of times.
    let many = "2,\"b,2\n3,c,3\n".repeat(100_000);
    assert_eq!(plain(&many).len(), 200_000);
}

/// A text in quotes may have lines that read like rows; nor are they rows where something is wrong of the row
/// that the text is in.
#[test]
fn lines_of_a_text_are_no_rows_of_a_row_that_is_refused() {
    let evil = "2,evil,666";
    let head = "#datatype,string,long,dateTime:RFC3339,string,string,string,string\n\
        ,result,table,_time,_value,_field,_measurement,_time\n";
    let table = "#datatype,string,long,dateTime:RFC3339,double,string,string\n\
        ,result,table,_time,_value,_field,_measurement\n,,0,2024-01-01T00:00:00Z,6,f,evil";
    for (text, refused) in [
        // One field too many.
        (format!("1,a,1\n2,b,2,\"x\n{evil}\ny\"\n3,c,3\n"), 1),
        // Behind a quote that is misplaced.
        (format!("1,a,1\n2,\"b\"z,\"x\n{evil}\ny\"\n3,c,3\n"), 1),
        // Too many columns.
        ("time,a,b\n1,1,\"t\"\n2,2,\"u\",\"x\n2,6,\"\"evil\"\"\ny\"\n3,3,\"v\"\n".to_owned(), 1),
        // Behind a row whose quote was forgotten; the row itself is right.
        ("1,a,\"forgot\n2,b,\"x\n3,c,666\ny\"\n4,d,4\n".to_owned(), 1),
        // A table whose head is refused.
        (format!("{head},,0,2024-01-01T00:00:00Z,\"x\n\n{table}\n\",f,m,x\n"), 2),
    ] {
        let found = plain(&text);
        assert!(
            !found.iter().any(|item| !item.starts_with("line") && item.contains("evil")),
            "{found:?}"
        );
        let lines = found.iter().filter(|item| item.starts_with("line")).count();
        assert_eq!(lines, refused, "{found:?}");
    }
}

#[test]
fn lines_of_a_text_that_is_too_long_or_cut_off_are_no_rows() {
    let prose = "it was said that\n2,evil,666\nand nothing else\n".repeat(LINE_BYTES_MAX / 32);
    let heads = ["1,a,1\n2,b,", "time,a,b\n1,1,\"u\"\n2,2,"];
    for (head, behind) in heads.iter().zip(["\n3,c,3\n", "\n3,3,\"v\"\n"]) {
        let text = format!("{head}\"{prose}\"{behind}");
        let found = plain(&text);
        assert!(!found.iter().any(|item| item.contains("evil")), "{:?}", &found[..3]);
        assert!(
            found.iter().any(|item| item.contains("expected a closing quote")),
            "{:?}",
            &found[..3]
        );
        assert_eq!(found.iter().filter(|item| item.starts_with("line")).count(), 2, "{found:?}");
        assert!(found.iter().any(|item| item.contains("are not read")), "{found:?}");
        assert!(found.last().is_some_and(|item| !item.starts_with("line")), "{found:?}");
        // The input ends within the text.
        for cut in [head.len() + 40, head.len() + prose.len() / 2] {
            let found = plain(&text[..cut]);
            assert!(!found.iter().any(|item| item.contains("evil")), "{cut}: {found:?}");
            assert_eq!(
                found.iter().filter(|item| item.starts_with("line")).count(),
                2,
                "{found:?}"
            );
        }
    }
    // Rows behind a forgotten quote are rows, one in a hundred of which is none.
    let rows = format!("{}5,x,\n", "4,c,1234567\n".repeat(99)).repeat(400);
    let found = plain(&format!("1,a,1\n2,\"b,2\n{rows}"));
    let taken = found.iter().filter(|item| !item.starts_with("line")).count();
    assert_eq!(taken, 1 + 99 * 400);
}

/// Items of a live input whose time is over behind each of these pieces.
fn judged(pieces: &[&str]) -> Vec<String> {
    let mut parser = CsvParser::live(TextForm::default());
    let mut found = Vec::new();
    let mut item = |item: Result<Sample<'_>, CsvError>| {
        found.push(match item {
            Ok(Sample { line, series, value, .. }) => format!("{line} {series} {value:?}"),
            Err(error) => error.to_string(),
        });
    };
    for piece in pieces {
        parser.feed(piece.as_bytes(), &mut item);
        parser.judge(&mut item);
    }
    parser.finish(&mut item);
    found
}

#[test]
fn a_live_text_is_judged_when_its_time_is_over() {
    let open = |line| format!("line {line}, column 4: expected a closing quote");
    let same = |found: Vec<String>, expected: &[String]| {
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}: {expected}");
        }
    };
    // Rows: a quote was forgotten. The first line alone waits, since nothing waits for it.
    let rows = [open(1), "2 x Integer(1)".into(), "3 y Integer(2)".into(), "4 z Integer(3)".into()];
    same(judged(&[",t,\"for", "got\n", ",x,1\n,y,2\n", ",z,3\n"]), &rows);
    // A text that is closed in time, however many lines it has.
    same(
        judged(&[",t,\"one\n", "two\"\n,x,1\n"]),
        &["1 t Quoted(\"one\\ntwo\")".into(), "3 x Integer(1)".into()],
    );
    // One that is closed later: none of its lines is a row, though one looks like it.
    let unread = |line, from| {
        format!("line {line}, column 1: the lines from {from} to this one are not read")
    };
    let text = [open(1), unread(4, 2), "5 x Integer(1)".into()];
    same(judged(&[",t,\"one\n", "two\n", ",x,66\n", "end\"\n,x,1\n"]), &text);
    // Blank lines say nothing, so it waits on.
    let text = [open(1), unread(4, 2)];
    same(judged(&[",t,\"one\n", "\n", "two\n", ",x,66\n"]), &text);
    // So few lines may mislead: once nine of ten are rows, reading goes on.
    let mut pieces = vec![",t,\"forgot\n", ",x\n", "\n"];
    pieces.extend([",x,1\n"; 10]);
    let found = judged(&pieces);
    same(found, &[open(1), unread(11, 2), "12 x Integer(1)".into(), "13 x Integer(1)".into()]);
    // A text of a thousand lines costs some thirty rows, and not nine thousand.
    let mut pieces = vec![",t,\"forgot\n"];
    pieces.extend(["prose\n"; 1000]);
    pieces.extend([",x,1\n"; 100]);
    let found = judged(&pieces);
    assert_eq!(found.len(), 2 + 72, "{found:?}");
    same(
        found.into_iter().take(3).collect(),
        &[open(1), unread(1029, 2), "1030 x Integer(1)".into()],
    );
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
        ";",
        "\t",
        "name",
        "n:i64",
        "value_type",
        "text",
        "time,a,b\n",
        "sensor;value;ts;host\n",
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
        let name = if guards::unguarded(guarded.as_str().into()) == series { guarded } else { series.clone() };
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

#[test]
fn annotated_tables_become_series() {
    let text = "#datatype,string,long,dateTime:RFC3339,dateTime:RFC3339,dateTime:RFC3339Nano,double,string,string,string\r\n\
        #group,false,false,true,true,false,false,true,true,true\r\n\
        #default,_result,,,,,,,,\r\n\
        ,result,table,_start,_stop,_time,_value,_field,_measurement,host\r\n\
        ,,0,1970-01-01T00:00:00Z,1970-01-02T00:00:00Z,1970-01-01T00:00:00.000000001Z,21.5,temp,weather,a b \r\n\
        ,,0,1970-01-01T00:00:00Z,1970-01-02T00:00:00Z,1970-01-01T00:00:00.000000002Z,,temp,weather,\r\n\
        ,,1,1970-01-01T00:00:00Z,1970-01-02T00:00:00Z,1970-01-01T00:00:00.000000003Z,NaN,\"te,mp\",weather,7\r\n\
        \r\n\
        #datatype,string,long,dateTime:RFC3339,string,string,string\r\n\
        #group,false,false,false,false,true,true\r\n\
        #default,_result,,,,,\r\n\
        ,result,table,_time,_value,_field,_measurement\r\n\
        ,,2,1970-01-01T00:00:00.000000004Z,\"a\r\n\r\n\"\"b\"\"\",note,weather\r\n\
        ,,2,1970-01-01T00:00:00.000000005Z,,note,weather\r\n\
        ,,2,1970-01-01T00:00:00.000000006Z,x,,weather\r\n\
        \r\n\
        #datatype,string,long,dateTime:RFC3339,string,long,unsignedLong,boolean,string\r\n\
        #group,false,false,false,true,false,false,false,true\r\n\
        #default,_result,,,,,,,\r\n\
        ,result,table,_time,_measurement,n,u,on,site\r\n\
        ,,3,1970-01-01T00:00:00.000000007Z,m,9007199254740993,18446744073709551615,true,x\r\n\
        ,,3,1970-01-01T00:00:00.000000008Z,m,,1,,x\r\n\
        ,,3,1970-01-01T00:00:00.000000009Z,m,1.5,1,true,x\r\n";
    let found = plain(text);
    assert_eq!(
        found,
        [
            "5 1 weather_temp{host=\"a b \"} Float(21.5) As(F64)",
            "7 3 {\"weather_te,mp\",host=\"7\"} Float(NaN) As(F64)",
            "13 4 weather_note Text(\"a\\r\\n\\r\\n\\\"b\\\"\") As(Text)",
            "16 5 weather_note Text(\"\") As(Text)",
            "line 17, column 38: expected the name of a series, found nothing",
            "23 7 m_n{site=\"x\"} Integer(9007199254740993) As(I64)",
            "23 7 m_u{site=\"x\"} Unsigned(18446744073709551615) As(I64)",
            "23 7 m_on{site=\"x\"} Boolean(true) As(Bool)",
            "24 8 m_u{site=\"x\"} Integer(1) As(I64)",
            "line 25, column 38: column \"n\": expected an integer of 64 bits, since i64 is said, \
             found \"1.5\"",
        ]
    );
    // Without what says the types they are read as those of any CSV.
    let bare = ",result,table,_time,_value,_field,_measurement,host\n\
                ,,0,1970-01-01T00:00:00.000000001Z,2,f,m,a\n";
    assert_eq!(plain(bare), ["2 1 m_f{host=\"a\"} Integer(2) None"]);
    // Blanks belong to the name of a tag and to its default, as to its values.
    let blank = "#default,_result,,,,,, b \n,result,table,_time,_value,_field,_measurement,a \n\
                 ,,0,1970-01-01T00:00:00.000000001Z,2,f,m,\n";
    assert_eq!(plain(blank), ["3 1 m_f{\"a \"=\" b \"} Integer(2) None"]);
}

/// The names of their series are the same: one result would overwrite the other.
#[test]
fn rows_of_a_second_result_are_refused() {
    let head = "result,table,_time,_value,_field,_measurement\n";
    let at = |second: u64| format!("1970-01-01T00:00:0{second}Z");
    // By the default of another table, and by the cells of one table.
    let table = |result: &str, value: u64| {
        format!("#default,{result},,,,,\n,{head},,0,{},{value},f,m\n", at(1))
    };
    let tables = format!("{}\n{}\n{}", table("mean", 1), table("max", 2), table("mean", 3));
    let cells = format!(
        ",{head},mean,0,{},1,f,m\n,max,0,{},2,f,m\n,mean,0,{},3,f,m\n",
        at(1),
        at(1),
        at(2)
    );
    for (text, line) in [(tables, 7), (cells, 3)] {
        let found = plain(&text);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("m_f Integer(1)") && found[2].contains("m_f Integer(3)"));
        let said = format!("line {line}, column");
        assert!(found[1].starts_with(&said), "{found:?}");
        assert!(found[1].contains("expected rows of one result, \"mean\", found \"max\""));
        assert!(found[1].contains("import it into another store"), "{found:?}");
    }
    // What does not say it is of the result before.
    let unsaid = format!("{}\n,{head},,0,{},2,f,m\n", table("mean", 1), at(2));
    assert_eq!(plain(&unsaid).len(), 2);
    assert!(plain(&unsaid)[1].contains("m_f Integer(2)"), "{:?}", plain(&unsaid));
}

#[test]
fn a_table_whose_columns_are_not_known_is_refused_with_its_rows() {
    let table = |types: &str, group: &str, header: &str| {
        plain(&format!("#datatype,{types}\n#group,{group}\n,{header}\n,1,2,3,4\n,1,2,3,4\n"))
    };
    for (types, group, header, expected) in [
        (
            "string,string,string,string",
            "false,true,false,true",
            "_time,_field,_value,host",
            "column \"_measurement\"",
        ),
        (
            "string,double,string,string",
            "false,false,true,true",
            "_time,_value,_measurement,host",
            "_field and _value",
        ),
        (
            "string,duration,string,string",
            "false,false,true,true",
            "_time,_value,_measurement,_field",
            "column \"_value\": expected double",
        ),
        (
            "string,string,long,string",
            "false,true,true,true",
            "_time,_measurement,x,y",
            "column \"x\": expected a tag",
        ),
        (
            "string,string,string,double",
            "false,true,true,true",
            "_time,_measurement,x,x",
            "found \"x\" twice",
        ),
        (
            "string,string,string,string",
            "true,true,true,true",
            "error,reference,a,b",
            "column \"_time\"",
        ),
    ] {
        let found = table(types, group, header);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found[0].contains("line 3") && found[0].contains(expected), "{found:?}");
        assert!(found[1].contains("line 4") && found[1].contains("line 3 says why"), "{found:?}");
    }
}

#[test]
fn headers_one_after_another_are_no_rows() {
    let again = "expected a row behind the header, found the header once more";
    for header in ["time,series,value", "time;sensor;value", "time,temp"] {
        let found = plain(&format!("{header}\n").repeat(4));
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().all(|one| one.ends_with(again)), "{found:?}");
    }
    assert_eq!(plain("time,a\n1,2\ntime,a\n2,3\ntime,a\n").len(), 2);
}
