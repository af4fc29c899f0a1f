//! Which segment is started next.

use crate::log::Segments;
use baro_ondisk::WhenFull;
use std::collections::VecDeque;

/// Segments that may be started, in the order in which they will be.
#[derive(Debug)]
pub(crate) struct Choice {
    blank: VecDeque<u32>,
    /// Started ones, oldest first; reused only when the store recycles.
    started: VecDeque<u32>,
    when_full: WhenFull,
}

impl Choice {
    pub(crate) fn new(segments: &Segments, when_full: WhenFull) -> Self {
        // A damaged header is what a crash leaves of a segment that was being started. Under
        // "stop" it is not reused either: it may be damage to a segment that holds data.
        let mut blank: VecDeque<u32> = segments.blank.iter().copied().collect();
        blank.make_contiguous().sort_unstable();
        let mut started: VecDeque<u32> = segments.damaged.iter().map(|(index, _)| *index).collect();
        started.extend(segments.started.iter().map(|(header, _)| header.index));
        Choice { blank, started, when_full }
    }

    /// The next segment, which is then the newest. Segments in `busy` are passed over.
    pub(crate) fn next(&mut self, busy: &[u32]) -> Option<u32> {
        if let Some(index) = self.blank.pop_front() {
            self.started.push_back(index);
            return Some(index);
        }
        if self.when_full == WhenFull::Stop {
            return None;
        }
        let at = self.started.iter().position(|index| !busy.contains(index))?;
        let index = self.started.remove(at)?;
        self.started.push_back(index);
        Some(index)
    }

    /// A segment with a failed write or sync that holds durable blocks: it keeps them, and is not
    /// started again while this store is open.
    pub(crate) fn exclude(&mut self, index: u32) {
        self.started.retain(|other| *other != index);
    }

    /// A segment with a failed write or sync that holds nothing durable.
    pub(crate) fn give_back(&mut self, index: u32) {
        self.exclude(index);
        self.blank.push_back(index);
    }
}
