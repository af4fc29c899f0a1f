//! Analyses of the recorded traces, compared with what they are as text.
//!
//! Where a text differs, what was found is written beside the build's other output.
#![allow(clippy::disallowed_methods, reason = "test code reads its fixtures")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

use baro_trace::analyze::{Analysis, Options, Source, analyze};
use baro_trace::file::TraceFile;
use baro_trace::timeline::{Limits, Timeline};
use std::io::Cursor;
use std::path::{Path, PathBuf};

const ALL: [Analysis; 6] = [
    Analysis::Handle,
    Analysis::State,
    Analysis::Blocks,
    Analysis::Space,
    Analysis::Syscall,
    Analysis::Waits,
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/trace")
}

/// All analyses of a trace, as texts and as JSON.
fn analyses(name: &str) -> Vec<(String, serde_json::Value)> {
    let bytes = std::fs::read(folder().join(format!("{name}.trace"))).unwrap();
    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    let limits = Limits {
        min_call_ns: 0,
        min_wait_ns: 0,
        min_handle_wait_ns: 0,
        min_handle_open_ns: 0,
        ..Limits::default()
    };
    let line = Timeline::of(&mut trace, limits).unwrap();
    let named = trace.devices().iter().map(|(device, name)| (*device, name.to_string()));
    let source = Source {
        line: &line,
        devices: &named.collect(),
        // The traces are older than this fact in them; they are of x86_64 all the same.
        arch: trace.machine().arch.as_deref().or(Some("x86_64")),
        symbols: trace.symbols(),
        facts: trace.facts(),
    };
    let options = Options { journal_blocks: Some(4_096), ..Options::default() };
    let reports = ALL.map(|one| analyze(one, &source, &options));
    reports.iter().map(|report| (report.text(), report.json())).collect()
}

#[test]
fn analyses_of_recorded_traces_are_as_their_texts() {
    for name in ["5.10", "6.1", "6.12", "6.18"] {
        let texts: Vec<String> = analyses(name).into_iter().map(|(text, _)| text).collect();
        let found = texts.join("\n");
        let expected = std::fs::read_to_string(folder().join(format!("analyze/{name}.txt")));
        let expected = expected.unwrap_or_default();
        if found != expected {
            let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("analyze-{name}.txt"));
            std::fs::write(&place, &found).unwrap();
            let line = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
            panic!("{name}: first difference {line:?}; all of it: {}", place.display());
        }
        assert!(found.lines().all(|line| line.len() < 160), "{name}");
    }
}

/// Five syncs: what the reports say agrees with the load and among each other.
#[test]
fn figures_of_recorded_traces_agree() {
    for name in ["5.10", "6.1", "6.12", "6.18"] {
        let reports = analyses(name);
        let [handle, state, blocks, space, syscall, waits] =
            <[(String, serde_json::Value); 6]>::try_from(reports).unwrap().map(|(_, json)| json);
        let number = |json: &serde_json::Value, path: &str| {
            json.pointer(path)
                .and_then(serde_json::Value::as_u64)
                .unwrap_or_else(|| panic!("{path}"))
        };
        let committed = number(&state, "/journals/0/committed_transactions");
        assert!(committed >= 5, "{name}");
        assert_eq!(
            number(&blocks, "/journals/0/transactions"),
            number(&state, "/journals/0/transactions")
        );
        assert_eq!(
            number(&space, "/journals/0/logged_blocks"),
            number(&state, "/journals/0/logged_blocks"),
            "{name}"
        );
        let waits_of = &handle["journals"][0]["waits"];
        let in_buckets: u64 = waits_of["buckets"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["handles"].as_u64().unwrap())
            .sum();
        let known = number(waits_of, "/handles") - number(waits_of, "/unknown_handles");
        assert_eq!(in_buckets, known, "{name}");
        assert!(known > 0, "{name}");
        let calls = syscall["by_task"].as_array().unwrap();
        let of_load = |call: &str| {
            let is = |one: &&serde_json::Value| one["task"] == "load" && one["call"] == call;
            calls.iter().find(is).unwrap_or_else(|| panic!("{name}: {call}"))
        };
        assert_eq!(of_load("fsync")["calls"], 5, "{name}");
        assert_eq!(of_load("pwrite64")["written_bytes"], 5 * 16_384, "{name}");
        assert!(number(&waits, "/kinds/0/waits") > 0, "{name}");
        assert_eq!(waits["kinds"][0]["kind"], "sleep", "{name}");
    }
}
