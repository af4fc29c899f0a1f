//! Whether the copies that pins have had made are still there: each pin counts them, and none goes
//! before the pin does. Asked by who reads a store, and by who begins to record into it.
//!
//! What an earlier version pinned counts none, and so misses none. Held by
//! `a_pin_after_a_copied_one_holds_its_own_window_only` (the
//! command line).

use crate::Result;
use crate::names::kept_name;
use crate::pins::{Pins, kept_epochs};
use baro_ondisk::{Copies, Manifest, Pin, StoreId};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeSet;

/// Pins whose copies are missing or shorter than they were while their segments are not in the `log`, by
/// epoch; and what there is. `frames`: the store may have frames, which are in no run.
///
/// # Errors
/// The folders cannot be read.
pub fn missing_copies<S: Storage>(
    storage: &S,
    store: StoreId,
    pins: &Pins,
    log: impl Iterator<Item = u64>,
    (manifest, frames): (&Manifest, impl FnOnce() -> bool),
) -> Result<Vec<(Pin, Copies)>> {
    if pins.pins.values().all(|pin| pin.copies.count == 0) {
        return Ok(Vec::new());
    }
    let kept = kept_epochs(storage)?;
    // One by one: `collect` sorts first.
    let mut all = BTreeSet::new();
    all.extend(log);
    let log = all;
    let wrong = |pin: &Pin| Some((pin.clone(), found(storage, pin, &kept, &log)?));
    let mut wrong: Vec<_> = pins.pins.values().filter_map(wrong).collect();
    if wrong.is_empty() {
        return Ok(wrong);
    }
    // Copies of a pin that was released, or cut, meanwhile are gone rightly.
    let now = Pins::read(storage, store)?;
    let frames = frames();
    let stands = |pin: &Pin| now.pins.get(&pin.id).is_some_and(|now| now.copies == pin.copies);
    wrong.retain(|(pin, _)| stands(pin) && (frames || !in_runs(pin, manifest)));
    Ok(wrong)
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
    // Where a segment was never recycled, as in a backup, it may be in the log alone.
    let alone = log.range(held).filter(|epoch| !kept.contains(epoch)).count() as u64;
    if found.count >= pin.copies.count {
        // There may be more than the pin counts, and the bytes that are missed are then those in the log.
        return (alone == 0 && found.bytes < pin.copies.bytes).then_some(found);
    }
    found.count += alone;
    (found.count < pin.copies.count).then_some(found)
}

/// Whether all samples of the copies are in runs, and runs still reach back to the window.
fn in_runs(pin: &Pin, manifest: &Manifest) -> bool {
    let oldest_ns = manifest.runs.iter().map(|run| run.time_min_ns).min();
    pin.copies.last_epoch < manifest.settled.epoch
        && oldest_ns.is_some_and(|oldest_ns| oldest_ns <= pin.window_ns().0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use baro_sys::sim::SimDisk;

    /// A backup has a pinned segment in the log alone where the store has a copy of it too.
    #[test]
    fn what_is_in_the_log_alone_is_not_missed() {
        let disk = SimDisk::new(7);
        disk.create_folder(crate::names::KEPT).unwrap();
        for (epoch, bytes) in [(1, 4_096), (2, 8_192)] {
            let file = disk.create(&kept_name(epoch)).unwrap();
            file.write_at(0, &vec![0; bytes]).unwrap();
        }
        let kept = BTreeSet::from([1, 2]);
        // It counts the copies of 2 and 3; that of 1 was made for another pin.
        let copies = Copies::default().with(2, 8_192).with(3, 16_384);
        let pin = Pin { first_epoch: 1, last_epoch: 3, copies, ..Pin::default() };
        assert_eq!(found(&disk, &pin, &kept, &BTreeSet::from([3, 4])), None);
        let less = Copies::default().with(1, 4_096).with(2, 8_192);
        assert_eq!(found(&disk, &pin, &kept, &BTreeSet::from([4])), Some(less));
    }
}
