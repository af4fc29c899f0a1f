//! Text of Prometheus and OpenMetrics, from bytes that come in any pieces: what exporters show, and what
//! `promtool tsdb dump-openmetrics` and `promtool tsdb dump` print.
//!
//! `up{job="a"} 1 1700000000.123`: a name with labels, a value, a time. The name is that of the series, with its
//! labels in canonical form; all values are f64, as Prometheus has no others. A time with a point is
//! seconds, as OpenMetrics writes it. An integer is milliseconds, as Prometheus' text has it, unless the
//! caller says another unit; one that would be a time before 1980 or after 2100 then is refused, since it is
//! hardly meant so. Without a time it is now.
//!
//! Blank lines and those that begin with `#` are skipped (`# HELP`, `# TYPE`, `# UNIT`, `# EOF`, comments):
//! a type changes no value. An exemplar behind a sample (`# {trace_id="x"} 0.5`) is no sample of the series;
//! it is passed over and counted. A line is taken whole or is one error.
//!
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items` and the fuzz target
//! `prometheus`.

use crate::lines::{self, LineCutter, NOT_UTF8, UTF16, Unreadable, quote};
use crate::milliseconds::InMilliseconds;
use crate::number::{self, NumberFault};
use crate::sample::{Mark, Refused, Sample, Scalar};
use crate::time::{TimeFault, Times};
use baro_ondisk::{NameParser, Type, name_end, written_name};
use std::borrow::Cow;
use std::fmt;

/// The longest line, without its newline: 1 MiB. A longer one is one error and is skipped.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// What the lines begin with that say something about a metric.
const SAYS: [&str; 3] = ["HELP", "TYPE", "UNIT"];

/// Turns bytes into samples.
#[derive(Debug)]
pub struct PrometheusParser {
    lines: LineCutter,
    reader: Reader,
}

#[derive(Debug)]
struct Reader {
    times: Times,
    names: NameParser,
    exemplars: u64,
    /// Nothing more of the input can be read.
    ended: bool,
}

/// A line that was skipped because of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrometheusError {
    /// Line of the input, from 1.
    pub line: u64,
    /// Byte of the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: PrometheusProblem,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PrometheusProblem {
    /// The line is longer than `limit_bytes`; it was skipped up to its newline.
    LineTooLong {
        /// The most bytes a line may have.
        limit_bytes: usize,
    },
    /// The input is UTF-16: nothing of it is read.
    Utf16,
    /// The bytes from here on are not UTF-8.
    NotUtf8,
    /// Not the name of a series.
    Series {
        /// What stands there.
        found: String,
    },
    /// No value.
    Value {
        /// What stands there.
        found: String,
    },
    /// A number beyond the largest float.
    ValueRange {
        /// What it is.
        found: String,
    },
    /// The field of the time is none.
    Time {
        /// What it is.
        found: String,
        /// Why it is none.
        fault: TimeFault,
    },
    /// Something behind the time.
    End {
        /// What it is.
        found: String,
    },
}

impl fmt::Display for PrometheusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for PrometheusError {}

impl Refused for PrometheusError {}

impl fmt::Display for PrometheusProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong { limit_bytes } => {
                write!(f, "the line is longer than {limit_bytes} bytes and was skipped")
            }
            Self::Utf16 => f.write_str(UTF16),
            Self::NotUtf8 => f.write_str(NOT_UTF8),
            Self::Series { found } => write!(
                f,
                "expected the name of a series, as in up{{job=\"a\"}} or {{\"my metric\",job=\"a\"}}, \
                 found {found:?}"
            ),
            Self::Value { found } => write!(f, "expected a number, NaN or +Inf, found {found:?}"),
            Self::ValueRange { found } => write!(
                f,
                "expected a number that a float of 64 bits holds (to 1.8e308), found {found:?}"
            ),
            Self::Time { found, fault } => {
                write!(f, "expected {}, found {found:?}", InMilliseconds(*fault))
            }
            Self::End { found } => {
                write!(f, "expected the end of the line, or an exemplar, found {found:?}")
            }
        }
    }
}

/// Whether a text that begins so is one of Prometheus: by the first line that says anything.
#[must_use]
pub fn is_prometheus(begin: &str) -> bool {
    let begin = begin.strip_prefix('\u{feff}').unwrap_or(begin);
    let whole = begin.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    for line in whole.map(str::trim) {
        match line.strip_prefix('#').map(|said| said.trim_start()) {
            Some(said) => {
                let mut words = said.split_ascii_whitespace();
                let (first, more) = (words.next(), words.next().is_some());
                if first.is_some_and(|word| SAYS.contains(&word)) && more {
                    return true;
                }
            }
            None if line.is_empty() => {}
            None => {
                let mut names = NameParser::new();
                let times = Times::default().of_unit(1_000_000);
                return row(line, &times, &mut names).is_ok();
            }
        }
    }
    false
}

impl Default for PrometheusParser {
    fn default() -> Self {
        Self::of(Times::default())
    }
}

impl PrometheusParser {
    /// A parser at line 1 that reads integers of times so; milliseconds if that says no unit.
    #[must_use]
    pub fn of(times: Times) -> Self {
        let (names, exemplars, ended) = (NameParser::new(), 0, false);
        let reader = Reader { times: times.of_milliseconds(), names, exemplars, ended };
        PrometheusParser { lines: LineCutter::new(LINE_BYTES_MAX), reader }
    }

    /// Exemplars that were passed over.
    #[must_use]
    pub fn exemplars(&self) -> u64 {
        self.reader.exemplars
    }

    /// Takes the next bytes and hands each sample or error they complete to `item`, in the order
    /// of the lines.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut item: impl FnMut(Result<Sample<'_>, PrometheusError>),
    ) {
        let PrometheusParser { lines, reader } = self;
        lines.feed(bytes, |number, line| reader.line(number, line, &mut item));
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<Sample<'_>, PrometheusError>)) {
        let PrometheusParser { lines, reader } = self;
        lines.finish(|number, line| reader.line(number, line, &mut item));
        reader.ended = false;
    }
}

impl Reader {
    /// `None`: the line was too long.
    fn line(
        &mut self,
        line: u64,
        bytes: Option<&[u8]>,
        item: &mut impl FnMut(Result<Sample<'_>, PrometheusError>),
    ) {
        if self.ended {
            return;
        }
        let mut fail =
            |column, problem| item(Err(PrometheusError { line, column: column + 1, problem }));
        let Some(bytes) = bytes else {
            let problem = PrometheusProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX };
            return fail(LINE_BYTES_MAX, problem);
        };
        let Ok((content, mark_bytes)) = lines::content(line, bytes) else {
            self.ended = true;
            return fail(0, PrometheusProblem::Utf16);
        };
        let first = content.iter().find(|byte| !is_blank(**byte));
        if matches!(first, None | Some(b'#')) {
            return;
        }
        let text = match lines::utf8(content) {
            Ok(text) => text,
            Err(Unreadable::NotUtf8 { offset }) => {
                return fail(mark_bytes + offset, PrometheusProblem::NotUtf8);
            }
            Err(Unreadable::Utf16) => return fail(0, PrometheusProblem::Utf16),
        };
        match row(text, &self.times, &mut self.names) {
            Ok(Row { series, value, time_ns, exemplar }) => {
                self.exemplars += u64::from(exemplar);
                let (value, mark) = (Scalar::Float(value), Mark::As(Type::F64));
                let series = written_name(self.names.canonical(&series));
                item(Ok(Sample { line, time_ns, series, joint: None, value, mark }));
            }
            Err((offset, problem)) => fail(mark_bytes + offset, problem),
        }
    }
}

struct Row<'a> {
    series: Cow<'a, str>,
    value: f64,
    time_ns: Option<i64>,
    exemplar: bool,
}

/// `{job="a", __name__="up"}`, as `promtool tsdb dump` prints a series, with the metric in front:
/// `{"up",job="a"}`.
fn with_metric_in_front(series: &str) -> Option<String> {
    let inner = series.strip_prefix('{')?.strip_suffix('}')?;
    let (mut quoted, mut escaped) = (false, false);
    let labels = inner.split(|letter| {
        let was_escaped = escaped;
        escaped = quoted && !was_escaped && letter == '\\';
        quoted ^= letter == '"' && !was_escaped;
        letter == ',' && !quoted
    });
    let metric_of = |label: &str| {
        let value = label.trim_start().strip_prefix("__name__")?.trim_start().strip_prefix('=')?;
        Some(value.trim().to_owned())
    };
    let (mut metric, mut others) = (None, String::new());
    for label in labels {
        match metric_of(label) {
            Some(found) if metric.is_none() => metric = Some(found),
            _ => others.extend([",", label]),
        }
    }
    Some(format!("{{{}{others}}}", metric?))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// What blanks separate from `at` on: its offset, and itself.
fn word(text: &str, at: usize) -> (usize, &str) {
    let rest = text.get(at..).unwrap_or_default();
    let word = rest.trim_start_matches([' ', '\t']);
    let start = at + rest.len() - word.len();
    (start, word.split([' ', '\t']).next().unwrap_or_default())
}

/// Where the braces end that begin at `at`, which quotes may hold too.
fn braces_end(text: &str, at: usize) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (offset, byte) in text.bytes().enumerate().skip(at + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'}' if !quoted => return Some(offset + 1),
            _ => {}
        }
    }
    None
}

/// A line that is no comment; on an error with its offset.
fn row<'a>(
    text: &'a str,
    times: &Times,
    names: &mut NameParser,
) -> Result<Row<'a>, (usize, PrometheusProblem)> {
    let start = text.len() - text.trim_start_matches([' ', '\t']).len();
    let metric_end = name_end(text, start);
    let (brace, _) = word(text, metric_end);
    let end = match text.as_bytes().get(brace) {
        Some(b'{') => braces_end(text, brace),
        _ => Some(metric_end),
    };
    let found = || quote(text.get(start..).unwrap_or_default());
    let no_series = |()| (start, PrometheusProblem::Series { found: found() });
    let end = end.filter(|end| *end > start).ok_or(()).map_err(no_series)?;
    let series = text.get(start..end).unwrap_or_default();
    let series = match metric_end == start && series.contains("__name__") {
        true => with_metric_in_front(series).map_or(Cow::Borrowed(series), Cow::Owned),
        false => Cow::Borrowed(series),
    };
    // `{}` alone is the name of nothing, and a number that of a value without its name.
    if !names.parse(&series) || number::scalar(&series).is_ok() {
        return Err(no_series(()));
    }
    let (at, found) = word(text, end);
    if at == end && !series.ends_with('}') {
        return Err((at, PrometheusProblem::Value { found: quote(&text[at..]) }));
    }
    let value = number::float(found).map_err(|fault| {
        let found = quote(found);
        (
            at,
            match fault {
                NumberFault::Float => PrometheusProblem::ValueRange { found },
                _ => PrometheusProblem::Value { found },
            },
        )
    })?;
    let (mut at, mut found) = word(text, at + found.len());
    let mut time_ns = None;
    if !found.is_empty() && !found.starts_with('#') {
        let bad = |fault| (at, PrometheusProblem::Time { found: quote(found), fault });
        // A date is none of this form.
        let numeric =
            found.parse::<f64>().is_ok() && found.bytes().any(|byte| byte.is_ascii_digit());
        let read = if numeric { times.read(found) } else { Err(TimeFault::Form) };
        time_ns = Some(read.map_err(bad)?);
        (at, found) = word(text, at + found.len());
    }
    if found.is_empty() {
        return Ok(Row { series, value, time_ns, exemplar: false });
    }
    let end =
        |()| (at, PrometheusProblem::End { found: quote(text.get(at..).unwrap_or_default()) });
    exemplar(text, at).ok_or(()).map_err(end)?;
    Ok(Row { series, value, time_ns, exemplar: true })
}

/// Whether an exemplar stands from `at` on: `# {label="value"} number [time]`.
fn exemplar(text: &str, at: usize) -> Option<()> {
    let rest = text.get(at..)?.strip_prefix('#')?;
    let (brace, _) = word(text, text.len() - rest.len());
    let end = text.get(brace..)?.starts_with('{').then(|| braces_end(text, brace))??;
    let (at, value) = word(text, end);
    number::float(value).ok()?;
    let (at, time) = word(text, at + value.len());
    let ends = word(text, at + time.len()).1.is_empty();
    (ends && (time.is_empty() || number::float(time).is_ok())).then_some(())
}

#[cfg(test)]
mod tests;
