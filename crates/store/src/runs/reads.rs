//! What has been read of the pages of runs: the cost of a question that does not depend on how busy
//! the machine is.
//!
//! Invariant: each page that is read counts once for each time. Held by `tests/overlap.rs`.

use crate::Store;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of one run.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    pages: AtomicU64,
    bytes: AtomicU64,
}

impl Reads {
    pub(crate) fn add(&self, bytes: u64) {
        self.pages.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// Pages that were read, of one run or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PagesRead {
    /// How many, one that was read twice counted twice.
    pub pages: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl Store {
    /// What has been read of each run so far, by its number; questions that go on may be counted in
    /// part.
    pub fn pages_read(&self) -> impl Iterator<Item = (u64, PagesRead)> {
        let load = |count: &AtomicU64| count.load(Ordering::Relaxed);
        self.runs.files.iter().map(move |run| {
            let (pages, bytes) = (load(&run.reads.pages), load(&run.reads.bytes));
            (run.entry.id, PagesRead { pages, bytes })
        })
    }
}
