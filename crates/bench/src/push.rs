//! The cost of a push, beside that of a bare memcpy in the same run; and how fast records become
//! durable. `baro bench push` prints it, `results/` keeps it.
//!
//! Both copies have the same size, pacing, processor and clock reads, and take turns in going
//! first, so that neither finds the caches warmer than the other. The yardstick's area is locked
//! and as large as the ring, and is walked with the same stride.
//!
//! Invariant: what is reported was counted in this run; what cannot be counted here is `None`.

mod alone;
mod greedy;
mod kernel;
mod memory;
mod paced;

pub use alone::Alone;
pub use kernel::{KernelCounts, KernelWatch};
pub use memory::Memory;

use crate::error::BenchError;
use baro_recorder::{Options, Recorder, Status};
use hdrhistogram::Histogram;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What is pushed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushSpec {
    /// Payload of each record.
    pub record_bytes: usize,
    /// Records of the paced part, whose pushes are timed.
    pub records: u64,
    /// Time from one record to the next; from 1 ms on the producer sleeps between them, below it
    /// spins.
    pub interval_ns: u64,
    /// Length of the greedy part, in which the producer waits only for room; 0 leaves it out.
    pub greedy_ns: u64,
    /// Processor of the producer.
    pub cpu: Option<usize>,
    /// SCHED_FIFO priority of the producer, if granted.
    pub fifo: Option<u8>,
    /// The yardstick copies into huge pages, such as the ring's, and not into ordinary ones.
    pub huge_yardstick: bool,
    /// Tells calls that nothing interrupted from the others, where the producer sleeps between
    /// records: four further system calls for each call, outside of what is timed.
    pub alone: bool,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct PushReport {
    /// Time inside each push of the paced part.
    pub push_ns: Histogram<u64>,
    /// The longest, exactly.
    pub push_max_ns: u64,
    /// Time of each memcpy beside them.
    pub memcpy_ns: Histogram<u64>,
    /// The longest, exactly.
    pub memcpy_max_ns: u64,
    /// Those of both that nothing interrupted; `None` if that was not asked for, or cannot be told.
    pub alone: Option<Alone>,
    /// Why not.
    pub alone_reason: Option<String>,
    /// Records offered in the paced part.
    pub records: u64,
    /// Length of the paced part.
    pub paced_ns: u64,
    /// System calls inside pushes; `None` where the kernel cannot count them.
    pub syscalls: Option<u64>,
    /// Allocations inside pushes; `None` in a program without the counting allocator.
    pub allocations: Option<u64>,
    /// Page faults inside pushes and copies, or with less than 20 us between records in the whole
    /// paced part but its first 64 records.
    pub page_faults: u64,
    /// Voluntary context switches, counted likewise.
    pub voluntary_switches: u64,
    /// Records refused, in both parts.
    pub lost: u64,
    /// How often the durable position was seen to have moved.
    pub durable_advances: u64,
    /// Most bytes seen in the ring.
    pub ring_used_bytes_max: u64,
    /// Records pushed per second of the greedy part.
    pub records_per_s: Option<f64>,
    /// The same until all were durable.
    pub durable_records_per_s: Option<f64>,
    /// The writer's counters at the end.
    pub status: Status,
    /// What the kernel's tracer saw; `None` without it.
    pub kernel: Option<KernelCounts>,
    /// Why not.
    pub kernel_reason: Option<String>,
    /// Memory of the recorder.
    pub memory_bytes: usize,
    /// Memory of the whole process after the paced part.
    pub memory: Memory,
    /// Of that, the memcpy's area.
    pub yardstick_bytes: usize,
    /// What does not hold here.
    pub reservations: Vec<String>,
}

/// A histogram of times up to a minute with three digits; never allocates when recording.
///
/// # Errors
/// Never, with these bounds.
pub fn histogram() -> Result<Histogram<u64>, BenchError> {
    let mut histogram =
        Histogram::new_with_bounds(1, 60_000_000_000, 3).map_err(BenchError::Histogram)?;
    // Writes every cell, so that a first value in a page of its own is no page fault later.
    histogram.clear();
    Ok(histogram)
}

/// Opens the store at `path`, pushes, and closes it. Blocks for as long as the spec says; `stop`
/// ends the paced part early. `trace` also counts journal commits and allocations (root).
///
/// # Errors
/// The store cannot be opened, or memory is short.
pub fn run(
    path: &Path,
    spec: PushSpec,
    options: Options,
    trace: bool,
    stop: &AtomicBool,
) -> Result<PushReport, BenchError> {
    let ring_bytes = options.ring_bytes;
    let recorder = Recorder::open(path, options).map_err(BenchError::Recorder)?;
    let channel = [("bench", baro_ondisk::Type::Channel, "")];
    let ids = recorder.declare(&channel).map_err(BenchError::Recorder)?;
    let mut producer = recorder.producer().map_err(BenchError::Recorder)?;
    let channel = ids.first().copied().unwrap_or(1);
    let (mut watch, kernel_reason) = match trace.then(|| KernelWatch::start(path)) {
        Some(Ok(watch)) => (Some(watch), None),
        Some(Err(error)) => (None, Some(error.to_string())),
        None => (None, Some("not asked for".to_owned())),
    };
    let mut report = std::thread::scope(|scope| {
        let producing = scope.spawn(|| {
            let mut report =
                paced::run(&recorder, &mut producer, channel, ring_bytes, &spec, stop)?;
            if spec.greedy_ns > 0 {
                greedy::run(&recorder, &mut producer, channel, &spec, &mut report);
            }
            Ok(report)
        });
        while !producing.is_finished() {
            if let Some(watch) = &mut watch {
                watch.read();
            }
            baro_sys::clock::sleep_ns(20_000_000);
        }
        producing.join().unwrap_or(Err(BenchError::ThreadLost("bench-push")))
    })?;
    report.memory_bytes = recorder.status().memory_bytes;
    report.reservations = recorder.opening().reservations();
    report.lost = producer.report().refused_full + producer.report().refused_large;
    report.status = recorder.close().status;
    report.kernel = watch.map(KernelWatch::finish);
    report.kernel_reason = kernel_reason;
    Ok(report)
}
