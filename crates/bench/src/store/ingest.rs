//! From the first push until everything is durable, and until it is settled in runs.
//!
//! The producer waits for room instead of losing samples, as one that reads a file can: so the
//! rate is that of the slowest part, and nothing may be missing. The ring has 16 MiB: at 30 M
//! samples/s of 12 B that is 45 ms, more than a block takes to the device and small beside what a
//! store may keep in memory.
//!
//! Invariant: a run in which a sample was refused or left behind is an error, not a result. Held by
//! `check_counters`.

mod push;

pub use push::{payload_bytes, push};

use super::generate::{Batch, Data, Feed};
use crate::BenchError;
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, Type, WhenFull};
use baro_recorder::{Closed, Options, Producer, Recorder, Trouble};
use baro_store::{Extent, SettleOptions, Settler};
use baro_sys::disk::Disk;
use baro_sys::{clock, identity};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of the ring that is pushed to: larger than what is pushed while a block goes to the device.
pub const RING_BYTES: usize = 16 << 20;
/// As the goal has it.
pub const DURABLE_WITHIN_NS: u64 = 1_000_000_000;
/// Pause when there is no room: a small part of what a full ring lasts.
const WAIT_NS: u64 = 100_000;
const DURABLE_TIMEOUT_NS: u64 = 120_000_000_000;
/// Declarations at once: their names are in memory together.
const DECLARE: u32 = 16_384;
/// Bytes of the longest declaration, and some.
const DECLARATION_BYTES: u64 = 96;
const MIB: u64 = 1 << 20;

/// How fast samples went in.
#[derive(Clone, Debug, Default)]
pub struct Ingested {
    /// Samples pushed.
    pub samples: u64,
    /// Time from the first push to the last.
    pub pushed_ns: u64,
    /// Time from the first push until all were durable.
    pub durable_ns: u64,
    /// Pauses because the ring was full.
    pub waits: u64,
}

/// What settling has come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Samples in runs made of the log.
    pub samples: u64,
    /// Runs made of runs.
    pub merged: u64,
    /// Runs dropped because of their age.
    pub dropped: u64,
}

/// Bytes of a log that holds `samples` as they are pushed, with some room.
#[must_use]
pub fn log_bytes_for(samples: u64) -> u64 {
    samples.saturating_mul(16).saturating_add(64 * MIB).next_multiple_of(16 * MIB)
}

/// Makes a store in the folder `path`, which is made too; a catalog has room for `series`.
///
/// # Errors
/// The size is outside the format's limits, or the device is full or fails.
pub fn make(
    path: &Path,
    log_bytes: u64,
    series: u32,
    when_full: WhenFull,
) -> Result<(), BenchError> {
    let mut geometry = Geometry::for_log(log_bytes, when_full)
        .map_err(|error| BenchError::Recorder(error.into()))?;
    let catalog_bytes = (u64::from(series) * DECLARATION_BYTES).next_multiple_of(MIB) + MIB;
    geometry.catalog_bytes = geometry.catalog_bytes.max(catalog_bytes);
    let disk = Disk::create(path).map_err(BenchError::System)?;
    let geometry = geometry.fitted_to(&disk);
    let mut id = StoreId::default();
    identity::random(&mut id.0).map_err(BenchError::System)?;
    init(&disk, path, id, clock::realtime_ns(), &geometry, |_| {})
        .map_err(|error| BenchError::Recorder(error.into()))?;
    Ok(())
}

/// How the bench records.
#[must_use]
pub fn options() -> Options {
    Options { durable_within_ns: DURABLE_WITHIN_NS, ring_bytes: RING_BYTES, ..Options::default() }
}

