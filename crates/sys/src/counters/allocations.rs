//! Counts the calling thread's allocations: to prove that a path makes none.
//!
//! The counter is the system's allocator with one thread-local addition; a program that wants to
//! be counted makes it its global allocator. Where it is not, the count stays at zero and
//! [`counting`] says so.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Constant and without a destructor, so that the allocator may use it at any time.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountingAllocator;

fn count() {
    // A thread that is ending has no counter any more, and nobody to read it.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

// SAFETY: every call is passed on unchanged to the system's allocator.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

/// Allocations of the calling thread so far.
#[must_use]
pub fn allocations() -> u64 {
    COUNT.try_with(Cell::get).unwrap_or(0)
}

/// Whether this program counts: tried with one allocation.
#[must_use]
pub fn counting() -> bool {
    let before = allocations();
    drop(std::hint::black_box(Box::new(0_u8)));
    allocations() > before
}
