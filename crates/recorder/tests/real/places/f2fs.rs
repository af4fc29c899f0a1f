//! f2fs: segments are fixed (pinned files) when they are made, and overwritten where they are then; where that is
//! refused recording goes on, and an open says so.

use super::count::Counted;
use super::{alone, live, on, open_promises, why};
use baro_promises::Promise;

const CHECKPOINT: &str = "f2fs/f2fs_write_checkpoint";
const ALLOCATION: &str = "f2fs/f2fs_reserve_new_blocks";
const SYNC: &str = "f2fs/f2fs_sync_file_exit";

#[test]
fn f2fs_overwrites_segments_that_are_fixed() {
    let _alone = alone();
    let Some((mount, scene)) = on("f2fs", "place-f2fs", "noatime") else { return };
    // Its own timer's checkpoints are not the recording's.
    let timer = format!("/sys/fs/f2fs/{}/cp_interval", mount.device_name());
    std::fs::write(&timer, "3600").unwrap();
    let opening = live(&scene);
    assert_eq!(open_promises(&opening), []);
    assert!(opening.direct);
    let said = why(&opening, Promise::InPlace);
    assert!(said.contains("all 24 segments are fixed"), "{said}");
    // Segments of the scene are 1 MiB, sections 2 MiB.
    assert!(said.contains("2048 KiB of the device for 1024 KiB"), "{said}");
    let Some(counted) = Counted::of(&scene, &[CHECKPOINT, ALLOCATION, SYNC]) else { return };
    assert_eq!((counted.events(CHECKPOINT), counted.events(ALLOCATION)), (0, 0), "{counted:?}");
    assert!(counted.events(SYNC) >= counted.syncs && counted.syncs > 10, "{counted:?}");
    assert!(counted.flushes > 10, "{counted:?}");
    assert!(counted.grown(ALLOCATION) >= 1 && counted.grown(SYNC) >= 1, "{counted:?}");
}

#[test]
fn f2fs_that_fixes_no_segment_is_recorded_to_and_says_so() {
    let _alone = alone();
    let Some((_mount, scene)) = on("f2fs", "place-f2fs-log", "noatime,mode=lfs") else { return };
    let opening = live(&scene);
    let open = [("no-forced-commits", "unknown"), ("in-place", "no")];
    assert_eq!(open_promises(&opening)[..2], open);
    let said = why(&opening, Promise::InPlace);
    assert!(said.contains("24 of 24 segments are not fixed"), "{said}");
    assert!(said.contains("refused here: Invalid argument"), "{said}");
}
