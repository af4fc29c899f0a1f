//! RWF_DONTCACHE: through the page cache, written back at once and dropped.
//!
//! The preallocated file is the paper's; the background thread is not needed, since each write
//! begins its own write-back.

use super::{Recording, WaySpec};
use baro_bench_sys::calls;
use baro_sys::files;
use std::fs::File;
use std::io;
use std::path::Path;

#[derive(Debug)]
pub(super) struct DontCache {
    file: File,
    position_bytes: u64,
    end_bytes: u64,
}

impl DontCache {
    pub(super) fn begin(path: &Path, spec: &WaySpec) -> io::Result<Self> {
        let end_bytes = spec.whole_bytes();
        let file = files::create(path)?;
        calls::allocate(&file, 0, end_bytes)?;
        file.sync_all()?;
        Ok(Self { file, position_bytes: 0, end_bytes })
    }
}

impl Recording for DontCache {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        let offset_bytes = self.position_bytes;
        self.position_bytes += block.len() as u64;
        Ok(calls::write_uncached(&self.file, block, offset_bytes)?)
    }

    fn is_full(&self) -> bool {
        self.position_bytes >= self.end_bytes
    }

    fn settle(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}
