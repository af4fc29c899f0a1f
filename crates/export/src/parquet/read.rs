//! Samples from a Parquet file that anybody wrote.
//!
//! Two layouts. Long: a text column `series`, a column `time`, and `value` or several columns whose
//! names start with `value_`, of which the first that is not null counts. Wide: `time` and one
//! column for each series, named as it; nulls are no samples. `time` is a timestamp of any unit, or
//! an integer in the unit given.
//!
//! Invariant: memory is that of one row group's pages and one batch, and a file that is none of
//! this is an error that says what it has. The reader of the `parquet` crate checks what it reads,
//! but is not ours: a panic of it on a hostile file becomes an error here. Held by
//! `tests/forms.rs`.

use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use std::fs::File;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Rows read at once.
const BATCH_ROWS: usize = 8192;
const EXPECTED: &str = "columns series (text), time and value (long), or time and one column for \
                        each series (wide), where time is a timestamp or an integer";

const EXPECTED_COMPRESSION: &str = "compression with Snappy or none, since others are not built in \
                                    (write it with compression=\"snappy\")";

/// Unit of times that are integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// Nanoseconds of one.
    #[must_use]
    pub fn ns(self) -> i64 {
        match self {
            TimeUnit::Nanoseconds => 1,
            TimeUnit::Microseconds => 1_000,
            TimeUnit::Milliseconds => 1_000_000,
            TimeUnit::Seconds => 1_000_000_000,
        }
    }
}

/// A value of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Floating point.
    Float(f64),
    /// Integer.
    Integer(i64),
    /// Integer of an unsigned column of 64 bits.
    Unsigned(u64),
    /// Truth value.
    Boolean(bool),
    /// Text.
    Text(&'a str),
}

/// A row that is no sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its number, from 1 on.
    pub row: u64,
    /// What was expected and what was found.
    pub reason: String,
}

/// What a row comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Imported<'a> {
    /// A sample.
    Sample {
        /// Row of the file, from 1 on.
        row: u64,
        /// Name of the series.
        series: &'a str,
        /// Nanoseconds since the Unix epoch.
        time_ns: i64,
        /// The value.
        value: Value<'a>,
    },
    /// No sample.
    Refused(Refusal),
}

/// Hands each sample of a Parquet file to `each`, until it breaks; returns the rows read. Blocks
/// for reading.
///
/// # Errors
/// It is no Parquet file, one compressed in a way that is not built in, or has other columns.
pub fn import(
    file: File,
    unit: TimeUnit,
    mut each: impl FnMut(Imported<'_>) -> ControlFlow<()>,
) -> Result<u64> {
    let read = AssertUnwindSafe(|| read(file, unit, &mut each));
    catch_unwind(read).unwrap_or_else(|_| {
        let found = "one that its reader gave up on (damaged)".to_owned();
        Err(Error::Layout { found, expected: "a Parquet file" })
    })
}

fn read(
    file: File,
    unit: TimeUnit,
    each: &mut impl FnMut(Imported<'_>) -> ControlFlow<()>,
) -> Result<u64> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
    let groups = builder.metadata().row_groups().iter();
    let mut compressions = groups.flat_map(|group| group.columns()).map(|c| c.compression());
    let built_in =
        |one: &Compression| matches!(one, Compression::UNCOMPRESSED | Compression::SNAPPY);
    if let Some(other) = compressions.find(|one| !built_in(one)) {
        let found = format!("{other}");
        return Err(Error::Layout { found, expected: EXPECTED_COMPRESSION });
    }
    let mut rows = 0;
    for batch in builder.with_batch_size(BATCH_ROWS).build()? {
        let batch = batch?;
        let columns = Columns::of(&batch, unit)?;
        for at in 0..batch.num_rows() {
            if columns.row(at, rows + at as u64 + 1, each).is_break() {
                return Ok(rows + at as u64 + 1);
            }
        }
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}

/// Columns of a batch by what they are for.
struct Columns<'a> {
    time: (&'a ArrayRef, i64),
    /// Long: names of the rows, the place of each in them, `None` for null.
    series: Option<(Texts<'a>, Vec<Option<usize>>)>,
    values: Vec<(&'a str, &'a ArrayRef)>,
}

/// A column of text in any of its forms.
struct Texts<'a>(&'a dyn Array);

impl<'a> Texts<'a> {
    fn is(kind: &DataType) -> bool {
        matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
    }

    fn get(&self, at: usize) -> Option<&'a str> {
        let array = self.0;
        if array.is_null(at) {
            return None;
        }
        Some(match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().value(at),
            DataType::LargeUtf8 => array.as_string::<i64>().value(at),
            DataType::Utf8View => array.as_string_view().value(at),
            _ => return None,
        })
    }
}

