//! Analyses of the recorded traces, compared with what they are as text.
//!
//! Where a text differs, what was found is written beside the build's other output.
#![allow(clippy::disallowed_methods, reason = "test code reads its fixtures")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

use baro_trace::analyze::{Analysis, Options, Source, analyze};
use baro_trace::file::{Item, TraceFile};
use baro_trace::schema::Schemas;
use baro_trace::timeline::{Builder, Limits, Timeline};
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
        tasks: None,
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
        assert!(found.lines().all(|line| line.len() < 200), "{name}: names are long, nothing else");
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

/// A trace with events left out and bytes changed is a timeline like any other: reports come, and are
/// as small.
#[test]
fn any_part_of_a_trace_is_analyzed() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for round in 0..200 {
        let name = ["5.10", "6.1", "6.12", "6.18"][round % 4];
        let bytes = std::fs::read(folder().join(format!("{name}.trace"))).unwrap();
        let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
        let set = trace.events().clone();
        let schemas = Schemas::resolve(&set).unwrap();
        let mut builder = Builder::new(Limits { min_wait_ns: 0, ..Limits::default() });
        let mut merged = trace.merge().unwrap();
        while let Some(item) = merged.next().unwrap() {
            let Item::Event { cpu, time_ns, id, payload } = item else { panic!("{item:?}") };
            let mut payload = payload.to_vec();
            match next() % 8 {
                0 | 1 => continue,
                // Not its number and common fields: these say what kind of event it is.
                2 => {
                    let at = 8 + next() as usize % (payload.len() - 7).max(1);
                    payload.iter_mut().skip(at).take(1).for_each(|byte| *byte = next() as u8);
                }
                _ => {}
            }
            // An event that cannot be read is an error, and the builder goes on.
            let _ = builder.event(&set, &schemas, (cpu, time_ns, id), &payload);
        }
        let line = builder.finish();
        let (devices, symbols, facts) = Default::default();
        let arch = Some("x86_64");
        let source = Source {
            line: &line,
            devices: &devices,
            arch,
            symbols: &symbols,
            facts: &facts,
            tasks: None,
        };
        let options = Options { top: 3, journal_blocks: Some(64), ..Options::default() };
        for analysis in ALL {
            let report = analyze(analysis, &source, &options);
            // A changed device number is a journal of its own.
            let most = 16_000 * (1 + line.journals.len());
            let (text, json) = (report.text(), report.json().to_string());
            assert!(text.len() < most && json.len() < most, "{round} {analysis:?}");
        }
    }
}
