//! What happened, by task, journal and disk: events put together to spans.
//!
//! A [`Builder`] takes the events of a trace in the order of time and keeps what an analysis asks
//! for: calls and waits of each task, handles and transactions of each journal, requests of each
//! disk. Both collectors end here: events of the scheduler and of system calls that tell each step,
//! and records of the probes that tell a whole wait or call.
//!
//! Times are nanoseconds of the tracer's clock. A span that was open when the trace began or ended
//! has `None` for the missing side, never a made-up time.
//!
//! Invariant: a span belongs to one task, journal or disk; spans of one list are in the order of
//! their beginnings. Memory is bounded by what [`Limits`] says, and what did not fit is counted.
//! Held by `a_sync_of_every_fixture_is_put_together`.

mod build;
mod disk;
mod journal;
mod stack;
mod task;
#[cfg(test)]
mod tests;

pub(crate) use build::named_addresses;
pub use build::{Builder, Limits};
pub use disk::{Disk, Request};
pub use journal::{
    CheckpointCall, HandleWaits, Journal, JournalSample, KINDS_MAX, ListLengths, Stage, TailMove,
    Transaction, WAIT_BUCKETS,
};
pub use stack::{StackId, Stacks, Symbols};
pub use task::{
    Ask, Call, CallCount, Context, Handle, Move, Processor, Quota, Sync, Task, Throttle, Wait,
    WaitKind, Waker,
};

use crate::record::{Device, Name};
use std::collections::BTreeMap;

/// All spans of a trace.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Time of the first event.
    pub begin_ns: u64,
    /// Time of the last event.
    pub end_ns: u64,
    /// Tasks by pid; 0 is the idle task of all processors and has no spans.
    pub tasks: BTreeMap<i32, Task>,
    /// Journals by the file system's device.
    pub journals: BTreeMap<Device, Journal>,
    /// Disks; a partition's requests are those of its disk.
    pub disks: BTreeMap<Device, Disk>,
    /// Kernel stacks that waits refer to.
    pub stacks: Stacks,
    /// Functions that stacks name and that have no address in the trace; see `named_addresses`.
    pub named_functions: Vec<String>,
    /// Samples of what is dirty in the whole machine, in pages: (time, dirty, limit).
    pub dirty_pages: Vec<(u64, u64, u64)>,
    /// Events.
    pub events: u64,
    /// Events that were lost before they were read, as far as the pages tell.
    pub lost_events: u64,
    /// Places where events were lost whose number is not known.
    pub lost_places: u64,
    /// Damaged pages.
    pub damaged_pages: u64,
    /// Spans that were dropped as there were more than [`Limits`] allows.
    pub dropped_spans: u64,
    /// True if the bounds of calls are known by events or records of their own; else calls were
    /// put together from the waits in them.
    pub calls_are_exact: bool,
    /// Each call was seen to return. Else [`Task::call_counts`] count only those that are kept: calls that
    /// slept, or were slow.
    pub calls_are_counted: bool,
    /// The trace ends before its recording did: it is torn, or nobody ended it. What was lost at its end
    /// is not known.
    pub is_cut: bool,
}

impl Timeline {
    /// Whether nothing is missing that was to be recorded, as far as the trace tells.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        !self.is_cut
            && (self.lost_events, self.lost_places) == (0, 0)
            && (self.damaged_pages, self.dropped_spans) == (0, 0)
    }

    /// The name of a task; None if no event and no list told it.
    #[must_use]
    pub fn task_name(&self, pid: i32) -> Option<Name> {
        self.tasks.get(&pid).map(|task| task.name).filter(|name| !name.as_bytes().is_empty())
    }

    /// How long the trace is.
    #[must_use]
    pub fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}
