//! Columns that Python hands in, as plain memory: Arrow arrays as they are, buffers (numpy, `array`) by a
//! copy, lists of texts.
//!
//! Invariant: a number that its series cannot hold exactly is refused with its row. Held by
//! `tests/python.rs`.

use crate::push::type_of;
use crate::table_in::picked;
use crate::{arrow_c, errors};
use arrow_array::cast::AsArray;
use arrow_array::types as t;
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, LargeStringArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, TimeUnit};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyMemoryView, PyString};

/// Integers up to here are floats too.
const EXACT: u64 = 1 << 53;
/// Values that are copied at a time.
const PIECE: usize = 65_536;

/// A column, and which rows have no value.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) numbers: Numbers,
    pub(crate) nulls: Option<NullBuffer>,
}

/// Its values.
#[derive(Debug)]
pub(crate) enum Numbers {
    F64(Vec<f64>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    Bool(Vec<bool>),
    Text(LargeStringArray),
    /// Times, and how many nanoseconds one of their units has.
    Time(Vec<i64>, i64),
}

impl Numbers {
    pub(crate) fn len(&self) -> usize {
        match self {
            Numbers::F64(values) => values.len(),
            Numbers::I64(values) | Numbers::Time(values, _) => values.len(),
            Numbers::U64(values) => values.len(),
            Numbers::Bool(values) => values.len(),
            Numbers::Text(values) => values.len(),
        }
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Numbers::F64(_) => "floats",
            Numbers::I64(_) => "integers",
            Numbers::U64(_) => "unsigned integers",
            Numbers::Bool(_) => "truth values",
            Numbers::Text(_) => "texts",
            Numbers::Time(..) => "times",
        }
    }

    /// The values of some rows.
    pub(crate) fn picked(&self, rows: &[usize]) -> Numbers {
        match self {
            Numbers::F64(values) => Numbers::F64(picked(values, rows)),
            Numbers::I64(values) => Numbers::I64(picked(values, rows)),
            Numbers::U64(values) => Numbers::U64(picked(values, rows)),
            Numbers::Bool(values) => Numbers::Bool(picked(values, rows)),
            Numbers::Time(values, unit_ns) => Numbers::Time(picked(values, rows), *unit_ns),
            Numbers::Text(texts) => {
                Numbers::Text(rows.iter().map(|row| Some(texts.value(*row))).collect())
            }
        }
    }

    /// As floats.
    pub(crate) fn floats(self, argument: &str) -> PyResult<Vec<f64>> {
        let inexact = |row: usize, found: String| {
            errors::value(
                argument,
                "integers that a float holds exactly",
                format!("{found} in row {row}"),
            )
        };
        match self {
            Numbers::F64(values) => Ok(values),
            Numbers::I64(values) => {
                match values.iter().position(|value| value.unsigned_abs() > EXACT) {
                    Some(row) => {
                        Err(inexact(row, values.get(row).copied().unwrap_or(0).to_string()))
                    }
                    None => Ok(values.iter().map(|value| *value as f64).collect()),
                }
            }
            Numbers::U64(values) => match values.iter().position(|value| *value > EXACT) {
                Some(row) => Err(inexact(row, values.get(row).copied().unwrap_or(0).to_string())),
                None => Ok(values.iter().map(|value| *value as f64).collect()),
            },
            other => Err(errors::kind(argument, "numbers for a float64 series", other.name())),
        }
    }

    /// As integers.
    pub(crate) fn integers(self, argument: &str) -> PyResult<Vec<i64>> {
        match self {
            Numbers::I64(values) => Ok(values),
            Numbers::U64(values) => {
                let wide = |row: usize| {
                    let found = values.get(row).copied().unwrap_or(0);
                    errors::value(argument, "integers below 2^63", format!("{found} in row {row}"))
                };
                let signed = values.iter().enumerate();
                signed.map(|(row, one)| i64::try_from(*one).map_err(|_| wide(row))).collect()
            }
            other => Err(errors::kind(argument, "integers for an int64 series", other.name())),
        }
    }

    /// As nanoseconds since 1970; plain integers are in units of `unit_ns`.
    pub(crate) fn times(self, argument: &str, unit_ns: i64) -> PyResult<Vec<i64>> {
        let (mut times, factor) = match self {
            Numbers::Time(times, factor) => (times, factor),
            Numbers::I64(times) => (times, unit_ns),
            other => {
                let wanted = "times: datetime64, Arrow timestamps, or integers of nanoseconds";
                return Err(errors::kind(argument, wanted, other.name()));
            }
        };
        if factor == 1 {
            return Ok(times);
        }
        for (row, time) in times.iter_mut().enumerate() {
            *time = time.checked_mul(factor).ok_or_else(|| {
                errors::value(argument, "times from 1677 to 2262", format!("{time} in row {row}"))
            })?;
        }
        Ok(times)
    }
}

impl Taken {
    fn plain(numbers: Numbers) -> Self {
        Taken { numbers, nulls: None }
    }

