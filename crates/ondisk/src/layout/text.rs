//! A layout as text: `speed:f32@0,temp:i16be@4*0.1-40(degC),cell:u16[4]@6*0.001(V)`.
//!
//! Invariant: what is shown reads back as the same layout. Held by `tests::text_round_trips`.

use super::{Field, FieldType, Layout, LayoutError};
use crate::limits::FIELDS_MAX;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

impl FromStr for Layout {
    type Err = LayoutError;

    /// Reads the text form; see the module.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        let mut fields: Vec<Field> = Vec::new();
        let mut at = 0;
        for part in split(text) {
            if fields.len() == FIELDS_MAX {
                let found = split(text).count();
                return Err(LayoutError::Count { limit: FIELDS_MAX, found });
            }
            let next = fields.last().map_or(0, Field::end_bytes);
            fields.push(Reader::new(part, at).field(next)?);
            at += part.len() + 1;
        }
        Layout::new(fields)
    }
}

/// At commas, but for those inside a unit.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.split(move |c| {
        inside = (inside || c == '(') && c != ')';
        c == ',' && !inside
    })
}

/// Takes one field's text from the left.
struct Reader<'a> {
    field: String,
    rest: &'a str,
    /// Where `rest` starts in the whole text.
    at: usize,
}

impl<'a> Reader<'a> {
    fn new(part: &'a str, at: usize) -> Self {
        let rest = part.trim_start();
        let at = at + part.len() - rest.len();
        let rest = rest.trim_end();
        Reader { field: rest.split(':').next().unwrap_or(rest).to_owned(), rest, at }
    }

    fn fail<T>(&self, at: usize, expected: &'static str, found: &str) -> Result<T, LayoutError> {
        // A hostile text is not repeated in full.
        let found: String = found.chars().take(40).collect();
        let field = self.field.chars().take(80).collect();
        Err(LayoutError::Text { field, at, expected, found })
    }

    /// What stands before the first character that `ends` it.
    fn until(&mut self, ends: impl FnMut(char) -> bool) -> (usize, &'a str) {
        let end = self.rest.find(ends).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        let at = self.at;
        self.rest = rest;
        self.at += end;
        (at, taken)
    }

    /// What was found; where nothing of what is expected was, all that stands there.
    fn or_rest(&self, taken: &'a str) -> &'a str {
        if taken.is_empty() { self.rest } else { taken }
    }

    fn take(&mut self, mark: char) -> bool {
        let Some(rest) = self.rest.strip_prefix(mark) else { return false };
        self.rest = rest;
        self.at += mark.len_utf8();
        true
    }

    /// A float; its own signs, and those of an exponent, belong to it.
    fn float(&mut self, expected: &'static str) -> Result<f64, LayoutError> {
        let mut before = '(';
        let (at, text) = self.until(|c| {
            let exponent = matches!(before, 'e' | 'E');
            let first = before == '(';
            before = c;
            !(c.is_ascii_digit()
                || matches!(c, '.' | 'e' | 'E')
                || (matches!(c, '+' | '-') && (exponent || first)))
        });
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(value),
            _ => self.fail(at, expected, self.or_rest(text)),
        }
    }

    fn field(mut self, next: u64) -> Result<Field, LayoutError> {
        let (at, name) = self.until(|c| c == ':');
        if !self.take(':') {
            return self.fail(at, "name:type@offset", name);
        }
        let (kind_at, kind) = self.until(|c| !c.is_ascii_alphanumeric());
        let (kind_name, big_endian) = match kind.strip_suffix("be") {
            Some(shorter) => (shorter, true),
            None => (kind.strip_suffix("le").unwrap_or(kind), false),
        };
        let Some(kind) = FieldType::from_name(kind_name) else {
            let expected = "a type: u8 to u64, i8 to i64, f32, f64 or bool, with be for big-endian";
            return self.fail(kind_at, expected, self.or_rest(kind));
        };
        let mut elements = None;
        if self.take('[') {
            let (at, count) = self.until(|c| c == ']');
            elements = count.parse().ok().filter(|count: &u16| *count > 0);
            if elements.is_none() || !self.take(']') {
                return self.fail(at, "1 to 65535 elements and ]", count);
            }
        }
        let mut offset_bytes = u32::try_from(next).ok();
        if self.take('@') {
            let (at, offset) = self.until(|c| !c.is_ascii_digit());
            offset_bytes = offset.parse().ok();
            if offset_bytes.is_none() {
                return self.fail(at, "an offset in bytes", self.or_rest(offset));
            }
        }
        let mut field = Field::new(name, kind, offset_bytes.unwrap_or(u32::MAX));
        (field.big_endian, field.elements) = (big_endian, elements);
        if self.take('*') {
            field.scale = self.float("a scale such as 0.1")?;
        }
        if self.rest.starts_with(['+', '-']) {
            field.bias = self.float("a bias such as -40")?;
        }
        if self.take('(') {
            let (at, unit) = self.until(|c| c == ')');
            if !self.take(')') {
                return self.fail(at, "a unit and )", unit);
            }
            unit.clone_into(&mut field.unit);
        }
        if !self.rest.is_empty() {
            return self.fail(self.at, "the end of the field, or @, *, +, -, (unit)", self.rest);
        }
        Ok(field)
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, field) in self.fields().iter().enumerate() {
            let comma = if number > 0 { "," } else { "" };
            write!(f, "{comma}{field}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = if self.big_endian { "be" } else { "" };
        write!(f, "{}:{}{end}", self.name, self.kind.name())?;
        if let Some(elements) = self.elements {
            write!(f, "[{elements}]")?;
        }
        write!(f, "@{}", self.offset_bytes)?;
        if self.scale != 1.0 {
            write!(f, "*{}", self.scale)?;
        }
        if self.bias != 0.0 {
            write!(f, "{:+}", self.bias)?;
        }
        if !self.unit.is_empty() {
            write!(f, "({})", self.unit)?;
        }
        Ok(())
    }
}
