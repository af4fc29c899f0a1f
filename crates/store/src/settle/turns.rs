//! Waiting for a turn at the manifest, which another process that settles or deletes has: who waits is told
//! for whom, and may stop waiting. Nothing is waited for without being said.
//!
//! Test: `a_settler_that_waits_for_another_process_says_so_and_is_ended` (`tests/settling.rs`).

use crate::{Error, Result};
use baro_log::{Holding, ManifestLock};
use baro_sys::clock;
use baro_sys::disk::Disk;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// A turn takes a few syncs; it is no news before.
const MOMENT_NS: u64 = 1_000_000_000;

type Turn = dyn Fn(Option<&Holding>) -> bool + Send + Sync;

/// Who is asked, and how long all turns were waited for.
pub(super) struct Turns {
    turn: Box<Turn>,
    waited_ns: AtomicU64,
}

impl Default for Turns {
    fn default() -> Self {
        Turns::new(|_| true)
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}

impl Turns {
    pub(super) fn new(turn: impl Fn(Option<&Holding>) -> bool + Send + Sync + 'static) -> Self {
        Turns { turn: Box::new(turn), waited_ns: AtomicU64::new(0) }
    }

    /// Nanoseconds.
    pub(super) fn waited_ns(&self) -> u64 {
        self.waited_ns.load(Ordering::Relaxed)
    }

    /// The turn, for who does this.
    pub(super) fn take(&self, disk: &Disk, doing: &str) -> Result<ManifestLock> {
        let (mut told, since_ns) = (false, clock::monotonic_ns());
        let taken = ManifestLock::take(disk, doing, &mut |holding, waited_ns| {
            told |= waited_ns >= MOMENT_NS;
            (self.turn)(told.then_some(holding))
        });
        self.waited_ns.fetch_add(clock::monotonic_ns() - since_ns, Ordering::Relaxed);
        if told {
            (self.turn)(None);
        }
        match taken {
            Err(baro_log::Error::Locked { .. }) => Err(Error::Ended),
            taken => Ok(taken?),
        }
    }
}
