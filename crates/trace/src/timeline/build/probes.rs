//! Records of the probes: whole waits, handles and calls, and what they saw of journals.
//!
//! Without records of calls a call is what sleeps have in common. Where the kernel tells that a task
//! went on in its own code, all sleeps since then are of one call, or of one page fault. Where it does not,
//! the kernel's counts of reads and writes, and ext4's events of syncs, tell one call from the next; sleeps
//! of other calls are then told one by one, as many short ones look like a long one. The beginning of a call
//! is that of its first sleep, and its end that of its last.
//!
//! Invariant: no call is made of two, and no two of one where that is known. Held by
//! `calls_are_those_that_were_made` and `sleeps_become_calls`.

use super::{At, Builder};
use crate::calls;
use crate::schema::{
    FRAMES_BEFORE, HandleHeld, HandleWait, HandleWaits, KernelEvent, Sleep, TransactionLists,
};
use crate::timeline::{
    Call, Context, Handle, JournalSample, ListLengths, Processor, Quota, Stage, Task, Wait,
    WaitKind, Waker,
};

/// Sleeps of one call that are further apart are told as two calls: a task that runs for so long does
/// other things.
const APART_NS: u64 = 20_000_000;
/// What the clocks of one handle's two records may differ by.
const SAME_NS: u64 = 50_000;

/// What tells the sleeps of one call from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InCall {
    /// None: in none, so it is a page fault or nothing.
    number: Option<i64>,
    args: [u64; 3],
    write_calls: u64,
    read_calls: Option<u64>,
    /// When this stay in the kernel began to be off the processor; None where that is not known.
    entry_ns: Option<u64>,
}

/// A sleep, from and to, and the call that it was in.
pub(super) type Slept = ((u64, u64), InCall);

/// How a call is told from the next of the same number and arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Apart {
    /// The kernel counts it.
    Counted,
    /// A file system has events of it.
    Sync,
    /// By nothing.
    Not,
}

impl Apart {
    fn of(arch: Option<&str>, number: Option<i64>) -> Self {
        let name = number.and_then(|number| calls::name(arch, number));
        match name {
            Some("fsync" | "fdatasync" | "msync" | "sync" | "syncfs" | "sync_file_range") => {
                Self::Sync
            }
            Some(name) if calls::moves(name).is_some() => Self::Counted,
            _ => Self::Not,
        }
    }
}

impl Builder {
    pub(super) fn probe_event(&mut self, at: At, event: &KernelEvent) {
        match event {
            KernelEvent::Sleep(event) => self.slept(at, event),
            KernelEvent::HandleWait(event) => self.handle_waited(at, event),
            KernelEvent::HandleHeld(event) => self.handle_held(at, event),
            KernelEvent::HandleWaits(event) => self.handles_counted(event),
            KernelEvent::Call(event) => {
                self.line.calls_are_exact = true;
                let call = Call {
                    number: event.number,
                    args: event.args,
                    begin_ns: event.begin_ns.min(at.time_ns),
                    end_ns: Some(at.time_ns),
                    ret: event.ret,
                };
                if self.room() {
                    self.line.tasks.entry(at.pid).or_default().calls.push(call);
                }
            }
            KernelEvent::JournalSample(event) => self.journal_seen(at, event),
            KernelEvent::TransactionLists(event) => self.lists(at, event),
            _ => {}
        }
    }

