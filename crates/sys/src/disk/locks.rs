//! Locks in a folder on disk: files that are only locks and name who holds them, and parts of other
//! files.
//!
//! A file that is only a lock can be removed while it is held (by a script that tidies, by `rsync
//! --delete`), and the next one who makes it has it too. So what must not happen twice also locks a
//! byte of a file without which there is nothing to work on.
//!
//! Invariant: a part has one holder, whatever was removed beside it. Held by
//! `a_part_of_a_file_has_one_holder`.

use super::Disk;
use super::below::Below;
use crate::Result;
use crate::lock::{Holder, LockFile, is_locked, try_lock, unlock};
use std::fs::File;
use std::path::Path;

/// A byte of a file, held. Given back when dropped.
#[derive(Debug)]
pub struct PartLock {
    file: File,
    byte: i64,
    /// Of the process that took it.
    pid: u32,
}

impl PartLock {
    /// Takes byte `byte` of an open file; `None` if another has it. `path` is for messages.
    pub(crate) fn take(file: File, byte: u32, path: &Path) -> Result<Option<PartLock>> {
        let byte = i64::from(byte);
        let taken = try_lock(&file, byte, path)?;
        Ok(taken.then(|| PartLock { file, byte, pid: std::process::id() }))
    }
}

impl Drop for PartLock {
    /// As that of [`LockFile`].
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            unlock(&self.file, self.byte);
        }
    }
}

impl Disk {
    /// Takes the lock `name`, whose file is made if it is not there: see [`LockFile::take`].
    ///
    /// # Errors
    /// The operating system's reason; it is no regular file.
    pub fn lock(&self, name: &str) -> Result<std::result::Result<LockFile, Holder>> {
        let below = self.below(name)?;
        let mode = self.new_mode();
        if let Ok(made) = below.create(mode) {
            self.give(&made);
        }
        LockFile::take_open(below.open_or_create(mode)?, below.path())
    }

    /// Who holds the lock `name`; `None` if nobody does or there is no such file.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn lock_holder(&self, name: &str) -> Result<Option<Holder>> {
        Ok(self.there(name)?.and_then(|mut file| LockFile::holder_of(&mut file)))
    }

    /// What the holder of the lock `name` has said last: see [`LockFile::said`].
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn lock_said(&self, name: &str) -> Result<Option<String>> {
        Ok(self.there(name)?.and_then(|mut file| LockFile::said_in(&mut file)))
    }

    /// Takes a byte of a file that is there; `None` if another has it.
    ///
    /// # Errors
    /// The file cannot be opened for writing.
    pub fn lock_part(&self, name: &str, byte: u32) -> Result<Option<PartLock>> {
        let below = self.below(name)?;
        PartLock::take(below.open(true, false)?, byte, below.path())
    }

    /// Whether somebody, this process too, has a byte of a file; not if it is not there.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub fn is_part_locked(&self, name: &str, byte: u32) -> Result<bool> {
        Ok(self.there(name)?.is_some_and(|file| is_locked(&file, i64::from(byte))))
    }

    fn there(&self, name: &str) -> Result<Option<File>> {
        match self.below(name).and_then(|below: Below| below.open(false, false)) {
            Err(error) if error.is_missing() => Ok(None),
            opened => opened.map(Some),
        }
    }
}
