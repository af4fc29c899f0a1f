//! The long ("tidy") layout of Arrow and Parquet: columns `series`, `time` and the value.
//!
//! One row for each sample, as pandas, Polars, DuckDB and R take it best: `series` is
//! dictionary-encoded text, `time` nanoseconds in UTC (or microseconds, with the rest in a column of its
//! own), `value` of the type of the series. Where the
//! series selected are of several types there is one column for each, `value_f64`, `value_i64` and
//! so on, with nulls in the others. Which columns there are depends on the selection and never on
//! the data, so that an empty interval has the columns of a full one.
//!
//! Invariant: rows of many series go into one record batch of bounded size, in rows and in bytes of
//! texts. Held by `tests/forms.rs`.

use crate::labels;
use crate::units::{SERIES_TOLD_MAX, unit_of};
use crate::{Error, Result};
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder,
};
use arrow_array::{
    ArrayRef, DictionaryArray, Int16Array, Int32Array, RecordBatch, StringArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use baro_ondisk::written_name;
use baro_store::{Batch, Column, Every, Selection, ValueType, Values};
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of one record batch at most.
pub(crate) const BATCH_ROWS: usize = 65_536;
/// And bytes of its texts and names, or one row: Arrow's offsets have 31 bits.
const BATCH_BYTES: usize = 16 << 20;
/// Key of the file's metadata, where units and labels are: a JSON array of objects with `name`,
/// `type`, `unit` and `labels`.
pub const SERIES_KEY: &str = "barograph:series";

/// Name of the column that has the rest of a time in microseconds.
pub(crate) const REST: &str = "ns";

/// How times are written in columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// `time` in nanoseconds.
    #[default]
    Nanoseconds,
    /// `time` in microseconds, and `ns`, what is left of each in nanoseconds (0 to 999, 16 bits): for
    /// readers without nanoseconds, as Spark is. Nothing is rounded.
    Microseconds,
}

fn data_type(kind: ValueType) -> DataType {
    match kind {
        ValueType::F64 => DataType::Float64,
        ValueType::I64 => DataType::Int64,
        ValueType::U64 => DataType::UInt64,
        ValueType::Bool => DataType::Boolean,
        ValueType::Text => DataType::Utf8,
    }
}

/// A value column being filled.
#[derive(Debug)]
enum Filling {
    F64(Float64Builder),
    I64(Int64Builder),
    U64(UInt64Builder),
    Bool(BooleanBuilder),
    Text(StringBuilder),
}

impl Filling {
    fn new(kind: ValueType) -> Self {
        match kind {
            ValueType::F64 => Filling::F64(Float64Builder::new()),
            ValueType::I64 => Filling::I64(Int64Builder::new()),
            ValueType::U64 => Filling::U64(UInt64Builder::new()),
            ValueType::Bool => Filling::Bool(BooleanBuilder::new()),
            ValueType::Text => Filling::Text(StringBuilder::new()),
        }
    }

    /// Rows `from..to` of `values`, or as many nulls where they are of another type.
    fn append(&mut self, values: &Values<'_>, from: usize, to: usize) {
        let rows = to - from;
        match (self, values) {
            (Filling::F64(filling), Values::F64(values)) => {
                filling.append_slice(values.get(from..to).unwrap_or(&[]));
            }
            (Filling::I64(filling), Values::I64(values)) => {
                filling.append_slice(values.get(from..to).unwrap_or(&[]));
            }
            (Filling::U64(filling), Values::U64(values)) => {
                filling.append_slice(values.get(from..to).unwrap_or(&[]));
            }
            (Filling::Bool(filling), Values::Bool(values)) => {
                filling.append_slice(values.get(from..to).unwrap_or(&[]));
            }
            (Filling::Text(filling), Values::Text(texts)) => {
                (from..to).for_each(|at| filling.append_option(texts.get(at)));
            }
            (Filling::F64(filling), _) => filling.append_nulls(rows),
            (Filling::I64(filling), _) => filling.append_nulls(rows),
            (Filling::U64(filling), _) => filling.append_nulls(rows),
            (Filling::Bool(filling), _) => filling.append_nulls(rows),
            (Filling::Text(filling), _) => (0..rows).for_each(|_| filling.append_null()),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Filling::F64(filling) => Arc::new(filling.finish()),
            Filling::I64(filling) => Arc::new(filling.finish()),
            Filling::U64(filling) => Arc::new(filling.finish()),
            Filling::Bool(filling) => Arc::new(filling.finish()),
            Filling::Text(filling) => Arc::new(filling.finish()),
        }
    }
}

/// Gathers batches of single series into record batches.
#[derive(Debug)]
pub(crate) struct Long {
    schema: SchemaRef,
    written: Times,
    kinds: Vec<ValueType>,
    /// Series whose unit and labels the schema does not tell.
    pub(crate) untold: u64,
    /// Whether the series come in the order of their names.
    pub(crate) by_name: bool,
    /// Names in the dictionary being made, and the place of the last one.
    names: Vec<String>,
    place: Option<usize>,
    keys: Vec<i32>,
    times: Vec<i64>,
    values: Vec<Filling>,
    /// Bytes of the names and texts being gathered.
    bytes: usize,
}

