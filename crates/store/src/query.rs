//! Samples of selected series over an interval: as they are, or folded into steps of time.
//!
//! A [`Query`] says what is wanted of each series; [`Store::query`] hands it out in [`Batch`]es,
//! series by series, each in rising time, with memory bounded whatever the query is. Of several
//! samples of one series and time the last recorded counts.

mod aggregate;
mod batch;
mod plain;

pub use aggregate::{Aggregate, Every};
pub use batch::{Batch, Target, Texts, Values};

use crate::read::Notes;
use crate::records::Interval;
use crate::{Column, Result, Selection, Store};
use baro_sys::storage::Storage;
use std::ops::ControlFlow;

/// What is wanted of each selected series.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// Samples with `from_ns <= time < to_ns`.
    pub interval: Interval,
    /// Fold into steps of time; `None` hands out samples as they were recorded.
    pub every: Option<Every>,
    /// At most so many of the newest samples (or steps) of each series.
    pub last: Option<usize>,
    /// At most so many rows in all.
    pub limit: Option<u64>,
}

impl Query {
    /// All samples of an interval.
    #[must_use]
    pub fn raw(interval: Interval) -> Self {
        Query { interval, every: None, last: None, limit: None }
    }

    /// One value for each step of time; see [`Every`].
    #[must_use]
    pub fn every(interval: Interval, every: Every) -> Self {
        Query { interval, every: Some(every), last: None, limit: None }
    }
}

/// What a query met beside what it handed out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryNotes {
    /// Rows handed out.
    pub rows: u64,
    /// Batches handed out.
    pub batches: u64,
    /// Fields that frames were too short for.
    pub fields_missing: u64,
    /// What was read, and damage that was met; the data of damaged places is missing.
    pub read: Notes,
}

impl<S: Storage> Store<S> {
    /// Calls `each` with what the query asks for, series by series in the order of
    /// [`Selection::columns`], each by rising time, until it breaks.
    ///
    /// # Errors
    /// The operating system refuses; damage is in the notes.
    pub fn query(
        &self,
        selection: &Selection,
        query: &Query,
        each: impl FnMut(&Batch<'_>) -> ControlFlow<()>,
    ) -> Result<QueryNotes> {
        plain::query(self, selection, query, each)
    }

    /// Name, unit and type of what a batch is of.
    #[must_use]
    pub fn column(&self, selection: &Selection, target: Target) -> Option<Column> {
        selection.columns().get(target.place).cloned()
    }
}
