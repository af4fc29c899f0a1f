//! The limit of dirty data of one device: worked out on a fake root, applied and undone on a real
//! loop device.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::Command;

use baro_tune::{DirtyLimit, Journal, OnConflict, Options, Setting};

#[test]
fn the_share_follows_from_the_machine_s_limit() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tune-dirty-limit");
    let _ = fs::remove_dir_all(&root);
    let bdi = root.join("sys/class/bdi/7:9");
    fs::create_dir_all(&bdi).unwrap();
    fs::create_dir_all(root.join("proc")).unwrap();
    fs::write(bdi.join("max_ratio_fine"), "1000000\n").unwrap();
    fs::write(bdi.join("strict_limit"), "0\n").unwrap();
    fs::write(root.join("proc/vmstat"), "nr_dirty 1\nnr_dirty_threshold 500000\n").unwrap();
    let limit = DirtyLimit::read(&root, "7:9").unwrap();
    assert_eq!((limit.share_ppm, limit.strict), (1_000_000, false));
    assert_eq!(limit.bytes(), 500_000 * 4096);
    let share = |value: &str| Setting::new("/sys/class/bdi/7:9/max_ratio_fine", value);
    assert_eq!(limit.settings(20_480_000)[0], share("10000"));
    assert_eq!(limit.settings(0)[0], share("1"));
    assert_eq!(limit.settings(u64::MAX)[0], share("1000000"));
    assert_eq!(limit.settings(0)[1], Setting::new("/sys/class/bdi/7:9/strict_limit", "1"));
    fs::write(bdi.join("max_ratio_fine"), "many\n").unwrap();
    let error = DirtyLimit::read(&root, "7:9").unwrap_err().to_string();
    assert!(error.contains("max_ratio_fine") && error.contains("many"), "{error}");
    let missing = DirtyLimit::read(&root, "7:8").unwrap_err().to_string();
    assert!(missing.contains("7:8/max_ratio_fine"), "{missing}");
    fs::remove_dir_all(root).unwrap();
}

/// A loop device of its own, detached when dropped.
struct Loop(String);

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).output();
    }
}

#[test]
fn the_limit_of_a_real_device_is_left_as_found() {
    let image = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tune-dirty-limit.img");
    fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    let made = Command::new("losetup").args(["--find", "--show"]).arg(&image).output();
    let name = made.map(|made| String::from_utf8_lossy(&made.stdout).trim().to_owned());
    let Some(device) = name.ok().filter(|name| name.starts_with("/dev/")).map(Loop) else {
        println!("skipped: no loop device can be made");
        return;
    };
    let block = device.0.replace("/dev/", "/sys/block/");
    let number = fs::read_to_string(format!("{block}/dev")).unwrap().trim().to_owned();
    let files =
        ["max_ratio_fine", "strict_limit"].map(|name| format!("/sys/class/bdi/{number}/{name}"));
    let read = || files.clone().map(|file| fs::read_to_string(file).unwrap_or_default());
    let found = read();
    if found[0].is_empty() {
        println!("skipped: no limit of one device before Linux 6.2");
        return;
    }
    let state_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tune-dirty-limit-state");
    let options = Options { state_dir: state_dir.clone(), ..Options::default() };
    let (mut journal, _) = Journal::open(&options).unwrap();
    for setting in DirtyLimit::read(Path::new("/"), &number).unwrap().settings(32 << 20) {
        journal.apply(&setting).unwrap();
    }
    let limit = DirtyLimit::read(Path::new("/"), &number).unwrap();
    assert!(limit.strict);
    // One millionth of the machine's limit is the step.
    assert!(limit.bytes().abs_diff(32 << 20) <= 4 << 20, "{limit:?}");
    let report = journal.undo_all(OnConflict::Leave);
    assert!(report.is_clean(), "{report}");
    assert_eq!(read(), found);
    drop(journal);
    drop(device);
    fs::remove_file(image).unwrap();
    fs::remove_dir_all(state_dir).unwrap();
}
