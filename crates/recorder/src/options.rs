//! How a store is opened for recording.

use crate::writer::{Retention, Scheduling};
use crate::{Error, Result};
use baro_ondisk::limits::RECORD_BYTES_MAX;
use baro_sys::schedule;
use std::path::PathBuf;

/// Where rings are made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Rings {
    /// In the first of `RUNTIME_DIRECTORY`, /run/barograph-root (root), `XDG_RUNTIME_DIR`, /dev/shm
    /// that is a tmpfs and in which nobody else can have put anything.
    #[default]
    Find,
    /// Below this folder, which must be a tmpfs.
    In(PathBuf),
    /// In private memory: no other process can attach, and they do not survive this one.
    Private,
}

/// How a store is opened for recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Longest time from push to durable that the writer aims at, nanoseconds: 1 ms to 1 hour.
    pub durable_within_ns: u64,
    /// Bytes of each ring: covers input rate x longest stall of the device.
    pub ring_bytes: usize,
    /// Largest record payload: 16 B to 7 MiB, and at most a quarter of the ring, or of a segment.
    pub record_bytes_max: usize,
    /// Largest block in bytes: 64 KiB to 4 MiB; more where the largest record needs it. The writer
    /// has nine buffers of this size; a small board wants small ones.
    pub block_bytes: usize,
    /// Use the page cache even where direct I/O is possible.
    pub buffered: bool,
    /// Where rings are made.
    pub rings: Rings,
    /// Processor of the writer's threads.
    pub cpu: Option<usize>,
    /// SCHED_FIFO priority of the writer's threads (1 to 99), used if granted.
    pub fifo: Option<u8>,
    /// What is kept of a store that recycles; of any, how far the log may grow.
    pub retention: Retention,
    /// What others find who ask what the process does that records into the store: see
    /// [`StoreLock::said_at`](baro_log::StoreLock::said_at).
    pub says: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            durable_within_ns: 100_000_000,
            ring_bytes: 16 << 20,
            record_bytes_max: 256 << 10,
            // Larger ones gain nothing at any device measured.
            block_bytes: 1 << 20,
            buffered: false,
            rings: Rings::Find,
            cpu: None,
            fifo: None,
            retention: Retention::default(),
            says: None,
        }
    }
}

impl Options {
    /// Whether its values are within their limits; opening a store does the same.
    ///
    /// # Errors
    /// One is not.
    pub fn check(&self) -> Result<()> {
        let within = |name, found: u64, least: u64, most: u64| {
            if (least..=most).contains(&found) {
                return Ok(());
            }
            let (expected, found) = (format!("{least} to {most}"), found.to_string());
            Err(Error::Setting { name, expected, found })
        };
        within("durable_within in ns", self.durable_within_ns, 1_000_000, 3_600_000_000_000)?;
        within("ring in bytes", self.ring_bytes as u64, 64 << 10, 1 << 40)?;
        within(
            "largest record in bytes",
            self.record_bytes_max as u64,
            16,
            RECORD_BYTES_MAX as u64,
        )?;
        within("largest block in bytes", self.block_bytes as u64, 64 << 10, 4 << 20)?;
        within("priority", u64::from(self.fifo.unwrap_or(1)), 1, 99)
    }

    pub(crate) fn scheduling(&self) -> Scheduling {
        Scheduling { cpu: self.cpu, fifo: self.fifo }
    }

    /// Whether the kernel grants the priority, tried on a thread of its own.
    pub(crate) fn probe_fifo(&self) -> Option<std::result::Result<u8, String>> {
        self.fifo.map(|priority| probe(priority, schedule::set_fifo))
    }

    /// Whether the kernel grants the processor, tried likewise.
    pub(crate) fn probe_cpu(&self) -> Option<std::result::Result<usize, String>> {
        self.cpu.map(|cpu| probe(cpu, schedule::set_cpu))
    }
}

fn probe<T: Copy + Send + 'static>(
    wanted: T,
    set: fn(T) -> baro_sys::Result<()>,
) -> std::result::Result<T, String> {
    match std::thread::spawn(move || set(wanted)).join() {
        Ok(Ok(())) => Ok(wanted),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the probe's thread ended".to_owned()),
    }
}