    /// Of any object that is a column.
    pub(crate) fn of(argument: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(texts) = object.cast::<PyList>() {
            return Taken::of_texts(argument, texts);
        }
        if let Some(array) = arrow_c::take_array(argument, object)? {
            return Taken::of_arrow(argument, &[array]);
        }
        if let Some(stream) = arrow_c::take_stream_of_arrays(argument, object)? {
            return Taken::of_arrow(argument, &stream);
        }
        let view = PyMemoryView::from(object).map_err(|_| {
            let wanted = "a column: an array of numpy or Arrow, or an object with a buffer";
            errors::kind(argument, wanted, type_of(object))
        })?;
        Taken::of_buffer(argument, &view)
    }

    fn of_texts(argument: &str, list: &Bound<'_, PyList>) -> PyResult<Self> {
        let mut texts: Vec<Option<String>> = Vec::with_capacity(list.len());
        for (row, item) in list.iter().enumerate() {
            match item.cast::<PyString>() {
                Ok(text) => texts.push(Some(text.to_cow()?.into_owned())),
                Err(_) if item.is_none() => texts.push(None),
                Err(_) => {
                    let found = format!("{} in row {row}", type_of(&item));
                    return Err(errors::kind(argument, "texts", found));
                }
            }
        }
        let texts = LargeStringArray::from(texts);
        let nulls = texts.nulls().cloned();
        Ok(Taken { numbers: Numbers::Text(texts), nulls })
    }

    fn of_buffer(argument: &str, view: &Bound<'_, PyMemoryView>) -> PyResult<Self> {
        let dimensions: usize = view.getattr("ndim")?.extract()?;
        if dimensions != 1 {
            let found = format!("one of {dimensions} dimensions");
            return Err(errors::value(argument, "a column of one dimension", found));
        }
        let format: String = view.getattr("format")?.extract()?;
        let item: usize = view.getattr("itemsize")?.extract()?;
        let form = format.trim_start_matches(['@', '=', '<']);
        Ok(Taken::plain(match (form, item) {
            ("d", 8) => Numbers::F64(copied(view, f64::from_ne_bytes)?),
            ("f", 4) => Numbers::F64(copied(view, |bytes| f64::from(f32::from_ne_bytes(bytes)))?),
            ("q" | "l", 8) => Numbers::I64(copied(view, i64::from_ne_bytes)?),
            ("i" | "l", 4) => Numbers::I64(copied(view, |bytes| i32::from_ne_bytes(bytes).into())?),
            ("h", 2) => Numbers::I64(copied(view, |bytes| i16::from_ne_bytes(bytes).into())?),
            ("b", 1) => Numbers::I64(copied(view, |bytes| i8::from_ne_bytes(bytes).into())?),
            ("Q" | "L", 8) => Numbers::U64(copied(view, u64::from_ne_bytes)?),
            ("I" | "L", 4) => Numbers::U64(copied(view, |bytes| u32::from_ne_bytes(bytes).into())?),
            ("H", 2) => Numbers::U64(copied(view, |bytes| u16::from_ne_bytes(bytes).into())?),
            ("B", 1) => Numbers::U64(copied(view, |bytes| u8::from_ne_bytes(bytes).into())?),
            ("?", 1) => Numbers::Bool(copied(view, |bytes: [u8; 1]| bytes != [0])?),
            _ => {
                let wanted = "a buffer of floats, integers or truth values";
                return Err(errors::kind(argument, wanted, format!("the format {format:?}")));
            }
        }))
    }

    /// Of the pieces of an Arrow column, which all have one type.
    pub(crate) fn of_arrow(argument: &str, pieces: &[ArrayRef]) -> PyResult<Self> {
        let mut all: Option<Taken> = None;
        for piece in pieces {
            let taken = Taken::of_piece(argument, piece)?;
            all = Some(match all {
                None => taken,
                Some(before) => before.and(argument, taken)?,
            });
        }
        Ok(all.unwrap_or(Taken::plain(Numbers::I64(Vec::new()))))
    }

    fn and(self, argument: &str, other: Taken) -> PyResult<Self> {
        let (first, second) = (self.numbers.len(), other.numbers.len());
        let numbers = match (self.numbers, other.numbers) {
            (Numbers::F64(mut a), Numbers::F64(b)) => {
                a.extend(b);
                Numbers::F64(a)
            }
            (Numbers::I64(mut a), Numbers::I64(b)) => {
                a.extend(b);
                Numbers::I64(a)
            }
            (Numbers::U64(mut a), Numbers::U64(b)) => {
                a.extend(b);
                Numbers::U64(a)
            }
            (Numbers::Bool(mut a), Numbers::Bool(b)) => {
                a.extend(b);
                Numbers::Bool(a)
            }
            (Numbers::Time(mut a, unit), Numbers::Time(b, same)) if unit == same => {
                a.extend(b);
                Numbers::Time(a, unit)
            }
            (Numbers::Text(a), Numbers::Text(b)) => {
                Numbers::Text(a.iter().chain(b.iter()).collect())
            }
            (a, b) => {
                let found = format!("{} and {}", a.name(), b.name());
                return Err(errors::kind(argument, "a column of one type", found));
            }
        };
        let nulls = match (self.nulls, other.nulls) {
            (None, None) => None,
            (a, b) => {
                let there = |nulls: Option<NullBuffer>, rows: usize| {
                    nulls.unwrap_or_else(|| NullBuffer::new_valid(rows))
                };
                let (a, b) = (there(a, first), there(b, second));
                Some(a.iter().chain(b.iter()).collect::<Vec<bool>>().into())
            }
        };
        Ok(Taken { numbers, nulls })
    }

