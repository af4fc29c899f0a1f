//! Which column of a Parquet file is what: understood, said, or refused before a row is read.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMillisecondArray, TimestampNanosecondArray,
};
use baro_export::parquet::{Choice, Clock, Imported, Joint, Role, Texts, TimeUnit, Value, import};
use parquet::arrow::ArrowWriter;
use std::io::{Seek, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

/// What a file comes to: samples and refusals as lines, or why it is refused.
fn lines(bytes: &[u8], choice: Choice) -> Result<Vec<String>, String> {
    let thread = std::thread::current().id();
    let path = std::env::temp_dir().join(format!("baro-columns-{}-{thread:?}", std::process::id()));
    let mut file = std::fs::File::options();
    let mut file = file.create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    let mut lines = Vec::new();
    let read = import(file, choice, |item| {
        lines.push(match item {
            Imported::Sample { series, time_ns, value, .. } => {
                let value = match value {
                    Value::Float(value) => format!("{value:?}"),
                    Value::Integer(value) => value.to_string(),
                    Value::Unsigned(value) => format!("{value}u"),
                    Value::Boolean(value) => value.to_string(),
                    Value::Text(text) => format!("{text:?}"),
                };
                format!("{time_ns} {series} {value}")
            }
            Imported::Refused(refusal) => format!("row {}: {}", refusal.row, refusal.reason),
            Imported::Unit { series, unit } => format!("unit of {series}: {unit}"),
            Imported::TakenAsUtc { column } => format!("{column} is taken as UTC"),
        });
        ControlFlow::Continue(())
    });
    match read {
        Ok(_) => Ok(lines),
        Err(error) => {
            assert!(lines.is_empty(), "refused after {lines:?}");
            Err(error.to_string())
        }
    }
}

fn file(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn times(times: &[i64]) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from(times.to_vec()).with_timezone("UTC"))
}

/// As pandas writes times without a zone.
fn shown_ms(times: &[i64]) -> ArrayRef {
    Arc::new(TimestampMillisecondArray::from(times.to_vec()))
}

fn texts(texts: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

fn all(text: &str, rows: usize) -> ArrayRef {
    texts(&vec![Some(text); rows])
}

fn floats(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn integers(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn said(columns: &[(&str, Role)]) -> Choice {
    let columns = columns.iter().map(|(name, role)| ((*name).to_owned(), *role)).collect();
    Choice { unit: Some(TimeUnit::Nanoseconds), columns, ..Choice::default() }
}

/// A clock that is an hour ahead, and shows no negative times.
fn an_hour_ahead() -> Choice {
    let moment = |shown_ns| match shown_ns {
        0.. => Ok(shown_ns - 3_600_000_000_000),
        _ => Err("a time of this clock".to_owned()),
    };
    Choice { clock: Some(Clock(Arc::new(moment))), ..Choice::default() }
}

#[test]
fn rows_of_different_tags_are_different_series() {
    let bytes = file(vec![
        ("time", times(&[1, 1, 1, 2])),
        ("room", texts(&[Some("x y"), None, Some("\""), Some("")])),
        ("name", texts(&[Some("temp"), Some("temp"), Some("temp{host=\"c\"}"), Some("a b")])),
        ("host", texts(&[Some("a"), Some("b"), Some("c"), Some("a")])),
        ("value", floats(&[1.5, 2.5, 3.5, 4.5])),
    ]);
    let expected = [
        r#"1 temp{host="a",room="x y"} 1.5"#,
        r#"1 temp{host="b"} 2.5"#,
        r#"1 temp{host="c",room="\""} 3.5"#,
        r#"2 {"a b",host="a"} 4.5"#,
    ];
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), expected);
    let bytes = file(vec![
        ("ts", times(&[1])),
        ("metric", all("temp{host=\"a\"}", 1)),
        ("host", all("b", 1)),
        ("value", floats(&[1.0])),
    ]);
    let wrong =
        r#"row 1: expected one value of label host, found "a" in the name and "b" in the column"#;
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), [wrong]);
}

