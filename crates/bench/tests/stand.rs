//! Stands on this machine's kernel, with root's rights: what is made is made as it is meant, and nothing
//! of it is left, however it ends.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bed;

use baro_bench::stand::{Speed, Stand, StandSpec, remove_leftovers};
use bed::{known, names, place};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SPEC: StandSpec<'static> = StandSpec { bytes: 64 << 20, mkfs: &[], mount: "noatime" };
const PLACE: &str = "BARO_BENCH_TEST_STAND";

/// One test at a time: a loop device that one gives back is the next one another gets.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The throttle's lines and the limits of dirty data of loop devices.
fn settings() -> Vec<String> {
    let mut found = Vec::new();
    for name in ["write_bps", "write_iops", "read_bps", "read_iops"] {
        let path = format!("/sys/fs/cgroup/blkio/blkio.throttle.{name}_device");
        found
            .extend(fs::read_to_string(path).unwrap().lines().map(|line| format!("{name} {line}")));
    }
    for entry in fs::read_dir("/sys/class/bdi").unwrap() {
        let path = entry.unwrap().path();
        let is_loop = path.file_name().unwrap().to_str().unwrap().starts_with("7:");
        let read = |name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
        let limits = (read("max_ratio_fine"), read("strict_limit"));
        if is_loop && limits != ("1000000\n".to_owned(), "0\n".to_owned()) {
            found.push(format!("{} {limits:?}", path.display()));
        }
    }
    found
}

fn slow_stand(place: &Path, write_bytes: u64) -> Stand {
    let mut stand = Stand::build(place, &SPEC).unwrap();
    stand.set_speed(Speed { write_bytes, reads: 100, ..Speed::default() }).unwrap();
    if Path::new("/sys/class/bdi/7:0/strict_limit").exists() {
        stand.limit_dirty(4 << 20).unwrap();
    }
    fs::write(stand.mount_dir().join("file"), vec![7; 3 << 20]).unwrap();
    stand
}

#[test]
fn a_stand_leaves_nothing() {
    let _alone = alone();
    let Some(place) = place("ends") else { return };
    // By which its line is known among those of other stands.
    const BYTES: u64 = 1_234_567;
    let stand = slow_stand(&place, BYTES);
    let number = stand.device_number().to_owned();
    assert_eq!(known(&place).len(), 2, "{:?}", known(&place));
    let slow = || settings().iter().any(|line| line.ends_with(&format!(" {BYTES}")));
    assert!(slow());
    stand.remount().unwrap();
    assert_eq!(fs::read(stand.mount_dir().join("file")).unwrap(), vec![7; 3 << 20]);
    drop(stand);
    assert_eq!(known(&place), Vec::<String>::new());
    assert_eq!(names(&place), Vec::<String>::new());
    let limited = settings().iter().any(|line| line.contains(&format!("/{number} ")));
    assert!(!slow() && !limited, "{:?}", settings());

    // One that cannot be finished leaves nothing either, and says what its program said.
    let spec = StandSpec { mkfs: &["-O", "no_such_feature"], ..SPEC };
    let error = Stand::build(&place, &spec).unwrap_err().to_string();
    assert!(error.starts_with("mkfs.ext4: ") && error.contains("no_such_feature"), "{error}");
    assert_eq!((known(&place), names(&place)), (Vec::new(), Vec::new()));
}

/// As anybody can mount something, by FUSE.
#[test]
fn a_mount_whose_name_is_no_text_keeps_no_stand_mounted() {
    let _alone = alone();
    let Some(place) = place("bytes") else { return };
    let hostile = place.join(OsStr::from_bytes(b"hostile-\xff"));
    let _ = Command::new("umount").arg(&hostile).output();
    fs::create_dir_all(&hostile).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&hostile).status();
    assert!(mounted.unwrap().success());
    let stand = Stand::build(&place, &SPEC).unwrap();
    let mount = stand.mount_dir();
    drop(stand);
    let left = Command::new("mountpoint").arg("-q").arg(&mount).status().unwrap().success();
    if left {
        let _ = Command::new("umount").arg(&mount).status();
    }
    assert!(Command::new("umount").arg(&hostile).status().unwrap().success());
    fs::remove_dir(&hostile).unwrap();
    assert!(!left, "it stayed mounted");
    assert_eq!((known(&place), names(&place)), (Vec::new(), Vec::new()));
}

/// Not a test but the process to be killed.
#[test]
fn owner_to_be_killed() {
    let Some(place) = std::env::var_os(PLACE) else { return };
    let _stand = slow_stand(Path::new(&place), 7_654_321);
    println!("stands");
    // Bounded, so that it ends even where its parent dies first.
    baro_sys::clock::sleep_ns(60_000_000_000);
}

#[test]
fn what_a_killed_stand_left_is_removed() {
    let _alone = alone();
    let Some(place) = place("killed") else { return };
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["owner_to_be_killed", "--exact", "--nocapture"])
        .env(PLACE, &place)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(owner.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line.ends_with("stands")));
    // Not touched while its owner lives.
    remove_leftovers(&place);
    assert_eq!(known(&place).len(), 2);
    owner.kill().unwrap();
    owner.wait().unwrap();
    assert_eq!(known(&place).len(), 2);
    let slow = || settings().iter().any(|line| line.ends_with(" 7654321"));
    assert!(slow());
    // What is there if the kill came while the journal of settings was being replaced.
    let journals = baro_tune::Options::state_dir_of("stands");
    let stands = names(&place).into_iter().filter(|name| name.starts_with("baro-stand-"));
    let own: Vec<PathBuf> = stands.map(|name| journals.join(name)).collect();
    assert_eq!(own.len(), 1, "{own:?}");
    std::fs::write(own[0].join(".journal.new-0123456789abcdef"), "left by a kill").unwrap();
    remove_leftovers(&place);
    assert_eq!(own.iter().filter(|dir| dir.exists()).count(), 0);
    assert_eq!((known(&place), names(&place)), (Vec::new(), Vec::new()));
    assert!(!slow(), "{:?}", settings());
}
