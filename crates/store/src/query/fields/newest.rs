//! Which part of the interval has the newest rows of fields, found from its end back. As for samples
//! (`query/newest`): only the latest times of all blocks that were not read tell that nothing newer
//! comes.
//!
//! Held by `tests/newest.rs`.

use super::super::emit::{Emitter, Taker};
use super::super::newest::behind;
use super::super::steps::Grid;
use super::super::{Aggregate, Batch, Every, Query};
use crate::backwards::{Backwards, records_of};
use crate::index::Index;
use crate::interval::Interval;
use crate::{Result, Selection, Store};
use baro_ondisk::Kind;
use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};

/// Most rows that are looked for, of all columns together: with more it is no short answer.
const ROWS_MAX: usize = 64 << 10;

/// The part that has the last rows of the columns at `places`; none if the whole is to be read.
pub(super) fn interval(
    store: &Store,
    index: &Index,
    selection: &Selection,
    places: Range<usize>,
    query: &Query,
) -> Result<Option<Interval>> {
    // A step that is compared with what is before may have no row.
    let has_row = |every: Every| every.is_steps() && !every.aggregate.looks_back();
    let steps = query.every.is_none_or(has_row) && query.fill.is_none();
    let Some(rows) = query.last.filter(|rows| steps && *rows > 0) else { return Ok(None) };
    if rows.saturating_mul(places.len()) > ROWS_MAX {
        return Ok(None);
    }
    // Of each column the latest times that have a row.
    let mut latest: Vec<BTreeSet<i64>> = places.clone().map(|_| BTreeSet::new()).collect();
    let mut grid = Grid::of(query);
    let mut backwards = Backwards::new(store, index, query.interval)?;
    loop {
        let Some(bound_ns) = backwards.bound_ns() else { return Ok(None) };
        if let Some(known) = behind(bound_ns, query) {
            let whole = |times: &BTreeSet<i64>| {
                times.len() == rows && times.first().is_some_and(|first| *first >= known.from_ns)
            };
            if latest.iter().all(whole) {
                return Ok(Some(known));
            }
        }
        backwards.next(|live| {
            records_of(live, |record| {
                if record.kind != Kind::Frame || !query.interval.holds(record.time_ns) {
                    return;
                }
                selection.unfold(record, |point| {
                    let Some(at) = point.place.checked_sub(places.start) else { return };
                    let Some(times) = latest.get_mut(at) else { return };
                    let time_ns = match query.every {
                        Some(_) => grid.start_ns(point.time_ns),
                        None => point.time_ns,
                    };
                    times.insert(time_ns);
                    if times.len() > rows {
                        times.pop_first();
                    }
                });
            });
        })?;
    }
}

/// Whether each of the columns at `places` has the last rows in this part: a sum of integers that is
/// larger than its type has none.
pub(super) fn has_rows(
    store: &Store,
    selection: &Selection,
    places: Range<usize>,
    query: &Query,
    part: Interval,
) -> Result<bool> {
    let sums = query.every.is_some_and(|every| every.aggregate == Aggregate::Sum);
    let Some(last) = query.last.filter(|_| sums) else { return Ok(true) };
    let mut rows = vec![0; places.len()];
    let mut count = |batch: &Batch<'_>| {
        let at = batch.target.place.checked_sub(places.start);
        if let Some(rows) = at.and_then(|at| rows.get_mut(at)) {
            *rows += batch.times_ns.len();
        }
        ControlFlow::Continue(())
    };
    let query = Query { interval: part, last: None, limit: None, ..query.clone() };
    let mut out = Emitter::new(&query, Taker::Batches(&mut count));
    super::columns(store, selection, places.clone(), &query, &mut out, None)?;
    Ok(rows.iter().all(|rows| *rows >= last))
}
