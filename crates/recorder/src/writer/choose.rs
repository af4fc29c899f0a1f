//! Which segment is started next.

use crate::log::Recovery;
use baro_ondisk::WhenFull;
use std::collections::VecDeque;

/// The segment to be started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Next {
    pub(crate) index: u32,
    /// There never was a header but the blank one of init.
    pub(crate) untouched: bool,
}

/// Segments that may be started, in the order in which they will be.
#[derive(Debug)]
pub(crate) struct Choice {
    blank: VecDeque<u32>,
    /// Blank ones that nobody has tried to start.
    untouched: Vec<u32>,
    /// Started ones, oldest first; reused only when the store recycles.
    started: VecDeque<u32>,
    when_full: WhenFull,
}

impl Choice {
    pub(crate) fn new(recovery: &Recovery) -> Self {
        let Recovery { segments, empty, .. } = recovery;
        let mut blank: VecDeque<u32> = segments.blank.iter().copied().collect();
        blank.make_contiguous().sort_unstable();
        let untouched = blank.iter().copied().collect();
        if let Some(empty) = *empty {
            blank.push_front(empty);
        }
        // A damaged header is what a crash leaves of a segment that was being started. Under
        // "stop" it is not reused either: it may be damage to a segment that holds data.
        let mut started: VecDeque<u32> = segments.damaged.iter().map(|(index, _)| *index).collect();
        let indexes = segments.started.iter().map(|(header, _)| header.index);
        started.extend(indexes.filter(|index| *empty != Some(*index)));
        let when_full = recovery.identity.when_full;
        Choice { blank, untouched, started, when_full }
    }

    /// The segment started last.
    pub(crate) fn newest(&self) -> Option<u32> {
        self.started.back().copied()
    }

    /// The next segment, which is then the newest. Segments in `busy` are passed over.
    pub(crate) fn next(&mut self, busy: &[u32]) -> Option<Next> {
        if let Some(index) = self.blank.pop_front() {
            self.started.push_back(index);
            let at = self.untouched.iter().position(|other| *other == index);
            at.map(|at| self.untouched.swap_remove(at));
            return Some(Next { index, untouched: at.is_some() });
        }
        if self.when_full == WhenFull::Stop {
            return None;
        }
        let at = self.started.iter().position(|index| !busy.contains(index))?;
        let index = self.started.remove(at)?;
        self.started.push_back(index);
        Some(Next { index, untouched: false })
    }

    /// A segment with a failed write or sync that holds nothing durable: tried again when all
    /// others have been. In a store that recycles that is its place among the started ones anyhow;
    /// there a suspect segment keeps its turn, whatever it holds.
    pub(crate) fn give_back(&mut self, index: u32) {
        if self.when_full == WhenFull::Stop {
            self.started.retain(|other| *other != index);
            self.blank.push_back(index);
        }
    }
}
