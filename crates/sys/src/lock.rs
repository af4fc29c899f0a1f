//! Open-file-description locks: they belong to the open file, so that they end with the process
//! however it ends, are not lost when another descriptor is closed, and exclude threads too.
//!
//! Barograph takes write locks alone, for which a file must be opened for writing. A read lock needs only
//! the right to read, so anybody who may look at a file can hold one. It keeps our write lock out, and it is
//! never one of ours: `Attempt` tells the two apart.
//!
//! Invariant: a read lock of somebody else is never taken for a holder. Held by
//! `a_read_lock_is_told_from_a_holder`.

use crate::state::refused;
use crate::{Error, Result};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
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

/// What came of an attempt to lock a byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attempt {
    /// It is held now.
    Taken,
    /// Another open file holds it for writing, as Barograph does.
    Held,
    /// Another open file holds it for reading, as Barograph never does.
    Read,
}

/// So often somebody may give a byte back just before he is looked for.
const ATTEMPTS: u32 = 100;

/// Tries to lock byte `byte` of `file`.
pub(crate) fn try_lock(file: &File, byte: i64, path: &Path) -> Result<Attempt> {
    for _ in 0..ATTEMPTS {
        let mut lock = request(libc::F_WRLCK, byte);
        // SAFETY: open descriptor, valid flock with l_pid 0 as these locks demand.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) } == 0 {
            return Ok(Attempt::Taken);
        }
        let error = Error::last("lock", path);
        match error.errno() {
            Some(libc::EAGAIN | libc::EACCES) => {}
            _ => return Err(error),
        }
        match in_the_way(file, byte, libc::F_WRLCK) {
            Some(libc::F_RDLCK) => return Ok(Attempt::Read),
            Some(_) => return Ok(Attempt::Held),
            // Whoever had it has given it back meanwhile.
            None => {}
        }
    }
    Ok(Attempt::Held)
}

/// The kind of a lock of another open file that keeps a lock of kind `kind` from being taken.
fn in_the_way(file: &File, byte: i64, kind: libc::c_int) -> Option<libc::c_int> {
    let mut lock = request(kind, byte);
    // SAFETY: open descriptor, valid flock with l_pid 0 as these locks demand.
    let rc = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut lock) };
    (rc == 0).then_some(libc::c_int::from(lock.l_type)).filter(|found| *found != libc::F_UNLCK)
}

/// Whether another open file has byte `byte` of `file` for writing. Takes nothing.
pub(crate) fn is_locked(file: &File, byte: i64) -> bool {
    // A read lock is kept out by a write lock alone.
    in_the_way(file, byte, libc::F_RDLCK).is_some()
}

/// Takes a read lock on all of `file`, as whoever may read it can: for tests that nobody is held up by it.
///
/// # Errors
/// Somebody holds a byte of it for writing.
pub fn lock_as_reader(file: &File) -> std::io::Result<()> {
    let mut lock = request(libc::F_RDLCK, 0);
    lock.l_len = 0;
    // SAFETY: open descriptor, valid flock with l_pid 0 as these locks demand.
    match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut lock) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// What to do about a read lock on a file that is only a lock.
pub(crate) fn read_by_somebody(path: &Path) -> Error {
    let said = "expected nobody but Barograph to lock it, found a read lock, which Barograph never \
                takes; end who holds it (lslocks names him), or remove this file, and try again";
    Error::new("lock", path, std::io::Error::other(said))
}

/// A file that one process holds, and that names it.
#[derive(Debug)]
pub struct LockFile {
    file: File,
    /// Of the process that took it.
    pid: u32,
}

impl Drop for LockFile {
    /// By hand and not by closing the file: a process that another thread has just forked, and that
    /// has not yet come to its program, has the file open too. A forked child's copy leaves it.
    fn drop(&mut self) {
        if self.pid == std::process::id() {
            unlock(&self.file, 0);
        }
    }
}

