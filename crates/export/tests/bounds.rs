//! A Parquet file that anybody wrote takes memory in proportion to its size, whatever it says of
//! itself; and honest ones of every encoding are read as they were written.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod crafted;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use baro_export::parquet::{Imported, TimeUnit, Value, import};
use baro_sys::counters::{MeasuringAllocator, Memory, measured};
use crafted::{Thrift, chunks, element, file, page, same_chunks, schema, shared_chunks};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding};
use parquet::file::properties::{WriterProperties, WriterVersion};
use std::io::{Seek, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

/// What docs/limits.md says.
fn bound_bytes(file_bytes: usize) -> i64 {
    (64 << 20) + 4 * file_bytes as i64
}

type Row = (u64, String, i64, String);

/// Imports these bytes; rows as texts, refused ones left out.
fn read(bytes: &[u8], keep: bool) -> (Result<(u64, Vec<Row>), String>, Memory) {
    let thread = std::thread::current().id();
    let name = format!("baro-bounds-{}-{thread:?}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut file = std::fs::File::options();
    let mut file = file.create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    let mut rows = Vec::new();
    let (result, memory) = measured(|| {
        import(file, TimeUnit::Nanoseconds, |item| {
            if let Imported::Sample { row, series, time_ns, value, .. } = item
                && keep
            {
                let value = match value {
                    Value::Text(text) => text.chars().take(20).collect(),
                    value => format!("{value:?}"),
                };
                rows.push((row, series.chars().take(20).collect(), time_ns, value));
            }
            ControlFlow::Continue(())
        })
    });
    (result.map(|count| (count, rows)).map_err(|error| error.to_string()), memory)
}

/// A file in the long layout, with texts as values where there are some.
fn written(properties: WriterProperties, rows: &[(String, i64, Option<String>)]) -> Vec<u8> {
    let series: ArrayRef = Arc::new(StringArray::from_iter_values(rows.iter().map(|row| &row.0)));
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.1)));
    let numbers = rows.iter().map(|row| row.2.is_none().then_some(row.1 as f64));
    let numbers: ArrayRef = Arc::new(Float64Array::from_iter(numbers));
    let texts: ArrayRef = Arc::new(StringArray::from_iter(rows.iter().map(|row| row.2.as_deref())));
    let columns =
        [("series", series), ("time", times), ("value_text", texts), ("value_f64", numbers)];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, name.starts_with("value"))),
    );
    let batch = batch.unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn plain_encoding() -> parquet::file::properties::WriterPropertiesBuilder {
    WriterProperties::builder().set_dictionary_enabled(false)
}

/// Files of every encoding of texts, versions, compressions, page sizes and row groups.
fn all_kinds() -> Vec<(String, WriterProperties)> {
    let mut kinds = Vec::new();
    for compression in [Compression::UNCOMPRESSED, Compression::SNAPPY] {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for encoding in [
                None,
                Some(Encoding::PLAIN),
                Some(Encoding::DELTA_LENGTH_BYTE_ARRAY),
                Some(Encoding::DELTA_BYTE_ARRAY),
            ] {
                for (page_rows, group_rows) in [(20_000, 1 << 20), (70, 333)] {
                    let mut builder = match encoding {
                        None => WriterProperties::builder(),
                        Some(_) => plain_encoding(),
                    };
                    for column in ["series", "value_text"] {
                        if let Some(encoding) = encoding {
                            builder = builder.set_column_encoding(column.into(), encoding);
                        }
                    }
                    let builder = builder
                        .set_compression(compression)
                        .set_writer_version(version)
                        .set_write_batch_size(32)
                        .set_dictionary_page_size_limit(2_000)
                        .set_data_page_row_count_limit(page_rows)
                        .set_max_row_group_row_count(Some(group_rows));
                    let name = format!("{compression} {version:?} {encoding:?} {page_rows}");
                    kinds.push((name, builder.build()));
                }
            }
        }
    }
    kinds
}

#[test]
fn files_of_every_encoding_are_read_as_they_were_written() {
    let text = |at: i64| (at % 3 == 0).then(|| format!("state {}", at * at % 700));
    let rows: Vec<(String, i64, Option<String>)> = (0..1_000)
        .map(|at| (format!("temperature{{room=\"{}\"}}", at % 90), at, text(at)))
        .collect();
    let expected: Vec<Row> = rows
        .iter()
        .map(|(series, at, text)| {
            let value = text.clone().unwrap_or(format!("{:?}", Value::Float(*at as f64)));
            (*at as u64 + 1, series.chars().take(20).collect(), *at, value)
        })
        .collect();
    for (name, properties) in all_kinds() {
        let bytes = written(properties, &rows);
        let (result, memory) = read(&bytes, true);
        assert_eq!(result, Ok((1_000, expected.clone())), "{name}");
        assert!(memory.peak_bytes < 8 << 20, "{name}: {memory:?}");
    }
}

