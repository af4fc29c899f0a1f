//! Waiting for a turn at the manifest, which another process that settles or deletes has: who waits is told
//! for whom, and may stop waiting. Nothing is waited for without being said.
//!
//! Test: `a_settler_that_waits_for_another_process_says_so_and_is_ended` (`tests/turns.rs`).

use crate::{Error, Result};
use baro_log::{Holding, ManifestLock};
use baro_sys::disk::Disk;
use std::fmt;

/// A turn takes a few syncs; it is no news before.
pub(crate) const MOMENT_NS: u64 = 1_000_000_000;

type Turn = dyn Fn(Option<&Holding>) -> bool + Send + Sync;

/// Who is asked.
pub(super) struct Turns(Box<Turn>);

impl Default for Turns {
    fn default() -> Self {
        Turns(Box::new(|_| true))
    }
}

impl fmt::Debug for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turns")
    }
}

impl Turns {
    pub(super) fn new(turn: impl Fn(Option<&Holding>) -> bool + Send + Sync + 'static) -> Self {
        Turns(Box::new(turn))
    }

    /// The turn, for who does this.
    pub(super) fn take(&self, disk: &Disk, doing: &str) -> Result<ManifestLock> {
        let mut told = false;
        let taken = ManifestLock::take(disk, doing, &mut |holding, waited_ns| {
            told |= waited_ns >= MOMENT_NS;
            (self.0)(told.then_some(holding))
        });
        if told {
            (self.0)(None);
        }
        match taken {
            Err(baro_log::Error::Locked { .. }) => Err(Error::Ended),
            taken => Ok(taken?),
        }
    }
}
