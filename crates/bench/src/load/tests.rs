//! Tests of the loads: they work, stay within their bounds, stop, and leave nothing.

use super::worker::{Totals, Worker};
use super::{
    AllocateTruncate, BufferedWriters, JournalChurn, Load, LoadReport, LoadSpec, SequentialReader,
};
use crate::error::BenchError;
use baro_sys::{clock, files};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("baro-load-{name}-{}", std::process::id()));
        files::make_folder(&dir).expect("a new directory");
        Self(dir)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = files::remove_empty_folder(&self.0);
    }
}

#[allow(clippy::disallowed_methods, reason = "a test looks at what is there")]
fn bytes_below(dir: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(dir) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(found) if found.is_dir() => bytes_below(&entry.path()),
            Ok(found) => found.len(),
            Err(_) => 0,
        })
        .sum()
}

/// Runs a load until it has done `operations`, watching its size; it must leave nothing.
fn run(name: &str, spec: LoadSpec, operations: u64, bytes_max: u64) -> LoadReport {
    let dir = Dir::new(name);
    let load = Load::start(spec, &dir.0).expect("started");
    // 60 s in all: a load that does nothing must fail the test, not hang it.
    for _ in 0..12_000 {
        if load.report().operations >= operations {
            break;
        }
        let bytes = bytes_below(&dir.0);
        assert!(bytes <= bytes_max, "{bytes}");
        clock::sleep_ns(5_000_000);
    }
    let report = load.stop();
    assert!(report.operations >= operations, "{report:?}");
    #[allow(clippy::disallowed_methods, reason = "a test looks at what is left")]
    let left = std::fs::read_dir(&dir.0).expect("readable").count();
    assert_eq!(left, 0);
    report
}

#[test]
fn buffered_writers_write() {
    let spec = BufferedWriters {
        writers: 2,
        bytes_per_s: Some(400 << 20),
        file_bytes: 4 << 20,
        window_bytes: Some(2 << 20),
    };
    let report = run("buffered", LoadSpec::BufferedWriters(spec), 20, 8 << 20);
    // Two of the operations made the files.
    assert_eq!(report.written_bytes, (report.operations - 2) << 20);
    assert_eq!((report.failures, report.full_pauses), (0, 0), "{report:?}");
}

#[test]
fn files_are_cut_and_allocated() {
    let spec = AllocateTruncate {
        file_bytes: 4 << 20,
        cut_bytes: 1 << 20,
        period_ns: 1_000_000,
        allocate: true,
    };
    let report = run("cut", LoadSpec::AllocateTruncate(spec), 40, 8 << 20);
    if report.first_error == Some(io::ErrorKind::Unsupported) {
        println!("skipped: no preallocation here");
        return;
    }
    assert_eq!(report.written_bytes, 0);
    assert!(report.allocated_bytes >= 8 << 20, "{report:?}");
    assert_eq!(report.failures, 0, "{report:?}");
}

#[test]
fn small_files_come_and_go_beside_big_ones() {
    let spec = JournalChurn {
        file_bytes: 4 << 20,
        small_files: 10,
        small_period_ns: 500_000,
        ..JournalChurn::default()
    };
    let report = run("churn", LoadSpec::JournalChurn(spec), 200, (8 << 20) + 11 * 100);
    assert!(report.written_bytes > 0);
    assert_eq!((report.failures, report.first_error), (0, None), "{report:?}");
}

#[test]
fn a_file_is_read_over_and_over() {
    let spec = SequentialReader { file_bytes: 4 << 20, bytes_per_s: Some(400 << 20) };
    // Made and written in three operations, then read more than once.
    let report = run("read", LoadSpec::SequentialReader(spec), 10, 4 << 20);
    assert_eq!(report.written_bytes, 4 << 20);
    assert_eq!(report.read_bytes, (report.operations - 3) * (2 << 20));
    assert_eq!((report.failures, report.first_error), (0, None), "{report:?}");
}

#[test]
fn a_full_disk_is_a_pause() {
    let worker =
        Worker { dir: PathBuf::new(), stop: Arc::default(), totals: Arc::new(Totals::default()) };
    let full = || Err::<(), _>(io::Error::from(io::ErrorKind::StorageFull));
    assert_eq!(worker.attempt(full), None);
    let broken = || Err::<(), _>(io::Error::from(io::ErrorKind::PermissionDenied));
    assert_eq!(worker.attempt(broken), None);
    let report = worker.totals.report();
    assert_eq!((report.full_pauses, report.failures, report.operations), (1, 1, 0));
    assert_eq!(report.first_error, Some(io::ErrorKind::PermissionDenied));
}

#[test]
fn refuses_useless_specifications_and_places() {
    let spec = BufferedWriters { bytes_per_s: Some(0), ..BufferedWriters::default() };
    let refused = Load::start(LoadSpec::BufferedWriters(spec), Path::new("/"));
    assert!(matches!(refused, Err(BenchError::Specification { field: "bytes_per_s", .. })));
    let spec = BufferedWriters { window_bytes: Some(1 << 40), ..BufferedWriters::default() };
    let refused = Load::start(LoadSpec::BufferedWriters(spec), Path::new("/"));
    assert!(matches!(refused, Err(BenchError::Specification { field: "window_bytes", .. })));
    let spec = SequentialReader { bytes_per_s: Some(0), ..SequentialReader::default() };
    let refused = Load::start(LoadSpec::SequentialReader(spec), Path::new("/"));
    assert!(matches!(refused, Err(BenchError::Specification { field: "bytes_per_s", .. })));
    let spec = LoadSpec::JournalChurn(JournalChurn::default());
    let refused = Load::start(spec, Path::new("/no/such/place"));
    // Root opens it first.
    assert!(matches!(refused, Err(BenchError::File { .. } | BenchError::System(_))));
}
