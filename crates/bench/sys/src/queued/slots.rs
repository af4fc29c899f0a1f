//! The memory that writes under way are taken from, and the account of them.
//!
//! Not a slice: the kernel, or a thread of the C library, reads a slot while others are filled, so
//! bytes are copied in through pointers and no reference to the memory is ever made.

use super::{QueueCounts, QueueSpec};
use baro_sys::memory::AlignedBuffer;
use std::io;

#[derive(Debug)]
pub(super) struct Slots {
    /// `None` only while it is being leaked.
    memory: Option<AlignedBuffer>,
    spec: QueueSpec,
    free: Vec<u32>,
    /// Bytes under way by slot; `None` if it is free.
    under_way: Vec<Option<u32>>,
    pub(super) counts: QueueCounts,
}

impl Slots {
    /// Memory for `spec`, present and, if the kernel allows, locked.
    pub(super) fn new(spec: QueueSpec) -> io::Result<Self> {
        spec.check()?;
        let bytes = (spec.slots as usize).checked_mul(spec.slot_bytes);
        let bytes = bytes.ok_or(io::ErrorKind::OutOfMemory)?;
        let (memory, _) = AlignedBuffer::new(bytes).map_err(|error| error.source)?;
        Ok(Self {
            memory: Some(memory),
            spec,
            // The last one is taken first.
            free: (0..spec.slots).rev().collect(),
            under_way: vec![None; spec.slots as usize],
            counts: QueueCounts::default(),
        })
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.memory.as_ref().map_or(std::ptr::null_mut(), AlignedBuffer::start)
    }

    pub(super) fn bytes(&self) -> usize {
        self.memory.as_ref().map_or(0, AlignedBuffer::bytes)
    }

    pub(super) fn has_free(&self) -> bool {
        !self.free.is_empty()
    }

    /// Writes under way.
    pub(super) fn len(&self) -> usize {
        self.under_way.len() - self.free.len()
    }

    /// Whether `data` fits into a slot.
    pub(super) fn check(&self, data: &[u8]) -> io::Result<()> {
        if data.len() <= self.spec.slot_bytes {
            return Ok(());
        }
        let (found, limit) = (data.len(), self.spec.slot_bytes);
        let message = format!("a write of {found} bytes, but a slot has {limit}");
        Err(io::Error::new(io::ErrorKind::InvalidInput, message))
    }

    /// Takes a slot and copies `data`, which [`Self::check`] has let pass, into it: its number and
    /// where its bytes are. `None` without a free slot.
    pub(super) fn fill(&mut self, data: &[u8]) -> Option<(u32, *mut u8)> {
        let slot = self.free.pop()?;
        let length = data.len().min(self.spec.slot_bytes);
        // SAFETY: the slot lies in the mapping, whose size is slots times slot_bytes.
        let place = unsafe { self.start().add(slot as usize * self.spec.slot_bytes) };
        // SAFETY: `length` is at most a slot; the slot is free, so nobody else uses its bytes;
        // `data` is a Rust slice and cannot overlap with memory that none refers to.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), place, length) };
        if let Some(entry) = self.under_way.get_mut(slot as usize) {
            *entry = u32::try_from(length).ok();
        }
        Some((slot, place))
    }

    /// Frees a slot whose write was never taken by the kernel.
    pub(super) fn give_back(&mut self, slot: u32) {
        if self.under_way.get_mut(slot as usize).and_then(Option::take).is_some() {
            self.free.push(slot);
        }
    }

    /// Frees a slot whose write ended with `result`: bytes written or a negative error number.
    /// Anything but a slot under way is ignored.
    pub(super) fn complete(&mut self, slot: u64, result: i64) {
        let Ok(slot) = u32::try_from(slot) else { return };
        let Some(length) = self.under_way.get_mut(slot as usize).and_then(Option::take) else {
            return;
        };
        self.free.push(slot);
        if result == i64::from(length) {
            self.counts.completed += 1;
            return;
        }
        self.counts.failed += 1;
        let kind = match i32::try_from(-result) {
            Ok(number) if number > 0 => io::Error::from_raw_os_error(number).kind(),
            _ => io::ErrorKind::WriteZero,
        };
        self.counts.first_error.get_or_insert(kind);
    }

    /// Gives the memory up for ever: somebody may still be reading it.
    pub(super) fn leak(&mut self) {
        std::mem::forget(self.memory.take());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::SPEC;
    use super::Slots;
    use std::io;

    #[test]
    fn slots_are_taken_once_and_completions_of_nothing_are_ignored() {
        let mut slots = Slots::new(SPEC).unwrap();
        let taken: Vec<u32> = (0..4).map(|_| slots.fill(&[1; 100]).unwrap().0).collect();
        assert_eq!(taken, [0, 1, 2, 3]);
        assert!(!slots.has_free() && slots.fill(&[1]).is_none());
        slots.complete(1, 100);
        slots.complete(1, 100);
        slots.complete(77, 100);
        slots.complete(u64::MAX, 0);
        slots.complete(2, 99);
        slots.complete(0, -i64::from(libc::ENOSPC));
        slots.give_back(3);
        slots.give_back(3);
        let counts = slots.counts;
        assert_eq!((counts.completed, counts.failed, slots.len()), (1, 2, 0));
        assert_eq!(counts.first_error, Some(io::ErrorKind::WriteZero));
    }
}
