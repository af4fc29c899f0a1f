//! Files of every compression, as another program has written them; testdata/parquet/write.py says
//! what is in them. And what a page may say that it comes to, written by hand.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod crafted;

use baro_export::parquet::{Choice, Clock, Imported, TimeUnit, Value, import};
use baro_sys::counters::{MeasuringAllocator, Memory, measured};
use crafted::{Thrift, chunks, chunks_with_nulls, page, page_with};
use std::io::{Seek, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

const ROWS: u64 = 2_000;
const START_NS: i64 = 1_767_225_600_000_000_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/parquet")
}

type Rows = Vec<(String, i64, f64)>;

fn read(bytes: &[u8]) -> (Result<Rows, String>, Memory) {
    let (result, rows, memory) = read_until_refused(bytes);
    (result.map(|_| rows), memory)
}

/// Likewise, with the rows that were handed out before an error.
fn read_until_refused(bytes: &[u8]) -> (Result<u64, String>, Rows, Memory) {
    let thread = std::thread::current().id();
    let name = format!("baro-packed-{}-{thread:?}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut file = std::fs::File::options();
    let mut file = file.create(true).truncate(true).read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.write_all(bytes).unwrap();
    file.rewind().unwrap();
    let mut rows = Vec::with_capacity(ROWS as usize);
    let (result, memory) = measured(|| {
        // These times have no zone, or are small numbers.
        let unit = Some(TimeUnit::Nanoseconds);
        let choice = Choice { clock: Some(Clock::utc()), unit, ..Choice::default() };
        import(file, choice, |item| {
            match item {
                Imported::Sample { series, time_ns, value: Value::Float(value), .. } => {
                    rows.push((series.to_owned(), time_ns, value));
                }
                // A text that is null names no series.
                Imported::Refused(_) => {}
                other => panic!("{other:?}"),
            }
            ControlFlow::Continue(())
        })
    });
    (result.map_err(|error| error.to_string()), rows, memory)
}

/// The files: names and bytes.
fn files() -> Vec<(String, Vec<u8>)> {
    let packed = ["zstd", "gzip", "brotli", "lz4", "snappy"];
    let names = packed.iter().flat_map(|name| ["1", "2"].map(|v| format!("{name}-{v}.parquet")));
    names.map(|name| (name.clone(), std::fs::read(folder().join(&name)).unwrap())).collect()
}

#[test]
fn pages_of_every_compression_are_read_in_bounds() {
    let row = |n: u64| {
        let series = format!("temp{{host=\"h{}\"}}", n % 3);
        (series, START_NS + n as i64 * 1_000_000_000, n as f64 / 8.0)
    };
    let expected: Rows = (0..ROWS).map(row).collect();
    for (name, bytes) in files() {
        let (rows, memory) = read(&bytes);
        assert_eq!(rows.as_ref(), Ok(&expected), "{name}");
        assert!(memory.peak_bytes < 32 << 20, "{name}: {memory:?}");
    }
}

#[test]
fn a_page_that_comes_to_more_or_less_than_it_says_is_refused() {
    let mut random = 7_u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize
    };
    let tries =
        if std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push") { 60 } else { 400 };
    for (name, bytes) in files() {
        let mut refused = 0;
        for _ in 0..tries {
            let mut changed = bytes.clone();
            let at = 4 + next() % 3_000.min(bytes.len() - 4);
            changed[at] ^= (next() as u8).max(1);
            let outcome = std::panic::catch_unwind(|| read(&changed));
            // A changed name or value may be no float or of any size: only bounds are looked at.
            let Ok((rows, memory)) = outcome else { continue };
            refused += u64::from(rows.is_err());
            let bound = (64 << 20) + 4 * bytes.len() as i64;
            assert!(memory.peak_bytes < bound, "{name}, {at}: {memory:?}");
        }
        assert!(refused > 0, "{name}");
    }
}

/// Pages of numbers of 64 bits, each with as many values as are given and as many as it says.
fn numbers(pages: &[(std::ops::Range<u64>, i64)], bits: impl Fn(u64) -> u64) -> Vec<u8> {
    let mut all = Vec::new();
    for (values, said) in pages {
        let bytes: Vec<u8> = values.clone().flat_map(|at| bits(at).to_le_bytes()).collect();
        all.extend(page(0, bytes.len() as i64, *said, 0, &bytes));
    }
    all
}

