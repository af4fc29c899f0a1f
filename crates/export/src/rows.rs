//! What a query finds, handed to a form piece by piece.
//!
//! Every form takes batches of one series, writes what it can and keeps a bounded rest: memory does
//! not grow with the answer. Invariant: a form never drops a row silently; what it has no way to
//! say is counted in [`Told`]. Held by `tests/forms.rs`.

use crate::{Error, Result};
use baro_store::{Batch, Column, Query, QueryNotes, Selection, Store};
use baro_sys::clock;
use std::ops::ControlFlow;

/// What a form could not say in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Infinite values that were written as null, since JSON has none.
    pub infinite_as_null: u64,
    /// Series whose unit and labels are not in the file's metadata, which is bounded.
    pub series_without_metadata: u64,
}

/// A form of rows: CSV, JSON, Arrow and so on.
pub trait Rows {
    /// Takes rows of one series.
    ///
    /// # Errors
    /// The output refuses.
    fn batch(&mut self, column: &Column, batch: &Batch<'_>) -> Result<()>;

    /// Writes what is held back, and the end.
    ///
    /// # Errors
    /// The output refuses.
    fn finish(&mut self) -> Result<Told>;
}

/// Sleeps so that rows are asked for no faster than a rate, counting 16 bytes a row: beside a
/// recorder an export must not be felt.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    bytes_per_s: u64,
    started_ns: u64,
    bytes: u64,
}

/// A time and a value.
const ROW_BYTES: u64 = 16;

impl Pace {
    /// From now on, so many bytes a second.
    #[must_use]
    pub fn new(bytes_per_s: u64) -> Self {
        Pace { bytes_per_s: bytes_per_s.max(1), started_ns: clock::monotonic_ns(), bytes: 0 }
    }

    fn took(&mut self, rows: u64) {
        self.bytes += rows * ROW_BYTES;
        let due_ns = u128::from(self.bytes) * 1_000_000_000 / u128::from(self.bytes_per_s);
        let passed_ns = clock::monotonic_ns().saturating_sub(self.started_ns);
        let left_ns = due_ns.saturating_sub(u128::from(passed_ns));
        if left_ns > 0 {
            clock::sleep_ns(u64::try_from(left_ns).unwrap_or(u64::MAX));
        }
    }
}

/// Asks the store and hands what it finds to `rows`, to its end. Blocks for reading, writing and
/// the pace.
///
/// # Errors
/// The store cannot be read, or the output refuses; damage is in the notes.
pub fn query(
    store: &Store,
    selection: &Selection,
    query: &Query,
    mut pace: Option<Pace>,
    rows: &mut dyn Rows,
) -> Result<(QueryNotes, Told)> {
    let mut failed: Option<Error> = None;
    let notes = store.query(selection, query, |batch| {
        let Some(column) = selection.columns().get(batch.target.place) else {
            return ControlFlow::Continue(());
        };
        if let Err(error) = rows.batch(column, batch) {
            failed = Some(error);
            return ControlFlow::Break(());
        }
        if let Some(pace) = &mut pace {
            pace.took(batch.times_ns.len() as u64);
        }
        ControlFlow::Continue(())
    })?;
    match failed {
        Some(error) => Err(error),
        None => Ok((notes, rows.finish()?)),
    }
}
