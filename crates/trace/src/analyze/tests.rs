//! Hand-made timelines: what is known of them is what the reports must say.

mod handles;
mod journals;
mod series;
mod tasks;

use super::*;
use crate::record::Name;
use crate::schema::RunStats;
use crate::timeline::{CheckpointCall, Handle, TailMove, Transaction};
use proptest::prelude::*;

const DISK: Device = Device(8 << 20 | 1);
const MS: u64 = 1_000_000;
const ALL: [Analysis; 6] = [
    Analysis::Handle,
    Analysis::State,
    Analysis::Blocks,
    Analysis::Space,
    Analysis::Syscall,
    Analysis::Waits,
];

fn report(line: &Timeline, analysis: Analysis, options: &Options) -> (String, Value) {
    let devices = BTreeMap::from([(DISK, "sda1".to_owned())]);
    let (symbols, facts) = (Symbols::default(), BTreeMap::new());
    let arch = Some("x86_64");
    let source =
        Source { line, devices: &devices, arch, symbols: &symbols, facts: &facts, tasks: None };
    let report = analyze(analysis, &source, options);
    (report.text(), report.json())
}

fn stats(tid: u32, handles: u32, blocks: u32, blocks_logged: u32) -> RunStats {
    RunStats {
        dev: DISK,
        tid,
        wait_jiffies: 0,
        request_delay_jiffies: 0,
        running_jiffies: 0,
        locked_jiffies: 0,
        flushing_jiffies: 0,
        logging_jiffies: 0,
        handles,
        blocks,
        blocks_logged,
    }
}

/// Begins at `at` ms, runs 50 ms, is locked 20 ms, flushes 10 ms, logs 15 ms.
fn transaction(tid: u32, at_ms: u64) -> Transaction {
    let at = |ms: u64| Some((at_ms + ms) * MS);
    Transaction {
        tid,
        begin_ns: at(0),
        commit_ns: at(50),
        locking_ns: at(51),
        flushing_ns: at(71),
        logging_ns: at(81),
        end_ns: at(96),
        dropped_ns: None,
        handles_seen: 3,
        stats: Some(stats(tid, 3, 10, 12)),
        checkpoint: None,
        data_files: 0,
        data_pages: 0,
        lists: Vec::new(),
    }
}

fn handle(tid: u32, asked_ms: u64, begin_ms: u64, end_ms: u64) -> Handle {
    Handle {
        device: DISK,
        tid,
        kind: 1,
        asked_ns: Some(asked_ms * MS),
        begin_ns: begin_ms * MS,
        end_ns: Some(end_ms * MS),
        requested_blocks: 8,
        dirtied_blocks: 2,
        sync: false,
    }
}

/// Two transactions: 7 from 0 to 96 ms, 8 from 71 to 167 ms. Task 10 waits from 60 to 71 ms, as task
/// 11 holds transaction 7 open from 40 to 71 ms.
fn line() -> Timeline {
    let mut line = Timeline { end_ns: 200 * MS, events: 9, ..Timeline::default() };
    let journal = line.journals.entry(DISK).or_default();
    journal.transactions.insert(7, transaction(7, 0));
    journal.transactions.insert(8, transaction(8, 71));
    for (pid, one) in [(10, handle(8, 60, 71, 72)), (11, handle(7, 40, 40, 71))] {
        journal.handle(one.kind, one.wait_ns());
        line.tasks.entry(pid).or_default().handles.push(one);
    }
    line.tasks.entry(10).or_default().name = Name::new(b"writer");
    line.tasks.entry(11).or_default().name = Name::new(b"holder");
    line
}