fn names(array: &ArrayRef) -> Option<(Texts<'_>, Vec<Option<usize>>)> {
    let rows = 0..array.len();
    if Texts::is(array.data_type()) {
        return Some((Texts(array), rows.map(|at| (!array.is_null(at)).then_some(at)).collect()));
    }
    let dictionary = array.as_any_dictionary_opt()?;
    if !Texts::is(dictionary.values().data_type()) {
        return None;
    }
    if dictionary.values().is_empty() {
        return Some((Texts(dictionary.values()), rows.map(|_| None).collect()));
    }
    let keys = dictionary.normalized_keys();
    let places = keys.into_iter().zip(rows);
    let places = places.map(|(key, at)| (!dictionary.keys().is_null(at)).then_some(key));
    Some((Texts(dictionary.values()), places.collect()))
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch, unit: TimeUnit) -> Result<Self> {
        let schema = batch.schema_ref();
        let wrong = || {
            let all = schema.fields().iter().take(20);
            let all = all.map(|field| format!("{} ({})", field.name(), field.data_type()));
            let found = all.collect::<Vec<_>>().join(", ");
            Error::Layout { found: format!("columns {found}"), expected: EXPECTED }
        };
        let place = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        let at = |at: usize| batch.columns().get(at).ok_or_else(wrong);
        let time_at = place("time").ok_or_else(wrong)?;
        let time = at(time_at)?;
        let time_unit_ns = match time.data_type() {
            DataType::Timestamp(ArrowUnit::Nanosecond, _) => 1,
            DataType::Timestamp(ArrowUnit::Microsecond, _) => 1_000,
            DataType::Timestamp(ArrowUnit::Millisecond, _) => 1_000_000,
            DataType::Timestamp(ArrowUnit::Second, _) => 1_000_000_000,
            DataType::Int64 => unit.ns(),
            _ => return Err(wrong()),
        };
        let is_value = |name: &str| name == "value" || name.starts_with("value_");
        let has_values = schema.fields().iter().any(|field| is_value(field.name()));
        let series = match place("series").filter(|_| has_values) {
            Some(place) => Some(names(at(place)?).ok_or_else(wrong)?),
            None => None,
        };
        let named = schema.fields().iter().map(|field| field.name().as_str());
        let mut values: Vec<_> = named.zip(batch.columns()).collect();
        if series.is_some() {
            values.retain(|(name, _)| is_value(name));
        } else {
            values.remove(time_at);
        }
        let known = values.iter().all(|(_, array)| is_known(array.data_type()));
        if values.is_empty() || !known {
            return Err(wrong());
        }
        Ok(Columns { time: (time, time_unit_ns), series, values })
    }

    fn row(
        &self,
        at: usize,
        row: u64,
        each: &mut impl FnMut(Imported<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let refused = |reason: &str| Imported::Refused(Refusal { row, reason: reason.to_owned() });
        let time_ns = match time_of(self.time.0, at).map(|time| time.checked_mul(self.time.1)) {
            None => return each(refused("expected a time, found null")),
            Some(None) => {
                return each(refused("expected a time from 1677 to 2262, found one outside"));
            }
            Some(Some(time_ns)) => time_ns,
        };
        let Some((texts, places)) = &self.series else {
            for (series, array) in &self.values {
                if let Some(value) = value_of(array, at) {
                    each(Imported::Sample { row, series, time_ns, value })?;
                }
            }
            return ControlFlow::Continue(());
        };
        let name = places.get(at).copied().flatten().and_then(|place| texts.get(place));
        let Some(series) = name.filter(|name| !name.is_empty()) else {
            return each(refused("expected the name of a series, found nothing"));
        };
        match self.values.iter().find_map(|(_, array)| value_of(array, at)) {
            Some(value) => each(Imported::Sample { row, series, time_ns, value }),
            None => each(refused("expected a value, found null")),
        }
    }
}

fn time_of(array: &ArrayRef, at: usize) -> Option<i64> {
    if array.is_null(at) {
        return None;
    }
    Some(match array.data_type() {
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().value(at)
        }
        DataType::Timestamp(ArrowUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().value(at)
        }
        DataType::Timestamp(ArrowUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().value(at)
        }
        DataType::Timestamp(ArrowUnit::Second, _) => {
            array.as_primitive::<TimestampSecondType>().value(at)
        }
        _ => array.as_primitive::<Int64Type>().value(at),
    })
}

fn is_known(kind: &DataType) -> bool {
    use DataType as T;
    kind.is_integer()
        || Texts::is(kind)
        || matches!(kind, T::Float32 | T::Float64 | T::Boolean | T::Null)
}

fn value_of(array: &ArrayRef, at: usize) -> Option<Value<'_>> {
    use DataType as T;
    if array.is_null(at) {
        return None;
    }
    Some(match array.data_type() {
        T::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(at)),
        T::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(at).into()),
        T::Int64 => Value::Integer(array.as_primitive::<Int64Type>().value(at)),
        T::Int32 => Value::Integer(array.as_primitive::<Int32Type>().value(at).into()),
        T::Int16 => Value::Integer(array.as_primitive::<Int16Type>().value(at).into()),
        T::Int8 => Value::Integer(array.as_primitive::<Int8Type>().value(at).into()),
        T::UInt64 => Value::Unsigned(array.as_primitive::<UInt64Type>().value(at)),
        T::UInt32 => Value::Integer(array.as_primitive::<UInt32Type>().value(at).into()),
        T::UInt16 => Value::Integer(array.as_primitive::<UInt16Type>().value(at).into()),
        T::UInt8 => Value::Integer(array.as_primitive::<UInt8Type>().value(at).into()),
        T::Boolean => Value::Boolean(array.as_boolean().value(at)),
        _ => return Texts(array).get(at).map(Value::Text),
    })
}
