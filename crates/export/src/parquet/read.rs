//! Samples from a Parquet file that anybody wrote.
//!
//! Two layouts. Long: a text column `series`, a column `time`, and `value` or several columns whose
//! names start with `value_`, of which the first that is not null counts. Wide: `time` and one
//! column for each series, named as it; nulls are no samples. `time` is a timestamp of any unit, or
//! an integer in the unit given.
//!
//! Invariant: a file that is none of this is an error that says what it has, and one that would take
//! much memory is refused before it is read (`read/bound.rs`). The reader of the `parquet` crate checks
//! what it reads, but is not ours: it makes room by numbers of the file, so these are looked at first
//! (`read/footer.rs`, `read/pages.rs`), and a panic of it becomes an error here. Held by
//! `tests/forms.rs` and `tests/bounds.rs`.

mod bound;
mod compact;
mod delta;
mod footer;
mod pages;

use crate::{Error, Result};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StringViewArray};
use arrow_schema::{DataType, Field, Schema, TimeUnit as ArrowUnit};
use footer::Footer;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::file::reader::Length;
use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How much of a name an error quotes.
const SHOWN_CHARS_MAX: usize = 60;
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
    let room_bytes = bound::room_bytes(file.len());
    let footer = Footer::read(&file, room_bytes)?;
    // Types are those of the file's own schema: what a writer says of Arrow's beside it is not needed.
    let plain = || ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let metadata = ArrowReaderMetadata::load(&file, plain())?;
    let groups = metadata.metadata().row_groups().iter();
    let mut compressions = groups.flat_map(|group| group.columns()).map(|c| c.compression());
    let built_in =
        |one: &Compression| matches!(one, Compression::UNCOMPRESSED | Compression::SNAPPY);
    if let Some(other) = compressions.find(|one| !built_in(one)) {
        let found = format!("{other}");
        return Err(Error::Layout { found, expected: EXPECTED_COMPRESSION });
    }
    if metadata.metadata().row_groups().iter().all(|group| group.num_rows() == 0) {
        return Ok(0);
    }
    let layout = Layout::of(metadata.schema(), unit)?;
    let schema = metadata.metadata().file_metadata().schema_descr_ptr();
    let is_wanted = |leaf: &usize| layout.fields.contains(&schema.get_column_root_idx(*leaf));
    let leaves: Vec<usize> = (0..schema.num_columns()).filter(is_wanted).collect();
    let rows_at_once =
        bound::rows_at_once(&file, metadata.metadata(), &leaves, room_bytes, footer.memory_bytes)?;
    let mask = ProjectionMask::leaves(&schema, leaves);
    let views = plain().with_schema(Arc::new(layout.views(metadata.schema())));
    let metadata = ArrowReaderMetadata::try_new(metadata.metadata().clone(), views)?;
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    let mut rows = 0;
    for batch in builder.with_projection(mask).with_batch_size(rows_at_once).build()? {
        let batch = batch?;
        let columns = Columns::of(&batch, &layout)?;
        for at in 0..batch.num_rows() {
            if columns.row(at, rows + at as u64 + 1, each).is_break() {
                return Ok(rows + at as u64 + 1);
            }
        }
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}

/// Which columns of a file are for what; others are not read.
struct Layout {
    /// Places of all that are read, in the order of the file.
    fields: BTreeSet<usize>,
    time: usize,
    time_unit_ns: i64,
    series: Option<usize>,
    values: Vec<usize>,
}

