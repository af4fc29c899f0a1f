//! What settling has read of the log, told to the recorder in the same process: a segment may be reused
//! after its samples were read and before the run with them is committed. What was read then is not lost,
//! unless that run never comes.
//!
//! Invariant: of a reused segment each durable record is in a run or is counted. Held by
//! `what_settling_had_read_is_not_lost` (the store's `tests/settling_loses.rs`).

use crate::Held;
use baro_ondisk::Settled;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shared by a recorder and the settler beside it. Each call takes a lock for a few instructions.
#[derive(Debug, Default)]
pub struct Taken {
    inner: Mutex<Inner>,
}

/// What is lost with segments that were reused before they were settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostUnsettled {
    /// Segments of which something is lost, or of which nothing is known.
    pub segments: u32,
    /// What they held that is in no run.
    pub held: Held,
}

#[derive(Debug, Default)]
struct Inner {
    /// Of epochs that are not settled whole, in order.
    epochs: Vec<Epoch>,
    settled: Settled,
    /// With epochs that are not in the list any more.
    lost: LostUnsettled,
}

/// A reused segment that is older than so many others has been written over: nothing reads it any more.
const EPOCHS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    epoch: u64,
    /// What was read of it since the settler was opened.
    read: Held,
    /// Of that, what is in runs.
    in_runs: Held,
    /// What was durable in it when its segment was reused: what was read is nowhere else.
    gone: Option<Held>,
}

impl Epoch {
    fn lost(&self) -> LostUnsettled {
        let held = self.gone.unwrap_or_default().without(self.read);
        LostUnsettled { segments: u32::from(held != Held::default()), held }
    }
}

impl LostUnsettled {
    fn plus(self, other: LostUnsettled) -> LostUnsettled {
        let segments = self.segments.saturating_add(other.segments);
        LostUnsettled { segments, held: self.held.plus(other.held) }
    }
}

impl Inner {
    fn at(&mut self, epoch: u64) -> &mut Epoch {
        let at = self.epochs.partition_point(|known| known.epoch < epoch);
        if self.epochs.get(at).is_none_or(|known| known.epoch != epoch) {
            self.epochs.insert(at, Epoch { epoch, ..Epoch::default() });
        }
        &mut self.epochs[at]
    }

    /// What is settled whole is over: what was not read of it is lost.
    fn settle(&mut self, settled: Settled) {
        self.settled = self.settled.max(settled);
        while self.epochs.first().is_some_and(|first| first.epoch < self.settled.epoch) {
            self.lost = self.lost.plus(self.epochs.remove(0).lost());
        }
    }
}

impl Taken {
    /// A settler reads from the boundary on, which is `settled`: what was read before and is in no run will
    /// be in none.
    pub fn begin(&self, settled: Settled) {
        let mut inner = self.inner();
        inner.epochs.iter_mut().for_each(|known| known.read = known.in_runs);
        inner.settle(settled);
    }

    /// So much of this epoch is in runs since an earlier session.
    pub fn in_runs(&self, epoch: u64, held: Held) {
        if held != Held::default() {
            let mut inner = self.inner();
            let known = inner.at(epoch);
            known.read = known.read.plus(held);
            known.in_runs = known.in_runs.plus(held);
        }
    }

    /// It has read a block of this epoch, which held this; maybe after its segment was chosen to be reused,
    /// and before it was written over.
    pub fn read(&self, epoch: u64, held: Held) {
        let mut inner = self.inner();
        let known = inner.at(epoch);
        known.read = known.read.plus(held);
    }

    /// All that was read is in runs, and those are durable: the log is settled so far.
    pub fn committed(&self, settled: Settled) {
        let mut inner = self.inner();
        inner.epochs.iter_mut().for_each(|known| known.in_runs = known.read);
        inner.settle(settled);
    }

    /// Whether something that was read is in no run yet, and nowhere else.
    #[must_use]
    pub fn holds_the_only_copy(&self) -> bool {
        self.inner().epochs.iter().any(|known| known.gone.is_some() && known.read != known.in_runs)
    }

    /// The segment of this epoch is to be reused, in which so much is durable. Before it is written over.
    pub fn reused(&self, epoch: u64, held: Held) {
        let mut inner = self.inner();
        if epoch < inner.settled.epoch {
            return;
        }
        inner.at(epoch).gone = Some(held);
        // Where nothing is settled for long, the list does not grow for ever.
        if inner.epochs.len() > EPOCHS_MAX {
            let oldest = inner.epochs.remove(0);
            inner.lost = inner.lost.plus(oldest.lost());
        }
    }

    /// A segment is reused of which is not known what it held.
    pub fn reused_unknown(&self) {
        self.inner().lost.segments += 1;
    }

    /// What is lost so far.
    #[must_use]
    pub fn lost(&self) -> LostUnsettled {
        let inner = self.inner();
        inner.epochs.iter().fold(inner.lost, |sum, known| sum.plus(known.lost()))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(records: u64) -> Held {
        Held { records, samples: 10 * records }
    }

    fn at(epoch: u64) -> Settled {
        Settled { epoch, end: 0 }
    }

    #[test]
    fn what_was_not_read_is_lost_and_what_was_read_only_if_no_run_comes() {
        let taken = Taken::default();
        taken.begin(at(1));
        taken.read(1, held(3));
        taken.reused(1, held(5));
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(2) });
        assert!(taken.holds_the_only_copy());
        // A block more is read before the segment is written over.
        taken.read(1, held(1));
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(1) });
        // The run does not come; the next step finds nothing of that epoch.
        taken.begin(at(1));
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(5) });
        assert!(!taken.holds_the_only_copy());
        taken.begin(at(1));
        assert_eq!(taken.lost().held, held(5));
    }

    #[test]
    fn what_is_in_runs_is_not_lost_also_in_the_middle_of_a_segment() {
        let taken = Taken::default();
        taken.begin(at(1));
        taken.read(1, held(4));
        taken.read(2, held(1));
        taken.reused(1, held(4));
        taken.committed(Settled { epoch: 2, end: 9 });
        taken.begin(Settled { epoch: 2, end: 9 });
        assert_eq!(taken.lost(), LostUnsettled::default());
        taken.reused(2, held(3));
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(2) });
        // Settled whole before the recorder has heard of it.
        taken.begin(at(2));
        taken.committed(at(4));
        taken.reused(3, held(7));
        assert_eq!(taken.lost().held, held(2));
        taken.reused_unknown();
        assert_eq!(taken.lost(), LostUnsettled { segments: 2, held: held(2) });
    }
}
