//! Single calls into a file system as applications make them: direct, synchronous, of metadata, and
//! those that make the page cache dirty and clean again.
//!
//! The conventional methods of recording, the loads and the stalls that the bench makes on purpose
//! need calls that the recorder never makes, each known to take one way through the kernel. They take
//! a `&File`, so a background thread can flush while the producer writes. Ordinary work on files is in
//! [`baro_sys::files`].
//!
//! Invariant: one function is one system call on the file it names, so that what the caller timed
//! is that call; lengths are checked here, so no call gets a negative offset; a call interrupted by a
//! signal is repeated. Held by `each_call_does_what_it_says` and `allocates_and_writes_back`.

pub use baro_sys::files::{allocate, write_back};

use baro_sys::{Error, Result, files};
use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Opens or makes a file for reading and writing past the page cache: buffers, offsets and lengths
/// must be whole blocks ([`baro_sys::memory::AlignedBuffer`]). May wait for the journal.
///
/// # Errors
/// Those of open(2); `InvalidInput` where the file system has no direct I/O.
pub fn open_direct(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(libc::O_DIRECT);
    options.open(path).map_err(|e| Error::new("open past the page cache", path, e))
}

/// Makes a new file, or empties an old one, of which each write goes to the end.
///
/// # Errors
/// Those of open(2).
pub fn create_append(path: &Path) -> Result<File> {
    // O_TRUNC and O_APPEND together are refused by std: empty it first.
    drop(files::create(path)?);
    let opened = OpenOptions::new().append(true).open(path);
    opened.map_err(|e| Error::new("open", path, e))
}

/// Makes a new file, or empties an old one, of which each write goes to the end and is durable when it
/// returns: O_APPEND and O_DSYNC. May wait for the journal.
///
/// # Errors
/// Those of open(2).
pub fn create_synchronous(path: &Path) -> Result<File> {
    // O_TRUNC and O_APPEND together are refused by std: empty it first.
    drop(files::create(path)?);
    let opened = OpenOptions::new().append(true).custom_flags(libc::O_DSYNC).open(path);
    opened.map_err(|e| Error::new("open", path, e))
}

/// Writes `data` at `offset_bytes` through the page cache, which begins to write it back at once and
/// drops it then: pwritev2(2) with RWF_DONTCACHE (Linux 6.14; ext4 6.17, XFS 6.15). Blocks as write(2).
///
/// # Errors
/// `Unsupported` where kernel or file system do not have it; `WriteZero` if it was written in part;
/// those of pwritev2(2).
pub fn write_uncached(file: &File, data: &[u8], offset_bytes: u64) -> Result<()> {
    let failed = |error| failed(format!("write {} bytes at {offset_bytes}", data.len()), error);
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
        return Err(failed(match error.raw_os_error() {
            // The kernel before 4.6 has no such call.
            Some(libc::EOPNOTSUPP | libc::ENOSYS) => io::ErrorKind::Unsupported.into(),
            _ => error,
        }));
    }
    if written as usize == data.len() {
        return Ok(());
    }
    Err(failed(io::ErrorKind::WriteZero.into()))
}

/// Sets the permission bits of `path`: the cheapest change of one inode. May wait for the journal.
///
/// # Errors
/// Those of chmod(2).
pub fn set_mode(path: &Path, mode: u32) -> Result<()> {
    let set = std::fs::set_permissions(path, Permissions::from_mode(mode));
    set.map_err(|e| Error::new("set the mode", path, e))
}

/// Tells the kernel to read nothing of `file` ahead.
///
/// # Errors
/// Those of posix_fadvise(2).
pub fn expect_random(file: &File) -> Result<()> {
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let rc = unsafe { libc::posix_fadvise64(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_RANDOM) };
    advised(rc)
}

/// Starts writing the dirty pages of a range and does not wait for them; it may wait for room in
/// the device's queue. **Not durable**, as [`write_back`].
///
/// # Errors
/// Those of sync_file_range(2).
pub fn start_write_back(file: &File, offset_bytes: u64, length_bytes: u64) -> Result<()> {
    sync_file_range(file, offset_bytes, length_bytes, libc::SYNC_FILE_RANGE_WRITE)
}

/// Tells the kernel that the clean cached pages of a range are not needed any more.
///
/// # Errors
/// Those of posix_fadvise(2).
pub fn drop_cached(file: &File, offset_bytes: u64, length_bytes: u64) -> Result<()> {
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    let advice = libc::POSIX_FADV_DONTNEED;
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let rc = unsafe { libc::posix_fadvise64(file.as_raw_fd(), offset, length, advice) };
    advised(rc)
}

