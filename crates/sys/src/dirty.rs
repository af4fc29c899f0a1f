//! Making files dirty and clean again: the calls of the conventional recording methods.
//!
//! The baselines of the bench and its loads write through the page cache, preallocate, truncate
//! and start write-back; Barograph's own recorder does none of it. The calls take a `&File`, so a
//! background thread can flush while the producer writes.
//!
//! Invariant: lengths are checked here, so no call gets a negative offset; a call interrupted by a
//! signal is repeated. Held by `allocates_truncates_and_writes_back`.
#![allow(clippy::disallowed_methods, reason = "this crate is the door to the OS")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;

/// Makes a new file, or empties an old one, for reading and writing. May wait for the journal.
///
/// # Errors
/// Those of open(2).
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path)
}

/// As [`create`], but takes no file that is there already, nor what a link points to: of two who make
/// a file of one name, one gets it.
///
/// # Errors
/// Those of open(2); `AlreadyExists` too.
pub fn create_new(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).open(path)
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
    File::open(path).is_ok_and(locked)
}

/// As [`create`], but each write goes to the end of the file.
///
/// # Errors
/// Those of open(2).
pub fn create_append(path: &Path) -> io::Result<File> {
    // O_TRUNC and O_APPEND together are refused by std: empty it first.
    drop(create(path)?);
    OpenOptions::new().append(true).open(path)
}

/// Opens a file, or makes a new one, so that each write goes to its end.
///
/// # Errors
/// Those of open(2).
pub fn open_append(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// Makes the directory `path`; its parent must exist.
///
/// # Errors
/// Those of mkdir(2); `AlreadyExists` too.
pub fn create_dir(path: &Path) -> io::Result<()> {
    std::fs::create_dir(path)
}

/// Makes the directory `path` with these rights, less what the process's umask takes away; its parent
/// must exist.
///
/// # Errors
/// Those of mkdir(2); `AlreadyExists` too.
pub fn create_dir_with(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::DirBuilder::new().mode(mode).create(path)
}

/// Removes the file `path`. Freeing a large file may wait for the journal.
///
/// # Errors
/// Those of unlink(2).
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path)
}

/// Removes the empty directory `path`.
///
/// # Errors
/// Those of rmdir(2).
pub fn remove_dir(path: &Path) -> io::Result<()> {
    std::fs::remove_dir(path)
}

/// Gives the file `from` the name `to`, replacing a file of that name.
///
/// # Errors
/// Those of rename(2).
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    std::fs::rename(from, to)
}

/// Reserves blocks for `length_bytes` from `offset_bytes` on and extends the file over them. The
/// blocks are unwritten: writing to them changes metadata once more. Waits for the journal.
///
/// # Errors
/// `StorageFull`, `Unsupported` on file systems without preallocation, others of fallocate(2).
pub fn allocate(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    repeat(|| unsafe { libc::fallocate64(file.as_raw_fd(), 0, offset, length) })
}

/// Sets the file's length, dropping or adding (a hole of) bytes. Waits for the journal.
///
/// # Errors
/// Those of ftruncate(2).
pub fn truncate(file: &File, length_bytes: u64) -> io::Result<()> {
    file.set_len(length_bytes)
}

/// Writes all of `data` at `offset_bytes`, whatever the file's position.
///
/// # Errors
/// Those of pwrite(2); bytes before the error may be written.
pub fn write_at(file: &File, data: &[u8], offset_bytes: u64) -> io::Result<()> {
    file.write_all_at(data, offset_bytes)
}

/// Fills `data` from `offset_bytes` on, through the page cache, whatever the file's position.
///
/// # Errors
/// Those of pread(2); `UnexpectedEof` where the file ends before `data` is full.
pub fn read_at(file: &File, data: &mut [u8], offset_bytes: u64) -> io::Result<()> {
    file.read_exact_at(data, offset_bytes)
}

/// Writes the dirty pages of a range and waits for them: sync_file_range(2) with all three flags,
/// as paper A uses it. Neither metadata nor the device's cache are flushed: **not durable**.
///
/// # Errors
/// Those of sync_file_range(2).
pub fn write_back(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    sync_file_range(file, offset_bytes, length_bytes, flags)
}

