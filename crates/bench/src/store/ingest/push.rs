//! A batch of the data as one record.

use crate::store::generate::Batch;
use baro_ondisk::Samples;
use baro_recorder::{Producer, Refused};

/// What the ring needs to have room for.
#[must_use]
pub fn payload_bytes(batch: &Batch) -> usize {
    Producer::record_bytes(Samples::payload_bytes(batch.len(), batch.time_ns.is_none()))
}

/// Pushes the batch, for which there must be room.
///
/// # Errors
/// See [`Refused`].
pub fn push(producer: &mut Producer, batch: &Batch) -> Result<(), Refused> {
    let Batch { time_ns, series, times_ns, values, integers, .. } = batch;
    match (*time_ns, integers.is_empty()) {
        (Some(time_ns), true) => producer.push_samples(time_ns, series, values),
        (Some(time_ns), false) => producer.push_samples(time_ns, series, integers),
        (None, true) => producer.push_batch(times_ns, series, values),
        (None, false) => producer.push_batch(times_ns, series, integers),
    }
    .map(|_| ())
}
