//! What the store is held against, on the same file system in the same run: a plain append to one
//! file, and one file per sensor.
//!
//! The append writes what a log needs to know of a sample, 20 bytes (series, time, value), through
//! a buffer of 1 MiB, with one fdatasync at the end; in the order in which samples are taken, whatever
//! the order in which the store gets them. A sensor's file has samples of 16 bytes by
//! rising time, and a query is open, binary search, read. Where there are more than 10,000 sensors
//! files are made of those only that queries are drawn from, in folders of 1,000.

use super::generate::{Batch, Data};
use crate::BenchError;
use baro_store::Interval;
use baro_sys::disk::Disk;
use baro_sys::storage::{Access, Storage, StorageFile};
use baro_sys::{clock, files};
use std::io::Write;
use std::path::Path;

/// Bytes of a sample in the log.
pub const LOG_SAMPLE_BYTES: usize = 20;
/// Bytes of a sample in a sensor's file.
pub const FILE_SAMPLE_BYTES: usize = 16;
const BUFFER_BYTES: usize = 1 << 20;
const FILES_IN_FOLDER: u32 = 1000;

/// Appends all samples to a new file in `folder`, which is removed; returns samples per second.
/// Blocks for the device.
///
/// # Errors
/// The file cannot be made or written.
pub fn log_append_per_s(folder: &Path, data: &dyn Data) -> Result<f64, BenchError> {
    let path = folder.join("yardstick.log");
    let result = append(&path, data);
    let _ = files::remove(&path);
    result
}

fn append(path: &Path, data: &dyn Data) -> Result<f64, BenchError> {
    let mut file = files::create(path).map_err(BenchError::file("make", path))?;
    let mut feed = data.in_order();
    let mut batch = Batch::default();
    let mut buffer: Vec<u8> = Vec::with_capacity(BUFFER_BYTES + 4096 * LOG_SAMPLE_BYTES);
    let mut samples = 0_u64;
    let write = BenchError::file;
    let started_ns = clock::monotonic_ns();
    while feed.next(&mut batch) {
        samples += batch.len() as u64;
        for (at, series) in batch.series.iter().enumerate() {
            let mut sample = [0; LOG_SAMPLE_BYTES];
            sample[..4].copy_from_slice(&series.to_le_bytes());
            sample[4..12].copy_from_slice(&batch.time_at(at).to_le_bytes());
            sample[12..].copy_from_slice(&batch.bits_at(at).to_le_bytes());
            buffer.extend_from_slice(&sample);
        }
        if buffer.len() >= BUFFER_BYTES {
            file.write_all(&buffer).map_err(write("append to", path))?;
            buffer.clear();
        }
    }
    file.write_all(&buffer).map_err(write("append to", path))?;
    file.sync_data().map_err(write("sync", path))?;
    let took_ns = clock::monotonic_ns() - started_ns;
    Ok(samples as f64 / (took_ns.max(1) as f64 / 1e9))
}

/// Samples that are made and thrown away, per second: what of any rate is the generator's.
#[must_use]
pub fn generate_per_s(data: &dyn Data) -> f64 {
    let (mut feed, mut batch) = (data.feed(1), Batch::default());
    let mut samples = 0;
    let started_ns = clock::monotonic_ns();
    while feed.next(&mut batch) {
        samples += std::hint::black_box(&batch).len();
    }
    samples as f64 / ((clock::monotonic_ns() - started_ns).max(1) as f64 / 1e9)
}

/// Files of sensors.
#[derive(Debug)]
pub struct SensorFiles {
    disk: Disk,
}

fn name(series: u32) -> String {
    format!("{}/{series}", series / FILES_IN_FOLDER)
}

impl SensorFiles {
    /// Makes the files of `sensors` in `folder`, which is made.
    ///
    /// # Errors
    /// A file cannot be made or written.
    pub fn make(folder: &Path, data: &dyn Data, sensors: &[u32]) -> Result<Self, BenchError> {
        let disk = Disk::create(folder).map_err(BenchError::System)?;
        let mut buffer: Vec<u8> = Vec::with_capacity(BUFFER_BYTES + FILE_SAMPLE_BYTES);
        for series in sensors {
            let in_folder = (series / FILES_IN_FOLDER).to_string();
            disk.create_folder(&in_folder).map_err(BenchError::System)?;
            let file = disk.create(&name(*series)).map_err(BenchError::System)?;
            let (mut offset, mut failed) = (0, None);
            buffer.clear();
            data.expected(*series, Interval::ALL, &mut |time_ns, bits| {
                buffer.extend_from_slice(&time_ns.to_le_bytes());
                buffer.extend_from_slice(&bits.to_le_bytes());
                if buffer.len() >= BUFFER_BYTES {
                    failed = failed.take().or(file.write_at(offset, &buffer).err());
                    offset += buffer.len() as u64;
                    buffer.clear();
                }
            });
            failed = failed.or(file.write_at(offset, &buffer).err());
            if let Some(error) = failed {
                return Err(BenchError::System(error));
            }
        }
        Ok(SensorFiles { disk })
    }

    /// Reads the samples of one sensor in an interval into `buffer` and returns how many they are.
    ///
    /// # Errors
    /// The file is missing or cannot be read.
    pub fn read(
        &self,
        series: u32,
        interval: Interval,
        buffer: &mut Vec<u8>,
    ) -> Result<usize, BenchError> {
        let file = self.disk.open(&name(series), Access::Read).map_err(BenchError::System)?;
        let count = file.size_bytes().map_err(BenchError::System)? / FILE_SAMPLE_BYTES as u64;
        let from = lower(&file, count, interval.from_ns)?;
        let to = lower(&file, count, interval.to_ns)?;
        let samples = to.saturating_sub(from) as usize;
        buffer.resize(samples * FILE_SAMPLE_BYTES, 0);
        let offset = from * FILE_SAMPLE_BYTES as u64;
        let read = file.read_at(offset, buffer).map_err(BenchError::System)?;
        Ok(read / FILE_SAMPLE_BYTES)
    }
}

/// Number of samples before `time_ns`.
fn lower(file: &impl StorageFile, count: u64, time_ns: i64) -> Result<u64, BenchError> {
    let (mut low, mut high) = (0, count);
    let mut time = [0; 8];
    while low < high {
        let middle = (low + high) / 2;
        let at = middle * FILE_SAMPLE_BYTES as u64;
        file.read_at(at, &mut time).map_err(BenchError::System)?;
        if i64::from_le_bytes(time) < time_ns {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    Ok(low)
}