#[test]
fn a_long_text_of_many_rows_is_there_once() {
    // Encoded by dictionary, so that a file of half a megabyte says 64 GB.
    const ROWS: i64 = 8_192;
    let long = [&(8_u32 << 20).to_le_bytes()[..], &vec![b'B'; 8 << 20]].concat();
    let packed = |bytes: &[u8]| snap::raw::Encoder::new().compress_vec(bytes).unwrap();
    // Values by dictionary: their width, and one run of as many zeros.
    let zeros = Thrift(vec![1]).varint(2 * ROWS as u64).varint(0).0;
    let texts = [
        page(2, long.len() as i64, 1, 0, &packed(&long)),
        page(0, zeros.len() as i64, ROWS, 8, &packed(&zeros)),
    ];
    let numbers = vec![0; 8 * ROWS as usize];
    let numbers = page(0, numbers.len() as i64, ROWS, 0, &packed(&numbers));
    let texts = texts.concat();
    let columns = [("time", 2, &numbers[..]), ("series", 6, &texts), ("value", 2, &numbers)];
    let bytes = chunks(&columns, ROWS, 1);
    assert!(bytes.len() < 600_000, "{}", bytes.len());
    let (result, memory) = read(&bytes, false);
    assert_eq!(result.unwrap().0, 8_192);
    assert!(memory.peak_bytes < bound_bytes(bytes.len()), "{memory:?}");
    // Steps: what was allocated in all is of the file's size too, not of what its rows come to.
    assert!(memory.sum_bytes < 4 * bound_bytes(bytes.len()), "{memory:?}");
}

#[test]
fn a_small_parquet_file_takes_little_memory() {
    const MANY: i64 = i32::MAX as i64;
    let longs = [("time", 2), ("value", 2)];
    let honest = same_chunks(&longs, 2, &page(0, 16, 2, 0, &[0; 16]));
    let (result, _) = read(&honest, true);
    let row = |row| (row, "value".to_owned(), 0, "Integer(0)".to_owned());
    assert_eq!(result.clone(), Ok((2, vec![row(1), row(2)])), "{result:?}");
    let root = |children| element("root", None, Some(children));
    let nested =
        (0..100_000).fold(Thrift::default(), |all, _| all.then(element("a", None, Some(1))));
    let fan =
        (0..20_000).fold(Thrift::default(), |all, _| all.then(element("a", None, Some(19_999))));
    // Lengths that are all 0: a block of 2^20 for each few bytes.
    let mut zeros = Thrift::default().varint(1 << 20).varint(1).varint(MANY as u64).varint(0);
    (0..2_100).for_each(|_| zeros.0.extend([0, 0]));
    let texts = [("time", 2), ("series", 6), ("value", 2)];
    let texts = |page: &[u8], rows| same_chunks(&texts, rows, page);
    for (name, bytes) in [
        ("a root of many children", file(b"", schema(1, root(MANY)).end())),
        ("more elements than bytes", file(b"", schema(MANY as u64, root(1)).end())),
        ("a deep schema", file(b"", schema(100_001, root(1).then(nested)).end())),
        ("children of children", file(b"", schema(20_001, root(20_000).then(fan)).end())),
        ("many row groups", file(b"", schema(1, root(0)).list(1, 12, MANY as u64).end())),
        ("30,000 empty row groups", {
            let group = Thrift::default().list(1, 12, 0).number(1, 6, 0).number(1, 6, 0).end();
            let groups = (0..30_000).fold(Thrift::default(), |all, _| all.then(group.clone()));
            file(b"", schema(1, root(0)).list(1, 12, 30_000).then(groups).end())
        }),
        ("100,000 columns", {
            let all =
                (0..100_000).fold(root(100_000), |all, _| all.then(element("", Some(2), None)));
            file(b"", schema(100_001, all).list(1, 12, 0).end())
        }),
        ("a page unpacked to 2 GB", {
            let bytes = page(0, MANY, 9, 0, &[0; 72]);
            chunks(&[("time", 2, &bytes), ("value", 2, &bytes)], 9, 1)
        }),
        ("a dictionary of 2^31 values", {
            let all = [page(2, 8, MANY, 0, &[0; 8]), page(0, 2, 9, 8, &[0; 2])].concat();
            same_chunks(&longs, 9, &all)
        }),
        ("2^31 values in a page", same_chunks(&longs, MANY, &page(0, 16, MANY, 0, &[0; 16]))),
        ("2^31 lengths", texts(&page(0, zeros.0.len() as i64, MANY, 6, &zeros.0), MANY)),
        ("2^31 shared lengths", texts(&page(0, zeros.0.len() as i64, MANY, 7, &zeros.0), MANY)),
        ("row groups that share their pages", {
            let texts = page(0, 4, 1, 0, &[0; 4]).repeat(9);
            let numbers = page(0, 72, 9, 0, &[0; 72]);
            let columns =
                [("time", 2, &numbers[..]), ("series", 6, &texts), ("value", 2, &numbers)];
            shared_chunks(&columns, 9, 3_000)
        }),
        ("many counts of levels", {
            const COUNTS: u64 = 16 << 20;
            let data = Thrift::default().number(1, 5, 2).list(1, 5, 1).varint(0);
            let data = data.list(1, 8, 1).varint(0).number(1, 5, 0).number(1, 6, 0);
            let data = data.number(1, 6, 0).number(1, 6, 0).number(2, 6, 4).head(7, 12);
            let mut data = data.list(2, 6, COUNTS);
            data.0.extend(vec![0; COUNTS as usize]);
            let chunk = Thrift::default().number(2, 6, 4).head(1, 12).then(data.end().end()).end();
            let group = Thrift::default().list(1, 12, 1).then(chunk).number(1, 6, 9);
            let group = group.number(1, 6, 0).end();
            let elements = root(1).then(element("time", Some(2), None));
            file(b"", schema(2, elements).list(1, 12, 1).then(group).end())
        }),
        ("a page that ends behind the file", {
            let mut all = same_chunks(&longs, 9, &page(0, 72, 9, 0, &[0; 72]));
            let behind = all.len() - 9;
            all[behind] ^= 1;
            all
        }),
    ] {
        let (result, memory) = read(&bytes, false);
        assert!(result.is_err() || name == "30,000 empty row groups", "{name}: {result:?}");
        assert!(memory.peak_bytes < bound_bytes(bytes.len()), "{name}: {memory:?}");
    }
}

