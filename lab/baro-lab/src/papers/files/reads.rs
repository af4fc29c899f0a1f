//! One sensor over an interval: what the paper names as the price of F = 1, and did not measure.
//!
//! The same samples lie in one log, in a file for each sensor, and in the store; then the file system
//! is mounted anew, so that nothing is in memory, and the quarter in the middle of a few sensors'
//! samples is read on the slow device. The log is read whole, since a portion may be anywhere; a
//! sensor's file is read whole too, as its portions have no index; the store is asked, once as it
//! was recorded and once settled.
//!
//! Invariant: each reader finds all samples of the interval, or the cell is an error. Held by
//! `each_way_of_reading_finds_the_interval`.

use super::FilesOptions;
use super::bed::Bed;
use super::model::Scale;
use super::order::{Kind, Order};
use super::plan::{FilesCell, Variant};
use super::sensors::{SAMPLE_BYTES, START_NS, STEP_NS, StoreWriter};
use crate::files::{Pace, Progress};
use baro_bench::error::BenchError;
use baro_bench::store::ingest;
use baro_store::{Interval, Query, Selection, Store};
use baro_sys::{clock, files};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Part of the file system that is filled with samples.
const PART: u64 = 16;
/// Portions of a sensor, at least: an interval is a quarter of them.
const ROUNDS_MIN: u64 = 8;
/// Sensors that are asked for, each after a mount.
const QUESTIONS: u64 = 3;
const PIECE_BYTES: usize = 1 << 20;
/// Before a portion in the log and the files: its sensor, and its number.
const HEAD_BYTES: usize = 16;

/// What such a cell stores.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Sensors.
    pub sensors: u64,
    /// Bytes of all samples.
    pub bytes: u64,
    /// Bytes of the samples that were asked for.
    pub wanted_bytes: u64,
    /// Of each way of reading.
    pub ways: Vec<Way>,
    /// What was not as it was to be.
    pub notes: Vec<String>,
}

/// A way of reading.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Way {
    /// `log`, `files`, `store`, `store settled`.
    pub name: String,
    /// How long each question took, ns.
    pub took_ns: Vec<u64>,
    /// What the device read for each; empty without a stand.
    pub read_bytes: Vec<u64>,
}

/// What is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) sensors: u64,
    pub(super) block_bytes: u64,
    pub(super) rounds: u64,
}

impl Data {
    fn of(scale: Scale, cell: &FilesCell) -> Self {
        let sensors = scale.files(cell.paper_files);
        let rounds = scale.capacity_bytes() / PART / (sensors * cell.block_bytes);
        Self { sensors, block_bytes: cell.block_bytes, rounds: rounds.max(ROUNDS_MIN) }
    }

    /// Rounds that are asked for.
    fn wanted(&self) -> std::ops::Range<u64> {
        self.rounds * 3 / 8..self.rounds * 3 / 8 + (self.rounds / 4).max(1)
    }

    fn wanted_bytes(&self) -> u64 {
        (self.wanted().end - self.wanted().start) * self.block_bytes
    }
}

pub(super) fn measure(
    options: &FilesOptions,
    cell: &FilesCell,
    of: &str,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    let scale = Scale(options.scale);
    let data = Data::of(scale, cell);
    let cache = scale.cache_bytes();
    let mut bed = Bed::make(options, &Variant::BASE, cache, Scale::dirty_bytes(cache))?;
    let mut reading = Reading {
        sensors: data.sensors,
        bytes: data.sensors * data.block_bytes * data.rounds,
        wanted_bytes: data.wanted_bytes(),
        ..Reading::default()
    };
    let folder = bed.folder().join("sensors");
    write(of, &folder, data, stop)?;
    reading.ways.push(ask(&mut bed, of, &folder, data, stop)?);
    if of == "store" {
        bed.speed_up()?;
        ingest::settle(&folder)?;
        let way = ask(&mut bed, of, &folder, data, stop)?;
        reading.ways.push(Way { name: "store settled".to_owned(), ..way });
    }
    reading.notes = std::mem::take(&mut bed.notes);
    serde_json::to_value(reading)
        .map_err(|error| BenchError::Refused(format!("a cell's numbers: {error}")))
}

/// Writes the samples.
pub(super) fn write(
    of: &str,
    folder: &Path,
    data: Data,
    stop: &AtomicBool,
) -> Result<(), BenchError> {
    if of == "store" {
        return write_store(folder, data, stop);
    }
    files::make_folder(folder).map_err(BenchError::file("make the folder", folder))?;
    let portion = vec![0x5a; (data.block_bytes as usize).saturating_sub(HEAD_BYTES)];
    let log = folder.join("log");
    let mut log = files::open_append(&log).map_err(BenchError::file("make", &log))?;
    for round in 0..data.rounds {
        for sensor in 0..data.sensors {
            if stop.load(Relaxed) {
                return Err(BenchError::Stopped);
            }
            let mut bytes = Vec::with_capacity(data.block_bytes as usize);
            bytes.extend_from_slice(&sensor.to_le_bytes());
            bytes.extend_from_slice(&round.to_le_bytes());
            bytes.extend_from_slice(&portion);
            if of == "log" {
                log.write_all(&bytes).map_err(BenchError::file("append to", folder))?;
                continue;
            }
            let path = folder.join(sensor.to_string());
            let mut file =
                files::open_append(&path).map_err(BenchError::file("append to", &path))?;
            file.write_all(&bytes).map_err(BenchError::file("append to", &path))?;
        }
    }
    Ok(())
}

