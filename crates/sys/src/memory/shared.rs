//! Memory shared between processes: a fully allocated file on a tmpfs, or anonymous memory.
//!
//! Another process may write to it at any time, so nothing here lends out a reference to its
//! bytes: they are copied in and out, and the counters are atomics. What comes out is to be
//! treated as hostile.
//!
//! As long as both sides keep the ring's protocol no byte is copied while the other side writes it:
//! the counters order that. A side that does not keep it makes a copy a race, which Rust's memory
//! model, for one program, gives no meaning to. What is compiled is a copy that takes each byte as it
//! is at some moment; [`settle`] keeps the compiler from reading the shared bytes a second time in
//! place of the copy that was checked. Copies made of atomics or volatile words would say the same, but
//! the compiler joins none of them: 16 KiB took 578 ns in place of 206 (EPYC, one process). The few
//! words of a record's head, which say how much is copied next, are read as atomics.
//!
//! Whoever may write the file may also shorten it: see `guard`. Invariant: such memory ends no process
//! and says that it is lost. Held by the tests of `guard` and of the recorder.

use super::guard::Guard;
use super::map::{Locked, Map};
use crate::state::StateFolder;
use crate::{Error, Result};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const LINE_BYTES: usize = 64;
/// Beyond this the processor's own prefetcher has noticed the stream.
const PREFETCH_BYTES_MAX: usize = 512;

#[inline]
fn prefetch_line(line: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads and writes nothing and cannot fault.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as above.
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) line, options(nostack, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = line;
}

/// Shared memory of fixed size; clones are handles of the same mapping.
///
/// A handle carries the address itself: who pushes touches no other cache line to find it.
#[derive(Clone, Debug)]
pub struct SharedMemory {
    start: NonNull<u8>,
    bytes: usize,
    owner: Arc<Owner>,
}

/// What lives as long as the last handle.
#[derive(Debug)]
struct Owner {
    /// Ends before the mapping; none of private memory.
    guard: Option<Guard>,
    /// Unmapped with the last handle.
    _map: Map,
    file: Option<File>,
    /// Where the file is, if it came through the door for state files.
    place: Option<(StateFolder, String)>,
    path: PathBuf,
    locked: Locked,
}

/// Makes the compiler take what was copied as it is in the copy, whatever lies in shared memory since.
#[inline(always)]
fn settle() {
    // SAFETY: no instruction at all; it may only be taken to touch any memory.
    unsafe { std::arch::asm!("", options(nostack, preserves_flags)) };
}

// SAFETY: `start` is the address of `owner`'s mapping, which belongs to the process, not to a
// thread; bytes are only copied, and counters are atomics.
unsafe impl Send for SharedMemory {}
// SAFETY: as above.
unsafe impl Sync for SharedMemory {}

impl SharedMemory {
    /// Memory of this process only: nothing can attach, nothing survives.
    ///
    /// # Errors
    /// There is no memory.
    pub fn private(bytes: usize) -> Result<Self> {
        let map = Map::new(bytes, None)?;
        Ok(Self::own(map, None, PathBuf::new(), None, None))
    }

    /// Makes the file `name` in `folder` with `bytes` of allocated zeros and these rights. It must lie
    /// on a tmpfs. All of it is allocated here: a hole would be a SIGBUS when memory is
    /// short.
    ///
    /// # Errors
    /// The name is taken, or there is not enough memory.
    pub fn create_in(folder: &StateFolder, name: &str, bytes: usize, mode: u32) -> Result<Self> {
        let file = folder.create_file(name, mode)?;
        let path = folder.path().join(name);
        if let Err(error) = allocate(&file, &path, bytes) {
            let _ = folder.remove(name);
            return Err(error);
        }
        Self::map_file(file, &path, bytes, Some((folder.clone(), name.to_owned())))
    }

