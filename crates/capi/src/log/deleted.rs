//! What has been deleted of a block is not handed out; without deletions nothing here is called.
//! Held by `the_reader_of_libbaro_leaves_out_what_is_deleted` (`tests/read.rs`).

use super::Entry;
use baro_ondisk::{Block, Deletion, Kind, Samples, UnfoldedSamples, is_deleted, without_deleted};

/// Leaves out what has been deleted of the records in the bodies; a record of samples of which some
/// were is made anew behind the unfolded ones.
pub(super) fn leave_out(
    by: &[Deletion],
    block: &Block<'_>,
    base: usize,
    unfolded: &mut UnfoldedSamples,
    entries: &mut Vec<Entry>,
) {
    let mut kept = Vec::new();
    let mut bodies: Vec<&[u8]> = Vec::new();
    for chunk in block.chunks().map_while(std::result::Result::ok) {
        let records = chunk.records().map_while(std::result::Result::ok);
        bodies.extend(records.filter(|r| r.kind != Kind::Moved).map(|record| record.payload));
    }
    entries.retain_mut(|entry| {
        if entry.unfolded {
            return true;
        }
        let is_it = |body: &&&[u8]| {
            body.as_ptr() as usize - base == entry.payload.start
                && body.len() == entry.payload.len()
        };
        match entry.kind {
            Kind::Frame | Kind::Text => !is_deleted(by, entry.stream, entry.time_ns),
            Kind::Samples => {
                let payload = bodies.iter().find(is_it).copied().unwrap_or(&[]);
                let Ok(samples) = Samples::decode(payload, entry.time_ns) else { return true };
                if without_deleted(&samples, by, &mut kept) {
                    entry.payload = unfolded.keep(&kept);
                    entry.unfolded = true;
                }
                entry.payload.len() > Samples::HEAD_BYTES || samples.is_empty()
            }
            _ => true,
        }
    });
}
