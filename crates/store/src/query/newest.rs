//! Which part of the interval has the newest rows, found from its end back: so a question about the
//! last rows of a series costs what they are, whatever lies before them and beside them.
//!
//! Samples come late and out of order. So no place in the log tells that there is nothing newer, but
//! only the latest times of all blocks that were not read, as their headers have them.
//!
//! Invariant: the answer is that of a question which reads everything. Held by `tests/newest.rs` and
//! `tests/model`.

use super::steps::Grid;
use super::{Query, Sources};
use crate::facts::Wanted;
use crate::latest::{Latest, Next};
use crate::unsettled::Known;
use crate::{Interval, Result, Store};
use std::ops::ControlFlow;

/// Of more series at once all is read: some of them have hardly ever few rows in the newest blocks.
pub(super) const SERIES_MAX: usize = 64;

/// Whether it is a question about the last rows of a few series.
pub(super) fn asks_newest(ids: &[u32], query: &Query) -> Option<usize> {
    let by_time = query.every.is_none_or(|every| every.is_steps());
    // Where empty steps are filled from depends on what is before.
    let by_time = by_time && query.fill.is_none();
    query.last.filter(|_| by_time && !ids.is_empty() && ids.len() <= SERIES_MAX)
}

/// What the last rows of these series come from, and the part of the interval that they are in.
pub(super) fn sources(
    store: &Store,
    ids: &[u32],
    query: &Query,
    wanted: &Wanted,
    rows: usize,
) -> Result<(Sources, Interval)> {
    let latest = Latest::new(store, store.lately()?, wanted)?;
    if let Some(found) = back(store, ids, query, latest, rows)? {
        return Ok(found);
    }
    // A link that leads nowhere.
    let latest = Latest::new(store, store.recent()?, wanted)?;
    Ok(match back(store, ids, query, latest, rows)? {
        Some(found) => found,
        None => (Sources::of(store, wanted)?, query.interval),
    })
}

/// None if a link leads nowhere.
fn back(
    store: &Store,
    ids: &[u32],
    query: &Query,
    mut latest: Latest<'_>,
    rows: usize,
) -> Result<Option<(Sources, Interval)>> {
    let (mut blocks, mut more): (Vec<Known<'_>>, usize) = (Vec::new(), 1);
    loop {
        // All that is later than this is in blocks that were taken, and in runs.
        let bound_ns = latest.bound_ns();
        let interval = match bound_ns {
            Some(bound_ns) => behind(bound_ns, query),
            None => Some(query.interval),
        };
        if let Some(interval) = interval {
            // Those of equal times in the order of recording.
            blocks.sort_unstable_by_key(Known::key);
            let sources = Sources::within(&store.runs, store.unsettled(&blocks)?, interval);
            let all = bound_ns.is_none();
            if all || has_rows(store, &sources, ids, &Query { interval, ..query.clone() }, rows)? {
                return Ok(Some((sources, interval)));
            }
        }
        for _ in 0..more {
            match latest.next()? {
                Next::Block(known) => blocks.push(known),
                Next::Broken => return Ok(None),
                Next::End => break,
            }
        }
        more *= 2;
    }
}

/// The part of the interval that is later than a time, of whole steps; none if there is none.
pub(super) fn behind(time_ns: i64, query: &Query) -> Option<Interval> {
    let from_ns = match query.every {
        None => time_ns.checked_add(1)?,
        Some(_) => Some(Grid::of(query).end_ns(time_ns)).filter(|end_ns| *end_ns < i64::MAX)?,
    };
    let interval = Interval { from_ns: from_ns.max(query.interval.from_ns), ..query.interval };
    (interval.from_ns < interval.to_ns).then_some(interval)
}

/// Whether each of the series has so many rows.
fn has_rows(
    store: &Store,
    sources: &Sources,
    ids: &[u32],
    query: &Query,
    rows: usize,
) -> Result<bool> {
    for id in ids {
        let mut found = 0;
        let query = Query { limit: None, ..query.clone() };
        store.query_sources(sources, &[*id], &query, &mut |batch| {
            found += batch.times_ns.len();
            ControlFlow::Continue(())
        })?;
        if found < rows {
            return Ok(false);
        }
    }
    Ok(true)
}
