//! Fields of frames as series: frames stay in the log, so every one of the interval is read, in
//! time order. The first column asked for goes out as it comes; rows of the others wait in memory,
//! and when that is full the hindmost columns are left to a further pass.
//!
//! Invariant: memory is bounded by [`ROWS_HELD`], whatever the number of columns and frames. Held
//! by `fields_come_out_whole_in_several_passes`. What any pass missed is told. Held by
//! `what_is_recycled_between_two_passes_is_told`.

mod newest;

use super::before::{Before, Found};
use super::emit::{Emitter, Form, Taker};
use super::fold::Fold;
use super::{Batch, Query, Target};
use crate::index::Index;
use crate::interval::{Interval, Reading};
use crate::read::Notes;
use crate::selection::{Datum, Point};
use crate::{Result, Selection, Store, ValueType};
use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};

/// Rows of all waiting columns together: 16 bytes each.
const ROWS_HELD: usize = 2 << 20;

/// Rows of one column, in time order; of several of one time the last.
#[derive(Debug, Default)]
struct Waiting {
    times_ns: Vec<i64>,
    bits: Vec<u64>,
}

impl Waiting {
    /// Adds a row; true if there is one more than before.
    fn push(&mut self, time_ns: i64, bits: u64) -> bool {
        if self.times_ns.last() == Some(&time_ns) {
            if let Some(last) = self.bits.last_mut() {
                *last = bits;
            }
            return false;
        }
        self.times_ns.push(time_ns);
        self.bits.push(bits);
        true
    }
}

/// Rows that are handed out at once.
const ROWS: usize = 4096;