#[test]
fn value_goes_before_other_columns() {
    let bytes = file(vec![
        ("time", times(&[1, 2])),
        ("series", all("k{a=\"b\"}", 2)),
        ("value_quality", integers(&[192, 0])),
        ("value_f64", floats(&[7.0, 8.0])),
        ("value", floats(&[1.5, 2.5])),
    ]);
    let expected = [
        "1 k{a=\"b\"} 1.5",
        "1 k_quality{a=\"b\"} 192",
        "1 k_f64{a=\"b\"} 7.0",
        "2 k{a=\"b\"} 2.5",
        "2 k_quality{a=\"b\"} 0",
        "2 k_f64{a=\"b\"} 8.0",
    ];
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), expected);
    let skipped = said(&[("value_quality", Role::Skip), ("value_f64", Role::Skip)]);
    assert_eq!(lines(&bytes, skipped).unwrap(), [expected[0], expected[3]]);
    // A value by type needs the type, or it is another column.
    let bytes = file(vec![
        ("time", times(&[1])),
        ("series", all("k", 1)),
        ("value_quality", integers(&[192])),
        ("value_f64", floats(&[1.5])),
        ("value_text", texts(&[None])),
    ]);
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), ["1 k 1.5", "1 k_quality 192"]);
    let bytes = file(vec![
        ("time", times(&[1, 2])),
        ("series", all("k", 2)),
        ("value_f64", floats(&[1.5, 2.5])),
        ("value_text", texts(&[Some("a"), None])),
    ]);
    let two = ["row 1: expected one value, found several", "2 k 2.5"];
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), two);
}

#[test]
fn a_column_that_is_not_understood_refuses_the_file() {
    let long = |name: &str, column: ArrayRef| {
        let columns = vec![("time", times(&[1, 1])), ("series", all("k", 2)), (name, column)];
        file([columns, vec![("value", floats(&[1.5, 2.5]))]].concat())
    };
    let number = long("sensor", integers(&[1, 2]));
    let error = lines(&number, Choice::default()).unwrap_err();
    assert_eq!(
        error,
        "Parquet: column sensor: expected columns of which is known what they are, beside time, \
         series and value (texts are labels); say it with --columns 'sensor=label', =field (a \
         series of its own) or =skip, found integers"
    );
    let label = lines(&number, said(&[("sensor", Role::Label)])).unwrap();
    assert_eq!(label, ["1 k{sensor=\"1\"} 1.5", "1 k{sensor=\"2\"} 2.5"]);
    let field = lines(&number, said(&[("sensor", Role::Field)])).unwrap();
    assert_eq!(field, ["1 k 1.5", "1 k_sensor 1", "1 k 2.5", "1 k_sensor 2"]);
    let skip = lines(&number, said(&[("sensor", Role::Skip)])).unwrap();
    assert_eq!(skip, ["1 k 1.5", "1 k 2.5"]);
    for (name, column, type_name) in [
        ("other", floats(&[0.5, 0.5]), "floats"),
        ("flag", Arc::new(BooleanArray::from(vec![true, false])) as ArrayRef, "truth values"),
        ("timestamp", times(&[1, 2]), "timestamps"),
    ] {
        let error = lines(&long(name, column), Choice::default()).unwrap_err();
        assert!(error.contains(&format!("column {name}: ")), "{error}");
        assert!(error.ends_with(&format!("found {type_name}")), "{error}");
    }
    let error = lines(&number, said(&[("sensors", Role::Skip)])).unwrap_err();
    assert!(error.contains("found none of the name sensors (time (timestamps), "), "{error}");
    let error = lines(&number, said(&[("series", Role::Time)])).unwrap_err();
    assert!(error.starts_with("Parquet: column series: expected times as"), "{error}");
}

