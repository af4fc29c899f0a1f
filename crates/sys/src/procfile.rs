//! A file of procfs or sysfs that is opened once and read again and again.
//!
//! The kernel makes the text of such a file anew whenever it is read from offset 0, so a sampler
//! that runs a thousand times a second needs one open descriptor and pread, not open, read and
//! close. Two habits of the kernel shape the code: a file made of records (diskstats, vmstat,
//! net/dev) returns at most about a page a call, so only a read of 0 bytes means the end; and
//! `stat` says 0 bytes, so the length is unknown until it was read.
//!
//! Invariant: the buffer only ever grows, and never beyond the limit; a reading that fits what
//! the buffer already has allocates nothing. Held by the tests below.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a buffer starts with: most files of procfs are one page or two.
const FIRST_BUFFER_BYTES: usize = 8192;

/// An open file whose text is made anew by the kernel for every reading.
#[derive(Debug)]
pub struct ProcFile {
    file: File,
}

impl ProcFile {
    /// Opens `path` for reading (close-on-exec).
    ///
    /// # Errors
    /// The error of open(2): most often the file is missing because the kernel was built without
    /// it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::open(path)? })
    }

    /// Reads the whole text into the front of `buffer` and returns its length in bytes.
    ///
    /// `buffer.len()` is the room there is, not the length of the text; bytes behind the returned
    /// length are left from earlier readings. When the room is too small the buffer is doubled,
    /// up to `limit_bytes`; it never shrinks. Does not wait for a disk: the text comes from kernel
    /// memory.
    ///
    /// # Errors
    /// The error of pread(2) (interrupted calls are repeated), or
    /// [`io::ErrorKind::FileTooLarge`] if the text is longer than `limit_bytes`.
    pub fn read_into(&self, buffer: &mut Vec<u8>, limit_bytes: usize) -> io::Result<usize> {
        let mut length_bytes = 0;
        loop {
            if length_bytes == buffer.len() {
                if length_bytes > limit_bytes {
                    return Err(too_large(limit_bytes));
                }
                // One byte more than the limit, so that a text of exactly the limit is seen to end.
                let grown = (buffer.len() * 2).max(FIRST_BUFFER_BYTES);
                buffer.resize(grown.min(limit_bytes.saturating_add(1)).max(length_bytes + 1), 0);
            }
            let Some(room) = buffer.get_mut(length_bytes..) else { return Ok(length_bytes) };
            match self.file.read_at(room, length_bytes as u64) {
                Ok(0) if length_bytes > limit_bytes => return Err(too_large(limit_bytes)),
                Ok(0) => return Ok(length_bytes),
                Ok(read_bytes) => length_bytes += read_bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn too_large(limit_bytes: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("the text is longer than the limit of {limit_bytes} bytes"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_with(name: &str, bytes: &[u8]) -> std::path::PathBuf {
        let path =
            std::env::temp_dir().join(format!("baro-procfile-{}-{name}", std::process::id()));
        std::fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn rereads_the_same_descriptor_and_grows_once() {
        let path = file_with("grow", &[b'a'; 20_000]);
        let file = ProcFile::open(&path).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(file.read_into(&mut buffer, 1 << 20).unwrap(), 20_000);
        let room = (buffer.len(), buffer.capacity(), buffer.as_ptr());
        assert!(buffer[..20_000].iter().all(|byte| *byte == b'a'));
        std::fs::write(&path, b"short").unwrap();
        assert_eq!(file.read_into(&mut buffer, 1 << 20).unwrap(), 5);
        assert_eq!(&buffer[..5], b"short");
        assert_eq!(room, (buffer.len(), buffer.capacity(), buffer.as_ptr()));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn refuses_what_is_longer_than_the_limit() {
        let path = file_with("limit", &[b'b'; 10_000]);
        let file = ProcFile::open(&path).unwrap();
        let mut buffer = Vec::new();
        assert_eq!(file.read_into(&mut buffer, 10_000).unwrap(), 10_000);
        let error = file.read_into(&mut buffer, 9_999).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        let mut fresh = Vec::new();
        let error = file.read_into(&mut fresh, 9_999).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert!(fresh.len() <= 10_000);
        assert_eq!(file.read_into(&mut Vec::new(), 10_000).unwrap(), 10_000);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn says_what_is_missing() {
        let error = ProcFile::open(Path::new("/proc/no-such-file")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn reads_the_kernels_own_texts_to_the_end() {
        let file = ProcFile::open(Path::new("/proc/self/smaps")).unwrap();
        let mut buffer = Vec::new();
        let length = file.read_into(&mut buffer, 16 << 20).unwrap();
        // Made of many records, so it takes several calls; the last line must be there.
        assert!(length > 4096);
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        assert!(text.ends_with('\n') && text.contains("[stack]"), "{text}");
    }
}
