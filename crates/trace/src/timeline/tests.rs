//! Timelines of the recorded traces.

use super::{Limits, Timeline};
use crate::file::TraceFile;
use std::io::Cursor;

const FIXTURES: [(&str, &[u8]); 4] = [
    ("5.10", include_bytes!("../../../../testdata/trace/5.10.trace")),
    ("6.1", include_bytes!("../../../../testdata/trace/6.1.trace")),
    ("6.12", include_bytes!("../../../../testdata/trace/6.12.trace")),
    ("6.18", include_bytes!("../../../../testdata/trace/6.18.trace")),
];

#[test]
fn a_sync_of_every_fixture_is_put_together() {
    for (name, bytes) in FIXTURES {
        let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
        let limits = Limits { min_call_ns: 0, min_wait_ns: 0, ..Limits::default() };
        let line = Timeline::of(&mut trace, limits).unwrap();
        let is_load = |task: &&super::Task| task.name.as_bytes() == b"load";
        let load: Vec<&super::Task> = line.tasks.values().filter(is_load).collect();
        assert_eq!(load.len(), 1, "{name}");
        assert_eq!(load[0].syncs.len(), 5, "{name}");
        assert!(load[0].syncs.iter().all(|sync| sync.end_ns.unwrap() > sync.begin_ns), "{name}");
        let journal = line.journals.values().next().unwrap();
        let whole = journal.transactions.values().filter(|one| one.commit_duration_ns().is_some());
        assert!(whole.count() >= 5, "{name}");
        let of_thread = &line.tasks[&journal.thread.unwrap()];
        assert!(of_thread.name.as_bytes().starts_with(b"jbd2"), "{name}");
        assert!(!of_thread.waits.is_empty() && !load[0].waits.is_empty(), "{name}");
        for task in line.tasks.values() {
            assert!(task.waits.is_sorted_by_key(|wait| wait.begin_ns), "{name}");
            assert!(task.calls.is_sorted_by_key(|call| call.begin_ns), "{name}");
        }
        let requests = || line.disks.values().flat_map(|disk| &disk.requests);
        let done = requests().filter(|one| one.done_ns.is_some()).count();
        assert!(done * 2 > requests().count() && done > 5, "{name}: {done} requests are done");
        assert_eq!((line.lost_events, line.lost_places, line.dropped_spans), (0, 0, 0), "{name}");
    }
}

#[test]
fn flushes_end() {
    for (name, bytes) in FIXTURES {
        let mut trace = TraceFile::open(Cursor::new(bytes)).unwrap();
        let line = Timeline::of(&mut trace, Limits::default()).unwrap();
        let requests = line.disks.values().flat_map(|disk| &disk.requests);
        let flushes: Vec<_> = requests.filter(|one| one.bytes == 0).collect();
        assert!(flushes.len() >= 5, "{name}: {} flushes", flushes.len());
        assert!(flushes.iter().all(|one| one.done_ns.is_some()), "{name}: {flushes:?}");
    }
}
