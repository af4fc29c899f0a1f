//! How much of a span a task did not run: asked of each of its calls, which may all span all its waits.

use super::chain::Span;
use super::{Cause, Knowledge};
use crate::timeline::{Task, Wait, WaitKind};

/// When a task did not run: all of it, and without sleeps that signals end.
pub(super) struct Slept {
    pub(super) all: Times,
    pub(super) hard: Times,
    /// When it was stopped.
    pub(super) stopped: Times,
}

impl Slept {
    pub(super) fn of(known: &Knowledge, task: &Task) -> Self {
        let end_ns = known.line.end_ns;
        let times = |counts: &dyn Fn(&Wait) -> bool| {
            let mut times = Times::default();
            for wait in task.waits.iter().filter(|wait| counts(wait)) {
                times.add(wait.begin_ns, wait.end_ns.unwrap_or(end_ns));
            }
            times
        };
        Self {
            all: times(&|_| true),
            hard: times(&|one| is_hard(known, task, one)),
            stopped: times(&|one| one.kind == WaitKind::Stopped),
        }
    }
}

/// Whether a wait makes a call late, whatever the call: no signal ends it, or its stack or an event says that
/// it is for storage.
pub(super) fn is_hard(known: &Knowledge, task: &Task, wait: &Wait) -> bool {
    if wait.kind != WaitKind::Interruptible || task.asked(wait.begin_ns).is_some() {
        return true;
    }
    let Some(place) = known.place(wait.stack) else { return false };
    place.layers.iter().any(|layer| layer.cause != Cause::Timer)
}

/// Times one after the other, and how much of them is in any span. Where those of a damaged trace go
/// back, what is there twice counts once.
#[derive(Default)]
pub(super) struct Times {
    begins_ns: Vec<u64>,
    ends_ns: Vec<u64>,
    /// Of all before each, and in the end of all.
    sums_ns: Vec<u64>,
}

impl Times {
    fn add(&mut self, begin_ns: u64, end_ns: u64) {
        let begin_ns = begin_ns.max(self.ends_ns.last().copied().unwrap_or(0));
        if begin_ns < end_ns {
            self.begins_ns.push(begin_ns);
            self.ends_ns.push(end_ns);
            let sum_ns = self.sums_ns.last().map_or(0, |sum_ns| *sum_ns);
            self.sums_ns.push(sum_ns + (end_ns - begin_ns));
        }
    }

    pub(super) fn within(&self, span: Span) -> u64 {
        self.until(span.end_ns).saturating_sub(self.until(span.begin_ns))
    }

    /// How much there is before a time.
    fn until(&self, time_ns: u64) -> u64 {
        let begun = self.begins_ns.partition_point(|begin_ns| *begin_ns < time_ns);
        let Some(last) = begun.checked_sub(1) else { return 0 };
        let at = |all: &[u64]| all.get(last).copied().unwrap_or(0);
        at(&self.sums_ns).saturating_sub(at(&self.ends_ns).saturating_sub(time_ns))
    }
}
