//! Rows of a query gathered into Arrow columns, in the long layout: `series`, `time`, and the value, or a
//! column for each type of value where the selected series have several. The same columns and metadata as
//! in Arrow and Parquet files of `baro`, but batches as large as the caller wants, so that one that is
//! wanted whole is copied once.
//!
//! Invariant: which columns there are depends on the selection and never on the rows. Held by
//! `tests/python.rs`.

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, PrimitiveArray, RecordBatch,
    StringArray, TimestampNanosecondArray, UInt64Array,
};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use baro_store::{Aggregate, Batch, Column, Every, Target, Texts, ValueType, Values};
use baro_sys::memory::prefer_large_pages;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of texts in one batch at most: its offsets have 31 bits.
const TEXT_BYTES_MAX: usize = 1 << 30;

/// How Arrow has values of a type.
pub(crate) fn data_type(kind: ValueType) -> DataType {
    match kind {
        ValueType::F64 => DataType::Float64,
        ValueType::I64 => DataType::Int64,
        ValueType::U64 => DataType::UInt64,
        ValueType::Bool => DataType::Boolean,
        ValueType::Text => DataType::Utf8,
    }
}

/// Values of one type, being gathered.
#[derive(Debug)]
pub(crate) enum Filling {
    F64(Vec<f64>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    Bool(BooleanBufferBuilder),
    Text { ends: Vec<i32>, bytes: Vec<u8> },
}

/// From so many bytes on a column is taken for a large one.
const LARGE_BYTES: usize = 1 << 20;
/// It then gets room for so many times what it has: address space, and no memory before it is filled. Where it
/// grew step by step, its large pages would be moved, and taken apart.
const ROOM: usize = if cfg!(target_pointer_width = "64") { 32 } else { 1 };

/// Makes room for more: large answers are mostly memory that is met for the first time.
pub(crate) fn grow<T>(values: &mut Vec<T>, more: usize) {
    if values.capacity() - values.len() < more {
        let is_large = size_of_val(values.as_slice()) >= LARGE_BYTES;
        values.reserve(more.max(if is_large { ROOM * values.len() } else { 0 }));
        prefer_large_pages(values.spare_capacity_mut());
    }
}

fn extend<T: Copy>(filling: &mut Vec<T>, values: &[T]) {
    grow(filling, values.len());
    filling.extend_from_slice(values);
}

impl Filling {
    pub(crate) fn new(kind: ValueType) -> Self {
        match kind {
            ValueType::F64 => Filling::F64(Vec::new()),
            ValueType::I64 => Filling::I64(Vec::new()),
            ValueType::U64 => Filling::U64(Vec::new()),
            ValueType::Bool => Filling::Bool(BooleanBufferBuilder::new(0)),
            ValueType::Text => Filling::Text { ends: vec![0], bytes: Vec::new() },
        }
    }

    /// Takes rows `from..to` if they are of its type, and says whether.
    pub(crate) fn take(&mut self, values: &Values<'_>, from: usize, to: usize) -> bool {
        match (self, values) {
            (Filling::F64(filling), Values::F64(values)) => {
                extend(filling, values.get(from..to).unwrap_or(&[]));
            }
            (Filling::I64(filling), Values::I64(values)) => {
                extend(filling, values.get(from..to).unwrap_or(&[]));
            }
            (Filling::U64(filling), Values::U64(values)) => {
                extend(filling, values.get(from..to).unwrap_or(&[]));
            }
            (Filling::Bool(filling), Values::Bool(values)) => {
                filling.append_slice(values.get(from..to).unwrap_or(&[]));
            }
            (Filling::Text { ends, bytes }, Values::Text(texts)) => {
                take_texts(ends, bytes, texts, from, to);
            }
            _ => return false,
        }
        true
    }