    fn slept(&mut self, at: At, event: &Sleep) {
        self.name(event.pid, event.comm);
        if event.waker_pid > 0 {
            self.name(event.waker_pid, event.waker_comm);
        }
        let waker = u32::try_from(event.waker_pid).ok().map(|_| Waker {
            pid: event.waker_pid,
            context: match event.waker_context {
                0 => Context::Task,
                2 => Context::Interrupt,
                _ => Context::SoftInterrupt,
            },
            call: None,
        });
        let frames = usize::try_from(event.frames).unwrap_or(0);
        let frames_max = event.frames_max.map_or(FRAMES_BEFORE, |most| most as usize);
        let stack = event.stack.first(frames, frames >= frames_max);
        let is_sleep = event.state != 0;
        let wait = Wait {
            kind: match event.state {
                0 => WaitKind::Runnable,
                1 => WaitKind::Interruptible,
                4 => WaitKind::Stopped,
                _ => WaitKind::Sleep,
            },
            // A damaged record may say that it slept after it was awake.
            begin_ns: event.begin_ns.min(at.time_ns),
            woken_ns: (is_sleep && event.woken_ns != 0).then_some(event.woken_ns),
            end_ns: Some(at.time_ns),
            stack: (!stack.addresses().is_empty()).then(|| self.line.stacks.add(stack)),
            waker: waker.filter(|_| is_sleep),
            next_pid: None,
            processor: processor(event),
        };
        if !self.room() {
            return;
        }
        let in_call = InCall {
            number: (event.call >= 0).then_some(event.call),
            args: event.args,
            write_calls: event.write_calls,
            read_calls: event.read_calls,
            entry_ns: event.entry_ns.filter(|entry_ns| *entry_ns != 0),
        };
        self.line.begin_ns = self.line.begin_ns.min(event.begin_ns);
        // It may have slept since before the trace: then this is the end of that.
        if let Some(now) = self.now.get_mut(&event.pid) {
            (now.wait, now.call) = (None, None);
        }
        let task = self.line.tasks.entry(event.pid).or_default();
        task.waits.push(wait);
        if event.tgid != event.pid {
            task.parent.get_or_insert(event.tgid);
        }
        self.in_calls.entry(event.pid).or_default().push(((wait.begin_ns, at.time_ns), in_call));
        if let (Some(before), Some(name)) =
            (event.before_pid.filter(|pid| *pid > 0), event.before_comm)
        {
            self.name(before, name);
        }
    }

    fn handle_waited(&mut self, at: At, event: &HandleWait) {
        let handle = Handle {
            device: event.dev,
            tid: event.tid,
            kind: event.kind,
            asked_ns: Some(event.begin_ns),
            begin_ns: at.time_ns,
            end_ns: None,
            requested_blocks: event.requested_blocks,
            dirtied_blocks: 0,
            sync: false,
        };
        if self.room() {
            self.line.tasks.entry(at.pid).or_default().handles.push(handle);
        }
    }

    fn handle_held(&mut self, at: At, event: &HandleHeld) {
        let handles = &mut self.line.tasks.entry(at.pid).or_default().handles;
        // One that was waited for has a record already.
        let same = handles.last_mut().filter(|last| {
            (last.device, last.tid) == (event.dev, event.tid)
                && last.end_ns.is_none()
                && last.begin_ns.abs_diff(event.begin_ns) < SAME_NS
        });
        if let Some(handle) = same {
            handle.end_ns = Some(at.time_ns);
            handle.dirtied_blocks = event.dirtied_blocks;
            handle.sync = event.sync;
            return;
        }
        if self.room() {
            self.line.tasks.entry(at.pid).or_default().handles.push(Handle {
                device: event.dev,
                tid: event.tid,
                kind: event.kind,
                asked_ns: None,
                begin_ns: event.begin_ns,
                end_ns: Some(at.time_ns),
                requested_blocks: event.requested_blocks,
                dirtied_blocks: event.dirtied_blocks,
                sync: event.sync,
            });
        }
    }

    fn handles_counted(&mut self, event: &HandleWaits) {
        let handles = &mut self.journal(event.dev).handles;
        handles.count = handles.count.saturating_add(event.count);
        handles.unknown = handles.unknown.saturating_add(event.unpaired);
        handles.sum_wait_ns = handles.sum_wait_ns.saturating_add(event.sum_wait_ns);
        handles.max_wait_ns = handles.max_wait_ns.max(event.max_wait_ns);
        for (bucket, count) in handles.buckets.iter_mut().zip(event.buckets) {
            *bucket = bucket.saturating_add(count);
        }
    }

