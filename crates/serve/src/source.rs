//! Samples of a store for PromQL.

use crate::catalog::{labels_of, selector};
use baro_ondisk::Type;
use baro_promql::{Error, Labels, Matcher, SERIES_VALUES, Samples, Source};
use baro_store::{Interval, Query, Store, Values};
use baro_sys::clock;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// Warnings that an answer has at most.
const WARNINGS_MAX: usize = 20;

/// A store, for one query.
pub(crate) struct Stored<'a> {
    store: &'a Store,
    /// When the query is to end.
    until_ns: u64,
    /// What was met, to be said beside the answer.
    warnings: RefCell<BTreeSet<String>>,
    late: Cell<bool>,
}

impl<'a> Stored<'a> {
    pub(crate) fn new(store: &'a Store, until_ns: u64) -> Self {
        Stored { store, until_ns, warnings: RefCell::default(), late: Cell::new(false) }
    }

    pub(crate) fn into_warnings(self) -> Vec<String> {
        self.warnings.into_inner().into_iter().collect()
    }

    fn warn(&self, said: String) {
        let mut warnings = self.warnings.borrow_mut();
        if warnings.len() < WARNINGS_MAX {
            warnings.insert(said);
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Source(error.to_string())
}

impl Source for Stored<'_> {
    fn select(
        &self,
        matchers: &[Matcher],
        from_ns: i64,
        to_ns: i64,
        samples_max: usize,
    ) -> Result<Vec<Samples>, Error> {
        let selector = selector(matchers)?;
        let catalog = self.store.catalog();
        let series_max = samples_max / SERIES_VALUES;
        // Sorted by id: names and labels are those of the same places.
        let mut found: Vec<(u32, Labels)> = Vec::new();
        let scanned = catalog.scan_selected(&[selector], |declared| {
            if matches!(declared.kind, Type::F64 | Type::I64 | Type::Bool) {
                found.push((declared.id, labels_of(declared.name)));
            }
            match found.len() > series_max {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        scanned.map_err(failed)?;
        if found.len() > series_max {
            return Err(Error::TooMuch { limit: samples_max });
        }
        found.sort_unstable_by_key(|one| one.0);
        let ids: Vec<u32> = found.iter().map(|one| one.0).collect();
        let mut series: Vec<Samples> =
            found.into_iter().map(|(_, labels)| Samples { labels, ..Samples::default() }).collect();
        let interval =
            Interval { from_ns: from_ns.saturating_add(1), to_ns: to_ns.saturating_add(1) };
        let mut too_much = false;
        let mut left = samples_max.saturating_sub(ids.len() * SERIES_VALUES);
        let notes = self.store.query_ids(&ids, &Query::raw(interval), |batch| {
            if !self.goes_on() {
                return ControlFlow::Break(());
            }
            let Some(rest) = left.checked_sub(batch.times_ns.len()) else {
                too_much = true;
                return ControlFlow::Break(());
            };
            left = rest;
            if let Some(one) = series.get_mut(batch.target.place) {
                one.times_ns.extend_from_slice(batch.times_ns);
                match batch.values {
                    Values::F64(values) => one.values.extend_from_slice(values),
                    Values::I64(values) => {
                        one.values.extend(values.iter().map(|value| *value as f64));
                    }
                    Values::U64(values) => {
                        one.values.extend(values.iter().map(|value| *value as f64));
                    }
                    Values::Bool(values) => {
                        one.values.extend(values.iter().map(|value| f64::from(u8::from(*value))));
                    }
                    Values::Text(_) => one.times_ns.clear(),
                }
            }
            ControlFlow::Continue(())
        });
        let notes = notes.map_err(failed)?;
        if too_much {
            return Err(Error::TooMuch { limit: samples_max });
        }
        if self.late.get() {
            return Err(Error::Late);
        }
        for damage in &notes.read.damage {
            self.warn(format!("samples are missing: {damage}"));
        }
        if notes.read.blocks_recycled > 0 {
            let blocks = notes.read.blocks_recycled;
            self.warn(format!("{blocks} blocks were recycled before they were read"));
        }
        series.retain(|one| !one.values.is_empty());
        Ok(series)
    }

    fn goes_on(&self) -> bool {
        let late = clock::monotonic_ns() >= self.until_ns;
        self.late.set(late);
        !late
    }
}
