//! What of the log was written over before it was in runs, counted since init: each header of a segment
//! says how much by then. So a recorder that is killed leaves its count too (`docs/format.md`, "Recycled").
//!
//! Invariant: a kill loses no count. Held by `what_a_killed_recorder_has_recycled_is_counted` (the
//! recorder's `tests/crash`).

use crate::Settled;
use crate::bytes::{put, u32_at, u64_at};
use crate::segment::{ENTRIES_AT, ENTRY_BYTES, FLAGS_AT, RECYCLED_AT};

/// Records, and samples in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Records.
    pub records: u64,
    /// Samples in them: numbers and texts.
    pub samples: u64,
}

impl Held {
    /// Both together. A count that has come to its end stays there.
    #[must_use]
    pub fn plus(self, other: Held) -> Held {
        let records = self.records.saturating_add(other.records);
        Held { records, samples: self.samples.saturating_add(other.samples) }
    }

    /// What is left without `other`, which may be more.
    #[must_use]
    pub fn without(self, other: Held) -> Held {
        let records = self.records.saturating_sub(other.records);
        Held { records, samples: self.samples.saturating_sub(other.samples) }
    }
}

/// What was recycled before it was in runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recycled {
    /// Segments of which something was lost with it, or of which nothing is known.
    pub segments: u64,
    /// What is lost, as far as it was known what they held.
    pub held: Held,
    /// Of that, what was lost before the last session that was closed in order had begun, or by it: those
    /// who ran it were told.
    pub told: Held,
    /// What settling had read, and had not yet put into a run: lost too, unless a run came. The newest
    /// last.
    pub waiting: [Waiting; Waiting::MAX],
}

/// What settling had read of a segment that was recycled then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Epoch of the segment, or the highest of several; 0 where there is none.
    pub epoch: u64,
    /// What was read.
    pub held: Held,
}

impl Waiting {
    /// So many are kept apart.
    pub const MAX: usize = 3;

    /// Of these, by rising epoch, as many as are kept: the newest are told as one.
    pub fn kept(all: impl IntoIterator<Item = Waiting>) -> [Waiting; Waiting::MAX] {
        let mut kept = [Waiting::default(); Waiting::MAX];
        for (number, waiting) in all.into_iter().enumerate() {
            if let Some(slot) = kept.get_mut(number.min(Waiting::MAX - 1)) {
                *slot = Waiting { epoch: waiting.epoch, held: slot.held.plus(waiting.held) };
            }
        }
        kept
    }
}

const HAS_RECYCLED: u32 = 8;

impl Recycled {
    /// Entries of dead tails that leave room for it.
    const DEAD_TAILS_MAX: usize = (RECYCLED_AT - ENTRIES_AT) / ENTRY_BYTES;

    /// Where the log is settled so far: what was waited for is in a run, or is lost.
    #[must_use]
    pub fn resolved(&self, settled: Settled) -> Recycled {
        let lost = self.waiting.iter().filter(|of| of.epoch != 0 && of.epoch >= settled.epoch);
        let (mut held, mut segments) = (self.held, self.segments);
        for waiting in lost {
            held = held.plus(waiting.held);
            segments = segments.saturating_add(1);
        }
        Recycled { segments, held, told: self.told, waiting: Default::default() }
    }

    /// What is lost and was told to nobody, since whoever wrote was killed.
    #[must_use]
    pub fn untold(&self) -> Held {
        self.held.without(self.told)
    }

    /// Puts it into a header, where dead tails leave room.
    pub(crate) fn put(&self, unit: &mut [u8]) {
        let has_room = u32_at(unit, 104) as usize <= Self::DEAD_TAILS_MAX;
        if !has_room || *self == Recycled::default() {
            return;
        }
        let flags = u32_at(unit, FLAGS_AT) | HAS_RECYCLED;
        put(unit, FLAGS_AT, &flags.to_le_bytes());
        let Recycled { segments, held, told, waiting } = self;
        let counts = [*segments, held.records, held.samples, told.records, told.samples];
        let waiting = waiting.iter().flat_map(|of| [of.epoch, of.held.records, of.held.samples]);
        for (number, field) in counts.into_iter().chain(waiting).enumerate() {
            put(unit, RECYCLED_AT + number * 8, &field.to_le_bytes());
        }
    }

    /// What a whole header tells, which was accepted; older ones tell nothing.
    pub(crate) fn of(unit: &[u8]) -> Self {
        let has_room = u32_at(unit, 104) as usize <= Self::DEAD_TAILS_MAX;
        if u32_at(unit, FLAGS_AT) & HAS_RECYCLED == 0 || !has_room {
            return Recycled::default();
        }
        let field = |number: usize| u64_at(unit, RECYCLED_AT + number * 8);
        let held = |number| Held { records: field(number), samples: field(number + 1) };
        let waiting = |number| Waiting { epoch: field(number), held: held(number + 1) };
        let waiting = [waiting(5), waiting(8), waiting(11)];
        Recycled { segments: field(0), held: held(1), told: held(3), waiting }
    }

    /// Takes in what another header tells: counts only rise, and what waits only the newest knows.
    pub(crate) fn meet(&self, other: &Recycled, newest: bool) -> Recycled {
        let larger = |a: Held, b: Held| Held {
            records: a.records.max(b.records),
            samples: a.samples.max(b.samples),
        };
        Recycled {
            segments: self.segments.max(other.segments),
            held: larger(self.held, other.held),
            told: larger(self.told, other.told),
            waiting: if newest { other.waiting } else { self.waiting },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(epoch: u64, records: u64) -> Waiting {
        Waiting { epoch, held: Held { records, samples: 2 * records } }
    }

    #[test]
    fn what_waits_is_in_a_run_or_lost() {
        let all = [waiting(3, 1), waiting(4, 2), waiting(6, 4), waiting(9, 8)];
        let kept = Waiting::kept(all);
        assert_eq!(kept, [waiting(3, 1), waiting(4, 2), waiting(9, 12)]);
        assert_eq!(Waiting::kept([]), [Waiting::default(); 3]);
        let held = Held { records: 100, samples: 0 };
        let recycled = Recycled { segments: 1, held, told: held, waiting: kept };
        let at = |epoch| recycled.resolved(Settled { epoch, end: 0 });
        for (epoch, segments, records) in [(0, 4, 15), (4, 3, 14), (5, 2, 12), (10, 1, 0)] {
            let resolved = at(epoch);
            let lost = Held { records, samples: 2 * records };
            assert_eq!((resolved.segments, resolved.untold()), (segments, lost), "{epoch}");
            assert_eq!(resolved.resolved(Settled::default()), resolved);
        }
    }
}
