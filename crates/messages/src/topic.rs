//! Topics: how a series, a channel or a store's notes are named, and what a message of them has in it.

use baro_ondisk::{Gap, written_name};
use baro_store::{Column, ValueType};
use serde_json::{Value, json};

/// Encoding of messages that have a schema.
const JSON: &str = "json";
/// Encoding of frames as they are.
const BYTES: &str = "application/octet-stream";

/// What an id becomes.
#[derive(Clone, Debug)]
pub struct Topic {
    /// Its name.
    pub name: String,
    /// How its messages are encoded.
    pub encoding: &'static str,
    /// A JSON schema of its messages; `None` where these are bytes.
    pub schema: Option<String>,
    /// Unit of its values; empty if they have none, or each member its own.
    pub unit: String,
    pub(crate) form: Form,
}

/// What a message has in it.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// `{"value":..}`
    Value,
    /// The bytes.
    Frame,
    /// An object of fields.
    Fields(Vec<Member>),
}

/// A member of an object of fields.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// As JSON, quotes included.
    pub(crate) key: String,
    /// Values that follow: `None` for a single one, else an array of so many.
    pub(crate) array: Option<usize>,
}

impl Topic {
    /// The encoding of its schema.
    pub const SCHEMA_ENCODING: &str = "jsonschema";

    /// Of an id and what is selected of it; `as_frame`: its frames as they are, not the fields of these.
    #[must_use]
    pub fn of(id: u32, columns: &[Column], as_frame: bool) -> Self {
        let fields: Vec<&Column> = columns.iter().filter(|c| c.field().is_some()).collect();
        let whole = columns.iter().find(|column| column.field().is_none());
        let name = match whole {
            Some(column) => written_name(&column.name).to_string(),
            None => format!("unknown-{id}"),
        };
        if as_frame {
            let (schema, unit) = (None, String::new());
            return Topic { name, encoding: BYTES, schema, unit, form: Form::Frame };
        }
        if let Some(first) = fields.first() {
            let name = first.name.rsplit_once('.').map_or("", |(name, _)| name);
            let (members, properties) = members(name, &fields);
            let name = written_name(name).to_string();
            return Topic::json(name, &properties, "", Form::Fields(members));
        }
        let value = whole.map_or(json!({"type": "integer"}), schema_of);
        let unit = whole.map_or("", |column| column.unit.as_str());
        Topic::json(name, &json!({"value": value}), unit, Form::Value)
    }

    /// Of a store's gaps and steps of the clock.
    #[must_use]
    pub fn notes() -> Self {
        let integer = json!({"type": "integer"});
        let properties = json!({
            "note": {"type": "string"}, "ring_full": integer, "too_large": integer,
            "damaged": integer, "unknown": integer,
        });
        Topic::json("baro/notes".to_owned(), &properties, "", Form::Value)
    }

    fn json(name: String, properties: &Value, unit: &str, form: Form) -> Self {
        let schema = json!({"type": "object", "title": name, "properties": properties});
        let (schema, unit) = (Some(schema.to_string()), unit.to_owned());
        Topic { name, encoding: JSON, schema, unit, form }
    }
}

/// A message of [`Topic::notes`]: what was lost, or that the clock was stepped.
#[must_use]
pub fn note(gap: Option<Gap>) -> String {
    let note = match gap {
        Some(gap) => json!({
            "note": "records lost", "ring_full": gap.ring_full, "too_large": gap.too_large,
            "damaged": gap.damaged, "unknown": gap.unknown,
        }),
        None => json!({"note": "the realtime clock was stepped"}),
    };
    note.to_string()
}

/// The schema of one value.
fn schema_of(column: &Column) -> Value {
    let kind = match column.kind {
        Some(ValueType::F64) => json!(["number", "null"]),
        Some(ValueType::Bool) => json!("boolean"),
        Some(ValueType::Text) => json!("string"),
        _ => json!("integer"),
    };
    match column.unit.as_str() {
        "" => json!({"type": kind}),
        unit => json!({"type": kind, "description": unit}),
    }
}

/// A frame that is too short has null there.
fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema["type"].as_str().map(str::to_owned) {
        schema["type"] = json!([kind, "null"]);
    }
    schema
}

/// The members of a channel's object and their schemas: an array that is selected whole is one
/// member, elements of others are members of their own.
fn members(channel: &str, columns: &[&Column]) -> (Vec<Member>, Value) {
    let (mut members, mut properties) = (Vec::new(), serde_json::Map::new());
    let field = |column: &&Column| column.field().map(|(field, _)| field);
    for group in columns.chunk_by(|a, b| field(a) == field(b)) {
        let elements = group.first().and_then(|column| column.array_elements());
        let name = |column: &Column| {
            let rest = column.name.strip_prefix(channel).and_then(|rest| rest.strip_prefix('.'));
            rest.unwrap_or(&column.name).to_owned()
        };
        let ordered = group.iter().enumerate().all(|(at, c)| c.field().map(|f| f.1) == Some(at));
        if let (Some(elements), Some(first)) = (elements, group.first())
            && elements == group.len()
            && ordered
        {
            let name = name(first).split('[').next().unwrap_or_default().to_owned();
            let key = Value::String(name.clone()).to_string();
            members.push(Member { key, array: Some(elements) });
            let schema = json!({"type": "array", "items": or_null(schema_of(first))});
            properties.insert(name, schema);
            continue;
        }
        for column in group {
            let key = Value::String(name(column)).to_string();
            members.push(Member { key, array: None });
            properties.insert(name(column), or_null(schema_of(column)));
        }
    }
    (members, Value::Object(properties))
}
