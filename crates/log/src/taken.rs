//! What settling has read of the log, told to the recorder in the same process: a segment may be reused
//! after its samples were read and before the run with them is committed. What was read then is not lost,
//! unless that run never comes.
//!
//! Invariant: of a reused segment each durable record is in a run or is counted. Held by
//! `what_settling_had_read_is_not_lost` (the store's `tests/settling_loses.rs`).

use crate::Held;
use baro_ondisk::{Settled, Waiting};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Shared by a recorder and the settler beside it. The settler's thread may be of the lowest priority: so the
/// recorder's writer never waits for the lock, and what it could not tell it tells later.
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

/// What of the log is lost, and what is lost unless a run comes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SoFar {
    /// In no run, and in none that is to come.
    pub lost: LostUnsettled,
    /// Read by a settler that has not put it into a run yet, and nowhere else.
    pub waiting: [Waiting; Waiting::MAX],
}

/// A segment that is reused though not all of it is known to be in runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reused {
    /// Its epoch, and what was durable in it; `None` if that is not known.
    pub held: Option<(u64, Held)>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Of epochs that were read or reused, in order.
    epochs: Vec<Epoch>,
    settled: Settled,
    /// A settler has begun: nobody else settles from then on.
    begun: bool,
    /// Below, all is in runs, or is counted in `lost`.
    over: u64,
    lost: LostUnsettled,
}

/// Epochs that are settled or reused are kept so long: what is told of one comes a moment late at most.
const EPOCHS_MAX: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    epoch: u64,
    /// What was read of it.
    read: Held,
    /// Of that, what is in runs.
    in_runs: Held,
    /// What was durable in it when its segment was reused: what was read is nowhere else.
    gone: Option<Held>,
    /// It has nothing that belongs into runs.
    empty: bool,
}

impl Epoch {
    fn waiting(&self) -> Option<Waiting> {
        let held = self.gone?;
        let read = held.without(held.without(self.read));
        let held = read.without(self.in_runs);
        (!self.empty && held != Held::default()).then_some(Waiting { epoch: self.epoch, held })
    }

    fn lost(&self) -> LostUnsettled {
        let held = match self.gone {
            Some(held) if !self.empty => held.without(self.read),
            _ => Held::default(),
        };
        LostUnsettled { segments: u32::from(held != Held::default()), held }
    }
}

impl LostUnsettled {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: LostUnsettled) -> LostUnsettled {
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

    /// What was read and is in no run will be in none.
    fn give_up(&mut self) {
        for known in &mut self.epochs {
            known.read = known.in_runs;
        }
        let told = |known: &Epoch| known.gone.is_some() || known.empty;
        self.epochs.retain(|known| told(known) || known.read != Held::default());
    }

    fn trim(&mut self) {
        while self.epochs.len() > EPOCHS_MAX
            && let Some(first) = self.epochs.first()
            && first.read == first.in_runs
            && (first.gone.is_some() || first.epoch < self.settled.epoch)
        {
            self.over = self.over.max(first.epoch + 1);
            self.lost = self.lost.plus(self.epochs.remove(0).lost());
        }
    }
}

impl Taken {
    /// A settler reads anew, from this boundary on.
    pub fn begin(&self, settled: Settled) {
        let mut inner = self.inner();
        if !std::mem::replace(&mut inner.begun, true) {
            inner.over = inner.over.max(settled.epoch);
            inner.settled = inner.settled.max(settled);
        }
        inner.give_up();
    }

    /// What it had read and has put into no run it never will.
    pub fn give_up(&self) {
        self.inner().give_up();
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

    /// This epoch holds nothing that belongs into runs.
    pub fn empty(&self, epoch: u64) {
        self.inner().at(epoch).empty = true;
    }

    /// The log is settled so far without anything having been read: the recorder has said that nothing below
    /// is unsettled. What it has reused, and not told yet, is counted as ever.
    pub fn passed_over(&self, epoch: u64) {
        let mut inner = self.inner();
        inner.give_up();
        inner.settled = inner.settled.max(Settled { epoch, end: 0 });
        inner.trim();
    }

    /// All that was read is in runs, and those are durable: the log is settled so far.
    pub fn committed(&self, settled: Settled) {
        let mut inner = self.inner();
        inner.epochs.iter_mut().for_each(|known| known.in_runs = known.read);
        inner.settled = inner.settled.max(settled);
        inner.trim();
    }

    /// Whether something that was read is in no run yet, and nowhere else.
    #[must_use]
    pub fn holds_the_only_copy(&self) -> bool {
        self.inner().epochs.iter().any(|known| known.gone.is_some() && known.read != known.in_runs)
    }

    /// These segments are reused, in any order with what is read of them. Takes them out of `reused`, and
    /// returns what is lost; does not wait: if somebody has the lock nothing is done.
    pub fn try_reused(&self, reused: &mut Vec<Reused>) -> Option<SoFar> {
        let mut inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::Poisoned(inner)) => inner.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let lost = inner.reused(reused);
        Some(SoFar { lost, waiting: inner.waiting() })
    }

