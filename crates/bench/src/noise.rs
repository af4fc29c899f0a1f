//! The machine's noise: a thread that only sleeps and wakes, and how late it was.
//!
//! It runs beside a measurement with the measurement's period and scheduling class, and does
//! nothing that a file system or device could delay. A maximum no longer than the noise's is no
//! statement about writing.
//!
//! Invariant: each wake-up is in the histogram; those that were slept through are counted. Held by
//! `every_wake_up_is_counted` and `stops_and_says_how_often_it_woke`.

use crate::error::BenchError;
use crate::pace::{Turn, Until, latency_histogram, pace};
use baro_sys::clock;
use baro_sys::counters::ThreadUsage;
use hdrhistogram::Histogram;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

const THREAD: &str = "bench-noise";

/// How late the thread woke.
#[derive(Clone, Debug)]
pub struct NoiseReport {
    /// From one due wake-up to the next, ns.
    pub period_ns: u64,
    /// Time from when a wake-up was due until the thread ran, ns.
    pub late_ns: Histogram<u64>,
    /// The longest, exactly (the histogram keeps three digits).
    pub late_ns_max: u64,
    /// Wake-ups.
    pub wakes: u64,
    /// Wake-ups that did not happen, because the one before was later than a period.
    pub missed: u64,
    /// What the thread cost.
    pub usage: ThreadUsage,
}

/// A thread that sleeps to absolute times. Dropping it ends it too, without a report.
#[derive(Debug)]
pub struct Noise {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<NoiseReport, BenchError>>>,
}

impl Noise {
    /// Starts a thread that wakes each `period_ns`. It takes over the scheduling of the calling
    /// thread.
    ///
    /// # Errors
    /// A period of 0, no thread.
    pub fn start(period_ns: u64) -> Result<Self, BenchError> {
        Self::start_until(period_ns, Until { duration_ns: u64::MAX, calls: u64::MAX })
    }

    fn start_until(period_ns: u64, until: Until) -> Result<Self, BenchError> {
        if period_ns == 0 {
            let (field, expected) = ("period_ns", "at least 1");
            return Err(BenchError::Specification { field, found: period_ns, expected });
        }
        let mut sleeper = Sleeper { late_ns: latency_histogram()? };
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::Builder::new()
            .name(THREAD.to_owned())
            .spawn(move || {
                let before = ThreadUsage::now();
                let slice = pace(&mut sleeper, period_ns, until, &told)?;
                Ok(NoiseReport {
                    period_ns,
                    late_ns: sleeper.late_ns,
                    late_ns_max: slice.latency_ns_max,
                    wakes: slice.writes,
                    missed: slice.lost_periods,
                    usage: ThreadUsage::now().since(before),
                })
            })
            .map_err(BenchError::Thread)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Ends the thread, which takes up to a period, and returns what it saw.
    ///
    /// # Errors
    /// The thread was lost.
    pub fn stop(mut self) -> Result<NoiseReport, BenchError> {
        self.stop.store(true, Relaxed);
        self.join()
    }

    fn join(&mut self) -> Result<NoiseReport, BenchError> {
        let lost = || BenchError::ThreadLost(THREAD);
        self.thread.take().ok_or_else(lost)?.join().map_err(|_| lost())?
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Sleeper {
    late_ns: Histogram<u64>,
}

impl Turn for Sleeper {
    fn prepare(&mut self) -> Result<bool, BenchError> {
        Ok(false)
    }

    fn call(&mut self, due_ns: u64) -> u64 {
        let late_ns = clock::monotonic_ns().saturating_sub(due_ns);
        self.late_ns.saturating_record(late_ns);
        late_ns
    }
}

#[cfg(test)]
mod tests {
    use super::{Noise, Until};
    use crate::error::BenchError;
    use baro_sys::clock;

    #[test]
    fn every_wake_up_is_counted() {
        let until = Until { duration_ns: u64::MAX, calls: 25 };
        let mut noise = Noise::start_until(100_000, until).expect("a thread");
        let report = noise.join().expect("ended by itself");
        assert_eq!((report.wakes, report.late_ns.len(), report.period_ns), (25, 25, 100_000));
        // The histogram rounds up to three digits.
        assert!(report.late_ns_max <= report.late_ns.max());
        assert!(report.late_ns_max >= report.late_ns.min());
    }

    #[test]
    fn stops_and_says_how_often_it_woke() {
        let before_ns = clock::monotonic_ns();
        let noise = Noise::start(1_000_000).expect("a thread");
        clock::sleep_ns(20_000_000);
        let report = noise.stop().expect("stopped");
        let periods_max = (clock::monotonic_ns() - before_ns) / 1_000_000 + 1;
        assert_eq!(report.wakes, report.late_ns.len());
        assert!(report.wakes + report.missed <= periods_max, "{report:?} {periods_max}");
        drop(Noise::start(1_000_000).expect("a thread"));
        let refused = Noise::start(0).map(drop);
        assert!(matches!(refused, Err(BenchError::Specification { field: "period_ns", .. })));
    }
}