    fn journal_seen(&mut self, at: At, event: &crate::schema::JournalSample) {
        let blocks = |count: i32| u64::try_from(count).unwrap_or(0);
        let (running, committing) = (event.has & 1 != 0, event.has & 2 != 0);
        let sample = JournalSample {
            time_ns: at.time_ns,
            total_blocks: event.usable_blocks,
            free_blocks: event.free_blocks,
            reserved_credits: blocks(event.reserved_credits),
            max_transaction_blocks: blocks(event.max_transaction_buffers),
            running_tid: if running { event.running_tid } else { 0 },
            running_credits: if running { blocks(event.running_outstanding) } else { 0 },
            running_updates: if running { blocks(event.running_updates) as u32 } else { 0 },
            committing_tid: if committing { event.committing_tid } else { 0 },
            committing_credits: if committing { blocks(event.committing_outstanding) } else { 0 },
            checkpoint_tid: if event.has & 4 != 0 { event.checkpoint_tid } else { 0 },
            checkpoint_blocks: u64::try_from(event.checkpoint_buffers).unwrap_or(0),
        };
        if self.room() {
            self.journal(event.dev).samples.push(sample);
        }
        // Handles are counted and not told one by one: a transaction began when it was first seen.
        if running && event.running_state == 0 {
            let transaction = self.transaction(event.dev, event.running_tid);
            transaction.begin_ns.get_or_insert(at.time_ns);
        }
    }

    fn lists(&mut self, at: At, event: &TransactionLists) {
        let stage = match event.stage {
            1 => Stage::Starting,
            2 => Stage::Locked,
            3 => Stage::Flushing,
            4 => Stage::Logging,
            _ => Stage::Committed,
        };
        let lengths = ListLengths {
            time_ns: at.time_ns,
            stage,
            data_files: event.inodes.into(),
            reserved: event.reserved.into(),
            metadata: event.metadata.into(),
            shadow: event.shadow.into(),
            forget: event.forget.into(),
            checkpoint: event.checkpoint.into(),
            capped: event.capped,
        };
        if self.room() {
            self.transaction(event.dev, event.tid).lists.push(lengths);
        }
    }

    /// Makes calls of sleeps, where no event or record tells the calls themselves.
    pub(super) fn sleeps_to_calls(&mut self) {
        let in_calls = std::mem::take(&mut self.in_calls);
        let arch = self.arch.clone();
        let arch = arch.as_deref();
        for (pid, mut sleeps) in in_calls {
            sleeps.sort_unstable_by_key(|((begin_ns, _), _)| *begin_ns);
            let task: &mut Task = self.line.tasks.entry(pid).or_default();
            let mut syncs: Vec<u64> = task.syncs.iter().map(|sync| sync.begin_ns).collect();
            syncs.sort_unstable();
            let synced = |from_ns: u64, to_ns: u64| {
                let next = syncs.partition_point(|sync_ns| *sync_ns <= from_ns);
                syncs.get(next).is_some_and(|sync_ns| *sync_ns <= to_ns)
            };
            task.calls_are_apart = sleeps.iter().all(|(_, one)| one.entry_ns.is_some());
            // Stays in the kernel, in their order.
            let mut stays: Vec<Slept> = Vec::new();
            for ((begin_ns, end_ns), in_call) in sleeps {
                match stays.last_mut() {
                    Some(((_, last_ns), last))
                        if is_same(arch, last, &in_call, begin_ns.saturating_sub(*last_ns))
                            && (in_call.entry_ns.is_some() || !synced(*last_ns, begin_ns)) =>
                    {
                        *last_ns = end_ns.max(*last_ns);
                    }
                    _ => stays.push(((begin_ns, end_ns), in_call)),
                }
            }
            for ((begin_ns, end_ns), in_call) in stays {
                let Some(number) = in_call.number else {
                    task.faults.push((begin_ns, end_ns));
                    continue;
                };
                if self.line.calls_are_exact {
                    continue;
                }
                let [a, b, c] = in_call.args;
                task.calls.push(Call {
                    number,
                    args: [a, b, c, 0, 0, 0],
                    begin_ns,
                    end_ns: Some(end_ns),
                    ret: 0,
                });
            }
        }
    }
}