/// A file of 30 rows in three pages whose value is their time; its values' pages say to have so many.
fn counted(said: [i64; 3]) -> Vec<u8> {
    let pages = |said: [i64; 3]| [(0..10, said[0]), (10..20, said[1]), (20..30, said[2])];
    let times = numbers(&pages([10; 3]), |at| at);
    let values = numbers(&pages(said), |at| (at as f64).to_bits());
    chunks(&[("time", 2, &times), ("value", 5, &values)], 30, 0)
}

#[test]
fn a_page_that_miscounts_its_values_pairs_none_with_another_time() {
    let (rows, _) = read(&counted([10; 3]));
    let expected = (0..30).map(|at| ("value".to_owned(), at, at as f64)).collect();
    assert_eq!(rows, Ok(expected));
    // Fewer or more than there are, in any page; and two pages that make up for each other.
    let miscounts =
        [[9, 10, 10], [10, 9, 10], [10, 10, 9], [11, 10, 10], [10, 10, 11], [0, 10, 10]];
    for said in miscounts.into_iter().chain([[9, 11, 10], [11, 9, 10], [10, 9, 11]]) {
        let (result, rows, _) = read_until_refused(&counted(said));
        let error = result.unwrap_err();
        assert!(error.contains("column value: ") && error.contains("row group 1"), "{error}");
        assert_eq!(rows, [], "{said:?}");
    }
}

#[test]
fn levels_and_values_of_every_encoding_are_counted() {
    // Ten rows, every other null: one run of ten levels, bits of two bytes.
    let bits = [vec![3, 0, 0, 0, 2 << 1 | 1, 0b0101_0101, 0b01], vec![]].concat();
    let run = |rows: u8| vec![2, 0, 0, 0, rows << 1, 1];
    // 256 levels, of which those behind the tenth are of before; and more than these.
    let filled = |eights: u8| {
        let bits = [vec![0b0101_0101, 0b01], vec![0b1010_1010; usize::from(eights) - 2]].concat();
        [vec![eights + 1, 0, 0, 0, eights << 1 | 1], bits].concat()
    };
    let floats = |count: usize| 1.5_f64.to_le_bytes().repeat(count);
    let one = |levels: &[u8], encoding: i64, values: &[u8]| {
        let bytes = [levels, values].concat();
        let times = numbers(&[(0..10, 10)], |at| at);
        let head = page(2, 8, 1, 0, &floats(1));
        let values = page(0, bytes.len() as i64, 10, encoding, &bytes);
        let pages = [head, values].concat();
        read_until_refused(&chunks_with_nulls(
            &[("time", 2, &times), ("value", 5, &pages)],
            &["value"],
            10,
            0,
        ))
    };
    for (levels, encoding, values, found) in [
        (&bits, 0, floats(5), 5),
        (&run(10), 0, floats(10), 10),
        (&run(10), 8, vec![1, 10 << 1, 0], 10),
        (&run(10), 8, vec![1, 2 << 1 | 1, 0, 0], 10),
        (&bits, 8, vec![0, 5 << 1, 0], 5),
        (&bits, 9, floats(5), 5),
        // As DuckDB fills a run of levels, and fastparquet leaves what it has made for values.
        (&filled(32), 0, floats(5), 5),
        (&bits, 0, [floats(5), vec![0; 8]].concat(), 5),
        (&run(10), 0, [floats(10), vec![0; 8]].concat(), 10),
    ] {
        let (result, rows, _) = one(levels, encoding, &values);
        assert!(result.is_ok() && rows.len() == found, "{levels:?} {values:?}: {result:?}");
    }
    for (levels, encoding, values) in [
        (&bits, 0, floats(4)),
        (&bits, 0, floats(6)),
        (&run(9), 0, floats(9)),
        (&run(11), 0, floats(10)),
        (&run(10), 8, vec![1, 9 << 1, 0]),
        (&run(10), 8, vec![1, 11 << 1, 0]),
        (&run(10), 8, vec![1, 10 << 1, 0, 1 << 1, 0]),
        (&bits, 9, floats(6)),
        (&filled(32), 0, floats(6)),
        (&filled(34), 0, floats(5)),
        (&bits, 0, [floats(5), vec![0; 9]].concat()),
        (&bits, 9, [floats(5), vec![0; 8]].concat()),
        (&bits, 0, [floats(5), vec![0, 0, 0, 1]].concat()),
    ] {
        let (result, rows, _) = one(levels, encoding, &values);
        assert!(result.is_err() && rows.is_empty(), "{levels:?} {encoding} {values:?}");
    }
}

