//! Points of runs and log together, in time order. Runs are sorted by series; so time is cut into
//! slices that fit into memory, and the samples of each slice are sorted once more.
//!
//! Invariant: memory is bounded by [`ROWS_MAX`], but for a moment that has more samples than
//! that. Held by `tests/timeline.rs`.

use crate::interval::{Interval, Reading};
use crate::read::Notes;
use crate::selection::{Point, Selection};
use crate::{Batch, Query, Result, Store, Values};
use baro_sys::storage::Storage;
use std::ops::ControlFlow;

/// Most samples of a slice.
const ROWS_MAX: usize = 512 << 10;

#[derive(Debug)]
enum Cell {
    Bits(u64),
    Text(String),
}

/// A sample: time, series, value.
type Row = (i64, u32, Cell);

impl<S: Storage> Store<S> {
    /// As [`Store::points`], of a store that has runs.
    pub(crate) fn points_of_all(
        &self,
        interval: Interval,
        selection: &Selection,
        reading: &Reading,
        mut each: impl FnMut(&Point<'_>) -> ControlFlow<()>,
    ) -> Result<(Notes, u64)> {
        let (mut notes, mut short) = (Notes::default(), 0);
        let columns = selection.columns().iter().filter(|column| crate::query::is_series(column));
        let ids: Vec<u32> = columns.map(|column| column.id).collect();
        let Some((first_ns, last_ns)) = self.info()?.times_ns else { return Ok((notes, short)) };
        let end_ns = interval.to_ns.min(last_ns.saturating_add(1));
        let mut from_ns = interval.from_ns.max(first_ns);
        let samples: u64 = self.runs.manifest.runs.iter().map(|run| run.samples).sum();
        let slices = samples.div_ceil(ROWS_MAX as u64 / 2).max(1);
        let mut length_ns = (last_ns.abs_diff(first_ns) / slices).max(1);
        let mut rows: Vec<Row> = Vec::new();
        while from_ns < end_ns {
            let to_ns = from_ns.saturating_add_unsigned(length_ns).min(end_ns);
            // The last time there is has none behind it.
            let to_ns = if to_ns == end_ns { interval.to_ns } else { to_ns };
            let slice = Interval { from_ns, to_ns };
            let found = self.slice(&ids, slice, &mut rows)?;
            if rows.len() > ROWS_MAX && length_ns > 1 {
                length_ns /= 2;
                continue;
            }
            length_ns =
                if rows.len() < ROWS_MAX / 8 { length_ns.saturating_mul(2) } else { length_ns };
            notes.blocks += found.blocks;
            let new = found.damage.into_iter().filter(|damage| !notes.damage.contains(damage));
            let new: Vec<_> = new.collect();
            notes.damage.extend(new);
            rows.sort_by_key(|row| (row.0, row.1));
            let mut next = 0;
            let mut flow = ControlFlow::Continue(());
            let (read, missing) = self.frame_points(slice, selection, reading, |point| {
                flow = hand_out(selection, &rows, &mut next, Some(point.time_ns), &mut each);
                if flow.is_continue() {
                    flow = each(point);
                }
                flow
            })?;
            if flow.is_continue() {
                flow = hand_out(selection, &rows, &mut next, None, &mut each);
            }
            notes.records += read.records + next as u64;
            notes.blocks += read.blocks;
            notes.blocks_again += read.blocks_again;
            notes.blocks_recycled += read.blocks_recycled;
            let new: Vec<_> =
                read.damage.into_iter().filter(|damage| !notes.damage.contains(damage)).collect();
            notes.damage.extend(new);
            short += missing;
            if flow.is_break() || to_ns == interval.to_ns {
                break;
            }
            from_ns = to_ns;
        }
        Ok((notes, short))
    }

    /// The samples of a slice, by series; stops one above [`ROWS_MAX`].
    fn slice(&self, ids: &[u32], slice: Interval, rows: &mut Vec<Row>) -> Result<Notes> {
        rows.clear();
        let limit = Some(ROWS_MAX as u64 + 1);
        let query = Query { limit, ..Query::raw(slice) };
        let notes = self.query_ids(ids, &query, |batch| {
            add(batch, rows);
            ControlFlow::Continue(())
        })?;
        Ok(notes.read)
    }
}

fn add(batch: &Batch<'_>, rows: &mut Vec<Row>) {
    let id = batch.target.id;
    let times_ns = batch.times_ns.iter();
    match batch.values {
        Values::F64(values) => rows.extend(
            times_ns.zip(values).map(|(time, value)| (*time, id, Cell::Bits(value.to_bits()))),
        ),
        Values::I64(values) => rows.extend(
            times_ns
                .zip(values)
                .map(|(time, value)| (*time, id, Cell::Bits(value.cast_unsigned()))),
        ),
        Values::U64(values) => {
            rows.extend(times_ns.zip(values).map(|(time, value)| (*time, id, Cell::Bits(*value))));
        }
        Values::Bool(values) => rows.extend(
            times_ns.zip(values).map(|(time, value)| (*time, id, Cell::Bits(u64::from(*value)))),
        ),
        Values::Text(texts) => rows.extend(
            times_ns
                .enumerate()
                .filter_map(|(at, time)| Some((*time, id, Cell::Text(texts.get(at)?.to_owned())))),
        ),
    }
}

/// Hands out the rows up to a time, exclusive.
fn hand_out(
    selection: &Selection,
    rows: &[Row],
    next: &mut usize,
    before_ns: Option<i64>,
    each: &mut impl FnMut(&Point<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut flow = ControlFlow::Continue(());
    while let Some((time_ns, id, cell)) = rows.get(*next) {
        if flow.is_break() || before_ns.is_some_and(|before_ns| *time_ns >= before_ns) {
            break;
        }
        *next += 1;
        let mut each = |point: &Point<'_>| flow = each(point);
        match cell {
            Cell::Bits(bits) => selection.sample(*time_ns, *id, *bits, &mut each),
            Cell::Text(text) => selection.text(*time_ns, *id, text, &mut each),
        }
    }
    flow
}
