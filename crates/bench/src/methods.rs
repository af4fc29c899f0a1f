//! The conventional ways to record, measured: paper A's producers.
//!
//! A producer writes a block each period with write(2); the latency of each call is what the
//! paper measures, and a call longer than the period loses a sample. [`Spec::conventional`]
//! appends and calls fdatasync in the background; [`Spec::paper`] preallocates the file and calls
//! sync_file_range; the two other combinations of the paper's table can be had too. No setting of
//! the machine is touched: the paper's "flusher off" is left to the caller.
//!
//! A method runs in slices, so that several can take turns under the same load. A slice is a
//! recording's part: it ends with the flushes over and the file synced, and nothing of it
//! disturbs the next method's slice.
//!
//! Invariant: the file never grows beyond `file_bytes` and is gone at the end; every write is in
//! the histogram. Held by `tests.rs`.

mod flusher;
#[cfg(test)]
mod tests;

pub use crate::pace::SliceReport;
pub use flusher::FlushReport;
pub(crate) use flusher::Flusher;

use crate::error::BenchError;
use crate::pace::{Tally, Turn, Until, pace};
use baro_bench_sys::calls;
use baro_sys::counters::ThreadUsage;
use baro_sys::files;
use hdrhistogram::Histogram;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How the file gets its blocks: the paper's WAPPEND and WPRE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// Each write() extends the file.
    Append,
    /// fallocate(2) of the whole file first, the rest cut off at the end.
    Preallocate,
}

/// What the background thread calls: the paper's SALL and SDATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// fdatasync(2): data, the metadata that reading them needs, and the device's cache.
    Fdatasync,
    /// sync_file_range(2): data pages only. Nothing is durable before the recording's end.
    SyncFileRange,
}

/// What is recorded, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spec {
    /// How the file gets its blocks.
    pub allocation: Allocation,
    /// What the background thread calls.
    pub flush: Flush,
    /// Bytes of one write().
    pub block_bytes: u64,
    /// Time from one write() to the next.
    pub period_ns: u64,
    /// The background thread is called each time so many bytes were written.
    pub flush_bytes: u64,
    /// A recording's largest size; a full one is ended and a new one begun, outside the
    /// measurement.
    pub file_bytes: u64,
}

impl Spec {
    /// NONE of the paper, with its sizes: append, fdatasync each 2 MiB; 16 KiB each 5 ms.
    #[must_use]
    pub fn conventional() -> Self {
        Self {
            allocation: Allocation::Append,
            flush: Flush::Fdatasync,
            block_bytes: 16 << 10,
            period_ns: 5_000_000,
            flush_bytes: 2 << 20,
            file_bytes: 256 << 20,
        }
    }

    /// The paper's method, but for the flusher: preallocate, sync_file_range each 2 MiB.
    #[must_use]
    pub fn paper() -> Self {
        Self {
            allocation: Allocation::Preallocate,
            flush: Flush::SyncFileRange,
            ..Self::conventional()
        }
    }

    fn check(&self) -> Result<(), BenchError> {
        let wrong =
            |field, found, expected| Err(BenchError::Specification { field, found, expected });
        // 1 GiB: more is no block, and the buffer must fit into memory.
        if self.block_bytes == 0 || self.block_bytes > 1 << 30 {
            return wrong("block_bytes", self.block_bytes, "from 1 to 1 GiB");
        }
        if self.period_ns == 0 {
            return wrong("period_ns", self.period_ns, "at least 1");
        }
        if self.flush_bytes < self.block_bytes {
            return wrong("flush_bytes", self.flush_bytes, "at least block_bytes");
        }
        if self.file_bytes < self.block_bytes {
            return wrong("file_bytes", self.file_bytes, "at least block_bytes");
        }
        Ok(())
    }
}

/// What was measured over all slices.
#[derive(Clone, Debug)]
pub struct MethodReport {
    /// Duration of each write() in the producer's thread, ns. Failed calls are in it too.
    pub latency_ns: Histogram<u64>,
    /// The longest, exactly (the histogram keeps three digits).
    pub latency_ns_max: u64,
    /// Periods at whose beginning the producer was still busy: lost samples.
    pub lost_periods: u64,
    /// Bytes that write() took.
    pub written_bytes: u64,
    /// Calls that failed.
    pub failed_writes: u64,
    /// The first failure.
    pub first_error: Option<io::ErrorKind>,
    /// Files recorded to.
    pub recordings: u64,
    /// What the producer's thread cost during slices.
    pub usage: ThreadUsage,
    /// The background thread's work.
    pub flush: FlushReport,
}

#[derive(Debug)]
struct Recording {
    file: Arc<File>,
    /// Where the next write() goes; failed ones move it too, so that a full disk ends.
    position_bytes: u64,
    flushed_bytes: u64,
}

/// A producer with its file and its background thread.
#[derive(Debug)]
pub struct Method {
    spec: Spec,
    path: PathBuf,
    block: Vec<u8>,
    recording: Option<Recording>,
    flusher: Option<Flusher>,
    tally: Tally,
    recordings: u64,
}