/// Starts writing the dirty pages of a range and does not wait for them; it may wait for room in
/// the device's queue. **Not durable**, as [`write_back`].
///
/// # Errors
/// Those of sync_file_range(2).
pub fn start_write_back(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    sync_file_range(file, offset_bytes, length_bytes, libc::SYNC_FILE_RANGE_WRITE)
}

/// Tells the kernel that the clean cached pages of a range are not needed any more.
///
/// # Errors
/// Those of posix_fadvise(2).
pub fn drop_cached(file: &File, offset_bytes: u64, length_bytes: u64) -> io::Result<()> {
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    let advice = libc::POSIX_FADV_DONTNEED;
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let rc = unsafe { libc::posix_fadvise64(file.as_raw_fd(), offset, length, advice) };
    // The call returns its error instead of setting errno.
    if rc == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(rc)) }
}

/// Of the first `bytes` of a file those whose pages are in memory: a reader of the others waits for the
/// device. Needs the right to write the file, else the kernel says that all are.
///
/// # Errors
/// The file cannot be mapped.
pub fn cached_bytes(file: &File, bytes: u64) -> io::Result<u64> {
    let length =
        usize::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    if length == 0 {
        return Ok(0);
    }
    let page = crate::memory::page_bytes();
    let mut there = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a mapping of its own that nobody reads through; the descriptor is open; `there` has a byte
    // for each page of it; it is unmapped with the length it was mapped with.
    let done = unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        );
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let done = match libc::mincore(at, length, there.as_mut_ptr()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        libc::munmap(at, length);
        done
    };
    done?;
    let pages = there.iter().filter(|page| **page & 1 == 1).count();
    Ok(((pages * page) as u64).min(bytes))
}

fn sync_file_range(
    file: &File,
    offset_bytes: u64,
    length_bytes: u64,
    flags: libc::c_uint,
) -> io::Result<()> {
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    repeat(|| unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) })
}

fn offset(bytes: u64) -> io::Result<libc::off64_t> {
    libc::off64_t::try_from(bytes).map_err(|_| {
        io::Error::new(io::ErrorKind::InvalidInput, "file offset beyond 2^63: no file has it")
    })
}

fn repeat(mut call: impl FnMut() -> libc::c_int) -> io::Result<()> {
    loop {
        if call() == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn allocates_truncates_and_writes_back() {
        let dir = std::env::temp_dir().join(format!("baro-dirty-{}", std::process::id()));
        create_dir(&dir).expect("a new directory");
        let path = dir.join("file");
        let file = create(&path).expect("a new file");
        match allocate(&file, 0, 1 << 20) {
            Ok(()) => {
                let found = file.metadata().expect("open");
                assert_eq!(found.len(), 1 << 20);
                assert!(found.blocks() * 512 >= 1 << 20);
            }
            Err(error) => println!("skipped: no preallocation in {}: {error}", dir.display()),
        }
        write_at(&file, &[7; 8192], 4096).expect("written");
        // What is not on the disk yet is in memory.
        assert!(cached_bytes(&file, 12_288).expect("mapped") >= 8192);
        assert_eq!(cached_bytes(&file, 0).expect("nothing"), 0);
        start_write_back(&file, 4096, 8192).expect("begun");
        write_back(&file, 4096, 8192).expect("written back");
        drop_cached(&file, 0, 0).expect("advice taken");
        truncate(&file, 12_288).expect("shorter");
        assert_eq!(file.metadata().expect("open").len(), 12_288);
        let mut read = [0_u8; 4096];
        read_at(&file, &mut read, 8192).expect("readable");
        assert!(read.iter().all(|byte| *byte == 7));
        let refused = write_back(&file, u64::MAX, 1).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::InvalidInput));

        let appended = create_append(&path).expect("emptied");
        assert_eq!(appended.metadata().expect("open").len(), 0);
        write_at(&appended, b"end", 0).expect("appended");
        let other = dir.join("other");
        rename(&path, &other).expect("renamed");
        let there = create_new(&other).map(drop).map_err(|error| error.kind());
        assert_eq!(there, Err(io::ErrorKind::AlreadyExists));
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
        create_dir_with(&own, 0o700).expect("a new directory");
        assert_eq!(own.metadata().expect("there").mode() & 0o7777, 0o700);
        let there = create_dir_with(&own, 0o700).map_err(|error| error.kind());
        assert_eq!(there, Err(io::ErrorKind::AlreadyExists));
        remove_dir(&own).expect("empty");
        remove_dir(&dir).expect("empty");
    }
}
