//! The latest sample of each series before the interval: what a counter is compared with in its first
//! step, and what holds until its first sample.
//!
//! Of few series it is read from the end of what is before, as any question about the newest rows. Of
//! many at once all that is before is read. What looks back passes over NaN there too, as in the
//! interval: it goes on to the sample before.
//!
//! Held by `tests/each.rs`.

use super::each::Sample;
use super::{Fill, Query, QueryNotes, Values};
use crate::{Interval, Result, Store};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

/// By the place of a series in the query.
#[derive(Clone, Debug, Default)]
pub(super) struct Before(Arc<HashMap<usize, Sample>>);

impl Before {
    /// That of the series at `place`.
    pub(super) fn get(&self, place: usize) -> Option<Sample> {
        self.0.get(&place).copied()
    }

    /// The question about it; `None` if it is of no use, or there can be none.
    pub(super) fn query(of: &Query) -> Option<Query> {
        let every = of.every?;
        let holds = of.fill == Some(Fill::Previous) && every.aggregate.is_value();
        let wanted = every.aggregate.looks_back() || holds;
        let to_ns = of.interval.from_ns;
        let interval = Interval { from_ns: i64::MIN, to_ns };
        (wanted && to_ns > i64::MIN).then(|| Query { last: Some(1), ..Query::raw(interval) })
    }

    /// That of series by their ids, and what was met.
    pub(super) fn of_ids(store: &Store, ids: &[u32], query: &Query) -> Result<(Self, QueryNotes)> {
        let Some(last) = Before::query(query) else { return Ok(<_>::default()) };
        let mut found = Found::of(query);
        let mut notes = store.query_ids(ids, &last, |batch| {
            found.take(batch.target.place, batch.times_ns, &batch.values);
            ControlFlow::Continue(())
        })?;
        found.past_nan(|places, query, found| {
            let some: Vec<u32> = places.iter().filter_map(|at| ids.get(*at).copied()).collect();
            notes.add(store.query_ids(&some, query, |batch| {
                if let Some(place) = places.get(batch.target.place) {
                    found.take(*place, batch.times_ns, &batch.values);
                }
                ControlFlow::Continue(())
            })?);
            Ok(())
        })?;
        Ok((found.into(), QueryNotes { rows: 0, batches: 0, ..notes }))
    }
}

/// Rows that are looked at next where the latest was NaN, and most of them.
const ROWS: usize = 16;
const ROWS_MAX: usize = 64 << 10;

/// Samples as they are found.
#[derive(Debug, Default)]
pub(super) struct Found {
    samples: HashMap<usize, Sample>,
    /// Whether NaN is passed over.
    passes_nan: bool,
    /// Where nothing but NaN was found: its earliest time.
    nan_ns: HashMap<usize, i64>,
}

impl Found {
    /// Of what is before a query.
    pub(super) fn of(query: &Query) -> Self {
        let passes_nan = query.every.is_some_and(|every| every.aggregate.looks_back());
        Found { passes_nan, ..Found::default() }
    }

    /// Takes rows of a series, each batch later than the one before.
    pub(super) fn take(&mut self, place: usize, times_ns: &[i64], values: &Values<'_>) {
        let counts = |at: &usize| match values {
            Values::F64(values) if self.passes_nan => values.get(*at).is_some_and(|v| !v.is_nan()),
            _ => true,
        };
        let found = (0..values.len()).rev().find(counts);
        let sample = found
            .and_then(|at| Some(Sample { time_ns: *times_ns.get(at)?, bits: values.bits(at)? }));
        if let Some(sample) = sample {
            self.samples.insert(place, sample);
            self.nan_ns.remove(&place);
        } else if let Some(first_ns) = times_ns.first()
            && !self.samples.contains_key(&place)
        {
            self.nan_ns.entry(place).or_insert(*first_ns);
        }
    }

    /// Looks further back where there was nothing but NaN: `ask` takes what its query finds of the series
    /// at these places, which rise.
    pub(super) fn past_nan(
        &mut self,
        mut ask: impl FnMut(&[usize], &Query, &mut Found) -> Result<()>,
    ) -> Result<()> {
        let mut rows = ROWS;
        // Those with the latest time are further back each time.
        while let Some(to_ns) = self.nan_ns.values().copied().max().filter(|ns| *ns > i64::MIN) {
            let mut places: Vec<usize> = std::mem::take(&mut self.nan_ns).into_keys().collect();
            places.sort_unstable();
            let interval = Interval { from_ns: i64::MIN, to_ns };
            ask(&places, &Query { last: Some(rows), ..Query::raw(interval) }, self)?;
            rows = (2 * rows).min(ROWS_MAX);
        }
        Ok(())
    }
}

impl From<Found> for Before {
    fn from(found: Found) -> Self {
        Before(Arc::new(found.samples))
    }
}
