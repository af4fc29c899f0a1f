//! A file that is written beside a recorder without keeping it waiting.
//!
//! Invariant: at most two windows are dirty and not yet under way to the device.

use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A new ordinary file that is written from start to end without making the page cache dirty by
/// more than two windows of 4 MiB: what an export writes must not become the long writeback that a
/// recorder beside it would wait for.
#[derive(Debug)]
pub struct PacedOutput {
    file: File,
    path: PathBuf,
    /// Bytes up to here are being written back.
    started: u64,
    /// Furthest byte written.
    end: u64,
}

/// What is handed to the device at once.
const WINDOW_BYTES: u64 = 4 << 20;

impl PacedOutput {
    /// Makes the file, readable by its owner alone: it holds what a store holds.
    ///
    /// # Errors
    /// The name is taken, or the operating system's reason.
    pub fn create(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(super::PRIVATE)
            .open(path)
            .map_err(|e| Error::new("create", path, e))?;
        Ok(PacedOutput { file, path: path.to_owned(), started: 0, end: 0 })
    }

    /// Makes the contents durable.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn finish(self) -> Result<()> {
        self.file.sync_all().map_err(|e| Error::new("sync", &self.path, e))
    }
}

impl Write for PacedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.end = self.end.max(self.file.stream_position()?);
        while self.end - self.started >= 2 * WINDOW_BYTES {
            // Only a courtesy: where it is refused the kernel writes back when it likes.
            write_back(&self.file, self.started, WINDOW_BYTES);
            self.started += WINDOW_BYTES;
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for PacedOutput {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

/// Writes the dirty pages of a range and waits for them.
fn write_back(file: &File, offset_bytes: u64, length_bytes: u64) {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (Ok(offset), Ok(length)) = (offset_bytes.try_into(), length_bytes.try_into()) else {
        return;
    };
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) };
}