#[test]
fn an_index_of_pandas_is_the_time_or_numbers_of_rows() {
    let index = "__index_level_0__";
    let wide = |index_column: ArrayRef, time: &str| {
        file(vec![("a", floats(&[1.5])), (time, times(&[7])), (index, index_column)])
    };
    // A time without a name, as a frame that is indexed by it has it.
    let bytes = file(vec![("a", floats(&[1.5])), (index, times(&[7]))]);
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), ["7 a 1.5"]);
    // Numbers of rows, which are left when some rows were taken out.
    let bytes = wide(integers(&[3]), "time");
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), ["7 a 1.5"]);
    let asked = lines(&bytes, said(&[(index, Role::Value)])).unwrap();
    assert_eq!(asked, ["7 a 1.5", "7 __index_level_0__ 3"]);
    let long = file(vec![
        ("time", times(&[7])),
        ("series", all("k", 1)),
        ("value", floats(&[1.5])),
        (index, integers(&[3])),
    ]);
    assert_eq!(lines(&long, Choice::default()).unwrap(), ["7 k 1.5"]);
    let error = lines(&wide(all("k", 1), "time"), Choice::default()).unwrap_err();
    assert!(error.contains("column __index_level_0__: "), "{error}");
    // Nothing else without a name of a time is one.
    let error = lines(&wide(integers(&[3]), "t"), Choice::default()).unwrap_err();
    assert!(error.contains("expected a column time"), "{error}");
}

#[test]
fn a_second_time_and_a_column_without_a_name_refuse_the_file() {
    let bytes = file(vec![
        ("time", times(&[7])),
        ("timestamp", integers(&[1_700_000_000_000_000_000])),
        ("a", floats(&[1.5])),
    ]);
    let error = lines(&bytes, Choice::default()).unwrap_err();
    assert!(error.contains("column timestamp: expected one column of times"), "{error}");
    let skipped = lines(&bytes, said(&[("timestamp", Role::Skip)])).unwrap();
    assert_eq!(skipped, ["7 a 1.5"]);
    let chosen = lines(&bytes, said(&[("timestamp", Role::Time), ("time", Role::Skip)])).unwrap();
    assert_eq!(chosen, ["1700000000000000000 a 1.5"]);
    let bytes = file(vec![("time", times(&[7])), ("", floats(&[2.5])), ("a", floats(&[1.5]))]);
    let error = lines(&bytes, Choice::default()).unwrap_err();
    assert!(error.contains("expected a name for each column"), "{error}");
    assert_eq!(lines(&bytes, said(&[("", Role::Skip)])).unwrap(), ["7 a 1.5"]);
}

/// What fastparquet says of its columns of numbers: a length of 64.
#[test]
fn a_length_that_is_said_of_numbers_is_no_matter() {
    use parquet::basic::{Repetition, Type as Physical};
    use parquet::data_type::{DoubleType, Int64Type};
    use parquet::schema::types::Type;
    let column = |name: &str, physical, length| {
        let built = Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_length(length);
        Arc::new(built.build().unwrap())
    };
    let fields = vec![column("time", Physical::INT64, -1), column("a", Physical::DOUBLE, 64)];
    let schema = Type::group_type_builder("schema").with_fields(fields).build().unwrap();
    let mut bytes = Vec::new();
    let writer = parquet::file::writer::SerializedFileWriter::new(
        &mut bytes,
        Arc::new(schema),
        Arc::default(),
    );
    let mut writer = writer.unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut values = group.next_column().unwrap().unwrap();
    let time = [1_700_000_000_000_000_000];
    values.typed::<Int64Type>().write_batch(&time, None, None).unwrap();
    values.close().unwrap();
    let mut values = group.next_column().unwrap().unwrap();
    values.typed::<DoubleType>().write_batch(&[1.5], None, None).unwrap();
    values.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), ["1700000000000000000 a 1.5"]);
}

