//! The segment of counters, made as the controller makes it.
#![allow(unsafe_code, reason = "segments of shared memory are calls of C")]

use super::layout::{self, Counter};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One that ends with the last who has it.
#[derive(Debug)]
pub struct Counters {
    pub id: i32,
    pub token: u64,
    start: *mut AtomicU64,
}

impl Counters {
    pub fn new() -> Counters {
        // SAFETY: attached where the kernel chooses, and removed when all have left it.
        let (id, start) = unsafe {
            let id = libc::shmget(libc::IPC_PRIVATE, layout::FILE_BYTES, libc::IPC_CREAT | 0o666);
            let start = libc::shmat(id, std::ptr::null(), 0);
            assert!(id >= 0 && start as isize != -1, "{}", std::io::Error::last_os_error());
            libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut());
            (id, start.cast())
        };
        let counters = Counters { id, token: 0x1234_5678_9abc_def0, start };
        let head = layout::fresh(layout::COUNTERS_MAGIC);
        for at in [0, 8] {
            let bytes = head[at..at + 8].try_into().unwrap();
            counters.number(at).store(u64::from_ne_bytes(bytes), Relaxed);
        }
        counters.number(layout::SEGMENT_TOKEN_AT).store(counters.token, Relaxed);
        counters
    }

    /// Writes into a file of sizes where they are.
    pub fn name_in(&self, bytes: &mut [u8]) {
        let number = u64::try_from(self.id).unwrap() + 1;
        bytes[layout::SEGMENT_AT..][..8].copy_from_slice(&number.to_ne_bytes());
        bytes[layout::TOKEN_AT..][..8].copy_from_slice(&self.token.to_ne_bytes());
    }

    pub fn number(&self, at: usize) -> &AtomicU64 {
        assert!(at.is_multiple_of(8) && at + 8 <= layout::FILE_BYTES);
        // SAFETY: aligned and inside the segment, which is attached as long as this lives.
        unsafe { &*self.start.byte_add(at) }
    }

    /// What has been counted since the last call.
    pub fn take(&self, counter: Counter) -> u64 {
        self.number(counter.offset()).swap(0, Relaxed)
    }

    /// What somebody who may write it can do most: its memory is taken away and comes back as zeros.
    pub fn punch(&self) {
        // SAFETY: the attached segment, whose bytes are only atomics.
        let done =
            unsafe { libc::madvise(self.start.cast(), layout::FILE_BYTES, libc::MADV_REMOVE) };
        assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
    }
}

impl Drop for Counters {
    fn drop(&mut self) {
        // SAFETY: attached in `new`.
        unsafe { libc::shmdt(self.start.cast()) };
    }
}
