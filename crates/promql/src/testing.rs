//! A source in memory, for tests and examples.

use crate::labels::Labels;
use crate::source::{Samples, Source};
use promql_parser::label::Matcher;
use std::collections::BTreeMap;

/// Series in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory(BTreeMap<Labels, BTreeMap<i64, f64>>);

impl Memory {
    /// Adds a sample; of several of one time the last counts.
    pub fn push(&mut self, labels: &[(&str, &str)], time_ns: i64, value: f64) {
        let labels = Labels::new(labels.iter().copied());
        self.0.entry(labels).or_default().insert(time_ns, value);
    }

    /// The same of labels as they are.
    pub fn insert(&mut self, labels: Labels, time_ns: i64, value: f64) {
        self.0.entry(labels).or_default().insert(time_ns, value);
    }
}

impl Source for Memory {
    fn select(
        &self,
        matchers: &[Matcher],
        from_ns: i64,
        to_ns: i64,
        samples_max: usize,
    ) -> Result<Vec<Samples>, crate::Error> {
        let mut found = Vec::new();
        let mut left = samples_max;
        for (labels, samples) in &self.0 {
            if !matchers.iter().all(|matcher| matcher.is_match(labels.get(&matcher.name))) {
                continue;
            }
            let within =
                samples.range(from_ns.saturating_add(1)..).take_while(|(t, _)| **t <= to_ns);
            let (times_ns, values): (Vec<i64>, Vec<f64>) = within.map(|(t, v)| (*t, *v)).unzip();
            if times_ns.is_empty() {
                continue;
            }
            left = left
                .checked_sub(times_ns.len())
                .ok_or(crate::Error::TooMuch { limit: samples_max })?;
            found.push(Samples { labels: labels.clone(), times_ns, values });
        }
        Ok(found)
    }
}
