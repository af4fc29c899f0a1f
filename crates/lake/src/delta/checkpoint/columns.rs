//! Actions as columns: objects of JSON go in, a batch of Parquet's rows comes out. One row is one action.
//!
//! What an action has beyond these columns does not concern a table of the lowest protocol.

use crate::error::Result;
use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, MapBuilder,
    MapFieldNames, StringBuilder,
};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{DataType, Field, Fields};
use serde_json::Value;
use std::sync::Arc;

/// What a column has.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Long,
    Int,
    Truth,
    /// Of texts to texts.
    Map,
    /// Of texts.
    List,
    Group(&'static [(&'static str, Kind)]),
}

use Kind::{Group, Int, List, Long, Map, Text, Truth};

/// Columns of a checkpoint: the actions that it may have.
pub(super) const ACTIONS: &[(&str, Kind)] = &[
    ("protocol", Group(&[("minReaderVersion", Int), ("minWriterVersion", Int)])),
    (
        "metaData",
        Group(&[
            ("id", Text),
            ("name", Text),
            ("description", Text),
            ("format", Group(&[("provider", Text), ("options", Map)])),
            ("schemaString", Text),
            ("partitionColumns", List),
            ("configuration", Map),
            ("createdTime", Long),
        ]),
    ),
    ("txn", Group(&[("appId", Text), ("version", Long), ("lastUpdated", Long)])),
    (
        "add",
        Group(&[
            ("path", Text),
            ("partitionValues", Map),
            ("size", Long),
            ("modificationTime", Long),
            ("dataChange", Truth),
            ("stats", Text),
            ("tags", Map),
        ]),
    ),
    (
        "remove",
        Group(&[
            ("path", Text),
            ("deletionTimestamp", Long),
            ("dataChange", Truth),
            ("extendedFileMetadata", Truth),
            ("partitionValues", Map),
            ("size", Long),
            ("tags", Map),
        ]),
    ),
];

/// A column in the making.
#[derive(Debug)]
enum Column {
    Text(StringBuilder),
    Long(Int64Builder),
    Int(Int32Builder),
    Truth(BooleanBuilder),
    Map(Box<MapBuilder<StringBuilder, StringBuilder>>),
    List(ListBuilder<StringBuilder>),
    Group(Columns),
}

/// Columns of a group, and which of its rows are there.
#[derive(Debug)]
pub(super) struct Columns {
    columns: Vec<(&'static str, Column)>,
    valid: NullBufferBuilder,
    rows: usize,
}

/// What is no text becomes one: values of a table's properties are written by some as numbers.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn is_there(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

impl Column {
    fn of(kind: Kind) -> Self {
        match kind {
            Text => Column::Text(StringBuilder::new()),
            Long => Column::Long(Int64Builder::new()),
            Int => Column::Int(Int32Builder::new()),
            Truth => Column::Truth(BooleanBuilder::new()),
            Map => {
                let [entry, key, value] = ["key_value", "key", "value"].map(str::to_owned);
                let names = MapFieldNames { entry, key, value };
                let texts = || StringBuilder::new();
                Column::Map(Box::new(MapBuilder::new(Some(names), texts(), texts())))
            }
            List => {
                let element = Field::new("element", DataType::Utf8, true);
                Column::List(ListBuilder::new(StringBuilder::new()).with_field(element))
            }
            Group(kinds) => Column::Group(Columns::new(kinds)),
        }
    }

    fn push(&mut self, value: Option<&Value>) -> Result<()> {
        let value = is_there(value);
        match self {
            Column::Text(to) => to.append_option(value.map(text_of)),
            Column::Long(to) => to.append_option(value.and_then(Value::as_i64)),
            Column::Int(to) => {
                let int = value.and_then(Value::as_i64).and_then(|value| i32::try_from(value).ok());
                to.append_option(int);
            }
            Column::Truth(to) => to.append_option(value.and_then(Value::as_bool)),
            Column::Map(to) => {
                let object = value.and_then(Value::as_object);
                for (key, value) in object.into_iter().flatten() {
                    to.keys().append_value(key);
                    to.values().append_option(is_there(Some(value)).map(text_of));
                }
                to.append(object.is_some())?;
            }
            Column::List(to) => {
                let list = value.and_then(Value::as_array);
                for value in list.into_iter().flatten() {
                    to.values().append_option(is_there(Some(value)).map(text_of));
                }
                to.append(list.is_some());
            }
            Column::Group(to) => to.push(value)?,
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<ArrayRef> {
        Ok(match self {
            Column::Text(of) => ArrayBuilder::finish(of),
            Column::Long(of) => ArrayBuilder::finish(of),
            Column::Int(of) => ArrayBuilder::finish(of),
            Column::Truth(of) => ArrayBuilder::finish(of),
            Column::Map(of) => ArrayBuilder::finish(of.as_mut()),
            Column::List(of) => ArrayBuilder::finish(of),
            Column::Group(of) => Arc::new(of.finish()?),
        })
    }
}

impl Columns {
    pub(super) fn new(kinds: &[(&'static str, Kind)]) -> Self {
        let columns = kinds.iter().map(|(name, kind)| (*name, Column::of(*kind))).collect();
        Columns { columns, valid: NullBufferBuilder::new(0), rows: 0 }
    }

    /// Adds an object, or none.
    pub(super) fn push(&mut self, value: Option<&Value>) -> Result<()> {
        let object = value.and_then(Value::as_object);
        for (name, column) in &mut self.columns {
            column.push(object.and_then(|object| object.get(*name)))?;
        }
        self.valid.append(object.is_some());
        self.rows += 1;
        Ok(())
    }

    /// Rows so far.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    fn finish(&mut self) -> Result<StructArray> {
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for (name, column) in &mut self.columns {
            let array = column.finish()?;
            fields.push(Field::new(*name, array.data_type().clone(), true));
            arrays.push(array);
        }
        self.rows = 0;
        Ok(StructArray::try_new(Fields::from(fields), arrays, self.valid.finish())?)
    }

    /// All rows as a batch; what follows is of the next one.
    pub(super) fn take(&mut self) -> Result<RecordBatch> {
        Ok(RecordBatch::from(self.finish()?))
    }
}
