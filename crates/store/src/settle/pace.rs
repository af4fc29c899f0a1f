//! The pace of settling: after each piece of work it rests as many times as long as the piece took,
//! so that a recorder beside it finds the device free. Another thread may change the pace, and may
//! end the work at the next piece: then everything is as before it began.

use crate::{Error, Result};
use baro_log::Taken;
use baro_sys::clock;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Longest rest after a piece.
const REST_MAX_NS: u64 = 1_000_000_000;
/// So often a rest looks whether it is over.
const SLICE_NS: u64 = 20_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Pace {
    rest: AtomicU32,
    ended: AtomicBool,
    taken: Arc<Taken>,
}

impl Pace {
    pub(super) fn new(rest: u32) -> Self {
        Pace::beside(rest, Arc::default())
    }

    /// The same where a recorder is told what is read.
    pub(super) fn beside(rest: u32, taken: Arc<Taken>) -> Self {
        Pace { rest: AtomicU32::new(rest), ended: AtomicBool::new(false), taken }
    }

    /// What is read of the log.
    pub(super) fn taken(&self) -> &Taken {
        &self.taken
    }

    /// From now on it rests so many times as long as a piece took.
    pub(super) fn set(&self, rest: u32) {
        self.rest.store(rest, Ordering::Relaxed);
    }

    /// The work ends with [`Error::Ended`] at its next piece, unless the log has not any more what it has
    /// read: then it ends with the run that holds it.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Rests after a piece that began at `since_ns`; returns when the next one begins.
    ///
    /// # Errors
    /// The work is to end.
    pub(super) fn rest(&self, since_ns: u64) -> Result<u64> {
        let begun_ns = clock::monotonic_ns();
        let took_ns = begun_ns.saturating_sub(since_ns);
        loop {
            let ended = self.ended();
            if ended && self.taken.holds_the_only_copy() {
                return Ok(clock::monotonic_ns());
            }
            if ended {
                return Err(Error::Ended);
            }
            let rest = u64::from(self.rest.load(Ordering::Relaxed));
            let rest_ns = took_ns.saturating_mul(rest).min(REST_MAX_NS);
            let rested_ns = clock::monotonic_ns() - begun_ns;
            if rested_ns >= rest_ns {
                return Ok(clock::monotonic_ns());
            }
            clock::sleep_ns((rest_ns - rested_ns).min(SLICE_NS));
        }
    }
}
