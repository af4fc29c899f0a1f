//! Tells a forked child from its parent by one load: a page that the kernel wipes on fork.

use super::map::Map;
use crate::Result;
use std::sync::atomic::{AtomicU8, Ordering};

/// A handle of the process that made it.
#[derive(Debug)]
pub struct ForkGuard {
    map: Map,
}

impl ForkGuard {
    /// Marks this process. Before Linux 4.14 the mark is inherited and a child cannot be told.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new() -> Result<Self> {
        let map = Map::new(4096, None)?;
        // SAFETY: the range is this mapping, private and anonymous as the advice demands.
        unsafe { libc::madvise(map.start().cast(), map.bytes(), libc::MADV_WIPEONFORK) };
        let guard = ForkGuard { map };
        guard.mark().store(1, Ordering::Relaxed);
        Ok(guard)
    }

    fn mark(&self) -> &AtomicU8 {
        // SAFETY: the first byte of a live mapping that is only used through this atomic.
        unsafe { AtomicU8::from_ptr(self.map.start()) }
    }

    /// Whether this is still the process that made the guard.
    #[must_use]
    #[inline]
    pub fn same_process(&self) -> bool {
        self.mark().load(Ordering::Relaxed) == 1
    }
}
