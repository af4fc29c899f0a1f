//! A task: its system calls, its waits, its handles.

use super::stack::StackId;
use crate::record::{Device, Name};
use std::collections::BTreeMap;

/// Requests of one task to a file system that are looked at for one that has no answer yet.
const ASKS_AT_ONCE: usize = 64;

/// What is known of one task (a thread; its pid is what `gettid` says).
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// Its name, the last that was heard.
    pub name: Name,
    /// The task that made it, if that was within the trace.
    pub parent: Option<i32>,
    /// Whether the recorder saw that it is one of the kernel's own, which makes no calls.
    pub is_kernels: bool,
    /// System calls that took long enough to be told one by one; see [`super::Limits`].
    pub calls: Vec<Call>,
    /// Of calls that last longer than until their event of return, as a wait came right behind it: when they began,
    /// and that event's time. Whether the wait was in the call or in the program's own code no event tells.
    pub returns: Vec<(u64, u64)>,
    /// All system calls, by number.
    pub call_counts: BTreeMap<i64, CallCount>,
    /// Times when it did not run.
    pub waits: Vec<Wait>,
    /// Handles of journals.
    pub handles: Vec<Handle>,
    /// fsync and fdatasync as ext4 tells them.
    pub syncs: Vec<Sync>,
    /// Sleeps because too much was dirty.
    pub throttles: Vec<Throttle>,
    /// Times in which it looked for free memory itself: (begin, end).
    pub reclaims: Vec<(u64, u64)>,
    /// Requests that it made to a program that is a file system.
    pub asks: Vec<Ask>,
    /// Times in which it was off the processor within one stay in the kernel that was no call.
    pub faults: Vec<(u64, u64)>,
    /// Control groups that it was moved to.
    pub moves: Vec<Move>,
    /// Whether where its calls begin and end is known, or sleeps of unknown calls are told one by one.
    pub calls_are_apart: bool,
    /// When it was made, if within the trace.
    pub born_ns: Option<u64>,
    /// When it ended, if within the trace.
    pub ended_ns: Option<u64>,
}

/// A task came to a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// When.
    pub at_ns: u64,
    /// The group's hierarchy: 0 is that of the second version.
    pub hierarchy: i32,
    /// The group, from the hierarchy's root on; None: its path was too long to be kept.
    pub group: Option<String>,
}

/// A request to a program that is a file system (FUSE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// When it was sent.
    pub begin_ns: u64,
    /// When it was answered; None if that was not within the trace.
    pub end_ns: Option<u64>,
    /// The task that answered.
    pub answered_by: Option<i32>,
}

impl Task {
    /// The request that was without an answer at a time.
    #[must_use]
    pub fn asked(&self, time_ns: u64) -> Option<&Ask> {
        let after = self.asks.partition_point(|ask| ask.begin_ns <= time_ns);
        // What is read ahead is asked for at once, and answered in any order.
        let mut asked = self.asks.get(..after)?.iter().rev().take(ASKS_AT_ONCE);
        asked.find(|ask| ask.end_ns.is_none_or(|end_ns| end_ns > time_ns))
    }
}

/// A system call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number on the traced machine.
    pub number: i64,
    /// Its arguments; those that are not known are 0.
    pub args: [u64; 6],
    /// When it began.
    pub begin_ns: u64,
    /// When it ended; None if it had not when the trace did.
    pub end_ns: Option<u64>,
    /// What it returned; an error is its negative errno. 0 if not known.
    pub ret: i64,
}

/// System calls of one number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallCount {
    /// Calls that ended.
    pub count: u64,
    /// Those of them that failed.
    pub failed: u64,
    /// Time in all of them.
    pub sum_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// Sum of what those returned that did not fail: bytes, of reads and writes.
    pub sum_ret: u64,
}

impl CallCount {
    /// Counts a call that took so long and returned this.
    pub(super) fn add(&mut self, duration_ns: u64, ret: i64) {
        self.count += 1;
        self.failed += u64::from(ret < 0);
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
        self.sum_ret = self.sum_ret.saturating_add(u64::try_from(ret).unwrap_or(0));
    }
}

/// Why a task did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitKind {
    /// It slept and no signal could wake it (D); or only a deadly one.
    Sleep,
    /// It slept and signals could wake it (S).
    Interruptible,
    /// It would have run, but another did, or its group had no share of the processors left.
    Runnable,
    /// It was stopped: by a signal, by a debugger, or its group is frozen.
    Stopped,
}

