//! The ways that are one system call on one file: O_DIRECT and O_DSYNC.
//!
//! A direct write must come from aligned memory, and a producer's data do not lie in any: the copy
//! is part of what is measured.

use super::{Recording, WaySpec};
use baro_bench_sys::calls;
use baro_sys::files;
use baro_sys::memory::AlignedBuffer;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Opens a new file for direct I/O with room for `bytes`, its blocks written or only allocated.
/// Whatever was done is durable. Blocks for the device.
pub(super) fn prepare_direct(path: &Path, bytes: u64, written: bool) -> io::Result<File> {
    let file = calls::open_direct(path)?;
    calls::allocate(&file, 0, bytes)?;
    if written {
        fill(&file, bytes)?;
    }
    file.sync_all()?;
    Ok(file)
}

/// Writes whatever to the first `bytes` of `file`, so that later writes find written blocks.
pub(super) fn fill(file: &File, bytes: u64) -> io::Result<()> {
    const PART_BYTES: u64 = 1 << 20;
    let (mut part, _) = AlignedBuffer::new(PART_BYTES as usize).map_err(|error| error.source)?;
    part.fill(0xb5);
    for offset_bytes in (0..bytes).step_by(PART_BYTES as usize) {
        let length = (bytes - offset_bytes).min(PART_BYTES) as usize;
        files::write_at(file, part.get(..length).unwrap_or_default(), offset_bytes)?;
    }
    Ok(())
}

/// pwrite past the page cache.
#[derive(Debug)]
pub(super) struct Direct {
    file: File,
    buffer: AlignedBuffer,
    position_bytes: u64,
    end_bytes: u64,
    wraps: bool,
}

impl Direct {
    /// Into a file that was `written`, which is overwritten from its beginning; or into one that
    /// is preallocated, and full at its end.
    pub(super) fn begin(path: &Path, spec: &WaySpec, written: bool) -> io::Result<Self> {
        let end_bytes = spec.whole_bytes();
        let file = prepare_direct(path, end_bytes, written)?;
        let (buffer, _) =
            AlignedBuffer::new(spec.block_bytes as usize).map_err(|error| error.source)?;
        Ok(Self { file, buffer, position_bytes: 0, end_bytes, wraps: written })
    }
}

impl Recording for Direct {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        if self.wraps && self.position_bytes >= self.end_bytes {
            self.position_bytes = 0;
        }
        let offset_bytes = self.position_bytes;
        // Failed ones move it too, so that a full disk ends.
        self.position_bytes += block.len() as u64;
        self.buffer.copy_from_slice(block);
        Ok(files::write_at(&self.file, &self.buffer, offset_bytes)?)
    }

    fn is_full(&self) -> bool {
        !self.wraps && self.position_bytes >= self.end_bytes
    }

    fn settle(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}

/// write at the end of a file, each durable.
#[derive(Debug)]
pub(super) struct Dsync {
    file: File,
    position_bytes: u64,
    end_bytes: u64,
}

impl Dsync {
    pub(super) fn begin(path: &Path, spec: &WaySpec) -> io::Result<Self> {
        let file = calls::create_synchronous(path)?;
        file.sync_all()?;
        Ok(Self { file, position_bytes: 0, end_bytes: spec.whole_bytes() })
    }
}

impl Recording for Dsync {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        self.position_bytes += block.len() as u64;
        self.file.write_all(block)
    }

    fn is_full(&self) -> bool {
        self.position_bytes >= self.end_bytes
    }

    fn settle(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }
}
