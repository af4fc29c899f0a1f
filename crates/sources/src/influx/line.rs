//! One line of the line protocol, as places in its text.
//!
//! Places and not slices, so that the same memory serves every line.

use super::InfluxValue;
use super::error::InfluxProblem;
use crate::lines::quote;
use crate::number;
use crate::sample::Joint;
use crate::time::{TimeFault, Times};
use baro_ondisk::{is_plain_name, write_name, write_quoted};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

/// A tag that Prometheus writes to InfluxDB: the metric, which is the measurement too.
const METRIC: &str = "__name__";

/// Byte of the line, from 0, and what is wrong there.
pub(super) type Fault = (usize, InfluxProblem);

/// A value, and where the text of one lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    Float(f64),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    Text { start: usize, end: usize, escaped: bool },
}

impl Found {
    /// The value, of which this is the line.
    pub(super) fn value(self, line: &str) -> InfluxValue<'_> {
        match self {
            Found::Float(value) => InfluxValue::Float(value),
            Found::Integer(value) => InfluxValue::Integer(value),
            Found::Unsigned(value) => InfluxValue::Unsigned(value),
            Found::Boolean(value) => InfluxValue::Boolean(value),
            Found::Text { start, end, escaped } => {
                let text = part(line, start..end);
                InfluxValue::Text(if escaped { plain_text(text).into() } else { text.into() })
            }
        }
    }
}

/// One field of a line.
pub(super) struct Field<'a> {
    /// Its key as it was written.
    pub(super) written: &'a str,
    pub(super) series: &'a str,
    pub(super) joint: Joint,
    pub(super) value: InfluxValue<'a>,
}

/// The line read last.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Measurement and tags.
    head: Range<usize>,
    measurement: Range<usize>,
    tags: Vec<(Range<usize>, Range<usize>)>,
    fields: Vec<(Range<usize>, Found)>,
    /// Keys of the fields, sorted.
    order: Vec<Range<usize>>,
    /// The name being put together.
    name: String,
    /// Measurement and key of the field.
    metric: String,
    /// `tag="value",..`: the same for all fields of a line.
    labels: String,
}

/// Where an unescaped one that `stops` stands from `start` on, or the end. A backslash escapes a comma, an equals
/// sign or a blank behind it and nothing else, no backslash either: `C:\\ x` is how Telegraf writes `C:\ x`, and
/// InfluxDB 1 and 2 read it so.
pub(super) fn until(text: &str, start: usize, stops: impl Fn(u8) -> bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = start;
    while let Some(byte) = bytes.get(at) {
        if *byte == b'\\' && matches!(bytes.get(at + 1), Some(b',' | b'=' | b' ')) {
            at += 2;
            continue;
        }
        if stops(*byte) {
            return at;
        }
        at += 1;
    }
    bytes.len()
}

