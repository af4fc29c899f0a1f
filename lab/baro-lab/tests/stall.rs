//! A short stall: both halves are measured, and two accounts of the same commits agree.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_lab::stall::{StallSpec, run};
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[test]
fn a_small_stall_is_measured_before_and_after() {
    let needs = [
        "/dev/loop-control",
        "/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device",
        "/sys/class/bdi/7:0/strict_limit",
    ];
    if let Some(missing) = needs.iter().find(|path| !Path::new(path).exists()) {
        println!("skipped: needs {missing}");
        return;
    }
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root's rights");
        return;
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Root measures in no folder that others can change, as that of somebody's checkout.
    let above = match baro_bench::ground::held(built) {
        Ok(_) => built.to_owned(),
        Err(_) => std::env::temp_dir(),
    };
    let dir = above.join("stall");
    std::fs::create_dir_all(&dir).unwrap();
    let spec = StallSpec {
        // A commit comes after five seconds by itself.
        length_ns: 7_000_000_000,
        file_bytes: 16 << 20,
        before_bytes: 64 << 20,
        after_bytes: 4 << 20,
        ..StallSpec::default()
    };
    let report = run(spec.clone(), &dir, &AtomicBool::new(false)).unwrap();
    for half in &report.halves {
        let stamped_ns: u64 = half.stamps.iter().map(|stamp| stamp.gap_ns).sum();
        let last = half.stamps.last().unwrap();
        // No time between two stamps is left out.
        assert!(last.at_ns - half.begin_ns - stamped_ns < 500_000_000, "{half:?}");
        assert!(half.written_bytes > 0 && half.stamps.len() > 2);
        assert_eq!(half.gaps(0), half.stamps.len());
        assert!(half.gaps(half.gap_ns_max()) >= 1 && half.gaps(half.gap_ns_max() + 1) == 0);
        if let Some(commits) = &half.commits {
            let ended = commits.iter().filter(|commit| commit.ended).count() as u64;
            // One may have begun before the half did.
            assert!(half.sums.commits.abs_diff(ended) <= 1, "{half:?}");
            assert!(!commits.is_empty(), "{half:?}");
            for commit in commits {
                let stages = commit.locked_ns + commit.flushing_ns + commit.logging_ns;
                assert_eq!(stages, commit.length_ns);
            }
        } else {
            println!("skipped: single commits are not seen without tracefs");
        }
    }
    assert_eq!(report.halves[0].limit_bytes, 64 << 20);
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);

    let stopped = run(spec, &dir, &AtomicBool::new(true)).unwrap_err().to_string();
    assert_eq!(stopped, "told to end");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
}
