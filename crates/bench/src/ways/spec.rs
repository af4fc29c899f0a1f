//! What a way records, and what was measured of it.
//!
//! Invariant: each way gets the same blocks, which fit direct I/O. Held by
//! `useless_specifications_are_refused`.

use super::WayKind;
use crate::error::BenchError;
use crate::methods::FlushReport;
use baro_sys::counters::ThreadUsage;
use hdrhistogram::Histogram;
use std::io;

/// What is recorded: paper A's sizes by [`Default`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaySpec {
    /// Bytes of one block: whole 4,096.
    pub block_bytes: u64,
    /// Time from one block to the next, ns.
    pub period_ns: u64,
    /// Where a way does something for many blocks at once (a flush, a commit, a chunk), it does it
    /// each time so many bytes were written; as much may be under way where writes are handed over.
    pub flush_bytes: u64,
    /// The file's size, or the largest before a new one is begun.
    pub file_bytes: u64,
}

impl Default for WaySpec {
    fn default() -> Self {
        let (block_bytes, period_ns) = (16 << 10, 5_000_000);
        Self { block_bytes, period_ns, flush_bytes: 2 << 20, file_bytes: 100_000_000 }
    }
}

impl WaySpec {
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let wrong =
            |field, found, expected| Err(BenchError::Specification { field, found, expected });
        // O_DIRECT takes whole pages, and each way gets the same blocks.
        let whole = self.block_bytes > 0 && self.block_bytes.is_multiple_of(4096);
        if !whole || self.block_bytes > 64 << 20 {
            return wrong("block_bytes", self.block_bytes, "whole 4096, from 4 KiB to 64 MiB");
        }
        if self.period_ns == 0 {
            return wrong("period_ns", self.period_ns, "at least 1");
        }
        if self.flush_bytes < self.block_bytes || self.flush_bytes > 1 << 30 {
            return wrong("flush_bytes", self.flush_bytes, "from block_bytes to 1 GiB");
        }
        if self.file_bytes < self.block_bytes {
            return wrong("file_bytes", self.file_bytes, "at least block_bytes");
        }
        Ok(())
    }

    /// Bytes of all blocks that fit into a file.
    pub(super) fn whole_bytes(&self) -> u64 {
        self.file_bytes / self.block_bytes * self.block_bytes
    }
}

/// What was measured over all slices.
#[derive(Clone, Debug)]
pub struct WayReport {
    /// The way.
    pub kind: WayKind,
    /// What the producer's thread spent on each block, ns. Failed blocks are in it too.
    pub latency_ns: Histogram<u64>,
    /// The longest, exactly (the histogram keeps three digits).
    pub latency_ns_max: u64,
    /// Periods at whose beginning the producer was still busy: lost samples.
    pub lost_periods: u64,
    /// Bytes that were written; without those that failed later.
    pub written_bytes: u64,
    /// Blocks that failed, at once or later.
    pub failed_writes: u64,
    /// The first failure.
    pub first_error: Option<io::ErrorKind>,
    /// Blocks for which the producer waited because too much was under way.
    pub waits: u64,
    /// Files recorded to; one, if it is overwritten from its beginning.
    pub recordings: u64,
    /// What the producer's thread cost during slices.
    pub usage: ThreadUsage,
    /// The background thread's work, where the way has such a thread.
    pub flush: Option<FlushReport>,
}
