//! `baro bench recorder`: what it refuses, what it says of a measurement, and a real one that is
//! killed again and again.
#![allow(clippy::disallowed_methods, reason = "test code reads its fixtures and ends its children")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

mod calls;
mod place;

use calls::{json, run, stderr, text};
use place::Folder;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

fn fixture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/bench").join(name);
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_measurement_is_studied_anywhere() {
    let (file, html) = (fixture("recorder.jsonl"), Folder::new("recorder-study"));
    let page = html.path("report.html");
    let call = ["bench", "recorder", "--study", &file, "--html", &page];
    let said = text(&run(&call), 0);
    let expected = std::fs::read_to_string(fixture("recorder.txt")).unwrap();
    // Regenerate with the call above after a change that is meant.
    assert_eq!(said, expected);
    let page = std::fs::read_to_string(page).unwrap();
    for part in ["Table 1", "Table 2", "Table 3", "Figure 4", "Figure 5", "<svg", "Barograph"] {
        assert!(page.contains(part), "{part}");
    }
    let study = json(&run(&["bench", "recorder", "--study", &file, "--format", "json"]), 0);
    assert_eq!(study["tables"][0]["rows"].as_array().unwrap().len(), 12);
    assert!(study["claims"].as_array().unwrap().iter().all(|claim| claim["verdict"].is_string()));
    // Several are compared.
    let both = text(&run(&["bench", "recorder", "--study", &file, &file]), 0);
    assert!(!both.contains("one measurement is one medium"), "{both}");
}

#[test]
fn what_cannot_be_measured_or_read_is_said() {
    let folder = Folder::new("recorder-bad");
    let out = folder.path("m.jsonl");
    let refused = |arguments: &[&str], expected: &str| {
        let output = run(&[&["bench", "recorder", "--out", &out], arguments].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    };
    refused(&["--dir", "/no/such/folder"], "/no/such/folder");
    refused(&["--dir", "/proc"], "is on proc");
    if Path::new("/dev/shm").is_dir() {
        refused(&["--dir", "/dev/shm"], "is on tmpfs");
    }
    refused(&["--dir", &folder.path("."), "--file", "2T"], "1 MiB to 1 TiB");
    refused(&["--dir", &folder.path("."), "--file", "1T"], "MB free");
    refused(&["--dir", &folder.path("."), "--writes", "1"], "writes is 1");
    assert!(!Path::new(&out).exists());
    let study = |text: &str, expected: &str| {
        std::fs::write(&out, text).unwrap();
        let output = run(&["bench", "recorder", "--study", &out]);
        assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    };
    study("{\"barograph_measurement\":9}\n", "version 9");
    study("", "no whole first line");
    study("\u{fffd}\n", "no JSON");
    let head = std::fs::read_to_string(fixture("recorder.jsonl")).unwrap();
    let head = head.lines().next().unwrap().replace("\"recorder\"", "\"files\"");
    study(&(head + "\n"), "baro-lab files");
    for usage in [&["--quick", "--full"][..], &["--study", "x", "--out", "y"], &["--device", "x"]] {
        let output = run(&[&["bench", "recorder"], usage].concat());
        assert_eq!(output.status.code(), Some(2), "{usage:?}");
    }
}

/// What a run leaves on the machine that is found by the name of its folder.
fn traces_of(folder: &Path) -> Vec<String> {
    let folder = folder.canonicalize().unwrap();
    let folder = folder.to_str().unwrap();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mounts = mounts.lines().filter(|line| line.contains(folder)).map(str::to_owned);
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten().filter_map(|device| {
        let backing = std::fs::read_to_string(device.path().join("loop/backing_file")).ok()?;
        backing.contains(folder).then_some(backing)
    });
    mounts.chain(devices).collect()
}

fn cells(out: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(out).unwrap();
    let lines = text.lines().skip(1).map(|line| {
        let value: Value = serde_json::from_str(line).unwrap();
        value["cell"].as_str().unwrap().to_owned()
    });
    let all: Vec<String> = lines.collect();
    let set: BTreeSet<String> = all.iter().cloned().collect();
    assert_eq!(set.len(), all.len(), "a cell was measured twice: {all:?}");
    set
}

#[test]
fn a_run_that_is_killed_goes_on_and_leaves_the_machine_as_it_was() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, for a loop device and its limits");
        return;
    }
    if !Path::new("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists() {
        println!("skipped: no block controller of version 1 is mounted");
        return;
    }
    let folder = Folder::new("recorder-kill");
    let dir = folder.path("dir");
    std::fs::create_dir(&dir).unwrap();
    let out = folder.path("m.jsonl");
    let only = "noise,case/NONE,case/ALL,case/WPRE,reader/alone,reader/ALL,unit/262144,\
                barograph/idle,barograph/BGALL,way/direct/idle,way/mmap/BGALL";
    let call = [
        "bench",
        "recorder",
        "--dir",
        &dir,
        "--device",
        "emmc",
        "--writes",
        "12",
        "--file",
        "2M",
        "--only",
        only,
        "--no-trace",
        "--out",
        &out,
        "--format",
        "json",
    ];
    // Points of time that differ from run to run of this test, and say so if it fails.
    let mut seed = u64::from(std::process::id());
    let mut killed = Vec::new();
    for _ in 0..10 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let after_ms = 50 + (seed >> 33) % 2_000;
        let mut child =
            calls::baro(&call).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(after_ms));
        let done = child.try_wait().unwrap().is_some();
        child.kill().unwrap();
        child.wait().unwrap();
        killed.push((after_ms, done));
    }
    let output = run(&call);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{killed:?}: {}", stderr(&output));
    let study: Value = serde_json::from_slice(&output.stdout).unwrap();
    let found = cells(&out);
    assert_eq!(found.len(), 18, "{killed:?}: {found:?}");
    // Every row of the first table whose case was measured has its figures.
    let rows = study["tables"][0]["rows"].as_array().unwrap();
    let measured = rows.iter().filter(|row| row["cells"][1]["here"].is_number()).count();
    assert_eq!(measured, 10, "{study:#}");
    pushes_alone_are_some_of_the_pushes(&out);
    assert_eq!(traces_of(Path::new(&dir)), Vec::<String>::new(), "{killed:?}");
    assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0, "{killed:?}");
    // A whole measurement is not measured again.
    let before = std::fs::read(&out).unwrap();
    let again = run(&call);
    assert!(stderr(&again).contains("is whole"), "{}", stderr(&again));
    assert_eq!(std::fs::read(&out).unwrap(), before);
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap(), study);
}

