//! What a trace may cost: explaining and analyzing take as long as it is large, however its waits lie.
//! Counted in steps and in allocations, never in time.
#![allow(clippy::unwrap_used, reason = "a test")]

use baro_sys::counters::{MeasuringAllocator, measured};
use baro_trace::analyze::{Analysis, Options, Source, analyze};
use baro_trace::explain::{Cause, Explanation, Knowledge, Question};
use baro_trace::record::{Device, Frames, Name};
use baro_trace::timeline::{
    Call, Context, Handle, Journal, Processor, Request, Symbols, Sync, Timeline, Transaction, Wait,
    WaitKind, Waker,
};
use std::collections::{BTreeMap, BTreeSet};

#[global_allocator]
static ALLOCATOR: MeasuringAllocator = MeasuringAllocator;

const MS: u64 = 1_000_000;
const HUB: i32 = 10;
const DEVICE: Device = Device(8 << 20);

/// Sizes in thousandths of a trace of 1 MB: from 0.1 MB on, and up to 10 MB where time is no matter.
fn sizes() -> &'static [u64] {
    let is_push = std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push");
    if is_push { &[100, 1_000] } else { &[100, 1_000, 10_000] }
}

/// Steps of a size are within twice of what they are of the smallest, by size.
fn is_linear(what: &str, steps: &[(u64, u64)]) {
    println!("{what}: {steps:?}");
    let (least_size, least) = steps[0];
    for (size, steps) in steps {
        assert!(least * size / least_size * 2 >= *steps, "{what}: {steps} steps of size {size}");
    }
}

fn wait(begin_ns: u64, end_ns: u64, by: i32) -> Wait {
    Wait {
        kind: WaitKind::Sleep,
        begin_ns,
        woken_ns: Some(end_ns),
        end_ns: Some(end_ns),
        stack: None,
        waker: Some(Waker { pid: by, context: Context::Task, call: None }),
        next_pid: Some(0),
        processor: Processor::default(),
    }
}

fn known(line: Timeline) -> Knowledge {
    let facts = BTreeMap::from([(
        "/proc/self/mountinfo".to_owned(),
        "1 1 8:0 / /data rw - ext4 /dev/sda rw\n".to_owned(),
    )]);
    Knowledge::new(
        line,
        Symbols::default(),
        facts,
        BTreeMap::new(),
        Some("x86_64".to_owned()),
        BTreeSet::new(),
    )
}

/// Calls that all wait for one task, which has waited for another each time it slept.
fn hub(size: u64) -> Timeline {
    let (calls, sleeps) = (1_700 * size / 1_000, 2_800 * size / 1_000);
    let mut line = Timeline { calls_are_exact: true, ..Timeline::default() };
    let end_ns = (sleeps + 2) * 2 * MS;
    line.end_ns = end_ns + MS;
    for number in 0..sleeps {
        let (begin_ns, by) = ((number + 1) * 2 * MS, 100_000 + number as i32);
        let hub = line.tasks.entry(HUB).or_default();
        hub.waits.push(wait(begin_ns, begin_ns + MS, by));
        line.tasks.entry(by).or_default().name = Name::new(b"other");
    }
    for number in 0..calls {
        let task = line.tasks.entry(1_000 + number as i32).or_default();
        let begin_ns = MS + number;
        task.calls.push(Call { number: 1, args: [3; 6], begin_ns, end_ns: Some(end_ns), ret: 1 });
        task.waits.push(wait(begin_ns + 10, end_ns, HUB));
    }
    line
}

