//! A file as memory: mmap(2), shared. For the bench, which compares it with write().
//!
//! What cannot be written becomes a signal (SIGBUS), not an error; `guard` makes an error of it again.
//! The caller sees to it that the file has all of its blocks.
//!
//! Bytes go in through pointers, since others may look at the file meanwhile. Invariant: nothing is
//! copied beyond the mapping. Held by `what_is_copied_in_is_in_the_file`.

use super::guard::Guard;
use super::map::Map;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;

/// The beginning of a file, mapped for writing.
#[derive(Debug)]
pub struct FileMemory {
    /// Ends before the mapping.
    guard: Guard,
    map: Map,
}

impl FileMemory {
    /// Maps the first `bytes` of `file`, which must be as long as that. Touches no page: the first
    /// access to each enters the kernel.
    ///
    /// # Errors
    /// `UnexpectedEof` if the file is shorter; those of mmap(2).
    pub fn new(file: &File, bytes: u64) -> io::Result<Self> {
        if file.metadata()?.len() < bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let bytes = usize::try_from(bytes).map_err(|_| ErrorKind::OutOfMemory)?;
        let map = Map::new(bytes, Some(file.as_raw_fd())).map_err(|error| error.source)?;
        let guard = Guard::new(map.start(), map.bytes()).map_err(|error| error.source)?;
        Ok(Self { guard, map })
    }

    /// Copies `data` to `offset_bytes`. Blocks where a page must be brought in, or is being written
    /// back and the file system waits for that.
    ///
    /// # Errors
    /// `InvalidInput` beyond the mapping; `UnexpectedEof` if somebody has shortened the file.
    pub fn write(&mut self, data: &[u8], offset_bytes: u64) -> io::Result<()> {
        let start = usize::try_from(offset_bytes).ok();
        let fits = |start: &usize| {
            start.checked_add(data.len()).is_some_and(|end| end <= self.map.bytes())
        };
        let Some(start) = start.filter(fits) else {
            let (length, bytes) = (data.len(), self.map.bytes());
            let message = format!("{length} bytes at {offset_bytes}, but only {bytes} are mapped");
            return Err(io::Error::new(ErrorKind::InvalidInput, message));
        };
        // SAFETY: the range is inside the mapping, as was just checked. No reference to the mapping
        // is ever made, so `data` cannot overlap with it.
        unsafe {
            let place = self.map.start().add(start);
            std::ptr::copy_nonoverlapping(data.as_ptr(), place, data.len());
        }
        if self.guard.lost() {
            let message = "the file was shortened while it was mapped; what was written is gone";
            return Err(io::Error::new(ErrorKind::UnexpectedEof, message));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{ErrorKind, FileMemory};
    use crate::files;

    #[test]
    fn what_is_copied_in_is_in_the_file() {
        let path = std::env::temp_dir().join(format!("baro-file-memory-{}", std::process::id()));
        let file = files::create(&path).unwrap();
        files::set_length(&file, 10_000).unwrap();
        let refused = FileMemory::new(&file, 10_001).map(drop).map_err(|error| error.kind());
        assert_eq!(refused, Err(ErrorKind::UnexpectedEof));
        let mut memory = FileMemory::new(&file, 10_000).unwrap();
        memory.write(&[1; 5000], 4000).unwrap();
        memory.write(&[2; 1000], 9000).unwrap();
        for offset in [9001, u64::MAX] {
            let refused = memory.write(&[3; 1000], offset).map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::InvalidInput));
        }
        drop(memory);
        let expected = [vec![0; 4000], vec![1; 5000], vec![2; 1000]].concat();
        assert_eq!(std::fs::read(&path).unwrap(), expected);
        files::remove(&path).unwrap();
    }

    #[test]
    fn a_file_that_is_shortened_meanwhile_is_an_error() {
        let path = std::env::temp_dir().join(format!("baro-file-short-{}", std::process::id()));
        let file = files::create(&path).unwrap();
        files::set_length(&file, 100_000).unwrap();
        let mut memory = FileMemory::new(&file, 100_000).unwrap();
        memory.write(&[1; 5000], 90_000).unwrap();
        files::set_length(&file, 4096).unwrap();
        for _ in 0..2 {
            let refused = memory.write(&[2; 5000], 90_000).map_err(|error| error.kind());
            assert_eq!(refused, Err(ErrorKind::UnexpectedEof));
        }
        files::remove(&path).unwrap();
    }
}
