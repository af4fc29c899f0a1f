//! Records of the probes: whole waits, handles and calls, and what they saw of journals.
//!
//! Without records of calls a call is what sleeps have in common: the same call with the same
//! arguments, of as many calls before that wrote, with little time between. Its beginning is then that
//! of its first sleep, and its end that of its last; the syncs of ext4 have events of their own.
//!
//! Invariant: sleeps of two syncs, or of two writes where the kernel counts writes, make two calls.
//! Held by `sleeps_become_calls`.

use super::{At, Builder};
use crate::record::Frames;
use crate::schema::{HandleHeld, HandleWait, HandleWaits, KernelEvent, Sleep, TransactionLists};
use crate::timeline::{
    Call, Context, Handle, JournalSample, ListLengths, Stage, Task, Wait, WaitKind, Waker,
};

/// Sleeps of one call that are further apart are told as two calls: a task that runs for so long does
/// other things.
const APART_NS: u64 = 20_000_000;
/// What the clocks of one handle's two records may differ by.
const SAME_NS: u64 = 50_000;

/// What tells the sleeps of one call from those of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InCall {
    number: i64,
    args: [u64; 3],
    write_calls: u64,
}

/// A sleep, from and to, and the call that it was in.
pub(super) type Slept = ((u64, u64), InCall);

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
                    begin_ns: event.begin_ns,
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
        });
        let frames = usize::try_from(event.frames).unwrap_or(0);
        let stack = Frames::new(event.stack.into_iter().take(frames));
        let is_sleep = event.state != 0;
        let wait = Wait {
            kind: if is_sleep { WaitKind::Sleep } else { WaitKind::Runnable },
            begin_ns: event.begin_ns,
            woken_ns: (is_sleep && event.woken_ns != 0).then_some(event.woken_ns),
            end_ns: Some(at.time_ns),
            stack: (!stack.addresses().is_empty()).then(|| self.line.stacks.add(stack)),
            waker: waker.filter(|_| is_sleep),
            next_pid: None,
        };
        if !self.room() {
            return;
        }
        let in_call = (event.call >= 0).then_some(InCall {
            number: event.call,
            args: event.args,
            write_calls: event.write_calls,
        });
        self.line.begin_ns = self.line.begin_ns.min(event.begin_ns);
        self.line.tasks.entry(event.pid).or_default().waits.push(wait);
        if let Some(in_call) = in_call {
            let span = (wait.begin_ns, at.time_ns);
            self.in_calls.entry(event.pid).or_default().push((span, in_call));
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
        if self.line.calls_are_exact {
            return;
        }
        for (pid, mut sleeps) in in_calls {
            sleeps.sort_unstable_by_key(|((begin_ns, _), _)| *begin_ns);
            let task: &mut Task = self.line.tasks.entry(pid).or_default();
            let mut last: Option<InCall> = None;
            let mut syncs: Vec<u64> = task.syncs.iter().map(|sync| sync.begin_ns).collect();
            syncs.sort_unstable();
            for ((begin_ns, end_ns), in_call) in sleeps {
                let of_last = task.calls.last().and_then(|call| call.end_ns);
                let synced = of_last.is_some_and(|last_ns| {
                    let next = syncs.partition_point(|sync_ns| *sync_ns <= last_ns);
                    syncs.get(next).is_some_and(|sync_ns| *sync_ns <= begin_ns)
                });
                match task.calls.last_mut() {
                    Some(call)
                        if last == Some(in_call)
                            && !synced
                            && call.end_ns.is_some_and(|at| at + APART_NS > begin_ns) =>
                    {
                        call.end_ns = call.end_ns.max(Some(end_ns));
                    }
                    _ => {
                        let [a, b, c] = in_call.args;
                        task.calls.push(Call {
                            number: in_call.number,
                            args: [a, b, c, 0, 0, 0],
                            begin_ns,
                            end_ns: Some(end_ns),
                            ret: 0,
                        });
                    }
                }
                last = Some(in_call);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{Device, Name};
    use crate::schema::FRAMES;
    use crate::timeline::{Builder, Limits};

    fn sleep(begin_ns: u64, call: i64, write_calls: u64) -> KernelEvent {
        let mut stack = [0; FRAMES];
        stack[0] = 7;
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
            frames: 1,
            stack,
        })
    }

    #[test]
    fn sleeps_become_calls() {
        let mut builder = Builder::new(Limits::default());
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
        assert_eq!(task.waits[0].waker, Some(Waker { pid: 9, context: Context::Task }));
        assert_eq!(line.task_name(9), Some(Name::new(b"jbd2")));
    }
}
