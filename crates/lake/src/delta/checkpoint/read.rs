//! Reading a checkpoint, row by row. What is in it is foreign, whoever made it.

use super::columns::{ACTIONS, Kind};
use super::{BYTES_MAX, Found};
use crate::error::{Error, Result};
use crate::place::Place;
use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::{Type, TypePtr};
use serde_json::{Map, Value};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// What a table is and how far it has whose runs: all but its files.
const STATE: [&str; 3] = ["protocol", "metaData", "txn"];

fn wrong(file: &str, found: String) -> Error {
    let expected = "a checkpoint of Delta in Parquet".to_owned();
    Error::Table { file: file.to_owned(), what: "content", expected, found }
}

/// Hands out all but the files, an object for each row.
pub(in crate::delta) fn state(
    place: &dyn Place,
    checkpoint: &Found,
    mut each: impl FnMut(&str, Value) -> Result<()>,
) -> Result<()> {
    checkpoint.files.iter().try_for_each(|file| {
        rows(place, file, &|name| STATE.contains(&name), &mut |row| each(file, row))
    })
}

/// Hands out all rows, each with one action.
pub(super) fn all(
    place: &dyn Place,
    checkpoint: &Found,
    each: &mut dyn FnMut(Value) -> Result<()>,
) -> Result<()> {
    checkpoint.files.iter().try_for_each(|file| rows(place, file, &|_| true, each))
}

/// Rows of a file with the actions that are wanted; those without one of them are passed over.
fn rows(
    place: &dyn Place,
    file: &str,
    wants: &dyn Fn(&str) -> bool,
    each: &mut dyn FnMut(Value) -> Result<()>,
) -> Result<()> {
    let bytes = place.read(file, BYTES_MAX)?.ok_or_else(|| wrong(file, "it gone".to_owned()))?;
    let failed = |error: ParquetError| wrong(file, error.to_string());
    let mut next = {
        let reader =
            caught(file, || SerializedFileReader::new(Bytes::from(bytes)))?.map_err(failed)?;
        let schema = reader.metadata().file_metadata().schema().clone();
        let Some(wanted) = wanted(&schema, ACTIONS, wants) else { return Ok(()) };
        let reader: Box<dyn FileReader> = Box::new(reader);
        let rows = parquet::record::reader::RowIter::from_file_into(reader);
        caught(file, || rows.project(Some(wanted)))?.map_err(failed)?
    };
    while let Some(row) = caught(file, || next.next())? {
        let row = object(&row.map_err(failed)?);
        if !row.is_empty() {
            each(Value::Object(row))?;
        }
    }
    Ok(())
}

/// What the crate gives, or an error where it panics: it does on some files that are none.
fn caught<T>(file: &str, read: impl FnOnce() -> T) -> Result<T> {
    let done = catch_unwind(AssertUnwindSafe(read));
    done.map_err(|_| wrong(file, "a file that the reader of Parquet fails on".to_owned()))
}

/// Of a file's columns those that are known here; `None` if there are none.
fn wanted(schema: &Type, kinds: &[(&str, Kind)], wants: &dyn Fn(&str) -> bool) -> Option<Type> {
    let kind_of =
        |name: &str| kinds.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
    let mut fields: Vec<TypePtr> = Vec::new();
    for field in schema.get_fields() {
        match kind_of(field.name()).filter(|_| wants(field.name())) {
            Some(Kind::Group(inner)) if field.is_group() => {
                fields.extend(wanted(field, inner, &|_| true).map(Arc::new));
            }
            Some(_) => fields.push(Arc::clone(field)),
            None => {}
        }
    }
    if fields.is_empty() {
        return None;
    }
    let info = schema.get_basic_info();
    let mut group = Type::group_type_builder(schema.name()).with_fields(fields);
    if info.has_repetition() {
        group = group.with_repetition(info.repetition());
    }
    group.build().ok()
}

/// Without what is null.
fn object(row: &Row) -> Map<String, Value> {
    let fields = row.get_column_iter().filter(|(_, field)| !matches!(field, Field::Null));
    fields.map(|(name, field)| (name.clone(), value(field))).collect()
}

fn value(field: &Field) -> Value {
    match field {
        Field::Bool(value) => (*value).into(),
        Field::Byte(value) => (*value).into(),
        Field::Short(value) => (*value).into(),
        Field::Int(value) => (*value).into(),
        Field::Long(value) => (*value).into(),
        Field::Str(text) => text.as_str().into(),
        Field::Group(row) => Value::Object(object(row)),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::MapInternal(map) => {
            let entries = map.entries().iter().filter_map(|(key, of)| match key {
                Field::Str(key) => Some((key.clone(), value(of))),
                _ => None,
            });
            Value::Object(entries.collect())
        }
        _ => Value::Null,
    }
}
