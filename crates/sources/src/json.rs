//! JSON lines, from bytes that come in any pieces.
//!
//! Two forms, told apart by their keys: `{"time":..,"series":"temp","value":21.5}`, and an object
//! of values, `{"time":..,"temp":21.5,"on":true}`, whose values were taken together. The time is
//! under `time` or `time_ns`, in the forms of [`crate::csv`] (an integer is nanoseconds, a number
//! with a point seconds, a string RFC 3339), and may be missing, which means now. Values are
//! numbers, `true` and `false`; `null` is a float that is no number, as `baro cat --format json`
//! writes it. A line is taken whole or not at all: one bad value refuses it, with an error that
//! names line and key, and the next line counts again. Numbers are read from their digits, so a
//! time with nine digits behind the point and an integer of 64 bits lose nothing.
//!
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! a few [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items`.

mod error;

use crate::csv::{parse_time, parse_value};
use crate::lines::{LineCutter, quote};
use crate::sample::{Sample, Scalar};
pub use error::{JsonError, JsonProblem};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

/// The longest line, without its newline: 1 MiB, some ten thousand values. A longer one is one
/// error and is skipped.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Turns bytes into samples.
#[derive(Debug)]
pub struct JsonParser {
    lines: LineCutter,
}

impl Default for JsonParser {
    fn default() -> Self {
        JsonParser { lines: LineCutter::new(LINE_BYTES_MAX) }
    }
}

impl JsonParser {
    /// A parser at line 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands each sample or error they complete to `item`, in the order
    /// of the lines.
    pub fn feed(&mut self, bytes: &[u8], mut item: impl FnMut(Result<Sample<'_>, JsonError>)) {
        self.lines.feed(bytes, |number, line| parse_line(number, line, &mut item));
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<Sample<'_>, JsonError>)) {
        self.lines.finish(|number, line| parse_line(number, line, &mut item));
    }
}

/// The members of an object in their order, values unread.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object).map(Members)
    }
}

/// `None`: the line was too long.
pub(crate) fn parse_line(
    line: u64,
    bytes: Option<&[u8]>,
    item: &mut impl FnMut(Result<Sample<'_>, JsonError>),
) {
    let fail = |problem| Err(JsonError { line, problem });
    let Some(bytes) = bytes else {
        return item(fail(JsonProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX }));
    };
    let bytes = match line {
        1 => bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes),
        _ => bytes,
    };
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return;
    }
    let Ok(text) = str::from_utf8(bytes) else { return item(fail(JsonProblem::NotUtf8)) };
    let members = match serde_json::from_str::<Members<'_>>(text) {
        Ok(Members(members)) => members,
        Err(error) => {
            let (column, reason) = (error.column(), reason(&error));
            return item(fail(JsonProblem::Syntax { column, reason }));
        }
    };
    match samples(&members) {
        Ok((time_ns, values)) => {
            for (series, value) in values {
                item(Ok(Sample { line, time_ns, series, value }));
            }
        }
        Err(problem) => item(fail(problem)),
    }
}

/// What the library says, without its place in a text that is always one line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    quote(&text[..end])
}

type Values<'a> = Vec<(Cow<'a, str>, Scalar)>;

fn samples<'a>(
    members: &'a [(String, &'a RawValue)],
) -> Result<(Option<i64>, Values<'a>), JsonProblem> {
    let mut time_ns = None;
    let mut seen = HashSet::with_capacity(members.len());
    for (key, value) in members {
        let is_time = matches!(key.as_str(), "time" | "time_ns");
        if !seen.insert(if is_time { "time" } else { key.as_str() }) {
            return Err(JsonProblem::Twice { key: quote(key) });
        }
        if is_time {
            time_ns = time(value)?;
        }
    }
    let rest = members.iter().filter(|(key, _)| !matches!(key.as_str(), "time" | "time_ns"));
    // An object of values may have a series of the name `value`, but not of both names.
    if seen.contains("series") && seen.contains("value") {
        return one(rest).map(|one| (time_ns, vec![one]));
    }
    let mut values = Vec::with_capacity(members.len());
    for (key, value) in rest {
        if key.is_empty() {
            return Err(JsonProblem::SeriesEmpty);
        }
        values.push((Cow::Borrowed(key.as_str()), scalar(key, value)?));
    }
    if values.is_empty() {
        return Err(JsonProblem::NoValues);
    }
    Ok((time_ns, values))
}

fn one<'a>(
    members: impl Iterator<Item = &'a (String, &'a RawValue)>,
) -> Result<(Cow<'a, str>, Scalar), JsonProblem> {
    let (mut series, mut value) = (String::new(), None);
    for (key, raw) in members {
        match key.as_str() {
            "series" => {
                series = serde_json::from_str(raw.get())
                    .map_err(|_| JsonProblem::Series { found: quote(raw.get()) })?;
            }
            "value" => value = Some(*raw),
            _ => return Err(JsonProblem::KeyExtra { key: quote(key) }),
        }
    }
    if series.is_empty() {
        return Err(JsonProblem::SeriesEmpty);
    }
    let raw = value.ok_or(JsonProblem::NoValues)?;
    let value = scalar(&series, raw)?;
    Ok((Cow::Owned(series), value))
}

fn time(raw: &RawValue) -> Result<Option<i64>, JsonProblem> {
    let text = raw.get();
    if text == "null" {
        return Ok(None);
    }
    let found = || JsonProblem::Time { found: quote(text) };
    if text.starts_with('"') {
        let text: String = serde_json::from_str(text).map_err(|_| found())?;
        return parse_time(&text).map(Some).ok_or_else(found);
    }
    parse_time(text).map(Some).ok_or_else(found)
}

fn scalar(series: &str, raw: &RawValue) -> Result<Scalar, JsonProblem> {
    let text = raw.get();
    let fail = || JsonProblem::Value { series: quote(series), found: quote(text) };
    match text.as_bytes().first() {
        Some(b'n') => Ok(Scalar::Float(f64::NAN)),
        // Numbers and truth values of JSON are written as those of CSV.
        Some(b'-' | b'0'..=b'9' | b't' | b'f') => match parse_value(text) {
            Ok(Scalar::Float(value)) if value.is_infinite() => Err(fail()),
            Ok(value) => Ok(value),
            Err(_) => Err(fail()),
        },
        _ => Err(fail()),
    }
}

#[cfg(test)]
mod tests;
