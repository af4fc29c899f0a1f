//! What is kept of the runs: dropped whole, the oldest first, by the time of their newest sample.
//!
//! A run may correct what an earlier one holds. So it stays as long as one that was recorded before it
//! has samples of a common series in its times: dropped first, it would bring back what it corrects.
//!
//! A run with samples in the window of a pin stays until the pin is released, and counts for no size: were its
//! bytes counted, what is new would be dropped in its place.
//!
//! Invariant: what is read after runs were dropped is what was read before, or nothing. Held by
//! `tests/retention.rs` and `tests/model`.

use super::{Changes, Settled, Settler, trusted};
use crate::runs::{PageAt, RunFile};
use crate::{Result, Store};
use baro_ondisk::{PinState, RunEntry};
use baro_runs::PageEntry;
use baro_sys::storage::Storage;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is kept. The default keeps everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunRetention {
    /// A run whose newest sample is older than this, nanoseconds, is dropped. Measured against the
    /// newest sample of all runs or the clock, whichever is earlier: a sample of a far future drops nothing
    /// young, nor does a clock that jumps ahead, until it has stayed there for a day of running (`trusted`).
    pub keep_ns: Option<u64>,
    /// Runs together are not larger than this: the oldest are dropped.
    pub keep_bytes: Option<u64>,
    /// While the file system has fewer bytes free, the oldest are dropped; none where all together would not
    /// give that much, as on a file system that is smaller.
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
    /// Which runs of a store are dropped, the oldest first, but for those that are `held` and those that pins
    /// hold; and whether so much can be free as is asked for. Who settles notes which time counts.
    pub(crate) fn drop_of(
        &self,
        store: &Store,
        held: impl Fn(&RunEntry) -> bool,
        free_bytes: Option<u64>,
        settles: bool,
    ) -> (Vec<RunEntry>, bool) {
        let now_ns = trusted::now_ns(store, self.keep_ns, settles);
        let (runs, pinned) = (&store.runs, pinned(store));
        let held = Held { held, pinned: |run: &RunEntry| pinned.contains(&run.id) };
        let corrects = |run: &RunEntry, other: &RunEntry| have_common(&runs.files, run, other);
        self.drop(&runs.manifest.runs, &held, corrects, free_bytes, now_ns)
    }

    /// Whether so much can be free as is asked for, were all that may go dropped.
    fn gives(&self, runs: &[RunEntry], stays: impl Fn(&RunEntry) -> bool, free_bytes: u64) -> bool {
        let may_go = runs.iter().filter(|run| !stays(run)).map(|run| run.bytes);
        may_go.fold(free_bytes, u64::saturating_add) >= self.min_free_bytes
    }

    /// Which of the runs, given in the order of recording, are dropped, the oldest first, but for those
    /// that are held and those that may correct one that stays: `corrects` is asked whether a later
    /// run may, and only if their times meet. `free_bytes` is what the file system has. Also, whether so much can
    /// be free as is asked for.
    fn drop(
        &self,
        runs: &[RunEntry],
        held: &Held<impl Fn(&RunEntry) -> bool, impl Fn(&RunEntry) -> bool>,
        corrects: impl Fn(&RunEntry, &RunEntry) -> bool,
        free_bytes: Option<u64>,
        now_ns: i64,
    ) -> (Vec<RunEntry>, bool) {
        let mut left: Vec<(usize, RunEntry)> = runs.iter().copied().enumerate().collect();
        left.sort_by_key(|(_, run)| run.time_max_ns);
        let newest_ns = left.last().map_or(i64::MIN, |(_, run)| run.time_max_ns).min(now_ns);
        let before_ns = self.keep_ns.map(|keep_ns| newest_ns.saturating_sub_unsigned(keep_ns));
        let mut free_bytes = free_bytes.unwrap_or(u64::MAX);
        let all: u64 = runs.iter().map(|run| run.bytes).sum();
        let oldest_ns = left.first().map_or(i64::MAX, |(_, run)| run.time_max_ns);
        if before_ns.is_none_or(|before_ns| oldest_ns >= before_ns)
            && self.keep_bytes.is_none_or(|keep| all <= keep)
            && free_bytes >= self.min_free_bytes
        {
            return (Vec::new(), true);
        }
        let meet = |a: &RunEntry, b: &RunEntry| {
            a.time_min_ns <= b.time_max_ns && b.time_min_ns <= a.time_max_ns
        };
        // What may correct a run that a pin holds stays with it, and so on.
        let mut stuck: Vec<&RunEntry> = Vec::new();
        for run in runs {
            let keeps = |other: &&RunEntry| meet(other, run) && corrects(run, other);
            if (held.pinned)(run) || stuck.iter().any(keeps) {
                stuck.push(run);
            }
        }
        let is_stuck = |run: &RunEntry| stuck.iter().any(|other| other.id == run.id);
        let stays = |run: &RunEntry| (held.held)(run) || is_stuck(run);
        let mut bytes = all - stuck.iter().map(|run| run.bytes).sum::<u64>();
        let gives = self.gives(runs, stays, free_bytes);
        let min_free_bytes = if gives { self.min_free_bytes } else { 0 };
        let mut drop = Vec::new();
        loop {
            let large = self.keep_bytes.is_some_and(|keep| bytes > keep);
            let unwanted = |run: &RunEntry| {
                let old = before_ns.is_some_and(|before_ns| run.time_max_ns < before_ns);
                old || large || free_bytes < min_free_bytes
            };
            let may_go = |(place, run): &(usize, RunEntry)| {
                let corrected = |(before, other): &(usize, RunEntry)| {
                    before < place && meet(other, run) && corrects(run, other)
                };
                !stays(run) && !left.iter().any(corrected)
            };
            // What was recorded first corrects nothing: as long as any is unwanted and not held, one goes.
            let mut unwanted = left.iter().take_while(|(_, run)| unwanted(run));
            let Some(at) = unwanted.position(may_go) else { return (drop, gives) };
            let (_, run) = left.remove(at);
            bytes -= run.bytes;
            free_bytes = free_bytes.saturating_add(run.bytes);
            drop.push(run);
        }
    }
}