fn write_store(folder: &Path, data: Data, stop: &AtomicBool) -> Result<(), BenchError> {
    let bytes = data.sensors * data.block_bytes * data.rounds;
    let mut store = StoreWriter::prepare(&Order {
        kind: Kind::Store,
        folder: folder.to_path_buf(),
        files: data.sensors,
        block_bytes: data.block_bytes,
        file_bytes_max: u64::MAX,
        flat: false,
        sync: false,
        layer: false,
        log_bytes: ingest::log_bytes_for(bytes / SAMPLE_BYTES),
        points_every_ns: 0,
        group: None,
    })?;
    // Not by time, but until all are in; the ring is emptied meanwhile.
    let all = AtomicBool::new(false);
    for _ in 0..data.sensors * data.rounds {
        if stop.load(Relaxed) {
            return Err(BenchError::Stopped);
        }
        store.push_when_there_is_room()?;
    }
    all.store(true, Relaxed);
    store.run(Pace::GREEDY, &Progress::default(), &all)?;
    store.close()
}

/// Asks for a few sensors, each on a file system of which nothing is in memory.
fn ask(
    bed: &mut Bed,
    of: &str,
    folder: &Path,
    data: Data,
    stop: &AtomicBool,
) -> Result<Way, BenchError> {
    let mut way = Way { name: of.to_owned(), ..Way::default() };
    for question in 0..QUESTIONS {
        if stop.load(Relaxed) {
            return Err(BenchError::Stopped);
        }
        bed.speed_up()?;
        bed.sync()?;
        bed.forget()?;
        bed.slow_down()?;
        let sensor = data.sensors * (2 * question + 1) / (2 * QUESTIONS);
        let watch = bed.watch()?;
        let begin_ns = clock::monotonic_ns();
        let found = read(of, folder, sensor, data)?;
        way.took_ns.push(clock::monotonic_ns() - begin_ns);
        way.read_bytes.extend(match watch {
            Some(watch) => Some(watch.finish()?.read_bytes),
            None => None,
        });
        if found != data.wanted_bytes() {
            return Err(BenchError::WrongAnswer(format!(
                "{of}: sensor {sensor}: expected {} bytes of the interval, found {found}",
                data.wanted_bytes()
            )));
        }
    }
    bed.speed_up()?;
    Ok(way)
}

/// Bytes of the sensor's samples in the interval.
pub(super) fn read(of: &str, folder: &Path, sensor: u64, data: Data) -> Result<u64, BenchError> {
    match of {
        "log" => scan(&folder.join("log"), sensor, data),
        "files" => scan(&folder.join(sensor.to_string()), sensor, data),
        _ => query(folder, sensor, data),
    }
}

fn scan(path: &Path, sensor: u64, data: Data) -> Result<u64, BenchError> {
    let mut file = files::open(path)?;
    let block = data.block_bytes as usize;
    let mut piece = vec![0; (PIECE_BYTES / block).max(1) * block];
    let (mut filled, mut found) = (0, 0);
    loop {
        let rest = piece.get_mut(filled..).unwrap_or(&mut []);
        let length = file.read(rest).map_err(BenchError::file("read", path))?;
        filled += length;
        let whole = filled / block * block;
        for portion in piece.get(..whole).unwrap_or(&[]).chunks_exact(block) {
            let number = |at: usize| {
                let bytes = portion.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
                bytes.map_or(u64::MAX, u64::from_le_bytes)
            };
            if number(0) == sensor && data.wanted().contains(&number(8)) {
                found += data.block_bytes;
            }
        }
        piece.copy_within(whole..filled, 0);
        filled -= whole;
        if length == 0 {
            return Ok(found);
        }
    }
}

fn query(folder: &Path, sensor: u64, data: Data) -> Result<u64, BenchError> {
    let store = Store::open(folder).map_err(BenchError::Store)?;
    let samples = (data.block_bytes / SAMPLE_BYTES) as i64;
    let at = |round: u64| START_NS + round as i64 * samples * STEP_NS;
    let interval = Interval { from_ns: at(data.wanted().start), to_ns: at(data.wanted().end) };
    let name = [format!("sensor.{sensor:06}")];
    let selection = Selection::named(store.catalog(), &name).map_err(BenchError::Store)?;
    let mut rows = 0;
    let notes = store.query(&selection, &Query::raw(interval), |batch| {
        rows += batch.times_ns.len() as u64;
        ControlFlow::Continue(())
    });
    let notes = notes.map_err(BenchError::Store)?;
    match notes.read.damage.first() {
        Some(damage) => Err(BenchError::WrongAnswer(format!("{damage:?}"))),
        None => Ok(rows * SAMPLE_BYTES),
    }
}