/// Longest text in a [`LockFile`], its process id included.
const TEXT_BYTES: usize = 1024;

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
        match open(path, OpenOptions::new().read(true)) {
            Err(error) if error.is_missing() => Ok(None),
            file => Ok(Self::holder_of(&mut file?)),
        }
    }

    /// Who holds the lock of an open file.
    pub(crate) fn holder_of(file: &mut File) -> Option<Holder> {
        is_locked(file, 0).then(|| Holder { pid: read(file).0 })
    }

    /// Takes the lock at `path`, made if missing, and writes this process's id into it. The inner
    /// error names the process that has it.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn take(path: &Path) -> Result<std::result::Result<Self, Holder>> {
        let mut options = OpenOptions::new();
        let options = options.read(true).write(true).create(true).truncate(false);
        Self::take_open(open(path, options.mode(crate::files::PRIVATE))?, path)
    }

    /// Takes the lock of an open file; `path` is for messages.
    pub(crate) fn take_open(
        mut file: File,
        path: &Path,
    ) -> Result<std::result::Result<Self, Holder>> {
        let fail = |operation: &str, e| Error::new(operation, path, e);
        match try_lock(&file, 0, path)? {
            Attempt::Taken => {}
            Attempt::Held => return Ok(Err(Holder { pid: read(&mut file).0 })),
            Attempt::Read => return Err(read_by_somebody(path)),
        }
        keep_to_writers(&file);
        // Over what is there, then shorter: that takes no room of a file system that is full. The first
        // time it does: whoever has the lock has it, though nobody is told who that is.
        let text = format!("{}\n", std::process::id());
        file.rewind().map_err(|e| fail("seek", e))?;
        match file.write_all(text.as_bytes()) {
            Err(error) if has_no_room(&error) => {}
            written => written.map_err(|e| fail("write", e))?,
        }
        file.set_len(text.len() as u64).map_err(|e| fail("truncate", e))?;
        Ok(Ok(LockFile { file, pid: std::process::id() }))
    }

    /// The file that is held.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// The lock as the standard input of a program that is started: it is held until that ends too, though
    /// this process be killed before.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn shared(&self) -> Result<std::process::Stdio> {
        let file = self.file.try_clone().map_err(|e| Error::new("duplicate", "lock", e))?;
        Ok(file.into())
    }

    /// Lets others know this: one line behind the process id, in place of the one before. Takes no
    /// further room of the file system, so that it goes on a full one too.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn say(&self, line: &str) -> Result<()> {
        use std::os::unix::fs::FileExt;
        let mut text = format!("{}\n{}", std::process::id(), line.replace('\n', " "));
        let mut end = text.len().min(TEXT_BYTES - 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('\n');
        let fail = |e| Error::new("write", "lock", e);
        match self.file.write_all_at(text.as_bytes(), 0) {
            // Nobody is told; what was to be done is done all the same.
            Err(error) if has_no_room(&error) => return Ok(()),
            written => written.map_err(fail)?,
        }
        self.file.set_len(text.len() as u64).map_err(fail)
    }

    /// What the holder of the lock at `path` has said last; `None` if nobody holds it, or nothing
    /// was said.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn said(path: &Path) -> Result<Option<String>> {
        match open(path, OpenOptions::new().read(true)) {
            Err(error) if error.is_missing() => Ok(None),
            file => Ok(Self::said_in(&mut file?)),
        }
    }

    /// The same of an open file.
    pub(crate) fn said_in(file: &mut File) -> Option<String> {
        if is_locked(file, 0) { read(file).1 } else { None }
    }
}

/// Opens the file of a lock. A pipe in its place is refused, and not waited for.
fn open(path: &Path, options: &mut OpenOptions) -> Result<File> {
    let opened = options.custom_flags(libc::O_NONBLOCK).open(path);
    let file = opened.map_err(|e| Error::new("open", path, e))?;
    match file.metadata().map_err(|e| Error::new("stat", path, e))?.is_file() {
        true => Ok(file),
        false => Err(refused(path, "a regular file", "a pipe, folder or device".to_owned())),
    }
}