/// Of the first `bytes` of a file those whose pages are in memory: a reader of the others waits for the
/// device. Needs the right to write the file, else the kernel says that all are.
///
/// # Errors
/// The file cannot be mapped.
pub fn cached_bytes(file: &File, bytes: u64) -> Result<u64> {
    let failed = |error| failed(format!("look for {bytes} cached bytes"), error);
    let length = usize::try_from(bytes).map_err(|_| failed(io::ErrorKind::FileTooLarge.into()))?;
    if length == 0 {
        return Ok(0);
    }
    let page = page_bytes();
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
            return Err(failed(io::Error::last_os_error()));
        }
        let done = match libc::mincore(at, length, there.as_mut_ptr()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        };
        libc::munmap(at, length);
        done
    };
    done.map_err(failed)?;
    let pages = there.iter().filter(|page| **page & 1 == 1).count();
    Ok(((pages * page) as u64).min(bytes))
}

/// Bytes of a page: 4 KiB, on some aarch64 kernels 16 or 64.
fn page_bytes() -> usize {
    // SAFETY: a plain call; it cannot fail for this name.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

fn sync_file_range(
    file: &File,
    offset_bytes: u64,
    length_bytes: u64,
    flags: libc::c_uint,
) -> Result<()> {
    let (offset, length) = (offset(offset_bytes)?, offset(length_bytes)?);
    // SAFETY: no memory is passed; the descriptor is open as long as `file` is borrowed.
    let done = repeat(|| unsafe { libc::sync_file_range(file.as_raw_fd(), offset, length, flags) });
    done.map_err(|error| failed(format!("write back {length_bytes} bytes"), error))
}

/// What posix_fadvise(2) said: it returns its error instead of setting errno.
fn advised(rc: libc::c_int) -> Result<()> {
    if rc == 0 { Ok(()) } else { Err(failed("advise", io::Error::from_raw_os_error(rc))) }
}

/// Of a call on an open file, whose path the caller knows.
fn failed(operation: impl Into<String>, error: io::Error) -> Error {
    Error::new(operation, "", error)
}

fn offset(bytes: u64) -> Result<libc::off64_t> {
    libc::off64_t::try_from(bytes).map_err(|_| {
        let reason = "file offset beyond 2^63: no file has it";
        failed("seek", io::Error::new(io::ErrorKind::InvalidInput, reason))
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
    use baro_sys::memory::AlignedBuffer;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn each_call_does_what_it_says() {
        let path = std::env::temp_dir().join(format!("baro-calls-{}", std::process::id()));
        let (mut page, _) = AlignedBuffer::new(4096).unwrap();
        page.fill(7);
        match open_direct(&path) {
            Ok(file) => files::write_at(&file, &page, 4096).unwrap(),
            // tmpfs of older kernels.
            Err(error) => {
                println!("skipped: no direct I/O in the folder of temporary files: {error}");
                let file = files::create(&path).unwrap();
                files::write_at(&file, &page, 4096).unwrap();
            }
        }
        let file = files::open_to_write(&path).unwrap();
        expect_random(&file).unwrap();
        let mut read = [0; 4096];
        files::read_at(&file, &mut read, 4096).unwrap();
        assert!(read.iter().all(|byte| *byte == 7));
        files::sync(&file).unwrap();
        set_mode(&path, 0o600).unwrap();
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        match write_uncached(&file, &[8; 100], 4196) {
            Ok(()) => {
                let mut read = [0; 300];
                files::read_at(&file, &mut read, 4096).unwrap();
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
        files::remove(&path).unwrap();
        assert_eq!(
            files::open_to_write(&path).map_err(|e| e.kind()).unwrap_err(),
            io::ErrorKind::NotFound
        );
    }

    #[test]
    fn allocates_and_writes_back() {
        let path = std::env::temp_dir().join(format!("baro-dirty-{}", std::process::id()));
        let file = files::create(&path).expect("a new file");
        match allocate(&file, 0, 1 << 20) {
            Ok(()) => {
                let found = file.metadata().expect("open");
                assert_eq!(found.len(), 1 << 20);
                assert!(found.blocks() * 512 >= 1 << 20);
            }
            Err(error) => println!("skipped: no preallocation in {}: {error}", path.display()),
        }
        files::write_at(&file, &[7; 8192], 4096).expect("written");
        // What is not on the disk yet is in memory.
        assert!(cached_bytes(&file, 12_288).expect("mapped") >= 8192);
        assert_eq!(cached_bytes(&file, 0).expect("nothing"), 0);
        start_write_back(&file, 4096, 8192).expect("begun");
        write_back(&file, 4096, 8192).expect("written back");
        drop_cached(&file, 0, 0).expect("advice taken");
        files::set_length(&file, 12_288).expect("shorter");
        assert_eq!(file.metadata().expect("open").len(), 12_288);
        let mut read = [0_u8; 4096];
        files::read_at(&file, &mut read, 8192).expect("readable");
        assert!(read.iter().all(|byte| *byte == 7));
        let refused = write_back(&file, u64::MAX, 1).map_err(|error| error.kind());
        assert_eq!(refused, Err(io::ErrorKind::InvalidInput));
        let appended = create_append(&path).expect("emptied");
        assert_eq!(appended.metadata().expect("open").len(), 0);
        files::write_at(&appended, b"end", 0).expect("appended");
        assert_eq!(std::fs::read(&path).expect("as it was"), b"end");
        files::remove(&path).expect("removed");
    }
}
