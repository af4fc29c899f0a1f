//! Files that are ready to be written, and who makes them.

use crate::error::{Error, Failed, Result};
use crate::file::PreallocatedFile;
use crate::flusher::{Flusher, Job};
use crate::maker::{self, Maker};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sizes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes reserved for each file: 1 to 16 TiB. What is not written is given back.
    pub file_bytes: u64,
    /// Bytes that are handed to the disk at once: 4 KiB to 1 GiB. The paper takes 2 MB.
    pub unit_bytes: u64,
    /// Files that are kept ready: 1 to 64.
    pub ready: usize,
}

impl Default for Sizes {
    /// 100 MB, 2 MiB, two files: the paper's, and one to begin while the next is made.
    fn default() -> Self {
        Self { file_bytes: 100_000_000, unit_bytes: 2 << 20, ready: 2 }
    }
}

impl Sizes {
    fn check(self) -> Result<()> {
        let within = |name, found: u64, least: u64, most: u64, expected| {
            if (least..=most).contains(&found) {
                return Ok(());
            }
            Err(Error::Size { name, expected, found })
        };
        within("file_bytes", self.file_bytes, 1, 16 << 40, "1 byte to 16 TiB")?;
        within("unit_bytes", self.unit_bytes, 4_096, 1 << 30, "4 KiB to 1 GiB")?;
        within("ready", self.ready as u64, 1, 64, "1 to 64 files")
    }
}

/// Files of one size in one folder. Two threads belong to it: one makes files, the other hands units to
/// the disk and finishes files.
pub struct Pool {
    folder: PathBuf,
    sizes: Sizes,
    maker: Maker,
    flusher: Flusher,
    waited: u64,
    left: Vec<PathBuf>,
}

impl fmt::Debug for Pool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("Pool");
        shown.field("folder", &self.folder).field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl Pool {
    /// Makes the first files and waits for them. Removes what a killed pool has left ready there.
    ///
    /// # Errors
    /// A size of no use; no room, or a file system that cannot reserve it.
    pub fn open(folder: &Path, sizes: Sizes) -> Result<Self> {
        sizes.check()?;
        let left = maker::remove_left(folder)?;
        let maker = Maker::start(folder, sizes)?;
        let flusher = Flusher::start()?;
        Ok(Self { folder: folder.to_owned(), sizes, maker, flusher, waited: 0, left })
    }

    /// A file that is ready, to be named `name`, in the pool's folder. Waits only if none is ready, which
    /// [`Pool::waited`] counts. The name is given by a thread of the pool, before the file is finished.
    /// Nothing is replaced: if somebody makes a file of this name until then, that one stays, this one
    /// keeps its first name, and [`Error::Unnamed`] says which.
    ///
    /// # Errors
    /// The name is taken, or has a folder in it; no file could be made now; what [`Pool::status`] tells.
    pub fn take(&mut self, name: &str) -> Result<PreallocatedFile> {
        let plain = !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0']);
        if !plain {
            return Err(Error::Name(name.to_owned()));
        }
        self.status()?;
        let path = self.folder.join(name);
        let common = self.flusher.common().clone();
        if common.is_taken(&path) {
            return Err(Error::Taken(path));
        }
        let (ready, waited) = self.maker.take()?;
        self.waited += u64::from(waited);
        let (file, from) = ready.taken();
        let (flusher, failed) = (self.flusher.jobs(), Failed::default());
        common.hand_out(&path);
        let (of, to) = (Arc::clone(&file), path.clone());
        let named = Job::Name { file: of, from, to, failed: failed.clone() };
        flusher.send(named).map_err(|_| Error::Closed)?;
        Ok(PreallocatedFile::new(file, path, self.sizes, (flusher, common), failed))
    }

    /// Whether a file has failed that nobody has waited for, without waiting. Told once, here, by
    /// [`Pool::take`], by the next write, or by [`Pool::close`].
    ///
    /// # Errors
    /// The first failure.
    pub fn status(&self) -> Result<()> {
        self.flusher.common().untold.take()
    }

    /// How often [`Pool::take`] had to wait: more files should be kept ready.
    #[must_use]
    pub fn waited(&self) -> u64 {
        self.waited
    }

    /// Files that a killed pool had handed out and not named yet, with what was written into them. They
    /// stay as they are, as long as they were reserved.
    #[must_use]
    pub fn left(&self) -> &[PathBuf] {
        &self.left
    }

    /// Waits for what is under way, and removes files that are ready. Files that were taken and not
    /// finished stay, as long as they were reserved.
    ///
    /// # Errors
    /// The first that failed of what nobody has waited for, or what could not be removed.
    pub fn close(self) -> Result<()> {
        let ended = self.flusher.end();
        // Lost data is worse than a file too many, so that is told first.
        ended.and(self.maker.end())
    }
}
