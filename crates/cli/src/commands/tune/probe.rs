//! `baro tune check --probe`: handles counted, and what follows for lazytime.

use crate::failure::Result;
use baro_sys::termination;
use baro_tune::{
    HandleCount, JournalFacts, MountFacts, PROBE_BLOCK_BYTES, ProbeError, probe as count,
};
use serde_json::{Value, json};
use std::path::Path;

/// Two seconds at a thousand a second.
const CALLS: u64 = 2_000;

/// What came of it.
#[derive(Debug)]
pub(super) enum Probed {
    /// Counted, on a mount with or without lazytime.
    Counted { count: HandleCount, lazytime: bool },
    /// No journal, so there is nothing to count.
    NoJournal,
    /// What is missing.
    Missing(String),
}

/// Counts in `dir`. Blocks for four seconds and as long as the device takes for 8 MiB.
///
/// # Errors
/// It was told to end.
pub(super) fn probe(dir: &Path, store: Option<&MountFacts>) -> Result<Probed> {
    if store.is_some_and(|store| store.journal == Some(JournalFacts::None)) {
        return Ok(Probed::NoJournal);
    }
    termination::watch()?;
    say!("baro: counting journal handles in {} for four seconds", dir.display());
    let lazytime = store.is_some_and(|store| store.options.iter().any(|one| one == "lazytime"));
    match count(dir, CALLS, &|| termination::requested().is_some()) {
        Ok(count) => Ok(Probed::Counted { count, lazytime }),
        Err(error @ ProbeError::Stopped) => Err(error.into()),
        Err(error) => Ok(Probed::Missing(error.to_string())),
    }
}

impl Probed {
    /// Whether the question is answered.
    pub(super) fn is_known(&self) -> bool {
        match self {
            Probed::Counted { count, .. } => count.lost_events == 0,
            Probed::NoJournal => true,
            Probed::Missing(_) => false,
        }
    }

    pub(super) fn said(&self) -> String {
        let (count, lazytime) = match self {
            Probed::Counted { count, lazytime } => (count, *lazytime),
            Probed::NoJournal => return "no journal here: no write() waits for it".to_owned(),
            Probed::Missing(reason) => return format!("nothing was counted: {reason}"),
        };
        let HandleCount { calls, of_writes, of_reads, lost_events } = *count;
        let counted = format!(
            "{of_writes} handles in {calls} writes of {} KiB into blocks that were written before, \
             {of_reads} in as many reads",
            PROBE_BLOCK_BYTES >> 10
        );
        if lost_events > 0 {
            return format!("{counted}, and {lost_events} events lost: too few to tell");
        }
        let follows = match (lazytime, count.stays_out()) {
            (true, true) => "lazytime keeps write() out of the journal here",
            (true, false) => "lazytime does not keep write() out of the journal here",
            (false, true) => "write() stays out of the journal here, without lazytime",
            (false, false) => "write() goes through the journal here; lazytime is not set",
        };
        format!("{counted}: {follows}")
    }

    pub(super) fn json(&self) -> Value {
        match self {
            Probed::Counted { count, lazytime } => json!({
                "calls": count.calls,
                "block_bytes": PROBE_BLOCK_BYTES,
                "handles_of_writes": count.of_writes,
                "handles_of_reads": count.of_reads,
                "lost_events": count.lost_events,
                "lazytime": lazytime,
                "write_stays_out_of_the_journal": self.is_known().then(|| count.stays_out()),
                "said": self.said(),
            }),
            Probed::NoJournal | Probed::Missing(_) => json!({ "said": self.said() }),
        }
    }
}
