//! One mapping: unmapped on drop, locked if the kernel allows, touched if it does not.

use crate::{Error, Result};
use std::os::fd::RawFd;
use std::ptr::NonNull;

/// Whether memory is locked, and if not, why and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locked {
    /// No page of it can be taken away.
    Yes,
    /// The kernel refused (its error number); the pages were touched once but may be swapped out
    /// or migrated. `ulimit -l`, `LimitMEMLOCK=` or CAP_IPC_LOCK grants it.
    No(i32),
}

#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread; access is governed by the users.
unsafe impl Send for Map {}
// SAFETY: as above.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `bytes` of `file`, or of anonymous memory without one, for reading and writing.
    pub(crate) fn new(bytes: usize, file: Option<RawFd>) -> Result<Self> {
        let sharing = if file.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        let flags = sharing | if file.is_some() { 0 } else { libc::MAP_ANONYMOUS };
        // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                flags,
                file.unwrap_or(-1),
                0,
            )
        };
        match NonNull::new(start.cast()) {
            Some(start_) if start != libc::MAP_FAILED => Ok(Map { start: start_, bytes }),
            _ => Err(Error::last(format!("map {bytes} bytes of memory"), "")),
        }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Locks all pages; where that is refused, writes one byte of each (its own value) so that at
    /// least no page is missing now.
    pub(crate) fn lock(&self) -> Locked {
        // SAFETY: the range is this mapping.
        if unsafe { libc::mlock(self.start().cast(), self.bytes) } == 0 {
            return Locked::Yes;
        }
        let reason = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        for offset in (0..self.bytes).step_by(4096) {
            // SAFETY: inside the mapping; an atomic OR with 0 changes nothing that another
            // process may be writing, but makes the page present and writable.
            unsafe { std::sync::atomic::AtomicU8::from_ptr(self.start().add(offset)) }
                .fetch_or(0, std::sync::atomic::Ordering::Relaxed);
        }
        Locked::No(reason)
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start().cast(), self.bytes) };
    }
}
