//! The file of settings: TOML with one table a verb, read with the line of each key.

use std::fmt;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// One key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Line of the key, from 1.
    pub(super) line: usize,
    pub(super) key: String,
    pub(super) value: Value,
}

/// A value as a flag could have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Switch(bool),
    /// A text, or a number as it is written.
    Text(String),
    List(Vec<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Switch(on) => write!(f, "{on}"),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(_) => f.write_str("a list"),
        }
    }
}

/// The entries of the table `verb` in `text`, which came from `path`.
///
/// # Errors
/// It is no TOML, it has another table, or a value that no flag has; with file and line.
pub(super) fn read(path: &Path, verb: &str, text: &str) -> Result<Vec<Entry>, String> {
    let line = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let fail = |at: usize, said: &str| format!("{}:{}: {said}", path.display(), line(at));
    let file = DeTable::parse(text)
        .map_err(|error| fail(error.span().map_or(0, |span| span.start), error.message()))?;
    let mut entries = Vec::new();
    for (name, table) in file.get_ref() {
        let found: &str = name.get_ref();
        let table = match table.get_ref() {
            DeValue::Table(table) if found == verb => table,
            _ => {
                let said = format!("expected the table [{verb}] only, found {found}");
                return Err(fail(name.span().start, &said));
            }
        };
        for (key, value) in table {
            let name: &str = key.get_ref();
            let value = of(value.get_ref()).ok_or_else(|| {
                let said = format!("{name}: expected true, false, a text, a number, or a list");
                fail(key.span().start, &said)
            })?;
            entries.push(Entry { line: line(key.span().start), key: name.to_owned(), value });
        }
    }
    entries.sort_by_key(|entry| entry.line);
    Ok(entries)
}

fn of(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::Boolean(on) => Some(Value::Switch(*on)),
        DeValue::Array(items) => {
            let text = |item| match of(item) {
                Some(Value::Text(text)) => Some(text),
                _ => None,
            };
            items.iter().map(|item| text(item.get_ref())).collect::<Option<_>>().map(Value::List)
        }
        other => scalar(other).map(Value::Text),
    }
}

fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.clone().into_owned()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Result<Vec<Entry>, String> {
        read(Path::new("f"), "record", text)
    }

    #[test]
    fn keys_have_lines_and_values_kinds() {
        let text = "[record]\na = \"x\"\n\n# c\n\"b\" = 7\nd = [\"u\", 1]\ne = false\n";
        let found: Vec<_> = entries(text)
            .unwrap()
            .into_iter()
            .map(|entry| (entry.line, entry.key, entry.value.to_string()))
            .collect();
        let expected =
            [(2, "a", "\"x\""), (5, "b", "\"7\""), (6, "d", "a list"), (7, "e", "false")];
        assert_eq!(
            found,
            expected.map(|(line, key, text)| (line, key.to_owned(), text.to_owned()))
        );
        assert_eq!(entries("").unwrap(), []);
    }

    #[test]
    fn what_is_no_such_file_is_told_with_its_line() {
        for (text, said) in [
            ("[record]\na = ", "f:2: "),
            ("\n[recrod]\na = 1", "f:2: expected the table [record] only, found recrod"),
            ("ring = 1", "f:1: expected the table [record] only, found ring"),
            ("[record]\na = { b = 1 }", "f:2: a: expected true, false, "),
            ("[record]\na = [[1]]", "f:2: a: expected true, false, "),
            ("[record]\na = 1\na = 2", "f:3: "),
        ] {
            let error = entries(text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
}
