//! Rows of queries as Arrow and Parquet: which columns, how they are cut, and hostile files.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float64Type, Int16Type, Int32Type, TimestampMicrosecondType, TimestampNanosecondType,
};
use baro_export::parquet::{Imported, TimeUnit, Value, import};
use baro_export::rows::Rows;
use baro_export::{Arrow, Json, Parquet, Times};
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_store::{Batch, Column, Selection, Store, Target, Texts, ValueType, Values};
use baro_sys::disk::Disk;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store with these series and nothing in it: rows are made here.
fn store(name: &str, series: &[(&str, Type, &str)]) -> (Folder, Store) {
    let path = std::env::temp_dir().join(format!("baro-forms-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    let folder = Folder(path);
    let disk = Disk::create(&folder.0).unwrap();
    let (segment_bytes, catalog_bytes, when_full) = (1 << 20, 4 << 20, WhenFull::Stop);
    let geometry = Geometry { segment_bytes, segments: 2, catalog_bytes, when_full };
    init(&disk, &folder.0, StoreId(*b"store id of test"), 1, &geometry, |_| {}).unwrap();
    let options = Options { rings: Rings::Private, ..Options::default() };
    let recorder = Recorder::open(&folder.0, options).unwrap();
    recorder.declare(series).unwrap();
    drop(recorder);
    let store = Store::open(&folder.0).unwrap();
    (folder, store)
}

fn hand(rows: &mut dyn Rows, columns: &[Column], place: usize, times: &[i64], values: Values<'_>) {
    let target = Target { id: columns[place].id, place };
    rows.batch(&columns[place], &Batch { target, times_ns: times, values }).unwrap();
}

fn batches(stream: &[u8]) -> Vec<RecordBatch> {
    let reader = arrow_ipc::reader::StreamReader::try_new(stream, None).unwrap();
    reader.map(Result::unwrap).collect()
}

#[test]
fn an_empty_answer_has_the_columns_of_a_full_one() {
    let series = [("a", Type::F64, "V"), ("b", Type::Bool, ""), ("t", Type::Text, "")];
    let (_folder, store) = store("empty", &series);
    let names = |names: &[&str]| {
        let selection = Selection::named(store.catalog(), names).unwrap();
        let mut out = Vec::new();
        let mut arrow = Arrow::new(&selection, None, &mut out).unwrap();
        arrow.finish().unwrap();
        drop(arrow);
        let reader = arrow_ipc::reader::StreamReader::try_new(&out[..], None).unwrap();
        let schema = reader.schema();
        assert_eq!(reader.count(), 0);
        let field =
            |f: &std::sync::Arc<arrow_schema::Field>| format!("{} {}", f.name(), f.data_type());
        schema.fields().iter().skip(2).map(field).collect::<Vec<_>>()
    };
    assert_eq!(names(&["a"]), ["value Float64"]);
    assert_eq!(
        names(&["t", "a", "b"]),
        ["value_f64 Float64", "value_bool Boolean", "value_text Utf8"]
    );
    let selection = Selection::all(store.catalog(), true).unwrap();
    let mut out = Vec::new();
    Json::array(&mut out).finish().unwrap();
    assert_eq!(out, b"[]\n");
    let mut parquet = Vec::new();
    Parquet::new(&selection, None, &mut parquet).unwrap().finish().unwrap();
    assert_eq!(&parquet[parquet.len() - 4..], b"PAR1");
}

#[test]
fn many_short_series_share_record_batches_and_long_ones_are_cut() {
    let names: Vec<String> = (0..3000).map(|n| format!("s{n:04}")).collect();
    let series: Vec<_> = names.iter().map(|name| (name.as_str(), Type::F64, "")).collect();
    let (_folder, store) = store("many", &series);
    let selection = Selection::all(store.catalog(), true).unwrap();
    let columns = selection.columns();
    let mut out = Vec::new();
    let mut arrow = Arrow::new(&selection, None, &mut out).unwrap();
    let long: Vec<f64> = (0..65_536).map(f64::from).collect();
    let times: Vec<i64> = (0..65_536).collect();
    hand(&mut arrow, columns, 0, &times[..100], Values::F64(&long[..100]));
    hand(&mut arrow, columns, 1, &times, Values::F64(&long));
    for place in 2..3000 {
        hand(&mut arrow, columns, place, &[7], Values::F64(&[place as f64]));
    }
    assert_eq!(arrow.finish().unwrap().series_without_metadata, 0);
    drop(arrow);
    let batches = batches(&out);
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [65_536, 100 + 2998]);
    let mut at = 0;
    for batch in &batches {
        let series = batch.column(0).as_dictionary::<Int32Type>();
        let names = series.downcast_dict::<arrow_array::StringArray>().unwrap();
        let times = batch.column(1).as_primitive::<TimestampNanosecondType>();
        let values = batch.column(2).as_primitive::<Float64Type>();
        for row in 0..batch.num_rows() {
            use arrow_array::ArrayAccessor;
            let (place, time_ns, value) = match at {
                0..100 => (0, at as i64, at as f64),
                100..65_636 => (1, at as i64 - 100, (at - 100) as f64),
                _ => (at - 65_634, 7, (at - 65_634) as f64),
            };
            let found = (names.value(row), times.value(row), values.value(row));
            assert_eq!(found, (format!("s{place:04}").as_str(), time_ns, value));
            at += 1;
        }
    }
}

#[test]
fn row_groups_are_bounded_and_have_statistics() {
    let (_folder, store) = store("groups", &[("a", Type::I64, "m"), ("b", Type::I64, "m")]);
    let selection = Selection::all(store.catalog(), true).unwrap();
    let path = _folder.0.join("groups.parquet");
    let mut parquet = Parquet::new(&selection, None, File::create(&path).unwrap()).unwrap();
    let values: Vec<i64> = (0..65_536).collect();
    for place in 0..2 {
        for batch in 0..12 {
            let times: Vec<i64> = values.iter().map(|n| n + batch * 65_536).collect();
            hand(&mut parquet, selection.columns(), place, &times, Values::I64(&values));
        }
    }
    parquet.finish().unwrap();
    drop(parquet);
    let builder = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let metadata = builder.metadata().clone();
    let rows: Vec<i64> = metadata.row_groups().iter().map(|group| group.num_rows()).collect();
    assert_eq!(rows, [1 << 20, 24 * 65_536 - (1 << 20)]);
    for group in metadata.row_groups() {
        assert!(group.columns().iter().all(|column| column.statistics().is_some()));
        // Named in the order of their ids.
        assert_eq!(group.sorting_columns().map(Vec::len), Some(2));
    }
    let unit = builder.schema().field(2).metadata().get("unit").cloned();
    assert_eq!(unit.as_deref(), Some("m"));
    let (mut read, mut told) = (0, Vec::new());
    let rows = import(File::open(&path).unwrap(), TimeUnit::Nanoseconds, |item| {
        if let Imported::Unit { series, unit } = item {
            told.push((series.to_owned(), unit.to_owned()));
            return ControlFlow::Continue(());
        }
        let Imported::Sample { row, series, time_ns, value, .. } = item else { panic!("{item:?}") };
        let (place, at) = (read / (12 * 65_536), read % (12 * 65_536));
        assert_eq!((series, time_ns), (["a", "b"][place as usize], at));
        assert_eq!((row, value), (read as u64 + 1, Value::Integer(at % 65_536)));
        read += 1;
        ControlFlow::Continue(())
    });
    assert_eq!((rows.unwrap(), read), (24 * 65_536, 24 * 65_536));
    assert_eq!(told, [("a".to_owned(), "m".to_owned()), ("b".to_owned(), "m".to_owned())]);
}

/// Also before 1970, where dividing would round to the other side.
#[test]
fn times_in_microseconds_have_their_rest_beside_them() {
    let (folder, store) = store("us", &[("a", Type::F64, "")]);
    let selection = Selection::all(store.catalog(), true).unwrap();
    let times = [i64::MIN, -1_001, -1, 0, 1_999, 1_700_000_000_123_456_789, i64::MAX];
    let values: Vec<f64> = (0..7).map(f64::from).collect();
    let path = folder.0.join("us.parquet");
    let out = File::create(&path).unwrap();
    let mut parquet = Parquet::with_times(&selection, None, Times::Microseconds, out).unwrap();
    hand(&mut parquet, selection.columns(), 0, &times, Values::F64(&values));
    parquet.finish().unwrap();
    drop(parquet);
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(&path).unwrap()).unwrap();
    let fields: Vec<_> = reader.schema().fields().iter().map(|field| field.name()).collect();
    assert_eq!(fields, ["series", "time", "ns", "value"]);
    let batch = reader.build().unwrap().next().unwrap().unwrap();
    let found = batch.column(1).as_primitive::<TimestampMicrosecondType>();
    assert_eq!(found.value(1), -2);
    let rest = batch.column(2).as_primitive::<Int16Type>();
    assert_eq!(&rest.values()[1..5], [999, 999, 0, 999]);
    let mut read = Vec::new();
    import(File::open(&path).unwrap(), TimeUnit::Nanoseconds, |item| {
        let Imported::Sample { time_ns, .. } = item else { panic!("{item:?}") };
        read.push(time_ns);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(read, times);
}

#[test]
fn values_of_a_type_that_was_not_declared_are_an_error_by_name() {
    let (_folder, store) = store("types", &[("a", Type::F64, "")]);
    let selection = Selection::all(store.catalog(), true).unwrap();
    let mut arrow = Arrow::new(&selection, None, Vec::new()).unwrap();
    let target = Target { id: 1, place: 0 };
    let batch = Batch { target, times_ns: &[1], values: Values::Bool(&[true]) };
    let error = arrow.batch(&selection.columns()[0], &batch).unwrap_err().to_string();
    assert_eq!(error, "series a: expected values of type f64, found bool");
}

#[test]
fn a_damaged_parquet_file_is_an_error_or_other_samples_and_never_a_panic() {
    let (folder, store) = store("hostile", &[("a", Type::F64, ""), ("b", Type::Bool, "")]);
    let selection = Selection::all(store.catalog(), true).unwrap();
    let mut whole = Vec::new();
    let mut parquet = Parquet::new(&selection, None, &mut whole).unwrap();
    let times: Vec<i64> = (0..500).collect();
    let values: Vec<f64> = times.iter().map(|n| *n as f64 / 8.0).collect();
    hand(&mut parquet, selection.columns(), 0, &times, Values::F64(&values));
    hand(&mut parquet, selection.columns(), 1, &times, Values::Bool(&[true; 500]));
    parquet.finish().unwrap();
    drop(parquet);
    let path = folder.0.join("hostile.parquet");
    let read = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let mut items = 0_u64;
        let result = import(File::open(&path).unwrap(), TimeUnit::Nanoseconds, |_| {
            items += 1;
            if items > 100_000 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        result.map(|_| items)
    };
    assert_eq!(read(&whole).unwrap(), 1000);
    assert!(read(b"").is_err() && read(b"PAR1").is_err() && read(&[0; 5000]).is_err());
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut refused = 0;
    for at in (0..whole.len()).step_by(3) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let mut bytes = whole.clone();
        bytes[at] ^= (random as u8).max(1);
        refused += u64::from(read(&bytes).is_err());
        if at % 16 < 3 {
            refused += u64::from(read(&whole[..at]).is_err());
        }
    }
    assert!(refused > whole.len() as u64 / 32, "only {refused} of {} refused", whole.len());
}

/// What was handed in, as bits, by series and time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bits {
    F64(u64),
    I64(i64),
    Bool(bool),
    Text(String),
}

/// Random, and more often a value at some border.
fn word(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    let borders = [0, 1 << 63, u64::MAX, 0x7ff0_0000_0000_0001, 0xfff8_0000_0000_beef, 1, 1 << 62];
    if *random & 3 == 0 { borders[(*random >> 8) as usize % borders.len()] } else { *random }
}

#[test]
fn what_is_written_as_parquet_comes_back_bit_for_bit() {
    let rounds = std::env::var("BARO_PARQUET_ROUNDS").ok().and_then(|n| n.parse().ok());
    let rounds: u64 = rounds.unwrap_or(6);
    let names = ["f", "i{a=\"b\"}", "b", "{\"a b\",\"c,d\"=\"\\\"\"}", "t{x=\"\u{e9}\"}"];
    let kinds = [Type::F64, Type::I64, Type::Bool, Type::F64, Type::Text];
    let series: Vec<_> = names.iter().zip(kinds).map(|(name, kind)| (*name, kind, "V")).collect();
    let (folder, store) = store("round", &series);
    let path = folder.0.join("round.parquet");
    let mut random = 0x1234_5678_9abc_def1;
    for round in 0..rounds {
        // All types together, and each alone: then the column is "value".
        let alone = (round % 6).checked_sub(1).map(|at| names[at as usize]);
        let selection = match alone {
            Some(name) => Selection::named(store.catalog(), &[name]).unwrap(),
            None => Selection::named(store.catalog(), &names).unwrap(),
        };
        let mut parquet = Parquet::new(&selection, None, File::create(&path).unwrap()).unwrap();
        let mut expected = Vec::new();
        for (place, column) in selection.columns().iter().enumerate() {
            let rows = word(&mut random) as usize % 700 + 1;
            let times: Vec<i64> = (0..rows).map(|_| word(&mut random).cast_signed()).collect();
            let words: Vec<u64> = (0..rows).map(|_| word(&mut random)).collect();
            let texts: Vec<String> =
                words.iter().map(|n| "\u{1f321}\0\n\"".repeat(*n as usize % 4)).collect();
            let mut hand =
                |values: Values<'_>| hand(&mut parquet, selection.columns(), place, &times, values);
            let mut add = |bits: &dyn Fn(usize) -> Bits| {
                let all = times.iter().enumerate();
                expected.extend(all.map(|(at, time)| (column.name.clone(), *time, bits(at))));
            };
            match column.kind {
                Some(ValueType::F64) => {
                    hand(Values::F64(
                        &words.iter().copied().map(f64::from_bits).collect::<Vec<_>>(),
                    ));
                    add(&|at| Bits::F64(words[at]));
                }
                Some(ValueType::I64) => {
                    hand(Values::I64(&words.iter().map(|n| n.cast_signed()).collect::<Vec<_>>()));
                    add(&|at| Bits::I64(words[at].cast_signed()));
                }
                Some(ValueType::Bool) => {
                    hand(Values::Bool(&words.iter().map(|n| n & 1 == 1).collect::<Vec<_>>()));
                    add(&|at| Bits::Bool(words[at] & 1 == 1));
                }
                _ => {
                    let all = texts.concat();
                    let mut ends = vec![];
                    texts.iter().fold(0, |end, text| {
                        ends.push(end + text.len() as u32);
                        end + text.len() as u32
                    });
                    hand(Values::Text(Texts { ends: &ends, bytes: &all }));
                    add(&|at| Bits::Text(texts[at].clone()));
                }
            }
        }
        parquet.finish().unwrap();
        drop(parquet);
        let mut found = Vec::new();
        import(File::open(&path).unwrap(), TimeUnit::Nanoseconds, |item| {
            if matches!(item, Imported::Unit { .. }) {
                return ControlFlow::Continue(());
            }
            let Imported::Sample { series, time_ns, value, .. } = item else { panic!("{item:?}") };
            let bits = match value {
                Value::Float(value) => Bits::F64(value.to_bits()),
                Value::Integer(value) => Bits::I64(value),
                Value::Unsigned(value) => panic!("{value}"),
                Value::Boolean(value) => Bits::Bool(value),
                Value::Text(text) => Bits::Text(text.to_owned()),
            };
            found.push((series.to_owned(), time_ns, bits));
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(found == expected, "round {round}: {} rows of {}", found.len(), expected.len());
    }
}

/// 65,536 texts of 64 KiB have more bytes than the offsets of one batch reach.
#[test]
fn batches_of_long_texts_are_cut_by_their_bytes() {
    let (_folder, store) = store("long-texts", &[("t", Type::Text, ""), ("x", Type::F64, "")]);
    let selection = Selection::all(store.catalog(), true).unwrap();
    let columns = selection.columns();
    let mut out = Vec::new();
    let mut arrow = Arrow::new(&selection, None, &mut out).unwrap();
    // As the store hands them out: up to a megabyte at once.
    let long = "x".repeat(64 << 10);
    let bytes = long.repeat(16);
    let ends: Vec<u32> = (1..=16).map(|at| at * (64 << 10)).collect();
    for round in 0..40 {
        let times: Vec<i64> = (round * 16..round * 16 + 16).collect();
        let texts = Texts { ends: &ends, bytes: &bytes };
        hand(&mut arrow, columns, 0, &times, Values::Text(texts));
    }
    // Short ones are gathered by rows, as numbers are.
    let (many, none) = (vec![0_u32; 65_536], "");
    let times: Vec<i64> = (0..65_536).collect();
    hand(&mut arrow, columns, 0, &times, Values::Text(Texts { ends: &many, bytes: none }));
    arrow.finish().unwrap();
    drop(arrow);
    let batches = batches(&out);
    let rows: Vec<usize> = batches.iter().map(RecordBatch::num_rows).collect();
    assert_eq!(rows, [256, 256, 65_536, 128]);
    let texts = batches.iter().map(|batch| batch.column_by_name("value_text").unwrap());
    let bytes: Vec<usize> =
        texts.map(|texts| texts.as_string::<i32>().value_data().len()).collect();
    assert_eq!(bytes, [16 << 20, 16 << 20, 128 << 16, 0]);
}
