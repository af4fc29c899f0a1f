//! How many records earlier sessions have left unsettled in the log: counted from the headers of their
//! blocks, one segment at a time, so that it can be said what is lost if such a segment has to yield.
//!
//! Invariant: what is counted as readable has been read: a block whose header alone is left is lost.
//! Held by the command line's `whatever_is_done_to_a_store_in_use_is_told_and_counted`.

use super::{Keeper, Log, Tell};
use baro_log::{Blocks, Found, FoundHeader, Recovery, segment_name};
use baro_ondisk::SegmentHeader;
use baro_sys::storage::{Access, Storage};

impl<S: Storage> Keeper<S> {
    /// What is to be counted: nothing where unsettled segments are like any other.
    pub(super) fn to_count(recovery: &Recovery, keep_unsettled: bool) -> Vec<(SegmentHeader, u32)> {
        if keep_unsettled { recovery.segments.started.clone() } else { Vec::new() }
    }

    /// Counts the records of one more segment; true if there was one.
    pub(super) fn count_one(&mut self, log: &mut impl Log) -> bool {
        // The oldest first: it is the first to yield.
        if self.uncounted.is_empty() {
            return false;
        }
        let (header, crc) = self.uncounted.remove(0);
        if header.epoch >= self.settled.epoch {
            let (epoch, index) = (header.epoch, header.index);
            let records = records_in(&self.storage, header, crc);
            log.tell(Tell::Holds { epoch, index, records });
        }
        true
    }
}

/// Records of the blocks of a segment, by their headers.
fn records_in<S: Storage>(storage: &S, header: SegmentHeader, crc: u32) -> u64 {
    let Ok(file) = storage.open(&segment_name(header.index), Access::ReadDirect) else { return 0 };
    let Ok(mut blocks) = Blocks::new() else { return 0 };
    let mut walk = blocks.walk(&file, header, crc);
    let mut records = 0;
    while let Ok(FoundHeader::Block(block)) = walk.next_header() {
        records += u64::from(block.records);
    }
    records
}

/// Sequence and records of the blocks of a segment that can be read, of those behind a hole too.
pub(super) fn readable_in<S: Storage>(
    storage: &S,
    header: SegmentHeader,
    crc: u32,
) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let Ok(file) = storage.open(&segment_name(header.index), Access::ReadDirect) else {
        return found;
    };
    let Ok(mut blocks) = Blocks::new() else { return found };
    let mut walk = blocks.walk(&file, header, crc);
    loop {
        while let Ok(Found::Block(block)) = walk.next_block() {
            found.push((block.header.sequence, u64::from(block.header.records)));
        }
        if !matches!(walk.skip_damage(), Ok(Some(_))) {
            return found;
        }
    }
}
