//! Latencies as a measurement stores them: what a table needs exactly, and the rest to two digits.
//!
//! Invariant: minimum, maximum, mean and count are those of the calls; a quantile is off by one in
//! a hundred at most. Held by the tests below.

use crate::error::BenchError;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Durations of calls.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many calls.
    pub calls: u64,
    /// The shortest, ns.
    pub min_ns: u64,
    /// The longest, ns.
    pub max_ns: u64,
    /// Arithmetic mean, ns.
    pub mean_ns: f64,
    /// Durations to two digits, ns, and how many calls took so long; ascending.
    pub steps: Vec<(u64, u64)>,
}

impl Latency {
    /// Of a histogram with three digits or more, whose longest call is known exactly.
    ///
    /// # Errors
    /// No memory for another histogram.
    pub fn of(histogram: &Histogram<u64>, max_ns: u64) -> Result<Self, BenchError> {
        let mut coarse = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 2)
            .map_err(BenchError::Histogram)?;
        for step in histogram.iter_recorded() {
            let calls = step.count_since_last_iteration();
            coarse.saturating_record_n(step.value_iterated_to(), calls);
        }
        let steps = coarse
            .iter_recorded()
            .map(|step| (step.value_iterated_to().min(max_ns), step.count_since_last_iteration()));
        Ok(Self {
            calls: histogram.len(),
            min_ns: histogram.min().min(max_ns),
            max_ns,
            mean_ns: if histogram.is_empty() { 0.0 } else { histogram.mean() },
            steps: steps.collect(),
        })
    }

    /// What this share of the calls does not exceed, ns; 0 if there were none.
    #[must_use]
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let wanted = (share * self.calls as f64).ceil() as u64;
        let mut seen = 0;
        for (ns, calls) in &self.steps {
            seen += calls;
            if seen >= wanted.max(1) {
                return (*ns).clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    /// Minimum, quartiles, 99.9th percentile and maximum in microseconds, for a box plot.
    #[must_use]
    pub fn marks_us(&self) -> [f64; 6] {
        let us = |ns: u64| ns as f64 / 1e3;
        let at = |share| us(self.quantile_ns(share));
        [us(self.min_ns), at(0.25), at(0.5), at(0.75), at(0.999), us(self.max_ns)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_tables_need_is_exact_and_quantiles_nearly() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        for us in 1..=10_000_u64 {
            histogram.saturating_record(us * 1_000);
        }
        let latency = Latency::of(&histogram, 10_000_007).unwrap();
        assert_eq!((latency.calls, latency.max_ns), (10_000, 10_000_007));
        assert!((999..=1_001).contains(&latency.min_ns), "{}", latency.min_ns);
        assert!((latency.mean_ns / 5_000_500.0 - 1.0).abs() < 0.001, "{}", latency.mean_ns);
        for share in [0.25, 0.5, 0.75, 0.999] {
            let off = latency.quantile_ns(share) as f64 / (share * 1e7) - 1.0;
            assert!(off.abs() < 0.011, "{share}: {off}");
        }
        assert_eq!((latency.quantile_ns(1.0), latency.quantile_ns(2.0)), (10_000_007, 10_000_007));
        let text = serde_json::to_string(&latency).unwrap();
        assert_eq!(serde_json::from_str::<Latency>(&text).unwrap(), latency);
        assert!(text.len() < 12_000, "{}", text.len());
        let none = Latency::of(&Histogram::<u64>::new(3).unwrap(), 0).unwrap();
        assert_eq!((none.calls, none.quantile_ns(0.5), none.mean_ns), (0, 0, 0.0));
    }
}
