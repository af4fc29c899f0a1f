//! The one door for ordinary work on files: by path, and on an open file.
//!
//! Every function says in its error what it tried, on which file, and why it was refused. Folders are
//! in `folder`, whole texts and settings in `text`, what is written beside a recorder in `paced`; here
//! are single files. What must survive a power cut together goes through [`crate::storage`] instead,
//! so that the simulator can stand in for it.
//!
//! A small file that keeps a state and belongs to somebody is not opened safely by its path alone: its
//! owner, mode and links are checked by [`crate::state`], the door for those.
//!
//! Invariant: an error names what was tried, and the file where it was given by its path. Held by
//! `a_file_is_made_cut_renamed_and_removed` and the tests of the parts.

mod folder;
mod paced;
mod range;
mod text;

pub use folder::{
    list, make_folder, make_folder_with, make_folders, remove_empty_folder, remove_if_empty,
    remove_tree,
};
pub use paced::{PacedOutput, rename_to_new};
pub use range::{allocate, has_data, start_write_back, write_back};
pub use text::{read_lossy, read_text, replace, write, write_setting};

use crate::{Error, Result};
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Rights of a file that holds what was recorded: its owner reads it, whatever the umask.
pub(crate) const PRIVATE: u32 = 0o600;

/// Whether there is anything at `path`.
#[must_use]
pub fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

/// Whether there is surely nothing at `path`.
#[must_use]
pub fn is_absent(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Whether `path` is a file that can be read again: no pipe, socket or terminal.
#[must_use]
pub fn is_regular(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// True where the file, or a folder on the way to it, does not exist (any more): a missing name,
/// or a kernel object that was taken away while its file was open.
#[must_use]
pub fn is_gone(error: &Error) -> bool {
    error.is_missing() || error.errno() == Some(libc::ENODEV)
}

/// Whether this name is of this very file.
#[must_use]
pub fn is_at(file: &File, path: &Path) -> bool {
    let id = |found: std::fs::Metadata| (found.dev(), found.ino());
    let there = std::fs::symlink_metadata(path).ok().map(id);
    there.is_some() && there == file.metadata().ok().map(id)
}

/// Bytes of a file.
///
/// # Errors
/// The operating system's reason.
pub fn size_bytes(path: &Path) -> Result<u64> {
    std::fs::metadata(path).map(|found| found.len()).map_err(|e| Error::new("stat", path, e))
}

/// What a symbolic link names, also one of /proc that names no file; None if it is none.
#[must_use]
pub fn link_target(path: &Path) -> Option<PathBuf> {
    std::fs::read_link(path).ok()
}

/// Opens a file for reading, as an import does.
///
/// # Errors
/// The operating system's reason.
pub fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::new("open", path, e))
}

/// The same of a regular file; a link is followed. What is none is refused, and no pipe waited for.
///
/// # Errors
/// The operating system's reason, or what was found instead.
pub fn open_regular(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    opened.and_then(regular).map_err(|e| Error::new("open", path, e))
}

fn regular(file: File) -> std::io::Result<File> {
    let kind = file.metadata()?.file_type();
    let found = match () {
        () if kind.is_file() => return Ok(file),
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () => "a device",
    };
    Err(std::io::Error::other(format!("expected a file, found {found}")))
}

/// Opens a file that is there, for reading and writing through the page cache.
///
/// # Errors
/// The operating system's reason.
pub fn open_to_write(path: &Path) -> Result<File> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map_err(|e| Error::new("open", path, e))
}

/// As [`open_to_write`], past the page cache where that is to be had; a device, too.
///
/// # Errors
/// The operating system's reason.
pub fn open_direct_to_write(path: &Path) -> Result<File> {
    let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    let opened = open(libc::O_DIRECT).or_else(|_| open(0));
    opened.map_err(|e| Error::new("open", path, e))
}

/// Opens a regular file, or makes a new one, for reading and so that each write goes to its end. No link is
/// followed: what it names is not made, nor written.
///
/// # Errors
/// The operating system's reason, or what was found instead.
pub fn open_append(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    let options = options.read(true).append(true).create(true).mode(PRIVATE);
    let opened = options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW).open(path);
    opened.and_then(regular).map_err(|e| Error::new("open", path, e))
}

/// Makes a new file, readable by its owner alone, or empties an old one, for reading and writing. May
/// wait for the journal.
///
/// # Errors
/// The operating system's reason.
pub fn create(path: &Path) -> Result<File> {
    let made = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .mode(PRIVATE)
        .open(path);
    made.map_err(|e| Error::new("create", path, e))
}

/// As [`create`], but takes no file that is there already, nor what a link points to: of two who make
/// a file of one name, one gets it.
///
/// # Errors
/// The operating system's reason; `AlreadyExists` too.
pub fn create_new(path: &Path) -> Result<File> {
    let made = OpenOptions::new().read(true).write(true).create_new(true).mode(PRIVATE).open(path);
    made.map_err(|e| Error::new("create", path, e))
}

