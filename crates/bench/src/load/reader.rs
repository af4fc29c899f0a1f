//! A sequential reader of a file of its own, as paper A's: reads of 2 MB, from the device each
//! time.
//!
//! The paper's read as fast as it could; a rate keeps the device's time for the others, and it is
//! the reader's share that they then have to do without.
//!
//! Invariant: the file has `file_bytes`, at most one write of it dirty while it is made; of what
//! was read nothing stays in the page cache to be read again. Held by `tests.rs`, for the size.

use super::worker::{Body, Worker};
use crate::error::BenchError;
use baro_bench_sys::calls;
use baro_sys::clock;

/// Bytes of one read(), as in the paper.
const READ_BYTES: u64 = 2 << 20;

/// A sequential reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequentialReader {
    /// Size of the file that is read again and again; rounded down to whole reads, at least one.
    pub file_bytes: u64,
    /// Bytes read a second at most; None: as fast as it goes.
    pub bytes_per_s: Option<u64>,
}

impl Default for SequentialReader {
    fn default() -> Self {
        Self { file_bytes: 32 << 20, bytes_per_s: Some(4_000_000) }
    }
}

impl SequentialReader {
    pub(super) fn bodies(self) -> Result<Vec<Body>, BenchError> {
        if self.bytes_per_s == Some(0) {
            return Err(BenchError::Specification {
                field: "bytes_per_s",
                found: 0,
                expected: "at least 1, or none for no limit",
            });
        }
        Ok(vec![Box::new(move |worker| read_over_and_over(self, worker))])
    }
}

fn read_over_and_over(spec: SequentialReader, worker: &Worker) {
    const NAME: &str = "read";
    if let Some(file) = worker.create(NAME) {
        let mut data = vec![0x3C_u8; READ_BYTES as usize];
        let reads = (spec.file_bytes / READ_BYTES).max(1);
        for write in 0..reads {
            // Without its blocks the file would be a hole, and reading a hole reads no device.
            while worker.goes_on() && worker.write(&file, &data, write * READ_BYTES).is_none() {}
            if !worker.goes_on() {
                break;
            }
            worker.note(calls::write_back(&file, write * READ_BYTES, READ_BYTES));
        }
        let read_ns = spec.bytes_per_s.map_or(0, |rate| READ_BYTES * 1_000_000_000 / rate);
        let mut due_ns = clock::monotonic_ns();
        for read in 0_u64.. {
            if !worker.wait_until(due_ns) {
                break;
            }
            let offset_bytes = read % reads * READ_BYTES;
            worker.note(calls::drop_cached(&file, offset_bytes, READ_BYTES));
            worker.read(&file, &mut data, offset_bytes);
            // One that was held does not catch up: the load is a rate, not a backlog.
            due_ns = due_ns.saturating_add(read_ns).max(clock::monotonic_ns());
        }
    }
    worker.remove(NAME);
}
