//! Made-up timelines: spans without a side, times that run backwards or are huge, hostile names.

use super::decoder::Trace;
use super::trace::expected;
use super::{Hostile, drawn, page};
use crate::file::Machine;
use crate::record::{Device, Frames, Name};
use crate::render::{SlowCall, SlowLink, View};
use crate::timeline::{
    Call, CheckpointCall, Context, Disk, Handle, Journal, JournalSample, ListLengths, Processor,
    Request, Stage, Sync, TailMove, Task, Throttle, Timeline, Transaction, Wait, WaitKind, Waker,
};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

fn time() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..200, 1 => any::<u64>(), 1 => prop::sample::select(vec![
        0, i64::MAX as u64 - 1, i64::MAX as u64, i64::MAX as u64 + 1, u64::MAX - 1, u64::MAX,
    ])]
}

fn side() -> impl Strategy<Value = Option<u64>> {
    option::weighted(0.8, time())
}

fn device() -> impl Strategy<Value = Device> {
    prop_oneof![(0_u32..3).prop_map(Device), any::<u32>().prop_map(Device)]
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![
        Just(Name::new(b"")),
        Just(Name::new(b"</svg><script>")),
        vec(any::<u8>(), 0..20).prop_map(|bytes| Name::new(&bytes)),
    ]
}

fn pid() -> impl Strategy<Value = i32> {
    prop_oneof![0_i32..4, any::<i32>()]
}

fn wait() -> impl Strategy<Value = (Wait, Option<Vec<u64>>)> {
    let kind =
        prop::sample::select(vec![WaitKind::Sleep, WaitKind::Interruptible, WaitKind::Runnable]);
    let context =
        prop::sample::select(vec![Context::Task, Context::SoftInterrupt, Context::Interrupt]);
    let waker =
        option::of((pid(), context).prop_map(|(pid, context)| Waker { pid, context, call: None }));
    let parts = (kind, time(), side(), side(), waker, option::of(vec(any::<u64>(), 0..3)));
    parts.prop_map(|(kind, begin_ns, woken_ns, end_ns, waker, stack)| {
        let processor = Processor::default();
        (
            Wait {
                kind,
                begin_ns,
                woken_ns,
                end_ns,
                stack: None,
                waker,
                next_pid: None,
                processor,
            },
            stack,
        )
    })
}

fn handle() -> impl Strategy<Value = Handle> {
    let parts = (device(), any::<u32>(), side(), time(), side(), any::<i32>());
    parts.prop_map(|(device, tid, asked_ns, begin_ns, end_ns, blocks)| Handle {
        device,
        tid,
        kind: tid,
        asked_ns,
        begin_ns,
        end_ns,
        requested_blocks: blocks,
        dirtied_blocks: blocks,
        sync: blocks > 0,
    })
}

type Parts = (
    Vec<(u64, Option<u64>, i64)>,
    Vec<(Wait, Option<Vec<u64>>)>,
    Vec<Handle>,
    Vec<(Device, u64, Option<u64>)>,
    Vec<(u64, u64)>,
);

fn task() -> impl Strategy<Value = (Name, Parts)> {
    let calls = vec((time(), side(), any::<i64>()), 0..8);
    let syncs = vec((device(), time(), side()), 0..4);
    let reclaims = vec((time(), time()), 0..3);
    (name(), (calls, vec(wait(), 0..12), vec(handle(), 0..5), syncs, reclaims))
}

fn put(line: &mut Timeline, pid: i32, (name, parts): (Name, Parts)) {
    let (calls, waits, handles, syncs, reclaims) = parts;
    let mut task = Task { name, handles, reclaims, ..Task::default() };
    for (begin_ns, end_ns, number) in calls {
        task.calls.push(Call { number, args: [u64::MAX; 6], begin_ns, end_ns, ret: number });
        task.throttles.push(Throttle {
            begin_ns,
            pause_ms: begin_ns,
            bdi: name,
            dirty: begin_ns,
            limit: 0,
            setpoint: 0,
            device_dirty: 0,
            device_setpoint: 0,
            task_rate_kbs: 0,
            device_rate_kbs: u64::MAX,
        });
    }
    for (wait, stack) in waits {
        let stack = stack.map(|addresses| line.stacks.add(Frames::new(addresses)));
        task.waits.push(Wait { stack, ..wait });
    }
    for (device, begin_ns, end_ns) in syncs {
        let ino = begin_ns;
        task.syncs.push(Sync { device, ino, data_only: begin_ns > 9, begin_ns, end_ns });
    }
    line.tasks.insert(pid, task);
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let times = (side(), side(), side(), side(), side(), side(), side());
    (any::<u32>(), times, vec(time(), 0..3)).prop_map(|(tid, times, lists)| {
        let (begin_ns, commit_ns, locking_ns, flushing_ns, logging_ns, end_ns, dropped_ns) = times;
        let list = |time_ns| ListLengths {
            time_ns,
            stage: Stage::Locked,
            data_files: time_ns,
            reserved: 0,
            metadata: 1,
            shadow: 2,
            forget: 3,
            checkpoint: u64::MAX,
            capped: true,
        };
        Transaction {
            tid,
            begin_ns,
            commit_ns,
            locking_ns,
            flushing_ns,
            logging_ns,
            end_ns,
            dropped_ns,
            lists: lists.into_iter().map(list).collect(),
            ..Transaction::default()
        }
    })
}

