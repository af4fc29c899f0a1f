//! Files of a real, empty control group: a limit for one device among many is one line.
//!
//! What the kernel shows for a line, and how it takes one away, is known only from the kernel.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use baro_tune::{Journal, OnConflict, Options, Outcome, Setting};

/// A group of its own, removed when dropped.
struct Group(PathBuf);

impl Group {
    fn make(parent: &str) -> Option<Group> {
        let path = Path::new(parent).join(format!("baro-tune-test-{}", std::process::id()));
        fs::create_dir(&path).ok()?;
        Some(Group(path))
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_line_of_a_real_group_is_set_and_taken_away() {
    // Version 1 first: a machine that has both keeps the disks there.
    let parents = ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup"];
    let Some(group) = parents.into_iter().find_map(Group::make) else {
        println!("skipped: no control group can be made below /sys/fs/cgroup");
        return;
    };
    let disks = fs::read_dir("/sys/block").into_iter().flatten();
    let mut devices =
        disks.filter_map(|disk| fs::read_to_string(disk.unwrap().path().join("dev")).ok());
    let Some(device) = devices.next() else {
        println!("skipped: no block device");
        return;
    };
    let device = device.trim();
    let max = "rbps=max wbps=max riops=max wiops=max";
    let kinds = [
        ("blkio.throttle.write_bps_device", "1048576", "2097152", "0"),
        ("io.max", "wbps=1048576", "wbps=2097152", max),
    ];
    let kind = kinds.into_iter().find(|kind| Path::new(&group.file(kind.0)).exists());
    let Some((name, first, second, unset)) = kind else {
        println!("skipped: no I/O limits in this control group");
        return;
    };
    let state_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tune-cgroup");
    let options = Options { state_dir: state_dir.clone(), ..Options::default() };
    let file = group.file(name);
    let found = fs::read_to_string(&file).unwrap();
    let (mut journal, _) = Journal::open(&options).unwrap();
    for value in [first, second] {
        let applied = journal.apply(&Setting::line(&file, device, value, unset)).unwrap();
        assert_eq!(applied.outcome, Outcome::Exact, "{applied:?}");
        assert!(fs::read_to_string(&file).unwrap().contains(value));
    }
    let report = journal.undo_all(OnConflict::Leave);
    assert!(report.is_clean(), "{report}");
    assert_eq!(fs::read_to_string(&file).unwrap(), found, "{report}");

    // A group that is taken away takes its settings with it.
    journal.apply(&Setting::line(&file, device, first, unset)).unwrap();
    drop(group);
    let report = journal.undo_all(OnConflict::Leave);
    assert_eq!(report.to_string(), format!("{file} {device}: gone, nothing to restore\n"));
    drop(journal);
    fs::remove_dir_all(state_dir).unwrap();
}
