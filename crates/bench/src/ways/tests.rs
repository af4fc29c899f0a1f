//! Tests of the ways: contents and counts, on whatever holds the temporary directory.

use super::{Recording, Way, WayKind, WaySpec, paced};
use crate::error::BenchError;
use baro_sys::files;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const BLOCK_BYTES: u64 = 8 << 10;
/// Blocks of a file; it has a little more, which no block fits into.
const FILE_BLOCKS: u64 = 16;

fn spec() -> WaySpec {
    WaySpec {
        block_bytes: BLOCK_BYTES,
        period_ns: 200_000,
        flush_bytes: 4 * BLOCK_BYTES,
        file_bytes: FILE_BLOCKS * BLOCK_BYTES + 100,
    }
}

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("baro-ways-{name}-{}", std::process::id()));
        files::make_folder(&dir).expect("a new directory");
        Self(dir)
    }

    fn names(&self) -> Vec<String> {
        #[allow(clippy::disallowed_methods, reason = "a test looks at what is left")]
        let entries = std::fs::read_dir(&self.0).expect("readable");
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("readable").file_name();
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect()
    }

    /// The ways that can be had here; says which cannot.
    fn kinds(&self) -> Vec<WayKind> {
        let available = |kind: &WayKind| match kind.available(&self.0) {
            Ok(()) => true,
            Err(why) => {
                println!("skipped: {kind}: {why}");
                false
            }
        };
        WayKind::ALL.into_iter().filter(available).collect()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = files::remove_empty_folder(&self.0);
    }
}

pub(super) fn blocks_of(path: &Path, spec: &WaySpec) -> Vec<Vec<u8>> {
    #[allow(clippy::disallowed_methods, reason = "a test looks at what was written")]
    let bytes = std::fs::read(path).expect("there");
    bytes.chunks(spec.block_bytes as usize).map(<[u8]>::to_vec).collect()
}

/// Whether a way overwrites its file from the beginning.
fn wraps(kind: WayKind) -> bool {
    use WayKind::{Direct, IoUring, IoUringPolled, MmapWritten, PosixAio};
    [Direct, IoUring, IoUringPolled, MmapWritten, PosixAio].contains(&kind)
}

/// A block like no other.
fn block(number: u64) -> Vec<u8> {
    let byte = |index: u64| (index.wrapping_mul(number + 3) ^ (index >> 8) ^ number) as u8;
    (0..BLOCK_BYTES).map(byte).collect()
}

fn numbers(found: &[Vec<u8>]) -> Vec<Option<u64>> {
    let number = |bytes: &Vec<u8>| (0..100).find(|number| *bytes == block(*number));
    found.iter().map(number).collect()
}