/// One task whose many waits are each for the commit under way, of as many transactions, handles of as
/// many tasks, and a disk that never finishes.
fn journal(size: u64) -> Timeline {
    let count = 2_000 * size / 1_000;
    let mut line = Timeline { calls_are_exact: true, ..Timeline::default() };
    line.end_ns = (count + 2) * 20 * MS;
    let wait_stack = line.stacks.add(Frames::new([0x100]));
    let mut journal = Journal { thread: Some(HUB), ..Journal::default() };
    for number in 0..count {
        let begin_ns = (number + 1) * 20 * MS;
        let (tid, end_ns) = (number as u32, begin_ns + 19 * MS);
        journal.transactions.insert(
            tid,
            Transaction {
                tid,
                begin_ns: Some(begin_ns),
                commit_ns: Some(begin_ns + MS),
                locking_ns: Some(begin_ns + MS),
                flushing_ns: Some(begin_ns + 2 * MS),
                logging_ns: Some(begin_ns + 3 * MS),
                end_ns: Some(end_ns),
                ..Transaction::default()
            },
        );
        let hub = line.tasks.entry(HUB).or_default();
        hub.waits.push(wait(begin_ns + MS, end_ns, 100_000 + number as i32));
        let call = |number: i64, begin_ns| Call {
            number,
            args: [3, 0, 0, 0, 0, 0],
            begin_ns,
            end_ns: Some(end_ns + 10),
            ret: 0,
        };
        let task = line.tasks.entry(1_000).or_default();
        task.calls.push(call(74, begin_ns));
        let slept = Wait { stack: Some(wait_stack), ..wait(begin_ns + 10, end_ns, HUB) };
        task.waits.push(slept);
        task.syncs.push(Sync {
            device: DEVICE,
            ino: 1,
            data_only: false,
            begin_ns,
            end_ns: Some(end_ns + 5),
        });
        let holder = line.tasks.entry(100_000 + number as i32).or_default();
        holder.parent = Some(100_000 + number as i32 - 1);
        holder.handles.push(Handle {
            device: DEVICE,
            tid,
            kind: 1,
            asked_ns: Some(begin_ns),
            begin_ns: begin_ns + 5,
            end_ns: Some(end_ns),
            requested_blocks: 8,
            dirtied_blocks: 1,
            sync: true,
        });
        line.disks.entry(DEVICE).or_default().requests.push(Request {
            sector: number,
            bytes: 4096,
            class: Name::new(b"WS"),
            pid: HUB,
            queued_ns: None,
            issued_ns: begin_ns,
            done_ns: (number % 2 == 0).then_some(end_ns),
        });
    }
    line.journals.insert(DEVICE, journal);
    // As many journals, of which each has little.
    for number in 0..count as u32 {
        line.journals.insert(Device(number), Journal::default());
    }
    line
}

fn explained(line: Timeline) -> Explanation {
    known(line).explain(&Question { over_ns: 5 * MS, top: 3 })
}

#[test]
fn what_is_behind_one_task_is_not_explained_for_each_that_waits_for_it() {
    let mut steps = Vec::new();
    for size in sizes() {
        let found = explained(hub(*size));
        steps.push((*size, found.steps));
        assert_eq!(found.slow_calls, 1_700 * size / 1_000);
        assert_eq!(found.calls.len(), 3);
        // All of what was waited for is told of those that are told.
        let hub = &found.calls[0].tree[0].children;
        assert_eq!(hub.iter().map(|node| node.count).sum::<u64>(), 2_800 * size / 1_000 + 1);
        let cut = found.notes.iter().any(|note| note.contains("longest were explained"));
        assert_eq!(cut, *size > 100, "{:?}", found.notes);
        // Nobody tells what those did that the hub waited for.
        assert_eq!(found.calls[0].root, Cause::Unknown);
    }
    is_linear("a hub", &steps);
}

#[test]
fn a_long_journal_is_explained_in_steps_of_its_length() {
    let mut steps = Vec::new();
    for size in sizes() {
        let found = explained(journal(*size));
        assert_eq!(found.slow_calls, 2_000 * size / 1_000);
        steps.push((*size, found.steps));
    }
    is_linear("a journal", &steps);
}

#[test]
fn analyses_take_memory_and_allocations_of_the_traces_size() {
    let all = [
        Analysis::Handle,
        Analysis::State,
        Analysis::Blocks,
        Analysis::Space,
        Analysis::Syscall,
        Analysis::Waits,
    ];
    for analysis in all {
        let mut steps = Vec::new();
        for size in sizes() {
            let known = known(journal(*size));
            let source = Source::from(&known);
            let (text, memory) =
                measured(|| analyze(analysis, &source, &Options::default()).text());
            assert!(!text.is_empty());
            // A trace of 1 MB has about 9 of these spans' bytes for each of its own.
            let bound = (64 << 20) + 4 * 1_000 * *size as i64;
            assert!(memory.peak_bytes < bound, "{analysis:?}: {memory:?}");
            steps.push((*size, memory.count as u64));
        }
        is_linear(&format!("{analysis:?}"), &steps);
    }
}

#[test]
fn a_chain_of_parents_is_followed_once() {
    let mut line = Timeline::default();
    for pid in 1..200_000 {
        line.tasks.entry(pid).or_default().parent = Some(pid - 1);
    }
    let mut known = known(line);
    known.focus = BTreeSet::from([100_000]);
    let focus = known.all_in_focus();
    assert_eq!((focus.len(), focus.first()), (100_000, Some(&100_000)));
    assert!(known.in_focus(199_999) && !known.in_focus(99_999));
    // A circle has no end.
    known.line.tasks.entry(1).or_default().parent = Some(99_999);
    assert_eq!(known.all_in_focus().len(), 100_000);
}
