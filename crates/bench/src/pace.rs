//! The pace of a recorder: one call each period, and what came due while a call lasted is lost.
//!
//! One loop for everything that is measured against each other: paper A's methods, the other ways
//! to write, and the thread that only sleeps and wakes. A difference between two of them is then
//! never one of the loops.
//!
//! Invariant: every call is in the histogram; calls and lost periods together are the periods that
//! went by. Held by `calls_and_lost_periods_are_the_periods_that_went_by`.

use crate::error::BenchError;
use baro_sys::clock;
use baro_sys::counters::ThreadUsage;
use hdrhistogram::Histogram;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What is done each period.
pub(crate) trait Turn {
    /// Makes ready for the next call, before it comes due. `true` if that was a break of the
    /// recording (a new file was begun): the periods then start anew, and none is lost.
    fn prepare(&mut self) -> Result<bool, BenchError>;

    /// The call that came due at `due_ns`; returns what is kept of it, ns.
    fn call(&mut self, due_ns: u64) -> u64;
}

/// Where a slice ends: whatever comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Until {
    pub(crate) duration_ns: u64,
    pub(crate) calls: u64,
}

/// What one slice added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SliceReport {
    /// Calls made: blocks written.
    pub writes: u64,
    /// The longest, ns.
    pub latency_ns_max: u64,
    /// Periods at whose beginning the caller was still busy: lost samples.
    pub lost_periods: u64,
}

/// Calls `turn` each `period_ns` (at least 1) in the calling thread, until `until` or until `stop` is
/// set, which is looked at once a period.
pub(crate) fn pace(
    turn: &mut impl Turn,
    period_ns: u64,
    until: Until,
    stop: &AtomicBool,
) -> Result<SliceReport, BenchError> {
    let mut slice = SliceReport::default();
    let mut due_ns = clock::monotonic_ns();
    let end_ns = due_ns.saturating_add(until.duration_ns);
    while due_ns < end_ns && slice.writes < until.calls && !stop.load(Relaxed) {
        if turn.prepare()? {
            due_ns = clock::monotonic_ns();
        }
        clock::sleep_until_ns(due_ns);
        let kept_ns = turn.call(due_ns);
        slice.writes += 1;
        slice.latency_ns_max = slice.latency_ns_max.max(kept_ns);
        // Blocks that came due while the call lasted have nowhere to go: they are lost, and the
        // next one is the next that comes.
        let late_ns = clock::monotonic_ns().saturating_sub(due_ns);
        let lost = late_ns / period_ns;
        slice.lost_periods += lost;
        due_ns += (lost + 1) * period_ns;
    }
    Ok(slice)
}

/// What a producer's calls were, over all slices.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) latency_ns: Histogram<u64>,
    pub(crate) latency_ns_max: u64,
    pub(crate) lost_periods: u64,
    pub(crate) written_bytes: u64,
    pub(crate) failed_writes: u64,
    pub(crate) first_error: Option<io::ErrorKind>,
    pub(crate) usage: ThreadUsage,
}

impl Tally {
    pub(crate) fn new() -> Result<Self, BenchError> {
        Ok(Self {
            latency_ns: latency_histogram()?,
            latency_ns_max: 0,
            lost_periods: 0,
            written_bytes: 0,
            failed_writes: 0,
            first_error: None,
            usage: ThreadUsage::default(),
        })
    }

    /// Makes a call that writes `bytes`, times and counts it; failed ones too. Returns its ns.
    pub(crate) fn time(&mut self, bytes: u64, call: impl FnOnce() -> io::Result<()>) -> u64 {
        let before_ns = clock::monotonic_ns();
        let result = call();
        let latency_ns = clock::monotonic_ns() - before_ns;
        self.latency_ns.saturating_record(latency_ns);
        match result {
            Ok(()) => self.written_bytes += bytes,
            Err(error) => {
                self.failed_writes += 1;
                self.first_error.get_or_insert(error.kind());
            }
        }
        latency_ns
    }

    /// Adds a slice, and what the calling thread cost since `before`.
    pub(crate) fn add(&mut self, slice: SliceReport, before: ThreadUsage) {
        self.usage = self.usage.plus(ThreadUsage::now().since(before));
        self.lost_periods += slice.lost_periods;
        self.latency_ns_max = self.latency_ns_max.max(slice.latency_ns_max);
    }
}

/// From 1 ns to an hour, three digits: longer than any write() that anybody waited for.
pub(crate) fn latency_histogram() -> Result<Histogram<u64>, BenchError> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).map_err(BenchError::Histogram)
}

#[cfg(test)]
mod tests {
    use super::{Tally, Turn, Until, pace};
    use crate::error::BenchError;
    use baro_sys::clock;
    use std::io;
    use std::sync::atomic::AtomicBool;

    const PERIOD_NS: u64 = 1_000_000;

    /// The third call takes more than four periods; the fifth is after a break.
    struct Slow {
        due_ns: Vec<u64>,
        breaks: bool,
    }

    impl Turn for Slow {
        fn prepare(&mut self) -> Result<bool, BenchError> {
            Ok(self.breaks && self.due_ns.len() == 4)
        }

        fn call(&mut self, due_ns: u64) -> u64 {
            self.due_ns.push(due_ns);
            if self.due_ns.len() == 3 {
                clock::sleep_until_ns(due_ns + 4 * PERIOD_NS);
            }
            self.due_ns.len() as u64
        }
    }

    #[test]
    fn calls_and_lost_periods_are_the_periods_that_went_by() {
        let until = Until { duration_ns: u64::MAX, calls: 10 };
        let mut turn = Slow { due_ns: Vec::new(), breaks: false };
        let slice = pace(&mut turn, PERIOD_NS, until, &AtomicBool::new(false)).expect("paced");
        assert_eq!((slice.writes, slice.latency_ns_max), (10, 10));
        let (first, last) = (turn.due_ns[0], turn.due_ns[9]);
        assert_eq!((last - first) % PERIOD_NS, 0, "no drift");
        let lost_before_the_last = (last - first) / PERIOD_NS - 9;
        assert!(lost_before_the_last >= 4, "{:?}", turn.due_ns);
        assert!(slice.lost_periods >= lost_before_the_last);
        assert!(turn.due_ns[3] - turn.due_ns[2] >= 5 * PERIOD_NS);
        // A break begins the periods anew instead of losing some.
        let mut turn = Slow { due_ns: Vec::new(), breaks: true };
        pace(&mut turn, PERIOD_NS, until, &AtomicBool::new(false)).expect("paced");
        assert_eq!(turn.due_ns.len(), 10);
    }

    #[test]
    fn failed_calls_are_timed_and_counted_apart() {
        let mut tally = Tally::new().expect("fixed bounds");
        tally.time(10, || Ok(()));
        tally.time(10, || Err(io::ErrorKind::StorageFull.into()));
        tally.time(10, || Err(io::ErrorKind::TimedOut.into()));
        assert_eq!((tally.latency_ns.len(), tally.written_bytes, tally.failed_writes), (3, 10, 2));
        assert_eq!(tally.first_error, Some(io::ErrorKind::StorageFull));
    }
}
