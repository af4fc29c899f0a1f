//! Many programs that push into one log beside its other sources: each keeps its order, and what was
//! refused is counted.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
#[path = "../../../crates/cli/tests/place/mod.rs"]
mod place;

use baro_lab::producers::check;
use baro_store::Store;
use calls::{json, lab, text};
use place::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};

fn signal(child: &Child, signal: &str) {
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
}

/// Waits until the recorder listens; false if it has no memory for rings.
fn listens(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> bool {
    loop {
        let line = lines.next().unwrap().unwrap();
        if line.contains("expected a tmpfs") {
            return false;
        }
        if line.ends_with(": listening") {
            return true;
        }
    }
}

#[test]
fn sixteen_processes_and_other_sources_record_into_one_log_in_order() {
    let Some(program) = calls::baro() else { return };
    let baro = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).stdin(Stdio::null());
        command
    };
    let run = |arguments: &[&str]| -> Output { baro(arguments).output().unwrap() };
    let folder = Folder::new("sources-sixteen");
    let store = folder.path("store");
    let record = [
        "record",
        &store,
        "--init",
        "256M",
        "--attach",
        "16",
        "--declare",
        "produced:channel",
        "--generate",
        "--interval",
        "1ms",
        "--stdin",
        "json",
        "--udp",
        "127.0.0.1:0",
        "--ring",
        "1M",
        "--format",
        "json",
    ];
    let mut child = baro(&record)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    if !listens(&mut lines) {
        child.wait().unwrap();
        println!("skipped: no tmpfs for rings");
        return;
    }
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"{\"time\":5,\"from_stdin\":1}\n").unwrap();
    // The end of one source is not that of the others.
    drop(stdin);
    let info = json(&run(&["info", &store, "--format", "json"]), 0);
    assert_eq!(info["recorder_pid"].as_u64(), Some(u64::from(child.id())));
    let free = |info: &Value| {
        let rings = info["rings"].as_array().unwrap();
        let free = |r: &&Value| r["to_attach"] == true && r["has_producer"] == false;
        rings.iter().filter(free).count()
    };
    assert_eq!(free(&info), 16);
    let records = 5_000_u64;
    // All are attached before the first pushes: a ring given back would be another's.
    let start_ns = baro_sys::clock::monotonic_ns() + 10_000_000_000;
    let producers: Vec<Child> = (0..16)
        .map(|seed| {
            let text = format!(
                "producer --seed {seed} --frame-bytes 64 --records {records} --rate 5000 \
                 --start-ns {start_ns} {store}"
            );
            lab(&text.split(' ').collect::<Vec<_>>()).stdout(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let (mut pushed, mut refused) = (0, 0);
    for producer in producers {
        let report = json(&producer.wait_with_output().unwrap(), 0);
        pushed += report["pushed"].as_u64().unwrap();
        refused += report["refused"].as_u64().unwrap();
    }
    assert_eq!(pushed + refused, 16 * records);
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let attached = report["attached"].as_array().unwrap();
    assert_eq!(attached.len(), 16);
    assert!(attached.iter().all(|ring| ring["offered"] == records));
    // What a busy machine may refuse is counted, and a gap; what was taken is there, in order.
    // The generator, whose small ring covers 60 ms, may have been refused some too.
    let all_refused = report["refused_ring_full"].as_u64().unwrap();
    assert!(all_refused >= refused, "{all_refused} in all, {refused} by producers");
    assert_eq!(output.status.code(), Some(if all_refused == 0 { 0 } else { 3 }));
    let store_ = Store::open(store.as_ref()).unwrap();
    let channel = store_.catalog().lookup("produced").unwrap().unwrap().id;
    let checked = check(&store_, channel).unwrap();
    assert_eq!((checked.frames, checked.wrong, checked.out_of_order), (pushed, 0, 0));
    assert_eq!(checked.producers, 16);
    let stdin = text(&run(&["cat", &store, "from_stdin", "--format", "csv", "--data-only"]), 0);
    assert_eq!(stdin, "5,from_stdin,1\n");
    let frames = run(&["cat", &store, "generated", "--format", "raw", "--data-only"]).stdout;
    let mut next = 0;
    let mut missing = 0;
    for frame in frames.chunks(16_384) {
        let number = baro_sources::generate::check_frame(frame).unwrap().1;
        assert!(number >= next, "frame {number} behind {next}");
        missing += number - next;
        next = number + 1;
    }
    // Those refused at the end leave no frame behind them.
    assert!(missing <= all_refused - refused, "{missing} missing, {all_refused} refused");
}
