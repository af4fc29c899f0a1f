//! Ranges of an open file: blocks reserved before anything is written, dirty pages written back early.
//!
//! Invariant: of what is written nothing changes. Held by `allocates_and_writes_back`.

use super::Result;
use crate::Error;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Reserves blocks for `length_bytes` from `offset_bytes` on and extends the file over them. The
/// blocks are unwritten: writing to them changes metadata once more. Waits for the journal.
///
/// # Errors
/// `StorageFull`, `Unsupported` on file systems without preallocation, others of fallocate(2).
pub fn allocate(file: &File, offset_bytes: u64, length_bytes: u64) -> Result<()> {
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let allocated = repeat(|| unsafe { libc::fallocate64(file.as_raw_fd(), 0, offset, length) });
    allocated.map_err(|error| Error::new(format!("allocate {length_bytes} bytes"), "", error))
}

/// Writes the dirty pages of a range and waits for them: sync_file_range(2) with all three flags,
/// as paper A uses it. Neither metadata nor the device's cache are flushed: **not durable**.
///
/// # Errors
/// Those of sync_file_range(2).
pub fn write_back(file: &File, offset_bytes: u64, length_bytes: u64) -> Result<()> {
    let flags = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let done = repeat(|| unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) });
    done.map_err(|error| Error::new(format!("write back {length_bytes} bytes"), "", error))
}

/// Has the dirty pages of a range on their way to the device, without waiting for those: for
/// [`write_back`] to find them there later.
///
/// # Errors
/// Those of sync_file_range(2).
pub fn start_write_back(file: &File, offset_bytes: u64, length_bytes: u64) -> Result<()> {
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    let flags = libc::SYNC_FILE_RANGE_WRITE;
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let done = repeat(|| unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) });
    done.map_err(|error| Error::new(format!("write back {length_bytes} bytes"), "", error))
}

/// Whether anything was ever written into the file: blocks that are only [reserved](allocate) are no
/// data. Where the file system cannot tell them apart, all is data.
///
/// # Errors
/// Those of lseek(2).
pub fn has_data(file: &File) -> Result<bool> {
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let at = unsafe { libc::lseek64(file.as_raw_fd(), 0, libc::SEEK_DATA) };
    if at >= 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENXIO) => Ok(false),
        error => Err(Error::new("look for data", "", error)),
    }
}

fn offset(bytes: u64) -> Result<libc::off64_t> {
    libc::off64_t::try_from(bytes).map_err(|_| {
        let reason = "file offset beyond 2^63: no file has it";
        Error::new("seek", "", io::Error::new(io::ErrorKind::InvalidInput, reason))
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
    use crate::files::{create, read_at, remove, write_at};

    #[test]
    fn allocates_and_writes_back() {
        let path = std::env::temp_dir().join(format!("baro-range-{}", std::process::id()));
        let file = create(&path).expect("a new file");
        match allocate(&file, 0, 1 << 20) {
            Ok(()) => assert_eq!(file.metadata().expect("open").len(), 1 << 20),
            Err(error) => println!("skipped: no preallocation in {}: {error}", path.display()),
        }
        write_at(&file, &[7; 8192], 4096).expect("written");
        assert!(has_data(&file).expect("looked"));
        start_write_back(&file, 4096, 8192).expect("on its way");
        write_back(&file, 4096, 8192).expect("written back");
        let mut read = [0_u8; 8192];
        read_at(&file, &mut read, 4096).expect("readable");
        assert!(read.iter().all(|byte| *byte == 7));
        assert!(allocate(&file, 0, u64::MAX).is_err());
        remove(&path).expect("removed");
    }
}
