//! One mapping: unmapped on drop, locked if the kernel allows, touched if it does not.

use crate::{Error, Result};
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

/// Whether memory is locked, and if not, why and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Locked {
    /// No page of it can be taken away.
    Yes,
    /// The kernel refused (its error number); the pages were touched once but may be swapped out
    /// or migrated. `ulimit -l`, `LimitMEMLOCK=` or CAP_IPC_LOCK grants it.
    No(i32),
}

/// Size of a huge page on x86-64, and on ARM with 4 KiB pages.
const HUGE_BYTES: usize = 2 << 20;
/// From linux/mman.h; libc does not have it for all targets.
const MADV_COLLAPSE: libc::c_int = 25;

/// Bytes of a page: 4 KiB, on some aarch64 kernels 16 or 64.
pub(crate) fn page_bytes() -> usize {
    // SAFETY: a plain call; it cannot fail for this name.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

fn too_large() -> std::io::Error {
    std::io::Error::from_raw_os_error(libc::ENOMEM)
}

/// Address space that nothing else will take.
fn reserve(bytes: usize) -> Option<*mut libc::c_void> {
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing of ours.
    let place = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_NONE, flags, -1, 0)
    };
    (place != libc::MAP_FAILED).then_some(place)
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
    /// Maps `bytes` of `file`, or of anonymous memory without one, for reading and writing. Large
    /// mappings start at a multiple of a huge page, so that they can be made of such.
    pub(crate) fn new(bytes: usize, file: Option<RawFd>) -> Result<Self> {
        let sharing = if file.is_some() { libc::MAP_SHARED } else { libc::MAP_PRIVATE };
        let flags = sharing | if file.is_some() { 0 } else { libc::MAP_ANONYMOUS };
        let fail = || Error::last(format!("map {bytes} bytes of memory"), "");
        let page = page_bytes();
        let (align, whole) = match bytes.checked_next_multiple_of(page) {
            Some(whole) if bytes >= HUGE_BYTES => (HUGE_BYTES.max(page), whole),
            Some(whole) => (page, whole),
            None => {
                return Err(Error::new(format!("map {bytes} bytes of memory"), "", too_large()));
            }
        };
        // Starts at a page, so that a page less than `align` more is enough.
        let spare = align - page;
        let reserved = whole.checked_add(spare).and_then(reserve);
        let place = reserved.ok_or_else(fail)?;
        let skip = (place as usize).next_multiple_of(align) - place as usize;
        // SAFETY: `skip` is at most what was reserved beyond `whole`.
        let start = unsafe { place.byte_add(skip) };
        // SAFETY: replaces a part of the reservation, which nobody else knows; what is left of it
        // on both sides is given back.
        let mapped = unsafe {
            let end = start.byte_add(whole);
            let _ = (skip > 0).then(|| libc::munmap(place, skip));
            let _ = (spare > skip).then(|| libc::munmap(end, spare - skip));
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(start, bytes, protection, flags | libc::MAP_FIXED, file.unwrap_or(-1), 0)
        };
        match NonNull::new(mapped.cast()) {
            Some(start) if mapped != libc::MAP_FAILED => Ok(Map { start, bytes }),
            _ => {
                let error = fail();
                // SAFETY: what is left of the reservation is still ours.
                unsafe { libc::munmap(start, whole) };
                Err(error)
            }
        }
    }

    /// Asks for huge pages where the kernel can make them (Linux 6.1): a push then meets fewer
    /// missing address translations. Best effort.
    pub(crate) fn collapse(&self) {
        let whole = self.bytes / HUGE_BYTES * HUGE_BYTES;
        if whole > 0 {
            // SAFETY: the range is inside this mapping; contents stay as they are.
            unsafe { libc::madvise(self.start().cast(), whole, MADV_COLLAPSE) };
        }
    }

    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(crate) fn address(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Locks all pages; where that is refused, makes them at least present now.
    pub(crate) fn lock(&self) -> Locked {
        // SAFETY: the range is this mapping.
        if unsafe { libc::mlock(self.start().cast(), self.bytes) } == 0 {
            return Locked::Yes;
        }
        let reason = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        self.touch();
        Locked::No(reason)
    }
}

/// Whether `bytes` more could be locked by this process; touches none of them.
#[must_use]
pub fn lockable(bytes: usize) -> Locked {
    let Ok(map) = Map::new(bytes, None) else { return Locked::No(libc::ENOMEM) };
    // SAFETY: the range is this mapping. Pages are locked as they appear, and none will.
    match unsafe { libc::mlock2(map.start().cast(), map.bytes(), libc::MLOCK_ONFAULT) } {
        0 => Locked::Yes,
        _ => Locked::No(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

impl Map {
    /// Makes every page present and writable without changing it.
    fn touch(&self) {
        // SAFETY: the range is this mapping. Linux 5.14 has this advice; before, it is refused.
        let advice =
            unsafe { libc::madvise(self.start().cast(), self.bytes, libc::MADV_POPULATE_WRITE) };
        if advice == 0 {
            return;
        }
        for offset in (0..self.bytes).step_by(4096) {
            // SAFETY: inside the mapping, and only this atomic touches the byte here. Another
            // process may be writing it: exchanging a value for itself loses nothing. (An OR or an
            // addition of 0 would be compiled into a mere load.)
            let byte = unsafe { AtomicU8::from_ptr(self.start().add(offset)) };
            let value = byte.load(Ordering::Relaxed);
            let _ = byte.compare_exchange(value, value, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping, and nothing borrows from it any more.
        unsafe { libc::munmap(self.start().cast(), self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::ThreadUsage;

    /// Address space is short on 32 bits: whoever opens and closes for years must not lose it
    /// page by page.
    #[test]
    fn a_mapping_gives_back_all_of_its_reservation() {
        let reserved = || {
            let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
            maps.lines().filter(|line| line.contains(" ---p 00000000 00:00 0")).count()
        };
        let before = reserved();
        let maps: Vec<_> = (0..100).map(|_| Map::new(HUGE_BYTES + 4096, None).unwrap()).collect();
        drop(maps);
        // Other tests' threads reserve their stacks' guards meanwhile.
        let after = reserved();
        assert!(after < before + 50, "{before} reservations before, {after} after");
    }

    #[test]
    fn touched_pages_do_not_fault() {
        let map = Map::new(1 << 20, None).unwrap();
        map.touch();
        let before = ThreadUsage::now();
        // SAFETY: the range is this mapping, which nobody else uses.
        unsafe { std::ptr::write_bytes(map.start(), 1, map.bytes()) };
        assert_eq!(ThreadUsage::now().since(before).minor_faults, 0);
    }
}
