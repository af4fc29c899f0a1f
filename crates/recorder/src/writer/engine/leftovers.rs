//! What can wait until settling has made room, whatever the other sources are: rings that an earlier
//! recorder left, for which nobody waits and to which no producer adds; and those of producers that say
//! that they wait ([`Waits`]). A producer that is alive and does not say so cannot.
//!
//! Where others push that cannot wait, those who can leave them half of the log, so that what comes from a
//! file at full speed does not make samples of a sensor be recycled before they are in runs.
//!
//! Invariant: no segment whose samples are in no run is recycled for what a ring of a dead producer
//! holds, or one who waits. Held by `what_a_killed_recorder_left_waits_for_settling` and
//! `who_waits_has_nothing_recycled_that_is_not_settled` (`tests/crash`) and, through real kills, by
//! `a_small_log_loses_nothing_at_a_takeover` of the command line.

use super::Engine;
use crate::ring::{Next, RingReader, Told, Waits};
use crate::writer::choose::NoNext;
use crate::writer::status::Trouble;

impl Engine {
    /// Reads from a ring that an earlier recorder left.
    pub(crate) fn add_leftover(&mut self, ring: RingReader) {
        self.leftovers.resize(self.rings.len(), None);
        self.leftovers.push(Some(ring.report().offered));
        self.add_ring(ring);
    }

    /// Of each ring that an earlier recorder left, what had been offered to it then.
    pub(crate) fn left_before(&self) -> &[Option<u64>] {
        &self.leftovers
    }

    /// Whether nobody has pushed into this ring since it was taken over, or who does waits.
    pub(super) fn can_wait(&self, at: usize) -> bool {
        let Some(ring) = self.rings.get(at) else { return false };
        let offered = self.leftovers.get(at).copied().flatten();
        let left = offered.is_some_and(|offered| ring.report().offered == offered);
        left || match ring.waits() {
            Waits::Not => false,
            Waits::WhileSettled => !self.nobody_settles,
            Waits::Always => true,
        }
    }

    /// Whether somebody pushes who cannot wait.
    fn has_live(&self) -> bool {
        let pushes =
            |at: usize| self.rings.get(at).is_some_and(|ring| ring.position().sequence > 0);
        (0..self.rings.len()).any(|at| !self.can_wait(at) && pushes(at))
    }

    /// Looks whether what can wait has to: settling is what makes the next segment free, and the
    /// current one has no room for another block.
    pub(super) fn look_at_patient(&mut self) {
        let waited = self.held_back.take().is_some();
        let pending = |at: &usize| {
            self.can_wait(*at) && self.rings.get(*at).is_some_and(|ring| !ring.drained())
        };
        if !self.start.retention.keep_unsettled || !(0..self.rings.len()).any(|at| pending(&at)) {
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
        let held = |why| match why {
            NoNext::Held { pinned, young, unsettled } => {
                Some(Trouble::Held { pinned, young, unsettled })
            }
            NoNext::Full | NoNext::Growing => None,
        };
        if let Some(trouble) = self.choice.why_held(&busy, running_ns).and_then(held) {
            if self.status.trouble == Trouble::None {
                self.status.trouble = trouble.clone();
            }
            self.held_back = Some(trouble);
            self.note_unsettled();
            return;
        }
        if waited && matches!(self.status.trouble, Trouble::Held { .. }) {
            self.status.trouble = Trouble::None;
        }
        // No trouble of the recorder's: only those who can wait do.
        if !self.closing && self.choice.recycles() && self.choice.is_behind() && self.has_live() {
            self.note_unsettled();
            let unsettled = self.status.segments_unsettled;
            self.held_back = Some(Trouble::Held { pinned: 0, young: 0, unsettled });
        }
    }

    /// Whether a ring is passed over for now.
    pub(super) fn waits(&self, at: usize) -> bool {
        self.held_back.is_some() && self.can_wait(at)
    }

    /// Tells producers why they wait, in their rings.
    pub(super) fn tell_producers(&mut self) {
        let trouble = self.held_back.as_ref().unwrap_or(&self.status.trouble);
        let (own, stopped) = (&self.status.trouble, self.nobody_settles);
        let (patient, others) = (Told::encode(trouble, stopped), Told::encode(own, stopped));
        for ring in &mut self.rings {
            let told = if ring.waits() == Waits::Not { others } else { patient };
            ring.tell(told);
        }
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