#[test]
fn texts_in_a_wide_file_are_labels_or_series_as_is_said() {
    let bytes = file(vec![
        ("timestamp", times(&[1, 1])),
        ("host", texts(&[Some("a"), Some("b")])),
        ("temp", floats(&[1.5, 2.5])),
        ("n", Arc::new(Int64Array::from(vec![None, Some(3)]))),
    ]);
    let error = lines(&bytes, Choice::default()).unwrap_err();
    assert!(error.contains("column host: ") && error.contains("--columns 'host=label'"), "{error}");
    let label = lines(&bytes, said(&[("host", Role::Label)])).unwrap();
    let expected = ["1 temp{host=\"a\"} 1.5", "1 temp{host=\"b\"} 2.5", "1 n{host=\"b\"} 3"];
    assert_eq!(label, expected);
    // Rows of one time that nothing tells apart.
    let value = lines(&bytes, said(&[("host", Role::Value)])).unwrap();
    assert_eq!(value[..2], ["1 host \"a\"", "1 temp 1.5"]);
    assert!(
        value[2].starts_with("row 2: column host: expected rows of different times"),
        "{value:?}"
    );
    assert!(value[3].starts_with("row 2: column temp: "), "{value:?}");
    assert_eq!(value[4..], ["1 n 3"]);
    // A column with a name of its own for time and values.
    let bytes =
        file(vec![("t", integers(&[1])), ("sensor", all("k", 1)), ("reading", floats(&[1.5]))]);
    let roles = said(&[("t", Role::Time), ("sensor", Role::Series), ("reading", Role::Value)]);
    assert_eq!(lines(&bytes, roles).unwrap(), ["1 k 1.5"]);
    assert!(lines(&bytes, Choice::default()).unwrap_err().contains("found columns t (integers)"));
}

#[test]
fn integers_that_mean_1970_need_a_unit() {
    let bytes = file(vec![
        ("time", integers(&[1_700_000_000, 1_700_000_000_000_000_000])),
        ("a", floats(&[1.0, 2.0])),
    ]);
    let found = lines(&bytes, Choice::default()).unwrap();
    assert!(found[0].ends_with("found 1700000000 (--precision s)"), "{found:?}");
    assert_eq!(found[1], "1700000000000000000 a 2.0");
    let seconds = lines(&bytes, TimeUnit::Seconds.into()).unwrap();
    assert_eq!(seconds[0], "1700000000000000000 a 1.0");
    assert!(seconds[1].contains("expected a time from 1677 to 2262"), "{seconds:?}");
}

#[test]
fn times_with_a_point_are_seconds_or_of_the_unit_that_is_said() {
    let of =
        |times: &[f64]| file(vec![("time", floats(times)), ("a", floats(&vec![2.5; times.len()]))]);
    let bytes = of(&[1_700_000_000.123_456, 1_700_000_001.0, 1_700_000_001.1]);
    let found = lines(&bytes, Choice::default()).unwrap();
    let expected =
        ["1700000000123456000 a 2.5", "1700000001000000000 a 2.5", "1700000001100000000 a 2.5"];
    assert_eq!(found, expected);
    // Where the number is exactly a count of nanoseconds it is that, here ..123.25, though fewer digits name it.
    let found = lines(&of(&[1_767_348_000_500_123.2]), TimeUnit::Microseconds.into()).unwrap();
    assert_eq!(found, ["1767348000500123250 a 2.5"]);
    let found = lines(&of(&[1_767_348_000_500_123_392.0]), TimeUnit::Nanoseconds.into()).unwrap();
    assert_eq!(found, ["1767348000500123392 a 2.5"]);
    let found = lines(&of(&[1_767_348_000.5]), TimeUnit::Nanoseconds.into()).unwrap();
    assert!(found[0].contains("expected no digits below the nanosecond"), "{found:?}");
    let found = lines(&of(&[-0.0, 5e-324]), TimeUnit::Seconds.into()).unwrap();
    assert_eq!(found[..1], ["0 a 2.5"]);
    assert!(found[1].starts_with("0 a ") && found[1].len() < 60, "{found:?}");
    let found = lines(&of(&[-1.5, 0.25, 1e6]), TimeUnit::Milliseconds.into()).unwrap();
    assert_eq!(found, ["-1500000 a 2.5", "250000 a 2.5", "1000000000000 a 2.5"]);
    // The name of one that is chosen says its unit.
    let bytes = file(vec![("t_ms", floats(&[1500.25])), ("a", floats(&[2.5]))]);
    let choice = Choice { unit: None, ..said(&[("t_ms", Role::Time)]) };
    assert_eq!(lines(&bytes, choice).unwrap(), ["1500250000 a 2.5"]);
    // What is in milliseconds, and no time at all, in the row that has it.
    for (time, said) in [
        (1_700_000_000_123.0, "expected seconds of a year from 1980 to 2100, or their unit"),
        (-1e300, "expected seconds"),
        (f64::NAN, "expected a time, found NaN"),
        (f64::INFINITY, "expected a time, found inf"),
    ] {
        let found = lines(&of(&[time]), Choice::default()).unwrap();
        assert!(found[0].contains(said), "{time}: {found:?}");
    }
    for time in [1e10, -1e300] {
        let found = lines(&of(&[time]), TimeUnit::Seconds.into()).unwrap();
        assert!(found[0].contains("expected a time from 1677 to 2262"), "{time}: {found:?}");
    }
}

