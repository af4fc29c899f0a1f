//! The plain way of answering: every record of the interval is read. Serves fields of frames, and
//! is the model that the tests hold the fast way against.

use super::{Aggregate, Batch, Every, Query, QueryNotes, Target, Values};
use crate::points::Datum;
use crate::records::{Interval, Reading};
use crate::{Result, Selection, Store};
use baro_sys::storage::Storage;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

fn number(value: Datum<'_>) -> Option<f64> {
    Some(match value {
        Datum::Float(value) => value,
        Datum::Integer(value) => value as f64,
        Datum::Unsigned(value) => value as f64,
        Datum::Boolean(value) => f64::from(u8::from(value)),
        Datum::Frame(_) | Datum::Text(_) => return None,
    })
}

/// See the module.
pub(super) fn query<S: Storage>(
    store: &Store<S>,
    selection: &Selection,
    places: Range<usize>,
    query: &Query,
    mut each: impl FnMut(&Batch<'_>) -> ControlFlow<()>,
) -> Result<QueryNotes> {
    let mut notes = QueryNotes::default();
    let mut series: BTreeMap<usize, BTreeMap<i64, f64>> = BTreeMap::new();
    let (read, short) = store.points(query.interval, selection, &Reading::default(), |point| {
        if let Some(value) = number(point.value).filter(|_| places.contains(&point.place)) {
            series.entry(point.place).or_default().insert(point.time_ns, value);
        }
        ControlFlow::Continue(())
    })?;
    (notes.read, notes.fields_missing) = (read, short);
    let mut left = query.limit.unwrap_or(u64::MAX);
    for (place, samples) in series {
        let Some(column) = selection.columns().get(place) else { continue };
        let mut rows: Vec<(i64, f64)> = match query.every {
            None => samples.into_iter().collect(),
            Some(every) => fold(&samples, every, query.interval),
        };
        if let Some(last) = query.last {
            rows.drain(..rows.len().saturating_sub(last));
        }
        rows.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= rows.len() as u64;
        for rows in rows.chunks(65_536) {
            let times_ns: Vec<i64> = rows.iter().map(|row| row.0).collect();
            let floats: Vec<f64> = rows.iter().map(|row| row.1).collect();
            let integers: Vec<i64> = floats.iter().map(|value| *value as i64).collect();
            let truths: Vec<bool> = floats.iter().map(|value| *value != 0.0).collect();
            let counts = query.every.is_some_and(|every| every.aggregate == Aggregate::Count);
            let values = match column.kind {
                _ if counts => Values::I64(&integers),
                _ if query.every.is_some() => Values::F64(&floats),
                "i64" | "u64" => Values::I64(&integers),
                "bool" => Values::Bool(&truths),
                _ => Values::F64(&floats),
            };
            let target = Target { id: column.id, place };
            notes.batches += 1;
            notes.rows += rows.len() as u64;
            if each(&Batch { target, times_ns: &times_ns, values }).is_break() {
                return Ok(notes);
            }
        }
    }
    Ok(notes)
}

fn fold(samples: &BTreeMap<i64, f64>, every: Every, interval: Interval) -> Vec<(i64, f64)> {
    let mut steps: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (time_ns, value) in samples {
        let start_ns = match i64::try_from(every.step_ns) {
            Ok(step @ 1..) => time_ns - time_ns.rem_euclid(step),
            _ => interval.from_ns,
        };
        steps.entry(start_ns).or_default().push(*value);
    }
    steps.into_iter().filter_map(|(at, values)| Some((at, one(values, every.aggregate)?))).collect()
}

fn one(mut values: Vec<f64>, aggregate: Aggregate) -> Option<f64> {
    let sum = || values.iter().sum::<f64>();
    Some(match aggregate {
        Aggregate::Mean => sum() / values.len() as f64,
        Aggregate::Sum => sum(),
        Aggregate::Count => values.len() as f64,
        Aggregate::First => *values.first()?,
        Aggregate::Last => *values.last()?,
        Aggregate::Min => values.iter().copied().fold(f64::NAN, f64::min),
        Aggregate::Max => values.iter().copied().fold(f64::NAN, f64::max),
        Aggregate::P99 => {
            values.sort_by(f64::total_cmp);
            let at = (values.len() * 99).div_ceil(100).max(1) - 1;
            *values.get(at)?
        }
    })
}
