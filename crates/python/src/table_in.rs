//! Pushing a table, such as a DataFrame: rows of time, series and value (long), or of time and a column for
//! each series (wide), batch by batch as the table hands them out.
//!
//! A batch is looked at as a whole before anything of it is pushed. Series are declared through Python,
//! which knows the recorder.
//!
//! Invariant: a cell is pushed, is null, or is named in an exception. Held by `tests/python.rs`.

use crate::handle::Series;
use crate::many::{self, Columns};
use crate::push::Pusher;
use crate::taken::{Numbers, Taken};
use crate::{arrow_c, errors};
use arrow_array::RecordBatch;
use arrow_buffer::NullBuffer;
use pyo3::prelude::*;
use std::collections::HashMap;

/// Which columns the caller says are what.
#[derive(Debug, FromPyObject)]
pub(crate) struct Roles {
    time: String,
    /// Of a long table: the column of names.
    series: Option<String>,
    /// Of a long table: the columns of values.
    values: Option<Vec<String>>,
}

/// Which columns are what: of a wide table there is no column of names, and all others are values.
#[derive(Debug)]
struct Parts {
    time: String,
    series: Option<String>,
    values: Vec<String>,
}

impl Roles {
    fn parts(&self, names: &[String]) -> PyResult<Parts> {
        let all = || format!("a column of {}", names.join(", "));
        let known =
            |argument: &str, name: &str| match names.iter().filter(|one| *one == name).count() {
                1 => Ok(()),
                0 => Err(errors::value(argument, &all(), format!("{name:?}"))),
                found => Err(errors::value("data", &format!("one column {name:?}"), found)),
            };
        for name in names {
            known("data", name)?;
        }
        known("time", &self.time)?;
        let found = || names.iter().find(|name| *name == "series").cloned();
        let series = self.series.clone().or_else(found);
        let Some(series) = series else {
            if let Some(values) = &self.values {
                let found = format!("{values:?} and no column of series");
                return Err(errors::value("value", "no such columns of a wide table", found));
            }
            let values = names.iter().filter(|name| **name != self.time).cloned().collect();
            return Ok(Parts { time: self.time.clone(), series: None, values });
        };
        known("series", &series)?;
        let is_value = |name: &&String| *name == "value" || name.starts_with("value_");
        let values = match &self.values {
            Some(values) => values.clone(),
            None => names.iter().filter(is_value).cloned().collect(),
        };
        if values.is_empty() {
            return Err(errors::value("value", &all(), "none of the name value"));
        }
        values.iter().try_for_each(|value| known("value", value))?;
        Ok(Parts { time: self.time.clone(), series: Some(series), values })
    }
}

/// Which columns of these names are what: time, series if the table is long, values.
#[pyfunction]
pub(crate) fn roles_of(
    names: Vec<String>,
    roles: Roles,
) -> PyResult<(String, Option<String>, Vec<String>)> {
    let Parts { time, series, values } = roles.parts(&names)?;
    Ok((time, series, values))
}

/// Pushes all rows of `table`; the number of samples. `declare(names, type)` makes series.
pub(crate) fn write(
    py: Python<'_>,
    pusher: &Pusher,
    table: &Bound<'_, PyAny>,
    roles: &Roles,
    declare: &Bound<'_, PyAny>,
    timeout_ns: u64,
) -> PyResult<u64> {
    let Some(stream) = arrow_c::take_stream("data", table)? else {
        let found = crate::push::type_of(table);
        return Err(errors::kind("data", "a table that hands out Arrow columns", found));
    };
    let schema = arrow_array::RecordBatchReader::schema(&stream);
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let parts = roles.parts(&names)?;
    let mut known = Known { declare, series: HashMap::new() };
    let mut pushed = 0;
    for batch in stream {
        let batch = batch.map_err(|error| errors::arrow("data", &error))?;
        let all = match &parts.series {
            Some(series) => long(&batch, &parts, series, &mut known, pusher.owner)?,
            None => wide(&batch, &parts, &mut known, pusher.owner)?,
        };
        for columns in all {
            pushed += many::push_columns(py, pusher, &columns, timeout_ns)?;
        }
    }
    Ok(pushed)
}

