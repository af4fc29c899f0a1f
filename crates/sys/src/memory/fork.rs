//! Numbers of one process: in a forked child they are all 0, because the kernel wipes their page on
//! fork. A producer keeps its position here, so that telling a child from its parent costs nothing:
//! in a child there is no room left to push to.
//!
//! Before Linux 4.14 the kernel does not know this advice. There the C library wipes: what is
//! registered with it (pthread_atfork) runs in the child before `fork` returns. Only a child made by a
//! bare clone(2) without it inherits the numbers then.
//!
//! Invariant: the numbers have one cache line to themselves (held by the page that they begin), and a
//! forked child finds zeros, by whichever of the two ways. Held by the tests below.

use super::map::{Map, page_bytes};
use crate::{Error, Result};
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Numbers in a page that a fork wipes.
#[derive(Debug)]
pub struct ForkWiped<const N: usize> {
    /// The map's address, at hand without following it.
    start: NonNull<[AtomicU64; N]>,
    /// Where the kernel does not wipe. Ends before the map.
    _wiped: Option<Wiped>,
    /// Unmapped on drop.
    _map: Map,
}

// SAFETY: the mapping belongs to the process, not to a thread; the numbers are atomics.
unsafe impl<const N: usize> Send for ForkWiped<N> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for ForkWiped<N> {}

impl<const N: usize> ForkWiped<N> {
    const FITS: () = assert!(N * 8 <= 64, "more than a cache line");

    /// Numbers that are 0 as yet.
    ///
    /// # Errors
    /// There is no memory, or nothing that wipes.
    pub fn new() -> Result<Self> {
        Self::advised(libc::MADV_WIPEONFORK)
    }

    fn advised(advice: libc::c_int) -> Result<Self> {
        let () = Self::FITS;
        let map = Map::new(page_bytes(), None)?;
        // A push must not fault: the page is made present now, and stays where locking is allowed.
        map.lock();
        // SAFETY: the range is this mapping, private and anonymous as the advice demands.
        let advised = unsafe { libc::madvise(map.start().cast(), map.bytes(), advice) } == 0;
        let wiped = if advised { None } else { Some(Wiped::new(&map)?) };
        Ok(ForkWiped { start: map.address().cast(), _wiped: wiped, _map: map })
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

/// Pages that the C library's fork wipes in the child: as many as a process has producers.
const PAGES: usize = 1024;
static WIPED: [AtomicUsize; PAGES] = [const { AtomicUsize::new(0) }; PAGES];

/// One of these pages.
#[derive(Debug)]
struct Wiped(&'static AtomicUsize);

impl Wiped {
    fn new(map: &Map) -> Result<Self> {
        static REGISTERED: OnceLock<i32> = OnceLock::new();
        // SAFETY: the handler does what is allowed in a child of a process with threads.
        let register = || unsafe { libc::pthread_atfork(None, None, Some(wipe)) };
        let failed = |reason| Error::new("have memory wiped in forked children", "", reason);
        match *REGISTERED.get_or_init(register) {
            0 => {}
            errno => return Err(failed(std::io::Error::from_raw_os_error(errno))),
        }
        let (start, done, other) = (map.start() as usize, Ordering::AcqRel, Ordering::Relaxed);
        let claim = |page: &&AtomicUsize| page.compare_exchange(0, start, done, other).is_ok();
        let free = WIPED.iter().find(claim);
        free.map(Wiped).ok_or_else(|| {
            failed(std::io::Error::other(format!("expected at most {PAGES} producers")))
        })
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// In the child, before its first line of its own runs.
unsafe extern "C" fn wipe() {
    for page in &WIPED {
        let start = page.load(Ordering::Acquire);
        if start != 0 {
            // SAFETY: a page that is mapped as long as it stands here, of private memory that only
            // this child sees; the numbers in it are atomics, of which 0 is one.
            unsafe { std::ptr::write_bytes(start as *mut u8, 0, 64) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_finds_zeros_and_the_parent_its_numbers() {
        // An advice that no kernel knows, as this one is before Linux 4.14.
        let refused = ForkWiped::<8>::advised(9_999).unwrap();
        assert!(refused._wiped.is_some());
        let gone = ForkWiped::<8>::advised(9_999).unwrap();
        drop(gone);
        for numbers in [ForkWiped::<8>::new().unwrap(), refused] {
            finds_zeros(numbers);
        }
        assert!(WIPED.iter().all(|page| page.load(Ordering::Acquire) == 0));
    }

    fn finds_zeros(mut numbers: ForkWiped<8>) {
        numbers.set(0, 7);
        numbers.set(7, 9);
        let code = crate::fork::exit_code_of(|| u8::from(numbers.get(0) + numbers.get(7) != 0));
        assert_eq!((code.unwrap(), numbers.get(0), numbers.get(7)), (0, 7, 9));
    }
}
