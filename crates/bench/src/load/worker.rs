//! What all loads share: the stop flag, the totals, and what to do when the disk is full.
//!
//! Invariant: a failed operation is counted and followed by a pause, so that no load spins.
//! Held by `a_full_disk_is_a_pause` in `tests.rs`.

use super::{LoadReport, wait_until};
use baro_bench_sys::calls;
use baro_sys::{clock, files};
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// After a failure: long enough for space to be freed, short enough to go on loading.
const PAUSE_NS: u64 = 50_000_000;

/// One thread's work.
pub(super) type Body = Box<dyn FnOnce(&Worker) + Send>;

#[derive(Debug, Default)]
pub(super) struct Totals {
    written_bytes: AtomicU64,
    read_bytes: AtomicU64,
    allocated_bytes: AtomicU64,
    operations: AtomicU64,
    full_pauses: AtomicU64,
    failures: AtomicU64,
    first_error: Mutex<Option<io::ErrorKind>>,
}

impl Totals {
    pub(super) fn report(&self) -> LoadReport {
        LoadReport {
            written_bytes: self.written_bytes.load(Relaxed),
            read_bytes: self.read_bytes.load(Relaxed),
            allocated_bytes: self.allocated_bytes.load(Relaxed),
            operations: self.operations.load(Relaxed),
            full_pauses: self.full_pauses.load(Relaxed),
            failures: self.failures.load(Relaxed),
            first_error: *self.first_error.lock().unwrap_or_else(PoisonError::into_inner),
        }
    }

    pub(super) fn fail(&self, error: &io::Error) {
        self.failures.fetch_add(1, Relaxed);
        let mut first = self.first_error.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error.kind());
    }
}

/// What a load's thread works with.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) dir: PathBuf,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) totals: Arc<Totals>,
}

impl Worker {
    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed)
    }

    /// Waits until `due_ns`; false when the load is to end.
    pub(super) fn wait_until(&self, due_ns: u64) -> bool {
        wait_until(due_ns, &self.stop)
    }

    /// The operation's result, or None after the failure was counted and slept over.
    pub(super) fn attempt<T, E>(&self, operation: impl FnOnce() -> Result<T, E>) -> Option<T>
    where
        io::Error: From<E>,
    {
        match operation().map_err(io::Error::from) {
            Ok(value) => {
                self.totals.operations.fetch_add(1, Relaxed);
                Some(value)
            }
            Err(error) => {
                match error.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        self.totals.full_pauses.fetch_add(1, Relaxed);
                    }
                    _ => self.totals.fail(&error),
                }
                self.wait_until(clock::monotonic_ns().saturating_add(PAUSE_NS));
                None
            }
        }
    }

    /// Counts a failure of what is no operation of its own.
    pub(super) fn note(&self, result: baro_sys::Result<()>) {
        if let Err(error) = result {
            self.totals.fail(&error.source);
        }
    }

    /// Makes or empties the file `name`, trying until it works or the load is to end.
    pub(super) fn create(&self, name: &str) -> Option<File> {
        let path = self.dir.join(name);
        while self.goes_on() {
            if let Some(file) = self.attempt(|| files::create(&path)) {
                return Some(file);
            }
        }
        None
    }

    pub(super) fn write(&self, file: &File, data: &[u8], offset_bytes: u64) -> Option<()> {
        self.attempt(|| files::write_at(file, data, offset_bytes))?;
        self.totals.written_bytes.fetch_add(data.len() as u64, Relaxed);
        Some(())
    }

    pub(super) fn read(&self, file: &File, data: &mut [u8], offset_bytes: u64) -> Option<()> {
        self.attempt(|| files::read_at(file, data, offset_bytes))?;
        self.totals.read_bytes.fetch_add(data.len() as u64, Relaxed);
        Some(())
    }

    pub(super) fn allocate(&self, file: &File, length_bytes: u64) -> Option<()> {
        self.attempt(|| calls::allocate(file, 0, length_bytes))?;
        self.totals.allocated_bytes.fetch_add(length_bytes, Relaxed);
        Some(())
    }

    /// Removes a file of this load, which need not exist.
    pub(super) fn remove(&self, name: &str) {
        if let Err(error) = files::remove(&self.dir.join(name))
            && error.kind() != io::ErrorKind::NotFound
        {
            self.totals.fail(&error.source);
        }
    }
}
