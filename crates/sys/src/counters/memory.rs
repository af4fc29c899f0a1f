//! Measures the calling thread's memory: what is allocated now, the most there was, and how often. So
//! tests hold a reader of foreign bytes to its bound (docs/limits.md), in bytes and not in what the
//! kernel happens to have handed out.
//!
//! A program of tests makes it its global allocator. What another thread frees is not seen, so what
//! is measured must run on one thread.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a thread has allocated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Bytes allocated now.
    pub live_bytes: i64,
    /// The most bytes since [`measured`] began.
    pub peak_bytes: i64,
    /// Bytes allocated in all, freed or not.
    pub sum_bytes: i64,
    /// Allocations.
    pub count: i64,
}

thread_local! {
    // Constant and without a destructor, so that the allocator may use it at any time.
    static MEMORY: Cell<Memory> = const {
        Cell::new(Memory { live_bytes: 0, peak_bytes: 0, sum_bytes: 0, count: 0 })
    };
}

/// The system's allocator, measuring.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuringAllocator;

fn change(allocated: usize, freed: usize) {
    // A thread that is ending has no counter any more, and nobody to read it.
    let _ = MEMORY.try_with(|memory| {
        let mut now = memory.get();
        now.live_bytes += allocated as i64 - freed as i64;
        now.peak_bytes = now.peak_bytes.max(now.live_bytes);
        now.sum_bytes += allocated as i64;
        now.count += i64::from(allocated > 0);
        memory.set(now);
    });
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for MeasuringAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        change(layout.size(), 0);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        change(0, layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        change(layout.size(), 0);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        change(size, layout.size());
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// What `work` returns, and what it took: its peak above what was allocated before, its sum and count.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, Memory) {
    let get = || MEMORY.try_with(Cell::get).unwrap_or_default();
    let before = get();
    let _ = MEMORY.try_with(|memory| {
        memory.set(Memory { peak_bytes: before.live_bytes, ..before });
    });
    let result = work();
    let after = get();
    let took = Memory {
        live_bytes: after.live_bytes - before.live_bytes,
        peak_bytes: after.peak_bytes - before.live_bytes,
        sum_bytes: after.sum_bytes - before.sum_bytes,
        count: after.count - before.count,
    };
    (result, took)
}
