//! Paper D's load: big new files, whose data a commit must wait for, beside many small ones.
//!
//! The big files are written anew, never over: only newly allocated blocks are ordered data that
//! the commit flushes. The small files are made, renamed over older ones and removed: metadata
//! that fill a small journal and force checkpoints.
//!
//! Invariant: two big files for each writer and `small_files` names for each churner at most.
//! Held by `tests.rs`.

use super::worker::{Body, Worker};
use crate::error::BenchError;
use baro_sys::{clock, files};

const WRITE_BYTES: u64 = 1 << 20;

/// Large new files beside many small ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalChurn {
    /// Threads that write big files.
    pub writers: u32,
    /// Size of a big file; rounded down to whole MiB, at least one. Each writer has two.
    pub file_bytes: u64,
    /// Threads that make and remove small files.
    pub churners: u32,
    /// Small files that each churner keeps.
    pub small_files: u32,
    /// Bytes in a small file.
    pub small_bytes: u64,
    /// Time from one small file to the next of a churner; 0: as fast as it goes.
    pub small_period_ns: u64,
}

impl Default for JournalChurn {
    fn default() -> Self {
        Self {
            writers: 1,
            file_bytes: 256 << 20,
            churners: 1,
            small_files: 1_000,
            small_bytes: 100,
            small_period_ns: 0,
        }
    }
}

impl JournalChurn {
    pub(super) fn bodies(self) -> Result<Vec<Body>, BenchError> {
        let wrong =
            |field, found, expected| Err(BenchError::Specification { field, found, expected });
        if self.small_files == 0 {
            return wrong("small_files", 0, "at least 1");
        }
        if self.small_bytes > WRITE_BYTES {
            return wrong("small_bytes", self.small_bytes, "at most 1 MiB");
        }
        let writers = (0..self.writers)
            .map(|number| -> Body { Box::new(move |worker| write_anew(self, number, worker)) });
        let churners = (0..self.churners)
            .map(|number| -> Body { Box::new(move |worker| churn(self, number, worker)) });
        Ok(writers.chain(churners).collect())
    }
}

fn write_anew(spec: JournalChurn, number: u32, worker: &Worker) {
    let names = [format!("big-{number}-a"), format!("big-{number}-b")];
    let data = vec![0x5A_u8; WRITE_BYTES as usize];
    let file_writes = (spec.file_bytes / WRITE_BYTES).max(1);
    // Two in turn: the older one's pages get their time to reach the device before it is emptied.
    for name in names.iter().cycle() {
        let Some(file) = worker.create(name) else { break };
        for write in 0..file_writes {
            if !worker.goes_on() || worker.write(&file, &data, write * WRITE_BYTES).is_none() {
                break;
            }
        }
    }
    for name in &names {
        worker.remove(name);
    }
}

fn churn(spec: JournalChurn, number: u32, worker: &Worker) {
    let data = vec![0xC3_u8; spec.small_bytes as usize];
    let fresh = format!("small-{number}-new");
    let name_of = |index: u64| format!("small-{number}-{index}");
    let names = u64::from(spec.small_files);
    let mut due_ns = clock::monotonic_ns();
    for turn in 0_u64.. {
        if !worker.wait_until(due_ns) {
            break;
        }
        let kept = name_of(turn % names);
        if let Some(file) = worker.create(&fresh)
            && worker.write(&file, &data, 0).is_some()
        {
            let (from, to) = (worker.dir.join(&fresh), worker.dir.join(kept));
            worker.attempt(|| files::rename(&from, &to));
        }
        // Every other name is removed again half a round later: blocks and inodes are freed too.
        if turn % 2 == 0 {
            worker.remove(&name_of((turn + names / 2) % names));
        }
        due_ns = due_ns.saturating_add(spec.small_period_ns).max(clock::monotonic_ns());
    }
    worker.remove(&fresh);
    for index in 0..names {
        worker.remove(&name_of(index));
    }
}
