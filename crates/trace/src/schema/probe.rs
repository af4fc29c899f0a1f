//! Records of the probes: what programs in the kernel found out, in the form of events.
//!
//! Made by the collector that attaches programs to BTF tracepoints; a trace that was recorded
//! without it has none of them. Times in fields are nanoseconds of the tracer's clock. The time of
//! the event itself is the end of what it tells, unless said otherwise.

use super::events;
use crate::record::{Device, Frames, Name};

/// Frames of a kernel stack, innermost first, that there is room for.
pub const FRAMES: usize = 48;
/// Those of traces that do not say it.
pub const FRAMES_BEFORE: usize = 24;
/// Classes of waits by their logarithm: class n has those of 2^n ns and less than twice that. Those
/// that never left the processor did not wait, and are in class 0.
pub const BUCKETS: usize = 40;

events! {
    "baro";
    /// A task runs again after it was off the processor for long.
    "baro_sleep" => Sleep, SleepSchema {
        /// The task.
        pid: i32 = "pid",
        /// Its process.
        tgid: i32 = "tgid",
        /// Its name.
        comm: Name = "comm",
        /// Why it did not run: 0 it could have, 1 it slept and could be interrupted, 2 it slept and could
        /// not (D), 4 it was stopped.
        state: u32 = "state",
        /// Since when.
        begin_ns: u64 = "begin_ns",
        /// When it was woken, and from then on waited for a processor; 0 if not known.
        woken_ns: u64 = "woken_ns",
        /// The task in whose context it was woken; 0 the idle one, -1 not known.
        waker_pid: i32 = "waker_pid",
        /// Its name.
        waker_comm: Name = "waker_comm",
        /// What woke it: 0 that task, 1 a softirq, 2 a hardirq, 3 one of these two.
        waker_context: u32 = "waker_context",
        /// The processor that it runs on now.
        cpu: u32 = "cpu",
        /// The system call that it is in, by its number on this architecture; -1 in none.
        call: i64 = "call",
        /// The call's first arguments.
        args: [u64; 3] = "args",
        /// How many calls that write it has ended: another write, another number. 0 where the kernel does
        /// not count them.
        write_calls: u64 = "write_calls",
        /// The same of calls that read. Not in older traces, as all that follows up to `frames`.
        read_calls: Option<u64> = "read_calls",
        /// When the task was first off the processor since it came into the kernel: another call or page
        /// fault, another time. 0 where nothing tells that it was in its own code in between.
        entry_ns: Option<u64> = "entry_ns",
        /// How long it has been on a processor in all of its life.
        run_ns: Option<u64> = "run_ns",
        /// How much of each period its group may have of the processors; 0 if there is no such limit.
        quota_ns: Option<u64> = "quota_ns",
        /// The length of that period.
        period_ns: Option<u64> = "period_ns",
        /// How long that group has been held for it, on all processors, up to now.
        throttled_ns: Option<u64> = "throttled_ns",
        /// The task that had the processor before it; 0 the idle one.
        before_pid: Option<i32> = "before_pid",
        /// Its name.
        before_comm: Option<Name> = "before_comm",
        /// How many frames there was room for; of older traces [`FRAMES_BEFORE`].
        frames_max: Option<u32> = "frames_max",
        /// How many entries of `stack` count; the event may end behind them.
        frames: u64 = "frames",
        /// Where in the kernel it slept, innermost first, without the scheduler's functions.
        stack: Frames = "stack",
    }
    /// A task has waited long for a handle.
    "baro_handle" => HandleWait, HandleWaitSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction in which it got its place.
        tid: u32 = "tid",
        /// What the handle is for.
        kind: u32 = "kind",
        /// The line of the caller's source.
        line: u32 = "line",
        /// When it asked for the handle.
        begin_ns: u64 = "begin_ns",
        /// Blocks that it may change.
        requested_blocks: i32 = "requested_blocks",
    }
    /// A handle ends that was open long, or that is synchronous.
    "baro_held" => HandleHeld, HandleHeldSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction.
        tid: u32 = "tid",
        /// What the handle was for.
        kind: u32 = "kind",
        /// The line of the caller's source.
        line: u32 = "line",
        /// When it got its place.
        begin_ns: u64 = "begin_ns",
        /// Blocks that it was allowed to change.
        requested_blocks: i32 = "requested_blocks",
        /// Blocks that it changed.
        dirtied_blocks: i32 = "dirtied_blocks",
        /// True if its commit is waited for.
        sync: bool = "sync",
    }
    /// All waits for handles of one file system since the event of this kind before.
    "baro_handles" => HandleWaits, HandleWaitsSchema {
        /// The journal's file system; 0 those for which the probes had no place.
        dev: Device = "dev",
        /// Since when.
        begin_ns: u64 = "begin_ns",
        /// Handles that began.
        count: u64 = "count",
        /// Those of them of which the beginning of the wait is not known: in no class.
        unpaired: u64 = "unpaired",
        /// All waits together.
        sum_wait_ns: u64 = "sum_wait_ns",
        /// The longest wait since the recording began.
        max_wait_ns: u64 = "max_wait_ns",
        /// How many waits were of which class, see [`BUCKETS`].
        buckets: [u64; BUCKETS] = "buckets",
    }
    /// A system call ends in which its task slept long or was busy for long.
    "baro_call" => Call, CallSchema {
        /// The call's number on this architecture.
        number: i64 = "number",
        /// Its arguments.
        args: [u64; 6] = "args",
        /// When it began.
        begin_ns: u64 = "begin_ns",
        /// What it returns; an error is its negative errno.
        ret: i64 = "ret",
        /// How long it did not run.
        wait_ns: u64 = "wait_ns",
    }
    /// How full a journal is.
    "baro_journal" => JournalSample, JournalSampleSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// At which event: 0 a handle began, 1 to 6 as `stage` of [`TransactionLists`], 7 the
        /// journal's tail moves, 8 a checkpoint.
        reason: u32 = "reason",
        /// Blocks that are free.
        free_blocks: u64 = "free_blocks",
        /// Blocks that the journal has, its superblock and those of fast commits counted.
        total_blocks: u64 = "total_blocks",
        /// Blocks that transactions can use.
        usable_blocks: u64 = "usable_blocks",
        /// Blocks that are still to be written to their places; near the truth.
        checkpoint_buffers: i64 = "checkpoint_buffers",
        /// Blocks that reserved handles have set aside.
        reserved_credits: i32 = "reserved_credits",
        /// The most blocks of one transaction.
        max_transaction_buffers: i32 = "max_transaction_buffers",
        /// The transaction that takes handles; see `has`.
        running_tid: u32 = "running_tid",
        /// Its state as jbd2 counts: 0 running, 1 locked, 2 switch, 3 flush, 4 to 7 commit.
        running_state: i32 = "running_state",
        /// Blocks that it has promised to handles.
        running_outstanding: i32 = "running_outstanding",
        /// Blocks of metadata that it has.
        running_buffers: i32 = "running_buffers",
        /// Handles of it that are open.
        running_updates: i32 = "running_updates",
        /// Handles that it has had.
        running_handles: i32 = "running_handles",
        /// The transaction that is being committed; see `has`.
        committing_tid: u32 = "committing_tid",
        /// Its state.
        committing_state: i32 = "committing_state",
        /// Blocks that it may still need in the journal.
        committing_outstanding: i32 = "committing_outstanding",
        /// Blocks of metadata that it has.
        committing_buffers: i32 = "committing_buffers",
        /// The oldest transaction that is still in the journal; see `has`.
        checkpoint_tid: u32 = "checkpoint_tid",
        /// Which there are: 1 a running, 2 a committing one, 4 one to be checkpointed.
        has: u32 = "has",
    }
    /// How long the lists of a transaction are, when it goes from one stage to the next.
    "baro_lists" => TransactionLists, TransactionListsSchema {
        /// The journal's file system.
        dev: Device = "dev",
        /// The transaction.
        tid: u32 = "tid",
        /// The stage that begins: 1 the commit starts, 2 locking, 3 flushing, 4 logging, 5 the
        /// commit has ended, 6 the transaction is dropped.
        stage: u32 = "stage",
        /// Its state as jbd2 counts.
        state: i32 = "state",
        /// Handles that it has had.
        handles: i32 = "handles",
        /// Blocks that it has promised to handles.
        outstanding: i32 = "outstanding",
        /// Blocks that handles asked for and have not changed.
        reserved: u32 = "reserved",
        /// Blocks of metadata to be logged.
        metadata: u32 = "metadata",
        /// Blocks that need no logging any more, or were logged.
        forget: u32 = "forget",
        /// Blocks that are being logged.
        shadow: u32 = "shadow",
        /// Blocks that are to be written to their places.
        checkpoint: u32 = "checkpoint",
        /// Files whose data goes before the commit.
        inodes: u32 = "inodes",
        /// True if a list was too long to be counted to its end: the last that is not 0, and those
        /// after it.
        capped: bool = "capped",
    }
}