/// Whether two sleeps, one after the other with that much time between, are of one stay in the kernel.
fn is_same(arch: Option<&str>, last: &InCall, next: &InCall, gap_ns: u64) -> bool {
    if let (Some(last), Some(next)) = (last.entry_ns, next.entry_ns) {
        return last == next;
    }
    if last.number.is_none() || last != next || gap_ns >= APART_NS {
        return false;
    }
    match Apart::of(arch, next.number) {
        Apart::Sync => true,
        Apart::Counted => next.write_calls != 0 || next.read_calls.is_some_and(|count| count != 0),
        Apart::Not => false,
    }
}

fn processor(event: &Sleep) -> Processor {
    let quota = match (event.quota_ns, event.period_ns, event.throttled_ns) {
        (Some(quota_ns @ 1..), Some(period_ns), Some(throttled_ns)) => {
            Some(Quota { quota_ns, period_ns, throttled_ns })
        }
        _ => None,
    };
    Processor { run_ns: event.run_ns, before_pid: event.before_pid, quota }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Device, Frames, Name};
    use crate::schema::FRAMES;
    use crate::timeline::{Builder, Limits};
    use proptest::prelude::*;

    fn sleep(begin_ns: u64, call: i64, write_calls: u64) -> KernelEvent {
        KernelEvent::Sleep(Sleep {
            pid: 5,
            tgid: 5,
            comm: Name::new(b"writer"),
            state: 2,
            begin_ns,
            woken_ns: begin_ns + 900_000,
            waker_pid: 9,
            waker_comm: Name::new(b"jbd2"),
            waker_context: 0,
            cpu: 0,
            call,
            args: [3, 4, 5],
            write_calls,
            read_calls: None,
            entry_ns: None,
            run_ns: None,
            quota_ns: None,
            period_ns: None,
            throttled_ns: None,
            before_pid: None,
            before_comm: None,
            frames_max: None,
            frames: 1,
            stack: Frames::new([7]),
        })
    }

    #[test]
    fn a_stack_that_fills_its_room_is_cut() {
        let told = |frames: usize, frames_max: Option<u32>| {
            let mut builder = Builder::new(Limits::default());
            let KernelEvent::Sleep(mut one) = sleep(1_000_000, -1, 0) else { return (0, false) };
            // Behind those that count there may be anything.
            one.stack = Frames::new((1..=FRAMES as u64).take(FRAMES));
            (one.frames, one.frames_max) = (frames as u64, frames_max);
            builder.known(
                At { cpu: 8191, time_ns: 9_000_000, pid: 5, context: Context::Task },
                &KernelEvent::Sleep(one),
            );
            let line = builder.finish();
            let stack = line.tasks[&5].waits[0].stack.unwrap();
            (line.stacks.get(stack).len(), line.stacks.is_cut(stack))
        };
        assert_eq!(told(23, None), (23, false));
        assert_eq!(told(24, None), (24, true));
        assert_eq!(told(24, Some(FRAMES as u32)), (24, false));
        assert_eq!(told(FRAMES, Some(FRAMES as u32)), (FRAMES, true));
    }

    #[test]
    fn sleeps_become_calls() {
        let mut builder = Builder::new(Limits::default()).of_arch(Some("x86_64"));
        let at = |time_ns| At { cpu: 8191, time_ns, pid: 5, context: Context::Task };
        let ms = |ms: u64| ms * 1_000_000;
        // Two sleeps of one write, one of the next, two of an fsync, one of the next fsync.
        for (begin_ms, call, write_calls) in [(10, 1, 7), (12, 1, 7), (14, 1, 8), (16, 74, 9)] {
            builder.known(at(ms(begin_ms + 1)), &sleep(ms(begin_ms), call, write_calls));
        }
        builder.known(at(ms(19)), &sleep(ms(18), 74, 9));
        for begin_ms in [15, 20] {
            let enter =
                crate::schema::SyncFileEnter { dev: Device(1), ino: 1, parent: 1, datasync: false };
            builder.sync_begins(at(ms(begin_ms)), &enter);
            builder.sync_ends(at(ms(begin_ms + 4)));
        }
        builder.known(at(ms(23)), &sleep(ms(22), 74, 9));
        let line = builder.finish();
        let task = &line.tasks[&5];
        let calls: Vec<(i64, u64, Option<u64>)> =
            task.calls.iter().map(|call| (call.number, call.begin_ns, call.end_ns)).collect();
        let expected = [(1, 10, 13), (1, 14, 15), (74, 16, 19), (74, 22, 23)];
        assert_eq!(calls, expected.map(|(n, from, to)| (n, ms(from), Some(ms(to)))));
        assert!(!line.calls_are_exact && task.waits.len() == 6);
        assert_eq!(task.waits[0].waker, Some(Waker { pid: 9, context: Context::Task, call: None }));
        assert_eq!(line.task_name(9), Some(Name::new(b"jbd2")));
    }

    /// The recorder looks who sleeps before it ends: what goes on between that and the end is told once.
    #[test]
    fn a_sleep_that_ends_after_the_last_look_is_told_once() {
        let seen = |since_ns: u64| {
            let mut builder = Builder::new(Limits::default());
            let text = format!("task 5 D {since_ns} 1 3 4 5\nvfs_write\n");
            builder.hangs_at_end(&[("hangs at the end".to_owned(), text)].into());
            let at = At { cpu: 0, time_ns: 2_000_000, pid: 5, context: Context::Task };
            builder.known(at, &sleep(1_000_000, 1, 0));
            builder.line.end_ns = 9_000_000;
            let line = builder.finish();
            let task = &line.tasks[&5];
            let waits: Vec<_> =
                task.waits.iter().map(|wait| (wait.begin_ns, wait.end_ns)).collect();
            (waits, task.calls.len())
        };
        let told = (1_000_000, Some(2_000_000));
        assert_eq!(seen(1_000_000), (vec![told], 1));
        assert_eq!(seen(3_000_000), (vec![told, (3_000_000, None)], 2));
    }

    /// A stay of a task in the kernel: the call, and its sleeps as (time before, length), in microseconds.
    type Stay = (usize, u64, Vec<(u64, u64)>);

    const CALLS: [i64; 6] = [0, 1, 4, 257, 74, 82];
    const TOLD_US: u64 = 1_000;

    fn stays() -> impl Strategy<Value = Vec<Stay>> {
        let sleeps = prop::collection::vec((1..30_000_u64, 1..40_000_u64), 0..4);
        prop::collection::vec((0..CALLS.len(), 0..2_u64, sleeps), 1..12)
    }

    /// A sleep as the programs tell it, and the call that it truly was in.
    struct Made {
        sleep: Sleep,
        end_ns: u64,
    }

    /// Plays tasks; gives what is told in the order of its end, the syncs, and for each task its calls with
    /// their sleeps that are told: number, begin and end of the call, first and last of these.
    #[allow(clippy::type_complexity, reason = "three lists of a test")]
    fn played(
        tasks: &[Vec<Stay>],
        knows_entries: bool,
    ) -> (Vec<Made>, Vec<(i32, u64, u64)>, Vec<Vec<(i64, [u64; 2], Option<[u64; 2]>)>>) {
        let (mut made, mut syncs, mut truth) = (Vec::new(), Vec::new(), Vec::new());
        for (stays, pid) in tasks.iter().zip(1..) {
            let mut now_us = 1_000 * u64::try_from(pid).unwrap();
            let (mut reads, mut writes) = (0, 0);
            let mut calls = Vec::new();
            for (call, arg, sleeps) in stays {
                now_us += 5;
                let begin_us = now_us;
                let mut entry_us = None;
                let mut told: Option<[u64; 2]> = None;
                for (before_us, length_us) in sleeps {
                    let from_us = now_us + before_us;
                    now_us = from_us + length_us;
                    let entry = *entry_us.get_or_insert(from_us);
                    if *length_us < TOLD_US {
                        continue;
                    }
                    let first = told.map_or(from_us, |told| told[0]);
                    told = Some([first, now_us]);
                    let KernelEvent::Sleep(mut sleep) =
                        sleep(from_us * 1_000, CALLS[*call], writes)
                    else {
                        unreachable!()
                    };
                    (sleep.pid, sleep.tgid, sleep.args) = (pid, pid, [*arg, 4, 5]);
                    sleep.read_calls = Some(reads);
                    sleep.entry_ns = Some(if knows_entries { entry * 1_000 } else { 0 });
                    made.push(Made { sleep, end_ns: now_us * 1_000 });
                }
                now_us += 3;
                match CALLS[*call] {
                    0 => reads += 1,
                    1 => writes += 1,
                    74 => syncs.push((pid, begin_us * 1_000, now_us * 1_000)),
                    _ => {}
                }
                calls.push((CALLS[*call], [begin_us, now_us], told));
            }
            truth.push(calls);
        }
        made.sort_by_key(|one| one.end_ns);
        (made, syncs, truth)
    }

    fn built(made: &[Made], syncs: &[(i32, u64, u64)]) -> crate::timeline::Timeline {
        let mut builder = Builder::new(Limits::default()).of_arch(Some("x86_64"));
        let at = |pid, time_ns| At { cpu: 8191, time_ns, pid, context: Context::Task };
        for (pid, from_ns, to_ns) in syncs {
            let enter =
                crate::schema::SyncFileEnter { dev: Device(1), ino: 1, parent: 1, datasync: false };
            builder.sync_begins(at(*pid, *from_ns), &enter);
            builder.sync_ends(at(*pid, *to_ns));
        }
        for one in made {
            builder.known(at(one.sleep.pid, one.end_ns), &KernelEvent::Sleep(one.sleep));
        }
        builder.finish()
    }

    /// Few with each push, many where there is time.
    fn cases() -> u32 {
        if std::env::var("BARO_TEST_TIER").is_ok_and(|tier| tier == "push") { 200 } else { 5_000 }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(cases()))]

        /// Where the kernel tells when a task is in its own code, the calls are those that were made.
        #[test]
        fn calls_are_those_that_were_made(tasks in prop::collection::vec(stays(), 1..4)) {
            let (made, syncs, truth) = played(&tasks, true);
            let line = built(&made, &syncs);
            for (calls, pid) in truth.iter().zip(1..) {
                let told: Vec<(i64, u64, Option<u64>)> = calls
                    .iter()
                    .filter_map(|(number, _, told)| told.map(|[from, to]| (*number, from * 1_000, Some(to * 1_000))))
                    .collect();
                let found = line.tasks.get(&pid).map_or(&[][..], |task| &task.calls);
                let found: Vec<(i64, u64, Option<u64>)> =
                    found.iter().map(|call| (call.number, call.begin_ns, call.end_ns)).collect();
                prop_assert_eq!(found, told);
            }
        }

        /// Where it does not, a call may be told in parts, but never two as one; reads, writes and syncs
        /// are told whole.
        #[test]
        fn no_call_is_made_of_two(tasks in prop::collection::vec(stays(), 1..4)) {
            let (made, syncs, truth) = played(&tasks, false);
            let line = built(&made, &syncs);
            for (calls, pid) in truth.iter().zip(1..) {
                let found = line.tasks.get(&pid).map_or(&[][..], |task| &task.calls);
                for call in found {
                    let (from, to) = (call.begin_ns, call.end_ns.unwrap());
                    let within = |[begin_us, end_us]: [u64; 2]| from >= begin_us * 1_000 && to <= end_us * 1_000;
                    prop_assert!(
                        calls.iter().any(|(number, span, _)| *number == call.number && within(*span)),
                        "{call:?} of {calls:?}"
                    );
                }
            }
        }
    }
}