impl Long {
    /// For what a query of `selection` hands out.
    pub(crate) fn new(selection: &Selection, every: Option<Every>, written: Times) -> Self {
        let columns = selection.columns();
        let mut kinds: Vec<ValueType> = Vec::new();
        for kind in columns.iter().filter_map(|column| column.handed_out(every)) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds.sort_unstable();
        if kinds.is_empty() {
            kinds.push(ValueType::F64);
        }
        let (schema, untold) = schema(columns, &kinds, every, written);
        Long {
            schema,
            written,
            untold,
            by_name: columns.is_sorted_by(|a, b| a.name <= b.name),
            names: Vec::new(),
            place: None,
            keys: Vec::new(),
            times: Vec::new(),
            values: kinds.iter().map(|kind| Filling::new(*kind)).collect(),
            bytes: 0,
            kinds,
        }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Takes rows of a series and hands each record batch that is full to `each`.
    pub(crate) fn take(
        &mut self,
        column: &Column,
        batch: &Batch<'_>,
        mut each: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let found = ValueType::of_values(&batch.values);
        if !self.kinds.contains(&found) {
            let series = column.name.clone();
            let expected = self.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
            return Err(Error::ValueType { series, expected, found: found.name() });
        }
        let rows = batch.times_ns.len();
        let mut from = 0;
        while from < rows {
            if self.place != Some(batch.target.place) {
                self.place = Some(batch.target.place);
                self.names.push(written_name(&column.name).into_owned());
                self.bytes += column.name.len();
            }
            let most = rows.min(from + BATCH_ROWS - self.keys.len());
            let to = self.fit(&batch.values, from, most);
            let key = self.names.len() as i32 - 1;
            self.keys.extend(std::iter::repeat_n(key, to - from));
            self.times.extend_from_slice(batch.times_ns.get(from..to).unwrap_or(&[]));
            self.values.iter_mut().for_each(|filling| filling.append(&batch.values, from, to));
            if self.keys.len() >= BATCH_ROWS || self.bytes >= BATCH_BYTES {
                each(self.batch()?)?;
            }
            from = to;
        }
        Ok(())
    }

    /// Up to where rows go into this batch, at least one: the row that fills it is its last.
    fn fit(&mut self, values: &Values<'_>, from: usize, most: usize) -> usize {
        let Values::Text(texts) = values else { return most };
        let mut to = from;
        while to < most && (to == from || self.bytes < BATCH_BYTES) {
            self.bytes += texts.get(to).map_or(0, str::len);
            to += 1;
        }
        to
    }

    /// What has been gathered, if there is any.
    pub(crate) fn rest(&mut self) -> Result<Option<RecordBatch>> {
        if self.keys.is_empty() { Ok(None) } else { self.batch().map(Some) }
    }

    fn batch(&mut self) -> Result<RecordBatch> {
        let names = StringArray::from(std::mem::take(&mut self.names));
        (self.place, self.bytes) = (None, 0);
        let keys = Int32Array::from(std::mem::take(&mut self.keys));
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?)];
        columns.extend(times(std::mem::take(&mut self.times), self.written));
        columns.extend(self.values.iter_mut().map(Filling::finish));
        Ok(RecordBatch::try_new(self.schema(), columns)?)
    }
}

/// The columns of times.
fn times(times_ns: Vec<i64>, written: Times) -> Vec<ArrayRef> {
    match written {
        Times::Nanoseconds => {
            vec![Arc::new(TimestampNanosecondArray::from(times_ns).with_timezone("UTC"))]
        }
        Times::Microseconds => {
            let rest = times_ns.iter().map(|time_ns| time_ns.rem_euclid(1_000) as i16);
            let rest = Int16Array::from_iter_values(rest);
            let times = times_ns.iter().map(|time_ns| time_ns.div_euclid(1_000));
            let times = TimestampMicrosecondArray::from_iter_values(times).with_timezone("UTC");
            vec![Arc::new(times), Arc::new(rest)]
        }
    }
}

/// The columns, with what the catalog knows of the series; and of how many it is left out.
fn schema(
    columns: &[Column],
    kinds: &[ValueType],
    every: Option<Every>,
    written: Times,
) -> (SchemaRef, u64) {
    let names = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let unit = match written {
        Times::Nanoseconds => TimeUnit::Nanosecond,
        Times::Microseconds => TimeUnit::Microsecond,
    };
    let time = DataType::Timestamp(unit, Some("UTC".into()));
    let mut fields = vec![Field::new("series", names, false), Field::new("time", time, false)];
    if written == Times::Microseconds {
        fields.push(Field::new(REST, DataType::Int16, false));
    }
    for kind in kinds {
        let mixed = kinds.len() > 1;
        let name = if mixed { format!("value_{}", kind.name()) } else { "value".to_owned() };
        let mut field = Field::new(name, data_type(*kind), mixed);
        let mut units = columns
            .iter()
            .filter(|column| column.handed_out(every) == Some(*kind))
            .map(|column| unit_of(column, every));
        let unit = units.next().unwrap_or_default();
        if !unit.is_empty() && units.all(|other| other == unit) {
            field = field.with_metadata(HashMap::from([("unit".to_owned(), unit)]));
        }
        fields.push(field);
    }
    let series: Vec<_> = columns
        .iter()
        .take(SERIES_TOLD_MAX)
        .map(|column| {
            let labels: serde_json::Map<String, serde_json::Value> = labels::of(&column.name)
                .into_iter()
                .map(|(label, value)| (label, value.into()))
                .collect();
            json!({"name": column.name, "type": column.kind_name(), "unit": column.unit, "labels": labels})
        })
        .collect();
    let untold = columns.len().saturating_sub(series.len()) as u64;
    let mut metadata = HashMap::new();
    metadata.insert(SERIES_KEY.to_owned(), serde_json::Value::Array(series).to_string());
    if let Some(every) = every {
        metadata.insert("barograph:aggregate".to_owned(), every.aggregate.name().into_owned());
        metadata.insert("barograph:every_ns".to_owned(), every.step_ns.to_string());
    }
    (Arc::new(Schema::new_with_metadata(fields, metadata)), untold)
}
