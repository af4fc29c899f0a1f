//! Sequential buffered writers, as fio's: the load that the flusher thread works for.
//!
//! Each writer overwrites its own file again and again, so after the first round nothing is
//! allocated and the pages alone are what the device has to take. Where files are smaller than
//! the kernel's limit of dirty pages (a fifth of the memory), such a writer would only copy
//! memory and load no device at all; so by default write-back is started at once and waited for
//! a window later. That bounds the dirty pages without a setting of the machine.
//!
//! Invariant: a writer's file has at most `file_bytes`, at most `window_bytes` (and one write) of
//! it dirty. Held by `tests.rs`, for the size.

use super::worker::{Body, Worker};
use crate::error::BenchError;
use baro_bench_sys::calls;
use baro_sys::clock;

/// Bytes of one write(), as in fio's usual job.
const WRITE_BYTES: u64 = 1 << 20;

/// Sequential buffered writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferedWriters {
    /// Threads, each with a file of its own.
    pub writers: u32,
    /// Bytes a second of each writer; None: as fast as it goes.
    pub bytes_per_s: Option<u64>,
    /// Size of each file; rounded down to whole MiB, at least one.
    pub file_bytes: u64,
    /// Dirty bytes that a writer keeps: the device is always busy, and this is how far it may be
    /// behind. Below `file_bytes`. None: as fio does it, the kernel decides.
    pub window_bytes: Option<u64>,
}

impl Default for BufferedWriters {
    fn default() -> Self {
        Self { writers: 2, bytes_per_s: None, file_bytes: 256 << 20, window_bytes: Some(32 << 20) }
    }
}

impl BufferedWriters {
    pub(super) fn bodies(self) -> Result<Vec<Body>, BenchError> {
        if self.bytes_per_s == Some(0) {
            return Err(BenchError::Specification {
                field: "bytes_per_s",
                found: 0,
                expected: "at least 1, or none for no limit",
            });
        }
        if let Some(window_bytes) = self.window_bytes
            && !(WRITE_BYTES..self.file_bytes).contains(&window_bytes)
        {
            return Err(BenchError::Specification {
                field: "window_bytes",
                found: window_bytes,
                expected: "at least 1 MiB and below file_bytes",
            });
        }
        Ok((0..self.writers)
            .map(|number| -> Body {
                Box::new(move |worker| write_over_and_over(self, number, worker))
            })
            .collect())
    }
}

fn write_over_and_over(spec: BufferedWriters, number: u32, worker: &Worker) {
    let name = format!("buffered-{number}");
    if let Some(file) = worker.create(&name) {
        let data = vec![number.to_le_bytes()[0] ^ 0xA5; WRITE_BYTES as usize];
        let file_writes = (spec.file_bytes / WRITE_BYTES).max(1);
        let window_writes = spec.window_bytes.map(|bytes| bytes / WRITE_BYTES);
        let write_ns = spec.bytes_per_s.map_or(0, |rate| WRITE_BYTES * 1_000_000_000 / rate);
        let mut due_ns = clock::monotonic_ns();
        for write in 0_u64.. {
            if !worker.wait_until(due_ns) {
                break;
            }
            let offset_bytes = write % file_writes * WRITE_BYTES;
            if worker.write(&file, &data, offset_bytes).is_some()
                && let Some(window_writes) = window_writes
            {
                worker.note(calls::start_write_back(&file, offset_bytes, WRITE_BYTES));
                if let Some(behind) = write.checked_sub(window_writes) {
                    let behind_bytes = behind % file_writes * WRITE_BYTES;
                    worker.note(calls::write_back(&file, behind_bytes, WRITE_BYTES));
                }
            }
            // A writer that was held does not catch up: the load is a rate, not a backlog.
            due_ns = due_ns.saturating_add(write_ns).max(clock::monotonic_ns());
        }
    }
    worker.remove(&name);
}
