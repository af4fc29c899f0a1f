//! The recorder on the real machine: real processes that are really killed, real file systems that
//! fail, real counters of the kernel.
//!
//! The simulator (`tests/crash`) enumerates crash points; this shows that the parts that it does
//! not simulate (ring files, locks, threads, O_DIRECT, ext4) keep the same promises. Contents and
//! counts are asserted, never times. What needs root or a kernel feature that is not there prints
//! `skipped: why`.
//!
//! Processes are this binary once more: see [`process`].

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
#![allow(missing_docs, unreachable_pub, missing_debug_implementations, reason = "a test")]

mod cut;
mod damage;
mod fault;
mod kernel;
mod kill;
mod machine;
mod places;
mod process;
mod push;
mod reading;
mod roles;
mod scene;
mod slow;
mod truth;

/// For `push`: counts this thread's allocations and is the system's allocator otherwise.
#[global_allocator]
static ALLOCATOR: baro_sys::counters::CountingAllocator = baro_sys::counters::CountingAllocator;

/// What a child process runs; nothing in the test process itself.
#[test]
fn role() {
    roles::run();
}