    /// The same, but waits.
    pub fn reused(&self, reused: &mut Vec<Reused>) -> LostUnsettled {
        self.inner().reused(reused)
    }

    /// What is lost so far.
    #[must_use]
    pub fn lost(&self) -> LostUnsettled {
        self.inner().lost()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn reused(&mut self, reused: &mut Vec<Reused>) -> LostUnsettled {
        for reused in reused.drain(..) {
            match reused.held {
                Some((epoch, _)) if epoch < self.over => {}
                Some((epoch, held)) => self.at(epoch).gone = Some(held),
                None => self.lost.segments = self.lost.segments.saturating_add(1),
            }
        }
        self.trim();
        self.lost()
    }

    fn waiting(&self) -> [Waiting; Waiting::MAX] {
        Waiting::kept(self.epochs.iter().filter_map(Epoch::waiting))
    }

    fn lost(&self) -> LostUnsettled {
        self.epochs.iter().fold(self.lost, |sum, known| sum.plus(known.lost()))
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

    fn reuse(taken: &Taken, epoch: u64, records: u64) {
        taken.reused(&mut vec![Reused { held: Some((epoch, held(records))) }]);
    }

    #[test]
    fn what_was_not_read_is_lost_and_what_was_read_only_if_no_run_comes() {
        let taken = Taken::default();
        taken.begin(at(1));
        taken.read(1, held(3));
        reuse(&taken, 1, 5);
        let lost = LostUnsettled { segments: 1, held: held(2) };
        let mut waiting = [Waiting::default(); Waiting::MAX];
        waiting[0] = Waiting { epoch: 1, held: held(3) };
        assert_eq!(taken.try_reused(&mut Vec::new()), Some(SoFar { lost, waiting }));
        assert!(taken.holds_the_only_copy());
        // A block more is read before the segment is written over.
        taken.read(1, held(1));
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(1) });
        // The run does not come; the next step finds nothing of that epoch.
        taken.begin(at(1));
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(5) });
        assert!(!taken.holds_the_only_copy());
        taken.give_up();
        assert_eq!(taken.lost().held, held(5));
    }

    /// A step fails, its segment is reused, and at the end the log is passed over.
    #[test]
    fn what_a_failed_step_had_read_is_lost_though_the_log_is_passed_over() {
        let taken = Taken::default();
        taken.begin(at(1));
        taken.read(1, held(3));
        reuse(&taken, 1, 3);
        taken.passed_over(2);
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(3) });
    }

    #[test]
    fn what_is_in_runs_is_not_lost_also_in_the_middle_of_a_segment() {
        let taken = Taken::default();
        taken.begin(at(1));
        taken.read(1, held(4));
        taken.read(2, held(1));
        reuse(&taken, 1, 4);
        taken.committed(Settled { epoch: 2, end: 9 });
        taken.begin(Settled { epoch: 2, end: 9 });
        assert_eq!(taken.lost(), LostUnsettled::default());
        reuse(&taken, 2, 3);
        assert_eq!(taken.lost(), LostUnsettled { segments: 1, held: held(2) });
        taken.reused(&mut vec![Reused { held: None }]);
        assert_eq!(taken.lost(), LostUnsettled { segments: 2, held: held(2) });
    }

    /// The writer may tell late that a segment is reused, and the recorder learn late what is settled.
    #[test]
    fn what_is_told_late_counts_the_same() {
        let taken = Taken::default();
        taken.begin(at(5));
        taken.read(5, held(4));
        taken.empty(7);
        // Of 6 nothing was found any more.
        taken.committed(at(8));
        let mut waiting = Vec::new();
        for epoch in 4..8 {
            waiting.push(Reused { held: Some((epoch, held(4))) });
        }
        let guard = taken.inner();
        assert_eq!((taken.try_reused(&mut waiting), waiting.len()), (None, 4));
        drop(guard);
        let lost = LostUnsettled { segments: 1, held: held(4) };
        let told = taken.try_reused(&mut waiting).map(|so_far| so_far.lost);
        assert_eq!((told, waiting.len()), (Some(lost), 0));
        taken.passed_over(9);
        assert_eq!(taken.lost(), lost);
    }

    #[test]
    fn the_list_does_not_grow_for_ever() {
        let taken = Taken::default();
        for epoch in 1..=1000 {
            reuse(&taken, epoch, 1);
        }
        assert_eq!(taken.lost(), LostUnsettled { segments: 1000, held: held(1000) });
        assert_eq!(taken.inner().epochs.len(), EPOCHS_MAX);
        taken.begin(at(1001));
        for epoch in 1001..=2000 {
            taken.read(epoch, held(1));
            taken.committed(at(epoch + 1));
        }
        assert_eq!(taken.inner().epochs.len(), EPOCHS_MAX);
        (1001..=2000).for_each(|epoch| reuse(&taken, epoch, 1));
        assert_eq!(taken.lost(), LostUnsettled { segments: 1000, held: held(1000) });
    }
}
