//! What is kept of the runs: dropped whole, the oldest first, by the time of their newest sample.

use super::{Changes, Settled, Settler};
use crate::Result;
use baro_ondisk::RunEntry;
use baro_sys::clock;
use baro_sys::storage::Storage;

/// What is kept. The default keeps everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRetention {
    /// A run whose newest sample is older than this, nanoseconds, is dropped. Measured against the
    /// newest sample of all runs or the clock, whichever is earlier: neither a clock that somebody
    /// sets nor a sample of a far future drops what is young.
    pub keep_ns: Option<u64>,
    /// Runs together are not larger than this: the oldest are dropped.
    pub keep_bytes: Option<u64>,
    /// While the file system has fewer bytes free, the oldest are dropped.
    pub min_free_bytes: u64,
}

/// Runs that were dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// How many.
    pub runs: u32,
    /// Their samples.
    pub samples: u64,
    /// Their bytes.
    pub bytes: u64,
}

impl RunRetention {
    /// Which of the runs are dropped, the oldest first, but for those that are `held`; `free_bytes` is
    /// what the file system has.
    pub(crate) fn drop(
        &self,
        runs: &[RunEntry],
        held: impl Fn(&RunEntry) -> bool,
        free_bytes: Option<u64>,
        now_ns: i64,
    ) -> Vec<RunEntry> {
        let mut oldest: Vec<RunEntry> = runs.to_vec();
        oldest.sort_by_key(|run| run.time_max_ns);
        let newest_ns = oldest.last().map_or(i64::MIN, |run| run.time_max_ns).min(now_ns);
        let before_ns = self.keep_ns.map(|keep_ns| newest_ns.saturating_sub_unsigned(keep_ns));
        let mut bytes: u64 = oldest.iter().map(|run| run.bytes).sum();
        let mut free_bytes = free_bytes.unwrap_or(u64::MAX);
        let mut drop = Vec::new();
        for run in oldest {
            let old = before_ns.is_some_and(|before_ns| run.time_max_ns < before_ns);
            let large = self.keep_bytes.is_some_and(|keep| bytes > keep);
            if !old && !large && free_bytes >= self.min_free_bytes {
                break;
            }
            if held(&run) {
                continue;
            }
            bytes -= run.bytes;
            free_bytes = free_bytes.saturating_add(run.bytes);
            drop.push(run);
        }
        drop
    }
}

impl<S: Storage> Settler<S> {
    /// Drops what is not to be kept.
    pub(super) fn drop_old(&mut self, report: &mut Settled) -> Result<()> {
        let free_bytes = self.store.storage.available_bytes()?;
        let mut manifest = self.store.runs.manifest.clone();
        let drop = {
            let (retention, held) =
                (self.options.retention, |run: &RunEntry| self.is_kept(&self.hold, run));
            retention.drop(&manifest.runs, held, free_bytes, clock::realtime_ns())
        };
        if drop.is_empty() {
            return Ok(());
        }
        manifest.runs.retain(|run| !drop.contains(run));
        self.commit(manifest, &Changes::Dropped(&drop))?;
        self.remove(&drop)?;
        for run in drop {
            report.dropped.runs += 1;
            report.dropped.samples += run.samples;
            report.dropped.bytes += run.bytes;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs() -> Vec<RunEntry> {
        let run = |id: u64| RunEntry {
            footer_crc: None,
            id,
            bytes: 100,
            samples: 10,
            time_min_ns: id as i64 * 1000 - 1500,
            time_max_ns: id as i64 * 1000,
            level: 0,
        };
        [2, 0, 3, 1].map(run).to_vec()
    }

    fn dropped(retention: RunRetention, free_bytes: Option<u64>) -> Vec<u64> {
        retention.drop(&runs(), |_| false, free_bytes, i64::MAX).iter().map(|run| run.id).collect()
    }

    #[test]
    fn the_oldest_go_by_age_by_size_and_for_room() {
        let all = RunRetention::default();
        assert!(dropped(all, Some(0)).is_empty());
        assert_eq!(dropped(RunRetention { keep_ns: Some(1500), ..all }, None), [0, 1]);
        assert_eq!(dropped(RunRetention { keep_bytes: Some(399), ..all }, None), [0]);
        assert_eq!(dropped(RunRetention { keep_bytes: Some(0), ..all }, None), [0, 1, 2, 3]);
        let free = RunRetention { min_free_bytes: 250, ..all };
        assert_eq!(dropped(free, Some(50)), [0, 1]);
        assert!(dropped(free, Some(250)).is_empty() && dropped(free, None).is_empty());
    }

    #[test]
    fn a_sample_of_a_far_future_or_a_clock_that_is_wrong_drops_nothing_young() {
        let keep = RunRetention { keep_ns: Some(2500), ..RunRetention::default() };
        let mut all = runs();
        all.push(RunEntry { id: 9, time_max_ns: i64::MAX, ..all[0] });
        let dropped = |now_ns| -> Vec<u64> {
            keep.drop(&all, |_| false, None, now_ns).iter().map(|run| run.id).collect()
        };
        assert_eq!(dropped(3000), [0]);
        // A clock before the samples keeps more; one behind all of them, and such a sample, is what
        // nothing can be measured against.
        assert!(dropped(0).is_empty());
        assert_eq!(dropped(i64::MAX), [0, 1, 2, 3]);
        let future = keep.drop(&runs(), |_| false, None, i64::MAX);
        assert_eq!(future.iter().map(|run| run.id).collect::<Vec<_>>(), [0]);
    }
}
