//! The last unit of a segment, into which a session that is closed in order writes the segment's header
//! once more, with a summary (`docs/format.md`, "Summary"). It is written when all blocks are durable,
//! just as the mark of the end. So it proves the same where that mark is damaged, and tells what the
//! header said where that one is.
//!
//! Invariant: of two damaged places in a closed log, none is taken for what a crash leaves. Held by
//! `tests/rot` of the store.

use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Beside, CatalogEnd, SegmentHeader, Wear};
use baro_sys::Result;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::StorageFile;

/// What the last unit of a segment tells.
#[derive(Clone, Copy, Debug)]
pub struct Closed {
    /// The segment's header.
    pub header: SegmentHeader,
    /// Blocks below it were durable.
    pub end: u64,
    /// The highest id that was declared.
    pub highest_id: u32,
    /// Where the catalog ended.
    pub catalog: Option<CatalogEnd>,
    /// Bytes of the records of all sessions up to then.
    pub payload_bytes: u64,
}

/// What the last unit of the segment in `file` tells, be it of its present life or an earlier one.
///
/// # Errors
/// There is no memory.
pub(crate) fn closed<F: StorageFile>(file: &F, segment_bytes: u64) -> Result<Option<Closed>> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let Some(at) = segment_bytes.checked_sub(UNIT_BYTES as u64) else { return Ok(None) };
    // What cannot be read tells nothing.
    let read = file.read_at(at, &mut unit).unwrap_or(0);
    let bytes = unit.get(..read).unwrap_or(&[]);
    let Ok((header, _)) = SegmentHeader::decode(bytes) else { return Ok(None) };
    let summary = SegmentHeader::summary(bytes).filter(|summary| summary.epoch == header.epoch);
    let Beside { highest_id, catalog, .. } = Beside::of(bytes);
    let payload_bytes = Wear::of(bytes).payload_bytes;
    Ok(summary.map(|summary| Closed {
        header,
        end: summary.end,
        highest_id,
        catalog,
        payload_bytes,
    }))
}

/// What was told of the segment in `file`, whose header is `header`, when its session was closed in order;
/// `None` if it was not, or nothing tells.
///
/// # Errors
/// There is no memory.
pub fn closed_as<F: StorageFile>(file: &F, header: &SegmentHeader) -> Result<Option<Closed>> {
    let found = closed(file, header.segment_bytes)?;
    // A header that was rebuilt from blocks knows no more than these fields.
    let of = |h: &SegmentHeader| (h.store, h.session, h.epoch, h.first_block);
    Ok(found.filter(|found| of(&found.header) == of(header)))
}
