//! A small segment of shared memory without a file: what every program may write and nobody can shorten.
//!
//! A file that another user may write he may also shorten, and who has it mapped dies by SIGBUS. A
//! segment of System V has the size that it was made with for as long as it lives, has no name in any
//! folder, and takes no more memory than it was given. It is marked to be removed as soon as it is made:
//! Linux lets it be attached by its number for as long as its maker has it, and it ends with the last who
//! has, however that ends. So nothing is ever left, and a number of one that is gone is seen to be.
//!
//! What is in it anybody may have written: counters to be shown, nothing to be relied on. Who writes into
//! it can do no more than that (holes that are punched read as 0). Invariant: no access of a live segment
//! faults. Held by the tests below and by `tests/share.rs` of the command line.

use crate::{Error, Result};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

/// Read and written by every user.
const MODE: libc::c_int = 0o666;

/// An attached segment; it ends when nobody has it any more.
#[derive(Debug)]
pub struct Segment {
    id: i32,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the attachment belongs to the process; its bytes are only touched as atomics.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Makes one of `bytes` zeros, which any user may read and write.
    ///
    /// # Errors
    /// The kernel has no such memory, or no more of it.
    pub fn create(bytes: usize) -> Result<Self> {
        let fail = || Error::last(format!("make a segment of {bytes} bytes"), "shared memory");
        // SAFETY: a plain call.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, bytes, libc::IPC_CREAT | MODE) };
        if id < 0 {
            return Err(fail());
        }
        let attached = Self::attach(id, bytes);
        // SAFETY: a plain call; it ends when the last has left it, which may be now.
        unsafe { libc::shmctl(id, libc::IPC_RMID, std::ptr::null_mut()) };
        attached
    }

    /// Attaches the segment of this number if it has at least `bytes`.
    ///
    /// # Errors
    /// It is gone, smaller, or not for this user.
    pub fn open(id: i32, bytes: usize) -> Result<Self> {
        let fail = || Error::last(format!("find segment {id}"), "shared memory");
        // SAFETY: all-zero bytes are a valid shmid_ds, which the call fills.
        let found = unsafe {
            let mut found: libc::shmid_ds = std::mem::zeroed();
            if libc::shmctl(id, libc::IPC_STAT, &raw mut found) != 0 {
                return Err(fail());
            }
            found
        };
        if found.shm_segsz < bytes {
            let text = format!("expected {bytes} bytes, found {}", found.shm_segsz);
            return Err(Error::new(
                format!("attach segment {id}"),
                "shared memory",
                std::io::Error::other(text),
            ));
        }
        Self::attach(id, bytes)
    }

    fn attach(id: i32, bytes: usize) -> Result<Self> {
        // SAFETY: attached where the kernel chooses, it touches nothing of ours.
        let start = unsafe { libc::shmat(id, std::ptr::null(), 0) };
        match NonNull::new(start.cast()) {
            Some(start) if start.as_ptr() as isize != -1 => Ok(Self { id, start, bytes }),
            _ => Err(Error::last(format!("attach segment {id}"), "shared memory")),
        }
    }

    /// Its number, by which others attach it.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id
    }

    /// The number at `offset`, a multiple of 8 inside it.
    ///
    /// # Panics
    /// If `offset` is not such; offsets are constants.
    #[must_use]
    pub fn counter(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes);
        // SAFETY: aligned, since segments begin at a page, inside the attachment, and shared only as an
        // atomic.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: attached by us, and no reference outlives this.
        unsafe { libc::shmdt(self.start.as_ptr().cast()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn it_is_found_by_its_number_while_somebody_has_it_and_never_shorter() {
        let made = match Segment::create(4096) {
            Ok(made) => made,
            Err(error) => {
                println!("skipped: {error}");
                return;
            }
        };
        let id = made.id();
        let other = Segment::open(id, 4096).unwrap();
        made.counter(64).fetch_add(7, Relaxed);
        assert_eq!(other.counter(64).load(Relaxed), 7);
        assert!(Segment::open(id, 4097).unwrap_err().to_string().contains("found 4096"));
        // Holes punched into it are what a hostile user can do most: they read as 0.
        // SAFETY: inside the attachment, whose bytes are atomics.
        let punched =
            unsafe { libc::madvise(other.start.as_ptr().cast(), 4096, libc::MADV_REMOVE) };
        assert_eq!(punched, 0);
        assert_eq!(made.counter(64).fetch_add(1, Relaxed), 0);
        assert_eq!(other.counter(64).load(Relaxed), 1);
        drop(made);
        assert_eq!(Segment::open(id, 4096).unwrap().counter(64).load(Relaxed), 1);
        drop(other);
        assert!(Segment::open(id, 4096).is_err(), "the last has left it");
    }
}
