//! A batch with a time for each sample, as records that have one time each: samples are put in the
//! order of their times first, so that those of one time go in one push.

use crate::store::generate::Batch;
use baro_ondisk::Samples;
use baro_recorder::{Producer, Refused};

/// Sorts the batch by time and returns what the ring needs to have room for.
#[must_use]
pub fn payload_bytes(batch: &mut Batch) -> usize {
    if batch.time_ns.is_some() {
        return Producer::record_bytes(Samples::payload_bytes(batch.len(), false));
    }
    sort(batch);
    let groups = batch.times_ns.chunk_by(|a, b| a == b);
    groups.map(|group| Producer::record_bytes(Samples::payload_bytes(group.len(), false))).sum()
}

fn sort(batch: &mut Batch) {
    if batch.times_ns.is_sorted() {
        return;
    }
    let mut order: Vec<usize> = (0..batch.len()).collect();
    // Stable: of samples of one series and time the last must stay the last.
    order.sort_by_key(|at| batch.times_ns[*at]);
    batch.series = order.iter().map(|at| batch.series[*at]).collect();
    batch.times_ns = order.iter().map(|at| batch.times_ns[*at]).collect();
    if batch.integers.is_empty() {
        batch.values = order.iter().map(|at| batch.values[*at]).collect();
    } else {
        batch.integers = order.iter().map(|at| batch.integers[*at]).collect();
    }
}

/// Pushes the batch, for which there must be room.
///
/// # Errors
/// See [`Refused`].
pub fn push(producer: &mut Producer, batch: &mut Batch) -> Result<(), Refused> {
    let mut one = |time_ns, from: usize, to: usize| {
        let series = &batch.series[from..to];
        if batch.integers.is_empty() {
            producer.push_samples(time_ns, series, &batch.values[from..to])
        } else {
            producer.push_integers(time_ns, series, &batch.integers[from..to])
        }
    };
    if let Some(time_ns) = batch.time_ns {
        return one(time_ns, 0, batch.series.len()).map(|_| ());
    }
    let mut from = 0;
    for group in batch.times_ns.chunk_by(|a, b| a == b) {
        one(group[0], from, from + group.len())?;
        from += group.len();
    }
    Ok(())
}
