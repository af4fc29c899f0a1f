//! Which segments a window of time needs, and how much of it is not there any more.

use baro_log::Span;
use std::collections::BTreeMap;

/// Where a window begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    /// Epoch of its first segment.
    pub(crate) first: u64,
    /// What is not there any more of its beginning.
    pub(crate) missing_ns: u64,
}

/// A segment that is there, in the log or as a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct There {
    /// `starts_ns` is `i64::MAX` where it is not known.
    pub(super) span: Span,
    /// It is known to be the first of its session.
    pub(super) begins: bool,
}

/// Where a window from `from_ns` (running time) on begins; `next_epoch` is that of the segment started
/// next.
pub(super) fn reach(all: &BTreeMap<u64, There>, from_ns: i64, next_epoch: u64) -> Reach {
    let inside = |there: &There| there.span.ends_ns >= from_ns;
    let Some(first) = all.iter().find(|(_, there)| inside(there)).map(|(epoch, _)| *epoch) else {
        return Reach { first: next_epoch, missing_ns: 0 };
    };
    // From the newest back to the first one that is missing; where that is before the first one of all, or
    // ended before the window, nothing is.
    let (mut epoch, mut starts_ns, mut begins, mut ended) = (next_epoch, i64::MAX, true, false);
    for (back, there) in all.iter().rev() {
        // A crash may leave a segment that was begun and has no block. Recovery has it begun anew, so its
        // epoch is missing before the next session, and nothing else is.
        if back + 1 + u64::from(begins) < epoch {
            break;
        }
        ended = !inside(there);
        if ended {
            break;
        }
        (epoch, starts_ns) = (*back, starts_ns.min(there.span.starts_ns));
        begins = there.begins;
    }
    if epoch <= 1 || ended || starts_ns <= from_ns {
        return Reach { first, missing_ns: 0 };
    }
    // Where nothing says when it began, it did before it ended.
    if starts_ns == i64::MAX {
        let ends = all.values().filter(|there| inside(there)).map(|there| there.span.ends_ns);
        starts_ns = ends.min().unwrap_or(from_ns);
    }
    Reach { first, missing_ns: starts_ns.saturating_sub(from_ns).max(1).unsigned_abs() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segments of 10 ns each from epoch 5 on, without those of `gone`; sessions begin at `begins`.
    fn log(epochs: std::ops::Range<u64>, gone: &[u64], begins: &[u64]) -> BTreeMap<u64, There> {
        let there = |epoch: u64| {
            let starts_ns = epoch as i64 * 10;
            let span = Span { starts_ns, ends_ns: starts_ns + 10 };
            (epoch, There { span, begins: begins.contains(&epoch) })
        };
        epochs.filter(|epoch| !gone.contains(epoch)).map(there).collect()
    }

    fn of(all: &BTreeMap<u64, There>, from_ns: i64, next_epoch: u64) -> (u64, u64) {
        let Reach { first, missing_ns } = reach(all, from_ns, next_epoch);
        (first, missing_ns)
    }

    #[test]
    fn what_is_missing_is_told_and_nothing_else() {
        let all = log(5..10, &[], &[]);
        assert_eq!(of(&all, 75, 10), (7, 0));
        // Before the first there is.
        assert_eq!(of(&all, 20, 10), (5, 30));
        assert_eq!(of(&log(1..10, &[], &[]), -20, 10), (1, 0));
        // Nothing of it was recorded.
        assert_eq!(of(&all, 200, 10), (10, 0));
        // One is gone: what comes after it is whole, what comes before is held too.
        assert_eq!(of(&log(5..10, &[7], &[]), 65, 10), (6, 15));
        assert_eq!(of(&log(5..10, &[7], &[]), 85, 10), (8, 0));
        // The last before the window is there, and ended before.
        assert_eq!(of(&log(5..10, &[5], &[]), 81, 10), (8, 0));
    }

    #[test]
    fn a_segment_that_a_crash_left_empty_is_not_missed() {
        // At rest: the newest is to be begun anew.
        assert_eq!(of(&log(5..9, &[], &[]), 75, 10), (7, 0));
        // Later: the next session has taken its place.
        let all = log(5..14, &[9], &[10]);
        assert_eq!(of(&all, 75, 14), (7, 0));
        assert_eq!(of(&all, 20, 14), (5, 30));
        // Within a session one is missing, and so is more than one anywhere.
        assert_eq!(of(&log(5..14, &[9], &[5]), 75, 14), (7, 25));
        assert_eq!(of(&log(5..14, &[8, 9], &[10]), 75, 14), (7, 25));
        assert_eq!(of(&log(5..8, &[], &[]), 65, 10), (6, 5));
    }

    #[test]
    fn a_copy_began_before_it_ended() {
        let mut all = log(5..7, &[], &[]);
        all.insert(5, There { span: Span { starts_ns: i64::MAX, ends_ns: 60 }, begins: false });
        all.remove(&6);
        assert_eq!(of(&all, 42, 6), (5, 18));
    }
}
