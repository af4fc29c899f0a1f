//! How fast a writer is to go, how far it is, and whether it kept up.
//!
//! Sensors do not wait: what a writer at a given rate has not written when it is due is a backlog,
//! which a program would have to hold in memory. It keeps up if that stays bounded. Held by
//! `a_backlog_that_grows_is_not_kept_up`.

use super::FilesReport;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const S: u64 = 1_000_000_000;

/// How fast a writer is to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pace {
    /// Bytes a second; None: as fast as it goes.
    pub bytes_per_s: Option<u64>,
}

impl Pace {
    /// As fast as it goes.
    pub const GREEDY: Pace = Pace { bytes_per_s: None };

    /// When so many bytes have come, ns since the beginning; 0 if greedy.
    #[must_use]
    pub fn due_ns(self, bytes: u64) -> u64 {
        let Some(rate) = self.bytes_per_s else { return 0 };
        let due_ns = u128::from(bytes) * u128::from(S) / u128::from(rate.max(1));
        u64::try_from(due_ns).unwrap_or(u64::MAX)
    }

    /// Bytes that have come by a time since the beginning; 0 if greedy.
    #[must_use]
    pub fn due_bytes(self, at_ns: u64) -> u64 {
        let bytes = u128::from(self.bytes_per_s.unwrap_or(0)) * u128::from(at_ns) / u128::from(S);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// How far a writer is, to be looked at beside it.
#[derive(Debug, Default)]
pub struct Progress {
    bytes: AtomicU64,
    writes: AtomicU64,
    rotations: AtomicU64,
}

impl Progress {
    /// Says it.
    pub fn set(&self, report: &FilesReport) {
        self.writes.store(report.writes, Relaxed);
        self.rotations.store(report.rotations, Relaxed);
        self.bytes.store(report.written_bytes, Relaxed);
    }

    /// What was said, as a point.
    #[must_use]
    pub fn point(&self, at_ns: u64) -> Point {
        Point { at_ns, bytes: self.bytes.load(Relaxed), rotations: self.rotations.load(Relaxed) }
    }
}

/// How far a writer was at a time. Stored as three numbers, since there are many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(u64, u64, u64)", into = "(u64, u64, u64)")]
pub struct Point {
    /// Since the beginning, ns.
    pub at_ns: u64,
    /// Written since then.
    pub bytes: u64,
    /// Files renamed since then.
    pub rotations: u64,
}

impl From<(u64, u64, u64)> for Point {
    fn from((at_ns, bytes, rotations): (u64, u64, u64)) -> Self {
        Self { at_ns, bytes, rotations }
    }
}

impl From<Point> for (u64, u64, u64) {
    fn from(point: Point) -> Self {
        (point.at_ns, point.bytes, point.rotations)
    }
}

/// Whether a writer at this rate kept up: in the second half of the time what was due and not yet
/// written was never more than comes in `within_ns`.
#[must_use]
pub fn kept_up(pace: Pace, points: &[Point], within_ns: u64) -> bool {
    let Some(last) = points.last() else { return false };
    let bound = pace.due_bytes(within_ns);
    points
        .iter()
        .filter(|point| point.at_ns >= last.at_ns / 2)
        .all(|point| pace.due_bytes(point.at_ns).saturating_sub(point.bytes) <= bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rate: impl Fn(u64) -> u64) -> Vec<Point> {
        let point = |s| Point { at_ns: s * S, bytes: rate(s), rotations: 0 };
        (1..=10).map(point).collect()
    }

    #[test]
    fn a_backlog_that_grows_is_not_kept_up() {
        let pace = Pace { bytes_per_s: Some(1_000) };
        assert!(kept_up(pace, &at(|s| s * 1_000), S));
        // Behind by less than a second's bytes, all the time.
        assert!(kept_up(pace, &at(|s| s * 1_000 - 900), S));
        // Behind at first only.
        assert!(kept_up(pace, &at(|s| if s < 5 { 0 } else { s * 1_000 }), S));
        assert!(!kept_up(pace, &at(|s| s * 800), S));
        assert!(!kept_up(pace, &at(|s| if s < 7 { 0 } else { s * 1_000 }), S));
        assert!(!kept_up(pace, &[], S));
    }

    #[test]
    fn what_is_due_is_never_more_than_numbers_hold() {
        let pace = Pace { bytes_per_s: Some(u64::MAX) };
        assert_eq!(pace.due_bytes(u64::MAX), u64::MAX);
        assert_eq!(Pace { bytes_per_s: Some(0) }.due_ns(u64::MAX), u64::MAX);
        assert_eq!((Pace::GREEDY.due_ns(7), Pace::GREEDY.due_bytes(7)), (0, 0));
        let slow = Pace { bytes_per_s: Some(4_096) };
        assert_eq!((slow.due_ns(8_192), slow.due_bytes(2 * S)), (2 * S, 8_192));
    }
}
