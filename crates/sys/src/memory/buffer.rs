//! A page-aligned buffer of fixed size, for direct I/O.

use super::map::{Locked, Map};
use crate::Result;
use std::ops::{Deref, DerefMut};

/// Page-aligned private memory.
#[derive(Debug)]
pub struct AlignedBuffer {
    map: Map,
}

impl AlignedBuffer {
    /// Maps `bytes` (whole pages) of zeros and locks them if the kernel allows.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(bytes: usize) -> Result<(Self, Locked)> {
        let map = Map::new(bytes, None)?;
        let locked = map.lock();
        Ok((AlignedBuffer { map }, locked))
    }

    /// The same of huge pages where the kernel can make them, as a ring is.
    ///
    /// # Errors
    /// There is no memory.
    pub fn huge(bytes: usize) -> Result<Self> {
        let (buffer, _) = Self::new(bytes)?;
        // After locking, since only pages that are there are put together.
        buffer.map.collapse();
        Ok(buffer)
    }

    /// Maps `bytes` (whole pages) that take memory only as they are touched: for readers.
    ///
    /// # Errors
    /// There is no memory.
    pub fn unlocked(bytes: usize) -> Result<Self> {
        Ok(AlignedBuffer { map: Map::new(bytes, None)? })
    }

    /// Where it begins, for memory that the kernel reads while a part of it is filled: no reference
    /// to the bytes is made.
    #[must_use]
    pub fn start(&self) -> *mut u8 {
        self.map.start()
    }

    /// Its bytes; makes no reference to them either.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.map.bytes()
    }
}

impl Deref for AlignedBuffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is private, initialised by the kernel, and borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.map.start(), self.map.bytes()) }
    }
}

impl DerefMut for AlignedBuffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.map.start(), self.map.bytes()) }
    }
}
