//! Loads that make a file system dirty beside a measurement: bounded, stoppable, cleaned up.
//!
//! Four kinds, after the papers: buffered writers (what keeps the flusher busy), truncation and
//! allocation (paper A's BGALL: what keeps the journal's locks busy), a sequential reader (paper
//! A's), and big files with many small ones (paper D: what fills the journal while a commit waits
//! for gigabytes of data).
//!
//! A load looks at its stop flag after each call and at least each 20 ms while it waits. A call
//! that the kernel holds (a writer throttled for its dirty pages, an allocation behind a commit)
//! cannot be cut short: on a slow device stopping takes as long as the longest call.
//!
//! Invariant: no panic and no growth beyond the sizes given; a full disk is a pause; everything
//! made is removed. Held by `tests.rs`.

mod buffered;
mod churn;
mod reader;
#[cfg(test)]
mod tests;
mod truncating;
mod worker;

pub use buffered::BufferedWriters;
pub use churn::JournalChurn;
pub use reader::SequentialReader;
pub use truncating::AllocateTruncate;

use crate::error::BenchError;
use crate::ground;
use baro_sys::{clock, files};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use worker::{Totals, Worker};

/// Which load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadSpec {
    /// Sequential buffered writers.
    BufferedWriters(BufferedWriters),
    /// Truncation and allocation of large files.
    AllocateTruncate(AllocateTruncate),
    /// Large new files beside many small ones.
    JournalChurn(JournalChurn),
    /// A sequential reader.
    SequentialReader(SequentialReader),
}

/// What a load has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Bytes that write() took.
    pub written_bytes: u64,
    /// Bytes that read() gave.
    pub read_bytes: u64,
    /// Bytes preallocated.
    pub allocated_bytes: u64,
    /// Operations: writes, reads, truncations, allocations, small files.
    pub operations: u64,
    /// Pauses because the disk was full.
    pub full_pauses: u64,
    /// Other failures; each is followed by a pause.
    pub failures: u64,
    /// The first other failure.
    pub first_error: Option<io::ErrorKind>,
}

/// A running load. Dropping it stops it, waits for its threads and removes its files.
#[derive(Debug)]
pub struct Load {
    dir: PathBuf,
    stop: Arc<AtomicBool>,
    totals: Arc<Totals>,
    threads: Vec<JoinHandle<()>>,
}

/// Distinguishes loads of one process in one directory.
static SERIAL: AtomicU64 = AtomicU64::new(0);

impl Load {
    /// Starts the load in a new directory below `dir`.
    ///
    /// # Errors
    /// A specification of no use, a directory that cannot be made, no threads.
    pub fn start(spec: LoadSpec, dir: &Path) -> Result<Self, BenchError> {
        let serial = SERIAL.fetch_add(1, Relaxed);
        let bodies = match spec {
            LoadSpec::BufferedWriters(spec) => spec.bodies()?,
            LoadSpec::AllocateTruncate(spec) => spec.bodies()?,
            LoadSpec::JournalChurn(spec) => spec.bodies()?,
            LoadSpec::SequentialReader(spec) => spec.bodies()?,
        };
        let dir = ground::make_own(dir, format!("baro-load-{}-{serial}", std::process::id()))?;
        let mut load =
            Self { dir, stop: Arc::default(), totals: Arc::default(), threads: Vec::new() };
        for body in bodies {
            let worker = Worker {
                dir: load.dir.clone(),
                stop: Arc::clone(&load.stop),
                totals: Arc::clone(&load.totals),
            };
            let thread = std::thread::Builder::new()
                .name("bench-load".to_owned())
                .spawn(move || body(&worker))
                .map_err(BenchError::Thread)?;
            load.threads.push(thread);
        }
        Ok(load)
    }

    /// What was done so far. Does not block.
    #[must_use]
    pub fn report(&self) -> LoadReport {
        self.totals.report()
    }

    /// The flag that ends the load, for those who must end it from elsewhere (a signal, another
    /// thread); the load must still be stopped or dropped for its files to be removed.
    #[must_use]
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Ends the load, removes its files and returns what it did. Blocks as the module's
    /// documentation says, and for the removal.
    #[must_use]
    pub fn stop(mut self) -> LoadReport {
        self.end();
        self.totals.report()
    }

    fn end(&mut self) {
        self.stop.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                self.totals.fail(&io::Error::other("a load thread panicked"));
            }
        }
        if let Err(error) = files::remove_empty_folder(&self.dir)
            && error.kind() != io::ErrorKind::NotFound
        {
            self.totals.fail(&error.source);
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits until `due_ns` in steps short enough for the stop flag; false when it is set.
fn wait_until(due_ns: u64, stop: &AtomicBool) -> bool {
    const STEP_NS: u64 = 20_000_000;
    loop {
        if stop.load(Relaxed) {
            return false;
        }
        let now_ns = clock::monotonic_ns();
        if now_ns >= due_ns {
            return true;
        }
        clock::sleep_until_ns(due_ns.min(now_ns + STEP_NS));
    }
}
