//! `baro-lab files` on a real stand: killed again and again, it measures each cell once and leaves
//! the machine as it was.
#![allow(clippy::disallowed_methods, reason = "test code reads what the machine has")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

mod calls;
#[path = "../../../crates/cli/tests/place/mod.rs"]
mod place;

use calls::{json, run, stderr, text};
use place::Folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::{Command, Stdio};
use std::time::Duration;

/// C is 500 MB, and 10,000 files of the paper are 50; with a fourth of the memory the store has none
/// for its buffers.
const CELLS: [&str; 4] =
    ["matrix/F=1/B=4K", "matrix/F=10000/B=4K", "fsync/F=100000/B=4K", "store/F=1/B=4K"];

fn call<'a>(dir: &'a str, out: &'a str, only: &'a str) -> Vec<&'a str> {
    let head = ["files", "--quick", "--scale", "200", "--dir", dir];
    [&head[..], &["--only", only, "--out", out, "--format", "json"]].concat()
}

/// Loop devices and mounts of a folder, and control groups of processes that have ended.
fn left(folder: &str) -> Vec<String> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut left: Vec<String> =
        mounts.lines().filter(|line| line.contains(folder)).map(str::to_owned).collect();
    for entry in std::fs::read_dir("/sys/block").unwrap().flatten() {
        let backing = std::fs::read_to_string(entry.path().join("loop/backing_file"));
        left.extend(backing.ok().filter(|backing| backing.contains(folder)));
    }
    left
}

fn groups_of(pids: &[u32]) -> Vec<String> {
    let mut left = Vec::new();
    for controller in ["memory", "blkio", ""] {
        let parent = std::path::Path::new("/sys/fs/cgroup").join(controller);
        for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let of = |pid: &u32| name.starts_with(&format!("baro-stand-{pid}-"));
            left.extend(pids.iter().any(of).then_some(name.clone()));
        }
    }
    left
}

fn stand_is_to_be_had(folder: &Folder) -> Result<(), String> {
    if !baro_sys::schedule::is_root() {
        return Err("needs root, for loop devices and control groups".to_owned());
    }
    let (dir, out) = (folder.path(""), folder.path("try.jsonl"));
    let tried = run(&call(&dir, &out, "fsync"));
    if tried.status.success() {
        return Ok(());
    }
    Err(format!("no stand: {}", stderr(&tried)))
}

#[test]
fn a_run_that_is_killed_again_and_again_measures_each_cell_once() {
    let folder = Folder::new("bench-files");
    if let Err(reason) = stand_is_to_be_had(&folder) {
        println!("skipped: {reason}");
        return;
    }
    let (dir, out) = (folder.path(""), folder.path("m.jsonl"));
    let only = CELLS.join(",");
    let mut pids = Vec::new();
    // Points from the first instruction to the middle of the third cell.
    for wait_ms in [30, 4_300, 700, 150, 2_100, 5_200, 400, 1_300, 3_100, 60] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_baro-lab"))
            .args(call(&dir, &out, &only))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        pids.push(child.id());
        let ended = (0..wait_ms / 10).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            child.try_wait().unwrap().is_some()
        });
        if !ended {
            child.kill().unwrap();
        }
        child.wait().unwrap();
    }
    let output = run(&call(&dir, &out, &only));
    let study = json(&output, 0);
    assert_eq!(study["tables"][0]["rows"].as_array().unwrap().len(), 12, "{study}");
    let lines = std::fs::read_to_string(&out).unwrap();
    let cells: Vec<Value> =
        lines.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = cells.iter().map(|cell| cell["cell"].as_str().unwrap()).collect();
    assert_eq!(names, CELLS, "each once, in the order of the plan");
    for cell in &cells {
        let data = &cell["data"];
        assert!(data["application_synced_bytes"].as_u64().unwrap() > 0, "{data}");
        assert!(data["synced"]["written_bytes"].as_u64().unwrap() > 0, "{data}");
        assert!(!data["points"].as_array().unwrap().is_empty(), "{data}");
    }
    // Appends that are synced one by one cost metadata each.
    let kwa = |at: usize| {
        let data = &cells[at]["data"];
        data["synced"]["written_bytes"].as_f64().unwrap()
            / data["application_synced_bytes"].as_f64().unwrap()
    };
    assert!(kwa(2) > 2.0 * kwa(0), "{} {}", kwa(2), kwa(0));
    assert_eq!(left(&dir), [""; 0]);
    assert_eq!(groups_of(&pids), [""; 0]);
    let files: BTreeSet<String> = std::fs::read_dir(&dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    let expected = ["m.html", "m.jsonl", "try.html", "try.jsonl"].map(str::to_owned);
    assert_eq!(files, BTreeSet::from(expected), "{}", stderr(&output));
    // A whole measurement is studied, anywhere, and says the same.
    let again = json(&run(&["files", "--study", &out, "--format", "json"]), 0);
    assert_eq!(again["claims"], study["claims"]);
}

#[test]
fn what_cannot_be_measured_or_studied_is_said() {
    let folder = Folder::new("bench-files-wrong");
    let (dir, out) = (folder.path(""), folder.path("m.jsonl"));
    for (arguments, expected) in [
        (call(&dir, &out, "no-such-cell"), "no cell of a quick run"),
        (vec!["files", "--dir", "/no/such/folder", "--out", &out], "/no/such/folder"),
        (vec!["files", "--scale", "0", "--dir", &dir, "--out", &out], "scale is 0"),
        (vec!["files", "--study", "/no/such/file"], "/no/such/file"),
    ] {
        let output = run(&arguments);
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
        assert!(text(&output, 1).is_empty());
    }
    std::fs::write(&out, "{\"barograph_measurement\":99}\n").unwrap();
    let newer = run(&["files", "--study", &out]);
    assert!(stderr(&newer).contains("99"), "{}", stderr(&newer));
    assert_eq!(run(&["files", "--quick", "--full"]).status.code(), Some(2));
    assert_eq!(run(&["files", "--device", "tape"]).status.code(), Some(2));
}
