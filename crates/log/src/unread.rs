//! Headers of segments that do not count: why, and which of these segments held something that is lost.
//!
//! A crash tears the header of the one segment that was being started: where segments are recycled the oldest
//! of the log, else one that was never used. What the newest header tells of those beside it shows which others
//! there were, so a torn header that no crash explains is told from one that a crash does.
//!
//! Invariant: recovery and readers agree on which of them are lost. Held by the store's `tests/damage`.

use baro_ondisk::{Beside, Error as Format, WhenFull};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Why a header does not count.
#[derive(Debug)]
pub enum BadHeader {
    /// Its bytes are not what the format asks for.
    Format(Format),
    /// The device does not read it.
    Unreadable(baro_sys::Error),
}

impl BadHeader {
    /// Whether a crash leaves such a header.
    #[must_use]
    pub fn is_torn(&self) -> bool {
        matches!(self, BadHeader::Format(Format::Mismatch { field: "CRC", .. }))
    }
}

impl fmt::Display for BadHeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadHeader::Format(error) => error.fmt(f),
            BadHeader::Unreadable(error) => write!(f, "{}: {}", error.operation, error.source),
        }
    }
}

/// Segments of a log, as the newest header tells and as they were found.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// What the newest header tells.
    pub beside: &'a Beside,
    /// Its epoch.
    pub newest: u64,
    /// Those beside it whose header counts: number of the file, then epoch and session.
    pub others: &'a BTreeMap<u32, (u64, u64)>,
    /// Files without a header that counts, which no crash explains.
    pub unread: usize,
}

impl Headers<'_> {
    /// Files of `torn` headers that no crash explains: they held something, and it cannot be read.
    #[must_use]
    pub fn lost(&self, torn: &BTreeSet<u32>, when_full: WhenFull) -> BTreeSet<u32> {
        let Some(told) = self.beside.segments else { return BTreeSet::new() };
        let gone = (told.count as usize).saturating_sub(self.others.len());
        if gone == 1 {
            // A torn one beside it was never used.
            let epoch = |index: &u32| told.missing(self.others, *index, self.newest);
            let found = torn.iter().find_map(|index| Some((*index, epoch(index)?)));
            return found
                .filter(|(_, epoch)| self.is_kept(*epoch, when_full))
                .map(|(index, _)| index)
                .into_iter()
                .collect();
        }
        // Which of them was which nobody can tell; at least one of them is lost.
        let is_lost = gone.saturating_sub(self.unread) > 1
            && match when_full {
                WhenFull::Stop => true,
                WhenFull::Recycle => self.has_gap(),
            };
        if is_lost { torn.clone() } else { BTreeSet::new() }
    }

    /// Whether the segment of this epoch was not the next to be started.
    fn is_kept(&self, epoch: u64, when_full: WhenFull) -> bool {
        match when_full {
            WhenFull::Stop => true,
            WhenFull::Recycle => self.others.values().any(|(other, _)| *other < epoch),
        }
    }

    /// Whether one that is gone is younger than one that is there. Else they were the oldest: of these a failed
    /// write leaves one torn header after another.
    fn has_gap(&self) -> bool {
        let epochs: BTreeSet<u64> = self.others.values().map(|(epoch, _)| *epoch).collect();
        let oldest = epochs.first().copied().unwrap_or(self.newest);
        (epochs.len() as u64) < self.newest.saturating_sub(oldest)
    }
}
