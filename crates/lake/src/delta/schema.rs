//! Columns of the table, as Delta's log tells them and as Parquet's writer takes them.

use super::super::error::{Error, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Name, type as Delta has it, and whether it may be null. The order is that of `crate::rows`.
const COLUMNS: [(&str, &str, bool); 12] = [
    ("series", "string", false),
    ("metric", "string", false),
    ("labels", "map", false),
    ("time", "timestamp", false),
    ("ns", "short", false),
    ("value", "double", true),
    ("value_i64", "long", true),
    ("value_bool", "boolean", true),
    ("value_text", "string", true),
    ("unit", "string", false),
    ("sequence", "long", false),
    ("store", "string", false),
];

fn type_of(name: &str) -> Value {
    match name {
        "map" => json!({
            "type": "map", "keyType": "string", "valueType": "string", "valueContainsNull": false
        }),
        other => json!(other),
    }
}

/// The schema as the log has it: a text of JSON in JSON.
pub(super) fn text() -> String {
    let fields = COLUMNS.iter().map(|(name, kind, nullable)| {
        json!({"name": name, "type": type_of(kind), "nullable": nullable, "metadata": {}})
    });
    json!({"type": "struct", "fields": fields.collect::<Vec<_>>()}).to_string()
}

#[derive(Deserialize)]
struct Struct {
    fields: Vec<Field>,
}

#[derive(Deserialize)]
struct Field {
    name: String,
    r#type: Value,
    nullable: bool,
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Fails if a table has other columns, or asks something of their values.
pub(super) fn check(file: &str, text: &str) -> Result<()> {
    let wrong = |expected: String, found: String| Error::Table {
        file: file.to_owned(),
        what: "columns of the table",
        expected,
        found,
    };
    let found: Struct = serde_json::from_str(text)
        .map_err(|error| wrong("a schema in JSON".to_owned(), error.to_string()))?;
    for (at, (name, kind, nullable)) in COLUMNS.iter().enumerate() {
        let expected = format!("{name} {}, nullable {nullable}", type_of(kind));
        let Some(field) = found.fields.get(at) else {
            return Err(wrong(expected, "no such column".to_owned()));
        };
        if field.name != *name || field.r#type != type_of(kind) || field.nullable != *nullable {
            let found = format!("{} {}, nullable {}", field.name, field.r#type, field.nullable);
            return Err(wrong(expected, found));
        }
        if let Some(key) = field.metadata.keys().find(|key| key.starts_with("delta.")) {
            return Err(wrong(expected, format!("{name} with {key}")));
        }
    }
    match found.fields.get(COLUMNS.len()) {
        Some(more) => {
            Err(wrong(format!("{} columns", COLUMNS.len()), format!("also {}", more.name)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_its_own_and_every_change_is_named() {
        assert!(check("0.json", &text()).is_ok());
        let changes = [
            ("\"double\"", "\"float\"", "value"),
            ("\"name\":\"ns\"", "\"name\":\"nanoseconds\"", "nanoseconds"),
            ("\"metadata\":{}", "\"metadata\":{\"delta.invariants\":\"x\"}", "delta.invariants"),
            ("\"nullable\":true", "\"nullable\":false", "nullable"),
        ];
        for (from, to, said) in changes {
            let changed = text().replacen(from, to, 1);
            let error = check("0.json", &changed).expect_err(to).to_string();
            assert!(error.contains(said), "{error}");
        }
        let one = ",{\"name\":\"x\",\"type\":\"long\",\"nullable\":true}],";
        let more = text().replacen("],", one, 1);
        assert!(check("0.json", &more).expect_err("more").to_string().contains("also x"));
        assert!(check("0.json", "[").is_err() && check("0.json", "{\"fields\":[]}").is_err());
    }
}
