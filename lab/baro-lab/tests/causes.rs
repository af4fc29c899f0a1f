//! Stands and causes on this machine's kernel, with root's rights: what is made is made as it is
//! meant, and nothing of it is left, however it ends.

#![allow(clippy::disallowed_methods, reason = "tests look at the files themselves")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use baro_bench::stand::{Speed, Stand, StandSpec, remove_leftovers};
use baro_lab::causes::{Account, JUDGED_NS, Sampler, Seen, find};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, MutexGuard, PoisonError};

const SPEC: StandSpec<'static> = StandSpec { bytes: 64 << 20, mkfs: &[], mount: "noatime" };
const PLACE: &str = "BARO_BENCH_TEST_STAND";

/// One test at a time: a loop device that one gives back is the next one another gets.
static ONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder for stands, or why there can be none here.
fn place(name: &str) -> Option<PathBuf> {
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
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("causes-{name}"));
    fs::create_dir_all(&place).unwrap();
    remove_leftovers(&place);
    assert_eq!(names(&place), Vec::<String>::new());
    Some(place)
}

fn names(dir: &Path) -> Vec<String> {
    fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// What of a stand in `place` the kernel knows: mounts, loop devices on its images.
fn known(place: &Path) -> Vec<String> {
    let place = place.canonicalize().unwrap();
    let text = place.to_str().unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut known: Vec<String> =
        mounts.lines().filter(|line| line.contains(text)).map(str::to_owned).collect();
    for entry in fs::read_dir("/sys/block").unwrap() {
        let backing = entry.unwrap().path().join("loop/backing_file");
        let backing = fs::read_to_string(backing).unwrap_or_default();
        // What another mount namespace still uses is detached by the kernel, later.
        if backing.contains(text) && !backing.contains("(deleted)") {
            known.push(backing);
        }
    }
    known
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
    for name in names(&place).iter().filter(|name| name.starts_with("baro-stand-")) {
        let torn = place.join(name).join("settings/journal.tmp");
        std::fs::write(torn, "left by a kill").unwrap();
    }
    remove_leftovers(&place);
    assert_eq!((known(&place), names(&place)), (Vec::new(), Vec::new()));
    assert!(!slow(), "{:?}", settings());
}

#[test]
fn a_stall_is_where_it_was_made() {
    let _alone = alone();
    let Some(place) = place("stall") else { return };
    for name in ["folio_lock", "transaction_full"] {
        let cause = find(name).unwrap();
        let mut sampler = None;
        let mut account = Account::default();
        let stop = AtomicBool::new(false);
        let made = cause.make(
            &place,
            &stop,
            &mut |stand| {
                sampler = Some(Sampler::start(std::process::id(), &stand.journal_task())?);
                Ok(())
            },
            &mut |done| {
                account = done.clone();
                Ok(())
            },
        );
        made.unwrap();
        let evidence = sampler.unwrap().finish().unwrap();
        let longest = *account.longest().unwrap();
        assert!(longest.wait_ns() >= JUDGED_NS && longest.call == "pwrite64", "{longest:?}");
        let seen = evidence.judge(cause, &account);
        assert_eq!(seen.len(), 1 + cause.others.len());
        assert!(seen.iter().all(Seen::holds), "{name}: {seen:#?}");
        assert_eq!((known(&place), names(&place)), (Vec::new(), Vec::new()));
    }
}
