//! Parquet files that anybody wrote. The crate that reads them is not ours; what it makes room for is
//! looked at first by what is, so memory is what is tried here. Seeds are files of each encoding of
//! texts, in `fuzz/corpus/parquet/`.

use crate::Target;
use baro_export::parquet::{Choice, Clock, Imported, Texts, TimeUnit, import};
use baro_sys::files;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

pub(crate) const PARQUET: Target =
    Target { name: "parquet", fuzz_one: parquet, seeds: Vec::new, fix_up };

/// Rows that are looked at: a file of a few bytes may honestly have thousands of millions.
const ROWS_MAX: u64 = 100_000;

fn parquet(bytes: &[u8]) {
    // It reads from files alone. In memory where there is such a folder, for each thread its own.
    let thread = std::thread::current().id();
    let name = format!("baro-fuzz-parquet-{}-{thread:?}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let Ok(mut file) = files::create(&path) else { return };
    if file.write_all(bytes).is_err() {
        return;
    }
    let Ok(file) = files::open(&path) else { return };
    let _ = files::remove(&path);
    let mut rows = 0;
    // Also times that have no zone, and some that their clock did not show.
    let moment = |shown_ns| match shown_ns % 7 {
        0 => Err("a time".to_owned()),
        _ => Ok(shown_ns),
    };
    let reading = |text: &str| text.parse().map_err(|_| "a time".to_owned());
    let choice = Choice {
        unit: Some(TimeUnit::Nanoseconds),
        clock: Some(Clock(Arc::new(moment))),
        texts: Some(Texts(Arc::new(reading))),
        columns: Vec::new(),
    };
    let _ = import(file, choice, |item| {
        rows += 1;
        if let Imported::Sample { series, .. } = item {
            assert!(!series.is_empty(), "a sample of no series");
        }
        if rows < ROWS_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
}

/// The footer's length is what is there behind the last mark that looks like its beginning: mutations
/// that make a file longer or shorter keep it a file.
fn fix_up(bytes: &mut [u8]) {
    let length = bytes.len();
    if length < 12 {
        return;
    }
    bytes[..4].copy_from_slice(b"PAR1");
    bytes[length - 4..].copy_from_slice(b"PAR1");
    // Version 1 or 2, and then the schema: what a footer begins with.
    let begins = |at: &usize| matches!(bytes[*at..], [0x15, 2 | 4, 0x19, ..]);
    if let Some(at) = (4..length - 8).rev().find(begins) {
        let footer = (length - 8 - at) as u32;
        bytes[length - 8..length - 4].copy_from_slice(&footer.to_le_bytes());
    }
}