/// Runs that are not dropped.
struct Held<H, P> {
    /// A table has not got their samples.
    held: H,
    /// They have samples in the window of a pin.
    pinned: P,
}

/// Ids of the runs that have samples in the window of a pin; of one that cannot be opened its times count.
fn pinned(store: &Store) -> BTreeSet<u64> {
    let held = store.pins().filter(|pin| pin.state != PinState::Refused);
    let windows: Vec<(i64, i64)> = held.map(baro_ondisk::Pin::window_ns).collect();
    let is_pinned = |run: &&RunEntry| {
        let open = store.runs.files.iter().find(|file| file.entry.id == run.id);
        windows.iter().any(|(from_ns, to_ns)| {
            let meets = |min_ns: i64, max_ns: i64| min_ns < *to_ns && *from_ns <= max_ns;
            meets(run.time_min_ns, run.time_max_ns)
                && open.is_none_or(|file| {
                    let mut pages = file.index.pages().iter();
                    pages.any(|page| meets(page.time_min_ns, page.time_max_ns))
                })
        })
    };
    store.runs.manifest.runs.iter().filter(is_pinned).map(|run| run.id).collect()
}

impl Settler {
    /// Drops what is not to be kept.
    pub(super) fn drop_old(&mut self, report: &mut Settled) -> Result<()> {
        let free_bytes = self.store.storage.available_bytes()?;
        let mut manifest = self.store.runs.manifest.clone();
        let drop = {
            let (retention, held) =
                (self.options.retention, |run: &RunEntry| self.is_kept(&self.hold, run));
            let (drop, gives) = retention.drop_of(&self.store, held, free_bytes, true);
            report.min_free_missed = free_bytes.filter(|_| !gives);
            drop
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

/// Whether an earlier run may have samples in the times of a later one, of a series of both; it may, if
/// one is not open. Pages that meet are read: those of a sample from the far future meet all that comes
/// later, and nothing would ever be too old beside one.
fn have_common(files: &[Arc<RunFile>], run: &RunEntry, earlier: &RunEntry) -> bool {
    let open = |entry: &RunEntry| files.iter().find(|file| file.entry.id == entry.id);
    let (Some(run), Some(earlier)) = (open(run), open(earlier)) else { return true };
    let later: Vec<Reach> = run.index.pages().iter().map(Reach::of).collect();
    let (from_ns, to_ns) = (run.entry.time_min_ns, run.entry.time_max_ns.saturating_add(1));
    let mut reader = PageAt::new();
    earlier.index.pages().iter().any(|page| {
        let near = near(&later, Reach::of(page));
        if !near.iter().any(|other| other.meets(Reach::of(page))) {
            return false;
        }
        let mut has = false;
        let read = reader.with(earlier, page, |page| {
            page.read_all(from_ns, to_ns, |series, times_ns, _| {
                has |= near.iter().any(|other| other.holds(series, times_ns));
            })
        });
        // What cannot be read now may be readable later.
        has || !matches!(read, Ok(Ok(())))
    })
}

/// First and last series and time of a page.
#[derive(Clone, Copy, Debug)]
struct Reach {
    series: (u32, u32),
    times_ns: (i64, i64),
}

impl Reach {
    fn of(page: &PageEntry) -> Self {
        let times_ns = (page.time_min_ns, page.time_max_ns);
        Reach { series: (page.first_series, page.last_series), times_ns }
    }

    fn meets(&self, other: Reach) -> bool {
        let in_times = self.times_ns.0 <= other.times_ns.1 && other.times_ns.0 <= self.times_ns.1;
        in_times && self.series.0 <= other.series.1 && other.series.0 <= self.series.1
    }

    /// Whether one of these times of a series, which rise, lies in it.
    fn holds(&self, series: u32, times_ns: &[i64]) -> bool {
        let next = times_ns.partition_point(|time_ns| *time_ns < self.times_ns.0);
        let within = times_ns.get(next).is_some_and(|time_ns| *time_ns <= self.times_ns.1);
        within && (self.series.0..=self.series.1).contains(&series)
    }
}

/// Those of the pages, which are sorted by series, that meet one in series.
fn near(pages: &[Reach], page: Reach) -> &[Reach] {
    let from = pages.partition_point(|other| other.series.1 < page.series.0);
    let to = pages.partition_point(|other| other.series.0 <= page.series.1);
    pages.get(from..to).unwrap_or(&[])
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

    fn ids(runs: &[RunEntry]) -> Vec<u64> {
        runs.iter().map(|run| run.id).collect()
    }

    fn none(_: &RunEntry) -> bool {
        false
    }

    fn dropped(retention: RunRetention, free_bytes: Option<u64>) -> Vec<u64> {
        let held = Held { held: none, pinned: none };
        ids(&retention.drop(&runs(), &held, |_, _| false, free_bytes, i64::MAX).0)
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
        // No more than all runs together gives nothing: then none goes for it.
        let most = RunRetention { min_free_bytes: 450, ..all };
        assert_eq!(dropped(most, Some(50)), [0, 1, 2, 3]);
        assert!(dropped(most, Some(49)).is_empty());
    }

    #[test]
    fn a_sample_of_a_far_future_or_a_clock_that_is_wrong_drops_nothing_young() {
        let keep = RunRetention { keep_ns: Some(2500), ..RunRetention::default() };
        let mut all = runs();
        all.push(RunEntry { id: 9, time_max_ns: i64::MAX, ..all[0] });
        let held = Held { held: none, pinned: none };
        let dropped =
            |now_ns| -> Vec<u64> { ids(&keep.drop(&all, &held, |_, _| false, None, now_ns).0) };
        assert_eq!(dropped(3000), [0]);
        // A clock before the samples keeps more; one behind all of them counts once it has stayed there.
        assert!(dropped(0).is_empty());
        assert_eq!(dropped(i64::MAX), [0, 1, 2, 3]);
        let future = keep.drop(&runs(), &held, |_, _| false, None, i64::MAX).0;
        assert_eq!(ids(&future), [0]);
    }

    #[test]
    fn what_may_correct_an_earlier_run_waits_for_it_and_the_bounds_are_kept() {
        let run =
            |id, time_min_ns, time_max_ns| RunEntry { id, time_min_ns, time_max_ns, ..runs()[0] };
        // The second lies in the first, the third meets both ends of time and the first; the last is later.
        let all = [run(0, 0, 100), run(1, 5, 5), run(2, 90, 120), run(3, 121, 200)];
        let by = |retention: RunRetention, held: &[u64], common: bool| {
            let held = Held { held: |run: &RunEntry| held.contains(&run.id), pinned: none };
            ids(&retention.drop(&all, &held, |_, _| common, Some(0), i64::MAX).0)
        };
        let keep = RunRetention::default();
        let size = |bytes| RunRetention { keep_bytes: Some(bytes), ..keep };
        assert_eq!(by(size(399), &[], false), [1]);
        assert_eq!(by(size(399), &[], true), [0]);
        assert_eq!(by(size(299), &[], true), [0, 1]);
        assert_eq!(by(size(0), &[], true), [0, 1, 2, 3]);
        assert_eq!(by(RunRetention { min_free_bytes: 300, ..keep }, &[], true), [0, 1, 2]);
        // What waits for one that a table has not got waits with it.
        assert_eq!(by(size(0), &[0], true), [3]);
        let age = |keep_ns| RunRetention { keep_ns: Some(keep_ns), ..keep };
        assert_eq!(by(age(110), &[], false), [1]);
        assert!(by(age(110), &[], true).is_empty());
        assert_eq!(by(age(99), &[], true), [0, 1]);
    }

    #[test]
    fn what_pins_hold_stays_and_takes_no_room_of_what_is_new() {
        let by = |retention: RunRetention, pinned: &[u64], free_bytes| {
            let held = Held { held: none, pinned: |run: &RunEntry| pinned.contains(&run.id) };
            ids(&retention.drop(&runs(), &held, |_, _| false, free_bytes, i64::MAX).0)
        };
        let all = RunRetention::default();
        assert_eq!(by(RunRetention { keep_ns: Some(1500), ..all }, &[0], None), [1]);
        let size = |bytes| RunRetention { keep_bytes: Some(bytes), ..all };
        assert!(by(size(200), &[0, 1], None).is_empty());
        assert_eq!(by(size(200), &[0], None), [1]);
        assert_eq!(by(size(0), &[0, 1], None), [2, 3]);
        // They cannot be dropped for room either; if all others give too little, none goes.
        let free = |bytes| RunRetention { min_free_bytes: bytes, ..all };
        assert_eq!(by(free(250), &[0, 1], Some(50)), [2, 3]);
        assert!(by(free(251), &[0, 1], Some(50)).is_empty());
        // Nor what may correct them, one behind the other.
        let run =
            |id, time_min_ns, time_max_ns| RunEntry { id, time_min_ns, time_max_ns, ..runs()[0] };
        let chain = [run(0, 0, 100), run(1, 90, 200), run(2, 190, 300), run(3, 400, 500)];
        let held = Held { held: none, pinned: |run: &RunEntry| run.id == 0 };
        let of = |keep: RunRetention| keep.drop(&chain, &held, |_, _| true, Some(50), i64::MAX);
        assert!(of(size(100)).0.is_empty());
        assert_eq!(ids(&of(size(99)).0), [3]);
        assert_eq!(of(free(151)), (vec![], false));
    }

    #[test]
    fn pages_meet_in_series_and_times() {
        let page = |first, last, from_ns, to_ns| Reach {
            series: (first, last),
            times_ns: (from_ns, to_ns),
        };
        let pages = [page(1, 3, 0, 9), page(3, 3, 10, 19), page(5, 8, 0, 9)];
        let meets = |other: Reach| near(&pages, other).iter().any(|page| page.meets(other));
        assert!(meets(page(2, 2, 9, 30)) && meets(page(3, 4, 15, 15)) && meets(page(7, 9, 0, 0)));
        assert!(
            !meets(page(4, 4, 0, 30)) && !meets(page(1, 2, 10, 30)) && !meets(page(5, 9, 10, 30))
        );
        let holds = |times_ns: &[i64]| pages[1].holds(3, times_ns);
        assert!(holds(&[10]) && holds(&[0, 19, 30]) && !pages[1].holds(2, &[10]));
        assert!(!holds(&[]) && !holds(&[9, 20]) && !holds(&[0]));
    }
}
