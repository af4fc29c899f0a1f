//! The latest sample of each series before the interval: what a counter is compared with in its first
//! step, and what holds until its first sample.
//!
//! Of few series it is read from the end of what is before, as any question about the newest rows. Of
//! many at once all that is before is read.

use super::each::Sample;
use super::{Fill, Query, QueryNotes, Values};
use crate::{Interval, Result, Store};
use baro_sys::storage::Storage;
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
    pub(super) fn of_ids<S: Storage>(
        store: &Store<S>,
        ids: &[u32],
        query: &Query,
    ) -> Result<(Self, QueryNotes)> {
        let Some(query) = Before::query(query) else { return Ok(<_>::default()) };
        let mut found = Found::default();
        let notes = store.query_ids(ids, &query, |batch| {
            found.take(batch.target.place, batch.times_ns, &batch.values);
            ControlFlow::Continue(())
        })?;
        Ok((found.into(), QueryNotes { rows: 0, batches: 0, ..notes }))
    }
}

/// Samples as they are found.
#[derive(Debug, Default)]
pub(super) struct Found(HashMap<usize, Sample>);

impl Found {
    pub(super) fn take(&mut self, place: usize, times_ns: &[i64], values: &Values<'_>) {
        let bits = values.len().checked_sub(1).and_then(|at| values.bits(at));
        if let (Some(bits), Some(time_ns)) = (bits, times_ns.last()) {
            self.0.insert(place, Sample { time_ns: *time_ns, bits });
        }
    }
}

impl From<Found> for Before {
    fn from(found: Found) -> Self {
        Before(Arc::new(found.0))
    }
}
