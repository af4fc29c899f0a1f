//! Barograph's store under the paper's load: the same portions, of as many sensors as there were
//! files.
//!
//! A portion of B bytes is B / 16 samples of one sensor, a time and a value of 8 bytes each, which is
//! what a program would append to that sensor's file. Values are random in all their bits, so that
//! they take their 8 bytes in the log too; times are regular, and the log stores them in next to
//! nothing, as it does those of any sensor. The log is recycled; nothing is settled meanwhile.
//!
//! Invariant: a portion counts when it is durable, which is more than the files promise; one that is
//! refused is an error. Held by `a_store_holds_what_was_counted`.

use super::order::Order;
use crate::files::{FilesReport, Pace, Progress};
use baro_bench::error::BenchError;
use baro_bench::store::ingest;
use baro_ondisk::{Samples, Type, WhenFull};
use baro_recorder::{Options, Producer, Recorder, Trouble};
use baro_sys::{clock, identity};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Bytes of a sample, as it comes.
pub(super) const SAMPLE_BYTES: u64 = 16;
/// Small beside what a device takes in a second, so that the ring hides nothing.
const RING_BYTES: usize = 4 << 20;
/// Below what counts as a backlog at a given rate.
const DURABLE_WITHIN_NS: u64 = 100_000_000;
const WAIT_NS: u64 = 200_000;
const DURABLE_TIMEOUT_NS: u64 = 120_000_000_000;
/// Values, used over and over from another one on.
const POOL: usize = 1 << 16;
/// Between two samples of a sensor.
pub(super) const STEP_NS: i64 = 1_000_000;
/// 2023-11-14T22:13:20Z.
pub(super) const START_NS: i64 = 1_700_000_000_000_000_000;

/// A store and its one producer.
#[derive(Debug)]
pub struct StoreWriter {
    recorder: Recorder,
    producer: Producer,
    /// Series of the first sensor; the others follow.
    pub first_id: u32,
    sensors: u64,
    samples: usize,
    pool: Vec<f64>,
    times_ns: Vec<i64>,
    series: Vec<u32>,
    position: u64,
}

impl StoreWriter {
    /// Makes the store, declares the sensors. Blocks while the log is written.
    ///
    /// # Errors
    /// Those of the store; a portion that holds no sample.
    pub fn prepare(order: &Order) -> Result<Self, BenchError> {
        let samples = order.block_bytes / SAMPLE_BYTES;
        let sensors = u32::try_from(order.files).unwrap_or(u32::MAX);
        if samples == 0 {
            let (field, expected) = ("block_bytes", "at least 16, a sample");
            return Err(BenchError::Specification { field, found: order.block_bytes, expected });
        }
        ingest::make(&order.folder, order.log_bytes, sensors, WhenFull::Recycle)?;
        let options = Options {
            ring_bytes: RING_BYTES,
            durable_within_ns: DURABLE_WITHIN_NS,
            ..Options::default()
        };
        let recorder = Recorder::open(&order.folder, options).map_err(BenchError::Recorder)?;
        let names: Vec<String> = (0..sensors).map(|at| format!("sensor.{at:06}")).collect();
        let wanted: Vec<_> = names.iter().map(|name| (name.as_str(), Type::F64, "")).collect();
        let ids = recorder.declare(&wanted).map_err(BenchError::Recorder)?;
        let producer = recorder.producer().map_err(BenchError::Recorder)?;
        let seed = identity::random_u64().map_err(BenchError::System)?;
        Ok(Self {
            recorder,
            producer,
            first_id: ids.first().copied().unwrap_or(0),
            sensors: u64::from(sensors),
            samples: usize::try_from(samples).unwrap_or(0),
            pool: values(POOL + usize::try_from(samples).unwrap_or(0), seed),
            times_ns: Vec::new(),
            series: Vec::new(),
            position: 0,
        })
    }

    /// Pushes portions round robin until `stop`, and waits until all are durable.
    ///
    /// # Errors
    /// A push is refused for another reason than room, or the device does not make it durable.
    pub fn run(
        &mut self,
        pace: Pace,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> Result<FilesReport, BenchError> {
        let portion = self.samples as u64 * SAMPLE_BYTES;
        let (begin_ns, base) = (clock::monotonic_ns(), self.producer.next_sequence());
        let mut pushed = 0;
        let mut report = FilesReport::default();
        while !stop.load(Relaxed) {
            report.duration_ns = clock::monotonic_ns() - begin_ns;
            report.writes = self.producer.durable().saturating_sub(base);
            report.written_bytes = report.writes * portion;
            progress.set(&report);
            let needed = Producer::record_bytes(Samples::payload_bytes(self.samples, true));
            let early = pace.due_ns((pushed + 1) * portion) > report.duration_ns;
            if early || self.producer.free_bytes() < needed {
                if self.producer.closed() || self.recorder.status().trouble != Trouble::None {
                    return Err(self.troubled());
                }
                clock::sleep_ns(WAIT_NS);
                continue;
            }
            self.push()?;
            pushed += 1;
        }
        let all = self.producer.next_sequence();
        if !self.recorder.wait_durable(&self.producer, all, DURABLE_TIMEOUT_NS) {
            return Err(self.troubled());
        }
        report.duration_ns = clock::monotonic_ns() - begin_ns;
        (report.writes, report.written_bytes) = (pushed, pushed * portion);
        progress.set(&report);
        Ok(report)
    }

    /// Pushes the next portion as soon as there is room.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn push_when_there_is_room(&mut self) -> Result<(), BenchError> {
        let needed = Producer::record_bytes(Samples::payload_bytes(self.samples, true));
        while self.producer.free_bytes() < needed {
            if self.producer.closed() || self.recorder.status().trouble != Trouble::None {
                return Err(self.troubled());
            }
            clock::sleep_ns(WAIT_NS);
        }
        self.push()
    }

    fn push(&mut self) -> Result<(), BenchError> {
        let (round, sensor) = (self.position / self.sensors, self.position % self.sensors);
        let from = (self.position.wrapping_mul(977) % POOL as u64) as usize;
        self.position += 1;
        let first_ns = START_NS + round as i64 * self.samples as i64 * STEP_NS;
        self.times_ns.clear();
        self.times_ns.extend((0..self.samples as i64).map(|at| first_ns + at * STEP_NS));
        self.series.clear();
        self.series.resize(self.samples, self.first_id + sensor as u32);
        let values = self.pool.get(from..from + self.samples).unwrap_or(&[]);
        let pushed = self.producer.push_batch(&self.times_ns, &self.series, values);
        pushed.map(drop).map_err(|refused| BenchError::Lost(refused.to_string()))
    }

    fn troubled(&self) -> BenchError {
        BenchError::Lost(format!("the writer is in trouble: {:?}", self.recorder.status().trouble))
    }

    /// Closes the store.
    ///
    /// # Errors
    /// Something that was counted is not in it.
    pub fn close(self) -> Result<(), BenchError> {
        let closed = self.recorder.close();
        drop(self.producer);
        ingest::check_counters(&closed)
    }
}

/// Numbers from 0 to 1, random in all 52 bits.
fn values(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) >> 12
    };
    (0..count).map(|_| f64::from_bits(next() | 0x3ff0_0000_0000_0000) - 1.0).collect()
}