#[test]
fn each_way_has_written_what_it_was_given() {
    let dir = Dir::new("contents");
    let path = dir.0.join("recording");
    for kind in dir.kinds() {
        let mut recording = kind.begin(&path, &spec()).expect("prepared");
        let write = |recording: &mut Box<dyn Recording>, numbers: std::ops::Range<u64>| {
            for number in numbers {
                assert!(!recording.is_full(), "{kind}: before block {number}");
                recording.write(&block(number)).expect("written");
            }
            recording.settle().expect("settled");
            assert_eq!(recording.later().failed, 0);
        };
        // A slice may end anywhere.
        write(&mut recording, 0..3);
        write(&mut recording, 3..FILE_BLOCKS);
        assert_eq!(recording.is_full(), !wraps(kind), "{kind}");
        let mut expected: Vec<_> = (0..FILE_BLOCKS).map(Some).collect();
        let found = recording.read_back(&path, &spec());
        assert_eq!(numbers(&found), expected, "{kind}");
        if wraps(kind) {
            write(&mut recording, FILE_BLOCKS..FILE_BLOCKS + 5);
            (0..5).for_each(|index| expected[index] = Some(FILE_BLOCKS + index as u64));
            assert_eq!(numbers(&recording.read_back(&path, &spec())), expected, "{kind}");
        }
        drop(recording);
        files::remove(&path).expect("there");
        assert_eq!(dir.names(), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn each_way_counts_its_writes_and_leaves_nothing() {
    let dir = Dir::new("counts");
    let go = AtomicBool::new(false);
    for kind in dir.kinds() {
        // What a killed run may have left goes with it.
        for name in ["recording", "recording-wal", "recording-shm", "recording-journal"] {
            files::create(&dir.0.join(name)).expect("a leftover");
        }
        let mut way = Way::new(kind, &dir.0, "recording", spec()).expect("prepared");
        for writes in [15, 25] {
            let slice = way.run_writes(writes, &go).expect("recorded");
            assert_eq!(slice.writes, writes, "{kind}");
        }
        // What was written last is in the file: eight blocks of the third round.
        if wraps(kind) {
            let first = |bytes: &Vec<u8>| u64::from_le_bytes(bytes[..8].try_into().expect("8"));
            let found: Vec<u64> =
                blocks_of(&dir.0.join("recording"), &spec()).iter().map(first).collect();
            let expected: Vec<u64> = (32..40).chain(24..32).collect();
            assert_eq!(found, expected, "{kind}");
        }
        let report = way.finish().expect("finished");
        assert_eq!((report.kind, report.latency_ns.len()), (kind, 40));
        assert_eq!((report.failed_writes, report.first_error), (0, None), "{kind}");
        assert_eq!(report.written_bytes, 40 * BLOCK_BYTES, "{kind}");
        assert_eq!(report.recordings, if wraps(kind) { 1 } else { 3 }, "{kind}");
        // Four blocks make a unit, four units a file.
        let flushes = report.flush.map(|flush| (flush.latency_ns.len(), flush.failed));
        let mapped = matches!(kind, WayKind::Mmap | WayKind::MmapWritten);
        assert_eq!(flushes, mapped.then_some((10, 0)), "{kind}");
        assert_eq!(dir.names(), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn a_way_that_is_dropped_or_stopped_leaves_nothing() {
    let dir = Dir::new("dropped");
    let (go, stop) = (AtomicBool::new(false), AtomicBool::new(true));
    for kind in dir.kinds() {
        let mut way = Way::new(kind, &dir.0, "recording", spec()).expect("prepared");
        way.run_writes(5, &go).expect("recorded");
        assert_ne!(dir.names(), Vec::<String>::new());
        drop(way);
        assert_eq!(dir.names(), Vec::<String>::new(), "{kind}");
        let report = paced(kind, &dir.0, "recording", spec(), u64::MAX, &stop).expect("ended");
        assert_eq!((report.latency_ns.len(), report.recordings), (0, 1), "{kind}");
        assert_eq!(dir.names(), Vec::<String>::new(), "{kind}");
    }
}

#[test]
fn what_cannot_be_had_says_why_in_one_sentence() {
    let places = ["/no/such/place", "/proc", "/dev/shm"];
    let mut refused = 0;
    for (place, kind) in places.into_iter().flat_map(|p| WayKind::ALL.map(|kind| (p, kind))) {
        let Err(why) = kind.available(Path::new(place)) else { continue };
        refused += 1;
        assert!(!why.is_empty() && !why.contains('\n') && !why.ends_with('.'), "{why}");
        let made = Way::new(kind, Path::new(place), "x", spec()).map(drop);
        let Err(BenchError::Refused(said)) = made else { panic!("{kind} in {place}: {made:?}") };
        assert_eq!(said, format!("{kind}: {why}"));
    }
    // At least all that look at the place do, in the two that are none.
    assert!(refused >= 2 * 8, "{refused}");
    let made = Way::new(WayKind::Dsync, Path::new("/no/such/place"), "x", spec());
    assert!(matches!(made, Err(BenchError::File { what: "prepare", .. })));
}

#[test]
fn useless_specifications_are_refused() {
    let good = WaySpec::default();
    for (field, spec) in [
        ("block_bytes", WaySpec { block_bytes: 0, ..good }),
        ("block_bytes", WaySpec { block_bytes: 4097, ..good }),
        ("period_ns", WaySpec { period_ns: 0, ..good }),
        ("flush_bytes", WaySpec { flush_bytes: 4096, ..good }),
        ("file_bytes", WaySpec { file_bytes: 4096, ..good }),
    ] {
        let made = Way::new(WayKind::Dsync, Path::new("/"), "x", spec).map(drop);
        let Err(BenchError::Specification { field: found, .. }) = made else { panic!("{made:?}") };
        assert_eq!(found, field);
    }
}