/// Counts of changed bytes, more where time is no matter.
fn tries(push: usize) -> usize {
    let is_push = std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push");
    if is_push { push } else { push * 20 }
}

#[test]
fn changed_bytes_take_no_more_memory() {
    let rows: Vec<(String, i64, Option<String>)> = (0..300)
        .map(|at| (format!("s{}", at % 9), at, (at % 2 == 0).then(|| format!("t{at}"))))
        .collect();
    let mut random = 1_u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize
    };
    let mut read_some = 0;
    for (name, properties) in all_kinds() {
        let bytes = written(properties, &rows);
        for _ in 0..tries(25) {
            let mut changed = bytes.clone();
            let at = match next() % 3 {
                // Most of what decides is in the footer and in the first header.
                0 => bytes.len() - 1 - next() % 700.min(bytes.len()),
                1 => 4 + next() % 60,
                _ => next() % bytes.len(),
            };
            changed[at] = [0xff, 0x7f, 0, next() as u8][next() % 4];
            let (result, memory) = read(&changed, false);
            read_some += usize::from(result.is_ok());
            assert!(memory.peak_bytes < bound_bytes(bytes.len()), "{name}, {at}: {memory:?}");
        }
    }
    assert!(read_some > 10, "{read_some}");
}

/// A file of this many rows and columns.
fn wide(columns: usize, rows: i64) -> Vec<u8> {
    let times: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.5; rows as usize]));
    let names = (0..columns).map(|at| (format!("c{at}"), values.clone()));
    let all = std::iter::once(("time".to_owned(), times)).chain(names);
    let batch = RecordBatch::try_from_iter(all).unwrap();
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn wide_files_are_read_by_fewer_rows() {
    for (columns, rows) in [(1, 100_000), (100, 9_000), (4_000, 40)] {
        let bytes = wide(columns, rows);
        let (result, memory) = read(&bytes, false);
        assert_eq!(result.unwrap().0, rows as u64);
        assert!(memory.peak_bytes < bound_bytes(bytes.len()), "{columns}: {memory:?}");
    }
}
