//! Pushing many samples of one series: columns that are cut into records. Who has a table to copy can wait
//! for room in the ring; so this waits, without Python's lock, as long as it was told to.

use crate::background::LOOK_EVERY;
use crate::errors;
use crate::handle::{Handle, Series};
use crate::push::{Pusher, nanoseconds, type_of};
use crate::taken::{Numbers, Taken};
use arrow_array::LargeStringArray;
use arrow_buffer::NullBuffer;
use baro_sys::clock;
use barograph::{Producer, Refused, SAMPLES_MAX, Time};
use pyo3::prelude::*;

/// Between two looks whether there is room.
const PAUSE_NS: u64 = 1_000_000;
/// Bytes of a sample in a record.
const SAMPLE_BYTES: usize = 20;

/// Samples of a column with their times, and none where there is no value.
pub(crate) enum Column {
    F64(Vec<f64>),
    I64(Vec<i64>),
    Bool(Vec<bool>),
    Text(LargeStringArray),
}

/// Columns with the series that they are pushed to, which have one length.
pub(crate) struct Columns {
    pub(crate) handle: Handle,
    pub(crate) times: Vec<i64>,
    pub(crate) values: Column,
}

/// Pushes a column of values with a column of times; the number of samples that were pushed: rows
/// without a value are none.
pub(crate) fn push(
    py: Python<'_>,
    pusher: &Pusher,
    target: &Bound<'_, PyAny>,
    (times, time_unit_ns): (&Bound<'_, PyAny>, i64),
    values: &Bound<'_, PyAny>,
    timeout_ns: u64,
) -> PyResult<u64> {
    let Ok(series) = target.cast::<Series>() else {
        let wanted = "a Series of this recorder";
        return Err(errors::kind("series", wanted, type_of(target)));
    };
    let handle = series.get().of(pusher.owner)?;
    let times = Taken::of("times_ns", times)?;
    let values = Taken::of("values", values)?;
    let columns = columns(handle, times, time_unit_ns, values, "values")?;
    push_columns(py, pusher, &columns, timeout_ns)
}

/// Brings columns together, if they fit one another and the series.
pub(crate) fn columns(
    handle: Handle,
    times: Taken,
    time_unit_ns: i64,
    values: Taken,
    argument: &str,
) -> PyResult<Columns> {
    let (rows, found) = (times.numbers.len(), values.numbers.len());
    if rows != found {
        return Err(errors::value(argument, &format!("{rows}, one for each time"), found));
    }
    if rows == 0 {
        // An empty list has no type.
        return Ok(Columns { handle, times: Vec::new(), values: Column::I64(Vec::new()) });
    }
    if let Some(nulls) = times.nulls {
        let row = nulls.iter().position(|there| !there).unwrap_or(0);
        return Err(errors::value("times_ns", "a time in each row", format!("none in row {row}")));
    }
    let mut times = times.numbers.times("times_ns", time_unit_ns)?;
    let nulls = values.nulls;
    let numbers = values.numbers;
    let values = match handle {
        Handle::F64(_) => {
            Column::F64(there(without_nulls(numbers, &nulls).floats(argument)?, &nulls))
        }
        Handle::I64(_) => {
            Column::I64(there(without_nulls(numbers, &nulls).integers(argument)?, &nulls))
        }
        Handle::Bool(_) => match numbers {
            Numbers::Bool(values) => Column::Bool(there(values, &nulls)),
            other => {
                return Err(errors::kind(argument, "truth values for a bool series", other.name()));
            }
        },
        Handle::Text(_) => match numbers {
            Numbers::Text(texts) => Column::Text(texts.iter().flatten().map(Some).collect()),
            other => return Err(errors::kind(argument, "texts for a text series", other.name())),
        },
    };
    times = there(times, &nulls);
    Ok(Columns { handle, times, values })
}

/// What stands in rows without a value is not looked at.
fn without_nulls(numbers: Numbers, nulls: &Option<NullBuffer>) -> Numbers {
    let Some(nulls) = nulls else { return numbers };
    match numbers {
        Numbers::I64(mut values) => {
            values
                .iter_mut()
                .zip(nulls.iter())
                .filter(|(_, there)| !there)
                .for_each(|(v, _)| *v = 0);
            Numbers::I64(values)
        }
        Numbers::U64(mut values) => {
            values
                .iter_mut()
                .zip(nulls.iter())
                .filter(|(_, there)| !there)
                .for_each(|(v, _)| *v = 0);
            Numbers::U64(values)
        }
        other => other,
    }
}

/// The rows that have a value.
fn there<T: Copy>(values: Vec<T>, nulls: &Option<NullBuffer>) -> Vec<T> {
    let Some(nulls) = nulls else { return values };
    values
        .into_iter()
        .zip(nulls.iter())
        .filter(|(_, there)| *there)
        .map(|(value, _)| value)
        .collect()
}

/// Pushes columns, all or an exception that says how many samples were pushed.
pub(crate) fn push_columns(
    py: Python<'_>,
    pusher: &Pusher,
    columns: &Columns,
    timeout_ns: u64,
) -> PyResult<u64> {
    let deadline_ns = clock::monotonic_ns().saturating_add(timeout_ns);
    let rows = columns.times.len();
    pusher.with(|push| push.waits_for_room(timeout_ns > 0))?;
    let mut from = 0;
    let pushed = loop {
        if from >= rows {
            break Ok(rows as u64);
        }
        let slice = py.detach(|| {
            let end_ns = clock::monotonic_ns().saturating_add(nanoseconds(LOOK_EVERY));
            slice(pusher, columns, from, end_ns)
        });
        match slice {
            Ok((to, _)) => from = to,
            Err(error) => break Err(error),
        }
        if let Ok((_, Some(why))) = &slice {
            let late = clock::monotonic_ns() >= deadline_ns;
            if late {
                break Err(refused_at(*why, from, rows, pusher));
            }
            py.detach(|| clock::sleep_ns(PAUSE_NS));
        }
        if let Err(interrupted) = py.check_signals() {
            break Err(interrupted);
        }
    };
    pusher.with(|push| push.waits_for_room(false))?;
    pushed
}

/// Pushes from a row on until the time is over, or something is refused: the next row, and why no more.
fn slice(
    pusher: &Pusher,
    columns: &Columns,
    mut from: usize,
    end_ns: u64,
) -> PyResult<(usize, Option<Refused>)> {
    while from < columns.times.len() && clock::monotonic_ns() < end_ns {
        match pusher.with(|push| piece(push, columns, from))? {
            Ok(to) => from = to,
            Err(why) => return Ok((from, Some(why))),
        }
    }
    Ok((from, None))
}

/// Pushes one record from a row on, if there is room: the row behind it.
fn piece(push: &mut Producer, columns: &Columns, from: usize) -> Result<usize, Refused> {
    if push.closed() {
        return Err(Refused::Closed);
    }
    if let (Column::Text(texts), Handle::Text(series)) = (&columns.values, columns.handle) {
        let text = texts.value(from);
        if !push.has_room(text.len()) {
            return Err(Refused::RingFull);
        }
        let time = columns.times.get(from).copied().unwrap_or(0);
        return push.sample(series, Time::from(time), text).map(|_| from + 1);
    }
    let most = SAMPLES_MAX.min(push.frame_max() / SAMPLE_BYTES / 2).max(1);
    let to = columns.times.len().min(from + most);
    if !push.has_room((to - from) * SAMPLE_BYTES) {
        return Err(Refused::RingFull);
    }
    let times = columns.times.get(from..to).unwrap_or(&[]);
    let pushed = match (&columns.values, columns.handle) {
        (Column::F64(values), Handle::F64(series)) => {
            push.samples(series, times, values.get(from..to).unwrap_or(&[]))
        }
        (Column::I64(values), Handle::I64(series)) => {
            push.samples(series, times, values.get(from..to).unwrap_or(&[]))
        }
        (Column::Bool(values), Handle::Bool(series)) => {
            push.samples(series, times, values.get(from..to).unwrap_or(&[]))
        }
        _ => Err(Refused::Uneven),
    };
    pushed.map(|_| to)
}

fn refused_at(why: Refused, row: usize, rows: usize, pusher: &Pusher) -> PyErr {
    if why != Refused::RingFull {
        return errors::refused(why);
    }
    let trouble = pusher.with(|push| push.trouble()).ok().flatten();
    let trouble = trouble.map(|said| format!("; {said}")).unwrap_or_default();
    errors::RingFull::new_err(format!(
        "of {rows} samples {row} were pushed; for the others the ring has had no room in the time given \
         (timeout=){trouble}"
    ))
}
