//! Other ways to write than write(), measured as paper A's methods are: what the paper leaves open.
//!
//! Each way takes a block each period; what the producer's thread does for it is timed, nothing
//! else: files are made before, and what a way does in the background is done by other threads.
//! Some ways overwrite one file from its beginning, others begin a new file when one is full; that
//! break is no part of the measurement, as with [`crate::methods`].
//!
//! What is compared is the time that the producer loses. When a block is durable differs from way
//! to way, and [`WayKind::durable`] says it.
//!
//! Invariant: what a way has accepted is in its files when a slice ends; none of its files is left
//! when it is dropped. Held by `each_way_has_written_what_it_was_given` and
//! `each_way_counts_its_writes_and_leaves_nothing`.

mod available;
mod dont_cache;
mod kind;
mod mapped;
mod mcap;
mod plain;
mod queued;
mod spec;
mod sqlite;
#[cfg(test)]
mod tests;

pub use crate::pace::SliceReport;
pub use kind::WayKind;
pub use spec::{WayReport, WaySpec};

use crate::error::BenchError;
use crate::methods::{Flush, Flusher};
use crate::pace::{Tally, Turn, Until, pace};
use baro_sys::counters::ThreadUsage;
use baro_sys::files;
use std::fmt::Debug;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Failures learned after the producer went on, and its waits.
#[derive(Clone, Copy, Debug, Default)]
struct Later {
    failed: u64,
    first_error: Option<io::ErrorKind>,
    waits: u64,
}

/// A part of a file that the background thread shall write back.
type Unit = (Arc<File>, u64, u64);

/// One recording by one way.
trait Recording: Debug + Send {
    /// What the producer's thread does for one block; this alone is timed.
    fn write(&mut self, block: &[u8]) -> io::Result<()>;

    /// Whether there is no room for another block. Never, where the file is overwritten.
    fn is_full(&self) -> bool;

    /// What the background thread shall write back by now. Asked after each block, untimed.
    fn unit(&mut self) -> Option<Unit> {
        None
    }

    /// Makes everything accepted so far durable. Blocks for the device.
    fn settle(&mut self) -> io::Result<()>;

    /// What was learned later, so far.
    fn later(&self) -> Later {
        Later::default()
    }

    /// All blocks in the order they were written, of a file that was not overwritten yet.
    #[cfg(test)]
    fn read_back(&mut self, path: &Path, spec: &WaySpec) -> Vec<Vec<u8>> {
        tests::blocks_of(path, spec)
    }
}

/// A producer with its file, and its background thread where it needs one.
#[derive(Debug)]
pub struct Way {
    kind: WayKind,
    spec: WaySpec,
    path: PathBuf,
    block: Vec<u8>,
    sequence: u64,
    recording: Option<Box<dyn Recording>>,
    flusher: Option<Flusher>,
    tally: Tally,
    /// Of recordings that are over.
    later: Later,
    recordings: u64,
}

impl Way {
    /// Prepares the first recording in `dir`, in a file named `name` (and others whose names begin
    /// with it), which must be free to be overwritten. Takes as long as the device needs to write
    /// `file_bytes` where a way wants a written file.
    ///
    /// # Errors
    /// A specification of no use; `Refused` with the reason where [`WayKind::available`] says so;
    /// no space.
    pub fn new(kind: WayKind, dir: &Path, name: &str, spec: WaySpec) -> Result<Self, BenchError> {
        spec.check()?;
        kind.available(dir).map_err(|why| BenchError::Refused(format!("{kind}: {why}")))?;
        let flusher =
            if kind.flushes() { Some(Flusher::start(Flush::SyncFileRange)?) } else { None };
        let mut way = Self {
            kind,
            spec,
            path: dir.join(name),
            // Not zeroes: some devices and file systems treat those apart.
            block: (0..spec.block_bytes).map(|index| (index % 251) as u8).collect(),
            sequence: 0,
            recording: None,
            flusher,
            tally: Tally::new()?,
            later: Later::default(),
            recordings: 0,
        };
        way.begin()?;
        Ok(way)
    }

    /// Records for `duration_ns` in the calling thread, or until `stop` is set (looked at once a
    /// period), then makes everything durable.
    ///
    /// # Errors
    /// A new recording that could not be begun, a lost background thread, a failed last sync.
    /// Failed blocks are counted instead.
    pub fn run_slice(
        &mut self,
        duration_ns: u64,
        stop: &AtomicBool,
    ) -> Result<SliceReport, BenchError> {
        self.run(Until { duration_ns, calls: u64::MAX }, stop)
    }

