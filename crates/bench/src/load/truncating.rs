//! Paper A's background load: a file that is cut shorter and another that is allocated, each 5 ms.
//!
//! Both need the journal and the locks of the block groups, the resources that a recorder's
//! write() waits for. The paper's BGTRUNC is the truncation alone, BGALL both.
//!
//! Invariant: two files of `file_bytes` each at most. Held by `tests.rs`.

use super::worker::{Body, Worker};
use crate::error::BenchError;
use baro_sys::{clock, files};

/// Truncation and allocation of large files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocateTruncate {
    /// Size of the file that is cut, and of the one that is allocated.
    pub file_bytes: u64,
    /// Bytes cut off each time; the file is allocated anew when none are left.
    pub cut_bytes: u64,
    /// Time between two rounds.
    pub period_ns: u64,
    /// Whether each round also allocates a whole file (BGALL) or only cuts (BGTRUNC).
    pub allocate: bool,
}

impl Default for AllocateTruncate {
    /// BGALL with the paper's sizes: 100 MB, 256 KB, 5 ms.
    fn default() -> Self {
        Self { file_bytes: 100 << 20, cut_bytes: 256 << 10, period_ns: 5_000_000, allocate: true }
    }
}

impl AllocateTruncate {
    pub(super) fn bodies(self) -> Result<Vec<Body>, BenchError> {
        for (field, found) in [
            ("file_bytes", self.file_bytes),
            ("cut_bytes", self.cut_bytes),
            ("period_ns", self.period_ns),
        ] {
            if found == 0 {
                return Err(BenchError::Specification { field, found, expected: "at least 1" });
            }
        }
        let cut: Body = Box::new(move |worker| cut_and_renew(self, worker));
        let allocate: Body = Box::new(move |worker| allocate_and_free(self, worker));
        // Threads of their own: a slow allocation must not slow the cutting down.
        Ok(if self.allocate { vec![cut, allocate] } else { vec![cut] })
    }
}

fn cut_and_renew(spec: AllocateTruncate, worker: &Worker) {
    const NAME: &str = "cut";
    if let Some(file) = worker.create(NAME) {
        let mut length_bytes = 0;
        each_period(spec.period_ns, worker, || {
            if length_bytes == 0 {
                if worker.allocate(&file, spec.file_bytes).is_some() {
                    length_bytes = spec.file_bytes;
                }
            } else {
                let shorter_bytes = length_bytes.saturating_sub(spec.cut_bytes);
                if worker.attempt(|| files::set_length(&file, shorter_bytes)).is_some() {
                    length_bytes = shorter_bytes;
                }
            }
        });
    }
    worker.remove(NAME);
}

fn allocate_and_free(spec: AllocateTruncate, worker: &Worker) {
    const NAME: &str = "allocated";
    if let Some(file) = worker.create(NAME) {
        each_period(spec.period_ns, worker, || {
            // Freed first, or the allocation would find its blocks already there.
            if worker.attempt(|| files::set_length(&file, 0)).is_some() {
                worker.allocate(&file, spec.file_bytes);
            }
        });
    }
    worker.remove(NAME);
}

fn each_period(period_ns: u64, worker: &Worker, mut round: impl FnMut()) {
    let mut due_ns = clock::monotonic_ns();
    while worker.wait_until(due_ns) {
        round();
        due_ns = due_ns.saturating_add(period_ns).max(clock::monotonic_ns());
    }
}
