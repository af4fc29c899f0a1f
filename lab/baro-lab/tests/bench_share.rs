//! `baro-lab share`: what it refuses, what it says of a measurement, and real cells on a loop device,
//! one run of them killed.
#![allow(clippy::disallowed_methods, reason = "test code reads its fixtures and ends its children")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

mod calls;
#[path = "../../../crates/cli/tests/loop_device/mod.rs"]
mod loop_device;
#[path = "../../../crates/cli/tests/place/mod.rs"]
mod place;

use baro_trace::blk::Places;
use baro_trace::collect::BlockWatch;
use baro_trace::record::Device;
use calls::{json, run, stderr, text};
use loop_device::LoopDevice;
use place::Folder;
use serde_json::{Value, json};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bench").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_measurement_of_shares_is_studied_anywhere() {
    let (file, html) = (fixture("share.jsonl"), Folder::new("share-study"));
    let page = html.path("report.html");
    let said = text(&run(&["share", "--study", &file, "--html", &page]), 0);
    let expected = std::fs::read_to_string(fixture("share.txt")).unwrap();
    // Regenerate with the call above after a change that is meant.
    assert_eq!(said, expected);
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["Table 3", "Table 8", "Table B5", "Figure 6", "Figure 9", "<svg"] {
        assert!(page.contains(part), "{part}");
    }
    let study = json(&run(&["share", "--study", &file, "--format", "json"]), 0);
    let rows = study["rows"].as_array().unwrap();
    let cells = std::fs::read_to_string(&file).unwrap().lines().count() - 1;
    assert_eq!(rows.len(), cells, "one repeat each");
    for row in rows {
        for key in ["setting", "direction", "block_bytes", "weights", "mb_per_s", "total_mb_per_s"]
        {
            assert!(!row[key].is_null(), "{key}: {row}");
        }
        let of_a_player = ["player", "deadline"].contains(&row["task"].as_str().unwrap());
        assert_eq!(row["late_frames"].is_u64(), of_a_player, "{row}");
    }
    // The same measured twice are two repeats.
    let both = json(&run(&["share", "--study", &file, &file, "--format", "json"]), 0);
    assert!(both["rows"].as_array().unwrap().iter().all(|row| row["repeats"] == 2), "{both}");
}

/// Why nothing can be measured here.
fn lacking() -> Option<String> {
    if !baro_sys::schedule::is_root() {
        return Some("needs root, for control groups and a loop device".to_owned());
    }
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !is_there("fio") {
        return Some("fio is not installed: apt-get install fio".to_owned());
    }
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let one = mounts.lines().any(|line| line.contains(" - cgroup ") && line.contains("blkio"));
    let two = std::fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
    (!one && !two.contains("io")).then(|| "no control groups for block devices".to_owned())
}

#[test]
fn what_cannot_be_shared_is_said() {
    for usage in [&["--quick", "--full"][..], &["--study", "x", "--out", "y"], &["--file", "x"]] {
        let output = run(&[&["share"], usage].concat());
        assert_eq!(output.status.code(), Some(2), "{usage:?}");
    }
    let folder = Folder::new("share-bad");
    let out = folder.path("m.jsonl");
    std::fs::write(&out, "{\"barograph_measurement\":1}\n").unwrap();
    let output = run(&["share", "--study", &out]);
    assert!(output.status.code() == Some(1) && stderr(&output).contains("first line"));
    if let Some(why) = lacking() {
        println!("skipped: {why}");
        return;
    }
    let out = folder.path("new.jsonl");
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(&[&["share", "--out", &out], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    };
    refused(&["--dir", "/proc"], "is on proc");
    refused(&["--dir", "/no/such/folder"], "/no/such/folder");
    refused(&["--repeats", "0"], "repeats is 0");
    refused(&["--file", "1M"], "8 MiB to 1 TiB");
    refused(&["--only", "pair/7:1"], "no cell of this run begins so");
    assert!(!Path::new(&out).exists());
}

/// A loop device with BFQ among its schedulers; None, said, if there is none.
fn device(folder: &Folder) -> Option<LoopDevice> {
    if let Some(why) = lacking() {
        println!("skipped: {why}");
        return None;
    }
    match LoopDevice::mounted(&folder.0, "noatime") {
        Ok(device) if device.get("scheduler").contains("bfq") => Some(device),
        Ok(_) => {
            println!("skipped: this kernel has no BFQ, or its module is not loaded");
            None
        }
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    }
}

/// A file of the test's, 4 KiB pages of one byte each, all of it on the disk.
fn laid_out(path: &Path, pages: u8) -> std::fs::File {
    let bytes: Vec<u8> = (0..pages).flat_map(|page| [page + 1; 4096]).collect();
    std::fs::write(path, bytes).unwrap();
    let file = baro_bench_sys::calls::open_direct(path).unwrap();
    file.sync_all().unwrap();
    file
}

/// What a change of load is measured by.
#[test]
fn completions_of_a_file_are_counted() {
    let folder = Folder::new("share-completed");
    let Some(device) = device(&folder) else { return };
    let mount = device.mount_dir();
    let paths = ["a", "b"].map(|name| Path::new(&mount).join(name));
    let files = [laid_out(&paths[0], 200), laid_out(&paths[1], 100)];
    let places = paths.map(|path| baro_sys::place::bytes_on_disk(&path, 64).unwrap().unwrap());
    let image = std::fs::File::open(folder.path("image")).unwrap();
    for (places, pages) in places.iter().zip([200u64, 100]) {
        let bytes: u64 = places.iter().map(|place| place.end - place.start).sum();
        assert_eq!(bytes, pages * 4096);
        let mut seen = Vec::new();
        for place in places {
            let mut part = vec![0; (place.end - place.start) as usize];
            image.read_exact_at(&mut part, place.start).unwrap();
            seen.extend(part);
        }
        let is_right = |(at, byte): (usize, &u8)| usize::from(*byte) == at / 4096 + 1;
        assert!(seen.iter().enumerate().all(is_right), "not the file's bytes at {places:?}");
    }
    let number = std::fs::read_to_string(device.file("../dev")).unwrap();
    let (major, minor) = number.trim().split_once(':').unwrap();
    let number = Device::new(major.parse().unwrap(), minor.parse().unwrap());
    let watch = BlockWatch::start_into(Places::new(&places), "baro-test", &[number], 1 << 10);
    let mut watch = match watch {
        Ok(watch) => watch,
        Err(why) => {
            println!("skipped: {why}");
            return;
        }
    };
    let mut buffer = baro_sys::memory::AlignedBuffer::unlocked(64 << 10).unwrap();
    for at in [0, 64 << 10, 128 << 10] {
        files[0].write_all_at(&buffer, at).unwrap();
        watch.drain().unwrap();
    }
    files[1].read_exact_at(&mut buffer, 128 << 10).unwrap();
    // Of neither, with what the file system writes for it.
    laid_out(&Path::new(&mount).join("c"), 50);
    let watched = watch.finish().unwrap();
    assert_eq!(watched.sums.done_bytes(), [3 * (64 << 10), 64 << 10]);
    assert_eq!(watched.damaged, 0);
}

/// Control groups and run directories of the bench with this process id.
fn left_of(pid: u32) -> Vec<String> {
    let begin = format!("baro-bench-{pid}-");
    let dirs = ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup", "/run/barograph-root/bench"];
    let names = dirs.iter().filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with(&begin) || *name == format!("bench-{pid}")).collect()
}