#[test]
fn a_page_whose_bytes_are_not_those_of_its_crc_is_refused_by_name() {
    let bytes: Vec<u8> = (0..10_u64).flat_map(|at| (at as f64).to_le_bytes()).collect();
    let crc = crc32(&bytes);
    let times = numbers(&[(0..10, 10), (10..20, 10)], |at| at);
    let one = |crc| page_with(0, 80, 10, [0, 3, 3], Some(crc), &bytes);
    for (crcs, is_right) in [([crc, crc], true), ([crc, crc ^ 1], false)] {
        let values = crcs.map(one).concat();
        let file = chunks(&[("time", 2, &times), ("value", 5, &values)], 20, 0);
        let (result, rows, _) = read_until_refused(&file);
        match is_right {
            true => assert_eq!((result, rows.len()), (Ok(20), 20)),
            false => {
                let error = result.unwrap_err();
                let place = "column value: expected page 2 of row group 1";
                assert!(error.contains(place) && error.contains("CRC"), "{error}");
                assert_eq!(rows, []);
            }
        }
    }
}

/// CRC32 as the format has it, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
    let byte = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), step);
    !bytes.iter().fold(!0, byte)
}

#[test]
fn levels_of_the_old_encoding_are_refused_by_name() {
    // Each text is the one before and a byte. Where a length would be before the levels are
    // levels here, and as a length they lead to a page of no texts.
    const LEVEL_BYTES: usize = 3_076;
    const TEXTS: u64 = 1 + 8 * (LEVEL_BYTES as u64 - 4);
    let levels = [&[0, 0x80, 0, 0][..], &[0xff; LEVEL_BYTES - 4]].concat();
    let stream = |first: i64, step: i64| {
        let mut all = Thrift::default().varint(128).varint(4).varint(TEXTS);
        all = all.varint((first << 1).cast_unsigned());
        for _ in 0..(TEXTS - 1).div_ceil(128) {
            all = all.varint((step << 1).cast_unsigned());
            all.0.extend([0; 4]);
        }
        all.0
    };
    let mut bytes = [levels, stream(0, 1), stream(1, 0), vec![b'a'; TEXTS as usize]].concat();
    bytes.resize(4 + 0x8000, 0);
    bytes.extend([128, 1, 4, 0, 0].repeat(2));
    let rows = 8 * LEVEL_BYTES as i64;
    let pages = |encoding| page_with(0, bytes.len() as i64, rows, [7, encoding, 3], None, &bytes);
    let times = numbers(&[(0..rows as u64, rows)], |at| at);
    for (encoding, named) in [(4, "BIT_PACKED"), (0, "PLAIN")] {
        let names = pages(encoding);
        let values = numbers(&[(0..rows as u64, rows)], |at| (at as f64).to_bits());
        let columns = [("time", 2, &times[..]), ("series", 6, &names), ("value", 5, &values)];
        let file = chunks_with_nulls(&columns, &["series"], rows, 0);
        let (result, memory) = read(&file);
        assert!(memory.peak_bytes < (64 << 20) + 4 * file.len() as i64, "{memory:?}");
        let error = result.unwrap_err();
        assert!(error.contains("column series") && error.contains(named), "{error}");
    }
    // Where there are no levels, old writers name that encoding too.
    let bytes = 1.5_f64.to_le_bytes();
    let values = page_with(0, 8, 1, [0, 4, 4], None, &bytes);
    let times = numbers(&[(7..8, 1)], |at| at);
    let (rows, _) = read(&chunks(&[("time", 2, &times), ("value", 5, &values)], 1, 0));
    assert_eq!(rows, Ok(vec![("value".to_owned(), 7, 1.5)]));
}

#[test]
fn a_large_window_of_brotli_takes_no_memory() {
    // Bits of a window of 2^30 bytes, and of a part of 2^24 bytes that is not packed.
    let head = (30_u64 | 2 << 7 | 0xff_ffff << 9 | 1 << 33).to_le_bytes();
    let bytes = [&[0x11][..], &head[..5], &[7; 4_000]].concat();
    let times = page(0, 8_000, 1_000, 0, &bytes);
    let (result, memory) = read(&chunks(&[("time", 2, &times), ("value", 5, &times)], 1_000, 4));
    assert!(result.is_err(), "{result:?}");
    assert!(memory.peak_bytes < 64 << 20, "{memory:?}");
}
