//! Compares what summaries tell of segments with the blocks that were read of them.
//!
//! Held by `tests/summary.rs`.

use crate::damage::{Damage, Loss};
use crate::index::SegmentIndex;
use crate::read::LiveBlock;
use crate::store::Store;
use crate::{Result, SegmentFile, told};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Error as Format, Summary, What};
use baro_sys::storage::Access;
use std::collections::HashMap;

/// Where a header has its summary.
const OFFSET: u64 = 3976;

/// What the blocks of each segment hold, by epoch, and how many of them were read.
#[derive(Debug, Default)]
pub(super) struct Read(HashMap<u64, (Summary, u64)>);

impl Read {
    pub(super) fn add(&mut self, live: &LiveBlock<'_>) {
        let header = &live.block.header;
        let new = || (Summary::new(header.epoch, header.sequence), 0);
        let (summary, blocks) = self.0.entry(header.epoch).or_insert_with(new);
        summary.add(live.offset, header);
        *blocks += 1;
    }

    /// Of segments that were read whole.
    fn of(&self, entry: &SegmentIndex) -> Option<Summary> {
        let (summary, blocks) = self.0.get(&entry.segment.header.epoch)?;
        let whole = *blocks == entry.live.end - entry.live.start && *blocks == entry.blocks;
        whole.then_some(*summary)
    }
}

/// Summaries that tell something else.
pub(super) fn wrong(store: &Store, access: Access, read: &Read) -> Result<Vec<Damage>> {
    let mut found = Vec::new();
    for entry in &store.index()?.segments {
        let (segment, Some(read)) = (&entry.segment, read.of(entry)) else { continue };
        let told = store.segments.summaries.iter();
        for (file, summary) in told.filter(|(_, told)| told.epoch == read.epoch) {
            found.extend(damage((*file, 0), summary, &read));
        }
        if let SegmentFile::Log(_) = segment.file
            && let Some((summary, _)) = told::by_itself(&store.storage, access, segment)?
        {
            let offset = segment.header.segment_bytes - UNIT_BYTES as u64;
            found.extend(damage((segment.file, offset), &summary, &read));
        }
    }
    Ok(found)
}

/// One that tells of more than is live, or less than came later, is not looked at by anybody.
fn damage((file, at): (SegmentFile, u64), told: &Summary, read: &Summary) -> Option<Damage> {
    // Behind its end there may be the mark of an end, which holds nothing.
    if told.end != read.end && told.end + 1 != read.end {
        return None;
    }
    let time = |ns: i64| ns as u64;
    let end = u64::from(read.end_unit) + told.end - read.end;
    let fields = [
        ("earliest time", 16, time(read.times_ns.0), time(told.times_ns.0)),
        ("latest time", 24, time(read.times_ns.1), time(told.times_ns.1)),
        ("earliest sample", 32, time(read.sample_times_ns.0), time(told.sample_times_ns.0)),
        ("latest sample", 40, time(read.sample_times_ns.1), time(told.sample_times_ns.1)),
        ("last samples", 48, read.last_samples.into(), told.last_samples.into()),
        ("end", 52, end, told.end_unit.into()),
    ];
    let wrong = fields.into_iter().find(|(_, _, expected, found)| expected != found);
    let (field, offset, expected, found) = wrong?;
    let source =
        Format::Mismatch { what: What::Segment, field, offset: OFFSET + offset, expected, found };
    Some(Damage::format(&file.name(), source.at(at), Loss::Records(0)))
}