/// Hands out the columns at `places`; `rows_held` is [`ROWS_HELD`] but in tests. Returns also how
/// many fields frames were too short for.
pub(super) fn columns(
    store: &Store,
    selection: &Selection,
    places: Range<usize>,
    query: &Query,
    out: &mut Emitter<'_>,
    rows_held: Option<usize>,
) -> Result<(Notes, u64)> {
    // The last rows ask for no blank rest of the log, as little as samples do.
    let index = if query.last.is_some() { store.near()? } else { store.index()? };
    let newest = newest::interval(store, index, selection, places.clone(), query)?;
    let newest = match newest {
        Some(part) if !newest::has_rows(store, selection, places.clone(), query, part)? => None,
        newest => newest,
    };
    let interval = newest.unwrap_or(query.interval);
    let query = &Query { interval, ..query.clone() };
    let (before, earlier) = before(store, selection, places.clone(), query)?;
    let (mut notes, mut short) = (Notes::default(), 0);
    let most = rows_held.unwrap_or(ROWS_HELD);
    let mut first = places.start;
    while first < places.end {
        let mut waiting: VecDeque<Waiting> =
            (first..places.end).map(|_| Waiting::default()).collect();
        let mut held = 0;
        let mut sink = Sink::new(selection, first, query, (&before, out));
        let mut flow = ControlFlow::Continue(());
        let mut failed = None;
        let (read, missing) = frame_points(store, index, interval, selection, |point| {
            let Some(bits) = bits(point.value) else { return flow };
            let Some(at) = point.place.checked_sub(first) else { return flow };
            let Some(column) = waiting.get_mut(at) else { return flow };
            held += usize::from(column.push(point.time_ns, bits));
            if at == 0 && column.times_ns.len() > ROWS {
                // All but the newest, which a row of the same time may still replace.
                held -= column.times_ns.len() - 1;
                flow = sink.take(column, 1).unwrap_or_else(|error| {
                    failed = Some(error);
                    ControlFlow::Break(())
                });
            }
            while held > most && waiting.len() > 1 {
                held -= waiting.pop_back().map_or(0, |last| last.times_ns.len());
            }
            flow
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        // A later pass may have met what was recycled or damaged since; its columns lack that. All of
        // it is met again by each, and counts once.
        let recycled = notes.blocks_recycled.max(read.blocks_recycled);
        notes.add(read);
        notes.blocks_recycled = recycled;
        short = short.max(missing);
        for column in &mut waiting {
            if flow.is_continue() {
                flow = sink.take(column, 0)?;
            }
            if flow.is_continue() {
                flow = sink.end()?;
            }
            first += 1;
            sink.next(selection, first);
        }
        if flow.is_break() {
            break;
        }
    }
    notes.add(earlier);
    Ok((notes, short))
}

/// The latest value of each column before the interval, and what was met there: what the query reads
/// itself begins later.
fn before(
    store: &Store,
    selection: &Selection,
    places: Range<usize>,
    query: &Query,
) -> Result<(Before, Notes)> {
    let Some(last) = Before::query(query) else { return Ok(<_>::default()) };
    let (mut found, mut notes) = (Found::of(query), Notes::default());
    let mut ask = |places: Range<usize>, query: &Query, found: &mut Found| -> Result<()> {
        let mut take = |batch: &Batch<'_>| {
            found.take(batch.target.place, batch.times_ns, &batch.values);
            ControlFlow::Continue(())
        };
        let mut out = Emitter::new(query, Taker::Batches(&mut take));
        notes.add(columns(store, selection, places, query, &mut out, None)?.0);
        Ok(())
    };
    ask(places, &last, &mut found)?;
    found.past_nan(|places, query, found| {
        places.iter().try_for_each(|place| ask(*place..*place + 1, query, found))
    })?;
    Ok((found.into(), notes))
}

/// Calls `each` with the points of frames, in time order, until it breaks.
fn frame_points(
    store: &Store,
    index: &Index,
    interval: Interval,
    selection: &Selection,
    mut each: impl FnMut(&Point<'_>) -> ControlFlow<()>,
) -> Result<(Notes, u64)> {
    let mut short = 0;
    let filter = selection.filter().data_only().without_samples();
    let notes = store.records_of(index, interval, &filter, &Reading::default(), |record| {
        let mut flow = ControlFlow::Continue(());
        short += selection.unfold(record, |point| {
            if flow.is_continue() {
                flow = each(point);
            }
        });
        flow
    })?;
    Ok((notes, short))
}

/// Where the rows of a column go.
struct Sink<'a, 'e> {
    form: Form,
    fold: Option<Fold>,
    out: &'a mut Emitter<'e>,
}

impl<'a, 'e> Sink<'a, 'e> {
    fn new(
        selection: &Selection,
        place: usize,
        query: &Query,
        (before, out): (&Before, &'a mut Emitter<'e>),
    ) -> Self {
        let fold = Fold::of(query, before.clone());
        let mut sink = Sink { form: Form::F64, fold, out };
        sink.next(selection, place);
        sink
    }

    /// What follows is of the column at `place`.
    fn next(&mut self, selection: &Selection, place: usize) {
        let Some(column) = selection.columns().get(place) else { return };
        self.form = match column.kind {
            Some(ValueType::U64) => Form::U64,
            Some(ValueType::I64) => Form::I64,
            Some(ValueType::Bool) => Form::Bool,
            _ => Form::F64,
        };
        let target = Target { id: column.id, place };
        self.out.series(target, self.form);
        if let Some(fold) = &mut self.fold {
            fold.begin(target, self.form, self.out);
        }
    }

    /// Takes all rows of a column but the last `keep`.
    fn take(&mut self, column: &mut Waiting, keep: usize) -> Result<ControlFlow<()>> {
        let rows = column.times_ns.len().saturating_sub(keep);
        let times_ns = column.times_ns.get(..rows).unwrap_or(&[]);
        let bits = column.bits.get(..rows).unwrap_or(&[]);
        let mut flow = ControlFlow::Continue(());
        match &mut self.fold {
            None => flow = self.out.rows(times_ns, bits),
            Some(fold) => {
                for (time_ns, bits) in times_ns.iter().zip(bits) {
                    flow = fold.add(*time_ns, (self.form, *bits), self.out)?;
                    if flow.is_break() {
                        break;
                    }
                }
            }
        }
        column.times_ns.drain(..rows);
        column.bits.drain(..rows);
        Ok(flow)
    }

    fn end(&mut self) -> Result<ControlFlow<()>> {
        if let Some(fold) = &mut self.fold
            && fold.end(self.out)?.is_break()
        {
            return Ok(ControlFlow::Break(()));
        }
        Ok(self.out.end())
    }
}

fn bits(value: Datum<'_>) -> Option<u64> {
    Some(match value {
        Datum::Float(value) => value.to_bits(),
        Datum::Integer(value) => value.cast_unsigned(),
        Datum::Unsigned(value) => value,
        Datum::Boolean(value) => u64::from(value),
        Datum::Frame(_) | Datum::Text(_) => return None,
    })
}

#[cfg(test)]
mod tests;
