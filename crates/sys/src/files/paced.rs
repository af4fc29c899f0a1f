//! A file that is written beside a recorder without keeping it waiting, and that nobody sees half of.
//!
//! Half a file looks like a whole one. So it has another name until it is finished, in the same folder,
//! and that name is gone with it when it is given up.
//!
//! A window goes to the device while the next one is made: who makes it waits for the device only where
//! that is the slower of both.
//!
//! Invariant: beside what one call writes at most four windows are dirty or under way to the device; under
//! its own name the file is whole and durable, or what was there before. Held by `a_file_is_there_whole_or_not_at_all`.

mod name;

use super::Result;
use crate::state::{at, plain};
use crate::{Error, identity};
pub use name::rename_to_new;
use name::{Ways, take};
use std::ffi::{CString, OsStr};
use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A new ordinary file that is written from start to end without making the page cache dirty by
/// more than four windows of 4 MiB: what an export writes must not become the long writeback that a
/// recorder beside it would wait for. It is there once it is finished.
#[derive(Debug)]
pub struct PacedOutput {
    file: File,
    /// The folder in which it is made: held, so that nobody puts another in its place.
    folder: File,
    name: CString,
    part: CString,
    /// Both names for messages, and for who removes what a process leaves.
    path: PathBuf,
    temporary: PathBuf,
    taken: Taken,
    /// Bytes up to here are being written back, and are written but for the last two windows.
    started: u64,
    /// Furthest byte written.
    end: u64,
}

/// What becomes of what has the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// It is replaced.
    Replaced,
    /// It stays; where the file system cannot promise that, it was looked for just before.
    Stays,
    /// It stays, or the file is not made: two writers may try the same name at once.
    StaysSurely,
}

/// What is handed to the device at once.
const WINDOW_BYTES: u64 = 4 << 20;
/// The newest window is not: a form such as MCAP goes back to the head of what it has written last. A page
/// that is changed after it was handed over is written again, behind all else that waits for the device,
/// and whoever waits for its window waits for that (results/2026-11-29-amd-epyc-2cpu).
const HELD_BYTES: u64 = WINDOW_BYTES;
/// What one call writes at most. Calls of 2 MB take twice the system time for the same bytes; why is not proven
/// (results/2026-11-30-amd-epyc-2cpu, `mcap-ways.tsv`).
const CALL_BYTES: usize = 256 << 10;
/// So far behind what is handed over it is waited for.
const BEHIND_BYTES: u64 = 2 * WINDOW_BYTES;

/// How the name of a file begins and ends that is not finished yet.
const PART: (&str, &str) = (".baro-", ".part");

impl PacedOutput {
    /// Begins a file, readable by its owner alone: it holds what a store holds.
    ///
    /// # Errors
    /// The name is taken, or the operating system's reason.
    pub fn create(path: &Path) -> Result<Self> {
        Self::begin_at(path, Taken::Stays)
    }