impl Method {
    /// Prepares the first recording in `dir`, in a file named `name` that must be free to be
    /// overwritten. May take as long as preallocation takes.
    ///
    /// # Errors
    /// A specification of no use, no space, no preallocation on this file system.
    pub fn new(dir: &Path, name: &str, spec: Spec) -> Result<Self, BenchError> {
        spec.check()?;
        // Not zeroes: some devices and file systems treat those apart.
        let block = (0..spec.block_bytes).map(|index| (index % 251) as u8).collect();
        let mut method = Self {
            spec,
            path: dir.join(name),
            block,
            recording: None,
            flusher: Some(Flusher::start(spec.flush)?),
            tally: Tally::new()?,
            recordings: 0,
        };
        method.begin()?;
        Ok(method)
    }

    /// Records for `duration_ns` in the calling thread, or until `stop` is set (looked at once a
    /// period), then waits for the flushes and syncs the file.
    ///
    /// # Errors
    /// A new recording that could not be begun, a lost background thread, a failed last sync.
    /// Failed writes are counted instead.
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

    /// Ends the last recording, removes its file and returns what was measured.
    ///
    /// # Errors
    /// A lost background thread, a failed last sync or removal.
    pub fn finish(mut self) -> Result<MethodReport, BenchError> {
        self.end()?;
        files::remove(&self.path).map_err(BenchError::file("remove", &self.path))?;
        let flusher = self.flusher.take().ok_or(BenchError::ThreadLost("bench-flusher"))?;
        let flush = flusher.finish()?;
        let tally = self.tally.clone();
        Ok(MethodReport {
            latency_ns: tally.latency_ns,
            latency_ns_max: tally.latency_ns_max,
            lost_periods: tally.lost_periods,
            written_bytes: tally.written_bytes,
            failed_writes: tally.failed_writes,
            first_error: tally.first_error,
            recordings: self.recordings,
            usage: tally.usage,
            flush,
        })
    }

    fn begin(&mut self) -> Result<(), BenchError> {
        let failed = |what| BenchError::file(what, &self.path);
        let file = match self.spec.allocation {
            Allocation::Append => calls::create_append(&self.path).map_err(failed("create"))?,
            Allocation::Preallocate => {
                let file = files::create(&self.path).map_err(failed("create"))?;
                calls::allocate(&file, 0, self.spec.file_bytes).map_err(failed("preallocate"))?;
                file
            }
        };
        // The new file's own metadata must not be flushed by the first measured fdatasync.
        files::sync(&file).map_err(failed("sync"))?;
        self.recording =
            Some(Recording { file: Arc::new(file), position_bytes: 0, flushed_bytes: 0 });
        self.recordings += 1;
        Ok(())
    }

    fn end(&mut self) -> Result<(), BenchError> {
        self.settle()?;
        if let Some(recording) = self.recording.take()
            && self.spec.allocation == Allocation::Preallocate
        {
            let failed = |what| BenchError::file(what, &self.path);
            files::set_length(&recording.file, recording.position_bytes)
                .map_err(failed("cut off the rest of"))?;
            files::sync(&recording.file).map_err(failed("sync"))?;
        }
        Ok(())
    }

    fn settle(&self) -> Result<(), BenchError> {
        if let Some(flusher) = &self.flusher {
            flusher.settle()?;
        }
        match &self.recording {
            Some(recording) => {
                recording.file.sync_all().map_err(BenchError::file("sync", &self.path))
            }
            None => Ok(()),
        }
    }

    fn is_full(&self) -> bool {
        self.recording.as_ref().is_none_or(|recording| {
            recording.position_bytes + self.spec.block_bytes > self.spec.file_bytes
        })
    }

    /// One measured write(); asks for a flush when a unit is complete.
    fn write_block(&mut self) -> u64 {
        let Some(recording) = &mut self.recording else { return 0 };
        let (tally, block) = (&mut self.tally, &self.block);
        let write = || (&*recording.file).write_all(block);
        let latency_ns = tally.time(self.spec.block_bytes, write);
        recording.position_bytes += self.spec.block_bytes;
        let unflushed_bytes = recording.position_bytes - recording.flushed_bytes;
        if unflushed_bytes >= self.spec.flush_bytes
            && let Some(flusher) = &self.flusher
        {
            flusher.flush(&recording.file, recording.flushed_bytes, unflushed_bytes);
            recording.flushed_bytes = recording.position_bytes;
        }
        latency_ns
    }
}

impl Turn for Method {
    fn prepare(&mut self) -> Result<bool, BenchError> {
        let full = self.is_full();
        if full {
            self.end()?;
            self.begin()?;
        }
        Ok(full)
    }

    fn call(&mut self, _due_ns: u64) -> u64 {
        self.write_block()
    }
}

impl Drop for Method {
    fn drop(&mut self) {
        // finish takes the flusher once the file is gone; whoever did not get there left a file.
        if self.flusher.take().is_some() {
            let _ = files::remove(&self.path);
        }
    }
}
