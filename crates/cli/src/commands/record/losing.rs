//! Says on stderr, which a service manager puts into its journal, when records begin to be lost and why,
//! and how many there were once no more are: once for each time that happens. And that a log is full, as
//! soon as it is: a source that waits loses nothing then, but nothing more of it is recorded.
//!
//! Invariant: what is lost is told when it begins, not when the recording ends. Held by
//! `a_full_log_is_told_when_loss_begins`.

use baro_recorder::{Recorder, Status, Trouble};
use baro_sys::clock;
use std::path::Path;

/// Nothing was lost for so long: it is over.
const OVER_NS: u64 = 5_000_000_000;
/// Settling, and copies for pins, take a moment.
const HELD_NS: u64 = 2_000_000_000;
const REUSED_OVER_NS: u64 = 60_000_000_000;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Losing {
    refused: u64,
    /// Of these, for being too large.
    large: u64,
    /// Refused before this time began, and when the last of it was seen.
    since: Option<(u64, u64)>,
    full: bool,
    held: HeldLog,
    begun: bool,
    reused: Reused,
}

/// Segments and records that were reused before they were in runs.
#[derive(Debug, Default)]
struct Reused {
    /// As of the last look: what settling has read of them may come into a run yet, so only what stays counts.
    seen: (u32, u64),
    /// Told.
    known: (u32, u64),
    /// Records before this time began, and when the last of it was seen.
    since: Option<(u64, u64)>,
}

/// That no segment may be reused, which lasts.
#[derive(Debug, Default)]
struct HeldLog {
    since_ns: Option<u64>,
    told: bool,
}

impl HeldLog {
    fn look(&mut self, trouble: &Trouble, now_ns: u64) {
        let Trouble::Held { .. } = trouble else {
            if std::mem::take(self).told {
                say!("records are made durable again");
            }
            return;
        };
        let since_ns = *self.since_ns.get_or_insert(now_ns);
        if !self.told && now_ns.saturating_sub(since_ns) >= HELD_NS {
            self.told = true;
            say!(
                "LOG HELD: nothing is made durable for now, and what comes waits in the rings: {trouble} once \
                 these are full"
            );
        }
    }
}

impl Losing {
    /// A few times a second.
    pub(super) fn look(&mut self, recorder: &Recorder, store: &Path) {
        let now_ns = clock::monotonic_ns();
        let status = recorder.status();
        self.reused.look(&status, now_ns);
        let Status { rings, trouble, segments_usable, .. } = status;
        self.held.look(&trouble, now_ns);
        let large: u64 = rings.iter().map(|ring| ring.refused_large).sum();
        let refused = large + rings.iter().map(|ring| ring.refused_full).sum::<u64>();
        if !std::mem::replace(&mut self.begun, true) {
            // What earlier recorders lost was told by them.
            (self.refused, self.large) = (refused, large);
        }
        let full = trouble == Trouble::LogFull;
        if full && !self.full {
            say!(
                "LOG FULL: nothing more is recorded: all {} segments of the log are begun, and each start of a \
                 recorder begins one; to reuse the oldest from now on, end this recorder, run: baro init {} \
                 --when-full recycle, and start it again; or record into another store",
                segments_usable,
                store.display()
            );
        }
        self.full = full;
        if refused > self.refused {
            if self.since.is_none() {
                let why = match trouble {
                    Trouble::None if large > self.large => {
                        "they are larger than the rings or a segment of the log can take; a larger \
                         --ring, or a larger log (baro init --size)"
                            .to_owned()
                    }
                    Trouble::None => {
                        "the rings are full, since the device is slower than what comes".to_owned()
                    }
                    trouble => trouble.to_string(),
                };
                say!("LOST: records are refused from now on: {why}");
            }
            let before = self.since.map_or(self.refused, |(before, _)| before);
            self.since = Some((before, now_ns));
            (self.refused, self.large) = (refused, large);
        }
        if let Some((before, last_ns)) = self.since
            && now_ns.saturating_sub(last_ns) > OVER_NS
        {
            say!("records are taken again; {} were refused meanwhile", self.refused - before);
            self.since = None;
        }
    }
}

impl Reused {
    fn look(&mut self, status: &Status, now_ns: u64) {
        let now = (status.segments_lost_unsettled, status.records_lost_unsettled);
        let seen = std::mem::replace(&mut self.seen, now);
        let stays = (now.0.min(seen.0), now.1.min(seen.1));
        let (segments, records) = self.known;
        // Of some segments it is not known what they held.
        if stays.0 > segments || stays.1 > records {
            if self.since.is_none() {
                say!(
                    "LOST: the oldest part of the log is reused from now on before it is settled: settling \
                     is slower than what comes, or has stopped"
                );
            }
            let before = self.since.map_or(records, |(before, _)| before);
            self.since = Some((before, now_ns));
            self.known = (segments.max(stays.0), records.max(stays.1));
        }
        // Segments may be large, and the next one is long in coming.
        if let Some((before, last_ns)) = self.since
            && now_ns.saturating_sub(last_ns) > REUSED_OVER_NS
        {
            let lost = self.known.1.saturating_sub(before);
            say!(
                "for a minute nothing was reused before it was settled; as far as known {lost} records were \
                 lost by that"
            );
            self.since = None;
        }
    }
}
