//! Open-file-description locks: they belong to the open file, so that they end with the process
//! however it ends, are not lost when another descriptor is closed, and exclude threads too.

use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

/// A request for byte `byte`: F_WRLCK or F_UNLCK. The plain structure, also where its offsets have
/// 32 bits: glibc's fcntl widens it, and would read a `flock64` as something else.
fn request(kind: libc::c_int, byte: i64) -> libc::flock {
    // SAFETY: all-zero bytes are a valid flock.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // Constants of the ring's layout: 0 and 1.
    lock.l_start = byte as libc::off_t;
    lock.l_len = 1;
    lock
}

/// Gives byte `byte` of `file` back.
pub(crate) fn unlock(file: &File, byte: i64) {
    let mut lock = request(libc::F_UNLCK, byte);
    // SAFETY: open descriptor, valid flock. Unlocking cannot fail for a range that is valid.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) };
}

/// Tries to lock byte `byte` of `file`; false if another open file has it.
pub(crate) fn try_lock(file: &File, byte: i64, path: &Path) -> Result<bool> {
    let mut lock = request(libc::F_WRLCK, byte);
    // SAFETY: open descriptor, valid flock with l_pid 0 as these locks demand.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) } == 0 {
        return Ok(true);
    }
    let error = Error::last("lock", path);
    match error.errno() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

/// Whether another open file has byte `byte` of `file`. Takes nothing.
pub(crate) fn is_locked(file: &File, byte: i64) -> bool {
    let mut lock = request(libc::F_WRLCK, byte);
    // SAFETY: open descriptor, valid flock with l_pid 0 as these locks demand.
    let rc = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    rc == 0 && libc::c_int::from(lock.l_type) != libc::F_UNLCK
}

/// A file that one process holds, and that names it.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

/// Who holds a [`LockFile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its process id; `None` if the file does not tell.
    pub pid: Option<u32>,
}

impl LockFile {
    /// Who holds the lock at `path`, without taking it; `None` if nobody does or there is no such
    /// file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn holder(path: &Path) -> Result<Option<Holder>> {
        let mut file = match OpenOptions::new().read(true).open(path) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| Error::new("open", path, e))?,
        };
        if !is_locked(&file, 0) {
            return Ok(None);
        }
        let mut text = String::new();
        let _ = (&mut file).take(32).read_to_string(&mut text);
        Ok(Some(Holder { pid: text.trim().parse().ok() }))
    }

    /// Takes the lock at `path`, made if missing, and writes this process's id into it. The inner
    /// error names the process that has it.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn take(path: &Path) -> Result<std::result::Result<Self, Holder>> {
        let fail = |operation: &str, e| Error::new(operation, path, e);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)
            .map_err(|e| fail("open", e))?;
        if !try_lock(&file, 0, path)? {
            let mut text = String::new();
            let _ = (&mut file).take(32).read_to_string(&mut text);
            return Ok(Err(Holder { pid: text.trim().parse().ok() }));
        }
        file.set_len(0).map_err(|e| fail("truncate", e))?;
        file.rewind().map_err(|e| fail("seek", e))?;
        writeln!(file, "{}", std::process::id()).map_err(|e| fail("write", e))?;
        Ok(Ok(LockFile { _file: file }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_holds_it() {
        let path = std::env::temp_dir().join(format!("baro-lock-{}", std::process::id()));
        let held = LockFile::take(&path).unwrap().unwrap();
        let holder = LockFile::take(&path).unwrap().unwrap_err();
        assert_eq!(holder.pid, Some(std::process::id()));
        assert_eq!(LockFile::holder(&path).unwrap(), Some(holder));
        drop(held);
        assert_eq!(LockFile::holder(&path).unwrap(), None);
        assert!(LockFile::take(&path).unwrap().is_ok());
        std::fs::remove_file(&path).unwrap();
    }
}
