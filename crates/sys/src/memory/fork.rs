//! Numbers of one process: in a forked child they are all 0, because the kernel wipes their page on
//! fork. A producer keeps its position here, so that telling a child from its parent costs nothing:
//! in a child there is no room left to push to.
//!
//! Invariant: the numbers have one cache line to themselves. Held by the page that they begin.

use super::map::Map;
use crate::Result;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers in a page that a fork wipes.
#[derive(Debug)]
pub struct ForkWiped<const N: usize> {
    /// The map's address, at hand without following it.
    start: NonNull<[AtomicU64; N]>,
    /// Unmapped on drop.
    _map: Map,
}

// SAFETY: the mapping belongs to the process, not to a thread; the numbers are atomics.
unsafe impl<const N: usize> Send for ForkWiped<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for ForkWiped<N> {}

impl<const N: usize> ForkWiped<N> {
    const FITS: () = assert!(N * 8 <= 64, "more than a cache line");

    /// Numbers that are 0 as yet. Before Linux 4.14 a child inherits them and cannot be told.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new() -> Result<Self> {
        let () = Self::FITS;
        let map = Map::new(4096, None)?;
        // A push must not fault: the page is made present now, and stays where locking is allowed.
        map.lock();
        // SAFETY: the range is this mapping, private and anonymous as the advice demands.
        unsafe { libc::madvise(map.start().cast(), map.bytes(), libc::MADV_WIPEONFORK) };
        Ok(ForkWiped { start: map.address().cast(), _map: map })
    }

    /// The number at `at`.
    #[must_use]
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        self.numbers()[at].load(Ordering::Relaxed)
    }

    /// Sets the number at `at`.
    #[inline]
    pub fn set(&mut self, at: usize, number: u64) {
        self.numbers()[at].store(number, Ordering::Relaxed);
    }

    #[inline]
    fn numbers(&self) -> &[AtomicU64; N] {
        // SAFETY: page-aligned, zeroed, at least N numbers long, alive as long as `self`.
        unsafe { self.start.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_finds_zeros_and_the_parent_its_numbers() {
        let mut numbers = ForkWiped::<8>::new().unwrap();
        numbers.set(0, 7);
        numbers.set(7, 9);
        let code = crate::fork::exit_code_of(|| u8::from(numbers.get(0) + numbers.get(7) != 0));
        assert_eq!((code.unwrap(), numbers.get(0), numbers.get(7)), (0, 7, 9));
    }
}
