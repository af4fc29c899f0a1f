//! Lines of `time,series,value`, from bytes that come in any pieces.
//!
//! What a shell script can print is the lowest door into a store, so the parser is forgiving
//! about form (quotes, blanks, CRLF, comments, a header) and strict about content: a line that is
//! not understood gives one error with its place and is skipped, never guessed. The caller owns
//! the input and the clock; a piece goes in, samples come out at once, and only a line that is cut
//! by the end of a piece is copied.
//!
//! Time: an integer is nanoseconds since 1970; a number with a point is seconds; RFC 3339 with Z
//! or an offset; nothing means now, and is `None` here. Value: `12` is an integer, `12.0`, `1e3`,
//! `nan` and `inf` are floats, `true` and `false` truth values. Any field may be in quotes, and
//! then holds commas, and quotes written twice. A name behind a `'` that keeps it from being a formula
//! in a spreadsheet, as an export writes it, is read without it. Blanks around a field do not count. Blank lines,
//! lines that start with `#`, and the header `time,series,value` are skipped wherever they stand
//! (files get concatenated), and so is a byte order mark at the very beginning.
//!
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items`.

mod error;
mod time;

use crate::lines::{LineCutter, quote};
use crate::sample::{Sample, Scalar};
use std::borrow::Cow;

pub use error::{CsvError, CsvProblem};
use time::TimeFault;

/// Reads a time as [`CsvParser`] does: an integer is nanoseconds since the Unix epoch, a number
/// with a point is seconds, else RFC 3339. `None` if it is none of these or does not exist.
#[must_use]
pub fn parse_time(text: &str) -> Option<i64> {
    time::parse(text).ok()
}

/// The longest line, without its newline: 64 KiB. A longer one is one error and is skipped, so
/// that a binary file fed by mistake does not fill the memory.
pub const LINE_BYTES_MAX: usize = 64 << 10;

/// Turns bytes into samples.
#[derive(Debug)]
pub struct CsvParser {
    lines: LineCutter,
}

impl Default for CsvParser {
    fn default() -> Self {
        CsvParser { lines: LineCutter::new(LINE_BYTES_MAX) }
    }
}

impl CsvParser {
    /// A parser at line 1.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes and hands each sample or error they complete to `item`, in the order
    /// of the lines.
    pub fn feed(&mut self, bytes: &[u8], mut item: impl FnMut(Result<Sample<'_>, CsvError>)) {
        self.lines.feed(bytes, |number, line| parse_line(number, line, &mut item));
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<Sample<'_>, CsvError>)) {
        self.lines.finish(|number, line| parse_line(number, line, &mut item));
    }
}

fn too_long(line: u64) -> CsvError {
    let problem = CsvProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX };
    CsvError { line, column: LINE_BYTES_MAX + 1, problem }
}

/// `None`: the line was too long.
pub(crate) fn parse_line(
    number: u64,
    bytes: Option<&[u8]>,
    item: &mut impl FnMut(Result<Sample<'_>, CsvError>),
) {
    let Some(bytes) = bytes else { return item(Err(too_long(number))) };
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let mark_bytes = if number == 1 && bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let content = &bytes[mark_bytes..];
    let first = content.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    if matches!(first, None | Some(b'#')) {
        return;
    }
    let fault = |Fault { offset, problem }| CsvError {
        line: number,
        column: mark_bytes + offset + 1,
        problem,
    };
    match str::from_utf8(content) {
        Err(error) => {
            item(Err(fault(Fault { offset: error.valid_up_to(), problem: CsvProblem::NotUtf8 })));
        }
        Ok(text) => match parse_fields(number, text) {
            Ok(None) => {}
            Ok(Some(sample)) => item(Ok(sample)),
            Err(error) => item(Err(fault(error))),
        },
    }
}

/// A problem and its offset in the line, in bytes.
struct Fault {
    offset: usize,
    problem: CsvProblem,
}

/// A field without blanks and quotes around it.
struct Field<'a> {
    offset: usize,
    text: Cow<'a, str>,
    /// Where the next field starts; `None` at the end of the line.
    next: Option<usize>,
}

/// `None` for the header.
fn parse_fields(line: u64, text: &str) -> Result<Option<Sample<'_>>, Fault> {
    let time = field(text, 0)?;
    let missing = |field| Fault { offset: text.len(), problem: CsvProblem::FieldMissing { field } };
    let series = field(text, time.next.ok_or_else(|| missing("series"))?)?;
    let value = field(text, series.next.ok_or_else(|| missing("value"))?)?;
    if let Some(extra) = value.next {
        let found = quote(&text[extra..]);
        return Err(Fault { offset: extra, problem: CsvProblem::FieldExtra { found } });
    }
    if (&*time.text, &*series.text, &*value.text) == ("time", "series", "value") {
        return Ok(None);
    }
    let time_ns = match &*time.text {
        "" => None,
        text => Some(time::parse(text).map_err(|fault| {
            let found = quote(text);
            let problem = match fault {
                TimeFault::Form => CsvProblem::Time { found },
                TimeFault::Calendar => CsvProblem::TimeCalendar { found },
                TimeFault::Range => CsvProblem::TimeRange { found },
            };
            Fault { offset: time.offset, problem }
        })?),
    };
    if series.text.is_empty() {
        return Err(Fault { offset: series.offset, problem: CsvProblem::SeriesEmpty });
    }
    let value =
        parse_value(&value.text).map_err(|problem| Fault { offset: value.offset, problem })?;
    Ok(Some(Sample { line, time_ns, series: unguarded(series.text), value }))
}

/// A name without the `'` that an export puts before one that a spreadsheet would take for a formula:
/// `baro_export::csv` has the other half.
fn unguarded(name: Cow<'_, str>) -> Cow<'_, str> {
    let begin = name.trim_start_matches('\'');
    let first = begin.trim_start_matches(' ').chars().next();
    let formula = matches!(
        first,
        Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠')
    );
    match (formula, name) {
        (true, Cow::Borrowed(name)) => name.strip_prefix('\'').unwrap_or(name).into(),
        (true, Cow::Owned(mut name)) => {
            if name.starts_with('\'') {
                name.remove(0);
            }
            name.into()
        }
        (false, name) => name,
    }
}

/// Takes the field that starts at `start`.
fn field(text: &str, start: usize) -> Result<Field<'_>, Fault> {
    let blank = [' ', '\t'];
    let rest = text[start..].trim_start_matches(blank);
    let offset = text.len() - rest.len();
    let Some(quoted) = rest.strip_prefix('"') else {
        let (content, next) = match rest.find(',') {
            Some(comma) => (&rest[..comma], Some(offset + comma + 1)),
            None => (rest, None),
        };
        return Ok(Field { offset, text: content.trim_end_matches(blank).into(), next });
    };
    let mut searched = 0;
    let mut doubled = false;
    let end = loop {
        let Some(found) = quoted[searched..].find('"') else {
            return Err(Fault { offset, problem: CsvProblem::QuoteOpen });
        };
        let end = searched + found;
        if !quoted[end + 1..].starts_with('"') {
            break end;
        }
        doubled = true;
        searched = end + 2;
    };
    let content = &quoted[..end];
    let content = if doubled { content.replace("\"\"", "\"").into() } else { content.into() };
    let after = quoted[end + 1..].trim_start_matches(blank);
    let after_offset = text.len() - after.len();
    match after.as_bytes().first() {
        None => Ok(Field { offset, text: content, next: None }),
        Some(b',') => Ok(Field { offset, text: content, next: Some(after_offset + 1) }),
        Some(_) => {
            let problem = CsvProblem::AfterQuote { found: quote(after) };
            Err(Fault { offset: after_offset, problem })
        }
    }
}

/// A number or truth value; also of JSON, whose numbers are a part of these.
pub(crate) fn parse_value(text: &str) -> Result<Scalar, CsvProblem> {
    match text {
        "true" => return Ok(Scalar::Boolean(true)),
        "false" => return Ok(Scalar::Boolean(false)),
        _ => {}
    }
    if let Ok(integer) = text.parse() {
        return Ok(Scalar::Integer(integer));
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        // As a float it would lose its last digits without a word.
        return Err(CsvProblem::ValueRange { found: quote(text) });
    }
    let value: f64 = text.parse().map_err(|_| CsvProblem::Value { found: quote(text) })?;
    // Infinity is a word; digits that come to it are a number too large for 64 bits.
    if value.is_infinite()
        && unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.')
    {
        return Err(CsvProblem::FloatRange { found: quote(text) });
    }
    Ok(Scalar::Float(value))
}

#[cfg(test)]
mod tests;
