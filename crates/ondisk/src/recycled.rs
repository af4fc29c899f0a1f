//! What of the log was written over before it was in runs, counted since init: each header of a segment
//! says how much by then. So a recorder that is killed leaves its count too (`docs/format.md`, "Recycled").
//!
//! Invariant: a kill loses nothing that was counted. Held by `what_a_killed_recorder_has_recycled_is_counted` (the
//! recorder's `tests/crash`).

use crate::bytes::{put, u32_at, u64_at};
use crate::segment::{DeadTail, FLAGS_AT, RECYCLED_AT};
use crate::{Beside, Settled};

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
    /// Of the segments, as many.
    pub segments_told: u64,
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
    /// Of a session that was closed in order, whose settling was then at rest or has gone on from where it
    /// was: where the log is settled so far, what waited is in a run. Else it is lost. The session has told
    /// what was lost without it.
    #[must_use]
    pub fn closed(&self, settled: Settled) -> Recycled {
        let come = |of: &Waiting| of.epoch < settled.epoch;
        let waiting = self.waiting.map(|of| if come(&of) { Waiting::default() } else { of });
        let told = Recycled { told: self.held, segments_told: self.segments, ..*self };
        Recycled { waiting, ..told }.killed()
    }

    /// Of a session that was killed: what waited is lost, as far as anybody can know. A run with it may have
    /// come since, but where the log is settled further that may be of somebody who never read it.
    #[must_use]
    pub fn killed(&self) -> Recycled {
        let lost = self.waiting.iter().filter(|of| of.epoch != 0);
        let (mut held, mut segments) = (self.held, self.segments);
        for waiting in lost {
            held = held.plus(waiting.held);
            segments = segments.saturating_add(1);
        }
        Recycled { segments, held, waiting: Default::default(), ..*self }
    }

    /// What is lost and was told to nobody, since whoever wrote was killed; `None` if nothing is. Of segments
    /// of which nothing is known there are none.
    #[must_use]
    pub fn untold(&self) -> Option<Held> {
        let held = self.held.without(self.told);
        (held != Held::default() || self.segments > self.segments_told).then_some(held)
    }

    /// Puts it into a header, where dead tails leave room.
    pub(crate) fn put(&self, unit: &mut [u8]) {
        let has_room = u32_at(unit, 104) as usize <= DeadTail::MAX_WITH_COUNTS;
        if !has_room {
            return;
        }
        let flags = u32_at(unit, FLAGS_AT) | HAS_RECYCLED;
        put(unit, FLAGS_AT, &flags.to_le_bytes());
        let Recycled { segments, held, told, segments_told, waiting } = self;
        let counts = [*segments, held.records, held.samples, told.records, told.samples];
        let waiting = waiting.iter().flat_map(|of| [of.epoch, of.held.records, of.held.samples]);
        let all = counts.into_iter().chain(waiting).chain([*segments_told]);
        for (number, field) in all.enumerate() {
            put(unit, RECYCLED_AT + number * 8, &field.to_le_bytes());
        }
    }

    /// Takes what the header of the segment of this epoch tells, which was accepted, if no newer one has told:
    /// counts may fall, since settling goes on.
    pub fn newest(found: &mut Option<(u64, Recycled)>, epoch: u64, unit: &[u8]) {
        if found.is_none_or(|(newer, _)| newer < epoch) {
            *found = Beside::of(unit).recycled.map(|told| (epoch, told)).or(*found);
        }
    }

    /// What a whole header tells, which was accepted; older ones tell nothing.
    pub(crate) fn of(unit: &[u8]) -> Option<Self> {
        let has_room = u32_at(unit, 104) as usize <= DeadTail::MAX_WITH_COUNTS;
        if u32_at(unit, FLAGS_AT) & HAS_RECYCLED == 0 || !has_room {
            return None;
        }
        let field = |number: usize| u64_at(unit, RECYCLED_AT + number * 8);
        let held = |number| Held { records: field(number), samples: field(number + 1) };
        let waiting = |number| Waiting { epoch: field(number), held: held(number + 1) };
        let waiting = [waiting(5), waiting(8), waiting(11)];
        let (segments, segments_told) = (field(0), field(14));
        Some(Recycled { segments, held: held(1), told: held(3), segments_told, waiting })
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
        let (segments, segments_told) = (1, 1);
        let recycled = Recycled { segments, held, told: held, segments_told, waiting: kept };
        let at = |epoch| recycled.closed(Settled { epoch, end: 0 });
        for (epoch, segments, records) in [(0, 4, 15), (4, 3, 14), (5, 2, 12), (10, 1, 0)] {
            let resolved = at(epoch);
            let lost = Held { records, samples: 2 * records };
            assert_eq!(resolved.segments, segments, "{epoch}");
            assert_eq!(resolved.untold(), (records > 0).then_some(lost), "{epoch}");
            assert_eq!((resolved.told, resolved.killed()), (held, resolved));
        }
        assert_eq!(recycled.killed(), at(0));
        // A segment of which nothing is known is told too.
        let unknown = Recycled { segments: 2, waiting: Waiting::kept([]), ..recycled };
        assert_eq!(unknown.untold(), Some(Held::default()));
        assert_eq!(unknown.closed(Settled::default()).untold(), None);
    }
}