    /// Takes as many rows without a value.
    pub(crate) fn skip(&mut self, rows: usize) {
        match self {
            Filling::F64(filling) => filling.resize(filling.len() + rows, 0.0),
            Filling::I64(filling) => filling.resize(filling.len() + rows, 0),
            Filling::U64(filling) => filling.resize(filling.len() + rows, 0),
            Filling::Bool(filling) => filling.append_n(rows, false),
            Filling::Text { ends, .. } => {
                let end = ends.last().copied().unwrap_or(0);
                ends.resize(ends.len() + rows, end);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Filling::F64(filling) => filling.len(),
            Filling::I64(filling) => filling.len(),
            Filling::U64(filling) => filling.len(),
            Filling::Bool(filling) => filling.len(),
            Filling::Text { ends, .. } => ends.len() - 1,
        }
    }

    fn text_bytes(&self) -> usize {
        if let Filling::Text { bytes, .. } = self { bytes.len() } else { 0 }
    }

    /// What was gathered; `nulls` where rows have no value.
    pub(crate) fn finish(&mut self, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        use std::mem::take;
        Ok(match self {
            Filling::F64(filling) => {
                Arc::new(Float64Array::try_new(ScalarBuffer::from(take(filling)), nulls)?)
            }
            Filling::I64(filling) => {
                Arc::new(Int64Array::try_new(ScalarBuffer::from(take(filling)), nulls)?)
            }
            Filling::U64(filling) => {
                Arc::new(UInt64Array::try_new(ScalarBuffer::from(take(filling)), nulls)?)
            }
            Filling::Bool(filling) => Arc::new(BooleanArray::new(filling.finish(), nulls)),
            Filling::Text { ends, bytes } => {
                let ends = std::mem::replace(ends, vec![0]);
                let offsets = OffsetBuffer::new(ScalarBuffer::from(ends));
                Arc::new(StringArray::try_new(offsets, take(bytes).into(), nulls)?)
            }
        })
    }
}

fn take_texts(ends: &mut Vec<i32>, bytes: &mut Vec<u8>, texts: &Texts<'_>, from: usize, to: usize) {
    for at in from..to {
        bytes.extend_from_slice(texts.get(at).unwrap_or_default().as_bytes());
        // Batches end before offsets do.
        ends.push(i32::try_from(bytes.len()).unwrap_or(i32::MAX));
    }
}

/// A column of values, and which rows have none.
#[derive(Debug)]
struct Side {
    filling: Filling,
    /// From the first batch of another type on.
    there: Option<BooleanBufferBuilder>,
}

/// Gathers batches of single series into record batches of up to so many rows.
#[derive(Debug)]
pub(crate) struct Gather {
    schema: SchemaRef,
    kinds: Vec<ValueType>,
    rows_max: usize,
    /// Whether there is a column of series.
    keyed: bool,
    /// Names in the dictionary being made, and the place of the last one.
    names: Vec<String>,
    place: Option<usize>,
    keys: Vec<i32>,
    times: Vec<i64>,
    sides: Vec<Side>,
}

impl Gather {
    pub(crate) fn new(
        columns: &[Column],
        every: Option<Every>,
        rows_max: usize,
        filled: bool,
    ) -> Self {
        let kinds = kinds(columns, every);
        let side = |kind: &ValueType| Side { filling: Filling::new(*kind), there: None };
        Gather {
            schema: schema(columns, &kinds, every, filled),
            rows_max: rows_max.max(1),
            keyed: true,
            names: Vec::new(),
            place: None,
            keys: Vec::new(),
            times: Vec::new(),
            sides: kinds.iter().map(side).collect(),
            kinds,
        }
    }

