//! Whether one recorder wrote after the other: epochs and sessions rise together.
//!
//! Two that wrote at the same time, past the locks, have recycled each other's segments, and what is
//! missing of either leaves no hole: each chain is whole in itself. But the segments that are left tell
//! that there were two. Invariant: a log that two have written is not called whole as long as it shows.
//! Held by `a_log_that_two_have_written_is_not_whole`.

use crate::damage::{Damage, Loss, Source};
use crate::index::Index;

/// A segment for each session that went on after a later one had begun.
pub(super) fn mixed(index: &Index) -> Vec<Damage> {
    let mut headers: Vec<_> = index.segments.iter().map(|found| &found.segment).collect();
    headers.sort_by_key(|segment| segment.header.epoch);
    let mut newest = 0;
    let mut said = Vec::new();
    let mut found = Vec::new();
    for segment in headers {
        let session = segment.header.session;
        if session < newest && !said.contains(&session) {
            said.push(session);
            let source = Source::Mixed { later: newest, earlier: session };
            let file = segment.file.name();
            found.push(Damage { file, offset: 32, source, loss: Loss::Segment });
        }
        newest = newest.max(session);
    }
    found
}