#[test]
fn an_empty_timeline_is_reported() {
    for analysis in ALL {
        let (text, json) = report(&Timeline::default(), analysis, &Options::default());
        assert!(text.contains(" no ") || text.contains("\nno "), "{analysis:?}: {text}");
        assert_eq!(json["trace"]["duration_ns"], 0, "{analysis:?}");
        // A transaction of which nothing is known but that it was there.
        let mut line = Timeline::default();
        let journal = line.journals.entry(DISK).or_default();
        journal.transactions.insert(0, Transaction::default());
        let (text, _) = report(&line, analysis, &Options::default());
        assert!(text.lines().count() < 40, "{analysis:?}: {text}");
        let other = Options { device: Some(Device(5)), ..Options::default() };
        assert!(!report(&line, analysis, &other).0.contains("sda1"), "{analysis:?}");
    }
}

#[test]
fn a_million_transactions_are_reported_in_bounded_text() {
    let mut line = Timeline { end_ns: u64::MAX, ..Timeline::default() };
    let journal = line.journals.entry(DISK).or_default();
    for tid in 0..1_000_000 {
        journal.transactions.insert(tid, transaction(tid, u64::from(tid) * 96));
        let (time_ns, first_tid) = (u64::from(tid) * 96 * MS, tid);
        journal.tails.push(TailMove { time_ns, pid: 1, freed_blocks: 12, first_tid });
    }
    for analysis in ALL {
        let (text, json) = report(&line, analysis, &Options { top: 5, ..Options::default() });
        assert!(text.len() < 8_000, "{analysis:?}: {}", text.len());
        assert!(json.to_string().len() < 8_000, "{analysis:?}");
    }
    let (text, json) = report(&line, Analysis::State, &Options { top: 5, ..Options::default() });
    assert_eq!(json["journals"][0]["committed_transactions"], 1_000_000);
    assert!(text.contains("and 999,995 more"), "{text}");
}

fn some_time() -> impl Strategy<Value = Option<u64>> {
    proptest::option::of(0_u64..1_000)
}

proptest! {
    #[test]
    fn any_wait_is_filled(
        stages in proptest::collection::vec(proptest::array::uniform6(some_time()), 0..6),
        calls in proptest::collection::vec((0_u64..1_000, 9_i32..13), 0..5),
        tails in proptest::collection::vec((0_u64..1_000, 9_i32..13), 0..5),
        tid in 0_u32..8,
        (begin_ns, length_ns) in (0_u64..1_000, 0_u64..1_000),
    ) {
        let mut journal = Journal::default();
        for (tid, times) in (0_u32..).zip(stages) {
            let [begin_ns, commit_ns, locking_ns, flushing_ns, logging_ns, end_ns] = times;
            let one = Transaction {
                tid, begin_ns, commit_ns, locking_ns, flushing_ns, logging_ns, end_ns,
                ..Transaction::default()
            };
            journal.transactions.insert(tid, one);
        }
        journal.checkpoints = calls.iter().map(|(time_ns, pid)| CheckpointCall { time_ns: *time_ns, pid: *pid, result: 0 }).collect();
        journal.tails = tails.iter().map(|(time_ns, pid)| TailMove { time_ns: *time_ns, pid: *pid, freed_blocks: 1, first_tid: 1 }).collect();
        journal.checkpoints.sort_by_key(|one| one.time_ns);
        journal.tails.sort_by_key(|one| one.time_ns);
        let end_ns = begin_ns + length_ns;
        let found = pieces(&journal, 10, tid, (begin_ns, end_ns));
        let mut now_ns = begin_ns;
        for piece in &found {
            prop_assert_eq!(piece.begin_ns, now_ns);
            prop_assert!(piece.end_ns > piece.begin_ns);
            now_ns = piece.end_ns;
        }
        prop_assert_eq!(now_ns, end_ns);
        prop_assert!(found.windows(2).all(|pair| pair[0].cause != pair[1].cause), "{:?}", found);
        let mut line = Timeline { end_ns: 2_000, ..Timeline::default() };
        line.tasks.entry(10).or_default().handles.push(handle(tid, 0, 1, 2));
        line.journals.insert(DISK, journal);
        for analysis in ALL {
            let (text, _) = report(&line, analysis, &Options::default());
            prop_assert!(text.len() < 20_000);
        }
    }
}
