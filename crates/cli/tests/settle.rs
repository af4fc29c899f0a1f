//! Settling from outside: what is read stays what it was, whoever settles and however it ends.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{baro, feed, json, run, stderr, text};
use place::Folder;
use serde_json::Value;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

impl Folder {
    fn store(&self) -> String {
        self.0.join("store").to_str().unwrap().to_owned()
    }
}

/// Lines of samples of a few series; the values of one compress badly.
fn lines(from: u64, count: u64) -> String {
    let mut lines = String::new();
    for number in from..from + count {
        let time_ns = 1_700_000_000_000_000_000 + number * 1_000;
        let noise = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
        let _ = match number % 4 {
            0 => writeln!(lines, "{time_ns},steady,{}", number as f64 / 8.0),
            1 => writeln!(lines, "{time_ns},on,{}", number % 3 == 0),
            _ => writeln!(lines, "{time_ns},noise,{}", noise as f64 / 1e15),
        };
    }
    lines
}

fn rows(store: &str) -> String {
    text(&run(&["query", store, "--format", "csv"]), 0)
}

fn settle(store: &str, code: i32) -> Value {
    json(&run(&["settle", store, "--all", "--format", "json"]), code)
}

fn info(store: &str) -> Value {
    json(&run(&["info", store, "--format", "json"]), 0)
}

/// What tells which runs a table has is a file of the store like any other.
#[test]
fn a_damaged_hand_over_is_told_by_every_verb() {
    let folder = Folder::new("settle-handed");
    let store = folder.store();
    let record = ["record", &store, "--init", "16M", "--stdin", "csv", "--format", "json"];
    json(&feed(&record, b",a,1\n"), 0);
    settle(&store, 0);
    std::fs::write(Path::new(&store).join("runs/lake"), "garbage\n").unwrap();
    let said = text(&run(&["verify", &store]), 3);
    assert!(said.contains("DAMAGE runs/lake") && said.contains("--release"), "{said}");
    let info = json(&run(&["info", &store, "--format", "json"]), 3);
    assert!(info["damage"][0].as_str().unwrap().starts_with("runs/lake"), "{info}");
    settle(&store, 3);
    // It records on, and says so when it begins.
    let output = feed(&record, b",a,2\n");
    let report = json(&output, 3);
    assert_eq!(report["settling_damage"].as_array().map(Vec::len), Some(1), "{report}");
    assert_eq!(report["sources"][0]["samples"], 1, "{report}");
    std::fs::remove_file(Path::new(&store).join("runs/lake")).unwrap();
    assert!(text(&run(&["verify", &store]), 0).ends_with("whole\n"));
    assert_eq!(rows(&store).lines().count(), 3);
}

