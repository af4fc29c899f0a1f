//! JSON lines, from bytes that come in any pieces.
//!
//! Two forms, told apart by their keys as a header of CSV is (`object`):
//! `{"time":..,"series":"temp","value":21.5}`, where `series` may be any name that CSV takes for one, and an
//! object of values, `{"time":..,"temp":21.5,"on":true}`, whose values were taken together. The time is
//! under `time`, in the forms of [`crate::Times`], or under `time_ns`, where an integer is nanoseconds
//! whatever is said, and may be missing, which means now. Values are numbers, `true` and `false`, and
//! texts; `null` is a float that is no number, as `baro query --format ndjson` writes it. In the first
//! form `value_type` may say the type, as that writes it too. A line is taken whole or not at all: one bad value refuses it, with an error that
//! names line and key, and the next line counts again. Numbers are read from their digits, so a
//! time with nine digits behind the point and an integer of 64 bits lose nothing.
//!
//! A third form is that in which VictoriaMetrics exports a series (`metric`),
//! `{"metric":{"__name__":"up","job":"a"},"values":[1,0],"timestamps":[1700000000000,..]}`, whose times
//! are milliseconds unless somebody says another unit.
//!
//! A fourth is what Telegraf writes, one metric or a batch of them:
//! `{"fields":{"usage":1.5},"name":"cpu","tags":{"host":"a"},"timestamp":1700000000}`, whose series are named
//! as those of the line protocol.
//!
//! An input that begins with a bracket is an array of such objects, in one line or many (`elements`); one that
//! no bracket closes is told, since its end is missing.
//! Where there is no `time`, a key that CSV would take for one is it (`timestamp`, `ts_ms` ..), but for
//! `epoch`, which counts rounds of training more often.
//!
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! a few [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items`.

mod elements;
mod error;
mod metric;
mod object;
mod telegraf;

use crate::form::TextForm;
use crate::lines::{self, LineCutter, Unreadable, quote};
use crate::number;
use crate::sample::{Mark, Sample, Scalar};
use crate::time::{TimeFault, Times};
use elements::Elements;
pub use error::{JsonError, JsonProblem};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The longest line, without its newline: 1 MiB, some ten thousand values. A longer one is one
/// error and is skipped.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// A sample of an object.
#[derive(Debug, Clone, PartialEq)]
pub struct JsonSample<'a> {
    /// Which object of the input, from 1. Samples of one object were taken together, and an array may have
    /// many objects in a line.
    pub object: u64,
    /// The sample.
    pub sample: Sample<'a>,
}

/// Turns bytes into samples.
#[derive(Debug)]
pub struct JsonParser {
    lines: LineCutter,
    place: Place,
    reader: Reader,
}

/// What lines mean.
#[derive(Debug)]
pub(crate) struct Reader {
    form: TextForm,
    /// Objects so far, and the line of the last one.
    objects: u64,
    last: u64,
    /// Which of the columns that somebody has spoken of no object had.
    unseen: Vec<bool>,
    /// The line with a bracket alone that no other has closed.
    open: Option<u64>,
    /// See [`Times::check_form`].
    early: Option<bool>,
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
        Self::of(TextForm::default())
    }
}

impl JsonParser {
    /// A parser at line 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A parser at line 1 of an input of which something is said.
    #[must_use]
    pub fn of(form: TextForm) -> Self {
        let place = Place::Begin { line: 1, mark_bytes: 0 };
        JsonParser { lines: LineCutter::new(LINE_BYTES_MAX), place, reader: Reader::of(form) }
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
    pub fn feed(&mut self, bytes: &[u8], mut item: impl FnMut(Result<JsonSample<'_>, JsonError>)) {
        let JsonParser { lines, place, reader } = self;
        let mut each = |number: u64, line: Option<&[u8]>| reader.numbered(number, line, &mut item);
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

    /// Ends the input: a last line without newline counts, and an array must have ended. The parser starts
    /// anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<JsonSample<'_>, JsonError>)) {
        let open = self.last(&mut item);
        let JsonParser { place, reader, .. } = self;
        if !reader.ended {
            if let Some(line) = open.or(reader.open) {
                item(Err(JsonError { line, problem: JsonProblem::ArrayOpen }));
            }
            reader.tell_unseen(&mut |error| item(Err(error)));
        }
        (*place, reader.ended) = (Place::Begin { line: 1, mark_bytes: 0 }, false);
        *reader = Reader::of(std::mem::take(&mut reader.form));
    }

    /// Ends the input where somebody has stopped it: an array may go on behind that.
    pub fn stop(&mut self, mut item: impl FnMut(Result<JsonSample<'_>, JsonError>)) {
        self.last(&mut item);
        let form = std::mem::take(&mut self.reader.form);
        *self = Self::of(form);
    }

    /// Reads what has come of the last line. The line of an array that has not ended behind an element.
    fn last(&mut self, item: &mut impl FnMut(Result<JsonSample<'_>, JsonError>)) -> Option<u64> {
        let JsonParser { lines, place, reader } = self;
        let mut each = |number: u64, line: Option<&[u8]>| reader.numbered(number, line, item);
        let open = match place {
            Place::Array(elements) => elements.finish(&mut each),
            Place::Begin { .. } | Place::Lines => None,
        };
        lines.finish(each);
        open
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

impl Reader {
    pub(crate) fn of(form: TextForm) -> Self {
        let unseen = vec![true; form.columns.len()];
        Reader { form, objects: 0, last: 0, unseen, open: None, early: None, ended: false }
    }

    /// Hands on what a line has, with the number of its object.
    fn numbered(
        &mut self,
        line: u64,
        bytes: Option<&[u8]>,
        item: &mut impl FnMut(Result<JsonSample<'_>, JsonError>),
    ) {
        if !self.ended {
            let object = self.objects + 1;
            self.line(line, bytes, &mut |found| {
                item(found.map(|sample| JsonSample { object, sample }));
            });
        }
    }

    /// What was said of columns that no object had. Behind an input without objects there is nothing to tell.
    fn tell_unseen(&self, tell: &mut dyn FnMut(JsonError)) {
        if self.objects == 0 {
            return;
        }
        for ((column, _), unseen) in self.form.columns.iter().zip(&self.unseen) {
            if *unseen {
                let problem = JsonProblem::ColumnUnseen { column: quote(column) };
                tell(JsonError { line: self.last, problem });
            }
        }
    }

    /// A line, or an element of an array. `None`: it was too long.
    pub(crate) fn line(
        &mut self,
        line: u64,
        bytes: Option<&[u8]>,
        item: &mut impl FnMut(Result<Sample<'_>, JsonError>),
    ) {
        if let Err(problem) = self.object(line, bytes, &mut |sample| item(Ok(sample))) {
            self.ended = problem == JsonProblem::Utf16;
            item(Err(JsonError { line, problem }));
        }
    }

    fn object(
        &mut self,
        line: u64,
        bytes: Option<&[u8]>,
        each: &mut impl FnMut(Sample<'_>),
    ) -> Result<(), JsonProblem> {
        let bytes = bytes.ok_or(JsonProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX })?;
        let text = lines::content(line, bytes).and_then(|(content, _)| lines::utf8(content));
        let text = match text {
            // An array with an object a line, as `baro query --format json` writes it.
            Ok("[") => {
                self.open = Some(line);
                return Ok(());
            }
            Ok("]") => {
                self.open = None;
                return Ok(());
            }
            Ok("[]") => return Ok(()),
            Ok(text) if text.starts_with('{') => {
                text.strip_suffix("},").map_or(text, |_| text.strip_suffix(',').unwrap_or(text))
            }
            Ok(text) => text,
            Err(Unreadable::NotUtf8 { .. }) => return Err(JsonProblem::NotUtf8),
            Err(Unreadable::Utf16) => return Err(JsonProblem::Utf16),
        };
        if text.bytes().all(|byte| byte.is_ascii_whitespace()) {
            return Ok(());
        }
        (self.objects, self.last) = (self.objects + 1, line);
        let Members(members) =
            serde_json::from_str(text).map_err(|error| no_object(text, &error))?;
        for ((column, _), unseen) in self.form.columns.iter().zip(&mut self.unseen) {
            *unseen = *unseen && members.iter().all(|(key, _)| key != column);
        }
        let times = &self.form.times;
        if let Some(found) = telegraf::read(&members, times)? {
            for (time_ns, series, joint, value) in found {
                let (series, joint) = (Cow::Owned(series), Some(joint));
                each(Sample { line, time_ns, series, joint, value, mark: Mark::None });
            }
        } else if let Some((series, values)) = metric::read(&members, times)? {
            for (time_ns, value) in values {
                let (time_ns, series) = (Some(time_ns), Cow::Borrowed(series.as_str()));
                each(Sample { line, time_ns, series, joint: None, value, mark: Mark::None });
            }
        } else {
            let (time_ns, values) = object::read(&members, &self.form, &mut self.early)?;
            for (series, value, mark) in values {
                each(Sample { line, time_ns, series, joint: None, value, mark });
            }
        }
        Ok(())
    }
}

/// What stands where an object does not go on, and what the library says of it, without its place in a text
/// that is always one line.
fn no_object(text: &str, error: &serde_json::Error) -> JsonProblem {
    let begin = text.len() - text.trim_start().len();
    let column = match text[begin..].starts_with('{') {
        false => begin + 1,
        true => error.column().max(1),
    };
    let rest = text.get(column - 1..).unwrap_or_default();
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let is_begun = text[begin..].starts_with('{');
    let reason = match column - 1 == begin {
        _ if is_begun && error.is_eof() => {
            "the end of the line within it (each object on one line; jq -c . FILE writes it so)"
                .to_owned()
        }
        true => format!("{:?}", quote(rest)),
        false => format!("{:?} ({})", quote(rest), quote(said)),
    };
    JsonProblem::Syntax { column, reason }
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
