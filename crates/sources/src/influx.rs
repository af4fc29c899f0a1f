//! Lines of the Influx line protocol, from bytes that come in any pieces.
//!
//! `weather,site=a temp=21.5,raining=f 1700000000000000000`: measurement, tags, fields, time. Each
//! field is a sample of the series `measurement_field{tag="value"}`, with the tags in the order of
//! their keys: `weather_temp{site="a"}` and `weather_raining{site="a"}`. The underscore is what
//! exporters to Prometheus write, and a dot would mean the field of a channel here.
//!
//! Values: `21.5` is f64, `3i` i64, `3u` an unsigned integer, `t`, `true`, `f`, `false` and their
//! forms with capitals are truth values, text is in quotes. Time: an integer in the unit the parser
//! is made with, or none, which means now. Blank lines and those that start with `#` are skipped, and so
//! are those that start with `CREATE DATABASE `, which a dump of InfluxDB has at its beginning. A line is
//! taken whole or is one error. A text may hold line breaks: a point has the number of the line in which it
//! begins, and so has what is wrong with it, unless another point begins in one of its lines.
//!
//! Nothing is copied but names, which are put together in one buffer, and text with escapes.
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items` and the fuzz target
//! `influx`.

mod error;
mod line;
mod met;
mod points;

use crate::lines::{self, Unreadable};
use crate::records::{Attempt, Held, Records, Verdict};
use crate::sample::Joint;
use crate::time::Times;
use line::{Field, Fields};
use std::borrow::Cow;

pub use error::{InfluxError, InfluxProblem};
pub use met::Points;
pub use points::{PointParser, PointReader};

/// The longest line, without its newline: 1 MiB. A longer one is one error and is skipped.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum InfluxValue<'a> {
    /// A number without a letter behind it.
    Float(f64),
    /// With an `i` behind it.
    Integer(i64),
    /// With a `u` behind it.
    Unsigned(u64),
    /// `t`, `f` and so on.
    Boolean(bool),
    /// In quotes; copied only if it has escapes.
    Text(Cow<'a, str>),
}

/// One field of a line.
#[derive(Debug, Clone, PartialEq)]
pub struct InfluxSample<'a> {
    /// Line of the input, from 1; fields of one line share it.
    pub line: u64,
    /// Nanoseconds since the Unix epoch; `None` means now.
    pub time_ns: Option<i64>,
    /// Name of the series; never empty.
    pub series: &'a str,
    /// Where measurement and field meet in it.
    pub joint: Joint,
    /// The value.
    pub value: InfluxValue<'a>,
}

/// What InfluxDB's own dumps have before their lines.
const CREATE: &[u8] = b"CREATE DATABASE ";

/// Turns bytes into samples.
#[derive(Debug)]
pub struct InfluxParser {
    records: Records,
    reader: Reader,
}

#[derive(Debug)]
struct Reader {
    fields: Fields,
    times: Times,
    /// Nothing more of the input can be read.
    ended: bool,
}

/// Whether a text that is open before a line is closed in it and no other is open behind it. Only a quote
/// at the begin of a value opens one: within a name it is a letter. Where something follows that no record
/// has, nothing more can belong to it.
fn closes(line: &[u8]) -> bool {
    #[derive(PartialEq)]
    enum Place {
        Text,
        Behind,
        Key,
        Begin,
        Value,
    }
    let (mut place, mut escaped) = (Place::Text, false);
    for byte in line {
        if std::mem::take(&mut escaped) {
            continue;
        }
        place = match (place, byte) {
            (place @ (Place::Text | Place::Key), b'\\') => {
                escaped = true;
                place
            }
            (Place::Text, b'"') => Place::Behind,
            (Place::Text, _) | (Place::Begin, b'"') => Place::Text,
            (Place::Behind | Place::Begin | Place::Value, b',') => Place::Key,
            (Place::Key, b'=') => Place::Begin,
            (Place::Behind, _) | (Place::Key, b',') | (_, b' ') => return true,
            (Place::Key, _) => Place::Key,
            (Place::Begin | Place::Value, _) => Place::Value,
        };
    }
    place != Place::Text
}

impl InfluxParser {
    /// A parser at line 1; times are counted in units of `unit_ns` nanoseconds.
    #[must_use]
    pub fn new(unit_ns: i64) -> Self {
        Self::of(Times::default().of_unit(unit_ns))
    }

    /// A parser at line 1 that reads times so.
    #[must_use]
    pub fn of(times: Times) -> Self {
        let records = Records::new(LINE_BYTES_MAX, closes);
        InfluxParser { records, reader: Reader::new(times) }
    }

    /// A parser of an input that is read while it is written, so that [`InfluxParser::judge`] may be asked.
    #[must_use]
    pub fn live(times: Times) -> Self {
        let records = Records::live(LINE_BYTES_MAX, closes);
        InfluxParser { records, reader: Reader::new(times) }
    }

    /// What waits for a line that closes a text, and what is not read.
    #[must_use]
    pub fn held(&self) -> Held {
        self.records.held()
    }

    /// No longer waits for the line that closes a text: what waits is judged as at the end.
    pub fn judge(&mut self, mut item: impl FnMut(Result<InfluxSample<'_>, InfluxError>)) {
        let InfluxParser { records, reader } = self;
        records.judge(|number, line, attempt| reader.line(number, line, attempt, &mut item));
    }

    /// Takes the next bytes and hands each sample or error they complete to `item`, in the order
    /// of the lines.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut item: impl FnMut(Result<InfluxSample<'_>, InfluxError>),
    ) {
        let InfluxParser { records, reader } = self;
        records.feed(bytes, |number, line, attempt| reader.line(number, line, attempt, &mut item));
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<InfluxSample<'_>, InfluxError>)) {
        let InfluxParser { records, reader } = self;
        records.finish(|number, line, attempt| reader.line(number, line, attempt, &mut item));
        reader.ended = false;
    }
}

/// What the quotes of a point say of which something is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    /// A text is open: the lines behind it may be that text and no points.
    Open,
    /// All are closed; whether one behind the first line closes no text, since something else than the next
    /// field or the time follows.
    Closed { misplaced: bool },
}

/// As InfluxDB finds the end of a line (`scanLine` of its models): a quote counts only where a value begins, and
/// until it is closed.
fn quotes(text: &[u8]) -> Quotes {
    let (mut quoted, mut in_fields, mut values) = (false, false, 0_usize);
    let (mut behind, mut misplaced) = (false, false);
    let mut bytes = text.iter().peekable();
    while let Some(byte) = bytes.next() {
        behind |= *byte == b'\n';
        match byte {
            b'\\' => {
                behind |= bytes.next() == Some(&b'\n');
            }
            b' ' => in_fields = true,
            b'=' if in_fields && !quoted => values += 1,
            b',' if in_fields && !quoted => values = values.saturating_sub(1),
            b'"' if in_fields && values > 0 => {
                quoted = !quoted;
                let follows = bytes.peek();
                let ends = matches!(follows, None | Some(b',' | b' ' | b'\r'));
                misplaced |= behind && !quoted && !ends;
            }
            _ => {}
        }
    }
    if quoted { Quotes::Open } else { Quotes::Closed { misplaced } }
}

/// Column of a line, from 1, and what is wrong there.
type Fault = (usize, InfluxProblem);

impl Reader {
    fn new(times: Times) -> Self {
        Reader { fields: Fields::default(), times, ended: false }
    }

    /// The text of a line, and the bytes of the mark before it; nothing where there is no point in it.
    /// `None`: it was too long.
    fn text<'b>(
        &mut self,
        line: u64,
        bytes: Option<&'b [u8]>,
        attempt: Attempt,
    ) -> Result<Option<(&'b str, usize)>, Option<Fault>> {
        if self.ended {
            return Ok(None);
        }
        if let Attempt::Unread { from } = attempt {
            return Err(Some((1, InfluxProblem::Unread { from })));
        }
        let Some(bytes) = bytes else {
            let problem = InfluxProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX };
            return Err(Some((LINE_BYTES_MAX + 1, problem)));
        };
        let Ok((content, mark_bytes)) = lines::content(line, bytes) else {
            self.ended = true;
            return Err(Some((1, InfluxProblem::Utf16)));
        };
        let first = content.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
        if matches!(first, None | Some(b'#')) || content.starts_with(CREATE) {
            return Ok(None);
        }
        match lines::utf8(content) {
            Ok(text) => Ok(Some((text, mark_bytes))),
            Err(Unreadable::NotUtf8 { offset }) => {
                let fault = (mark_bytes + offset + 1, InfluxProblem::NotUtf8);
                Err((!self.goes_on(attempt, content)).then_some(fault))
            }
            Err(Unreadable::Utf16) => Err(Some((1, InfluxProblem::Utf16))),
        }
    }

    /// Whether more lines belong to a point of which something is wrong; of several lines, whether they are
    /// none, since a quote was forgotten: then one is misplaced behind the first line, where a point begins.
    fn goes_on(&mut self, attempt: Attempt, text: &[u8]) -> bool {
        match (attempt, quotes(text)) {
            (Attempt::First | Attempt::Joined, Quotes::Open) => true,
            (Attempt::Joined, Quotes::Closed { misplaced }) => misplaced && self.has_points(text),
            _ => false,
        }
    }

    /// Whether a line behind one whose text no line closes is a point.
    fn behind(&mut self, line: &[u8]) -> Verdict {
        let read = lines::utf8(line).is_ok_and(|line| self.fields.read(line, &self.times).is_ok());
        if read { Verdict::Done } else { Verdict::Open }
    }

    /// Whether a point begins in one of the lines behind the first.
    fn has_points(&mut self, text: &[u8]) -> bool {
        text.split(|byte| *byte == b'\n').skip(1).any(|line| {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let read = str::from_utf8(line).map(|line| self.fields.read(line, &self.times));
            quotes(line) == Quotes::Open || matches!(read, Ok(Ok(_)))
        })
    }

    /// Reads a line; returns its time. An error is none where the line may go on.
    fn read(
        &mut self,
        (text, mark_bytes): (&str, usize),
        attempt: Attempt,
    ) -> Result<Option<i64>, Option<Fault>> {
        let (offset, problem) = match self.fields.read(text, &self.times) {
            Ok(time_ns) => return Ok(time_ns),
            Err(found) => found,
        };
        let is_open = problem == InfluxProblem::QuoteOpen && attempt != Attempt::Alone;
        let goes_on = is_open || self.goes_on(attempt, text.as_bytes());
        Err((!goes_on).then_some((mark_bytes + offset + 1, problem)))
    }

    /// Hands on the items of a line; `None`: it was too long.
    fn line(
        &mut self,
        line: u64,
        bytes: Option<&[u8]>,
        attempt: Attempt,
        item: &mut impl FnMut(Result<InfluxSample<'_>, InfluxError>),
    ) -> Verdict {
        if attempt == Attempt::Behind {
            return self.behind(bytes.unwrap_or_default());
        }
        let (text, mark_bytes) = match self.text(line, bytes, attempt) {
            Ok(Some(text)) => text,
            Ok(None) => return Verdict::Done,
            Err(None) => return Verdict::Open,
            Err(Some((column, problem))) => {
                item(Err(InfluxError { line, column, problem }));
                return Verdict::Done;
            }
        };
        match self.read((text, mark_bytes), attempt) {
            Ok(time_ns) => self.fields.each(text, |field| {
                let Field { series, joint, value, .. } = field;
                item(Ok(InfluxSample { line, time_ns, series, joint, value }));
            }),
            Err(None) => return Verdict::Open,
            Err(Some((column, problem))) => item(Err(InfluxError { line, column, problem })),
        }
        Verdict::Done
    }
}

#[cfg(test)]
mod tests;
