//! Sequential buffered writers, as fio's: the load that the flusher thread works for.
//!
//! Each writer overwrites its own file again and again, so after the first round nothing is
//! allocated and the pages alone are what the device has to take.
//!
//! Invariant: a writer's file has at most `file_bytes`. Held by `tests.rs`.

use super::worker::{Body, Worker};
use crate::error::BenchError;
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
}

impl Default for BufferedWriters {
    fn default() -> Self {
        Self { writers: 2, bytes_per_s: None, file_bytes: 256 << 20 }
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
        let write_ns = spec.bytes_per_s.map_or(0, |rate| WRITE_BYTES * 1_000_000_000 / rate);
        let mut due_ns = clock::monotonic_ns();
        for write in 0_u64.. {
            if !worker.wait_until(due_ns) {
                break;
            }
            worker.write(&file, &data, write % file_writes * WRITE_BYTES);
            // A writer that was held does not catch up: the load is a rate, not a backlog.
            due_ns = due_ns.saturating_add(write_ns).max(clock::monotonic_ns());
        }
    }
    worker.remove(&name);
}
