//! mmap: the producer copies into the page cache itself, and the kernel comes in by page faults.
//!
//! The paper's second open question. A page is faulted in at its first touch, and after each
//! write-back once more, since the kernel must learn that it is dirty again; for both it asks the
//! file system as write() does, with a journal handle.

use super::{Recording, Unit, WaySpec, plain};
use baro_bench_sys::calls;
use baro_sys::files;
use baro_sys::memory::FileMemory;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

#[derive(Debug)]
pub(super) struct Mapped {
    file: Arc<File>,
    memory: FileMemory,
    position_bytes: u64,
    flushed_bytes: u64,
    end_bytes: u64,
    unit_bytes: u64,
    wraps: bool,
}

impl Mapped {
    /// Of a file that was `written`, which is overwritten from its beginning; or of one that is
    /// preallocated, and full at its end.
    pub(super) fn begin(path: &Path, spec: &WaySpec, written: bool) -> io::Result<Self> {
        let end_bytes = spec.whole_bytes();
        let file = files::create(path)?;
        calls::allocate(&file, 0, end_bytes)?;
        if written {
            plain::fill(&file, end_bytes)?;
        }
        file.sync_all()?;
        let memory = FileMemory::new(&file, end_bytes)?;
        Ok(Self {
            file: Arc::new(file),
            memory,
            position_bytes: 0,
            flushed_bytes: 0,
            end_bytes,
            unit_bytes: spec.flush_bytes,
            wraps: written,
        })
    }
}

impl Recording for Mapped {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        if self.wraps && self.position_bytes >= self.end_bytes {
            self.position_bytes = 0;
        }
        let offset_bytes = self.position_bytes;
        self.position_bytes += block.len() as u64;
        self.memory.write(block, offset_bytes)
    }

    fn is_full(&self) -> bool {
        !self.wraps && self.position_bytes >= self.end_bytes
    }

    fn unit(&mut self) -> Option<Unit> {
        let length_bytes = self.position_bytes - self.flushed_bytes;
        let at_end = self.wraps && self.position_bytes >= self.end_bytes;
        if length_bytes < self.unit_bytes && !at_end {
            return None;
        }
        let offset_bytes = self.flushed_bytes;
        // What wraps begins at 0 with its next block.
        self.flushed_bytes = if at_end { 0 } else { self.position_bytes };
        Some((Arc::clone(&self.file), offset_bytes, length_bytes))
    }

    fn settle(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}