/// The part of a text; both ends are at ASCII or at the end, so it is never cut.
pub(super) fn part(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// The start of what stands at `at`, for an error.
fn here(text: &str, at: usize) -> String {
    quote(part(text, at..text.len()))
}

fn expected(text: &str, at: usize, what: &'static str) -> Fault {
    (at, InfluxProblem::Expected { what, found: here(text, at) })
}

pub(super) fn skip_blanks(text: &str, at: usize) -> usize {
    let rest = part(text, at..text.len());
    at + (rest.len() - rest.trim_start_matches(' ').len())
}

/// A key with its value: `stops` end the value. Returns where the value starts.
fn key(text: &str, start: usize, what: &'static str) -> Result<(Range<usize>, usize), Fault> {
    let end = until(text, start, |byte| matches!(byte, b'=' | b',' | b' '));
    if end == start || text.as_bytes().get(end) != Some(&b'=') {
        return Err(expected(text, start, what));
    }
    Ok((start..end, end + 1))
}

impl Fields {
    /// Reads a line; returns its time in nanoseconds, if it has one.
    pub(super) fn read(&mut self, text: &str, times: &Times) -> Result<Option<i64>, Fault> {
        self.tags.clear();
        self.fields.clear();
        // What InfluxDB passes over before a name.
        let start = text.len() - text.trim_start_matches([' ', '\t', '\0']).len();
        let mut at = until(text, start, |byte| matches!(byte, b',' | b' '));
        if at == start {
            return Err(expected(text, start, "the name of a measurement"));
        }
        self.measurement = start..at;
        while text.as_bytes().get(at) == Some(&b',') {
            let (key, value) = key(text, at + 1, "a tag as key=value")?;
            // A backslash before a comma takes it into the value: the next tag's sign shows that.
            at = until(text, value, |byte| matches!(byte, b'=' | b',' | b' '));
            if text.as_bytes().get(at) == Some(&b'=') {
                let what =
                    "a comma or a blank behind the value of a tag (an = in it is written \\=)";
                return Err(expected(text, at, what));
            }
            if at == value {
                return Err(expected(text, value, "the value of a tag"));
            }
            if part(text, key.clone()) == METRIC {
                let metric = unescaped(part(text, start..self.measurement.end));
                if !metric.eq(unescaped(part(text, value..at))) {
                    let what = "a tag __name__ that is the measurement, as Prometheus writes it (the \
                                name of a metric is no label)";
                    return Err(expected(text, value, what));
                }
            }
            self.tags.push((key, value..at));
        }
        self.head = start..at;
        at = skip_blanks(text, at);
        loop {
            let (key, value) = key(text, at, "a field as key=value")?;
            let (found, end) = value_at(text, value)?;
            self.fields.push((key, found));
            at = end;
            match text.as_bytes().get(at) {
                Some(b',') => at += 1,
                None | Some(b' ') => break,
                Some(_) => return Err(expected(text, at, "a comma or a blank behind the value")),
            }
        }
        at = skip_blanks(text, at);
        self.tags.sort_unstable_by(|a, b| by_key(text, &a.0, &b.0));
        twice(text, "tag", self.tags.iter().map(|(key, _)| key))?;
        self.order.clear();
        self.order.extend(self.fields.iter().map(|(key, _)| key.clone()));
        self.order.sort_unstable_by(|a, b| by_key(text, a, b));
        twice(text, "field", self.order.iter())?;
        time(text, at, times)
    }

    /// Measurement and tags of the line, as they were written.
    pub(super) fn head<'t>(&self, text: &'t str) -> &'t str {
        part(text, self.head.clone())
    }

    /// Hands each field to `each`.
    pub(super) fn each(&mut self, text: &str, mut each: impl FnMut(Field<'_>)) {
        let Fields { measurement, tags, fields, name, metric, labels, .. } = self;
        labels.clear();
        let mut repeated = false;
        for (key, value) in tags.iter() {
            let (key, value) = (letters(part(text, key.clone())), part(text, value.clone()));
            // Prometheus writes the metric here too, see `read`.
            if key == METRIC {
                repeated = true;
                continue;
            }
            if !labels.is_empty() {
                labels.push(',');
            }
            if is_plain_name(&key) {
                labels.push_str(&key)
            } else {
                write_quoted(labels, &key)
            }
            labels.push('=');
            // Most values have nothing that is written otherwise in quotes.
            if value.bytes().any(|byte| matches!(byte, b'"' | b'\\' | b'\n')) {
                write_quoted(labels, &letters(value));
            } else {
                labels.extend(["\"", value, "\""]);
            }
        }
        metric.clear();
        push_letters(metric, part(text, measurement.clone()));
        let joint = Joint { repeated, ..Joint::behind(metric.len()) };
        metric.push('_');
        let measured = metric.len();
        for (key, found) in fields {
            metric.truncate(measured);
            push_letters(metric, part(text, key.clone()));
            name.clear();
            let plain = is_plain_name(metric);
            if plain {
                name.push_str(metric);
            }
            match (plain, labels.is_empty()) {
                (true, true) => {}
                (true, false) => name.extend(["{", labels, "}"]),
                (false, true) => write_name(name, metric, none()),
                (false, false) => {
                    name.push('{');
                    write_quoted(name, metric);
                    name.extend([",", labels, "}"]);
                }
            }
            let (written, value) = (part(text, key.clone()), found.value(text));
            each(Field { written, series: name, joint, value });
        }
    }
}

/// No labels.
fn none() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::empty()
}

/// A name without its escapes.
fn letters(text: &str) -> Cow<'_, str> {
    if text.contains('\\') { unescaped(text).collect::<String>().into() } else { text.into() }
}

/// The same behind what a text has.
fn push_letters(out: &mut String, text: &str) {
    if text.contains('\\') { out.extend(unescaped(text)) } else { out.push_str(text) }
}

/// By their letters, and of equal keys that first which stands first.
fn by_key(text: &str, a: &Range<usize>, b: &Range<usize>) -> Ordering {
    let (first, second) = (part(text, a.clone()), part(text, b.clone()));
    let escaped = first.contains('\\') || second.contains('\\');
    // Bytes of UTF-8 have the order of their letters.
    let letters = match escaped {
        true => unescaped(first).cmp(unescaped(second)),
        false => first.cmp(second),
    };
    letters.then(a.start.cmp(&b.start))
}

