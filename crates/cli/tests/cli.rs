//! The command line from outside: what users type, what they get, and with which exit code.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{baro, feed, run, stderr, text};
use place::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

impl Folder {
    fn store(&self) -> String {
        self.0.join("store").to_str().unwrap().to_owned()
    }
}

fn ok(output: &Output) -> String {
    text(output, 0)
}

fn json(output: &Output) -> Value {
    calls::json(output, 0)
}

#[test]
fn a_source_that_rests_for_hours_ends_when_it_is_told() {
    let folder = Folder::new("cli-rests");
    let store = folder.store();
    let record = ["record", &store, "--init", "16M", "--generate", "--interval", "10h", "--proc"];
    let once = ["--proc-interval", "1h", "--for", "100ms", "--format", "json"];
    let report = json(&run(&[&record[..], &once].concat()));
    assert_eq!(report["sources"][1]["records"], 1, "{report:#}");
}

#[test]
fn a_recording_is_listed_printed_and_verified() {
    let folder = Folder::new("cli-flow");
    let store = folder.store();
    let made = json(&run(&["init", &store, "--size", "64M", "--format", "json"]));
    assert_eq!(made["log_bytes"], 64 << 20);
    let record = ["record", &store, "--proc", "--generate", "--for", "500ms", "--format", "json"];
    let report = json(&run(&record));
    assert_eq!(report["lost"], 0);
    let frames = report["sources"][1]["records"].as_u64().unwrap();
    assert!(frames > 10);
    let info = json(&run(&["info", &store, "--format", "json"]));
    assert_eq!(info["recorded_payload_bytes"], report["payload_bytes"]);
    let [log, payload, factor] =
        ["device_log_bytes", "recorded_payload_bytes", "write_amplification"]
            .map(|key| info[key].as_f64().unwrap());
    assert!((factor - log / payload).abs() < 1e-9 && factor > 0.5, "{info:#}");
    assert_eq!(
        (info["channels"].clone(), info["damage"].clone()),
        (1.into(), Value::Array(vec![]))
    );
    assert!(info["series"].as_u64().unwrap() > 100);
    let listed = ok(&run(&["list", &store]));
    assert!(listed.contains("vm_pgfault") && listed.contains("channel  generated"));
    let verified = json(&run(&["verify", &store, "--format", "json"]));
    assert_eq!(
        (verified["whole"].clone(), verified["frames"].as_u64()),
        (true.into(), Some(frames))
    );
    let last = ok(&run(&["cat", &store, "vm_pgfault", "--last", "3"]));
    assert_eq!(last.lines().count(), 3);
    let raw = run(&["cat", &store, "generated", "--format", "raw"]);
    assert_eq!(raw.stdout.len() as u64, frames * 16_384);
    for (number, frame) in raw.stdout.chunks(16_384).enumerate() {
        let (_, sequence) = baro_sources::generate::check_frame(frame).unwrap();
        assert_eq!(sequence, number as u64);
    }
}

#[test]
fn a_reader_that_goes_away_ends_nothing() {
    let folder = Folder::new("cli-pipe");
    let store = folder.store();
    let record = ["record", &store, "--init", "8M", "--generate", "--for", "200ms"];
    let mut child = baro(&record).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(ok(&run(&["verify", &store])).contains("\nwhole"));
}

#[test]
fn csv_comes_back_as_it_went_in() {
    let folder = Folder::new("cli-csv");
    let store = folder.store();
    let input = "1700000000000000000,temp,21.5\n1700000000000000000,\"p{a=\"\"x,y\"\"}\",-3\n\
                 1700000001000000000,temp,0.1\n1700000001000000000,on,true\n";
    let record = ["record", &store, "--init", "8M", "--stdin", "csv"];
    ok(&feed(&record, input.as_bytes()));
    assert_eq!(ok(&run(&["cat", &store, "--format", "csv"])), input);
    let part = ["cat", &store, "temp", "--from", "1700000000.5", "--format", "csv"];
    assert_eq!(ok(&run(&part)), "1700000001000000000,temp,0.1\n");
    // Another session; what is not understood is counted, told and costs the exit code.
    let output = feed(&record, b"1700000002000000000,temp,1\nnonsense\n,on,2.5\n");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("line 2"), "{}", stderr(&output));
    assert!(stderr(&output).contains("expected bool"));
    assert_eq!(ok(&run(&["cat", &store, "temp"])).lines().count(), 3);
    // Frames alone have bytes that can be printed as they are.
    let raw = run(&["cat", &store, "temp", "--format", "raw"]);
    assert_eq!(ok(&raw), "");
    assert!(stderr(&raw).contains("3 values left out"), "{}", stderr(&raw));
}

