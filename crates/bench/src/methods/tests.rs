//! Tests of the conventional methods: counts and contents, on whatever holds the temporary
//! directory.

use super::{Allocation, Flush, Method, Spec};
use crate::error::BenchError;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("baro-methods-{name}-{}", std::process::id()));
        baro_sys::files::make_folder(&dir).expect("a new directory");
        Self(dir)
    }

    fn names(&self) -> usize {
        #[allow(clippy::disallowed_methods, reason = "a test looks at what is left")]
        std::fs::read_dir(&self.0).expect("readable").count()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = baro_sys::files::remove_empty_folder(&self.0);
    }
}

fn fast(allocation: Allocation, flush: Flush) -> Spec {
    Spec {
        allocation,
        flush,
        period_ns: 1_000_000,
        flush_bytes: 64 << 10,
        file_bytes: 256 << 10,
        ..Spec::conventional()
    }
}

#[test]
fn every_write_is_counted_and_the_file_wraps_and_goes() {
    let dir = Dir::new("wrap");
    for allocation in [Allocation::Append, Allocation::Preallocate] {
        for flush in [Flush::Fdatasync, Flush::SyncFileRange] {
            let mut method = match Method::new(&dir.0, "recording", fast(allocation, flush)) {
                Ok(method) => method,
                Err(BenchError::File { what: "preallocate", source, .. }) => {
                    println!("skipped: no preallocation here: {source}");
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let go = AtomicBool::new(false);
            let mut writes = 0;
            // Sixteen blocks fill a file; a slow machine makes fewer writes a slice.
            while writes < 40 {
                writes += method.run_slice(25_000_000, &go).expect("recorded").writes;
                let length = dir.0.join("recording").metadata().expect("there").len();
                assert!(length <= 256 << 10, "{length}");
            }
            let report = method.finish().expect("finished");
            assert_eq!(report.latency_ns.len(), writes);
            assert_eq!(report.written_bytes, writes * (16 << 10));
            assert_eq!(report.failed_writes, 0);
            assert_eq!(report.recordings, writes.div_ceil(16));
            // Four blocks make a flush unit, four units a file.
            assert_eq!(report.flush.latency_ns.len(), writes / 4);
            assert_eq!(report.flush.failed, 0);
            assert!(report.latency_ns_max >= report.latency_ns.min());
            assert_eq!(dir.names(), 0);
        }
    }
}

/// The paper's flush units and its file of 100 MB, which 16 KiB do not divide.
#[test]
fn flush_units_from_256_kib_to_8_mib_and_files_of_100_mb() {
    let dir = Dir::new("units");
    let blocks_per_file = 100_000_000 / (16 << 10);
    for (flush_bytes, files) in
        [(256 << 10, 2), (512 << 10, 1), (1 << 20, 1), (2 << 20, 1), (4 << 20, 1), (8 << 20, 2)]
    {
        // A period that is always over: nothing is waited for but the writes.
        let spec =
            Spec { period_ns: 1, flush_bytes, file_bytes: 100_000_000, ..Spec::conventional() };
        let mut method = Method::new(&dir.0, "recording", spec).expect("prepared");
        let writes = (files - 1) * blocks_per_file + 1000;
        let slice = method.run_writes(writes, &AtomicBool::new(false)).expect("recorded");
        assert_eq!(slice.writes, writes);
        let length = dir.0.join("recording").metadata().expect("there").len();
        assert_eq!(length, 1000 * (16 << 10));
        let report = method.finish().expect("finished");
        assert_eq!((report.recordings, report.failed_writes), (files, 0), "{flush_bytes}");
        // What is left of a unit at a file's end is synced with the file.
        let unit_blocks = flush_bytes / (16 << 10);
        let units = (files - 1) * (blocks_per_file / unit_blocks) + 1000 / unit_blocks;
        assert_eq!((report.flush.latency_ns.len(), report.flush.failed), (units, 0));
    }
    assert_eq!(dir.names(), 0);
}

#[test]
fn stops_at_once_when_told_before() {
    let dir = Dir::new("stop");
    let spec = fast(Allocation::Append, Flush::Fdatasync);
    let mut method = Method::new(&dir.0, "recording", spec).expect("prepared");
    let slice = method.run_slice(u64::MAX, &AtomicBool::new(true)).expect("ended");
    assert_eq!(slice.writes, 0);
    drop(method);
    assert_eq!(dir.names(), 0);
}

#[test]
fn refuses_useless_specifications_and_places() {
    let spec = Spec { period_ns: 0, ..Spec::paper() };
    let refused = Method::new(Path::new("/"), "x", spec);
    assert!(matches!(refused, Err(BenchError::Specification { field: "period_ns", .. })));
    let refused = Method::new(Path::new("/no/such/place"), "x", Spec::conventional());
    assert!(matches!(refused, Err(BenchError::File { what: "create", .. })));
}