    fn of_piece(argument: &str, array: &ArrayRef) -> PyResult<Self> {
        let numbers = match array.data_type() {
            DataType::Float64 => {
                Numbers::F64(array.as_primitive::<t::Float64Type>().values().to_vec())
            }
            DataType::Float32 => Numbers::F64(wider::<t::Float32Type, f64>(array)),
            DataType::Int64 => Numbers::I64(array.as_primitive::<t::Int64Type>().values().to_vec()),
            DataType::Int32 => Numbers::I64(wider::<t::Int32Type, i64>(array)),
            DataType::Int16 => Numbers::I64(wider::<t::Int16Type, i64>(array)),
            DataType::Int8 => Numbers::I64(wider::<t::Int8Type, i64>(array)),
            DataType::UInt64 => {
                Numbers::U64(array.as_primitive::<t::UInt64Type>().values().to_vec())
            }
            DataType::UInt32 => Numbers::U64(wider::<t::UInt32Type, u64>(array)),
            DataType::UInt16 => Numbers::U64(wider::<t::UInt16Type, u64>(array)),
            DataType::UInt8 => Numbers::U64(wider::<t::UInt8Type, u64>(array)),
            DataType::Boolean => Numbers::Bool(array.as_boolean().values().iter().collect()),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                let times = array.as_primitive::<t::TimestampNanosecondType>();
                Numbers::Time(times.values().to_vec(), 1)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                Numbers::Time(wider::<t::TimestampMicrosecondType, i64>(array), 1_000)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                Numbers::Time(wider::<t::TimestampMillisecondType, i64>(array), 1_000_000)
            }
            DataType::Timestamp(TimeUnit::Second, _) => {
                Numbers::Time(wider::<t::TimestampSecondType, i64>(array), 1_000_000_000)
            }
            DataType::Utf8 => Numbers::Text(array.as_string::<i32>().iter().collect()),
            DataType::LargeUtf8 => Numbers::Text(array.as_string::<i64>().clone()),
            DataType::Utf8View => Numbers::Text(array.as_string_view().iter().collect()),
            DataType::Dictionary(..) => return Taken::of_dictionary(argument, array),
            other => {
                let wanted = "a column of numbers, truth values, texts or timestamps";
                return Err(errors::kind(argument, wanted, other));
            }
        };
        // What has no value may have any number there.
        Ok(Taken { numbers, nulls: array.logical_nulls().filter(|nulls| nulls.null_count() > 0) })
    }

    fn of_dictionary(argument: &str, array: &ArrayRef) -> PyResult<Self> {
        let dictionary = array.as_any_dictionary();
        let values = Taken::of_piece(argument, dictionary.values())?;
        let Numbers::Text(names) = values.numbers else {
            return Err(errors::kind(argument, "a dictionary of texts", values.numbers.name()));
        };
        let nulls = array.logical_nulls();
        let keys = dictionary.normalized_keys();
        let text = |(row, key): (usize, &usize)| {
            let there = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
            there.then(|| names.value(*key))
        };
        let texts: LargeStringArray = keys.iter().enumerate().map(text).collect();
        let nulls = texts.nulls().cloned();
        Ok(Taken { numbers: Numbers::Text(texts), nulls })
    }
}

/// Values of a narrower type.
fn wider<P: ArrowPrimitiveType, W: From<P::Native>>(array: &ArrayRef) -> Vec<W> {
    array.as_primitive::<P>().values().iter().map(|value| W::from(*value)).collect()
}

/// The values of a buffer, whatever their stride.
fn copied<const N: usize, T>(
    view: &Bound<'_, PyMemoryView>,
    value: impl Fn([u8; N]) -> T,
) -> PyResult<Vec<T>> {
    let rows = view.len()?;
    let mut values = Vec::with_capacity(rows);
    let mut from = 0;
    while from < rows {
        let to = rows.min(from + PIECE);
        let piece = view.as_any().get_item(pyo3::types::PySlice::new(
            view.py(),
            isize::try_from(from)?,
            isize::try_from(to)?,
            1,
        ))?;
        let bytes = piece.call_method0("tobytes")?.cast_into::<PyBytes>()?;
        let (whole, _) = bytes.as_bytes().as_chunks::<N>();
        values.extend(whole.iter().map(|bytes| value(*bytes)));
        from = to;
    }
    Ok(values)
}
