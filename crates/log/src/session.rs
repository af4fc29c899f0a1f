//! Which blocks of a session count: the rule by which every reader, and recovery, puts the segments
//! of one session together (`docs/format.md`, "Order"). Pure: headers and the ends of scans go in.
//!
//! - A later segment supersedes the blocks of earlier ones from its first block on: it was started
//!   again there after a failed write or sync.
//! - What is left is read in order of epoch while sequences run on.
//! - A hole between two segments is the torn tail of a crash, and ends the session, unless
//!   something later proves that the missing blocks were durable: a block whose `durable` is above
//!   the hole's start, one more segment after the one behind the hole, since a segment is started
//!   only when everything before its predecessor is durable, or epochs missing in the hole, which
//!   were recycled while the segment before them could not be.
//!
//! Invariant: recovery and readers agree on which blocks are live, so that a record which the ring
//! still holds is either skipped or logged again, never both and never neither (tests of the
//! simulator, the recorder's `tests/crash`).

use baro_ondisk::{DeadTail, SegmentHeader};
use std::ops::Range;

/// One segment of a session, as its header and a scan of it tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Epoch, from the header.
    pub epoch: u64,
    /// Sequence of the first block, from the header.
    pub first_block: u64,
    /// Sequence after the last valid block ([`Scan::sequence`](baro_ondisk::Scan::sequence) at the
    /// end of the walk); the first block if there is none.
    pub end: u64,
    /// Highest `durable` field among its valid blocks, 0 if there are none; or how far its own
    /// blocks are known to have been durable ([`known_end`]), if that is more.
    pub durable: u64,
}

impl Extent {
    /// What is left without the blocks that a header names as dead. Of a segment that is dead from
    /// before its first block on, not even the place of that block counts: the segment that
    /// superseded it may have been recycled, and nothing is missing before it.
    #[must_use]
    pub fn capped(self, dead: &[DeadTail]) -> Self {
        let dead_from = dead_from(dead, self.epoch);
        let first_block = self.first_block.min(dead_from);
        Extent { first_block, end: self.end.min(dead_from), ..self }
    }
}

/// Blocks below this are known to have been durable, of the segment of `epoch` that begins at
/// `first_block`: an entry whose end is above it was made when they had been synced, by the writer
/// or by a recovery. 0 if nothing is known.
#[must_use]
pub fn known_end(dead: &[DeadTail], epoch: u64, first_block: u64) -> u64 {
    let end = dead_from(dead, epoch);
    if end == u64::MAX || end <= first_block { 0 } else { end }
}

/// The first dead block in the segment of this epoch.
#[must_use]
pub fn dead_from(dead: &[DeadTail], epoch: u64) -> u64 {
    let of_epoch = dead.iter().filter(|tail| tail.epoch == epoch);
    of_epoch.map(|tail| tail.end).min().unwrap_or(u64::MAX)
}

/// What the later segments of a session prove of those before: the last is looked at first.
#[derive(Clone, Copy, Debug)]
pub struct Proof {
    durable: u64,
    cap: u64,
    later: u32,
    /// Epoch of the segment passed last.
    next_epoch: u64,
}

impl Default for Proof {
    fn default() -> Self {
        Proof { durable: 0, cap: u64::MAX, later: 0, next_epoch: 0 }
    }
}

impl Proof {
    /// Blocks below this that belong to the segment were durable; 0 if nothing is known. `ends` are
    /// what all headers of the log tell, `dead` what the newest does.
    #[must_use]
    pub fn of(&self, header: &SegmentHeader, ends: &[DeadTail], dead: &[DeadTail]) -> u64 {
        // A segment is started when all before its predecessor is durable. Where epochs are missing
        // next, what was between may have been recycled, and only a header tells.
        let by_order = if self.later > 1 { self.cap } else { 0 };
        let next = header.epoch + 1 == self.next_epoch;
        let by_later = if next { self.durable.max(by_order) } else { 0 };
        let known = by_later.max(known_end(ends, header.epoch, header.first_block));
        known.min(self.cap).min(dead_from(dead, header.epoch))
    }