fn journal() -> impl Strategy<Value = Journal> {
    let points = vec((time(), pid(), any::<u64>()), 0..4);
    let samples = prop_oneof![Just(vec![]), vec((time(), any::<u64>()), 0..4)];
    (vec(transaction(), 0..12), points, samples).prop_map(|(transactions, points, samples)| {
        let mut journal = Journal::default();
        journal.transactions.extend(transactions.into_iter().map(|one| (one.tid, one)));
        for (time_ns, pid, blocks) in points {
            journal.tails.push(TailMove { time_ns, pid, freed_blocks: blocks, first_tid: 1 });
            journal.checkpoints.push(CheckpointCall { time_ns, pid, result: pid });
            journal.buffer_stalls.push((time_ns, blocks));
        }
        let sample = |(time_ns, free_blocks)| JournalSample {
            time_ns,
            free_blocks,
            total_blocks: free_blocks / 2,
            ..JournalSample::default()
        };
        journal.samples = samples.into_iter().map(sample).collect();
        journal
    })
}

fn disk() -> impl Strategy<Value = Disk> {
    let request = (time(), side(), side(), any::<u32>(), name());
    let request = request.prop_map(|(issued_ns, queued_ns, done_ns, bytes, class)| Request {
        sector: issued_ns,
        bytes,
        class,
        pid: 1,
        queued_ns,
        issued_ns,
        done_ns,
    });
    vec(request, 0..20).prop_map(|requests| Disk { requests })
}

fn timeline() -> impl Strategy<Value = Timeline> {
    let parts = (
        (time(), time()),
        btree_map(pid(), task(), 0..5),
        btree_map(device(), journal(), 0..3),
        btree_map(device(), disk(), 0..3),
        vec((time(), any::<u64>(), any::<u64>()), 0..5),
    );
    parts.prop_map(|((begin_ns, end_ns), tasks, journals, disks, dirty_pages)| {
        let mut line =
            Timeline { begin_ns, end_ns, journals, disks, dirty_pages, ..Timeline::default() };
        tasks.into_iter().for_each(|(pid, task)| put(&mut line, pid, task));
        line
    })
}

fn slow_call() -> impl Strategy<Value = SlowCall> {
    let link = (0_usize..4, time(), time(), time(), option::of(pid())).prop_map(
        |(depth, begin_ns, end_ns, ns, pid)| {
            let words = || "</div>".to_owned();
            SlowLink {
                depth: if depth == 3 { usize::MAX } else { depth },
                who: words(),
                pid,
                waits_for: words(),
                place: words(),
                begin_ns,
                end_ns,
                ns,
                count: ns % 3,
                cause: words(),
            }
        },
    );
    let parts = (pid(), (time(), time()), time(), time(), vec(link, 0..6));
    parts.prop_map(|(pid, (begin_ns, end_ns), wait_ns, unexplained_ns, links)| SlowCall {
        pid,
        begin_ns,
        end_ns,
        wait_ns,
        unexplained_ns,
        links,
        ..SlowCall::default()
    })
}

fn machine() -> impl Strategy<Value = Machine> {
    let clock = prop::sample::select(vec!["mono", "mono_raw", "boot", "global", "<b>"]);
    let parts = (clock, any::<i64>(), any::<i64>());
    parts.prop_map(|(clock, realtime_offset_ns, boottime_offset_ns)| Machine {
        clock: clock.to_owned(),
        realtime_offset_ns,
        boottime_offset_ns,
        ..Machine::default()
    })
}

proptest! {
    #[test]
    fn any_timeline_is_drawn(line in timeline(), slow in vec(slow_call(), 0..3), machine in machine()) {
        let view = View {
            title: "any",
            machine: &machine,
            line: &line,
            slow: &slow,
            names: &Hostile,
            remarks: &[],
        };
        let (trace, html) = drawn(&view);
        let trace = Trace::read(&trace);
        let links = slow.iter().map(|call| call.links.len()).sum();
        prop_assert_eq!(trace.categories(), expected(&line, slow.len(), links));
        for slice in &trace.slices {
            prop_assert!(slice.end_ns.is_none_or(|end_ns| end_ns >= slice.begin_ns));
        }
        page::read(&html);
    }
}
