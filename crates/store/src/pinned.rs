//! Copies of pinned segments that are missing, as damage of the store: see [`missing_copies`].

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::segments::Segments;
use baro_log::{Pins, missing_copies, pin_name};
use baro_ondisk::{Copies, Manifest, Pin, StoreId};
use baro_sys::storage::AnyStorage;

/// Copies of these pins that are missing or shorter than they were, and whose segments are not in the
/// log. `frames`: the store may have frames, which are in no run.
pub(crate) fn missing(
    storage: &AnyStorage,
    store: StoreId,
    pins: &Pins,
    segments: &Segments,
    beside: (&Manifest, impl FnOnce() -> bool),
) -> Result<Vec<Damage>> {
    let log = segments.started.iter().map(|found| found.header.epoch);
    let told = |(pin, found): (Pin, Copies)| {
        let (expected, lost) = (pin.copies, pin.copies.count.saturating_sub(found.count));
        let source = Source::Copies { expected, found };
        let file = pin_name(pin.id, "pin");
        Damage { file, offset: Pin::COPIES_AT as u64, source, loss: Loss::Copies(lost) }
    };
    let missing = missing_copies(storage, store, pins, log, beside)?;
    Ok(missing.into_iter().map(told).collect())
}