    /// Goes on to the segment before one of this extent.
    pub fn pass(&mut self, extent: &Extent) {
        self.next_epoch = extent.epoch;
        self.durable = self.durable.max(extent.durable);
        if extent.first_block < self.cap {
            self.cap = extent.first_block;
            self.later += 1;
        }
    }

    /// Blocks of the session below this were durable.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.durable
    }
}

/// What counts of one segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Sequences of its live blocks; valid blocks outside are dead and must be passed over.
    pub live: Range<u64>,
    /// Blocks missing before it that once were durable.
    pub hole: Option<Hole>,
}

/// Blocks that were durable and are not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// Their sequences.
    pub blocks: Range<u64>,
    /// Whether epochs are missing there too: then segments in between have been recycled, which is
    /// no damage, or their headers are damaged.
    pub epochs_missing: bool,
}

/// Judges the segments of one session, given by rising epoch and without what headers name as
/// dead ([`Extent::capped`]); one verdict for each.
///
/// The first segment need not start at block 0: those before it may have been recycled.
#[must_use]
pub fn judge(segments: &[Extent]) -> Vec<Verdict> {
    let nothing = |at: u64| Verdict { live: at..at, hole: None };
    let mut verdicts: Vec<_> = segments.iter().map(|s| nothing(s.first_block)).collect();
    // From the end: what no later segment supersedes, and how far.
    let mut cap = u64::MAX;
    let mut kept: Vec<(usize, Extent)> = Vec::new();
    for (at, segment) in segments.iter().enumerate().rev() {
        if segment.first_block < cap {
            kept.push((at, Extent { end: segment.end.min(cap), ..*segment }));
            cap = segment.first_block;
        }
    }
    kept.reverse();
    let mut before: Option<Extent> = None;
    for (place, (at, segment)) in kept.iter().enumerate() {
        let mut hole = None;
        if let Some(before) = before.filter(|before| before.end < segment.first_block) {
            let later = kept.get(place..).unwrap_or(&[]);
            let epochs_missing = before.epoch + 1 != segment.epoch;
            // What a crash tears is followed by the next epoch: those missing were recycled, after
            // a recovery had judged, and what it found dead is named by a header.
            let proven = epochs_missing
                || later.len() > 1
                || before.durable > before.end
                || later.iter().any(|(_, s)| s.durable > before.end);
            if !proven {
                break;
            }
            hole = Some(Hole { blocks: before.end..segment.first_block, epochs_missing });
        }
        if let Some(verdict) = verdicts.get_mut(*at) {
            *verdict = Verdict { live: segment.first_block..segment.end, hole };
        }
        before = Some(*segment);
    }
    verdicts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn extent(epoch: u64, blocks: Range<u64>, durable: u64) -> Extent {
        Extent { epoch, first_block: blocks.start, end: blocks.end, durable }
    }

    fn live(segments: &[Extent]) -> Vec<Range<u64>> {
        judge(segments).into_iter().map(|verdict| verdict.live).collect()
    }

    #[test]
    fn segments_run_on_and_the_first_may_have_been_recycled() {
        assert!(judge(&[]).is_empty());
        let segments = [extent(7, 40..50, 38), extent(8, 50..60, 49), extent(9, 60..60, 0)];
        assert_eq!(live(&segments), [40..50, 50..60, 60..60]);
        assert!(judge(&segments).iter().all(|verdict| verdict.hole.is_none()));
    }

    #[test]
    fn a_later_start_supersedes() {
        // Segment 1 failed at block 5, the start of segment 2 failed too but reached the disk.
        let segments = [extent(1, 0..10, 5), extent(2, 8..9, 5), extent(3, 5..7, 5)];
        assert_eq!(live(&segments), [0..5, 8..8, 5..7]);
        // Started again at the very same block: nothing of the first attempt counts.
        assert_eq!(live(&[extent(1, 0..4, 0), extent(2, 0..2, 0)]), [0..0, 0..2]);
    }

    #[test]
    fn a_dead_segment_leaves_no_hole_when_what_superseded_it_is_recycled() {
        // Epoch 5 failed before a block of it was durable; 6, which began at 13, was recycled.
        let dead = [(5, 4), (4, 3)].map(|(epoch, index)| DeadTail {
            epoch,
            end: 13,
            index,
            end_only: false,
        });
        let segments = [extent(4, 12..15, 8), extent(5, 17..18, 8), extent(9, 25..29, 25)];
        let verdicts = judge(&segments.map(|segment| segment.capped(&dead)));
        let hole = Some(Hole { blocks: 13..25, epochs_missing: true });
        assert_eq!((verdicts[0].live.clone(), verdicts[1].live.clone()), (12..13, 13..13));
        assert_eq!((verdicts[2].live.clone(), verdicts[2].hole.clone()), (25..29, hole));
    }

    #[test]
    fn a_hole_without_proof_ends_the_session() {
        let segments = [extent(1, 0..10, 8), extent(2, 12..15, 10)];
        assert_eq!(live(&segments), [0..10, 12..12]);
        // A segment that lost its own tail, and a header behind it.
        assert_eq!(live(&[extent(1, 0..10, 8), extent(2, 12..12, 0)]), [0..10, 12..12]);
    }

    #[test]
    fn an_end_that_a_header_tells_proves_what_is_missing_before_it() {
        let tail = |epoch, end| DeadTail { epoch, end, index: 0, end_only: true };
        let dead = [tail(1, 10), tail(2, 12)];
        assert_eq!((known_end(&dead, 1, 0), known_end(&dead, 3, 0)), (10, 0));
        // Of a segment that is dead from its first block on nothing is known.
        assert_eq!(known_end(&dead, 2, 12), 0);
        let told = judge(&[extent(1, 0..8, 10), extent(2, 10..12, 7)]);
        assert_eq!(told[1].hole, Some(Hole { blocks: 8..10, epochs_missing: false }));
        assert_eq!(live(&[extent(1, 0..8, 7), extent(2, 10..12, 7)]), [0..8, 10..10]);
    }

    #[test]
    fn later_segments_prove_the_end_of_the_one_before_them_and_of_no_other() {
        let header = |epoch, first_block| SegmentHeader {
            kind: baro_ondisk::SegmentKind::Log,
            store: baro_ondisk::StoreId::default(),
            session: 1,
            epoch,
            index: 0,
            previous_crc: 0,
            segment_bytes: 1 << 20,
            first_block,
            realtime_ns: 0,
            boottime_ns: 0,
            boot_id: [0; 16],
        };
        let mut proof = Proof::default();
        assert_eq!(proof.of(&header(9, 40), &[], &[]), 0);
        proof.pass(&extent(9, 40..50, 47));
        // Block 47 was durable, but of these only those before the next segment are of this one.
        assert_eq!(proof.of(&header(8, 30), &[], &[]), 40);
        // Epoch 8 is not there: whatever it held was recycled with it.
        assert_eq!(proof.of(&header(7, 20), &[], &[]), 0);
        let end = [DeadTail { epoch: 7, end: 28, index: 0, end_only: true }];
        assert_eq!(proof.of(&header(7, 20), &end, &[]), 28);
        // Dead blocks were never durable as far as anybody cares.
        let dead = [DeadTail { epoch: 8, end: 33, index: 0, end_only: false }];
        assert_eq!(proof.of(&header(8, 30), &[], &dead), 33);
    }

    #[test]
    fn a_hole_that_was_durable_is_reported() {
        let by_block = judge(&[extent(1, 0..10, 8), extent(2, 12..15, 11)]);
        assert_eq!(by_block[1].live, 12..15);
        assert_eq!(by_block[1].hole, Some(Hole { blocks: 10..12, epochs_missing: false }));
        // Recycled, while the segment before could not be.
        assert_eq!(live(&[extent(1, 0..5, 4), extent(3, 8..10, 5)]), [0..5, 8..10]);
        // A third segment proves that the first was durable; epochs 2 to 6 were recycled.
        let by_order = judge(&[extent(1, 0..10, 8), extent(7, 90..95, 9), extent(8, 95..95, 0)]);
        assert_eq!(by_order[1].hole, Some(Hole { blocks: 10..90, epochs_missing: true }));
        assert_eq!((by_order[1].live.clone(), by_order[2].live.clone()), (90..95, 95..95));
    }
}
