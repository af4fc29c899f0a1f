//! Segments that a step passes over because nobody can read them: neither a file of the log nor a copy tells their
//! epoch any more. Once that counts as settled the file is reused, or removed, and leaves no trace; so what may
//! have been in it is counted as lost then.
//!
//! Invariant: what is passed over and could not be read stays told. Held by `tests/damage`.

use crate::damage::{Damage, Loss, Source};
use crate::{Result, Store};
use baro_log::{kept_epochs, kept_name, pin_name};
use baro_ondisk::{Pin, SegmentHeader, Settled};
use std::ops::Range;

/// What is passed over when the log is settled up to `through`.
#[derive(Debug, Default)]
pub(super) struct Passed {
    /// What cannot be read.
    pub(super) damage: Vec<Damage>,
    /// Blocks that are lost with it, as far as others tell; of a segment of which nothing is known, one.
    pub(super) lost_blocks: u64,
}

/// Epochs of which there is no segment.
struct Gap {
    epochs: Range<u64>,
    /// Blocks that were there, where the segments before and behind tell that.
    blocks: Option<u64>,
}

impl Gap {
    fn meets(&self, epochs: &Range<u64>) -> bool {
        self.epochs.start.max(epochs.start) < self.epochs.end.min(epochs.end)
    }

    fn count(&self) -> u64 {
        self.epochs.end - self.epochs.start
    }
}

/// What this step passes over.
pub(super) fn passed_over(store: &Store, through: Settled) -> Result<Passed> {
    let mut passed = Passed::default();
    if !store.segments.damage.iter().chain(&store.copies).any(Damage::is_loss) {
        return Ok(passed);
    }
    let gaps = gaps(store, through)?;
    let is_missing = |epochs: Range<u64>| gaps.iter().any(|gap| gap.meets(&epochs));
    let mut count = 0;
    let mut note = |damage: &Damage, segments: u64| {
        passed.damage.push(damage.clone());
        count += segments;
    };
    let segments = &store.segments;
    let (unread, first) = (segments.without_epoch(), gaps.first().map(|gap| gap.epochs.start));
    // Where that is known of the only one: all of it may be in runs already.
    let known = match unread.as_slice() {
        [one] => segments.epoch_of(&one.file),
        _ => None,
    };
    unread
        .iter()
        .filter(|_| known.or(first).is_some_and(|e| is_missing(e..e + 1)))
        .for_each(|damage| note(damage, 1));
    for epoch in
        kept_epochs(&store.storage)?.into_iter().filter(|epoch| is_missing(*epoch..epoch + 1))
    {
        let of = |damage: &&Damage| damage.file == kept_name(epoch);
        segments.damage.iter().find(of).into_iter().for_each(|damage| note(damage, 1));
    }
    for damage in &store.copies {
        let of = |pin: &&Pin| pin_name(pin.id, "pin") == damage.file;
        let held = store.pins().find(of).map(|pin| pin.first_epoch..pin.copies.last_epoch + 1);
        match damage.loss {
            Loss::Copies(copies) if copies > 0 && held.is_some_and(&is_missing) => {
                note(damage, copies)
            }
            _ => {}
        }
    }
    let missing: u64 = gaps.iter().map(Gap::count).sum();
    let all = gaps.iter().map(|gap| gap.blocks.unwrap_or_else(|| gap.count())).sum();
    // Of others the segment was reused before it was settled, which who did that has counted.
    passed.lost_blocks = if count < missing { count } else { all };
    Ok(passed)
}

/// Epochs that were not settled and are passed over, without a segment.
fn gaps(store: &Store, through: Settled) -> Result<Vec<Gap>> {
    let (before, index) = (store.settled(), store.recent()?);
    let (mut gaps, mut next) = (Vec::new(), before.epoch.max(1));
    let started =
        store.segments.started.iter().filter(|segment| segment.header.epoch >= before.epoch);
    for segment in started.take_while(|segment| segment.header.epoch <= through.epoch) {
        let SegmentHeader { epoch, session, first_block, .. } = segment.header;
        let is_told = |damage: &Damage| {
            let is_hole = matches!(damage.source, Source::Sequence { .. });
            is_hole && damage.file == segment.file.name() && epoch < through.epoch
        };
        if next < epoch && !index.damage.iter().any(is_told) {
            let from = match index.of_epoch(next - 1) {
                Some(one) if one.segment.header.session == session => Some(one.live.end),
                // The one to which settling has come, where its session goes on in this one.
                None if (next, epoch) == (before.epoch, before.epoch + 1) && first_block > 0 => {
                    Some(before.end)
                }
                _ => None,
            };
            let blocks = from.map(|from| first_block.saturating_sub(from));
            gaps.extend((blocks != Some(0)).then_some(Gap { epochs: next..epoch, blocks }));
        }
        next = epoch + 1;
    }
    Ok(gaps)
}
