//! How much earlier sessions have left unsettled in the log: counted from the begin of their blocks and
//! sections, one segment at a time, so that it can be said what is lost if such a segment has to yield.
//!
//! Invariant: what is counted as readable has been read: a block whose header alone is left is lost.
//! Held by the command line's `whatever_is_done_to_a_store_in_use_is_told_and_counted`.

use super::{Keeper, Log, Tell};
use baro_log::{Blocks, Found, Held, Recovery, dead_from, held_in, segment_name};
use baro_ondisk::SegmentHeader;
use baro_sys::storage::{Access, Storage};

/// A segment, the CRC of its header, and the first of its blocks that do not count.
pub(super) type Uncounted = (SegmentHeader, u32, u64);

impl<S: Storage> Keeper<S> {
    /// What is to be counted: nothing where unsettled segments are like any other.
    pub(super) fn to_count(recovery: &Recovery, keep_unsettled: bool) -> Vec<Uncounted> {
        if !keep_unsettled {
            return Vec::new();
        }
        let started = recovery.segments.started.iter();
        // Blocks of a dead tail were written again elsewhere.
        started.map(|(h, crc)| (*h, *crc, dead_from(&recovery.dead, h.epoch))).collect()
    }

    /// Counts what one more segment holds; true if there was one.
    pub(super) fn count_one(&mut self, log: &mut impl Log) -> bool {
        // The oldest first: it is the first to yield.
        if self.uncounted.is_empty() {
            return false;
        }
        let (header, crc, end) = self.uncounted.remove(0);
        if header.epoch >= self.settled.epoch {
            let (epoch, index) = (header.epoch, header.index);
            let held = held_by(&self.storage, header, crc, end);
            // As it was at open: what is settled since then is told by who settles.
            let begin = self.settled_before;
            if begin.epoch == epoch && begin.end > 0 {
                let in_runs = held_by(&self.storage, header, crc, end.min(begin.end));
                self.taken.in_runs(epoch, in_runs);
            }
            log.tell(Tell::Holds { epoch, index, held });
        }
        true
    }
}

/// What the blocks of a segment hold whose sequence is below `end`.
fn held_by<S: Storage>(storage: &S, header: SegmentHeader, crc: u32, end: u64) -> Held {
    let file = storage.open(&segment_name(header.index), Access::ReadDirect);
    match (file, Blocks::new()) {
        (Ok(file), Ok(mut blocks)) => held_in(&file, header, crc, end, &mut blocks),
        _ => Held::default(),
    }
}

/// Sequence of each block of a segment that can be read, and what it holds; of those behind a hole
/// too.
pub(super) fn readable_in<S: Storage>(
    storage: &S,
    header: SegmentHeader,
    crc: u32,
) -> Vec<(u64, Held)> {
    let mut found = Vec::new();
    let Ok(file) = storage.open(&segment_name(header.index), Access::ReadDirect) else {
        return found;
    };
    let Ok(mut blocks) = Blocks::new() else { return found };
    let mut walk = blocks.walk(&file, header, crc);
    loop {
        while let Ok(Found::Block(block)) = walk.next_block() {
            let samples = block.samples().unwrap_or(0);
            let records = u64::from(block.header.records);
            found.push((block.header.sequence, Held { records, samples }));
        }
        if !matches!(walk.skip_damage(), Ok(Some(_))) {
            return found;
        }
    }
}
