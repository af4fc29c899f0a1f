//! JSON lines, from bytes that come in any pieces.
//!
//! Two forms, told apart by their keys: `{"time":..,"series":"temp","value":21.5}`, and an object
//! of values, `{"time":..,"temp":21.5,"on":true}`, whose values were taken together. The time is
//! under `time`, in the forms of [`crate::Times`], or under `time_ns`, where an integer is nanoseconds
//! whatever is said, and may be missing, which means now. Values are numbers, `true` and `false`, and
//! texts; `null` is a float that is no number, as `baro query --format ndjson` writes it. In the first
//! form `value_type` may say the type, as that writes it too. A line is taken whole or not at all: one bad value refuses it, with an error that
//! names line and key, and the next line counts again. Numbers are read from their digits, so a
//! time with nine digits behind the point and an integer of 64 bits lose nothing.
//!
//! A third form is that in which VictoriaMetrics exports a series,
//! `{"metric":{"__name__":"up","job":"a"},"values":[1,0],"timestamps":[1700000000000,..]}`, whose times
//! are milliseconds.
//!
//! A fourth is what Telegraf writes, one metric or a batch of them:
//! `{"fields":{"usage":1.5},"name":"cpu","tags":{"host":"a"},"timestamp":1700000000}`, whose series are named
//! as those of the line protocol.
//!
//! An input that begins with a bracket is an array of such objects, in one line or many (`elements`).
//! Where there is no `time`, a key that CSV would take for one is it (`timestamp`, `ts_ms` ..), but for
//! `epoch`, which counts rounds of training more often.
//!
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! a few [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items`.

mod elements;
mod error;
mod telegraf;

use crate::csv::time_unit_ns;
use crate::form::Kind;
use crate::lines::{self, LineCutter, Unreadable, quote};
use crate::number;
use crate::sample::{Mark, Sample, Scalar};
use crate::time::{TimeFault, Times};
use baro_ondisk::{NameParser, write_name};
use elements::Elements;
pub use error::{JsonError, JsonProblem};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fmt;

/// The longest line, without its newline: 1 MiB, some ten thousand values. A longer one is one
/// error and is skipped.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// Turns bytes into samples.
#[derive(Debug)]
pub struct JsonParser {
    lines: LineCutter,
    place: Place,
    times: Times,
    /// Nothing more of the input can be read.
    ended: bool,
}

/// Where the input is.
#[derive(Debug)]
enum Place {
    /// Only blanks came, and so many bytes of a mark.
    Begin {
        line: u64,
        mark_bytes: usize,
    },
    Array(Elements),
    Lines,
}

/// What may stand before all text.
const MARK: &[u8] = &[0xef, 0xbb, 0xbf];

impl Default for JsonParser {
    fn default() -> Self {
        Self::of(Times::default())
    }
}

impl JsonParser {
    /// A parser at line 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A parser at line 1 that reads times so.
    #[must_use]
    pub fn of(times: Times) -> Self {
        let place = Place::Begin { line: 1, mark_bytes: 0 };
        JsonParser { lines: LineCutter::new(LINE_BYTES_MAX), place, times, ended: false }
    }

    /// The line in which an element of an array has begun that has not ended.
    #[must_use]
    pub fn begun(&self) -> Option<u64> {
        match &self.place {
            Place::Array(elements) => elements.begun(),
            Place::Begin { .. } | Place::Lines => None,
        }
    }

    /// Takes the next bytes and hands each sample or error they complete to `item`, in the order
    /// of the lines.
    pub fn feed(&mut self, bytes: &[u8], mut item: impl FnMut(Result<Sample<'_>, JsonError>)) {
        let JsonParser { lines, place, times, ended } = self;
        let mut each = |number: u64, line: Option<&[u8]>| {
            *ended = *ended || !parse_line(number, line, times, &mut item);
        };
        let bytes = begin(place, lines, bytes, &mut each);
        let rest = match place {
            Place::Begin { .. } => return,
            Place::Array(elements) => match elements.feed(bytes, &mut each) {
                Some(read) => {
                    lines.go_on_at(elements.line());
                    *place = Place::Lines;
                    bytes.get(read..).unwrap_or_default()
                }
                None => return,
            },
            Place::Lines => bytes,
        };
        lines.feed(rest, each);
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<Sample<'_>, JsonError>)) {
        let JsonParser { lines, place, times, ended } = self;
        let mut each = |number: u64, line: Option<&[u8]>| {
            *ended = *ended || !parse_line(number, line, times, &mut item);
        };
        if let Place::Array(elements) = place {
            elements.finish(&mut each);
        }
        lines.finish(each);
        (*place, *ended) = (Place::Begin { line: 1, mark_bytes: 0 }, false);
    }
}

/// Finds out whether the input begins with an array; what is to be read on of these bytes.
fn begin<'b>(
    place: &mut Place,
    lines: &mut LineCutter,
    bytes: &'b [u8],
    each: &mut impl FnMut(u64, Option<&[u8]>),
) -> &'b [u8] {
    let Place::Begin { line, mark_bytes } = place else { return bytes };
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'\n' => *line += 1,
            b' ' | b'\t' | b'\r' => {}
            b'[' => {
                *place = Place::Array(Elements::new(LINE_BYTES_MAX, *line));
                return bytes.get(at + 1..).unwrap_or_default();
            }
            byte if *line == 1 && MARK.get(*mark_bytes) == Some(byte) => *mark_bytes += 1,
            _ => {
                // A mark that was none, and blanks of its line, are no matter of ours.
                let mark = MARK.get(..*mark_bytes).unwrap_or_default();
                lines.go_on_at(*line);
                *place = Place::Lines;
                lines.feed(mark, each);
                return bytes.get(at..).unwrap_or_default();
            }
        }
    }
    &[]
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

/// `None`: the line was too long. Returns whether more can be read.
pub(crate) fn parse_line(
    line: u64,
    bytes: Option<&[u8]>,
    times: &Times,
    item: &mut impl FnMut(Result<Sample<'_>, JsonError>),
) -> bool {
    let mut fail = |problem| item(Err(JsonError { line, problem }));
    let Some(bytes) = bytes else {
        fail(JsonProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX });
        return true;
    };
    let text = lines::content(line, bytes).and_then(|(content, _)| lines::utf8(content));
    let text = match text {
        // An array with an object a line, as `baro query --format json` writes it.
        Ok("[" | "]" | "[]") => return true,
        Ok(text) if text.starts_with('{') => {
            text.strip_suffix("},").map_or(text, |_| text.strip_suffix(',').unwrap_or(text))
        }
        Ok(text) => text,
        Err(Unreadable::NotUtf8 { .. }) => {
            fail(JsonProblem::NotUtf8);
            return true;
        }
        Err(Unreadable::Utf16) => {
            fail(JsonProblem::Utf16);
            return false;
        }
    };
    if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
        return true;
    }
    let members = match serde_json::from_str::<Members<'_>>(text) {
        Ok(Members(members)) => members,
        Err(error) => {
            let (column, reason) = (error.column(), reason(&error));
            fail(JsonProblem::Syntax { column, reason });
            return true;
        }
    };
    match telegraf::read(&members, times) {
        Ok(None) => {}
        Ok(Some(found)) => {
            for (time_ns, series, joint, value) in found {
                let (series, joint) = (Cow::Owned(series), Some(joint));
                item(Ok(Sample { line, time_ns, series, joint, value, mark: Mark::None }));
            }
            return true;
        }
        Err(problem) => {
            item(Err(JsonError { line, problem }));
            return true;
        }
    }
    if members.iter().any(|(key, _)| key == "metric") && members.len() == 3 {
        match metric(&members) {
            Ok(Some((series, values))) => {
                for (time_ns, value) in values {
                    let (time_ns, series) = (Some(time_ns), Cow::Borrowed(series.as_str()));
                    let mark = Mark::None;
                    item(Ok(Sample { line, time_ns, series, joint: None, value, mark }));
                }
                return true;
            }
            Ok(None) => {}
            Err(problem) => {
                item(Err(JsonError { line, problem }));
                return true;
            }
        }
    }
    let mut fail = |problem| item(Err(JsonError { line, problem }));
    match samples(&members, times) {
        Ok((time_ns, values)) => {
            for (series, value, mark) in values {
                item(Ok(Sample { line, time_ns, series, joint: None, value, mark }));
            }
        }
        Err(problem) => fail(problem),
    }
    true
}

/// Samples of one series.
type Timed = (String, Vec<(i64, Scalar<'static>)>);

/// A series as VictoriaMetrics exports it; `None` if it is none.
fn metric(members: &[(String, &RawValue)]) -> Result<Option<Timed>, JsonProblem> {
    let member = |name: &str| members.iter().find(|(key, _)| key == name).map(|(_, raw)| *raw);
    let (Some(metric), Some(values), Some(times)) =
        (member("metric"), member("values"), member("timestamps"))
    else {
        return Ok(None);
    };
    let wrong = |raw: &RawValue| JsonProblem::Metric { found: quote(raw.get()) };
    let Members(given) = serde_json::from_str(metric.get()).map_err(|_| wrong(metric))?;
    let mut labels = BTreeMap::new();
    for (key, value) in given {
        let value: String = serde_json::from_str(value.get()).map_err(|_| wrong(metric))?;
        if key.is_empty() {
            return Err(wrong(metric));
        }
        if labels.insert(key.clone(), value).is_some() {
            return Err(JsonProblem::Twice { key: quote(&key) });
        }
    }
    let raw: Vec<&RawValue> = serde_json::from_str(values.get()).map_err(|_| wrong(values))?;
    let times_ms: Vec<i64> = serde_json::from_str(times.get()).map_err(|_| wrong(times))?;
    if raw.len() != times_ms.len() {
        return Err(wrong(times));
    }
    let mut series = String::new();
    let name = labels.get("__name__").map_or("", String::as_str);
    write_name(&mut series, name, labels.iter().filter(|(key, _)| *key != "__name__"));
    if series.is_empty() {
        return Err(JsonProblem::SeriesEmpty);
    }
    let mut samples = Vec::with_capacity(raw.len());
    for (value, time_ms) in raw.into_iter().zip(times_ms) {
        let value = match value.get() {
            "null" => Scalar::Float(f64::NAN),
            // JSON has no infinities.
            "\"Infinity\"" => Scalar::Float(f64::INFINITY),
            "\"-Infinity\"" => Scalar::Float(f64::NEG_INFINITY),
            // All values are floats there, also those that look like integers, however large.
            text => match number::scalar(text) {
                Ok(Scalar::Integer(value)) => Scalar::Integer(value),
                _ => Scalar::Float(number::float(text).map_err(|_| wrong(value))?),
            },
        };
        let fault = TimeFault::Range;
        let time_ns = time_ms.checked_mul(1_000_000);
        let found = || JsonProblem::Time { found: time_ms.to_string(), fault };
        samples.push((time_ns.ok_or_else(found)?, value));
    }
    Ok(Some((series, samples)))
}

/// What the library says, without its place in a text that is always one line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    quote(&text[..end])
}

/// The key that is the time where none is called `time` or `time_ns`.
fn other_time<'a>(members: &'a [(String, &RawValue)]) -> Result<Option<&'a str>, JsonProblem> {
    let keys = || members.iter().map(|(key, _)| key.as_str());
    if keys().any(|key| matches!(key, "time" | "time_ns")) {
        return Ok(None);
    }
    let is_round =
        |key: &str| key.get(..5).is_some_and(|begin| begin.eq_ignore_ascii_case("epoch"));
    let mut found = keys().filter(|key| time_unit_ns(key).is_some() && !is_round(key));
    match (found.next(), found.next()) {
        (Some(a), Some(b)) => Err(JsonProblem::Times { a: quote(a), b: quote(b) }),
        (first, _) => Ok(first),
    }
}

type Values<'a> = Vec<(Cow<'a, str>, Scalar<'a>, Mark)>;

fn samples<'a>(
    members: &'a [(String, &'a RawValue)],
    times: &Times,
) -> Result<(Option<i64>, Values<'a>), JsonProblem> {
    let mut time_ns = None;
    let other_time = other_time(members)?;
    let is_time = |key: &str| matches!(key, "time" | "time_ns") || other_time == Some(key);
    let mut seen: HashSet<Cow<'_, str>> = HashSet::with_capacity(members.len());
    let mut names = NameParser::new();
    for (key, value) in members {
        let is_time = is_time(key);
        // Names that are written otherwise and are one series are the same.
        let name = match key.as_str() {
            _ if is_time => "time".into(),
            key if key.contains('{') => names.canonical(key).to_owned().into(),
            key => key.into(),
        };
        if !seen.insert(name) {
            return Err(JsonProblem::Twice { key: quote(key) });
        }
        if is_time {
            // A name may say the unit.
            let named = match time_unit_ns(key) {
                _ if key == "time_ns" => Times::default(),
                Some(unit_ns @ 1..) => times.of_unit(unit_ns),
                _ => *times,
            };
            time_ns = time(value, &named)?;
        }
    }
    let rest = members.iter().filter(|(key, _)| !is_time(key));
    // What `baro cat --format json` writes beside samples: a note is none, and a frame cannot be one.
    if members.len() == 2 && seen.contains("note") && seen.contains("time") {
        return Ok((None, Vec::new()));
    }
    if seen.contains("channel") && seen.contains("hex") && seen.contains("bytes") {
        return Err(JsonProblem::Frame);
    }
    // An object of values may have a series of the name `value`, but not of both names.
    if seen.contains("series") && seen.contains("value") {
        return one(rest).map(|one| (time_ns, vec![one]));
    }
    let mut values = Vec::with_capacity(members.len());
    for (key, value) in rest {
        if key == "series" && value.get().starts_with('"') {
            return Err(JsonProblem::ValueMissing);
        }
        if key.is_empty() {
            return Err(JsonProblem::SeriesEmpty);
        }
        values.push((Cow::Borrowed(key.as_str()), scalar(key, value)?, Mark::None));
    }
    if values.is_empty() {
        return Err(JsonProblem::NoValues);
    }
    Ok((time_ns, values))
}

fn one<'a>(
    members: impl Iterator<Item = &'a (String, &'a RawValue)>,
) -> Result<(Cow<'a, str>, Scalar<'a>, Mark), JsonProblem> {
    let (mut series, mut value, mut kind) = (String::new(), None, None);
    for (key, raw) in members {
        match key.as_str() {
            "series" => {
                series = serde_json::from_str(raw.get())
                    .map_err(|_| JsonProblem::Series { found: quote(raw.get()) })?;
            }
            "value" => value = Some(*raw),
            "value_type" => {
                let fail = || JsonProblem::Kind { found: quote(raw.get()) };
                let name: String = serde_json::from_str(raw.get()).map_err(|_| fail())?;
                kind = Some(Kind::of_name(&name).ok_or_else(fail)?);
            }
            _ => return Err(JsonProblem::KeyExtra { key: quote(key) }),
        }
    }
    if series.is_empty() {
        return Err(JsonProblem::SeriesEmpty);
    }
    let raw = value.ok_or(JsonProblem::NoValues)?;
    let Some(kind) = kind else {
        let value = scalar(&series, raw)?;
        return Ok((Cow::Owned(series), value, Mark::None));
    };
    let text = raw.get();
    let digits = matches!(text.as_bytes().first(), Some(b'-' | b'0'..=b'9'));
    let value = match kind {
        Kind::F64 if digits => number::float(text).ok().map(Scalar::Float),
        Kind::I64 | Kind::U64 if digits => number::integer(text).ok(),
        kind => scalar(&series, raw).ok().filter(|value| {
            matches!(
                (kind, value),
                (Kind::F64, Scalar::Float(_))
                    | (Kind::Bool, Scalar::Boolean(_))
                    | (Kind::Text, Scalar::Text(_))
            )
        }),
    };
    let fail = || JsonProblem::Value { series: quote(&series), found: quote(text) };
    let value = value.ok_or_else(fail)?;
    Ok((Cow::Owned(series), value, Mark::As(kind.declares())))
}

fn time(raw: &RawValue, times: &Times) -> Result<Option<i64>, JsonProblem> {
    let text = raw.get();
    if text == "null" {
        return Ok(None);
    }
    let fail = |fault| JsonProblem::Time { found: quote(text), fault };
    if text.starts_with('"') {
        let text: String = serde_json::from_str(text).map_err(|_| fail(TimeFault::Form))?;
        return times.read(&text).map(Some).map_err(fail);
    }
    times.read(text).map(Some).map_err(fail)
}

fn scalar<'a>(series: &str, raw: &'a RawValue) -> Result<Scalar<'a>, JsonProblem> {
    let text = raw.get();
    let fail = || JsonProblem::Value { series: quote(series), found: quote(text) };
    match text.as_bytes().first() {
        Some(b'n') => Ok(Scalar::Float(f64::NAN)),
        // Numbers and truth values of JSON are written as those of CSV.
        Some(b'-' | b'0'..=b'9' | b't' | b'f') => number::scalar(text).map_err(|_| fail()),
        Some(b'"') => {
            let text: String = serde_json::from_str(text).map_err(|_| fail())?;
            Ok(Scalar::Text(text.into()))
        }
        _ => Err(fail()),
    }
}

#[cfg(test)]
mod tests;
