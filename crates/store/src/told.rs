//! What summaries tell of segments, so that their blocks need not be looked at.
//!
//! Invariant: a summary counts only if all of the blocks that it tells of were durable and are live,
//! as others than itself prove; else the blocks are read as if there were none. Held by
//! `tests/summary.rs`, `tests/model` and the simulator of crashes.

use crate::Result;
use crate::index::SegmentIndex;
use crate::segments::{SegmentFile, SegmentRef, Segments};
use baro_log::{Extent, dead_from};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{BlockHeader, SegmentHeader, Summary};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyStorage, StorageFile};

/// The segment as a summary tells it, if one counts. Its blocks below `known` were durable; `later`
/// is the first block of the session's next segment.
pub(crate) fn segment(
    storage: &AnyStorage,
    access: Access,
    segments: &Segments,
    segment: SegmentRef,
    (known, later): (u64, Option<u64>),
) -> Result<Option<(SegmentIndex, Extent)>> {
    let header = &segment.header;
    // A copy ends where its file does; who reads it looks for that.
    if !matches!(segment.file, SegmentFile::Log(_)) {
        return Ok(None);
    }
    let by_others = by_others(segments, header.epoch);
    let by_others = by_others.filter(|summary| known >= summary.end).map(|found| (found, known));
    let found = match by_others {
        Some(found) => Some(found),
        None if later.is_none() => by_itself(storage, access, &segment)?,
        None => None,
    };
    let Some((summary, durable)) = found else { return Ok(None) };
    let (epoch, first_block, end) = (header.epoch, header.first_block, summary.end);
    let last = u64::from(summary.last_samples) * UNIT_BYTES as u64;
    let whole = dead_from(&segments.dead, epoch) >= end && later.is_none_or(|at| at == end);
    if !whole || end < first_block || last >= header.segment_bytes {
        return Ok(None);
    }
    let extent = Extent { epoch, first_block, end, durable };
    Ok(Some((SegmentIndex::told(segment, summary, durable), extent)))
}

/// What other headers tell of the segment of this epoch; none if they do not agree.
pub(crate) fn by_others(segments: &Segments, epoch: u64) -> Option<Summary> {
    let all = segments.summaries.iter().map(|(_, summary)| summary);
    let mut of = all.filter(|summary| summary.epoch == epoch);
    let first = of.next()?;
    of.all(|other| other == first).then_some(*first)
}

/// What the segment's last unit tells, and how far it was durable then: a session that is closed in
/// order writes it when all before it is. It counts if the mark of that end is where it says, and
/// nothing came behind it.
pub(crate) fn by_itself(
    storage: &AnyStorage,
    access: Access,
    segment: &SegmentRef,
) -> Result<Option<(Summary, u64)>> {
    let SegmentRef { file, header, .. } = segment;
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let offset = header.segment_bytes - UNIT_BYTES as u64;
    let Some(file) = file.open(storage, access)? else { return Ok(None) };
    let read = file.read_at(offset, &mut unit);
    let bytes = unit.get(..read.unwrap_or(0)).unwrap_or(&[]);
    let same = SegmentHeader::decode(bytes).is_ok_and(|(found, _)| found == *header);
    let summary = SegmentHeader::summary(bytes).filter(|found| same && found.epoch == header.epoch);
    let Some(summary) = summary else { return Ok(None) };
    let at = u64::from(summary.end_unit) * UNIT_BYTES as u64;
    let mut units = AlignedBuffer::unlocked(2 * UNIT_BYTES)?;
    let read = if at < offset { file.read_at(at, &mut units).unwrap_or(0) } else { 0 };
    let (mark, behind) = units.get(..read).unwrap_or(&[]).split_at(read.min(UNIT_BYTES));
    let of = |bytes: &[u8]| {
        let found = BlockHeader::decode(bytes).ok()?;
        let of = (found.store, found.session, found.epoch);
        (of == (header.store, header.session, header.epoch)).then_some(found)
    };
    let marked = of(mark).is_some_and(|mark| mark.is_end_mark() && mark.sequence == summary.end);
    Ok((marked && of(behind).is_none()).then_some((summary, summary.end)))
}
