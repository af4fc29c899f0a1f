//! Files of every compression, as another program has written them; testdata/parquet/write.py says
//! what is in them. And what a page may say that it comes to.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_export::parquet::{Choice, Clock, Imported, Value, import};
use baro_sys::counters::{MeasuringAllocator, Memory, measured};
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
        // These times have no zone.
        let choice = Choice { clock: Some(Clock::utc()), ..Choice::default() };
        import(file, choice, |item| {
            match item {
                Imported::Sample { series, time_ns, value: Value::Float(value), .. } => {
                    rows.push((series.to_owned(), time_ns, value));
                }
                other => panic!("{other:?}"),
            }
            ControlFlow::Continue(())
        })
    });
    (result.map(|_| rows).map_err(|error| error.to_string()), memory)
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