/// Refuses two equal ones of keys that are sorted: a line of a megabyte may have so many that each
/// must not be compared with all others.
fn twice<'a>(
    text: &str,
    what: &'static str,
    sorted: impl Iterator<Item = &'a Range<usize>> + Clone,
) -> Result<(), Fault> {
    for (a, b) in sorted.clone().zip(sorted.skip(1)) {
        let same = letters(part(text, a.clone())) == letters(part(text, b.clone()));
        if same {
            let key = quote(part(text, b.clone()));
            return Err((b.start, InfluxProblem::Twice { what, key }));
        }
    }
    Ok(())
}

/// Letters of a name, without the backslashes before commas, equals signs and blanks.
fn unescaped(text: &str) -> impl Iterator<Item = char> + '_ {
    let mut letters = text.chars().peekable();
    std::iter::from_fn(move || {
        let letter = letters.next()?;
        if letter == '\\' {
            return Some(letters.next_if(|next| matches!(next, ',' | '=' | ' ')).unwrap_or(letter));
        }
        Some(letter)
    })
}

/// A text without the backslashes before quotes and backslashes.
fn plain_text(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let next = letters.next_if(|next| letter == '\\' && matches!(next, '"' | '\\'));
        plain.push(next.unwrap_or(letter));
    }
    plain
}

/// The value that starts at `start`, and where it ends.
pub(super) fn value_at(text: &str, start: usize) -> Result<(Found, usize), Fault> {
    let bytes = text.as_bytes();
    if bytes.get(start) == Some(&b'"') {
        let (mut at, mut escaped) = (start + 1, false);
        loop {
            match bytes.get(at) {
                None => return Err((start, InfluxProblem::QuoteOpen)),
                Some(b'"') => {
                    return Ok((Found::Text { start: start + 1, end: at, escaped }, at + 1));
                }
                Some(b'\\') => {
                    escaped = true;
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
    }
    let rest = bytes.get(start..).unwrap_or_default();
    let length = rest.iter().position(|byte| matches!(byte, b',' | b' ')).unwrap_or(rest.len());
    let end = start + length;
    let word = part(text, start..end);
    let wrong = || {
        let what = "a number, an integer such as 3i or 3u, true, false, or text in quotes";
        (start, InfluxProblem::Expected { what, found: quote(word) })
    };
    let range = |what| (start, InfluxProblem::Range { what, found: quote(word) });
    let found = match truth(word) {
        Some(value) => Found::Boolean(value),
        None => match word.as_bytes() {
            [digits @ .., b'i'] if is_integer(digits, true) => {
                let parsed = part(word, 0..digits.len()).parse();
                Found::Integer(parsed.map_err(|_| range("an integer of 64 bits"))?)
            }
            [digits @ .., b'u'] if is_integer(digits, false) => {
                let parsed = part(word, 0..digits.len()).parse();
                Found::Unsigned(parsed.map_err(|_| range("an unsigned integer of 64 bits"))?)
            }
            // Not the words that Rust takes too: inf, nan, infinity.
            [b'0'..=b'9' | b'.' | b'+' | b'-', rest @ ..]
                if rest
                    .iter()
                    .all(|b| matches!(b, b'0'..=b'9' | b'.' | b'+' | b'-' | b'e' | b'E')) =>
            {
                Found::Float(number::float(word).map_err(|fault| match fault {
                    number::NumberFault::Float => range("a number that a float of 64 bits holds"),
                    _ => wrong(),
                })?)
            }
            _ => return Err(wrong()),
        },
    };
    Ok((found, end))
}

/// A truth value; a number is compared with none of its words.
fn truth(word: &str) -> Option<bool> {
    match word.as_bytes().first()? {
        b't' | b'T' => matches!(word, "t" | "T" | "true" | "True" | "TRUE").then_some(true),
        b'f' | b'F' => matches!(word, "f" | "F" | "false" | "False" | "FALSE").then_some(false),
        _ => None,
    }
}

fn is_integer(digits: &[u8], signed: bool) -> bool {
    let digits = if signed { digits.strip_prefix(b"-").unwrap_or(digits) } else { digits };
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit)
}

/// The time at the end of a line, in nanoseconds.
pub(super) fn time(text: &str, at: usize, times: &Times) -> Result<Option<i64>, Fault> {
    let word = part(text, at..text.len()).trim_end_matches(' ');
    if word.is_empty() {
        return Ok(None);
    }
    if !is_integer(word.as_bytes(), true) {
        return Err(expected(text, at, "a time as an integer, or the end of the line"));
    }
    let count = word.parse().map_err(|_| TimeFault::Range);
    let time = count.and_then(|count| times.count(count));
    let fail = |fault| (at, InfluxProblem::Time { found: quote(word), fault });
    time.map(Some).map_err(fail)
}
