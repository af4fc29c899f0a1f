//! What is the controller's, mapped when the library is loaded: the file with the size of a piece now, and
//! the segment of counters that it names.
//!
//! Neither can be shortened by another user: the file is its maker's alone, a segment has its size for
//! ever. Until then, and wherever one is missing, short or foreign, memory of our own stands in: sizes
//! of 0, which cut nothing, and counters that nobody reads. So no call has to ask whether it is mapped.
//! Held by `test without_the_files_nothing_is_cut` (`tests/families.rs`).

#[cfg(not(test))]
use crate::layout;
use crate::layout::Counter;
#[cfg(not(test))]
use core::ffi::{CStr, c_int};
#[cfg(not(test))]
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering::Relaxed};

/// What a call does with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Read,
    Write,
}

const COUNTERS: usize = Counter::ALL.len();

static NO_PIECES: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static NO_COUNTERS: [AtomicU64; COUNTERS] = [const { AtomicU64::new(0) }; COUNTERS];
static PIECES: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const NO_PIECES).cast_mut().cast());
static COUNTED: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const NO_COUNTERS).cast_mut().cast());

/// The size of a piece in bytes as the controller wants it at this moment; 0: do not cut.
#[inline(always)]
pub(crate) fn piece_bytes(way: Way) -> u64 {
    let index = match way {
        Way::Read => 0,
        Way::Write => 1,
    };
    // SAFETY: points to two numbers that live as long as the process.
    unsafe { (*PIECES.load(Relaxed).add(index)).load(Relaxed) }
}

/// True if `bytes` are more than one piece. 0 as the size of a piece wraps to the largest number.
#[inline(always)]
pub(crate) fn is_large(way: Way, bytes: usize) -> bool {
    bytes as u64 > piece_bytes(way).wrapping_sub(1).saturating_add(1)
}

/// Adds to a counter.
pub(crate) fn count(counter: Counter, more: u64) {
    // SAFETY: points to as many numbers as there are counters, which live as long as the process.
    unsafe { (*COUNTED.load(Relaxed).add(counter as usize)).fetch_add(more, Relaxed) };
}

/// Maps the file and attaches the counters, once, before `main` if the loader runs us in time.
#[cfg(not(test))]
pub(crate) fn map() {
    // SAFETY: the name ends with 0.
    let directory = unsafe { libc::getenv(c"BARO_SHARE".as_ptr()) };
    if directory.is_null() {
        return;
    }
    // SAFETY: the environment holds strings that end with 0.
    let directory = unsafe { CStr::from_ptr(directory) }.to_bytes();
    if let Some(start) = map_file(directory, b"/pieces\0", layout::PIECES_MAGIC) {
        PIECES.store(start.wrapping_byte_add(layout::READ_PIECE_AT), Relaxed);
        // SAFETY: the whole file was mapped, and stays so.
        unsafe { attach(start) };
    }
}

/// Attaches the segment of counters that a mapped file of sizes names, if it is that one.
///
/// # Safety
/// `pieces` points to a whole mapped file.
#[cfg(not(test))]
unsafe fn attach(pieces: *mut AtomicU64) {
    // SAFETY: inside the map, and aligned.
    let number = |at: usize| unsafe { (*pieces.wrapping_byte_add(at)).load(Relaxed) };
    let Some(id) = number(layout::SEGMENT_AT).checked_sub(1) else { return };
    let Ok(id) = c_int::try_from(id) else { return };
    // SAFETY: attached where the kernel chooses; no segment is smaller than a page, which holds all that is
    // looked at. It is never detached once it is used.
    unsafe {
        let start = libc::shmat(id, ptr::null(), 0);
        if start as isize == -1 {
            return;
        }
        let head: [u8; 12] = ptr::read(start.cast());
        let token: u64 = ptr::read(start.wrapping_byte_add(layout::SEGMENT_TOKEN_AT).cast());
        if !layout::is_valid(head, layout::COUNTERS_MAGIC) || token != number(layout::TOKEN_AT) {
            libc::shmdt(start);
            return;
        }
        COUNTED.store(start.wrapping_byte_add(layout::COUNTERS_AT).cast(), Relaxed);
    }
    count(Counter::Processes, 1);
}

/// Maps one file of `directory` if it is what it should be. `name` begins with `/` and ends with 0.
#[cfg(not(test))]
fn map_file(directory: &[u8], name: &[u8], magic: [u8; 8]) -> Option<*mut AtomicU64> {
    const PATH_BYTES: usize = 4096;
    let mut path = [0u8; PATH_BYTES];
    let (head, rest) = path.split_at_mut_checked(directory.len())?;
    let tail = rest.get_mut(..name.len())?;
    // SAFETY: both have the length that is copied, and the path is ours.
    unsafe {
        ptr::copy_nonoverlapping(directory.as_ptr(), head.as_mut_ptr(), directory.len());
        ptr::copy_nonoverlapping(name.as_ptr(), tail.as_mut_ptr(), name.len());
    }
    // SAFETY: the path ends with 0; a fresh descriptor is closed below and nowhere else.
    unsafe {
        let flags = libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NONBLOCK;
        let fd = libc::open(path.as_ptr().cast(), flags);
        if fd < 0 {
            return None;
        }
        let start = map_descriptor(fd, magic);
        libc::close(fd);
        start
    }
}

/// # Safety
/// `fd` is open.
#[cfg(not(test))]
unsafe fn map_descriptor(fd: c_int, magic: [u8; 8]) -> Option<*mut AtomicU64> {
    let bytes = layout::FILE_BYTES;
    // SAFETY: `state` is as large as the kernel fills it; the map is checked before it is read, and
    // a file that is long enough now stays so, since nobody may shorten it but root and this user.
    unsafe {
        let mut state: libc::stat64 = core::mem::zeroed();
        let is_file = libc::fstat64(fd, &raw mut state) == 0
            && state.st_mode & libc::S_IFMT == libc::S_IFREG
            && state.st_size >= bytes as i64
            && (state.st_uid == 0 || state.st_uid == libc::geteuid())
            && state.st_mode & (libc::S_IWGRP | libc::S_IWOTH) == 0;
        if !is_file {
            return None;
        }
        let start = libc::mmap(ptr::null_mut(), bytes, libc::PROT_READ, libc::MAP_SHARED, fd, 0);
        if start == libc::MAP_FAILED {
            return None;
        }
        let head: [u8; 12] = ptr::read(start.cast());
        if !layout::is_valid(head, magic) {
            libc::munmap(start, bytes);
            return None;
        }
        Some(start.cast())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_size_nothing_is_large() {
        assert!(!is_large(Way::Read, 0) && !is_large(Way::Write, usize::MAX));
        NO_PIECES[0].store(4096, Relaxed);
        assert!(!is_large(Way::Read, 0) && !is_large(Way::Read, 4096) && is_large(Way::Read, 4097));
        assert!(!is_large(Way::Write, usize::MAX));
        NO_PIECES[0].store(0, Relaxed);
    }
}
