//! Does it keep up? The highest rate at which nothing piles up, by bisection.

use super::FilesOptions;
use super::bed::Bed;
use super::greedy::orders;
use super::model::Scale;
use super::order::{Go, Kind};
use super::plan::{FilesCell, Variant};
use crate::files::{Bisection, Pace, bisect, kept_up};
use baro_bench::error::BenchError;
use baro_sys::clock;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Lowest rate that is tried: a sensor's portion now and then.
const RATE_MIN: u64 = 100_000;
/// A backlog of less than this is no backlog, ns of the rate: what a program buffers anyway.
const WITHIN_NS: u64 = 500_000_000;
/// First as fast as it goes, so that memory is full of dirty data: else a trial would measure how long
/// that takes. Memory takes it in a fraction of this.
const FILL_NS: u64 = 800_000_000;
const POLL_NS: u64 = 20_000_000;

/// What such a cell stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    /// Files, or sensors, here.
    pub files: u64,
    /// B.
    pub block_bytes: u64,
    /// Length of a trial, ns.
    pub trial_ns: u64,
    /// The rates.
    pub found: Bisection,
    /// What was not as it was to be.
    pub notes: Vec<String>,
}

pub(super) fn measure(
    options: &FilesOptions,
    cell: &FilesCell,
    kind: Kind,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    let (scale, times) = (Scale(options.scale), options.extent.times());
    let cache = scale.cache_bytes();
    let variant = Variant::BASE;
    let mut bed = Bed::make(options, &variant, cache, Scale::dirty_bytes(cache))?;
    let orders = orders(&bed, cell, kind, &variant, scale, times.points_every_ns);
    bed.start(&options.worker, &orders, stop)?;
    let plausible = match options.device.speed().write_bytes {
        0 => u64::MAX,
        limit => limit,
    };
    let found = bisect(RATE_MIN, options.device.rate_max(), times.steps, |rate| {
        // One stall of half a second, for whatever else the machine does, refutes a rate: what fails
        // is tried again, unless the device cannot do it.
        let kept = trial(&mut bed, rate, times.trial_ns, stop)?;
        if kept || rate > plausible {
            return Ok::<_, BenchError>(kept);
        }
        trial(&mut bed, rate, times.trial_ns, stop)
    })?;
    let rate = Rate {
        files: scale.files(cell.paper_files),
        block_bytes: cell.block_bytes,
        trial_ns: times.trial_ns,
        found,
        notes: std::mem::take(&mut bed.notes),
    };
    serde_json::to_value(rate)
        .map_err(|error| BenchError::Refused(format!("a cell's numbers: {error}")))
}

/// Whether this rate is kept up with for so long.
fn trial(bed: &mut Bed, rate: u64, trial_ns: u64, stop: &AtomicBool) -> Result<bool, BenchError> {
    // Nothing of the trial before is waited for.
    bed.sync()?;
    bed.slow_down()?;
    bed.go(Go::default())?;
    pass(FILL_NS, stop)?;
    bed.pause(stop)?;
    bed.go(Go { bytes_per_s: Some(rate) })?;
    pass(trial_ns, stop)?;
    let points = bed.points()?;
    bed.end_phase(stop)?;
    Ok(kept_up(Pace { bytes_per_s: Some(rate) }, &points, WITHIN_NS))
}

fn pass(duration_ns: u64, stop: &AtomicBool) -> Result<(), BenchError> {
    let end_ns = clock::monotonic_ns() + duration_ns;
    while clock::monotonic_ns() < end_ns {
        if stop.load(Relaxed) {
            return Err(BenchError::Stopped);
        }
        clock::sleep_ns(POLL_NS);
    }
    Ok(())
}
