//! What the tasks of a cause look at: whether it goes on.
//!
//! Apart from the stage, which knows the cast, since each part of the cast looks at it. Invariant: it
//! is over when the victim ends, the stage is told to stop, or its time is up. Held by
//! `tests/causes.rs`.

use baro_sys::clock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What tasks look at to know whether to go on.
#[derive(Debug)]
pub(super) struct Show<'a> {
    stop: &'a AtomicBool,
    over: AtomicBool,
    end_ns: u64,
}

impl<'a> Show<'a> {
    pub(super) fn until(end_ns: u64, stop: &'a AtomicBool) -> Self {
        Self { stop, over: AtomicBool::new(false), end_ns }
    }

    /// Whoever looks from here on ends.
    pub(super) fn end(&self) {
        self.over.store(true, Relaxed);
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.stop.load(Relaxed) && !self.over.load(Relaxed) && clock::monotonic_ns() < self.end_ns
    }

    /// Sleeps, but not long beyond the end.
    pub(super) fn pause_ns(&self, pause_ns: u64) {
        const STEP_NS: u64 = 20_000_000;
        let until_ns = clock::monotonic_ns().saturating_add(pause_ns);
        while self.goes_on() && clock::monotonic_ns() < until_ns {
            clock::sleep_until_ns(until_ns.min(clock::monotonic_ns() + STEP_NS));
        }
    }
}
