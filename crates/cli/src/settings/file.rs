//! The file of settings: TOML with one table a verb, read with the line of each key.
//!
//! Invariant: any text is entries or faults with their lines, in steps linear in the text but for a
//! logarithm. Held below and by the fuzz target `settings`.

use std::fmt;
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

/// Something that is wrong, and its line.
pub(super) type Fault = (usize, String);

/// The entries of the table `verb` in `text`, and what is wrong in it: it is no TOML, it has another
/// table, or a value that no flag has.
pub(super) fn read(verb: &str, text: &str) -> (Vec<Entry>, Vec<Fault>) {
    // Found once for all keys: to count them anew for each would be quadratic in the file.
    let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line = |at: usize| ends.partition_point(|end| *end < at) + 1;
    let (file, errors) = DeTable::parse_recoverable(text);
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let said = |error: &toml::de::Error| (line(start(error)), error.message().to_owned());
    // What follows a mistake of grammar may be read wrong because of it.
    if !errors.is_empty() && text.trim_start().starts_with('{') {
        let said = format!("expected TOML, [{verb}] and lines such as proc = true, found JSON");
        return (Vec::new(), vec![(1, said)]);
    }
    if !errors.is_empty() {
        return (Vec::new(), errors.iter().map(said).collect());
    }
    let (mut entries, mut faults) = (Vec::new(), Vec::new());
    for (name, table) in file.get_ref() {
        let found: &str = name.get_ref();
        let is_key = !matches!(table.get_ref(), DeValue::Table(_));
        let table = match table.get_ref() {
            DeValue::Table(table) if found == verb => table,
            _ => {
                let next = if is_key {
                    format!(" (keys stand below a line [{verb}])")
                } else {
                    String::new()
                };
                let said = format!("expected the table [{verb}] only, found {found}{next}");
                faults.push((line(name.span().start), said));
                continue;
            }
        };
        for (key, value) in table {
            let (name, line): (&str, _) = (key.get_ref(), line(key.span().start));
            match of(value.get_ref()) {
                Some(value) => entries.push(Entry { line, key: name.to_owned(), value }),
                None => {
                    let said = "expected true, false, a text, a number, or a list";
                    faults.push((line, format!("{name}: {said}")));
                }
            }
        }
    }
    entries.sort_by_key(|entry| entry.line);
    (entries, faults)
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
        let (entries, faults) = read("record", text);
        match faults.first() {
            Some((line, said)) => Err(format!("f:{line}: {said}")),
            None => Ok(entries),
        }
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
            (
                "ring = 1",
                "f:1: expected the table [record] only, found ring (keys stand below a line [record])",
            ),
            ("[record]\na = { b = 1 }", "f:2: a: expected true, false, "),
            ("[record]\na = [[1]]", "f:2: a: expected true, false, "),
            ("[record]\na = 1\na = 2", "f:3: "),
        ] {
            let error = entries(text).unwrap_err();
            assert!(error.starts_with(said), "{text}: {error}");
        }
    }
    /// A MiB of keys took 90 s when the lines were counted anew for each of them.
    #[test]
    fn many_keys_and_many_mistakes_have_their_lines() {
        const KEYS: usize = 30_000;
        let keys: String = (0..KEYS).map(|number| format!("k{number}=1\n")).collect();
        let (entries, faults) = read("record", &format!("[record]\n{keys}"));
        assert_eq!((entries.len(), faults.len()), (KEYS, 0));
        let named = |entry: &Entry| entry.key == format!("k{}", entry.line - 2);
        assert!(entries.iter().all(named));
        let (entries, faults) = read("record", &keys);
        assert_eq!((entries.len(), faults.len()), (0, KEYS));
        let lines: std::collections::BTreeSet<usize> = faults.iter().map(|fault| fault.0).collect();
        assert_eq!(lines, (1..=KEYS).collect());
    }
}
