//! A cell of the matrix: as fast as it goes, until that is steady.

use super::FilesOptions;
use super::bed::Bed;
use super::model::Scale;
use super::order::{Go, Kind, Order};
use super::plan::{FilesCell, Times, Variant};
use super::traffic::{Traffic, Watch};
use super::writers::ENDED;
use crate::files::{Point, Steady, steady};
use baro_bench::error::BenchError;
use baro_bench::experiment::unavailable;
use baro_sys::clock;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const POLL_NS: u64 = 20_000_000;

/// What a greedy cell stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Greedy {
    /// Files, or sensors, here.
    pub files: u64,
    /// B.
    pub block_bytes: u64,
    /// Writing processes.
    pub writers: u64,
    /// L.
    pub file_bytes_max: u64,
    /// Limit of the writers' memory; None: not limited.
    pub memory_bytes: Option<u64>,
    /// Limit of dirty data.
    pub dirty_bytes: Option<u64>,
    /// What they have written at times.
    pub points: Vec<Point>,
    /// What the rate came to.
    pub steady: Steady,
    /// Written while it was measured.
    pub application_bytes: u64,
    /// The device's traffic meanwhile; None without a stand.
    pub during: Option<Traffic>,
    /// Written in all, by those too that were just writing when it ended.
    pub application_synced_bytes: u64,
    /// Traffic with the sync of all that was left in memory.
    pub synced: Option<Traffic>,
    /// What was not as it was to be.
    pub notes: Vec<String>,
}

impl Greedy {
    /// Bytes to the device for each byte of the application, with what was left in memory.
    #[must_use]
    pub fn kwa(&self) -> Option<f64> {
        let device = self.synced.as_ref()?.written_bytes;
        (self.application_synced_bytes > 0)
            .then(|| device as f64 / self.application_synced_bytes as f64)
    }

    /// Rate, MB/s.
    #[must_use]
    pub fn mb_per_s(&self) -> f64 {
        self.steady.bytes_per_s / 1e6
    }
}

/// Parts of the measured time that a rate is compared over.
const PARTS: u64 = 3;

impl Greedy {
    /// The lowest and the highest rate of the thirds of the time that the rate was taken over, MB/s:
    /// how far another run might have come to another rate.
    #[must_use]
    pub fn range(&self) -> (f64, f64) {
        let Steady { from_ns, to_ns, .. } = self.steady;
        let at = |at_ns: u64| self.points.iter().find(|point| point.at_ns >= at_ns);
        let part_ns = to_ns.saturating_sub(from_ns) / PARTS;
        let rates = (0..PARTS).filter_map(|part| {
            let (from, to) = (at(from_ns + part * part_ns)?, at(from_ns + (part + 1) * part_ns)?);
            let ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)?;
            Some(to.bytes.saturating_sub(from.bytes) as f64 * 1e3 / ns as f64)
        });
        let rate = self.mb_per_s();
        rates.fold((rate, rate), |(low, high), rate| (low.min(rate), high.max(rate)))
    }
}

/// Memory and dirty data that the writers of a cell may have, bytes; None: the buffers leave none.
pub(super) fn limits(
    scale: Scale,
    variant: &Variant,
    files: u64,
    block_bytes: u64,
) -> Option<(u64, u64)> {
    if variant.layer {
        let memory = scale.memory_bytes();
        let left = memory.checked_sub(files * block_bytes)?;
        // What the kernel takes for inodes and the cache at the very least.
        return (left >= memory / 16).then(|| (memory, Scale::dirty_bytes(left)));
    }
    let cache = scale.cache_bytes() / variant.cache_divisor;
    let dirty = if variant.f2fs { Scale::dirty_bytes_f2fs } else { Scale::dirty_bytes };
    Some((cache, dirty(cache)))
}

/// What the writers of a cell are told.
pub(super) fn orders(
    bed: &Bed,
    cell: &FilesCell,
    kind: Kind,
    variant: &Variant,
    scale: Scale,
    points_every_ns: u64,
) -> Vec<Order> {
    let files = scale.files(cell.paper_files);
    let writers = variant.writers.clamp(1, files);
    (0..writers)
        .map(|writer| Order {
            kind,
            folder: bed.folder().join(format!("writer-{writer}")),
            // Shares that differ by one at most.
            files: files / writers + u64::from(writer < files % writers),
            block_bytes: cell.block_bytes,
            file_bytes_max: scale.file_bytes_max(files),
            flat: variant.flat,
            sync: variant.sync,
            layer: variant.layer,
            // As much as the files keep at least.
            log_bytes: scale.capacity_bytes() * 45 / 100,
            points_every_ns,
            group: bed.group(),
        })
        .collect()
}