    /// The same in the place of an ordinary file, which stays as it is until this one is finished.
    ///
    /// # Errors
    /// What has the name is no ordinary file, or the operating system's reason.
    pub fn replace(path: &Path) -> Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => {
                let why =
                    io::Error::new(ErrorKind::InvalidInput, "it is no ordinary file; name another");
                Err(Error::new("replace", path, why))
            }
            _ => Self::begin_at(path, Taken::Replaced),
        }
    }

    /// Whether a file of this name is one that is not finished, or was left so.
    #[must_use]
    pub fn is_part(name: &str) -> bool {
        name.starts_with(PART.0) && name.ends_with(PART.1)
    }

    fn begin_at(path: &Path, taken: Taken) -> Result<Self> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut options = OpenOptions::new();
        let options = options.read(true).custom_flags(libc::O_PATH | libc::O_DIRECTORY);
        let folder = options.open(parent.unwrap_or(Path::new(".")));
        let folder = folder.map_err(|error| Error::new("create", path, error))?;
        let name = path.file_name().unwrap_or(OsStr::new(""));
        Self::begin(folder, name, path.to_owned(), super::PRIVATE, taken)
    }

    /// Begins a file in a folder that is held, with these rights whatever the umask. Where the file system
    /// cannot refuse a name that is taken, nothing is made.
    pub(crate) fn create_surely(
        folder: File,
        name: &str,
        path: PathBuf,
        rights: u32,
    ) -> Result<Self> {
        let output = Self::begin(folder, OsStr::new(name), path, rights, Taken::StaysSurely)?;
        // Where rights are not kept the mount says who may read: that is no reason to fail.
        let _ = output.file.set_permissions(Permissions::from_mode(rights));
        Ok(output)
    }

    fn begin(folder: File, name: &OsStr, path: PathBuf, mode: u32, taken: Taken) -> Result<Self> {
        let fail = |error| Error::new("create", &path, error);
        let name = plain(name, &path)?;
        let number = identity::random_u64().map_err(|error| fail(error.into()))?;
        let part = format!("{}{number:016x}{}", PART.0, PART.1);
        let (temporary, part) = (path.with_file_name(&part), plain(OsStr::new(&part), &path)?);
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
        let opened = at(Some(&folder), part_name(&part), flags, mode, &temporary);
        let file = opened.map_err(|error| fail(error.source))?;
        // Who tidies up tells by it that somebody is at work.
        super::hold(&file);
        let output =
            PacedOutput { file, folder, name, part, path, temporary, taken, started: 0, end: 0 };
        match taken {
            Taken::Stays | Taken::StaysSurely if output.found()?.is_some() => {
                Err(Error::new("create", &output.path, ErrorKind::AlreadyExists.into()))
            }
            _ => Ok(output),
        }
    }

    /// Its name until it is finished: whoever ends the process removes it.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Makes the contents durable, and then the name.
    ///
    /// # Errors
    /// The name was taken meanwhile, or the operating system's reason.
    pub fn finish(self) -> Result<()> {
        self.file.sync_all().map_err(|e| Error::new("sync", &self.path, e))?;
        let published = match self.taken {
            Taken::Replaced => self.rename(),
            taken => take(&self, taken == Taken::StaysSurely),
        };
        published.map_err(|e| Error::new("create", &self.path, e))?;
        // Before the sync: a second name that a power cut left would keep the blocks for ever.
        self.remove_part();
        let path = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let path = path.unwrap_or(Path::new("."));
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let folder = at(Some(&self.folder), OsStr::new("."), flags, 0, path)?;
        folder.sync_all().map_err(|e| Error::new("sync", path, e))
    }

    /// What has the name now.
    fn found(&self) -> Result<Option<Metadata>> {
        match at(Some(&self.folder), part_name(&self.name), libc::O_PATH, 0, &self.path) {
            Ok(found) => Ok(Some(found.metadata().map_err(|e| Error::new("stat", &self.path, e))?)),
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn remove_part(&self) {
        // SAFETY: an open descriptor and a name that ends with 0.
        let _ = unsafe { libc::unlinkat(self.folder.as_raw_fd(), self.part.as_ptr(), 0) };
    }
}

fn part_name(name: &CString) -> &OsStr {
    std::os::unix::ffi::OsStrExt::from_bytes(name.as_bytes())
}

impl Ways for PacedOutput {
    fn link(&self) -> io::Result<()> {
        let folder = self.folder.as_raw_fd();
        let (part, name) = (self.part.as_ptr(), self.name.as_ptr());
        // SAFETY: open descriptors and names that end with 0.
        result(unsafe { libc::linkat(folder, part, folder, name, 0) }.into())
    }

    fn rename_to_new(&self) -> io::Result<()> {
        let folder = self.folder.as_raw_fd();
        let (part, name) = (self.part.as_ptr(), self.name.as_ptr());
        let flags = libc::RENAME_NOREPLACE;
        // By its number, since C libraries have it later than kernels.
        // SAFETY: open descriptors and names that end with 0.
        result(unsafe { libc::syscall(libc::SYS_renameat2, folder, part, folder, name, flags) })
    }

    fn rename(&self) -> io::Result<()> {
        let folder = self.folder.as_raw_fd();
        let (part, name) = (self.part.as_ptr(), self.name.as_ptr());
        // SAFETY: open descriptors and names that end with 0.
        result(unsafe { libc::renameat(folder, part, folder, name) }.into())
    }

    fn has(&self) -> Option<bool> {
        let (found, own) = (self.found().ok()??, self.file.metadata().ok()?);
        Some((found.dev(), found.ino()) == (own.dev(), own.ino()))
    }
}

fn result(done: libc::c_long) -> io::Result<()> {
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl Drop for PacedOutput {
    fn drop(&mut self) {
        self.remove_part();
    }
}

impl Write for PacedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes.get(..CALL_BYTES).unwrap_or(bytes))?;
        self.end = self.end.max(self.file.stream_position()?);
        while self.end - self.started >= HELD_BYTES + WINDOW_BYTES {
            // Only a courtesy: where it is refused the kernel writes back when it likes.
            let _ = super::start_write_back(&self.file, self.started, WINDOW_BYTES);
            if let Some(before) = self.started.checked_sub(BEHIND_BYTES) {
                let _ = super::write_back(&self.file, before, WINDOW_BYTES);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{exists, list, make_folder, read_text, remove_tree, write};

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("baro-paced-{}", std::process::id()));
        make_folder(&folder).expect("it can be made");
        let path = folder.join("x");
        let begun = |output: Result<PacedOutput>| {
            let mut output = output.expect("it can be begun");
            output.write_all(b"new").expect("it can be written");
            output
        };
        // Given up, nothing of it is left.
        drop(begun(PacedOutput::create(&path)));
        assert!(list(&folder).expect("it is there").is_empty());
        let output = begun(PacedOutput::create(&path));
        assert!(!exists(&path) && exists(output.temporary()));
        output.finish().expect("it can be finished");
        assert_eq!(list(&folder).expect("it is there"), ["x"]);
        // A name that is taken, before or meanwhile, stays with what has it.
        assert_eq!(
            PacedOutput::create(&path).map(drop).map_err(|e| e.kind()),
            Err(ErrorKind::AlreadyExists)
        );
        std::fs::remove_file(&path).expect("it is there");
        let late = begun(PacedOutput::create(&path));
        write(&path, b"of another").expect("it can be written");
        assert_eq!(late.finish().map_err(|e| e.kind()), Err(ErrorKind::AlreadyExists));
        assert_eq!(read_text(&path, 100).expect("it is there"), "of another");
        drop(begun(PacedOutput::replace(&path)));
        assert_eq!(read_text(&path, 100).expect("it is there"), "of another");
        begun(PacedOutput::replace(&path)).finish().expect("it can be finished");
        assert_eq!(read_text(&path, 100).expect("it is there"), "new");
        assert_eq!(list(&folder).expect("it is there"), ["x"]);
        // No folder, device or link is replaced.
        assert!(PacedOutput::replace(&folder).is_err());
        assert!(PacedOutput::replace(Path::new("/dev/null")).is_err());
        remove_tree(&folder).expect("it is ours");
    }
}
