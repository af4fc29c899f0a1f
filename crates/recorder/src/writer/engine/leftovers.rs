//! Rings that an earlier recorder left. Nobody waits for what they hold and no producer adds to it,
//! so it can wait until settling has made room, whatever the other sources are; a producer that is
//! alive cannot.
//!
//! Invariant: no segment whose samples are in no run is recycled for what a ring of a dead producer
//! holds. Held by `what_a_killed_recorder_left_waits_for_settling` (`tests/crash`) and, through real
//! kills, by `a_small_log_loses_nothing_at_a_takeover` of the command line.

use super::Engine;
use crate::ring::{Next, RingReader};
use crate::writer::choose::NoNext;
use crate::writer::status::Trouble;

impl Engine {
    /// Reads from a ring that an earlier recorder left.
    pub(crate) fn add_leftover(&mut self, ring: RingReader) {
        self.leftovers.resize(self.rings.len(), None);
        self.leftovers.push(Some(ring.report().offered));
        self.add_ring(ring);
    }

    /// Whether nobody has pushed into this ring since it was taken over.
    pub(super) fn can_wait(&self, at: usize) -> bool {
        let offered = self.leftovers.get(at).copied().flatten();
        offered.is_some_and(|offered| {
            self.rings.get(at).is_some_and(|ring| ring.report().offered == offered)
        })
    }

    /// Looks whether what can wait has to: settling is what makes the next segment free, and the
    /// current one has no room for another block.
    pub(super) fn look_at_leftovers(&mut self) {
        let waited = std::mem::take(&mut self.leftovers_wait);
        let pending = |at: &usize| {
            self.can_wait(*at) && self.rings.get(*at).is_some_and(|ring| !ring.drained())
        };
        if !self.start.retention.keep_unsettled || !(0..self.leftovers.len()).any(|at| pending(&at))
        {
            return;
        }
        let room = self.start.block_bytes as u64;
        let has_room = |s: &super::Segment| s.offset + room <= self.segment_bytes;
        if self.segment.as_ref().is_some_and(has_room) {
            return;
        }
        let current = self.segment.as_ref().map(|segment| segment.index);
        let busy: Vec<u32> = current.into_iter().chain(self.durable_segment).collect();
        let running_ns = self.running_base_ns.saturating_add(self.now.boottime_ns);
        let why = match self.choice.why_held(&busy, running_ns) {
            Some(why @ NoNext::Held { .. }) => why,
            _ => {
                if waited && matches!(self.status.trouble, Trouble::Held { .. }) {
                    self.status.trouble = Trouble::None;
                }
                return;
            }
        };
        self.leftovers_wait = true;
        if let (NoNext::Held { pinned, young, unsettled }, Trouble::None) =
            (why, &self.status.trouble)
        {
            self.status.trouble = Trouble::Held { pinned, young, unsettled };
        }
    }

    /// Whether a ring is passed over for now.
    pub(super) fn waits(&self, at: usize) -> bool {
        self.leftovers_wait && self.can_wait(at)
    }

    /// Whether any ring has a record for the block being filled.
    pub(super) fn has_more(&mut self) -> bool {
        (0..self.rings.len()).any(|at| {
            !self.waits(at) && self.rings.get_mut(at).is_some_and(|ring| ring.next() != Next::Empty)
        })
    }

    /// Whether records that cannot wait have waited long enough for unsettled segments to yield.
    pub(super) fn pressed(&self, patience_ns: u64) -> bool {
        let live = |at: &usize| !self.can_wait(*at);
        let rings = || (0..self.rings.len()).filter(live).filter_map(|at| self.rings.get(at));
        if rings().any(RingReader::filling_up) {
            return true;
        }
        let old = self.now.monotonic_ns >= self.filling_since_ns.saturating_add(patience_ns);
        (old || self.closing) && (self.filling_live || rings().any(|ring| ring.pending() > 0))
    }
}