/// Measures a cell.
pub(super) fn measure(
    options: &FilesOptions,
    cell: &FilesCell,
    kind: Kind,
    variant: &Variant,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    let scale = Scale(options.scale);
    let files = scale.files(cell.paper_files);
    let Some((memory, dirty)) = limits(scale, variant, files, cell.block_bytes) else {
        return Ok(unavailable(format!(
            "{} MB of buffers leave nothing of {} MB; the paper's machine swapped here",
            files * cell.block_bytes / 1_000_000,
            scale.memory_bytes() / 1_000_000
        )));
    };
    let mut bed = Bed::make(options, variant, memory, dirty)?;
    if bed.memory_bytes.is_none() && (variant.cache_divisor > 1 || variant.layer) {
        return Ok(unavailable(format!("it needs a limit of memory: {}", bed.notes.join("; "))));
    }
    let times = options.extent.times();
    let orders = orders(&bed, cell, kind, variant, scale, times.points_every_ns);
    let ran = run(options, &mut bed, &orders, &times, stop);
    let mut data = match ran {
        Ok(data) => data,
        Err(BenchError::ThreadLost(ENDED)) if bed.memory_bytes.is_some() => {
            return Ok(unavailable(format!(
                "a writing process was killed, most likely because {} MB of memory are too little",
                memory / 1_000_000
            )));
        }
        Err(error) => return Err(error),
    };
    data.files = files;
    data.block_bytes = cell.block_bytes;
    data.writers = orders.len() as u64;
    data.file_bytes_max = scale.file_bytes_max(files);
    (data.memory_bytes, data.dirty_bytes) = (bed.memory_bytes, bed.dirty_bytes);
    data.notes.append(&mut bed.notes);
    serde_json::to_value(data)
        .map_err(|error| BenchError::Refused(format!("a cell's numbers: {error}")))
}

fn run(
    options: &FilesOptions,
    bed: &mut Bed,
    orders: &[Order],
    times: &Times,
    stop: &AtomicBool,
) -> Result<Greedy, BenchError> {
    bed.start(&options.worker, orders, stop)?;
    bed.sync()?;
    bed.slow_down()?;
    let watch = bed.watch()?;
    bed.go(Go::default())?;
    let points = until_steady(bed, times, stop)?;
    let during = watch.as_ref().map(Watch::so_far).transpose()?;
    let report = bed.end_phase(stop)?;
    bed.sync()?;
    let synced = watch.map(Watch::finish).transpose()?;
    let mut notes = Vec::new();
    let lost = synced.as_ref().map_or(0, |traffic| traffic.lost_events);
    if lost > 0 {
        notes.push(format!("{lost} events of the tracer were lost: classes are too small"));
    }
    Ok(Greedy {
        steady: steady(&points, &times.rule).unwrap_or_default(),
        application_bytes: points.last().map_or(0, |point| point.bytes),
        points,
        during,
        application_synced_bytes: report.written_bytes,
        synced,
        notes,
        ..Greedy::default()
    })
}

/// Until the rate is steady and each file was renamed once, or time is over.
fn until_steady(bed: &mut Bed, times: &Times, stop: &AtomicBool) -> Result<Vec<Point>, BenchError> {
    let begin_ns = clock::monotonic_ns();
    loop {
        let points = bed.points()?;
        let passed_ns = clock::monotonic_ns().saturating_sub(begin_ns);
        let settled = || {
            let found = steady(&points, &times.rule);
            // Most of the time is enough for a renaming only where there are few files.
            found.is_some_and(|found| found.steady)
                && (points.last().is_some_and(|point| point.rotations > 0)
                    || passed_ns >= times.max_ns * 2 / 3)
        };
        if passed_ns >= times.max_ns || (passed_ns >= times.min_ns && settled()) {
            return Ok(points);
        }
        if stop.load(Relaxed) {
            return Err(BenchError::Stopped);
        }
        clock::sleep_ns(POLL_NS);
    }
}