/// Declares all series and returns the first id. Blocks for the device.
///
/// # Errors
/// A declaration is refused, or ids do not follow each other.
pub fn register(recorder: &Recorder, data: &dyn Data) -> Result<u32, BenchError> {
    let mut first_id = None;
    let mut from = 0;
    while from < data.series() {
        let to = (from + DECLARE).min(data.series());
        let names: Vec<(String, Type)> = (from..to).map(|at| data.declaration(at)).collect();
        let wanted: Vec<_> = names.iter().map(|(name, kind)| (name.as_str(), *kind, "")).collect();
        let ids = recorder.declare(&wanted).map_err(BenchError::Recorder)?;
        let first = *first_id.get_or_insert(ids.first().copied().unwrap_or(0));
        if let Some((_, id)) = (first + from..).zip(&ids).find(|(wanted, id)| *wanted != **id) {
            return Err(BenchError::Specification {
                field: "id of a series",
                found: u64::from(*id),
                expected: "one more than that of the series before",
            });
        }
        from = to;
    }
    Ok(first_id.unwrap_or(0))
}

/// Pushes at least `most` samples of a feed, or what it has, waiting for room, and waits until the last is
/// durable. `stop` ends it early, with an error.
///
/// # Errors
/// A push is refused for another reason than room, or the device does not make it durable.
pub fn ingest(
    recorder: &Recorder,
    producer: &mut Producer,
    feed: &mut dyn Feed,
    most: u64,
    stop: &AtomicBool,
) -> Result<Ingested, BenchError> {
    let (mut batch, mut samples, mut waits) = (Batch::default(), 0, 0);
    let started_ns = clock::monotonic_ns();
    while samples < most && feed.next(&mut batch) {
        let needed = payload_bytes(&batch);
        if stop.load(Ordering::Relaxed) {
            return Err(BenchError::Lost("stopped before the last sample".to_owned()));
        }
        while producer.free_bytes() < needed {
            if producer.closed() || recorder.status().trouble != Trouble::None {
                return Err(troubled(recorder));
            }
            waits += 1;
            // Spinning would take a processor from the writer.
            clock::sleep_ns(WAIT_NS);
        }
        push(producer, &batch).map_err(|refused| BenchError::Lost(refused.to_string()))?;
        samples += batch.len() as u64;
    }
    let pushed_ns = clock::monotonic_ns() - started_ns;
    let durable = recorder.wait_durable(producer, producer.next_sequence(), DURABLE_TIMEOUT_NS);
    let durable_ns = clock::monotonic_ns() - started_ns;
    if !durable {
        return Err(troubled(recorder));
    }
    Ok(Ingested { samples, pushed_ns, durable_ns, waits })
}

fn troubled(recorder: &Recorder) -> BenchError {
    let status = recorder.status();
    BenchError::Lost(format!("the writer is in trouble: {:?}", status.trouble))
}

/// Whether nothing was lost, by the counters of the ring and of the writer.
///
/// # Errors
/// Something was.
pub fn check_counters(closed: &Closed) -> Result<(), BenchError> {
    let refused: u64 =
        closed.status.rings.iter().map(|ring| ring.refused_full + ring.refused_large).sum();
    if refused == 0 && closed.left == 0 && closed.status.trouble == Trouble::None {
        return Ok(());
    }
    Err(BenchError::Lost(format!(
        "{refused} records refused, {} left in rings, trouble {:?}",
        closed.left, closed.status.trouble
    )))
}

/// Settles what the log of the closed store at `path` holds. Blocks until it is durable in runs.
///
/// # Errors
/// The device fails.
pub fn settle(path: &Path) -> Result<Settled, BenchError> {
    settle_as(path, SettleOptions::default())
}

/// The same in another way.
///
/// # Errors
/// As there.
pub fn settle_as(path: &Path, options: SettleOptions) -> Result<Settled, BenchError> {
    let mut settler = Settler::open(path, options).map_err(BenchError::Store)?;
    let mut settled = Settled::default();
    loop {
        let done = settler.step(Extent::All).map_err(BenchError::Store)?;
        if let Some(damage) = done.damage.first() {
            return Err(BenchError::WrongAnswer(damage.to_string()));
        }
        settled.samples += if done.runs > 0 { done.samples } else { 0 };
        settled.merged += u64::from(done.merged);
        settled.dropped += u64::from(done.dropped.runs);
        if !done.more {
            return Ok(settled);
        }
    }
}