impl Layout {
    fn of(schema: &Schema, unit: TimeUnit) -> Result<Self> {
        let wrong = || {
            let all = schema.fields().iter().take(20);
            let all = all.map(|field| format!("{} ({})", shown(field.name()), field.data_type()));
            let found = all.collect::<Vec<_>>().join(", ");
            Error::Layout { found: format!("columns {found}"), expected: EXPECTED }
        };
        let kind = |at: usize| schema.fields().get(at).map(|field| field.data_type());
        let place = |name: &str| schema.fields().iter().position(|field| field.name() == name);
        let time = place("time").ok_or_else(wrong)?;
        let time_unit_ns = match kind(time) {
            Some(DataType::Timestamp(ArrowUnit::Nanosecond, _)) => 1,
            Some(DataType::Timestamp(ArrowUnit::Microsecond, _)) => 1_000,
            Some(DataType::Timestamp(ArrowUnit::Millisecond, _)) => 1_000_000,
            Some(DataType::Timestamp(ArrowUnit::Second, _)) => 1_000_000_000,
            Some(DataType::Int64) => unit.ns(),
            _ => return Err(wrong()),
        };
        let is_value = |name: &str| name == "value" || name.starts_with("value_");
        let has_values = schema.fields().iter().any(|field| is_value(field.name()));
        let series = place("series").filter(|_| has_values);
        let of_values = |(at, field): (usize, &Arc<Field>)| match series {
            Some(_) => is_value(field.name()).then_some(at),
            None => (at != time).then_some(at),
        };
        let values: Vec<usize> = schema.fields().iter().enumerate().filter_map(of_values).collect();
        let known = values.iter().all(|at| kind(*at).is_some_and(is_known));
        let named = series.is_none_or(|at| kind(at).is_some_and(is_text));
        if values.is_empty() || !known || !named {
            return Err(wrong());
        }
        let fields = values.iter().copied().chain(series).chain([time]).collect();
        Ok(Layout { fields, time, time_unit_ns, series, values })
    }

    /// The schema, with texts as views into their pages.
    fn views(&self, schema: &Schema) -> Schema {
        let field = |field: &Arc<Field>| match is_text(field.data_type()) {
            true => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
            false => field.clone(),
        };
        Schema::new_with_metadata(
            schema.fields().iter().map(field).collect::<Vec<_>>(),
            schema.metadata().clone(),
        )
    }
}

/// So much of a name as an error has room for.
fn shown(name: &str) -> String {
    name.chars().take(SHOWN_CHARS_MAX).collect()
}

/// Columns of a batch by what they are for.
struct Columns<'a> {
    time: (&'a ArrayRef, i64),
    /// Long: the names of the rows.
    series: Option<&'a StringViewArray>,
    values: Vec<(&'a str, &'a ArrayRef)>,
}

impl<'a> Columns<'a> {
    fn of(batch: &'a RecordBatch, layout: &Layout) -> Result<Self> {
        let other = || Error::Layout {
            found: "a batch of other columns".to_owned(),
            expected: "the columns that were asked for",
        };
        let places: HashMap<usize, usize> =
            layout.fields.iter().enumerate().map(|(place, field)| (*field, place)).collect();
        let at = |field: usize| {
            let place = *places.get(&field)?;
            let name = batch.schema_ref().fields().get(place)?.name().as_str();
            Some((name, batch.columns().get(place)?))
        };
        let time = at(layout.time).ok_or_else(other)?.1;
        let series = match layout.series {
            Some(field) => {
                Some(at(field).and_then(|(_, one)| one.as_string_view_opt()).ok_or_else(other)?)
            }
            None => None,
        };
        let values = layout.values.iter().map(|field| at(*field).ok_or_else(other));
        let values = values.collect::<Result<_>>()?;
        Ok(Columns { time: (time, layout.time_unit_ns), series, values })
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
        let Some(names) = self.series else {
            for (series, array) in &self.values {
                if let Some(value) = value_of(array, at) {
                    each(Imported::Sample { row, series, time_ns, value })?;
                }
            }
            return ControlFlow::Continue(());
        };
        let name = (!names.is_null(at)).then(|| names.value(at));
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

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

fn is_known(kind: &DataType) -> bool {
    use DataType as T;
    kind.is_integer()
        || is_text(kind)
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
        T::Utf8View => Value::Text(array.as_string_view().value(at)),
        _ => return None,
    })
}
