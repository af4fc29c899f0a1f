//! The wide layout: a row for each time that any series has, and a column for each series, with nulls where
//! one has no value.

use crate::gather::{Filling, data_type, time_field, with_unit};
use arrow_array::{ArrayRef, RecordBatch, TimestampNanosecondArray};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use baro_store::{Batch, Column, Every, Texts, ValueType, Values};
use std::sync::Arc;

/// Values of one series.
#[derive(Debug)]
enum Held {
    F64(Vec<f64>),
    I64(Vec<i64>),
    U64(Vec<u64>),
    Bool(Vec<bool>),
    Text { ends: Vec<u32>, bytes: String },
}

impl Held {
    fn new(kind: ValueType) -> Self {
        match kind {
            ValueType::F64 => Held::F64(Vec::new()),
            ValueType::I64 => Held::I64(Vec::new()),
            ValueType::U64 => Held::U64(Vec::new()),
            ValueType::Bool => Held::Bool(Vec::new()),
            ValueType::Text => Held::Text { ends: Vec::new(), bytes: String::new() },
        }
    }

    /// Takes values of its type, and says whether they are.
    fn take(&mut self, values: &Values<'_>) -> bool {
        match (self, values) {
            (Held::F64(held), Values::F64(values)) => held.extend_from_slice(values),
            (Held::I64(held), Values::I64(values)) => held.extend_from_slice(values),
            (Held::U64(held), Values::U64(values)) => held.extend_from_slice(values),
            (Held::Bool(held), Values::Bool(values)) => held.extend_from_slice(values),
            (Held::Text { ends, bytes }, Values::Text(texts)) => {
                for at in 0..texts.ends.len() {
                    bytes.push_str(texts.get(at).unwrap_or_default());
                    ends.push(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
                }
            }
            _ => return false,
        }
        true
    }

    fn values(&self) -> Values<'_> {
        match self {
            Held::F64(held) => Values::F64(held),
            Held::I64(held) => Values::I64(held),
            Held::U64(held) => Values::U64(held),
            Held::Bool(held) => Values::Bool(held),
            Held::Text { ends, bytes } => Values::Text(Texts { ends, bytes }),
        }
    }
}

/// One series.
#[derive(Debug)]
struct Side {
    kind: ValueType,
    times: Vec<i64>,
    held: Held,
}

/// Gathers all rows of a query, series by series.
#[derive(Debug)]
pub(crate) struct Wide {
    schema: SchemaRef,
    /// By the place of the column; `None` of one without values.
    sides: Vec<Option<Side>>,
}

/// The columns.
pub(crate) fn schema(columns: &[Column], every: Option<Every>) -> SchemaRef {
    let mut fields = vec![time_field()];
    for column in columns {
        if let Some(kind) = column.handed_out(every) {
            let field = Field::new(&column.name, data_type(kind), true);
            fields.push(with_unit(field, std::iter::once(column), every));
        }
    }
    Arc::new(Schema::new(fields))
}

impl Wide {
    pub(crate) fn new(columns: &[Column], every: Option<Every>) -> Self {
        let side = |column: &Column| {
            let kind = column.handed_out(every)?;
            Some(Side { kind, times: Vec::new(), held: Held::new(kind) })
        };
        Wide { schema: schema(columns, every), sides: columns.iter().map(side).collect() }
    }

    /// Takes rows of a series, and says whether they have its type.
    pub(crate) fn take(&mut self, batch: &Batch<'_>) -> bool {
        let Some(Some(side)) = self.sides.get_mut(batch.target.place) else { return true };
        side.times.extend_from_slice(batch.times_ns);
        side.held.take(&batch.values)
    }

    /// All of it as one batch.
    pub(crate) fn finish(self) -> Result<RecordBatch, ArrowError> {
        let times = self.times();
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(TimestampNanosecondArray::from(times.clone()).with_timezone("UTC"))];
        for side in self.sides.into_iter().flatten() {
            columns.push(spread(&side, &times)?);
        }
        RecordBatch::try_new(self.schema, columns)
    }

    /// Times that any series has, each once.
    fn times(&self) -> Vec<i64> {
        let mut all: Vec<i64> = Vec::new();
        let mut sides = self.sides.iter().flatten().filter(|side| !side.times.is_empty());
        if let Some(first) = sides.next() {
            all.clone_from(&first.times);
        }
        for side in sides.filter(|side| side.times != all).collect::<Vec<_>>() {
            // Sensors that are read together have the same times.
            if side.times != all {
                all.extend_from_slice(&side.times);
            }
        }
        all.sort();
        all.dedup();
        all
    }
}

/// A series' values at all times.
fn spread(side: &Side, times: &[i64]) -> Result<ArrayRef, ArrowError> {
    let (mut filling, values) = (Filling::new(side.kind), side.held.values());
    if side.times == times {
        filling.take(&values, 0, side.times.len());
        return filling.finish(None);
    }
    let mut there = BooleanBufferBuilder::new(times.len());
    let mut at = 0;
    while there.len() < times.len() {
        let left = times.get(there.len()..).unwrap_or(&[]);
        let own = side.times.get(at..).unwrap_or(&[]);
        let same = left.iter().zip(own).take_while(|(a, b)| a == b).count();
        if same > 0 {
            filling.take(&values, at, at + same);
            there.append_n(same, true);
            at += same;
            continue;
        }
        let missing = match own.first() {
            Some(next) => left.iter().take_while(|time| *time < next).count().max(1),
            None => left.len(),
        };
        filling.skip(missing);
        there.append_n(missing, false);
    }
    filling.finish(Some(NullBuffer::new(there.finish())))
}