/// Series that were asked for.
struct Known<'a, 'py> {
    declare: &'a Bound<'py, PyAny>,
    series: HashMap<String, Series>,
}

impl Known<'_, '_> {
    /// Declares those of `names` that are not known, together.
    fn ask(&mut self, names: &[&str], numbers: &Numbers) -> PyResult<()> {
        let mut new: Vec<&str> = Vec::new();
        for name in names {
            if !self.series.contains_key(*name) && !new.contains(name) {
                new.push(name);
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        let found: Vec<Py<Series>> =
            self.declare.call1((new.clone(), type_of(numbers)))?.extract()?;
        for (name, series) in new.into_iter().zip(found) {
            self.series.insert(name.to_owned(), series.get().clone());
        }
        Ok(())
    }
}

/// The type that a column of these values is declared with.
fn type_of(numbers: &Numbers) -> &'static str {
    match numbers {
        Numbers::F64(_) => "float64",
        Numbers::I64(_) | Numbers::U64(_) | Numbers::Time(..) => "int64",
        Numbers::Bool(_) => "bool",
        Numbers::Text(_) => "text",
    }
}

fn column(batch: &RecordBatch, name: &str) -> PyResult<Taken> {
    let found = batch.column_by_name(name);
    let found =
        found.ok_or_else(|| errors::value("data", &format!("a column {name:?}"), "none"))?;
    Taken::of_arrow(name, std::slice::from_ref(found))
}

fn times(batch: &RecordBatch, parts: &Parts) -> PyResult<Vec<i64>> {
    let taken = column(batch, &parts.time)?;
    if let Some(nulls) = &taken.nulls {
        let row = nulls.iter().position(|there| !there).unwrap_or(0);
        return Err(errors::value(&parts.time, "a time in each row", format!("none in row {row}")));
    }
    taken.numbers.times(&parts.time, 1)
}

fn wide(
    batch: &RecordBatch,
    parts: &Parts,
    known: &mut Known<'_, '_>,
    owner: u64,
) -> PyResult<Vec<Columns>> {
    let times = times(batch, parts)?;
    let mut all = Vec::new();
    for name in &parts.values {
        let taken = column(batch, name)?;
        known.ask(&[name], &taken.numbers)?;
        let Some(series) = known.series.get(name) else { continue };
        let times = Taken { numbers: Numbers::I64(times.clone()), nulls: None };
        all.push(many::columns(series.of(owner)?, times, 1, taken, name)?);
    }
    Ok(all)
}

fn long(
    batch: &RecordBatch,
    parts: &Parts,
    series: &str,
    known: &mut Known<'_, '_>,
    owner: u64,
) -> PyResult<Vec<Columns>> {
    let times = times(batch, parts)?;
    let Taken { numbers: Numbers::Text(names), nulls } = column(batch, series)? else {
        return Err(errors::kind(series, "names of series", "a column of another type"));
    };
    if let Some(nulls) = nulls {
        let row = nulls.iter().position(|there| !there).unwrap_or(0);
        return Err(errors::value(series, "a name in each row", format!("none in row {row}")));
    }
    let mut all = Vec::new();
    for value in &parts.values {
        let taken = column(batch, value)?;
        // Rows of each series that have a value, in their order.
        let mut rows: HashMap<&str, Vec<usize>> = HashMap::new();
        let mut order: Vec<&str> = Vec::new();
        for row in 0..batch.num_rows() {
            if taken.nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                let name = names.value(row);
                rows.entry(name)
                    .or_insert_with(|| {
                        order.push(name);
                        Vec::new()
                    })
                    .push(row);
            }
        }
        known.ask(&order, &taken.numbers)?;
        for name in order {
            let (Some(series), Some(rows)) = (known.series.get(name), rows.get(name)) else {
                continue;
            };
            let of_series = Numbers::I64(picked(&times, rows));
            let part = Taken { numbers: taken.numbers.picked(rows), nulls: None::<NullBuffer> };
            let at = Taken { numbers: of_series, nulls: None };
            all.push(many::columns(series.of(owner)?, at, 1, part, name)?);
        }
    }
    Ok(all)
}

/// The values of some rows.
pub(crate) fn picked<T: Copy>(values: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter().filter_map(|row| values.get(*row).copied()).collect()
}
