//! A file that is being written.

use crate::error::{Error, Result};
use crate::flusher::{Failed, Job};
use crate::pool::Sizes;
use baro_sys::files;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A file whose blocks are reserved. Dropped, it is finished too, and nobody is told how that went but
/// [`Pool::close`](crate::Pool::close).
#[derive(Debug)]
pub struct PreallocatedFile {
    file: Arc<File>,
    path: PathBuf,
    sizes: Sizes,
    jobs: Option<Sender<Job>>,
    written_bytes: u64,
    flushed_bytes: u64,
    failed: Failed,
}

impl PreallocatedFile {
    pub(crate) fn new(file: Arc<File>, path: PathBuf, sizes: Sizes, jobs: Sender<Job>) -> Self {
        let failed = Failed::default();
        Self { file, path, sizes, jobs: Some(jobs), written_bytes: 0, flushed_bytes: 0, failed }
    }

    /// Writes all of `bytes` behind what is written. One pwrite(2) if the kernel takes them at once; a
    /// complete unit is handed to another thread. In memory only, until the file is finished.
    ///
    /// It may wait: for a journal that is locked, and for dirty pages if all programs together have too
    /// many.
    ///
    /// # Errors
    /// [`Error::Full`], and nothing is written; the first failure of a unit before; the operating
    /// system's reason.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        let free_bytes = self.free_bytes();
        if bytes.len() as u64 > free_bytes {
            return Err(Error::Full { free_bytes, found_bytes: bytes.len() as u64 });
        }
        self.failed.get()?;
        files::write_at(&self.file, bytes, self.written_bytes)?;
        self.written_bytes += bytes.len() as u64;
        let length_bytes = self.written_bytes - self.flushed_bytes;
        if length_bytes >= self.sizes.unit_bytes
            && let Some(jobs) = &self.jobs
        {
            let (file, offset_bytes) = (Arc::clone(&self.file), self.flushed_bytes);
            let flush =
                Job::Flush { file, offset_bytes, length_bytes, failed: self.failed.clone() };
            jobs.send(flush).map_err(|_| Error::Closed)?;
            self.flushed_bytes = self.written_bytes;
        }
        Ok(())
    }

    /// Bytes that are written.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written_bytes
    }

    /// Bytes that have room.
    #[must_use]
    pub fn free_bytes(&self) -> u64 {
        self.sizes.file_bytes - self.written_bytes
    }

    /// Where it is, or will be in a moment.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Has the rest cut off and all made durable by another thread. Does not wait.
    #[must_use]
    pub fn finish(mut self) -> Finishing {
        self.end()
    }

    fn end(&mut self) -> Finishing {
        let (done, ended) = channel();
        if let Some(jobs) = self.jobs.take() {
            let (file, path) = (Arc::clone(&self.file), self.path.clone());
            let (length_bytes, failed) = (self.written_bytes, self.failed.clone());
            // Where the pool is gone nobody answers, which is what the waiting one is told.
            let _ = jobs.send(Job::Finish { file, path, length_bytes, failed, done });
        }
        Finishing(ended)
    }
}

impl Drop for PreallocatedFile {
    fn drop(&mut self) {
        self.end();
    }
}

/// A file that is being finished.
#[derive(Debug)]
pub struct Finishing(Receiver<Result<u64>>);

impl Finishing {
    /// Waits until the file is durable. Returns its bytes.
    ///
    /// # Errors
    /// The first failure of its units, or of its end; [`Error::Closed`] where the pool was closed before.
    pub fn wait(self) -> Result<u64> {
        self.0.recv().unwrap_or(Err(Error::Closed))
    }
}
