//! The two rings that are shared with the kernel: submissions and completions.

use super::abi::{Completion, Entry, OFFSET_ENTRIES, OFFSET_RINGS, Parameters, SQ_NEED_WAKEUP};
use super::{AsRawFd, Ordering, OwnedFd, io};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// A mapping of the ring's descriptor.
#[derive(Debug)]
struct Shared {
    start: NonNull<u8>,
    bytes: usize,
}

impl Shared {
    fn map(ring: &OwnedFd, bytes: usize, offset: libc::off_t) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_POPULATE;
        let fd = ring.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
    }

    /// The place `offset` bytes from the start, of `bytes` bytes.
    fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        assert!(offset + bytes <= self.bytes, "the kernel's rings lie in their mapping");
        // SAFETY: inside the mapping, as was just checked.
        unsafe { self.start.as_ptr().add(offset) }
    }

    /// A word that the kernel reads or writes too.
    fn word(&self, offset: usize) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4), "the kernel's words are aligned");
        // SAFETY: an aligned place inside the mapping, which lives as long as `self`; both sides
        // use it as an atomic.
        unsafe { AtomicU32::from_ptr(self.at(offset, 4).cast()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the range is this mapping, and nothing refers to it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Both rings and the array of entries.
#[derive(Debug)]
pub(super) struct Rings {
    rings: Shared,
    entries: Shared,
    parameters: Parameters,
}

// SAFETY: a mapping belongs to the process; all access is through `&mut self` or atomic.
unsafe impl Send for Rings {}

impl Rings {
    pub(super) fn map(ring: &OwnedFd, parameters: &Parameters) -> io::Result<Self> {
        let (submission, completion) = (&parameters.submission, &parameters.completion);
        let submissions = parameters.submission_entries as usize;
        let array_end = submission.array as usize + submissions * size_of::<u32>();
        let completions_end = completion.completions as usize
            + parameters.completion_entries as usize * size_of::<Completion>();
        let rings = Shared::map(ring, array_end.max(completions_end), OFFSET_RINGS)?;
        let entries = Shared::map(ring, submissions * size_of::<Entry>(), OFFSET_ENTRIES)?;
        let rings = Self { rings, entries, parameters: *parameters };
        // Entry number n is always the n-th of the array.
        for index in 0..parameters.submission_entries {
            let place = parameters.submission.array + index * size_of::<u32>() as u32;
            rings.rings.word(place as usize).store(index, Ordering::Relaxed);
        }
        Ok(rings)
    }

    fn load(&self, offset: u32, ordering: Ordering) -> u32 {
        self.rings.word(offset as usize).load(ordering)
    }

    fn store(&self, offset: u32, value: u32) {
        self.rings.word(offset as usize).store(value, Ordering::Release);
    }

    /// Publishes an entry. There is room: slots are no more than entries, and an entry that the
    /// kernel has not taken has a slot under way.
    pub(super) fn publish(&mut self, entry: Entry) {
        let offsets = self.parameters.submission;
        let tail = self.load(offsets.tail, Ordering::Relaxed);
        let index = tail & (self.parameters.submission_entries - 1);
        let place = self.entries.at(index as usize * size_of::<Entry>(), size_of::<Entry>());
        // SAFETY: the place is inside the mapping and aligned; the kernel looks at it only once
        // the tail is published.
        unsafe { place.cast::<Entry>().write(entry) };
        self.store(offsets.tail, tail.wrapping_add(1));
    }

    /// Takes the last entry back that the kernel has refused to take.
    pub(super) fn take_back(&mut self) {
        let offset = self.parameters.submission.tail;
        let tail = self.load(offset, Ordering::Relaxed);
        self.store(offset, tail.wrapping_sub(1));
    }

    /// Whether the polling thread sleeps.
    pub(super) fn needs_wakeup(&self) -> bool {
        self.load(self.parameters.submission.flags, Ordering::Relaxed) & SQ_NEED_WAKEUP != 0
    }

    /// The next completion: what was said with the entry, and the result.
    pub(super) fn next_completion(&mut self) -> Option<(u64, i32)> {
        let offsets = self.parameters.completion;
        let head = self.load(offsets.head, Ordering::Relaxed);
        if head == self.load(offsets.tail, Ordering::Acquire) {
            return None;
        }
        let index = (head & (self.parameters.completion_entries - 1)) as usize;
        let place = offsets.completions as usize + index * size_of::<Completion>();
        let place = self.rings.at(place, size_of::<Completion>());
        // SAFETY: inside the mapping and aligned; the kernel wrote it before the tail we saw, and
        // writes it again only after the head below.
        let completion = unsafe { place.cast::<Completion>().read() };
        self.store(offsets.head, head.wrapping_add(1));
        Some((completion.user_data, completion.result))
    }
}
