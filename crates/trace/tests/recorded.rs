//! Recorded traces of several kernels, decoded and compared with what they hold as text.
//!
//! Each was recorded by `examples/record_trace.rs` with the word `load`: five writes of 16 KiB with an
//! fsync after each, on an ext4. The text has counts, the first and last events, and the story of
//! the first sync; where it differs, what was found is written beside the build's other output.
#![allow(clippy::disallowed_methods, reason = "test code reads its fixtures")]
#![allow(clippy::unwrap_used, reason = "test code: a panic is a failure")]

use baro_trace::explain::{self, Knowledge, Question};
use baro_trace::file::{Ending, Item, TraceFile};
use baro_trace::schema::{KNOWN, KernelEvent, Schemas};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Cursor;
use std::path::{Path, PathBuf};

const FOLDER: &str = "../../testdata/trace";
/// Events at the beginning and at the end that are compared whole.
const SHOWN: usize = 12;
/// Calls that are explained.
const SLOW_NS: u64 = 50_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER)
}

/// What a trace holds, as text.
fn describe(bytes: &[u8]) -> String {
    let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
    let set = trace.events().clone();
    let schemas = Schemas::resolve(&set).unwrap();
    let mut text = String::new();
    writeln!(text, "{:?}", trace.machine()).unwrap();
    writeln!(text, "pages {}, losses {:?}", trace.pages(), trace.losses()).unwrap();
    // What the probes make is in none of these.
    let missing = KNOWN
        .iter()
        .filter(|(system, event)| *system != "baro" && set.find(system, event).is_none());
    let missing: Vec<&str> = missing.map(|(_, event)| *event).collect();
    writeln!(text, "not there {}", missing.join(" ")).unwrap();
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut lines = Vec::new();
    let mut merged = trace.merge().unwrap();
    while let Some(item) = merged.next().unwrap() {
        let Item::Event { cpu, time_ns, id, payload } = item else { panic!("{item:?}") };
        let event = set.event(id).unwrap();
        *counts.entry(&event.format.name).or_default() += 1;
        let values = schemas.decode(id, payload).unwrap().expect("all events have a schema");
        let pid = set.pid(payload).unwrap();
        lines.push(format!("{time_ns} cpu {cpu} pid {pid} {values:?}"));
    }
    for (event, count) in counts {
        writeln!(text, "{count:6} {event}").unwrap();
    }
    let end = lines.len().saturating_sub(SHOWN);
    lines[..SHOWN].iter().for_each(|line| writeln!(text, "{line}").unwrap());
    writeln!(text, "...").unwrap();
    lines[end..].iter().for_each(|line| writeln!(text, "{line}").unwrap());
    let known = Knowledge::of(&mut trace).unwrap();
    let question = Question { over_ns: SLOW_NS, top: 3 };
    writeln!(text, "\n{}", explain::describe(&known, &known.explain(&question))).unwrap();
    text
}

fn traces() -> Vec<(String, Vec<u8>)> {
    let mut traces = Vec::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "trace") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            traces.push((name, std::fs::read(&path).unwrap()));
        }
    }
    traces.sort();
    traces
}

#[test]
fn every_event_of_a_recorded_trace_decodes() {
    let traces = traces();
    let names: Vec<&str> = traces.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["5.10", "6.1", "6.12", "6.18"]);
    for (name, bytes) in &traces {
        assert!(bytes.len() < 70 << 10, "{name}: {} bytes", bytes.len());
        let found = describe(bytes);
        let expected = std::fs::read_to_string(folder().join(format!("{name}.txt")));
        let expected = expected.unwrap_or_default();
        if found != expected {
            let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.txt"));
            std::fs::write(&place, &found).unwrap();
            let line = found.lines().zip(expected.lines()).find(|(a, b)| a != b);
            panic!("{name}: first difference {line:?}; all of it: {}", place.display());
        }
    }
}

/// Each sync has a commit between its beginning and its end, whose stages come in their order.
#[test]
fn each_sync_of_the_load_has_a_commit_with_all_its_stages() {
    for (name, bytes) in traces() {
        let mut trace = TraceFile::open(Cursor::new(&bytes)).unwrap();
        assert!(matches!(trace.ending(), Ending::Finished), "{name}");
        let schemas = Schemas::resolve(trace.events()).unwrap();
        let mut merged = trace.merge().unwrap();
        let (mut stages, mut syncs, mut commits) = (Vec::new(), 0, Vec::new());
        while let Some(item) = merged.next().unwrap() {
            let Item::Event { id, payload, .. } = item else { panic!("{name}: {item:?}") };
            match schemas.decode(id, payload).unwrap().unwrap() {
                KernelEvent::SyncFileEnter(_) => stages.clear(),
                KernelEvent::StartCommit(event) => stages.push((0, event.tid)),
                KernelEvent::CommitLocking(event) => stages.push((1, event.tid)),
                KernelEvent::CommitFlushing(event) => stages.push((2, event.tid)),
                KernelEvent::CommitLogging(event) => stages.push((3, event.tid)),
                KernelEvent::RunStats(event) => {
                    assert!(event.blocks_logged > 0 && event.handles > 0, "{name}");
                    stages.push((4, event.tid));
                }
                KernelEvent::EndCommit(event) => stages.push((5, event.tid)),
                KernelEvent::SyncFileExit(event) => {
                    assert_eq!(event.ret, 0);
                    syncs += 1;
                    let tid = stages.first().unwrap().1;
                    let expected: Vec<_> = (0..6).map(|stage| (stage, tid)).collect();
                    assert_eq!(stages, expected, "{name}");
                    commits.push(tid);
                }
                _ => {}
            }
        }
        assert_eq!(syncs, 5, "{name}");
        assert!(commits.windows(2).all(|pair| pair[0] < pair[1]), "{name}: {commits:?}");
    }
}
