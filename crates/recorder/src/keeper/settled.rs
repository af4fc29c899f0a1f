//! How far the log is settled into runs: read from the manifest, which whoever settles replaces, be
//! it this process or another. The engine is told, so that nothing unsettled is recycled.
//!
//! Invariant: a segment with unsettled samples is not recycled. Held by
//! `what_is_not_settled_is_not_recycled` (`tests/crash/pinning.rs`), and through kills and power
//! cuts by `what_a_killed_settling_said_lets_nothing_be_recycled_before_it_is_durable` of the store.

use super::{Keeper, Log, Tell};
use baro_log::{RUNS, read_progress};
use baro_sys::storage::Storage;

/// Between two looks at the manifest.
const LOOK_NS: u64 = 250_000_000;

impl<S: Storage> Keeper<S> {
    /// Tells the engine if more is settled than before. A manifest that cannot be read settles
    /// nothing: its reader in the store says so.
    pub(super) fn look_for_settled(&mut self, now_ns: u64, log: &mut impl Log) {
        if !self.retention.keep_unsettled || now_ns < self.settled_at_ns {
            return;
        }
        self.settled_at_ns = now_ns + LOOK_NS;
        let Some((generation, settled)) = read_progress(&self.storage, self.identity.store) else {
            return;
        };
        // Whoever settles renames first and syncs the folder then, or is killed between: what is read
        // here may be gone after a power cut. Nothing is recycled for that.
        if settled > self.settled && self.storage.sync_folder(RUNS).is_ok() {
            self.settled = settled;
            log.tell(Tell::Generation(generation));
            log.tell(Tell::Settled(settled));
            self.drop_copies(log);
        }
    }
}
