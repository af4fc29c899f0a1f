//! A file that is being written.

use crate::error::{Error, Failed, Result};
use crate::flusher::{Common, Job};
use crate::pool::Sizes;
use baro_sys::files;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

/// A file whose blocks are reserved. Dropped, it is finished too; if that fails, the next call on the
/// pool or one of its files tells it, or [`Pool::close`](crate::Pool::close).
#[derive(Debug)]
pub struct PreallocatedFile {
    file: Arc<File>,
    path: PathBuf,
    sizes: Sizes,
    jobs: Sender<Job>,
    common: Common,
    /// Whether somebody waits for its end.
    finished: bool,
    written_bytes: u64,
    flushed_bytes: u64,
    failed: Failed,
}

impl PreallocatedFile {
    pub(crate) fn new(
        file: Arc<File>,
        path: PathBuf,
        sizes: Sizes,
        (jobs, common): (Sender<Job>, Common),
        failed: Failed,
    ) -> Self {
        let (written_bytes, flushed_bytes, finished) = (0, 0, false);
        Self { file, path, sizes, jobs, common, finished, written_bytes, flushed_bytes, failed }
    }

    /// Writes all of `bytes` behind what is written. One pwrite(2) if the kernel takes them at once; a
    /// complete unit is handed to another thread. In memory only, until the file is finished.
    ///
    /// It may wait: for a journal that is locked, and for dirty pages if all programs together have too
    /// many.
    ///
    /// # Errors
    /// [`Error::Full`], [`Error::Closed`], what [`status`](Self::status) tells, and a failure of another
    /// file that nobody has waited for, once: nothing is written then. The operating system's reason.
    pub fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.status()?;
        let free_bytes = self.free_bytes();
        if bytes.len() as u64 > free_bytes {
            return Err(Error::Full { free_bytes, found_bytes: bytes.len() as u64 });
        }
        self.common.untold.take()?;
        files::write_at(&self.file, bytes, self.written_bytes)?;
        self.written_bytes += bytes.len() as u64;
        let length_bytes = self.written_bytes - self.flushed_bytes;
        if length_bytes >= self.sizes.unit_bytes {
            let (file, offset_bytes) = (Arc::clone(&self.file), self.flushed_bytes);
            let flush =
                Job::Flush { file, offset_bytes, length_bytes, failed: self.failed.clone() };
            self.jobs.send(flush).map_err(|_| Error::Closed)?;
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

    /// What has failed of it so far, without waiting: each write from then on is refused with it.
    ///
    /// # Errors
    /// [`Error::Closed`] if its pool is; the first failure of a unit; [`Error::Unnamed`].
    pub fn status(&self) -> Result<()> {
        self.common.check()?;
        self.failed.get()
    }

    /// Has the rest cut off and all made durable by another thread. Does not wait.
    #[must_use]
    pub fn finish(mut self) -> Finishing {
        let (done, ended) = channel();
        self.end(Some(done));
        Finishing { ended: Some(ended), jobs: self.jobs.clone() }
    }

    /// The same for who will not ask how it went. What is known now is told now; what fails later by the
    /// next call, as if the file had been dropped.
    ///
    /// # Errors
    /// As [`status`](Self::status), or a failure of another file that nobody has waited for.
    pub fn leave(mut self) -> Result<()> {
        let known = self.status();
        if known.is_err() {
            // Told already, so the other end of the channel is not kept.
            self.end(Some(channel().0));
        }
        known.and_then(|()| self.common.untold.take())
    }

    fn end(&mut self, done: Option<Sender<Result<u64>>>) {
        if !std::mem::replace(&mut self.finished, true) {
            let (file, path) = (Arc::clone(&self.file), self.path.clone());
            let (length_bytes, failed) = (self.written_bytes, self.failed.clone());
            // Where the pool is gone nobody answers, which is what the waiting one is told.
            let _ = self.jobs.send(Job::Finish { file, path, length_bytes, failed, done });
        }
    }
}

impl Drop for PreallocatedFile {
    fn drop(&mut self) {
        self.end(None);
    }
}

/// A file that is being finished. Dropped, it is as if the file had been.
#[derive(Debug)]
pub struct Finishing {
    /// Until it was heard.
    ended: Option<Receiver<Result<u64>>>,
    jobs: Sender<Job>,
}

impl Finishing {
    /// Waits until the file is durable. Returns its bytes.
    ///
    /// # Errors
    /// The first failure of its units, its name, or its end; [`Error::Closed`] where the pool was closed
    /// before.
    pub fn wait(mut self) -> Result<u64> {
        let ended = self.ended.take().map(|ended| ended.recv());
        ended.and_then(|ended| ended.ok()).unwrap_or(Err(Error::Closed))
    }

    /// The same without waiting: `None` as long as it is not known, and after it was told.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn told(&mut self) -> Option<Result<u64>> {
        let told = match self.ended.as_ref()?.try_recv() {
            Ok(told) => told,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(Error::Closed),
        };
        self.ended = None;
        Some(told)
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            // Behind the end of the file, so the answer is there when this is looked at.
            let _ = self.jobs.send(Job::Unheard(ended));
        }
    }
}
