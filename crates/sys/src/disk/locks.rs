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
use crate::files::PRIVATE;
use crate::lock::{
    Attempt, Holder, LockFile, is_locked, keep_to_writers, read_by_somebody, try_lock, unlock,
};
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
        Ok(PartLock::attempt(file, byte, path)?.taken())
    }

    fn attempt(file: File, byte: u32, path: &Path) -> Result<PartAttempt> {
        let byte = i64::from(byte);
        Ok(match try_lock(&file, byte, path)? {
            Attempt::Taken => PartAttempt::Taken(PartLock { file, byte, pid: std::process::id() }),
            Attempt::Held => PartAttempt::Held,
            Attempt::Read => PartAttempt::Read,
        })
    }
}

/// What came of an attempt to take a byte of a file.
#[derive(Debug)]
pub enum PartAttempt {
    /// It is held now.
    Taken(PartLock),
    /// Another has it.
    Held,
    /// Somebody has a read lock on it, which Barograph never takes.
    Read,
}

impl PartAttempt {
    fn taken(self) -> Option<PartLock> {
        match self {
            PartAttempt::Taken(part) => Some(part),
            PartAttempt::Held | PartAttempt::Read => None,
        }
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
    /// Takes the lock `name`, whose file is made if it is not there: see [`LockFile::take`]. Whoever may not
    /// write it may not read it either, also in a store that others may read: a reader could lock it.
    ///
    /// # Errors
    /// The operating system's reason; it is no regular file; somebody has a read lock on it.
    pub fn lock(&self, name: &str) -> Result<std::result::Result<LockFile, Holder>> {
        let below = self.below(name)?;
        if let Ok(made) = below.create(PRIVATE) {
            self.give(&made);
        }
        LockFile::take_open(below.open_or_create(PRIVATE)?, below.path())
    }

    /// Takes a byte of a file that is only there for that, and is made, for its writers alone, if it is not
    /// there; `None` if another has it.
    ///
    /// # Errors
    /// As [`Disk::lock`].
    pub fn lock_private_part(&self, name: &str, byte: u32) -> Result<Option<PartLock>> {
        let below = self.below(name)?;
        if let Ok(made) = below.create(PRIVATE) {
            self.give(&made);
        }
        let file = below.open_or_create(PRIVATE)?;
        keep_to_writers(&file);
        match PartLock::attempt(file, byte, below.path())? {
            PartAttempt::Read => Err(read_by_somebody(below.path())),
            other => Ok(other.taken()),
        }
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

    /// The same, and tells whether who has it may be one of ours.
    ///
    /// # Errors
    /// The file cannot be opened for writing.
    pub fn try_part(&self, name: &str, byte: u32) -> Result<PartAttempt> {
        let below = self.below(name)?;
        PartLock::attempt(below.open(true, false)?, byte, below.path())
    }

    /// Whether somebody, this process too, has a byte of a file for writing; not if it is not there.
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
