//! Whether the copies that pins have had made are still there: each pin counts them, and none goes
//! before the pin does.
//!
//! What an earlier version pinned counts none, and so misses none. Held by
//! `a_pin_after_a_copied_one_holds_its_own_window_only` (the command line).

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::segments::Segments;
use baro_log::{Pins, kept_epochs, kept_name, pin_name};
use baro_ondisk::{Copies, Manifest, Pin, StoreId};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeSet;

/// Copies of these pins that are missing or shorter than they were, and whose segments are not in the
/// log. `frames`: the store may have frames, which are in no run.
pub(crate) fn missing<S: Storage>(
    storage: &S,
    store: StoreId,
    pins: &Pins,
    segments: &Segments,
    (manifest, frames): (&Manifest, impl FnOnce() -> bool),
) -> Result<Vec<Damage>> {
    if pins.pins.values().all(|pin| pin.copies.count == 0) {
        return Ok(Vec::new());
    }
    let kept = kept_epochs(storage)?;
    let log: BTreeSet<u64> = segments.started.iter().map(|found| found.header.epoch).collect();
    let wrong = |pin: &Pin| Some((pin.clone(), found(storage, pin, &kept, &log)?));
    let wrong: Vec<_> = pins.pins.values().filter_map(wrong).collect();
    if wrong.is_empty() {
        return Ok(Vec::new());
    }
    // Copies of a pin that was released, or cut, meanwhile are gone rightly.
    let now = Pins::read(storage, store)?;
    let frames = frames();
    let stands = |pin: &Pin| now.pins.get(&pin.id).is_some_and(|now| now.copies == pin.copies);
    let told = |(pin, found): (Pin, Copies)| {
        if !stands(&pin) || (!frames && in_runs(&pin, manifest)) {
            return None;
        }
        let (expected, lost) = (pin.copies, pin.copies.count.saturating_sub(found.count));
        let source = Source::Copies { expected, found };
        let file = pin_name(pin.id, "pin");
        Some(Damage { file, offset: Pin::COPIES_AT as u64, source, loss: Loss::Copies(lost) })
    };
    Ok(wrong.into_iter().filter_map(told).collect())
}

/// What there is of the copies of a pin, if that is less than there was.
fn found<S: Storage>(
    storage: &S,
    pin: &Pin,
    kept: &BTreeSet<u64>,
    log: &BTreeSet<u64>,
) -> Option<Copies> {
    let held = pin.first_epoch..=pin.copies.last_epoch;
    if held.is_empty() || pin.copies.count == 0 {
        return None;
    }
    let copies = kept.range(held.clone()).copied();
    let mut found = copies.fold(Copies::default(), |found, epoch| {
        let size = storage.open(&kept_name(epoch), Access::Read).and_then(|file| file.size_bytes());
        found.with(epoch, size.unwrap_or(0))
    });
    if found.count >= pin.copies.count {
        return (found.bytes < pin.copies.bytes).then_some(found);
    }
    // Where a segment was never recycled, as in a backup, it may be in the log alone.
    found.count += log.range(held).filter(|epoch| !kept.contains(epoch)).count() as u64;
    (found.count < pin.copies.count).then_some(found)
}

/// Whether all samples of the copies are in runs, and runs still reach back to the window.
fn in_runs(pin: &Pin, manifest: &Manifest) -> bool {
    let oldest_ns = manifest.runs.iter().map(|run| run.time_min_ns).min();
    pin.copies.last_epoch < manifest.settled.epoch
        && oldest_ns.is_some_and(|oldest_ns| oldest_ns <= pin.window_ns().0)
}