#[test]
fn values_of_every_type_are_exact_or_refused() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(path.join("../../testdata/parquet/types.parquet")).unwrap();
    let day = 86_400_000_000_000_i64;
    let utc = Choice { clock: Some(Clock::utc()), ..Choice::default() };
    let found = lines(&bytes, utc).unwrap();
    let (first, last) = (day, 20_454 * day);
    let expected = [
        "0 half 0.5".to_owned(),
        "0 price 12.34".to_owned(),
        "0 whole 7".to_owned(),
        "row 1: column long: expected digits that a float of 64 bits keeps, found 12345678901234567.89".to_owned(),
        "0 code 5".to_owned(),
        "0 ratio 0.1".to_owned(),
        "0 unsigned 18446744073709551615u".to_owned(),
        format!("{first} half -2.0"),
        format!("{first} price -0.05"),
        format!("{first} code 5"),
        format!("{first} ratio 0.2"),
        format!("{first} unsigned 1u"),
        format!("{last} whole 1000000000000000000"),
        format!("{last} long 0.25"),
        format!("{last} code 6"),
        format!("{last} ratio 0.1"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn columns_that_would_be_one_series_refuse_the_file() {
    // Wide: names that are written otherwise.
    let bytes = file(vec![
        ("time", times(&[1])),
        ("t{a=\"1\",b=\"2\"}", floats(&[1.5])),
        ("t{b=\"2\",a=\"1\"}", floats(&[2.5])),
    ]);
    let error = lines(&bytes, Choice::default()).unwrap_err();
    assert!(error.contains("expected columns of different series"), "{error}");
    let left_out = said(&[("t{b=\"2\",a=\"1\"}", Role::Skip)]);
    assert_eq!(lines(&bytes, left_out).unwrap(), ["1 t{a=\"1\",b=\"2\"} 1.5"]);
    // Long: two that are put behind the same name.
    let bytes = file(vec![
        ("time", times(&[1])),
        ("series", all("k", 1)),
        ("value", floats(&[1.5])),
        ("value_q", floats(&[2.5])),
        ("q", floats(&[3.5])),
    ]);
    let error = lines(&bytes, said(&[("q", Role::Field)])).unwrap_err();
    assert!(error.contains("column q: expected columns of different series"), "{error}");
}

#[test]
fn where_a_name_is_put_together_is_said_with_it() {
    let joints = |columns: Vec<(&str, ArrayRef)>| {
        let mut found = Vec::new();
        let path = std::env::temp_dir().join(format!("baro-joints-{}", std::process::id()));
        std::fs::write(&path, file(columns)).unwrap();
        import(std::fs::File::open(&path).unwrap(), Choice::default(), |item| {
            if let Imported::Sample { series, joint, .. } = item {
                found.push((series.to_owned(), joint));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        std::fs::remove_file(&path).unwrap();
        found
    };
    let columns = vec![
        ("time", times(&[1, 1])),
        ("series", texts(&[Some("a b{x=\"1\"}"), Some("k_q")])),
        ("value", floats(&[1.5, 2.5])),
    ];
    assert!(joints(columns.clone()).iter().all(|(_, joint)| *joint == Joint::None));
    let quality = vec![("value_q", integers(&[0, 1])), ("host", all("c", 2))];
    let expected = [
        (r#"{"a b{x=\"1\"}",host="c"}"#, Joint::Whole),
        (r#"{"a b{x=\"1\"}_q",host="c"}"#, Joint::Behind(10)),
        (r#"k_q{host="c"}"#, Joint::Whole),
        (r#"k_q_q{host="c"}"#, Joint::Behind(3)),
    ];
    let found = joints([columns, quality].concat());
    assert_eq!(found, expected.map(|(name, joint)| (name.to_owned(), joint)));
}

/// Which zone they are of says nothing in the file: not a timestamp that is not adjusted to UTC, nor a date.
#[test]
fn times_of_a_clock_are_those_of_its_zone_or_utc_and_that_is_told() {
    let day_ns = 86_400_000_000_000_i64;
    let dates: ArrayRef = Arc::new(Date32Array::from(vec![1, 20_454]));
    for (name, column) in [
        ("time", shown_ms(&[86_400_000, 20_454 * 86_400_000])),
        ("__index_level_0__", shown_ms(&[86_400_000, 20_454 * 86_400_000])),
        ("date", dates),
    ] {
        let bytes = file(vec![(name, column), ("a", floats(&[1.5, 2.5]))]);
        let rows = |ahead_ns: i64| {
            [(day_ns, 1.5), (20_454 * day_ns, 2.5)]
                .map(|(shown_ns, value)| format!("{} a {value:?}", shown_ns - ahead_ns))
        };
        let utc = Choice { clock: Some(Clock::utc()), ..Choice::default() };
        assert_eq!(lines(&bytes, utc).unwrap(), rows(0));
        let told = [format!("{name} is taken as UTC")].into_iter().chain(rows(0));
        assert_eq!(lines(&bytes, Choice::default()).unwrap(), told.collect::<Vec<_>>());
        assert_eq!(lines(&bytes, an_hour_ahead()).unwrap(), rows(3_600_000_000_000));
    }
    // A time that the clock did not show costs its row; times with a zone are none of a clock.
    let bytes = file(vec![("time", shown_ms(&[-1, 1])), ("a", floats(&[1.5, 2.5]))]);
    let found = lines(&bytes, an_hour_ahead()).unwrap();
    let refused = "row 1: expected a time of this clock, found 1969-12-31T23:59:59.999000000";
    assert_eq!(found, [refused, "-3599999000000 a 2.5"]);
    let bytes = file(vec![("@timestamp", times(&[-1, 1])), ("a", floats(&[1.5, 2.5]))]);
    assert_eq!(lines(&bytes, an_hour_ahead()).unwrap(), ["-1 a 1.5", "1 a 2.5"]);
    let bytes = file(vec![("time", integers(&[-1])), ("a", floats(&[1.5]))]);
    let choice = Choice { unit: Some(TimeUnit::Nanoseconds), ..an_hour_ahead() };
    assert_eq!(lines(&bytes, choice).unwrap(), ["-1 a 1.5"]);
}

/// Read as series, numbers of sensors would leave one value of several at each time.
#[test]
fn a_number_that_may_tell_series_apart_refuses_the_file() {
    let two = |name: &str, value: &str| {
        file(vec![
            ("time", times(&[1, 1, 2])),
            (name, integers(&[17, 18, 17])),
            (value, floats(&[1.5, 2.5, 3.5])),
        ])
    };
    for (name, value, wide) in [
        ("sensor_id", "value", "value"),
        ("series", "value", "value"),
        ("series", "value_f64", "value_f64"),
        ("Sensor", "temp", "Sensor"),
        ("name", "temp", "name"),
        ("machine_id", "temp", "machine_id"),
    ] {
        let bytes = two(name, value);
        let error = lines(&bytes, Choice::default()).unwrap_err();
        let begin =
            format!("Parquet: column {name}: expected columns of which is known what they are");
        assert!(error.starts_with(&begin), "{error}");
        let ways = format!(
            "--columns '{name}=label' (it tells series apart), '{name}=skip', or '{wide}=value'"
        );
        assert!(error.contains(&ways), "{error}");
        let label = lines(&bytes, said(&[(name, Role::Label)])).unwrap();
        let named = |id: u64| format!("{value}{{{name}=\"{id}\"}}");
        let expected = [
            format!("1 {} 1.5", named(17)),
            format!("1 {} 2.5", named(18)),
            format!("2 {} 3.5", named(17)),
        ];
        assert_eq!(label, expected);
        let series = lines(&bytes, said(&[(wide, Role::Value)])).unwrap();
        assert_eq!(series[0], format!("1 {name} 17"), "{series:?}");
    }
    // Alone it is a series, and so is each column of a file that has none that is called so.
    let bytes = file(vec![("time", times(&[1])), ("value", floats(&[1.5]))]);
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), ["1 value 1.5"]);
    let bytes = file(vec![("time", times(&[1])), ("n", integers(&[3])), ("a", floats(&[1.5]))]);
    assert_eq!(lines(&bytes, Choice::default()).unwrap(), ["1 n 3", "1 a 1.5"]);
}

/// INT96 says nothing of a zone, and Spark writes UTC. What 64 bits of nanoseconds do not hold is no other time.
#[test]
fn times_of_days_and_nanoseconds_are_utc_or_those_of_a_clock() {
    use parquet::basic::{Repetition, Type as Physical};
    use parquet::data_type::{DoubleType, Int96, Int96Type};
    use parquet::schema::types::Type;
    let column = |name: &str, physical| {
        let built = Type::primitive_type_builder(name, physical);
        Arc::new(built.with_repetition(Repetition::REQUIRED).build().unwrap())
    };
    let fields = vec![column("a", Physical::DOUBLE), column("time", Physical::INT96)];
    let schema = Type::group_type_builder("schema").with_fields(fields).build().unwrap();
    let mut bytes = Vec::new();
    let writer = parquet::file::writer::SerializedFileWriter::new(
        &mut bytes,
        Arc::new(schema),
        Arc::default(),
    );
    let mut writer = writer.unwrap();
    // Days since 1970, of which the last is that of 9999-12-31.
    let (days, rows) = ([0, 20_454, -1, 2_932_896], 5_000);
    for _ in 0..2 {
        let mut group = writer.next_row_group().unwrap();
        let mut values = group.next_column().unwrap().unwrap();
        values.typed::<DoubleType>().write_batch(&vec![1.5; rows], None, None).unwrap();
        values.close().unwrap();
        let mut values = group.next_column().unwrap().unwrap();
        let time = |row: usize| {
            let mut time = Int96::new();
            time.set_data(7, 0, (2_440_588 + days[row % days.len()]) as u32);
            time
        };
        let times: Vec<Int96> = (0..rows).map(time).collect();
        values.typed::<Int96Type>().write_batch(&times, None, None).unwrap();
        values.close().unwrap();
        group.close().unwrap();
    }
    writer.close().unwrap();
    let day_ns = 86_400_000_000_000_i64;
    let found = lines(&bytes, Choice::default()).unwrap();
    assert_eq!(found.len(), 2 * rows);
    for (row, found) in found.iter().enumerate() {
        let expected = match days[row % rows % days.len()] {
            2_932_896 => {
                format!("row {}: expected a time from 1677 to 2262, found one outside", row + 1)
            }
            day => format!("{} a 1.5", day * day_ns + 7),
        };
        assert_eq!(*found, expected);
    }
    let found = lines(&bytes, an_hour_ahead()).unwrap();
    assert_eq!(found[0], "-3599999999993 a 1.5");
    assert!(found[2].starts_with("row 3: expected a time of this clock"), "{}", found[2]);
}

#[test]
fn times_that_are_texts_are_read_as_the_caller_says_or_refused() {
    let bytes = file(vec![
        ("time", texts(&[Some("7"), Some("soon"), None])),
        ("a", floats(&[1.5, 2.5, 3.5])),
    ]);
    let error = lines(&bytes, Choice::default()).unwrap_err();
    assert!(error.contains("column time: expected times as timestamps"), "{error}");
    let read = |text: &str| text.parse().map_err(|_| "a number".to_owned());
    // They have their zone themselves, or their reader knows it.
    let choice = Choice { texts: Some(Texts(Arc::new(read))), ..an_hour_ahead() };
    let refused =
        ["row 2: expected a number, found \"soon\"", "row 3: expected a time, found null"];
    assert_eq!(lines(&bytes, choice).unwrap(), ["7 a 1.5", refused[0], refused[1]]);
}