    /// As [`Self::run_slice`], but until `writes` blocks were written.
    ///
    /// # Errors
    /// As [`Self::run_slice`].
    pub fn run_writes(
        &mut self,
        writes: u64,
        stop: &AtomicBool,
    ) -> Result<SliceReport, BenchError> {
        self.run(Until { duration_ns: u64::MAX, calls: writes }, stop)
    }

    fn run(&mut self, until: Until, stop: &AtomicBool) -> Result<SliceReport, BenchError> {
        let before = ThreadUsage::now();
        let slice = pace(self, self.spec.period_ns, until, stop)?;
        self.tally.add(slice, before);
        self.settle()?;
        Ok(slice)
    }

    /// Ends the last recording, removes its files and returns what was measured.
    ///
    /// # Errors
    /// A lost background thread, a failed last sync or removal.
    pub fn finish(mut self) -> Result<WayReport, BenchError> {
        self.end()?;
        let flush = self.flusher.take().map(Flusher::finish).transpose()?;
        let tally = &self.tally;
        let failed_bytes = self.later.failed * self.spec.block_bytes;
        Ok(WayReport {
            kind: self.kind,
            latency_ns: tally.latency_ns.clone(),
            latency_ns_max: tally.latency_ns_max,
            lost_periods: tally.lost_periods,
            written_bytes: tally.written_bytes.saturating_sub(failed_bytes),
            failed_writes: tally.failed_writes + self.later.failed,
            first_error: tally.first_error.or(self.later.first_error),
            waits: self.later.waits,
            recordings: self.recordings,
            usage: tally.usage,
            flush,
        })
    }

    fn begin(&mut self) -> Result<(), BenchError> {
        self.remove()?;
        let made = self.kind.begin(&self.path, &self.spec);
        self.recording = Some(made.map_err(BenchError::file("prepare", &self.path))?);
        self.recordings += 1;
        Ok(())
    }

    /// Ends a recording: everything durable, its files closed and removed.
    fn end(&mut self) -> Result<(), BenchError> {
        self.settle()?;
        if let Some(recording) = self.recording.take() {
            let later = recording.later();
            self.later.failed += later.failed;
            self.later.first_error = self.later.first_error.or(later.first_error);
            self.later.waits += later.waits;
        }
        self.remove()
    }

    fn settle(&mut self) -> Result<(), BenchError> {
        if let Some(flusher) = &self.flusher {
            flusher.settle()?;
        }
        match &mut self.recording {
            Some(recording) => recording.settle().map_err(BenchError::file("sync", &self.path)),
            None => Ok(()),
        }
    }

    /// Removes the way's files, those that are there.
    fn remove(&self) -> Result<(), BenchError> {
        for ending in WayKind::ENDINGS {
            let mut path = self.path.clone().into_os_string();
            path.push(ending);
            match files::remove(Path::new(&path)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(BenchError::file("remove", Path::new(&path))(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Turn for Way {
    fn prepare(&mut self) -> Result<bool, BenchError> {
        // A block that has its number cannot be taken for another one.
        if let Some(place) = self.block.first_chunk_mut() {
            *place = self.sequence.to_le_bytes();
        }
        self.sequence += 1;
        let full = self.recording.as_ref().is_none_or(|recording| recording.is_full());
        if full {
            self.end()?;
            self.begin()?;
        }
        Ok(full)
    }

    fn call(&mut self, _due_ns: u64) -> u64 {
        let Some(recording) = &mut self.recording else { return 0 };
        let block = &self.block;
        let latency_ns = self.tally.time(self.spec.block_bytes, || recording.write(block));
        if let (Some(flusher), Some((file, offset_bytes, length_bytes))) =
            (&self.flusher, recording.unit())
        {
            flusher.flush(&file, offset_bytes, length_bytes);
        }
        latency_ns
    }
}

impl Drop for Way {
    fn drop(&mut self) {
        // Threads and files end before their names do.
        self.flusher = None;
        self.recording = None;
        let _ = self.remove();
    }
}

/// Prepares `kind`, records for `duration_ns` or until `stop` is set, and removes the files.
///
/// # Errors
/// As [`Way::new`], [`Way::run_slice`] and [`Way::finish`].
pub fn paced(
    kind: WayKind,
    dir: &Path,
    name: &str,
    spec: WaySpec,
    duration_ns: u64,
    stop: &AtomicBool,
) -> Result<WayReport, BenchError> {
    let mut way = Way::new(kind, dir, name, spec)?;
    way.run_slice(duration_ns, stop)?;
    way.finish()
}