/// Takes the right to read from those who may not write: whoever can open the file can hold a read lock on
/// it. Where that is refused, as of another user's file, it stays as it is.
pub(crate) fn keep_to_writers(file: &File) {
    let Ok(found) = file.metadata() else { return };
    let mode = found.permissions().mode() & 0o7777;
    let group = if mode & 0o020 == 0 { 0o040 } else { 0 };
    let others = if mode & 0o002 == 0 { 0o004 } else { 0 };
    if mode & (group | others) != 0 {
        let _ = file.set_permissions(Permissions::from_mode(mode & !(group | others)));
    }
}

fn has_no_room(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded)
}

/// Process id and what was said.
fn read(file: &mut File) -> (Option<u32>, Option<String>) {
    let mut bytes = Vec::new();
    let _ = file.take(TEXT_BYTES as u64).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines();
    let pid = lines.next().and_then(|line| line.trim().parse().ok());
    (pid, lines.next().filter(|line| !line.is_empty()).map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_lock_is_told_from_a_holder() {
        let path = std::env::temp_dir().join(format!("baro-read-lock-{}", std::process::id()));
        std::fs::write(&path, "77\n").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o664)).unwrap();
        let read = File::open(&path).unwrap();
        lock_as_reader(&read).unwrap();
        assert_eq!(LockFile::holder(&path).unwrap(), None);
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        assert_eq!(try_lock(&file, 0, &path).unwrap(), Attempt::Read);
        let refused = LockFile::take(&path).unwrap_err().to_string();
        assert!(refused.contains("found a read lock"), "{refused}");
        drop(read);
        let held = LockFile::take(&path).unwrap().unwrap();
        assert_eq!(try_lock(&file, 0, &path).unwrap(), Attempt::Held);
        // Who may write may read; who may not may not any more.
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        drop(held);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_pipe_in_the_place_of_a_lock_is_refused_and_not_waited_for() {
        let path = std::env::temp_dir().join(format!("baro-pipe-lock-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
        let refusals = [
            LockFile::holder(&path).map(drop).unwrap_err(),
            LockFile::said(&path).map(drop).unwrap_err(),
            LockFile::take(&path).map(drop).unwrap_err(),
        ];
        for error in refusals {
            assert!(error.to_string().contains("expected a regular file, found a pipe"), "{error}");
        }
        assert!(!crate::files::is_held(&path));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_second_is_told_who_holds_it() {
        let path = std::env::temp_dir().join(format!("baro-lock-{}", std::process::id()));
        let held = LockFile::take(&path).unwrap().unwrap();
        let holder = LockFile::take(&path).unwrap().unwrap_err();
        assert_eq!(holder.pid, Some(std::process::id()));
        assert_eq!(LockFile::holder(&path).unwrap(), Some(holder));
        assert_eq!(LockFile::said(&path).unwrap(), None);
        held.say("no space\nleft").unwrap();
        held.say("full").unwrap();
        assert_eq!(LockFile::said(&path).unwrap().as_deref(), Some("full"));
        assert_eq!(LockFile::holder(&path).unwrap(), Some(holder));
        held.say(&"\u{e4}".repeat(1000)).unwrap();
        assert!(LockFile::said(&path).unwrap().is_some_and(|said| said.len() > 900));
        // As a forked child has it.
        let shared = held.file.try_clone().unwrap();
        drop(held);
        assert_eq!(LockFile::said(&path).unwrap(), None);
        assert_eq!(LockFile::holder(&path).unwrap(), None);
        assert!(LockFile::take(&path).unwrap().is_ok());
        drop(shared);
        std::fs::remove_file(&path).unwrap();
    }
}
