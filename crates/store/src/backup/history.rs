//! Whether the copy is of the history that the store has. A store that was put back from an older copy
//! and recorded into has another one: what only the copy has would be lost.
//!
//! A power cut may take the newest blocks of the store after a backup has seen them. It takes none of
//! which another block says that it was durable: if the copy has such blocks and the store lacks them,
//! they are of another history, or damaged in the store. A session makes durable all that it finds of
//! those before it. The segments that the copy has to their end are told apart by their headers alone.

use super::log::header_of;
use super::place::Place;
use crate::segments::SegmentRef;
use crate::{Result, Store};
use baro_log::{Blocks, FoundHeader, segment_name};
use baro_ondisk::{Manifest, SegmentHeader};
use baro_sys::storage::{Access, AnyFile, Storage};
use std::collections::BTreeMap;

/// A segment of the copy's log: its number, its header and the header's CRC.
pub(super) type There = (u32, SegmentHeader, u32);

/// Whether the copy has blocks that were durable and that the store never reused, nor has.
pub(super) fn has_more(store: &Store, place: &Place<'_>, there: &[There]) -> Result<bool> {
    let newest: Vec<_> =
        there.iter().filter(|(_, header, _)| header.epoch >= place.mark.complete_below).collect();
    let mut durable = BTreeMap::<u64, u64>::new();
    let last_session = newest.iter().map(|(_, header, _)| header.session).max().unwrap_or(0);
    for (index, header, crc) in &newest {
        let file = place.target.open(&segment_name(*index), Access::Read)?;
        let (said, end) = walk(&file, *header, *crc)?;
        let said = if header.session < last_session { end } else { said };
        let most = durable.entry(header.session).or_default();
        *most = said.max(*most);
    }
    let ours = &store.segments.started;
    let reached = ours.last().map_or(0, |last| last.header.epoch);
    for (_, header, crc) in &newest {
        let same = ours.iter().find(|one| one.header.epoch == header.epoch);
        // One that is not there was reused, unless the store has not come so far.
        let lacks = same.map_or(header.epoch > reached, |same| same.crc != *crc);
        if lacks && durable.get(&header.session).is_some_and(|said| *said > header.first_block) {
            return Ok(true);
        }
    }
    for (session, said) in durable {
        if end_of_session(store, session)?.is_some_and(|end| end < said) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a run of the copy has the number of one of the store and is another.
pub(super) fn runs_differ(ours: &Manifest, theirs: &Manifest) -> bool {
    let by_id: BTreeMap<_, _> = ours.runs.iter().map(|run| (run.id, run)).collect();
    theirs.runs.iter().any(|run| by_id.get(&run.id).is_some_and(|ours| *ours != run))
}

/// Behind the last block of a session that the store has; `None` if the segment that has it is gone.
fn end_of_session(store: &Store, session: u64) -> Result<Option<u64>> {
    let ours = &store.segments.started;
    let Some(at) = ours.iter().rposition(|one| one.header.session == session) else {
        return Ok(None);
    };
    let Some(segment) = ours.get(at) else { return Ok(None) };
    let next = |next: &SegmentRef| next.header.epoch == segment.header.epoch + 1;
    if !ours.get(at + 1).is_none_or(next) {
        return Ok(None);
    }
    let Some((_, file)) = header_of(store, segment)? else { return Ok(None) };
    let end = walk(&file, segment.header, segment.crc)?.1;
    // It may have been reused while it was read.
    Ok(header_of(store, segment)?.map(|_| end))
}

/// How far blocks of a segment say that their session was durable, and the sequence behind the last.
fn walk(file: &AnyFile, header: SegmentHeader, crc: u32) -> Result<(u64, u64)> {
    let mut blocks = Blocks::new()?;
    let mut walk = blocks.walk(file, header, crc);
    let mut durable = 0;
    loop {
        match walk.next_header()? {
            FoundHeader::Block(block) => durable = block.durable.max(durable),
            FoundHeader::End(_) => match walk.skip_damage()? {
                Some(block) => durable = block.durable.max(durable),
                None => return Ok((durable, walk.scan().sequence())),
            },
        }
    }
}