    /// Opens a file made by [`SharedMemory::create_in`].
    ///
    /// # Errors
    /// It is missing, not its owner's alone to write, or it has holes.
    pub fn open_in(folder: &StateFolder, name: &str) -> Result<Self> {
        let file = folder.open_file_to_write(name)?;
        Self::map_whole(file, &folder.path().join(name), Some((folder.clone(), name.to_owned())))
    }

    /// The same of a file that nobody but its owner can open: for who writes into it what others are
    /// not to read.
    ///
    /// # Errors
    /// As [`SharedMemory::open_in`]; others may read it.
    pub fn open_private_in(folder: &StateFolder, name: &str) -> Result<Self> {
        let file = folder.open_private_file(name)?;
        Self::map_whole(file, &folder.path().join(name), Some((folder.clone(), name.to_owned())))
    }

    fn map_whole(file: File, path: &Path, place: Option<(StateFolder, String)>) -> Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let found = file.metadata().map_err(|e| Error::new("stat", path, e))?;
        let bytes = usize::try_from(found.len()).unwrap_or(0);
        if !found.is_file() || bytes < 4096 || found.blocks() * 512 < found.len() {
            let reason = std::io::Error::other("expected a fully allocated file, found holes");
            return Err(Error::new("map", path, reason));
        }
        Self::map_file(file, path, bytes, place)
    }

    fn map_file(
        file: File,
        path: &Path,
        bytes: usize,
        place: Option<(StateFolder, String)>,
    ) -> Result<Self> {
        let map = Map::new(bytes, Some(file.as_raw_fd()))?;
        // Before any of its pages is touched.
        let guard = Guard::new(map.start(), map.bytes())?;
        map.collapse();
        let memory = Self::own(map, Some(file), path.to_owned(), Some(guard), place);
        Ok(memory)
    }

    fn own(
        map: Map,
        file: Option<File>,
        path: PathBuf,
        guard: Option<Guard>,
        place: Option<(StateFolder, String)>,
    ) -> Self {
        let (locked, bytes) = (map.lock(), map.bytes());
        let start = map.address();
        let owner = Arc::new(Owner { guard, _map: map, file, place, path, locked });
        SharedMemory { start, bytes, owner }
    }

    /// Whether the file was cut off while it was mapped: what is read are zeros, what is written is
    /// seen by nobody else.
    #[must_use]
    pub fn lost(&self) -> bool {
        self.owner.guard.as_ref().is_some_and(Guard::lost)
    }

    /// As [`SharedMemory::lost`], and asks the kernel whether the file is as long as it was: a part that
    /// was cut off may be one that only another process has touched since. One system call.
    #[must_use]
    pub fn is_cut(&self) -> bool {
        let length = self.owner.file.as_ref().and_then(|file| file.metadata().ok());
        self.lost() || length.is_some_and(|found| found.len() < self.bytes as u64)
    }

    /// Writes a number into the file by its descriptor: of memory that is lost the mapping is nobody
    /// else's any more. Makes the file longer if it ends before. Best effort.
    pub fn write_through(&self, offset: u64, number: u64) {
        use std::os::unix::fs::FileExt;
        if let Some(file) = &self.owner.file {
            let _ = file.write_all_at(&number.to_le_bytes(), offset);
        }
    }

    /// Has the number `mark` (not 0) at `offset` when the file is lost, so that who reads it anyway
    /// learns of it at no cost.
    ///
    /// # Panics
    /// As [`SharedMemory::counter`].
    pub fn mark_when_lost(&self, offset: usize, mark: u64) {
        let _ = self.counter(offset);
        if let Some(guard) = &self.owner.guard {
            guard.mark(offset, mark);
        }
    }

    /// Removes the file, unless its name means another one by now, and its folder if nothing else is
    /// in it. Not for a file that was opened by its path.
    pub fn remove_file(&self) {
        if let (Some((folder, name)), Some(file)) = (&self.owner.place, &self.owner.file) {
            if folder.names(name, file) {
                let _ = folder.remove(name);
            }
            folder.remove_if_empty();
        }
    }

    /// Who may open the file: permission bits as of chmod. Of private memory there is none.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn set_mode(&self, mode: u32) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let Some(file) = &self.owner.file else { return Ok(()) };
        file.set_permissions(std::fs::Permissions::from_mode(mode))
            .map_err(|e| Error::new("set the mode", &self.owner.path, e))
    }

    /// The number of its file, by which maps in /proc show it.
    #[must_use]
    pub fn inode(&self) -> Option<u64> {
        use std::os::unix::fs::MetadataExt;
        Some(self.owner.file.as_ref()?.metadata().ok()?.ino())
    }

    /// Size in bytes.
    #[must_use]
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The file, empty if private.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.owner.path
    }

    /// Handles of this mapping in this process.
    #[must_use]
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.owner)
    }

    /// Whether the memory is locked.
    #[must_use]
    pub fn locked(&self) -> &Locked {
        &self.owner.locked
    }

    /// Takes an exclusive lock on byte `byte` of the file for as long as this handle lives
    /// (nothing to do for private memory). False if another handle has it.
    ///
    /// # Errors
    /// The kernel has no such locks (before 3.15), or none is left.
    pub fn try_lock(&self, byte: i64) -> Result<bool> {
        match &self.owner.file {
            Some(file) => {
                let attempt = crate::lock::try_lock(file, byte, &self.owner.path)?;
                Ok(attempt == crate::lock::Attempt::Taken)
            }
            None => Ok(true),
        }
    }

    /// Whether another handle has the lock on byte `byte`. Takes nothing; false for private memory.
    #[must_use]
    pub fn is_locked(&self, byte: i64) -> bool {
        self.owner.file.as_ref().is_some_and(|file| crate::lock::is_locked(file, byte))
    }

    /// Gives back what [`SharedMemory::try_lock`] took.
    pub fn unlock(&self, byte: i64) {
        if let Some(file) = &self.owner.file {
            crate::lock::unlock(file, byte);
        }
    }

    /// The counter at `offset`, a multiple of 8 inside the memory.
    ///
    /// # Panics
    /// If `offset` is not such; offsets are constants of the ring's layout.
    #[must_use]
    #[inline]
    pub fn counter(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset + 8 <= self.bytes());
        // SAFETY: aligned, inside a live mapping, and shared only as an atomic.
        unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset).cast()) }
    }

    /// Copies `bytes` to `offset`.
    ///
    /// # Panics
    /// If they do not fit: callers compute offsets modulo a capacity checked at open.
    #[inline]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset <= self.bytes() && bytes.len() <= self.bytes() - offset);
        // SAFETY: the target range lies in the mapping and `bytes` is ours; they cannot overlap,
        // since no slice of a mapping is ever lent out. Another process may write the same bytes
        // meanwhile: what is read back is never trusted.
        unsafe {
            let to = self.start.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    /// Writes the numbers of `head`, little-endian, to `offset` and copies `bytes` behind them, with
    /// one check for both.
    ///
    /// Numbers and not bytes, because bytes put together in a buffer and copied from there would
    /// wait until that buffer has left the processor's store queue, behind every earlier store that
    /// has missed the cache: a hundred nanoseconds for each seventh record, measured.
    ///
    /// # Panics
    /// If they do not fit.
    #[inline]
    pub fn write_both<const N: usize>(&self, offset: usize, head: [u64; N], bytes: &[u8]) {
        assert!(offset <= self.bytes() && N * 8 + bytes.len() <= self.bytes() - offset);
        // SAFETY: as in `write`; both ranges lie in the mapping.
        unsafe {
            let to = self.start.as_ptr().add(offset);
            for (at, number) in head.into_iter().enumerate() {
                to.add(at * 8).cast::<[u8; 8]>().write(number.to_le_bytes());
            }
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to.add(N * 8), bytes.len());
        }
    }

    /// Asks the processor to have the lines of up to `bytes` at `offset` at hand for writing. Costs
    /// a few cycles and never faults; without effect where the processor has no such instruction.
    #[inline]
    pub fn prefetch(&self, offset: usize, bytes: usize) {
        let end = (offset + bytes.min(PREFETCH_BYTES_MAX)).min(self.bytes());
        for line in (offset & !(LINE_BYTES - 1)..end).step_by(LINE_BYTES) {
            // In bounds, since `end` is; a prefetch of any address would be harmless.
            prefetch_line(self.start.as_ptr().wrapping_add(line));
        }
    }

    /// The `N` numbers, little-endian, at `offset`, each read once.
    ///
    /// # Panics
    /// If they are not inside the memory, or `offset` is no multiple of 8.
    #[must_use]
    #[inline]
    pub fn numbers<const N: usize>(&self, offset: usize) -> [u64; N] {
        assert!(offset.is_multiple_of(8));
        assert!(offset <= self.bytes() && N * 8 <= self.bytes() - offset);
        std::array::from_fn(|at| {
            // SAFETY: inside the mapping and aligned, as was checked.
            let number =
                unsafe { AtomicU64::from_ptr(self.start.as_ptr().add(offset + at * 8).cast()) };
            u64::from_le(number.load(Ordering::Relaxed))
        })
    }

    /// Copies the bytes at `offset` to `bytes`.
    ///
    /// # Panics
    /// If the range is not inside the memory.
    #[inline]
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        assert!(offset <= self.bytes() && bytes.len() <= self.bytes() - offset);
        // SAFETY: as in `write`, with the directions exchanged.
        unsafe {
            let from = self.start.as_ptr().add(offset);
            std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len());
        }
        settle();
    }
}

