//! `baro-lab causes` from outside: the keys that results are judged by, the exit codes, and that
//! nothing is left when it is told to end.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
#[path = "../../../crates/cli/tests/place/mod.rs"]
mod place;

use place::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const THROTTLE: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device";

fn lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_baro-lab"))
}

/// Why stalls cannot be made here.
fn missing() -> bool {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root's rights");
    } else if let Some(path) =
        [THROTTLE, "/dev/loop-control"].iter().find(|p| !Path::new(p).exists())
    {
        println!("skipped: needs {path}");
    } else {
        return false;
    }
    true
}

#[test]
fn causes_are_listed_and_others_refused() {
    let listed = lab().args(["causes", "--list", "--format", "json"]).output().unwrap();
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|cause| cause["name"].as_str().unwrap()).collect();
    for name in [
        "log_space",
        "transaction_locked",
        "transaction_full",
        "ordered_data",
        "dirty_limit_device",
        "dirty_limit_global",
        "folio_lock",
        "inode_lock",
        "slow_device",
        "fsync_behind_stream",
        "truncate_fallocate",
        "memory_reclaim",
        "cgroup_throttle",
        "cpu_preemption",
    ] {
        assert!(names.contains(&name), "{name}");
    }
    let said = |arguments: &[&str]| {
        let output = lab().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let unknown = said(&["causes", "log_spice"]);
    assert!(unknown.contains("no cause log_spice") && unknown.contains("log_space"), "{unknown}");
    let global = said(&["causes", "dirty_limit_global"]);
    assert!(global.contains("add --global"), "{global}");
}

#[test]
fn a_cause_is_made_and_its_evidence_is_told() {
    if missing() {
        return;
    }
    let folder = Folder::new("bench-causes");
    let output = lab()
        .args(["causes", "folio_lock", "--no-trace", "--format", "json", "--dir", &folder.path("")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(told["collector"].is_null() && told["met"] == 1);
    let cause = &told["causes"][0];
    assert_eq!(
        (&cause["cause"], &cause["expected"][0]),
        (&"folio_lock".into(), &"folio_lock".into())
    );
    assert!(cause["found"].is_null() && cause["unexplained_ns"].is_null());
    assert!(cause["waited_ns"].as_u64().unwrap() >= 200_000_000);
    let calls = cause["victim_calls"].as_array().unwrap();
    assert!(calls.iter().all(|call| call["call"] == "pwrite64" && call["pid"].as_u64() > Some(0)));
    let longest = calls.iter().map(|call| call["wait_ns"].as_u64().unwrap()).max().unwrap();
    assert_eq!(cause["waited_ns"].as_u64(), Some(longest));
    let victim = &cause["evidence"][0];
    assert!(victim["task"] == "victim" && victim["holds"] == true);
    let stack = victim["stacks"][0]["stack"].as_str().unwrap();
    assert!(stack.contains("__x64_sys_pwrite64") || stack.contains("vfs_write"), "{stack}");
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

#[test]
fn a_cause_is_recorded_and_explained() {
    if missing() {
        return;
    }
    if !Path::new("/sys/kernel/tracing/instances").exists() {
        println!("skipped: needs tracefs at /sys/kernel/tracing");
        return;
    }
    if calls::baro().is_none() {
        return;
    }
    let folder = Folder::new("bench-causes-explained");
    // What a killed one left: no process has this number.
    std::fs::write(folder.0.join("baro-bench-4194305.trace.part"), "left").unwrap();
    let output = lab()
        .args(["causes", "inode_lock", "--format", "json", "--dir", &folder.path("")])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cause = &told["causes"][0];
    assert_eq!(output.status.code(), Some(0), "{said} {cause:#}");
    assert_eq!((&told["collector"], &cause["found"]), (&"tracefs".into(), &"inode_lock".into()));
    // Two clocks' worth of the same call: the victim's and the kernel's.
    let (waited, explained) = (&cause["waited_ns"], &cause["explained_wait_ns"]);
    let (waited, explained) = (waited.as_u64().unwrap(), explained.as_u64().unwrap());
    assert!(explained <= waited && waited - explained < waited / 10, "{waited} {explained}");
    assert!(cause["unexplained_ns"].as_u64().unwrap() <= explained / 20, "{cause:#}");
    // Neither the trace nor the stand is left.
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
}

/// Told in the middle of a stall: by a signal, and by the other end of the pipe that goes away.
#[test]
fn a_run_that_is_told_to_end_leaves_nothing() {
    if missing() {
        return;
    }
    let folder = Folder::new("bench-causes-end");
    for by_signal in [true, false] {
        let mut child = lab()
            .args(["cause", "log_space", "--dir", &folder.path("")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        assert_eq!(ready["ready"], "log_space");
        let device = ready["journal_task"].as_str().unwrap().to_owned();
        assert!(device.starts_with("jbd2/loop"), "{device}");
        stdin.write_all(b"begin\n").unwrap();
        baro_sys::clock::sleep_ns(1_000_000_000);
        let text = folder.0.to_str().unwrap().to_owned();
        let mounted = || std::fs::read_to_string("/proc/self/mounts").unwrap().contains(&text);
        // Those of this stand: 300 writes a second.
        let slow = || {
            std::fs::read_to_string(THROTTLE)
                .unwrap()
                .lines()
                .filter(|l| l.ends_with(" 300"))
                .count()
        };
        let slow_before = slow();
        assert!(mounted() && slow_before >= 1);
        if by_signal {
            baro_sys::termination::send(child.id(), 15).unwrap();
            // Its account is told all the same; it then waits for nobody.
        } else {
            drop(stdin);
        }
        let told: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(child.wait().unwrap().success());
        let account: Value = serde_json::from_str(&told[0]).unwrap();
        assert!(account["slow"].is_array() && told.len() == 1);
        assert!(!mounted() && slow() < slow_before);
        assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    }
}
