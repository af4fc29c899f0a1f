//! How many records each segment holds, so that it can be said what is lost with one: recycled before
//! it was settled, or taken away by somebody; and the end of writing into a store that is not the
//! recorder's any more.
//!
//! Invariant: a record that was durable and is given up is counted. Held by
//! `what_is_recycled_unsettled_is_counted` (`tests/crash`) and the command line's
//! `whatever_is_done_to_a_store_in_use_is_told_and_counted`.

use super::Engine;
use crate::ring::RingReader;
use crate::writer::flight::Logged;
use crate::writer::status::Trouble;
use baro_log::{Held, LostUnsettled, Reused, SoFar, Taken};
use baro_ondisk::Recycled;
use std::sync::Arc;

/// What is known of a segment in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) epoch: u64,
    pub(crate) index: u32,
    /// Durable records, and samples in them.
    pub(crate) held: Held,
    /// Behind the last durable block; what was written behind it has been written again elsewhere.
    pub(crate) end: u64,
}

impl Engine {
    /// So much more of this epoch is durable, in blocks below `end`.
    pub(super) fn note_stored(&mut self, epoch: u64, index: u32, more: Held, end: u64) {
        match self.stored.iter_mut().rev().find(|stored| stored.epoch == epoch) {
            Some(stored) => {
                stored.held = stored.held.plus(more);
                stored.end = end;
            }
            None => self.stored.push(Stored { epoch, index, held: more, end }),
        }
    }

    /// A segment is started anew: what it held is given up. `unsettled`: though it was in no run.
    pub(super) fn forget_stored(&mut self, index: u32, unsettled: bool) {
        if unsettled {
            let before = self.reused.len();
            let stored = self.stored.iter().filter(|stored| stored.index == index);
            self.reused.extend(stored.map(|s| Reused { held: Some((s.epoch, s.held)) }));
            if self.reused.len() == before {
                self.reused.push(Reused { held: None });
            }
        }
        self.stored.retain(|stored| stored.index != index);
        let reached = self.reached.remove(&index).unwrap_or_default();
        if unsettled || !self.start.retention.keep_unsettled {
            for (ring, sequence) in self.rings.iter().zip(reached) {
                ring.set_gone_below(sequence);
            }
        }
    }

    /// What settling beside it reads is told there.
    pub(crate) fn share(&mut self, taken: Arc<Taken>) {
        self.taken = taken;
    }

    /// What is lost with segments that were reused before they were settled; as before, if settling is just
    /// telling what it reads.
    pub(super) fn note_lost(&mut self) {
        if let Some(so_far) = self.taken.try_reused(&mut self.reused) {
            self.status.set_lost(so_far.lost);
            self.lost = so_far;
        }
    }

    /// What was recycled before it was in runs, for the header of the segment that is next: what could not
    /// be told to settling counts whole.
    pub(super) fn recycled(&mut self) -> Recycled {
        self.note_lost();
        let unsaid = |reused: &Reused| LostUnsettled {
            segments: 1,
            held: reused.held.map_or(Held::default(), |(_, held)| held),
        };
        let SoFar { lost, waiting } = self.lost;
        let lost = self.reused.iter().map(unsaid).fold(lost, LostUnsettled::plus);
        let before = self.beside.recycled.unwrap_or_default();
        let segments = before.segments.saturating_add(u64::from(lost.segments));
        Recycled { segments, held: before.held.plus(lost.held), waiting, ..before }
    }

    /// The same at the end, when nobody waits for the writer any more.
    pub(in crate::writer) fn note_lost_at_end(&mut self) {
        self.status.set_lost(self.taken.reused(&mut self.reused));
    }

    /// Records that were in rings which were given up, and wait for room in the log.
    pub(crate) fn given_up(&self) -> u64 {
        self.rings.iter().map(RingReader::given_up).sum()
    }

    /// What is known of the segments in use.
    pub(crate) fn stored(&self) -> &[Stored] {
        &self.stored
    }

    /// What this session has made durable.
    pub(crate) fn durable_held(&self) -> Held {
        let Logged { records, samples, .. } = self.logged_durable;
        Held { records, samples }
    }

    /// Somebody has taken this segment away or written over it: nothing more goes to it.
    pub(super) fn lose_segment(&mut self, index: u32, why: &str) {
        self.choice.forbid(index);
        self.unsure.insert(index);
        self.note_choice();
        if self.segment.as_ref().is_some_and(|segment| segment.index == index) {
            let source = std::io::Error::other(why.to_owned());
            let name = baro_log::segment_name(index);
            self.fail(&baro_sys::Error::new("look at what was written", name, source));
            self.choice.forbid(index);
        }
        // The newest durable block's segment is never reused: one alone cannot be recycled.
        let least = if self.choice.held_max().is_some() { 2 } else { 1 };
        if self.choice.usable() < least {
            self.stop("too few segments of the log are left to write to");
        }
    }

    /// Nothing more is written: the store is gone, or another process writes it.
    pub(in crate::writer) fn stop(&mut self, why: &str) {
        self.stopped.get_or_insert_with(|| why.to_owned());
        self.status.stopped = true;
    }

    /// Whether nothing is going to be written any more.
    pub(crate) fn has_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// As long as it is stopped that is the trouble, whatever else failed.
    pub(in crate::writer) fn say_stopped(&mut self) {
        if let Some(why) = &self.stopped
            && !matches!(&self.status.trouble, Trouble::Device { error } if error == why)
        {
            self.status.trouble = Trouble::Device { error: why.clone() };
        }
    }
}
