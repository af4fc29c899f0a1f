//! Settling while `baro record` or `baro import` records: the thread of `baro_store`, told how far the
//! log is and asked how it goes.
//!
//! A source that can wait (stdin, an import) waits for settling when the log is full of unsettled
//! samples. To one that cannot, and to stdin if settling has stopped, such samples yield; how many
//! segments that were is counted, and costs exit code 3. Another process, which settles or deletes, is
//! waited for however long that takes, and that is said: settling has not stopped.
//!
//! Invariant: nothing that is durable yields because another process is slow. Held by
//! `a_stopped_delete_costs_a_source_that_waits_nothing` (`tests/turns.rs`).

use crate::failure::Result;
use baro_recorder::Recorder;
use baro_store::{
    Logged, RunRetention, SettleOptions, Settling, SettlingOptions, SettlingState, SettlingStatus,
};
use std::path::Path;

/// Rests this many times as long as a piece of work took.
pub(crate) const REST: u32 = 3;
/// Compressed samples that become one run.
const RUN_BYTES: usize = 16 << 20;
/// Memory that settling takes beside the recorder's at most.
pub(crate) const SETTLING_BYTES: u64 = 32 << 20;

/// How it is settled beside recording, keeping such runs.
pub(crate) fn options(retention: RunRetention) -> SettleOptions {
    SettleOptions {
        memory_bytes: RUN_BYTES,
        least_bytes: RUN_BYTES as u64 / 2,
        retention,
        rest: REST,
        ..SettleOptions::default()
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Settles {
    settling: Option<Settling>,
    /// The recorder was told that nobody settles.
    told: bool,
    /// So many places of damage were told.
    damage_told: usize,
}

impl Settles {
    /// Starts, unless it is not wanted, so that such runs are kept.
    pub(super) fn start(
        store: &Path,
        kept: Option<RunRetention>,
        recorder: &Recorder,
    ) -> Result<Self> {
        let often = SettlingOptions::default();
        let start =
            |retention| Settling::beside(store, options(retention), often, recorder.taken());
        Ok(Settles { settling: kept.map(start).transpose()?, told: false, damage_told: 0 })
    }

    /// A few times a second.
    pub(super) fn look(&mut self, recorder: &Recorder) {
        let Some(settling) = &self.settling else { return };
        settling.logged(Logged::from(&recorder.status()));
        let SettlingStatus { state, damage, .. } = settling.status();
        for damage in damage.iter().skip(self.damage_told) {
            say!("DAMAGE {damage}; {}", damage.next_step());
        }
        self.damage_told = damage.len();
        let stopped = matches!(state, SettlingState::Stopped { .. });
        if self.told != stopped {
            self.told = stopped;
            recorder.unsettled_yield(self.told);
        }
    }

    /// What somebody should know: why nothing is settled.
    pub(super) fn complaint(&self) -> Option<String> {
        match self.settling.as_ref()?.status().state {
            SettlingState::Stopped { reason } => Some(format!("settling has stopped: {reason}")),
            SettlingState::Another { pid: Some(pid) } => Some(format!("process {pid} settles")),
            SettlingState::Another { pid: None } => Some("another process settles".to_owned()),
            SettlingState::Waits { holding } => Some(format!("settling waits for {holding}")),
            _ => None,
        }
    }

    /// Whether room is made once another process goes on: it settles itself, or has the manifest.
    pub(super) fn waits_for_another(&self) -> bool {
        let state = self.settling.as_ref().map(|settling| settling.status().state);
        matches!(state, Some(SettlingState::Another { .. } | SettlingState::Waits { .. }))
    }

    /// Ends it; what is not settled is settled by the next recorder, or by `baro settle`.
    pub(super) fn end(self) -> Option<SettlingStatus> {
        self.settling.map(Settling::end)
    }
}
