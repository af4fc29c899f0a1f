//! What sessions before the newest one have of producers whose rings that one did not take over: they were
//! refused, since the store had come to another place, and were adopted since. What lies in them may be in the
//! log already: the newest session has made it durable.
//!
//! A ring has given back all but what lies in the last two segments of the session that wrote it, so no more
//! of each session is read, and of few sessions: a ring whose producer was never logged is looked for in all of
//! them. The device is read only for producers that are asked for.
//!
//! Invariant: a record that readers see is not taken from a ring again. Held by
//! `a_ring_that_is_taken_over_after_another_session_gives_nothing_twice` (the recorder's `tests/record.rs`).

use super::names::segment_name;
use super::recover::Recovery;
use super::session::dead_from;
use super::walk::{Blocks, Found};
use crate::Result;
use baro_ondisk::{Block, End};
use baro_sys::storage::{Access, Storage};
use std::collections::BTreeMap;

/// Segments of a session that may have what rings still hold.
const TAIL_SEGMENTS: usize = 2;
/// Sessions before the newest one that are looked at: whoever brings a ring back has begun no more of them
/// meanwhile, and opening stays short in a log of many short ones.
const SESSIONS_MAX: usize = 4;

/// Sequence after the last record of each of these producers, as the last session before the newest one that
/// has any of it tells; none of those of which none has.
///
/// # Errors
/// The operating system refuses. What is damaged is passed over.
pub fn logged_before<S: Storage>(
    storage: &S,
    recovery: &Recovery,
    producers: &[u64],
) -> Result<BTreeMap<u64, u64>> {
    let mut found: BTreeMap<u64, u64> = BTreeMap::new();
    if producers.is_empty() {
        return Ok(found);
    }
    let started = &recovery.segments.started;
    let newest = started.last().map(|(header, _)| header.session);
    let mut blocks = Blocks::new()?;
    let sessions = started.chunk_by(|(a, _), (b, _)| a.session == b.session);
    let earlier = sessions.rev().filter(|s| s.first().map(|(h, _)| h.session) != newest);
    for session in earlier.take(SESSIONS_MAX) {
        if producers.iter().all(|producer| found.contains_key(producer)) {
            break;
        }
        let mut of_session = BTreeMap::new();
        let mut superseded_from = u64::MAX;
        for (header, crc) in session.iter().rev().take(TAIL_SEGMENTS) {
            let dead =
                [&recovery.dead, &recovery.segments.ends].map(|d| dead_from(d, header.epoch));
            let end = dead.into_iter().fold(superseded_from, u64::min);
            superseded_from = header.first_block;
            let file = storage.open(&segment_name(header.index), Access::ReadDirect)?;
            let mut walk = blocks.walk(&file, *header, *crc);
            walk.pass_unreadable();
            while walk.scan().sequence() < end {
                match walk.next_block() {
                    // Nothing of the session is behind it.
                    Ok(Found::Block(block)) if block.header.is_end_mark() => break,
                    Ok(Found::Block(block)) => see(&block, producers, &mut of_session),
                    Ok(Found::End(End::Full)) => break,
                    Ok(Found::End(End::Tail(_))) | Err(_) => match walk.find_proof() {
                        Ok(Some((at, header))) => walk.resume(at, &header),
                        Ok(None) | Err(_) => break,
                    },
                }
            }
        }
        for (producer, next) in of_session {
            found.entry(producer).or_insert(next);
        }
    }
    Ok(found)
}

/// Notes how far a block has come with the records of these producers.
fn see(block: &Block<'_>, producers: &[u64], found: &mut BTreeMap<u64, u64>) {
    for chunk in block.chunks().flatten().filter(|chunk| producers.contains(&chunk.producer)) {
        let next = found.entry(chunk.producer).or_default();
        for record in chunk.records().flatten() {
            *next = (*next).max(record.next_sequence());
        }
    }
}