#[test]
fn what_is_settled_reads_as_before() {
    let folder = Folder::new("settle-flow");
    let store = folder.store();
    let record = ["record", &store, "--init", "16M", "--stdin", "csv", "--format", "json"];
    let report = json(&feed(&record, lines(0, 40_000).as_bytes()), 0);
    assert_eq!((&report["settling_stopped"], &report["lost"]), (&Value::Null, &0.into()));
    let before = rows(&store);
    assert_eq!(before.lines().count(), 40_001, "{}", &before[..200]);
    let few = text(&run(&["settle", &store]), 0);
    assert!(few.contains("settled 0 samples") && few.contains("--all"), "{few}");
    let done = settle(&store, 0);
    assert_eq!((&done["samples"], &done["runs_samples"]), (&40_000.into(), &40_000.into()));
    assert_eq!(rows(&store), before);
    let found = info(&store);
    assert_eq!((&found["runs"], &found["runs_samples"]), (&1.into(), &40_000.into()));
    assert_eq!((&found["unsettled_bytes"], &found["segments_unsettled"]), (&0.into(), &0.into()));
    assert!(found["bytes_per_sample"].as_f64().unwrap() < 10.0);
    // Recording goes on, and both are read together.
    let more = ["record", &store, "--stdin", "csv", "--no-settle", "--format", "json"];
    let report = json(&feed(&more, lines(40_000, 1000).as_bytes()), 0);
    assert_eq!(report["settled_samples"], Value::Null);
    assert_eq!(rows(&store).lines().count(), 41_001);
    let used = json(&run(&["du", &store, "--format", "json"]), 0);
    let counted = used["series"].as_array().unwrap().iter().map(|one| one["samples"].as_u64());
    assert_eq!(counted.sum::<Option<u64>>(), Some(41_000));
    // Damage costs the exit code, and is named.
    let path = folder.0.join("store/runs/0000000000000000.run");
    let path = if path.exists() { path } else { folder.0.join("store/runs/0000000000000001.run") };
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[6000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let verified = run(&["verify", &store]);
    assert!(text(&verified, 3).contains(".run at offset"), "{}", stderr(&verified));
}

#[test]
fn settle_killed_at_any_moment_leaves_what_is_read() {
    let folder = Folder::new("settle-kill");
    let store = folder.store();
    let record = ["record", &store, "--init", "32M", "--no-settle", "--stdin", "csv"];
    let (mut seed, mut count, mut killed) = (0x1234_5678_9abc_def1_u64, 0, 0);
    for round in 0..12 {
        if round % 4 == 0 {
            text(&feed(&record, lines(count, 60_000).as_bytes()), 0);
            count += 60_000;
        }
        let before = rows(&store);
        assert_eq!(before.lines().count() as u64, count + 1);
        let mut child = baro(&["settle", &store, "--all"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 60_000));
        child.kill().unwrap();
        killed += u32::from(child.wait().unwrap().code().is_none());
        assert!(rows(&store) == before, "round {round}");
        assert!(text(&run(&["verify", &store]), 0).ends_with("whole\n"));
    }
    assert!(killed > 0, "none was still at work");
    let before = rows(&store);
    settle(&store, 0);
    assert!(rows(&store) == before);
    let left = json(&run(&["verify", &store, "--format", "json"]), 0);
    assert_eq!(
        (&left["runs_unnamed"], &left["runs_samples"]),
        (&Value::Array(vec![]), &count.into())
    );
}

/// A file system in memory, of a few MB; unmounted at the end.
struct Small<'a>(&'a Path);

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_stops_settling_and_recording_goes_on() {
    let folder = Folder::new("settle-full");
    let mount = ["-t", "tmpfs", "-o", "size=14M", "none"];
    let mounted = Command::new("mount").args(mount).arg(&folder.0).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        println!("skipped: may not mount a tmpfs");
        return;
    }
    let small = Small(&folder.0);
    let store = folder.store();
    text(&run(&["init", &store, "--size", "4M", "--recycle"]), 0);
    let first = ["record", &store, "--stdin", "csv", "--no-settle"];
    text(&feed(&first, lines(0, 1000).as_bytes()), 0);
    settle(&store, 0);
    let filler = folder.0.join("filler");
    let mut file = std::fs::File::create(&filler).unwrap();
    while file.write_all(&[1; 4096]).is_ok() {}
    drop(file);
    let record = ["record", &store, "--stdin", "csv", "--format", "json"];
    let mut child = baro(&record)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let fed = std::thread::spawn(move || {
        input.write_all(lines(1000, 1_500_000).as_bytes()).unwrap();
        input
    });
    let mut said = String::new();
    for _ in 0..1500 {
        if let Some(reason) = info(&store)["settling_stopped"].as_str() {
            said = reason.to_owned();
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(said.contains("No space left"), "{said}");
    drop(fed.join().unwrap());
    let output = child.wait_with_output().unwrap();
    // Recycled before it was settled: that is said, and costs the exit code.
    let report = json(&output, 3);
    let lost = report["lost_durable"].as_u64().unwrap();
    assert!(lost > 0, "{report}");
    assert_eq!((&report["lost"], &report["left_in_rings"]), (&lost.into(), &0.into()));
    assert!(report["segments_recycled_unsettled"].as_u64().unwrap() > 0, "{report}");
    assert!(report["settling_stopped"].as_str().unwrap().contains("No space left"), "{report}");
    // With room again, what is left is settled, and what was there before still is.
    std::fs::remove_file(&filler).unwrap();
    let before = rows(&store);
    assert!(before.lines().count() > 100_000);
    let done = settle(&store, 0);
    assert!(done["samples"].as_u64().unwrap() > 100_000, "{done}");
    assert!(rows(&store) == before);
    // Retention makes room.
    let kept = ["settle", &store, "--all", "--runs-size", "100K", "--format", "json"];
    let dropped = json(&run(&kept), 0);
    assert!(dropped["dropped_runs"].as_u64().unwrap() > 0 && dropped["runs"] == 0, "{dropped}");
    drop(small);
}

/// A size that has lost its unit, or that no disk has, throws nothing away.
#[test]
fn what_cannot_be_meant_drops_nothing() {
    let folder = Folder::new("settle-meant");
    let store = folder.store();
    text(&run(&["init", &store, "--size", "8M"]), 0);
    text(&feed(&["record", &store, "--stdin", "csv"], lines(0, 20_000).as_bytes()), 0);
    settle(&store, 0);
    let before = rows(&store);
    for wrong in [["--runs-size", "20"], ["--runs-size", "0"], ["--min-free", "1"]] {
        let output = run(&[&["settle", &store][..], &wrong].concat());
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(stderr(&output).contains("expected 64.0 KiB or more"), "{}", stderr(&output));
    }
    let output = run(&["settle", &store, "--min-free", "100T", "--format", "json"]);
    let report = json(&output, 0);
    assert_eq!((&report["dropped_runs"], &report["dropped_samples"]), (&0.into(), &0.into()));
    assert!(stderr(&output).contains("nothing was dropped for it"), "{}", stderr(&output));
    assert!(rows(&store) == before);
}

/// What a pin held is in the copy, and may be dropped there as all else.
#[test]
fn who_recovers_a_store_with_pins_is_told_that_they_stay_behind() {
    let folder = Folder::new("settle-pins");
    let (store, copy) = (folder.store(), folder.path("copy"));
    text(&run(&["init", &store, "--size", "8M", "--recycle"]), 0);
    text(&feed(&["record", &store, "--stdin", "csv"], b",a,1\n"), 0);
    text(&run(&["pin", &store, "--before", "60s", "--name", "fault"]), 0);
    let said = run(&["recover", &store, &copy]);
    assert!(text(&said, 0).contains("the copy is whole"));
    assert!(stderr(&said).contains("the pin is not copied"), "{}", stderr(&said));
}