/// Or it is said why they cannot be told.
fn pushes_alone_are_some_of_the_pushes(out: &str) {
    let text = std::fs::read_to_string(out).unwrap();
    let line = text.lines().find(|line| line.contains("\"barograph/idle/1\"")).unwrap();
    let data = &serde_json::from_str::<Value>(line).unwrap()["data"];
    let number = |name: &str, key: &str| data[name][key].as_u64().unwrap();
    assert_eq!(number("write", "calls"), 12);
    if let Some(why) = data["alone_missing"].as_str() {
        println!("skipped: pushes alone cannot be told here: {why}");
        return;
    }
    for (all, alone) in [("write", "write_alone"), ("memcpy", "memcpy_alone")] {
        assert!(number(alone, "calls") <= number(all, "calls"), "{data:#}");
        // A histogram keeps three digits.
        let longest = number(all, "max_ns");
        assert!(number(alone, "max_ns") <= longest + longest / 500 + 1, "{data:#}");
    }
}

/// Processes whose command line has all these words.
fn running(words: &[&str]) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let has = |path: &Path| {
        let line = std::fs::read(path.join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        words.iter().all(|word| line.split('\0').any(|part| part.contains(word)))
    };
    processes.filter(|process| has(&process.path())).count()
}

#[test]
fn the_tracer_beside_a_killed_bench_ends() {
    if !baro_sys::schedule::is_root() {
        println!("skipped: needs root, for the tracer");
        return;
    }
    let folder = Folder::new("recorder-orphan");
    let dir = folder.path(".");
    let out = folder.path("m.jsonl");
    let mut child = calls::baro(&[
        "bench",
        "recorder",
        "--dir",
        &dir,
        "--only",
        "case/NONE",
        "--writes",
        "20000",
        "--file",
        "4M",
        "--out",
        &out,
    ])
    .stdout(Stdio::null())
    .stderr(Stdio::null())
    .spawn()
    .unwrap();
    let words = ["trace", "--with-parent", &format!("baro-bench-{}.trace", child.id())];
    let mut begun = false;
    for _ in 0..500 {
        begun = running(&words) > 0;
        if begun || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    if !begun {
        println!("skipped: no tracer ran beside it: no disk here, or no tracefs");
        return;
    }
    let mut left = 1;
    for _ in 0..1_500 {
        left = running(&words);
        if left == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(left, 0, "the tracer of a killed bench goes on");
}
