//! Single calls into a file system as applications make them: direct, synchronous, of metadata.
//!
//! The stalls that the bench makes on purpose need calls that the recorder never makes, each known
//! to take one way through the kernel. Beside [`crate::dirty`], which has those of buffered
//! recording.
//!
//! Invariant: one function is one system call on the file it names, so that what the caller timed
//! is that call. Held by `each_call_does_what_it_says`.
#![allow(clippy::disallowed_methods, reason = "this crate is the door to the OS")]

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Opens or makes a file for reading and writing past the page cache: buffers, offsets and lengths
/// must be whole blocks ([`crate::memory::AlignedBuffer`]). May wait for the journal.
///
/// # Errors
/// Those of open(2); `InvalidInput` where the file system has no direct I/O.
pub fn open_direct(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_DIRECT);
    options.open(path)
}

/// Opens a file that is there, for reading and writing through the page cache.
///
/// # Errors
/// Those of open(2).
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// Makes a new file, or empties an old one, of which each write goes to the end and is durable when it
/// returns: O_APPEND and O_DSYNC. May wait for the journal.
///
/// # Errors
/// Those of open(2).
pub fn create_synchronous(path: &Path) -> io::Result<File> {
    // O_TRUNC and O_APPEND together are refused by std: empty it first.
    drop(crate::dirty::create(path)?);
    OpenOptions::new().append(true).custom_flags(libc::O_DSYNC).open(path)
}

/// Writes `data` at `offset_bytes` through the page cache, which begins to write it back at once and
/// drops it then: pwritev2(2) with RWF_DONTCACHE (Linux 6.14; ext4 6.17, XFS 6.15). Blocks as write(2).
///
/// # Errors
/// `Unsupported` where kernel or file system do not have it; `WriteZero` if it was written in part;
/// those of pwritev2(2).
pub fn write_uncached(file: &File, data: &[u8], offset_bytes: u64) -> io::Result<()> {
    const RWF_DONTCACHE: libc::c_int = 0x80;
    let part = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
    let part: *const libc::iovec = &raw const part;
    // The kernel takes the offset as two longs, of which 64-bit machines ignore the higher.
    let (low, high) = (offset_bytes as libc::c_ulong, (offset_bytes >> 32) as libc::c_ulong);
    let (fd, flags) = (file.as_raw_fd(), RWF_DONTCACHE);
    // SAFETY: `part` is one readable iovec over `data`, which the kernel only reads.
    let written = unsafe { libc::syscall(libc::SYS_pwritev2, fd, part, 1, low, high, flags) };
    if written < 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            // The kernel before 4.6 has no such call.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => io::ErrorKind::Unsupported.into(),
            _ => error,
        });
    }
    if written as usize == data.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Makes a file's data and metadata durable: fsync(2). Waits for the journal and the device.
///
/// # Errors
/// Those of fsync(2).
pub fn sync(file: &File) -> io::Result<()> {
    file.sync_all()
}

/// Sets the permission bits of `path`: the cheapest change of one inode. May wait for the journal.
///
/// # Errors
/// Those of chmod(2).
pub fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Tells the kernel to read nothing of `file` ahead.
///
/// # Errors
/// Those of posix_fadvise(2).
pub fn expect_random(file: &File) -> io::Result<()> {
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let rc = unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
    // The call returns its error instead of setting errno.
    if rc == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(rc)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{dirty, memory::AlignedBuffer};
    use std::io::Write;

    #[test]
    fn each_call_does_what_it_says() {
        let path = std::env::temp_dir().join(format!("baro-calls-{}", std::process::id()));
        let (mut page, _) = AlignedBuffer::new(4096).unwrap();
        page.fill(7);
        match open_direct(&path) {
            Ok(file) => dirty::write_at(&file, &page, 4096).unwrap(),
            // tmpfs of older kernels.
            Err(error) => {
                println!("skipped: no direct I/O in the folder of temporary files: {error}");
                let file = dirty::create(&path).unwrap();
                dirty::write_at(&file, &page, 4096).unwrap();
            }
        }
        let file = open(&path).unwrap();
        expect_random(&file).unwrap();
        let mut read = [0; 4096];
        dirty::read_at(&file, &mut read, 4096).unwrap();
        assert!(read.iter().all(|byte| *byte == 7));
        sync(&file).unwrap();
        set_mode(&path, 0o600).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        match write_uncached(&file, &[8; 100], 4196) {
            Ok(()) => {
                let mut read = [0; 300];
                dirty::read_at(&file, &mut read, 4096).unwrap();
                let sums = read.chunks(100).map(|part| part.iter().map(|b| u32::from(*b)).sum());
                assert_eq!(sums.collect::<Vec<u32>>(), [700, 800, 700]);
            }
            Err(error) => {
                println!("skipped: no RWF_DONTCACHE in the folder of temporary files");
                assert_eq!(error.kind(), io::ErrorKind::Unsupported);
            }
        }
        drop(file);
        let mut file = create_synchronous(&path).unwrap();
        file.write_all(b"one").unwrap();
        file.write_all(b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"onetwo");
        // SAFETY: a plain call on an open descriptor.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        assert_eq!(flags & libc::O_DSYNC, libc::O_DSYNC);
        dirty::remove(&path).unwrap();
        assert_eq!(open(&path).map_err(|e| e.kind()).unwrap_err(), io::ErrorKind::NotFound);
    }
}
