//! What has been deleted: series, an interval, and up to where in the log and in the runs it counts.
//! Samples that were recorded later with the same times are not meant. `docs/format.md`, "Deletions".
//!
//! Invariant: `before` and `runs_below` never fall from one deletion to the next, so those that
//! concern a block or a run are the last ones of the list. Held by the test below and `Manifest::decode`.

use crate::Samples;
use alloc::vec::Vec;

/// A place in the order of writing: blocks of lower sessions, and of this one those of lower
/// sequences, were written before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogPlace {
    /// Session.
    pub session: u64,
    /// Sequence of a block in it.
    pub sequence: u64,
}

/// Consecutive ids, both ends included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct IdRange {
    /// The lowest.
    pub first: u32,
    /// The highest.
    pub last: u32,
}

/// One deletion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deletion {
    /// Blocks written before this are concerned.
    pub before: LogPlace,
    /// Runs of lower numbers are concerned.
    pub runs_below: u64,
    /// Earliest time that is deleted.
    pub from_ns: i64,
    /// First time behind it; `i64::MAX` for no end.
    pub to_ns: i64,
    /// The series themselves were deleted: they are not listed until something is recorded.
    pub whole: bool,
    /// Of which series and channels: rising, with a gap between each two.
    pub ids: Vec<IdRange>,
}

impl Deletion {
    /// Sorted ids, each once, as ranges.
    pub fn ranges(ids: impl IntoIterator<Item = u32>) -> Vec<IdRange> {
        let mut ranges: Vec<IdRange> = Vec::new();
        for id in ids {
            match ranges.last_mut().filter(|last| last.last.checked_add(1) == Some(id)) {
                Some(last) => last.last = id,
                None => ranges.push(IdRange { first: id, last: id }),
            }
        }
        ranges
    }

    /// Whether it is of this series or channel, at any time.
    #[must_use]
    pub fn is_of(&self, id: u32) -> bool {
        let at = self.ids.partition_point(|range| range.last < id);
        self.ids.get(at).is_some_and(|range| range.first <= id)
    }

    fn meets_times(&self, (min_ns, max_ns): (i64, i64)) -> bool {
        max_ns >= self.from_ns && (min_ns < self.to_ns || self.to_ns == i64::MAX)
    }

    /// Whether it may cover something of these ids and times, all ends included.
    #[must_use]
    pub fn meets(&self, ids: IdRange, times_ns: (i64, i64)) -> bool {
        let at = self.ids.partition_point(|range| range.last < ids.first);
        self.meets_times(times_ns) && self.ids.get(at).is_some_and(|range| range.first <= ids.last)
    }

    /// Whether it covers a sample or frame recorded before it.
    #[must_use]
    pub fn covers(&self, id: u32, time_ns: i64) -> bool {
        self.meets_times((time_ns, time_ns)) && self.is_of(id)
    }
}

/// Whether one of these covers a sample or frame.
#[must_use]
pub fn is_deleted(by: &[Deletion], id: u32, time_ns: i64) -> bool {
    by.iter().any(|deletion| deletion.covers(id, time_ns))
}

/// Those of `all` that concern a block written at this place, whose times these are.
#[must_use]
pub fn deletions_of_block(all: &[Deletion], at: LogPlace, times_ns: (i64, i64)) -> &[Deletion] {
    let first = all.partition_point(|deletion| deletion.before <= at);
    let concerned = all.get(first..).unwrap_or(&[]);
    let meets = concerned.iter().any(|deletion| deletion.meets_times(times_ns));
    if meets { concerned } else { &[] }
}

/// Those of `all` that concern the run of this number.
#[must_use]
pub fn deletions_of_run(all: &[Deletion], run: u64) -> &[Deletion] {
    all.get(all.partition_point(|deletion| deletion.runs_below <= run)..).unwrap_or(&[])
}

/// Puts the samples of a record that are not deleted into `to`, as the payload of one. False, and
/// `to` is left as it is, if none is deleted.
pub fn without_deleted(samples: &Samples<'_>, by: &[Deletion], to: &mut Vec<u8>) -> bool {
    let kept = || samples.iter().filter(|(id, time_ns, _)| !is_deleted(by, *id, *time_ns));
    let count = kept().count();
    if count == samples.len() {
        return false;
    }
    to.clear();
    to.extend(Samples::head(u32::try_from(count).unwrap_or(u32::MAX), true));
    to.extend(kept().flat_map(|(id, ..)| id.to_le_bytes()));
    to.extend(kept().flat_map(|(_, time_ns, _)| time_ns.to_le_bytes()));
    to.extend(kept().flat_map(|(.., bits)| bits.to_le_bytes()));
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    #[test]
    fn ids_times_blocks_and_runs_are_covered_exactly() {
        let ids = Deletion::ranges([1, 2, 3, 7, 9, 10, u32::MAX]);
        assert_eq!(ids.len(), 4);
        let before = LogPlace { session: 5, sequence: 10 };
        let one = Deletion { before, runs_below: 3, from_ns: 100, to_ns: 200, whole: false, ids };
        for id in [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, u32::MAX] {
            let is = [1, 2, 3, 7, 9, 10, u32::MAX].contains(&id);
            assert_eq!(one.is_of(id), is, "{id}");
            for (time_ns, within) in [(99, false), (100, true), (199, true), (200, false)] {
                assert_eq!(one.covers(id, time_ns), is && within, "{id} {time_ns}");
            }
        }
        let range = |first, last| IdRange { first, last };
        assert!(one.meets(range(4, 7), (0, 100)) && !one.meets(range(4, 6), (0, 100)));
        assert!(!one.meets(range(4, 7), (0, 99)) && !one.meets(range(0, 9), (200, 300)));
        let open = Deletion { to_ns: i64::MAX, ..one.clone() };
        assert!(open.covers(1, i64::MAX) && !one.covers(1, i64::MAX));
        let later = Deletion { before: LogPlace { session: 6, sequence: 0 }, runs_below: 8, ..one };
        let all = [open, later];
        let found = |session, sequence| {
            deletions_of_block(&all, LogPlace { session, sequence }, (0, 150)).len()
        };
        assert_eq!([found(4, 99), found(5, 9), found(5, 10), found(6, 0)], [2, 2, 1, 0]);
        assert!(deletions_of_block(&all, LogPlace::default(), (0, 99)).is_empty());
        assert_eq!([2, 3, 7, 8].map(|run| deletions_of_run(&all, run).len()), [2, 1, 1, 0]);
    }

    #[test]
    fn a_record_keeps_what_is_not_deleted() {
        let mut payload = vec![];
        payload.extend(Samples::head(3, false));
        payload.extend([1_u32, 2, 1].iter().flat_map(|id| id.to_le_bytes()));
        payload.extend([10_u64, 20, 30].iter().flat_map(|bits| bits.to_le_bytes()));
        let samples = Samples::decode(&payload, 77).unwrap();
        let of =
            |id| Deletion { to_ns: i64::MAX, ids: Deletion::ranges([id]), ..Deletion::default() };
        let mut kept = vec![];
        assert!(!without_deleted(&samples, &[of(3)], &mut kept) && kept.is_empty());
        assert!(without_deleted(&samples, &[of(1)], &mut kept));
        let left: Vec<_> = Samples::decode(&kept, 0).unwrap().iter().collect();
        assert_eq!(left, [(2, 77, 20)]);
    }
}