/// What is known of a task and its processor around a wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// How long the task had been on a processor before the wait, in all that was counted.
    pub run_ns: Option<u64>,
    /// The task that had the processor just before this one went on; 0 is the idle task.
    pub before_pid: Option<i32>,
    /// What its group may have of the processors.
    pub quota: Option<Quota>,
}

/// What a control group may have of the processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    /// So much of each period.
    pub quota_ns: u64,
    /// The period.
    pub period_ns: u64,
    /// How long the group has been held for it, up to the end of the wait.
    pub throttled_ns: u64,
}

/// A time in which a task did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Why.
    pub kind: WaitKind,
    /// When it stopped to run.
    pub begin_ns: u64,
    /// When it was woken; None of one that was [`WaitKind::Runnable`] all the time, or if that was
    /// not recorded.
    pub woken_ns: Option<u64>,
    /// When it ran again; None if it had not when the trace ended.
    pub end_ns: Option<u64>,
    /// Where in the kernel it was.
    pub stack: Option<StackId>,
    /// Who woke it.
    pub waker: Option<Waker>,
    /// The task that got its processor; 0 is the idle task. None if not recorded.
    pub next_pid: Option<i32>,
    /// What is known of processors around it.
    pub processor: Processor,
}

/// Who woke a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waker {
    /// The task that ran on that processor; 0 is the idle task.
    pub pid: i32,
    /// What that processor did.
    pub context: Context,
    /// The number of the call that this task was in, where calls are recorded.
    pub call: Option<i64>,
}

/// What a processor did when an event happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// The task itself.
    Task,
    /// A soft interrupt, as when a timer or a disk is done: the task has nothing to do with it.
    SoftInterrupt,
    /// A hardware interrupt.
    Interrupt,
}

/// A handle: the right to change some blocks in one transaction of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// The journal's file system.
    pub device: Device,
    /// The transaction it was given a place in.
    pub tid: u32,
    /// What it is for: a number of the file system's own; see `EXT4_HT_*`.
    pub kind: u32,
    /// When it was asked for; None if that was not recorded, as of restarted ones.
    pub asked_ns: Option<u64>,
    /// When it was given.
    pub begin_ns: u64,
    /// When it was given back; None if it had not been when the trace ended, or nobody recorded it.
    pub end_ns: Option<u64>,
    /// Blocks it might change.
    pub requested_blocks: i32,
    /// Blocks it changed.
    pub dirtied_blocks: i32,
    /// Whether its owner waited for the commit.
    pub sync: bool,
}

/// An fsync or fdatasync in ext4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sync {
    /// The file system.
    pub device: Device,
    /// The file.
    pub ino: u64,
    /// True for fdatasync.
    pub data_only: bool,
    /// When it began.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: Option<u64>,
}

/// The kernel made a writer sleep since too much was dirty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttle {
    /// When the sleep began.
    pub begin_ns: u64,
    /// How long it was to be, in milliseconds.
    pub pause_ms: u64,
    /// The device's name in `/sys/class/bdi`.
    pub bdi: Name,
    /// Dirty pages of the machine.
    pub dirty: u64,
    /// Where all writers of the machine stop, in pages.
    pub limit: u64,
    /// What the kernel steers to, in pages.
    pub setpoint: u64,
    /// Dirty pages of the device.
    pub device_dirty: u64,
    /// The device's share of the setpoint.
    pub device_setpoint: u64,
    /// Rate the task was allowed, in KB/s.
    pub task_rate_kbs: u64,
    /// Rate every writer of the device was allowed, in KB/s.
    pub device_rate_kbs: u64,
}

impl Handle {
    /// How long it was waited for; None if nobody knows.
    #[must_use]
    pub fn wait_ns(&self) -> Option<u64> {
        self.asked_ns.map(|asked_ns| self.begin_ns.saturating_sub(asked_ns))
    }
}

impl Wait {
    /// How long it took, up to `now_ns` if it has not ended.
    #[must_use]
    pub fn duration_ns(&self, now_ns: u64) -> u64 {
        self.end_ns.unwrap_or(now_ns).saturating_sub(self.begin_ns)
    }
}