/// Gives the new file all of its bytes.
fn allocate(file: &File, path: &Path, bytes: usize) -> Result<()> {
    let length = i64::try_from(bytes);
    // SAFETY: plain call on an open descriptor.
    let allocate = |length| unsafe { libc::posix_fallocate64(file.as_raw_fd(), 0, length) };
    match length.map_or(libc::EINVAL, allocate) {
        0 => Ok(()),
        errno => {
            let reason = std::io::Error::from_raw_os_error(errno);
            Err(Error::new(format!("allocate {bytes} bytes of shared memory"), path, reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_handles_share_bytes_and_locks_exclude() {
        let name = format!("baro-shared-{}", std::process::id());
        let Ok(folder) = StateFolder::open(Path::new("/dev/shm")) else {
            println!("skipped: no /dev/shm");
            return;
        };
        let a = SharedMemory::create_in(&folder, &name, 8192, 0o600).unwrap();
        assert!(SharedMemory::create_in(&folder, &name, 8192, 0o600).is_err());
        let b = SharedMemory::open_in(&folder, &name).unwrap();
        a.write(5000, b"abc");
        let mut bytes = [0; 3];
        b.read(5000, &mut bytes);
        assert_eq!(&bytes, b"abc");
        a.counter(128).store(9, Ordering::Release);
        assert_eq!(b.counter(128).load(Ordering::Acquire), 9);
        assert!(a.try_lock(0).unwrap());
        assert!(!b.try_lock(0).unwrap());
        assert_eq!((b.is_locked(0), b.is_locked(1), a.is_locked(0)), (true, false, false));
        assert!(b.try_lock(1).unwrap());
        a.unlock(0);
        assert!(b.try_lock(0).unwrap());
        b.unlock(0);
        drop(a);
        assert!(b.try_lock(0).unwrap());
        folder.remove(&name).unwrap();
    }

    #[test]
    fn a_file_with_holes_is_refused() {
        let path = std::env::temp_dir().join(format!("baro-holes-{}", std::process::id()));
        let folder = StateFolder::make(&path, 0o700).unwrap();
        folder.create_file("holes", 0o600).unwrap().set_len(1 << 20).unwrap();
        let refused = SharedMemory::open_in(&folder, "holes").unwrap_err();
        assert!(refused.to_string().contains("found holes"), "{refused}");
        std::fs::remove_dir_all(&path).unwrap();
    }
}