    /// Without the column of series, where all rows are of one.
    pub(crate) fn of_one(mut self) -> Result<Self, ArrowError> {
        let all: Vec<usize> = (1..self.schema.fields().len()).collect();
        self.schema = Arc::new(self.schema.project(&all)?);
        self.keyed = false;
        Ok(self)
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Takes some rows of a series, and hands each record batch that is full to `each`, until it says that
    /// nobody takes more.
    pub(crate) fn take(
        &mut self,
        name: &str,
        batch: &Batch<'_>,
        rows: Range<usize>,
        mut each: impl FnMut(RecordBatch) -> bool,
    ) -> Result<bool, ArrowError> {
        let found = ValueType::of_values(&batch.values);
        if !self.kinds.contains(&found) {
            let said = format!("series {name}: values of the undeclared type {}", found.name());
            return Err(ArrowError::SchemaError(said));
        }
        let mut from = rows.start;
        while from < rows.end {
            let to = rows.end.min(from + self.room());
            self.begin(name, batch.target.place, batch.times_ns.get(from..to).unwrap_or(&[]));
            self.sides.iter_mut().for_each(|side| side.take(&batch.values, from, to));
            if self.is_full() && !each(self.batch()?) {
                return Ok(false);
            }
            from = to;
        }
        Ok(true)
    }

    /// Takes rows that have no value, in the same way.
    pub(crate) fn take_empty(
        &mut self,
        name: &str,
        target: Target,
        times: &[i64],
        mut each: impl FnMut(RecordBatch) -> bool,
    ) -> Result<bool, ArrowError> {
        let mut from = 0;
        while from < times.len() {
            let to = times.len().min(from + self.room());
            self.begin(name, target.place, times.get(from..to).unwrap_or(&[]));
            self.sides.iter_mut().for_each(|side| side.skip(to - from));
            if self.is_full() && !each(self.batch()?) {
                return Ok(false);
            }
            from = to;
        }
        Ok(true)
    }

    fn room(&self) -> usize {
        self.rows_max - self.times.len()
    }

    fn is_full(&self) -> bool {
        let text = self.sides.iter().map(|side| side.filling.text_bytes()).sum::<usize>();
        self.times.len() >= self.rows_max || text >= TEXT_BYTES_MAX
    }

    /// Names and times of rows, whose values follow.
    fn begin(&mut self, name: &str, place: usize, times: &[i64]) {
        if self.place != Some(place) {
            self.place = Some(place);
            self.names.push(name.to_owned());
        }
        extend(&mut self.times, times);
        if self.keyed {
            let key = i32::try_from(self.names.len()).unwrap_or(i32::MAX) - 1;
            grow(&mut self.keys, times.len());
            self.keys.resize(self.keys.len() + times.len(), key);
        }
    }

    /// What has been gathered, if there is any.
    pub(crate) fn rest(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        if self.times.is_empty() { Ok(None) } else { self.batch().map(Some) }
    }

    fn batch(&mut self) -> Result<RecordBatch, ArrowError> {
        let rows = self.times.len();
        let names = StringArray::from(std::mem::take(&mut self.names));
        self.place = None;
        let keys: PrimitiveArray<Int32Type> = std::mem::take(&mut self.keys).into();
        let times = TimestampNanosecondArray::from(std::mem::take(&mut self.times));
        let mut columns: Vec<ArrayRef> = Vec::new();
        if self.keyed {
            columns.push(Arc::new(DictionaryArray::try_new(keys, Arc::new(names))?));
        }
        columns.push(Arc::new(times.with_timezone("UTC")));
        for side in &mut self.sides {
            let nulls = side.there.take().map(|mut there| NullBuffer::new(there.finish()));
            debug_assert!(nulls.as_ref().is_none_or(|nulls| nulls.len() == rows));
            columns.push(side.filling.finish(nulls)?);
        }
        RecordBatch::try_new(self.schema(), columns)
    }
}

impl Side {
    fn take(&mut self, values: &Values<'_>, from: usize, to: usize) {
        if !self.filling.take(values, from, to) {
            self.skip(to - from);
        } else if let Some(there) = &mut self.there {
            there.append_n(to - from, true);
        }
    }

    /// Takes rows without a value.
    fn skip(&mut self, rows: usize) {
        let before = self.filling.len();
        let there = self.there.get_or_insert_with(|| {
            let mut there = BooleanBufferBuilder::new(before + rows);
            there.append_n(before, true);
            there
        });
        there.append_n(rows, false);
        self.filling.skip(rows);
    }
}

/// Types of the columns of values, each once.
fn kinds(columns: &[Column], every: Option<Every>) -> Vec<ValueType> {
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
    kinds
}

/// The columns, with the unit where all series of one have the same.
fn schema(
    columns: &[Column],
    kinds: &[ValueType],
    every: Option<Every>,
    filled: bool,
) -> SchemaRef {
    let names = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut fields = vec![Field::new("series", names, false), time_field()];
    let mixed = kinds.len() > 1;
    for kind in kinds {
        let name = if mixed { format!("value_{}", kind.name()) } else { "value".to_owned() };
        let field = Field::new(name, data_type(*kind), mixed || filled);
        let of_kind = columns.iter().filter(|column| column.handed_out(every) == Some(*kind));
        fields.push(with_unit(field, of_kind, every));
    }
    let mut metadata = HashMap::new();
    if let Some(every) = every {
        metadata.insert("barograph:aggregate".to_owned(), every.aggregate.name().into_owned());
        metadata.insert("barograph:every_ns".to_owned(), every.step_ns.to_string());
    }
    Arc::new(Schema::new_with_metadata(fields, metadata))
}

pub(crate) fn time_field() -> Field {
    Field::new("time", DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), false)
}

/// A field with the unit that all of `columns` have; a count has none.
pub(crate) fn with_unit<'a>(
    field: Field,
    columns: impl Iterator<Item = &'a Column>,
    every: Option<Every>,
) -> Field {
    let mut units = columns.map(|column| column.unit.as_str());
    let unit = units.next().unwrap_or("");
    let is_count = every.is_some_and(|every| every.aggregate == Aggregate::Count);
    if unit.is_empty() || is_count || !units.all(|other| other == unit) {
        return field;
    }
    let rate = every.is_some_and(|every| every.aggregate == Aggregate::Rate);
    let unit = if rate { format!("{unit}/s") } else { unit.to_owned() };
    field.with_metadata(HashMap::from([("unit".to_owned(), unit)]))
}
