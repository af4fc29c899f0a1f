//! Files in a [`StateFolder`]: opened, made, replaced, locked.
//!
//! A file is opened without waiting (a pipe that nobody writes would be waited for) and looked at
//! before it is used: a regular file, of a trusted owner, that others cannot write, with one name. One
//! with a second name may be the same file as another that its owner never meant.
//! Invariant: a file that is replaced holds all of its old or all of its new bytes after a kill or a
//! power cut. Held by `state/tests.rs` and the tests of baro-tune.

use super::{
    OTHERS, OTHERS_WRITE, PERMISSIONS, StateFolder, at, check_owner, plain, refused, waiting,
};
use crate::disk::PartLock;
use crate::lock::{Holder, LockFile};
use crate::{Error, Result};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// So often a lock file may be removed between opening and locking it.
const LOCKS_MAX: u32 = 100;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Read,
    /// Whoever owns it and may write it.
    ReadAny,
    Write,
    /// Made if it is not there.
    Lock,
    /// Made; it must not be there.
    New,
}

impl StateFolder {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// It is not there, it is no regular file, or somebody else's hand may be in it.
    pub fn open_file(&self, name: &str) -> Result<File> {
        self.file(name, Open::Read, 0)
    }

    /// Opens a regular file for reading, whoever owns it and may write it: for what is only shown, and
    /// believed by nobody.
    ///
    /// # Errors
    /// It is not there, or no regular file.
    pub fn open_anybodys(&self, name: &str) -> Result<File> {
        self.file(name, Open::ReadAny, 0)
    }

    /// Opens a file that is there for reading and writing.
    ///
    /// # Errors
    /// As [`StateFolder::open_file`].
    pub fn open_file_to_write(&self, name: &str) -> Result<File> {
        self.file(name, Open::Write, 0)
    }

    /// The same of a file that nobody but its owner can open, for what others are not to read.
    ///
    /// # Errors
    /// As [`StateFolder::open_file`]; others may open it.
    pub fn open_private_file(&self, name: &str) -> Result<File> {
        let (file, path) = (self.file(name, Open::Write, 0)?, self.path().join(name));
        let found = file.metadata().map_err(|e| Error::new("stat", &path, e))?;
        match found.mode() & PERMISSIONS {
            mode if mode & OTHERS == 0 => Ok(file),
            mode => {
                Err(refused(&path, "a file that only its owner opens", format!("mode {mode:04o}")))
            }
        }
    }

    /// Makes a file for reading and writing, with these rights whatever the umask says; takes none
    /// that is there.
    ///
    /// # Errors
    /// `AlreadyExists`, or the operating system's reason.
    pub fn create_file(&self, name: &str, mode: u32) -> Result<File> {
        self.file(name, Open::New, mode)
    }

    /// The text of a file of at most `limit_bytes`; None if it is not there.
    ///
    /// # Errors
    /// As [`StateFolder::open_file`]; it is longer, or no UTF-8.
    pub fn read_text(&self, name: &str, limit_bytes: u64) -> Result<Option<String>> {
        let path = self.path().join(name);
        let Some(bytes) = self.read_bytes(name, limit_bytes)? else { return Ok(None) };
        let fault = |e| Error::new("read", &path, io::Error::new(io::ErrorKind::InvalidData, e));
        String::from_utf8(bytes).map(Some).map_err(fault)
    }