/// Marks a file as one that is being written, until it is closed or its owner is gone: see
/// [`is_held`]. On a file system without locks it stays unmarked. Does not wait.
pub fn hold(file: &File) {
    let _ = file.try_lock();
}

/// Whether somebody, this process too, [holds](hold) the file; not, if it is not there.
#[must_use]
pub fn is_held(path: &Path) -> bool {
    let locked = |file: File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    open_regular(path).is_ok_and(locked)
}

/// Names that a file has in its file system.
///
/// # Errors
/// The operating system's reason.
pub fn names(path: &Path) -> Result<u64> {
    std::fs::symlink_metadata(path)
        .map(|found| std::os::unix::fs::MetadataExt::nlink(&found))
        .map_err(|e| Error::new("stat", path, e))
}

/// Removes a file. Freeing a large one may wait for the journal.
///
/// # Errors
/// The operating system's reason.
pub fn remove(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|e| Error::new("remove", path, e))
}

/// Gives the file `from` the name `to`, replacing a file of that name.
///
/// # Errors
/// The operating system's reason.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    std::fs::rename(from, to)
        .map_err(|e| Error::new(format!("rename to {}", to.display()), from, e))
}

/// Sets an open file's length, dropping or adding (a hole of) bytes. Waits for the journal.
///
/// # Errors
/// The operating system's reason; here and below without a path, which the caller knows.
pub fn set_length(file: &File, bytes: u64) -> Result<()> {
    file.set_len(bytes).map_err(|e| Error::new(format!("set the length to {bytes} bytes"), "", e))
}

/// Writes all of `data` at `offset_bytes`, whatever the file's position.
///
/// # Errors
/// The operating system's reason; bytes before the error may be written.
pub fn write_at(file: &File, data: &[u8], offset_bytes: u64) -> Result<()> {
    file.write_all_at(data, offset_bytes)
        .map_err(|e| Error::new(format!("write {} bytes at {offset_bytes}", data.len()), "", e))
}

/// Fills `data` from `offset_bytes` on, through the page cache, whatever the file's position.
///
/// # Errors
/// The operating system's reason; `UnexpectedEof` where the file ends before `data` is full.
pub fn read_at(file: &File, data: &mut [u8], offset_bytes: u64) -> Result<()> {
    let bytes = data.len();
    file.read_exact_at(data, offset_bytes)
        .map_err(|e| Error::new(format!("read {bytes} bytes at {offset_bytes}"), "", e))
}

/// Makes an open file's data and metadata durable: fsync(2). Waits for the journal and the device.
///
/// # Errors
/// The operating system's reason.
pub fn sync(file: &File) -> Result<()> {
    file.sync_all().map_err(|e| Error::new("sync", "", e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_file_is_made_cut_renamed_and_removed() {
        let dir = std::env::temp_dir().join(format!("baro-files-{}", std::process::id()));
        make_folder(&dir).expect("a new directory");
        let path = dir.join("file");
        let file = create(&path).expect("a new file");
        write_at(&file, &[7; 8192], 4096).expect("written");
        set_length(&file, 10_000).expect("shorter");
        sync(&file).expect("durable");
        assert_eq!(size_bytes(&path).expect("there"), 10_000);
        let mut read = [0_u8; 1808];
        read_at(&open(&path).expect("there"), &mut read, 8192).expect("readable");
        assert!(read.iter().all(|byte| *byte == 7));
        let beyond = read_at(&file, &mut read, 9_000).map_err(|error| error.kind());
        assert_eq!(beyond, Err(ErrorKind::UnexpectedEof));
        drop(create(&path).expect("emptied"));
        write_at(&open_append(&path).expect("there"), b"end", 0).expect("appended");
        let other = dir.join("other");
        let missing = open_to_write(&other).expect_err("not there");
        assert!(missing.is_missing() && missing.to_string().contains("/other: open: "));
        rename(&path, &other).expect("renamed");
        let there = create_new(&other).map(drop).map_err(|error| error.kind());
        assert_eq!(there, Err(ErrorKind::AlreadyExists));
        assert_eq!(std::fs::read(&other).expect("as it was"), b"end");
        remove(&other).expect("removed");
        let held = create_new(&other).expect("a new file");
        assert!(!is_held(&other));
        hold(&held);
        assert!(is_held(&other));
        drop(held);
        assert!(!is_held(&other));
        remove(&other).expect("removed");
        let own = dir.join("own");
        make_folder_with(&own, 0o700).expect("a new directory");
        assert_eq!(own.metadata().expect("there").mode() & 0o7777, 0o700);
        let there = make_folder_with(&own, 0o700).map_err(|error| error.kind());
        assert_eq!(there, Err(ErrorKind::AlreadyExists));
        remove_empty_folder(&own).expect("empty");
        remove_empty_folder(&dir).expect("empty");
        assert!(!exists(&dir));
    }
}
