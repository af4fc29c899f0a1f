//! What a store has, as a table: a row for each series, channel and field of a channel.

use crate::batch::Batch;
use crate::errors;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use baro_store::Column;
use pyo3::prelude::*;
use std::sync::Arc;

/// Rows of name, type and unit.
pub(crate) fn of(columns: &[Column]) -> PyResult<Batch> {
    let text = |of: fn(&Column) -> &str| -> ArrayRef {
        Arc::new(columns.iter().map(|column| Some(of(column))).collect::<StringArray>())
    };
    let field = |name: &str| Field::new(name, DataType::Utf8, false);
    let schema = Schema::new(vec![field("name"), field("type"), field("unit")]);
    let made: Vec<ArrayRef> =
        vec![text(|one| &one.name), text(|one| one.kind_name()), text(|one| &one.unit)];
    let rows = RecordBatch::try_new(Arc::new(schema), made);
    rows.map(Batch::new).map_err(|error| errors::arrow("series", &error))
}