    /// The bytes of a file of at most `limit_bytes`; None if it is not there.
    ///
    /// # Errors
    /// As [`StateFolder::open_file`]; it is longer.
    pub fn read_bytes(&self, name: &str, limit_bytes: u64) -> Result<Option<Vec<u8>>> {
        let path = self.path().join(name);
        let failed = |source| Error::new("read", &path, source);
        let file = match self.open_file(name) {
            Err(error) if error.is_missing() => return Ok(None),
            other => other?,
        };
        let mut bytes = Vec::new();
        file.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        if bytes.len() as u64 > limit_bytes {
            let found = format!("expected at most {limit_bytes} bytes, found more");
            return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, found)));
        }
        Ok(Some(bytes))
    }

    /// Makes or replaces a file, durably and at once: a new file of another name is written and synced,
    /// then renamed, then the folder is synced. Blocks for two syncs.
    ///
    /// # Errors
    /// The operating system's reason; the file holds its old bytes, or its new ones if only the last
    /// sync failed.
    pub fn replace_durable(&self, name: &str, bytes: &[u8], mode: u32) -> Result<()> {
        self.replace_with(name, bytes, mode, true)
    }

    /// As [`StateFolder::replace_durable`], without a sync: for what does not outlive a reboot anyway.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn replace(&self, name: &str, bytes: &[u8], mode: u32) -> Result<()> {
        self.replace_with(name, bytes, mode, false)
    }

    fn replace_with(&self, name: &str, bytes: &[u8], mode: u32, durable: bool) -> Result<()> {
        let temporary = format!("{}{:016x}", temporary_start(name), crate::identity::random_u64()?);
        let path = self.path().join(&temporary);
        let mut file = self.create_file(&temporary, mode)?;
        let written = file.write_all(bytes).map_err(|e| Error::new("write", &path, e));
        let synced = written.and_then(|()| match durable {
            true => file.sync_all().map_err(|e| Error::new("sync", &path, e)),
            false => Ok(()),
        });
        if let Err(error) = synced.and_then(|()| self.rename(&temporary, name)) {
            let _ = self.remove(&temporary);
            return Err(error);
        }
        if durable { self.sync() } else { Ok(()) }
    }

    /// Removes what a replacement of `name` left that was killed. Only for who holds the lock under which
    /// the file is replaced.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn clear_temporaries(&self, name: &str) -> Result<()> {
        let start = temporary_start(name);
        let left = self.list()?;
        left.iter().filter(|found| found.starts_with(&start)).try_for_each(|one| self.remove(one))
    }

    /// Gives the file `from` the name `to`, in this folder, replacing what has that name.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn rename(&self, from: &str, to: &str) -> Result<()> {
        let path = self.path().join(from);
        let (old, new) = (plain(OsStr::new(from), &path)?, plain(OsStr::new(to), &path)?);
        let folder = self.folder.as_raw_fd();
        // SAFETY: an open descriptor and names that end with 0.
        if unsafe { libc::renameat(folder, old.as_ptr(), folder, new.as_ptr()) } == 0 {
            return Ok(());
        }
        Err(Error::last(format!("rename to {to}"), &path))
    }

    /// Takes a lock, whose file is made, with rights 0600, if it is not there: see [`LockFile::take`]. What
    /// is held has the name in this moment: whoever removes a lock file holds it, and whoever opened it just
    /// before then has a lock that nobody else sees.
    ///
    /// # Errors
    /// As [`StateFolder::open_file`].
    pub fn lock(&self, name: &str) -> Result<std::result::Result<LockFile, Holder>> {
        let path = self.path().join(name);
        for _ in 0..LOCKS_MAX {
            match LockFile::take_open(self.file(name, Open::Lock, 0o600)?, &path)? {
                Ok(lock) if !self.names(name, lock.file()) => {}
                taken => return Ok(taken),
            }
        }
        let found = format!("expected a lock that stays, found it removed {LOCKS_MAX} times");
        Err(Error::new("lock", &path, io::Error::other(found)))
    }

    /// Who holds a lock; None if nobody does, or it is not there.
    ///
    /// # Errors
    /// As [`StateFolder::open_file`].
    pub fn lock_holder(&self, name: &str) -> Result<Option<Holder>> {
        match self.open_file(name) {
            Err(error) if error.is_missing() => Ok(None),
            file => Ok(LockFile::holder_of(&mut file?)),
        }
    }

    /// What the holder of a lock has said last: see [`LockFile::said`].
    ///
    /// # Errors
    /// As [`StateFolder::open_file`].
    pub fn lock_said(&self, name: &str) -> Result<Option<String>> {
        match self.open_file(name) {
            Err(error) if error.is_missing() => Ok(None),
            file => Ok(LockFile::said_in(&mut file?)),
        }
    }

    /// Takes a byte of a file, which is made, with rights 0600, if it is not there; None if another has
    /// it. On 32 bits a byte is to be below 2^31.
    ///
    /// # Errors
    /// As [`StateFolder::open_file`].
    pub fn lock_part(&self, name: &str, byte: u32) -> Result<Option<PartLock>> {
        PartLock::take(self.file(name, Open::Lock, 0o600)?, byte, &self.path().join(name))
    }

    fn file(&self, name: &str, how: Open, mode: u32) -> Result<File> {
        let path = self.path().join(name);
        plain(OsStr::new(name), &path)?;
        let flags = match how {
            Open::Read | Open::ReadAny => libc::O_RDONLY,
            Open::Write => libc::O_RDWR,
            Open::Lock => libc::O_RDWR | libc::O_CREAT,
            Open::New => libc::O_RDWR | libc::O_CREAT | libc::O_EXCL,
        };
        let file = at(Some(&self.folder), OsStr::new(name), flags | libc::O_NONBLOCK, mode, &path)?;
        self.check_file(&file, &path, how)?;
        waiting(&file, 0, &path)?;
        // SAFETY: an open descriptor.
        if how == Open::New && unsafe { libc::fchmod(file.as_raw_fd(), mode as libc::mode_t) } != 0
        {
            return Err(Error::last("set the mode of", &path));
        }
        Ok(file)
    }

    fn check_file(&self, file: &File, path: &Path, how: Open) -> Result<()> {
        let found = file.metadata().map_err(|e| Error::new("stat", path, e))?;
        let mode = found.mode() & PERMISSIONS;
        if !found.is_file() {
            let kind = if found.is_dir() { "a folder" } else { "a pipe, socket or device" };
            return Err(refused(path, "a regular file", kind.to_owned()));
        }
        if how == Open::ReadAny {
            return Ok(());
        }
        check_owner(&found, path, self.user)?;
        match () {
            () if mode & OTHERS_WRITE != 0 => {
                Err(refused(path, "a file that only its owner writes", format!("mode {mode:04o}")))
            }
            () if found.nlink() > 1 => {
                Err(refused(path, "a file with one name", format!("one with {}", found.nlink())))
            }
            () => Ok(()),
        }
    }
}

fn temporary_start(name: &str) -> String {
    format!(".{name}.new-")
}
