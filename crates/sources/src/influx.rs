//! Lines of the Influx line protocol, from bytes that come in any pieces.
//!
//! `weather,site=a temp=21.5,raining=f 1700000000000000000`: measurement, tags, fields, time. Each
//! field is a sample of the series `measurement_field{tag="value"}`, with the tags in the order of
//! their keys: `weather_temp{site="a"}` and `weather_raining{site="a"}`. The underscore is what
//! exporters to Prometheus write, and a dot would mean the field of a channel here.
//!
//! Values: `21.5` is f64, `3i` i64, `3u` an unsigned integer, `t`, `true`, `f`, `false` and their
//! forms with capitals are truth values, text is in quotes. Time: an integer in the unit the parser
//! is made with, or none, which means now. Blank lines and those that start with `#` are skipped. A
//! line is taken whole or is one error. Text may hold no line break: what Influx would take as one
//! value over two lines is two errors here.
//!
//! Nothing is copied but names, which are put together in one buffer, and text with escapes.
//! Invariant: any bytes, cut anywhere, give the same items as fed at once, and memory stays below
//! [`LINE_BYTES_MAX`]. Held by `tests::any_cutting_gives_the_same_items` and the fuzz target
//! `influx`.

mod error;
mod line;

use crate::lines::LineCutter;
use line::Fields;
use std::borrow::Cow;

pub use error::{InfluxError, InfluxProblem};

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
    /// The value.
    pub value: InfluxValue<'a>,
}

/// Turns bytes into samples.
#[derive(Debug)]
pub struct InfluxParser {
    lines: LineCutter,
    fields: Fields,
    /// Nanoseconds of one unit of time.
    unit_ns: i64,
}

impl InfluxParser {
    /// A parser at line 1; times are counted in units of `unit_ns` nanoseconds.
    #[must_use]
    pub fn new(unit_ns: i64) -> Self {
        let lines = LineCutter::new(LINE_BYTES_MAX);
        InfluxParser { lines, fields: Fields::default(), unit_ns }
    }

    /// Takes the next bytes and hands each sample or error they complete to `item`, in the order
    /// of the lines.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut item: impl FnMut(Result<InfluxSample<'_>, InfluxError>),
    ) {
        let InfluxParser { lines, fields, unit_ns } = self;
        lines.feed(bytes, |number, line| one(fields, *unit_ns, number, line, &mut item));
    }

    /// Ends the input: a last line without newline counts. The parser starts anew at line 1.
    pub fn finish(&mut self, mut item: impl FnMut(Result<InfluxSample<'_>, InfluxError>)) {
        let InfluxParser { lines, fields, unit_ns } = self;
        lines.finish(|number, line| one(fields, *unit_ns, number, line, &mut item));
    }
}

/// Hands on the items of a line; `None`: it was too long.
fn one(
    fields: &mut Fields,
    unit_ns: i64,
    line: u64,
    bytes: Option<&[u8]>,
    item: &mut impl FnMut(Result<InfluxSample<'_>, InfluxError>),
) {
    let fault = |column, problem| Err(InfluxError { line, column, problem });
    let Some(bytes) = bytes else {
        let problem = InfluxProblem::LineTooLong { limit_bytes: LINE_BYTES_MAX };
        return item(fault(LINE_BYTES_MAX + 1, problem));
    };
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    let first = bytes.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    if matches!(first, None | Some(b'#')) {
        return;
    }
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => return item(fault(error.valid_up_to() + 1, InfluxProblem::NotUtf8)),
    };
    match fields.read(text, unit_ns) {
        Ok(time_ns) => fields.each(text, |series, value| {
            item(Ok(InfluxSample { line, time_ns, series, value }));
        }),
        Err((offset, problem)) => item(fault(offset + 1, problem)),
    }
}

#[cfg(test)]
mod tests;
