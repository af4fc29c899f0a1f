//! Twelve stalls that are made on purpose, each with a cause known by how it was made, recorded and explained
//! by the program: no other cause may be told. All kinds are in `lab/stalls`, with both collectors.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod place;

use place::Folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const TRACEFS: [&str; 6] = [
    "freeze-then-disk",
    "group-frozen",
    "lease-of-another",
    "lock-of-a-stopped-task",
    "removal-while-frozen",
    "stopped-while-frozen",
];
const BTF: [&str; 6] = [
    "disk-after-freeze",
    "limit-of-own-group",
    "lock-of-a-task-that-syncs",
    "msync-slow",
    "short-syncs",
    "sync-by-another-thread",
];

/// What is missing here, if anything is.
fn missing() -> Option<&'static str> {
    let there = |path: &str| Path::new(path).exists();
    let instances =
        ["/sys/kernel/tracing/instances", "/sys/kernel/debug/tracing/instances"].map(there);
    let python = Command::new("python3").arg("--version").output().is_ok();
    match () {
        () if !baro_sys::schedule::is_root() => {
            Some("needs root, for disks and the kernel's tracer")
        }
        () if !instances.contains(&true) => Some("no tracefs is mounted"),
        () if !there("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device") => {
            Some("needs control groups of version 1, for slow disks")
        }
        () if !there("/dev/loop-control") => Some("needs loop devices"),
        () if !python => Some("no python3"),
        () => None,
    }
}

/// Makes them, and says what became of each.
fn made(folder: &Folder, collector: &str, kinds: &[&str]) -> BTreeMap<String, Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/stalls/make.py");
    let output = Command::new("python3")
        .arg(script)
        .args(["--collectors", collector])
        .args(kinds)
        .env("BARO", env!("CARGO_BIN_EXE_baro"))
        .env("STALLS", &folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{collector}: {said}");
    let lines = String::from_utf8(output.stdout).unwrap();
    let rows = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rows: BTreeMap<String, Value> =
        rows.map(|row| (row["case"].as_str().unwrap().to_owned(), row)).collect();
    let left: Vec<_> = kinds.iter().filter(|kind| !rows.contains_key(**kind)).collect();
    assert!(left.is_empty(), "{collector}: not made: {left:?}: {said}");
    rows
}

#[test]
fn stalls_that_are_made_on_purpose_are_told_as_what_they_are() {
    if let Some(why) = missing() {
        println!("skipped: {why}");
        return;
    }
    let folder = Folder::new("stalls");
    for (collector, kinds) in [("tracefs", TRACEFS), ("btf", BTF)] {
        for (kind, row) in made(&folder, collector, &kinds) {
            assert_eq!(row["verdict"], "right", "{kind}, {collector}: {row}");
        }
    }
}

/// How often a table of made stalls has each judgement.
fn judged(folder: &Folder, row: &str) -> String {
    let path = folder.0.join("rows.jsonl");
    std::fs::write(&path, row).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/stalls.py");
    let output = Command::new("python3").arg(script).arg(path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    table.lines().nth(2).unwrap().split('|').nth(7).unwrap().trim().to_owned()
}

#[test]
fn a_stall_is_right_only_of_its_own_call_and_on_its_disk() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3");
        return;
    }
    let folder = Folder::new("stalls-judged");
    let row = |call: &str, more: &str| {
        format!(
            "{{\"case\":\"x\",\"coll\":\"btf\",\"expected\":\"device\",\"victim\":{{\"call\":\"umount2\",\"ms\":9}},\
             \"call\":\"{call}\",\"wait_ms\":9,\"cause\":\"device\",\"root\":\"throttle\"{more}}}\n"
        )
    };
    assert_eq!(judged(&folder, &row("umount2", "")), "right");
    assert_eq!(judged(&folder, &row("umount2", ",\"disk_is_right\":true")), "right");
    assert_eq!(judged(&folder, &row("page fault", "")), "other");
    assert_eq!(judged(&folder, &row("umount2", ",\"disk_is_right\":false")), "other");
}
