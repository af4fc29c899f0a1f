//! Ways to write on a file system of their own: what a full one does to them is said and
//! counted.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_bench::BenchError;
use baro_bench::stand::{Stand, StandSpec, remove_leftovers};
use baro_bench::ways::{Way, WayKind, WaySpec};
use baro_bench_sys::calls;
use baro_sys::files;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

const STAND: StandSpec<'static> = StandSpec { bytes: 64 << 20, mkfs: &[], mount: "noatime" };
const BLOCK_BYTES: u64 = 16 << 10;

/// A folder for stands, or why there can be none here.
fn place() -> Option<PathBuf> {
    let missing = if !baro_sys::schedule::is_root() {
        Some("root's rights")
    } else if !Path::new("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists() {
        Some("the block controller of version 1")
    } else if !Path::new("/dev/loop-control").exists() {
        Some("loop devices")
    } else {
        None
    };
    if let Some(missing) = missing {
        println!("skipped: needs {missing}");
        return None;
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Root measures in no folder that others can change, as that of somebody's checkout.
    let above = match baro_bench::ground::held(built) {
        Ok(_) => built.to_owned(),
        Err(_) => std::env::temp_dir(),
    };
    let place = above.join("ways");
    fs::create_dir_all(&place).unwrap();
    remove_leftovers(&place);
    Some(place)
}

fn names(dir: &Path) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "lost+found").collect()
}

/// Takes all the room but `left_bytes`.
fn fill(path: &Path, left_bytes: u64) {
    let file = files::create(path).unwrap();
    let mut bytes = 0;
    for step in [8_u64 << 20, 1 << 20, 64 << 10, 4 << 10] {
        while calls::allocate(&file, bytes, step).is_ok() {
            bytes += step;
        }
    }
    files::set_length(&file, bytes - left_bytes).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn a_full_device_is_said_and_counted() {
    let Some(place) = place() else { return };
    let stand = Stand::build(&place, &STAND).unwrap();
    let dir = stand.mount_dir();
    fill(&dir.join("filling"), 2 << 20);
    let (spec, go) = (WaySpec { period_ns: 100_000, ..WaySpec::default() }, AtomicBool::new(false));
    for kind in WayKind::ALL {
        let mut way = match Way::new(kind, &dir, "recording", spec) {
            Ok(way) => way,
            // Those that take their room before they record.
            Err(BenchError::File { what: "prepare", source, .. }) => {
                assert_eq!(source.kind(), ErrorKind::StorageFull, "{kind}");
                assert_eq!(names(&dir), ["filling"], "{kind}");
                continue;
            }
            Err(BenchError::Refused(why)) => {
                println!("skipped: {why}");
                continue;
            }
            Err(error) => panic!("{kind}: {error}"),
        };
        assert!(matches!(kind, WayKind::Dsync | WayKind::Mcap | WayKind::Sqlite), "{kind}");
        // More than there is room for.
        match way.run_writes(400, &go) {
            Ok(slice) => {
                assert_eq!(slice.writes, 400);
                let report = way.finish().unwrap();
                assert_eq!(report.first_error, Some(ErrorKind::StorageFull), "{kind}");
                assert!(report.failed_writes > 200, "{kind}: {report:?}");
                let written = report.written_bytes / BLOCK_BYTES;
                assert_eq!(written + report.failed_writes, 400, "{kind}");
            }
            // What is only synced at the end is only then known to be lost.
            Err(BenchError::File { what: "sync", .. }) if kind != WayKind::Dsync => drop(way),
            Err(error) => panic!("{kind}: {error}"),
        }
        assert_eq!(names(&dir), ["filling"], "{kind}");
    }
    drop(stand);
    assert_eq!(names(&place), Vec::<String>::new());
}