/// The processes whose command line has this text.
fn running(text: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let line = |path: &Path| std::fs::read(path.join("cmdline")).unwrap_or_default();
    processes
        .filter(|process| String::from_utf8_lossy(&line(&process.path())).contains(text))
        .count()
}

/// Waits for something that comes, but not at a time that is known.
fn eventually(what: &str, mut there: impl FnMut() -> bool) {
    for _ in 0..600 {
        if there() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{what} has not come within half a minute");
}

/// Two small cells, once each.
fn call<'a>(dir: &'a str, out: &'a str, seconds: &'a str) -> Vec<&'a str> {
    let only = "pair/2:1/default/direct-read/1M/libaio,pair/2:1/remedies/direct-write/1M/libaio";
    let mut call = vec!["share", "--dir", dir, "--out", out, "--full", "--repeats", "1"];
    call.extend(["--seconds", seconds, "--file", "8M", "--only", only, "--format", "json"]);
    call
}

fn check(study: &Value) {
    let rows = study["rows"].as_array().unwrap();
    let found: Vec<_> = rows.iter().map(|row| (&row["setting"], &row["direction"])).collect();
    assert_eq!(found, [(&json!("default"), &json!("read")), (&json!("remedies"), &json!("write"))]);
    for row in rows {
        assert_eq!(row["weights_read"], json!([200, 100]), "{row}");
        assert_eq!(row["block_bytes"], json!(1 << 20), "{row}");
        assert_eq!((&row["late_frames"], &row["piece_bytes"]), (&Value::Null, &Value::Null));
        let rates = |key: &str| -> Vec<f64> {
            row[key].as_array().unwrap().iter().map(|rate| rate.as_f64().unwrap()).collect()
        };
        assert!(rates("mb_per_s").iter().chain(&rates("fio_mb_per_s")).all(|rate| *rate > 0.0));
        let total: f64 = rates("mb_per_s").iter().sum();
        assert!((row["total_mb_per_s"].as_f64().unwrap() - total).abs() < 1e-6, "{row}");
    }
}

#[test]
fn two_cells_are_measured_and_nothing_is_left() {
    let folder = Folder::new("share-cells");
    let Some(device) = device(&folder) else { return };
    let (dir, out) = (device.mount_dir(), folder.path("m.jsonl"));
    device.set("scheduler", "none");
    let before = device.queue();
    let child = calls::lab(&call(&dir, &out, "1"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pid = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    check(&serde_json::from_slice(&output.stdout).unwrap());
    assert_eq!(device.queue(), before);
    assert_eq!(left_of(pid), Vec::<String>::new());
    assert!(!Path::new(&dir).join("baro-bench-share").exists());
}

#[test]
fn a_run_that_is_killed_leaves_nothing_to_the_next() {
    let folder = Folder::new("share-kill");
    let Some(device) = device(&folder) else { return };
    let (dir, out) = (device.mount_dir(), folder.path("m.jsonl"));
    device.set("scheduler", "none");
    let before = device.queue();
    // Longer than this test: it is killed while it measures.
    let mut child = calls::lab(&call(&dir, &folder.path("killed.jsonl"), "600"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pid = child.id();
    let load = format!("{dir}/baro-bench-share/group-1");
    eventually("the second load", || running(&load) > 0);
    assert_ne!(device.queue(), before, "nothing was set, so nothing is there to be undone");
    assert!(!left_of(pid).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("the end of the loads", || running(&load) == 0);
    let output = run(&call(&dir, &out, "1"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    check(&serde_json::from_slice(&output.stdout).unwrap());
    assert_eq!(device.queue(), before);
    assert_eq!(left_of(pid), Vec::<String>::new());
    assert!(!Path::new(&dir).join("baro-bench-share").exists());
}