#[test]
fn raw_frames_come_back_byte_by_byte() {
    let folder = Folder::new("cli-raw");
    let store = folder.store();
    let input: Vec<u8> = (0..1_000_000_u32).map(|n| (n * 7 % 251) as u8).collect();
    let record = [
        "record",
        &store,
        "--init",
        "8M",
        "--stdin",
        "raw",
        "--frame-bytes",
        "4K",
        "--ring",
        "64K",
    ];
    ok(&feed(&record, &input));
    assert_eq!(run(&["cat", &store, "--format", "raw"]).stdout, input);
}

fn record_in_background(store: &str) -> Child {
    let mut child = baro(&["record", store, "--init", "64M", "--generate", "--interval", "10ms"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..3000 {
        let listed = run(&["info", store, "--format", "json"]);
        if listed.status.success() {
            let info: Value = serde_json::from_slice(&listed.stdout).unwrap();
            if info["records"].as_u64().unwrap_or(0) > 50 {
                return child;
            }
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("nothing was recorded in 10 s");
}

#[test]
fn a_signal_ends_a_recording_cleanly() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new(&format!("signal{signal}"));
        let store = folder.store();
        let child = record_in_background(&store);
        // Twice at once, as timeout(1) sends it: to its command, and to the group of that.
        let id = child.id().to_string();
        Command::new("kill").args([signal, &id, &id]).status().unwrap();
        let text = ok(&child.wait_with_output().unwrap());
        assert!(text.contains("lost: 0"), "{text}");
        assert!(ok(&run(&["verify", &store])).contains("\nwhole"));
    }
}

#[test]
fn a_second_recorder_is_refused_and_a_killed_one_is_taken_over() {
    let folder = Folder::new("cli-two");
    let store = folder.store();
    let mut child = record_in_background(&store);
    let second = run(&["record", &store, "--generate", "--for", "100ms"]);
    assert_eq!(second.status.code(), Some(1));
    let text = stderr(&second);
    assert!(text.contains(&format!("process {} records", child.id())), "{text}");
    // Readers do not disturb it, nor it them.
    assert!(ok(&run(&["verify", &store, "--direct", "--rate", "200M"])).contains("whole"));
    assert_eq!(run(&["verify", &store, "--rate", "0"]).status.code(), Some(2));
    child.kill().unwrap();
    child.wait().unwrap();
    let report = run(&["record", &store, "--generate", "--for", "100ms", "--format", "json"]);
    assert_eq!(json(&report)["lost"], 0);
    let frames = run(&["cat", &store, "generated", "--format", "raw"]).stdout;
    let sequences: Vec<u64> = frames
        .chunks(16_384)
        .map(|frame| baro_sources::generate::check_frame(frame).unwrap().1)
        .collect();
    let restart = sequences.iter().skip(1).position(|n| *n == 0).unwrap() + 1;
    assert!(sequences[..restart].iter().copied().eq(0..restart as u64), "a hole before the kill");
    assert!(sequences[restart..].iter().copied().eq(0..(sequences.len() - restart) as u64));
    assert!(ok(&run(&["verify", &store])).contains("\nwhole"));
}

/// From `offset` on the first byte that is not of the zeros with which blocks may end.
fn flip(path: &Path, offset: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    *bytes[offset..].iter_mut().find(|byte| **byte != 0).unwrap() ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn damage_is_named_and_the_rest_is_rescued() {
    let folder = Folder::new("cli-damage");
    let store = folder.store();
    let record =
        ["record", &store, "--init", "64M", "--generate", "--interval", "1ms", "--for", "1s"];
    ok(&run(&record));
    let before = json(&run(&["info", &store, "--format", "json"]))["records"].as_u64().unwrap();
    assert!(before > 50);
    flip(&folder.0.join("store/log/00000000.seg"), 300_000);
    let verified = run(&["verify", &store]);
    assert_eq!(verified.status.code(), Some(3));
    let text = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(text.contains("DAMAGE log/00000000.seg at offset"), "{text}");
    assert!(text.contains("NOT WHOLE"));
    let rescued = folder.0.join("rescued");
    let rescued = rescued.to_str().unwrap();
    let recovered = run(&["recover", &store, rescued, "--format", "json"]);
    assert_eq!(recovered.status.code(), Some(3));
    let report: Value = serde_json::from_slice(&recovered.stdout).unwrap();
    assert_eq!(report["copy"]["damage"], Value::Array(vec![]));
    assert!(report["records"].as_u64().unwrap() > before / 2);
    let frames = run(&["cat", rescued, "generated", "--format", "raw"]).stdout;
    assert!(frames.chunks(16_384).all(|f| baro_sources::generate::check_frame(f).is_ok()));
}

#[test]
fn bench_push_prints_the_keys_that_results_are_checked_by() {
    let folder = Folder::new("cli-bench");
    let output = run(&[
        "bench",
        "push",
        "--dir",
        folder.0.to_str().unwrap(),
        "--records",
        "200000",
        "--log",
        "64M",
        "--ring",
        "8M",
        "--greedy",
        "200ms",
        "--format",
        "json",
    ]);
    // Whether a busy machine keeps up is not for a test: only that the code says what happened.
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lost = report["lost"].as_u64().unwrap();
    assert_eq!(output.status.code(), Some(if lost == 0 { 0 } else { 3 }));
    for key in [
        "record_bytes",
        "records",
        "push_p50_ns",
        "push_p99_ns",
        "push_p9999_ns",
        "push_max_ns",
        "memcpy_p50_ns",
        "memcpy_p9999_ns",
        "syscalls",
        "allocations",
        "page_faults",
        "voluntary_switches",
        "lost",
        "records_per_s",
        "durable_records_per_s",
        "forced_commits",
        "node_blocks",
    ] {
        assert!(report.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(report["records"], 200_000);
    for zero in ["allocations", "page_faults", "voluntary_switches"] {
        assert_eq!(report[zero], 0, "{zero}");
    }
    assert!(report["syscalls"].is_null() || report["syscalls"] == 0);
    assert!(report["durable_advances"].as_u64().unwrap() > 0);
}

/// What the demo prints in this folder, until it is stopped; it leaves its picture alone.
fn demo(folder: &Folder, more: &[&str]) -> String {
    let mut command = baro(&["demo"]);
    command.args(more).current_dir(&folder.0).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let begun = |line: &String| !line.starts_with("recording ");
    let mut text: Vec<String> = lines.by_ref().take_while(begun).collect();
    std::thread::sleep(std::time::Duration::from_secs(2));
    baro_sys::termination::send(child.id(), 2).unwrap();
    text.extend(lines);
    let text = text.join("\n");
    assert_eq!(child.wait().unwrap().code(), Some(0), "{text}");
    assert!(text.contains("Barograph push()") && text.contains("lost: 0"), "{text}");
    assert!(text.contains("\nwhole") && text.contains("vm_pgfault"));
    assert!(text.contains("write() kept its producer for up to "), "{text}");
    assert!(text.lines().last().unwrap().starts_with("next: baro record "), "{text}");
    let left: Vec<_> =
        std::fs::read_dir(&folder.0).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["baro-demo.svg"]);
    text
}

/// One after the other: each of them keeps the disk busy, and other tests run beside it.
#[test]
fn the_demo_runs_and_cleans_up_on_a_slow_disk_of_its_own_too() {
    let folder = Folder::new("cli-demo");
    let text = demo(&folder, &["--device", "none"]);
    assert!(!text.contains("modelled") && text.contains(" on the same disk\n"), "{text}");
    std::fs::remove_file(folder.path("baro-demo.svg")).unwrap();
    if let Some(lacks) = baro_bench::stand::DeviceModel::lacks() {
        println!("skipped: a modelled disk {lacks}");
        return;
    }
    let text = demo(&folder, &[]);
    assert!(text.starts_with("the disk is a modelled one: "), "{text}");
    assert!(text.contains(" on a modelled eMMC of 12 MB/s\n"), "{text}");
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let backed = std::fs::read_dir("/sys/block").unwrap().filter_map(|device| {
        std::fs::read_to_string(device.unwrap().path().join("loop/backing_file")).ok()
    });
    let ours = folder.0.to_str().unwrap();
    assert!(!mounts.contains(ours) && !backed.into_iter().any(|file| file.starts_with(ours)));
}

/// A copy that an earlier session made is in the log no more: when it began is not known then.
#[test]
fn a_pin_after_a_copied_one_holds_its_own_window_only() {
    let folder = Folder::new("cli-copied");
    let store = folder.store();
    ok(&run(&["init", &store, "--size", "32M", "--recycle"]));
    let record = ["record", &store, "--stdin", "raw", "--frame-bytes", "16K"];
    // Below half the log, which may be pinned, also where a busy machine pads more.
    ok(&feed(&record, &vec![7; 14 << 20]));
    ok(&run(&["pin", &store, "--before", "1h", "--name", "old"]));
    let mut recorder = baro(&["record", &store, "--generate", "--interval", "500us"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // Until the log has gone round and a part of what is pinned is copied out of it.
    let info = || json(&run(&["info", &store, "--format", "json"]));
    let number = |info: &Value, key: &str| info[key].as_u64().unwrap_or(0);
    let enough = |info: &Value| {
        // A quarter of the log stays; with fewer copies the pins below might hold more than half of it.
        number(info, "segments_kept") >= 4 && number(info, "device_log_bytes") > 64 << 20
    };
    while !enough(&info()) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    recorder.kill().unwrap();
    recorder.wait().unwrap();
    for name in ["one", "two"] {
        let pin = ["pin", &store, "--before", "1ms", "--name", name, "--format", "json"];
        assert_eq!(json(&run(&pin))["state"], "whole");
    }
    copies_that_are_taken_away_are_missed(&folder, &store);
}

/// Each takes the lock for a moment, and none takes another for a recorder that does not answer.
#[test]
fn pins_that_are_asked_for_at_once_are_all_made() {
    let folder = Folder::new("cli-pins");
    let store = folder.store();
    ok(&run(&["init", &store, "--size", "8M"]));
    ok(&feed(&["record", &store, "--stdin", "csv"], b",a,1\n"));
    let pin = |n: usize| {
        let name = format!("p{n}");
        let mut pin = baro(&["pin", &store, "--before", "1h", "--name", &name]);
        pin.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let pins: Vec<_> = (0..6).map(pin).collect();
    for pin in pins {
        let output = pin.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
    let listed = json(&run(&["pin", &store, "--list", "--format", "json"]));
    assert_eq!(listed["pins"].as_array().unwrap().len(), 6, "{listed}");
}

/// Only a whole store is whole.
fn copies_that_are_taken_away_are_missed(folder: &Folder, store: &str) {
    let verified = |store: &str| {
        let output = run(&["verify", store]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (code, said) = verified(store);
    assert_eq!(code, Some(0), "{said}");
    let kept = std::fs::read_dir(folder.0.join("store/kept")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().path()).collect();
    let mut copies: Vec<_> =
        kept.iter().filter(|path| path.extension().is_some_and(|e| e == "seg")).collect();
    copies.sort();
    let aside = folder.0.join("aside");
    for copy in &copies {
        std::fs::rename(copy, &aside).unwrap();
        let (code, said) = verified(store);
        assert_eq!(code, Some(3), "{}: {said}", copy.display());
        assert!(said.contains("1 segments that it keeps are lost"), "{said}");
        let listed = run(&["pin", store, "--list", "--format", "json"]);
        assert_eq!(listed.status.code(), Some(3));
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(listed["damage"].as_array().unwrap().len(), 1, "{listed}");
        if copy == copies.first().unwrap() {
            what_pins_miss_is_told_at_the_start(folder, store);
        }
        // Of a copy whose last blocks are missing its own bytes say nothing.
        let bytes = std::fs::read(&aside).unwrap();
        std::fs::write(copy, &bytes[..4096]).unwrap();
        let (code, said) = verified(store);
        assert_eq!(code, Some(3), "{}: {said}", copy.display());
        assert!(said.contains("copies of segments up to epoch"), "{said}");
        std::fs::rename(&aside, copy).unwrap();
    }
    let (code, said) = verified(store);
    assert_eq!(code, Some(0), "{said}");
    // What nobody pins may go.
    ok(&run(&["pin", store, "--release", "old"]));
    let (code, said) = verified(store);
    assert_eq!(code, Some(0), "{said}");
}

/// Who begins to record into a store, by whatever verb, hears what its pins miss already.
fn what_pins_miss_is_told_at_the_start(folder: &Folder, store: &str) {
    let rows = folder.0.join("rows.csv").display().to_string();
    std::fs::write(&rows, "1,q,1\n").unwrap();
    for verb in [&["record", store, "--stdin", "csv"][..], &["import", store, &rows]] {
        let output = feed(&[verb, &["--format", "json"]].concat(), b",q,2\n");
        assert_eq!(output.status.code(), Some(3), "{verb:?}: {}", stderr(&output));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let damage = report["damage"].as_array().unwrap();
        let told = damage[0].as_str().unwrap();
        assert!(damage.len() == 1 && told.contains("when this recorder began"), "{report}");
    }
}

#[test]
fn a_window_is_pinned_listed_read_and_released() {
    let folder = Folder::new("cli-pin");
    let store = folder.store();
    ok(&run(&["init", &store, "--grow-to", "16M", "--recycle"]));
    assert_eq!(json(&run(&["info", &store, "--format", "json"]))["segments_grown"], 2);
    // 8 MB/s into a ring of 4 s: whatever the disk does beside, nothing is lost.
    let record = ["record", &store, "--generate", "--interval", "2ms", "--ring", "32M"];
    let mut recorder = baro(&record).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let records = || {
        let info = run(&["info", &store, "--format", "json"]);
        let value: Value = serde_json::from_slice(&info.stdout).unwrap_or_default();
        value["records"].as_u64().unwrap_or(0)
    };
    while records() < 100 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // What has the name of a request and cannot be removed holds up no other, however many there are.
    for id in 1..=40 {
        std::fs::create_dir_all(folder.0.join(format!("store/pins/{id:016x}.ask"))).unwrap();
    }
    let pin = ["pin", &store, "--before", "100ms", "--after", "0s", "--name", "fault"];
    let pin = [&pin[..], &["--format", "json"]].concat();
    // Answered late, on a busy machine, the log may have gone on by more than pins may hold, or all of it.
    let mut output = run(&pin);
    for _ in 0..20 {
        if output.status.code() != Some(3) {
            break;
        }
        let refused: Value = serde_json::from_slice(&output.stdout).unwrap();
        ok(&run(&["pin", &store, "--release", refused["id"].as_str().unwrap()]));
        output = run(&pin);
    }
    let pinned = json(&output);
    // Until the log has been recycled twice.
    let wear = || json(&run(&["info", &store, "--format", "json"]))["device_log_bytes"].clone();
    while wear().as_u64().unwrap_or(0) < 40 << 20 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let kill = Command::new("kill").arg(recorder.id().to_string()).status().unwrap();
    assert!(kill.success() && recorder.wait().unwrap().code() == Some(0));
    let listed = json(&run(&["pin", &store, "--list", "--format", "json"]));
    let (listed, id) = (&listed["pins"][0], pinned["id"].as_str().unwrap());
    assert_eq!((listed["id"].as_str(), listed["state"].as_str()), (Some(id), Some("whole")));
    // Frames with their numbers: all of the window, though the log went on.
    let times = [listed["from_ns"].as_i64().unwrap(), listed["to_ns"].as_i64().unwrap()];
    let [from, to] = times.map(|time| time.to_string());
    let window =
        run(&["cat", &store, "generated", "--from", &from, "--to", &to, "--format", "raw"]);
    let frames = window.stdout.chunks(16_384).map(baro_sources::generate::check_frame);
    let numbers: Vec<u64> = frames.map(|frame| frame.unwrap().1).collect();
    assert!(numbers.len() > 10, "{numbers:?}");
    assert!(numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{numbers:?}");
    // The same window exported: as many frames, by name and by id, and no other.
    for (pin, file) in [("fault", "a.mcap"), (id, "b.mcap")] {
        let file = folder.0.join(file).display().to_string();
        let export = ["export", &store, &file, "--pin", pin, "--format", "json"];
        assert_eq!(json(&run(&export))["rows"], numbers.len());
    }
    let none = run(&["export", &store, "-", "--pin", "other"]);
    let said = String::from_utf8_lossy(&none.stderr).into_owned();
    assert!(none.status.code() == Some(1) && said.contains("no pin other"), "{said}");
    assert_eq!(run(&["export", &store, "-", "--pin", "x", "--to", "1"]).status.code(), Some(2));
    assert!(ok(&run(&["verify", &store])).contains("\nwhole"));
    // Without a recorder: the end of what was recorded.
    let rest = json(&run(&["pin", &store, "--before", "50ms", "--format", "json"]));
    assert_eq!(rest["state"], "whole");
    ok(&run(&["pin", &store, "--release", "fault"]));
    assert_eq!(run(&["pin", &store, "--release", "fault"]).status.code(), Some(1));
    let info = json(&run(&["info", &store, "--tbw", "40", "--format", "json"]));
    assert_eq!(info["pins"].as_array().map(Vec::len), Some(1));
    assert!(info["write_amplification"].as_f64().unwrap() < 1.2 && info["tbw_days_left"].is_f64());
}
