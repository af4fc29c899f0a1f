//! Datagrams that carry lines: each is an input of its own, and each of its lines is JSON if it
//! starts with a brace, else CSV, where a text in quotes may go on over several lines. Nothing is kept from one datagram to the next, so garbage costs
//! only the datagram that it came in.
//!
//! Invariant: no datagram gives more items than it has lines and values, and none is silent: what
//! gives no sample is an error, but for blank lines and comments. Held by the tests below and the
//! fuzz target `udp`.

use crate::csv::{self, CsvError};
use crate::form::TextForm;
use crate::json::{self, JsonError};
use crate::records::{Attempt, Records, Verdict};
use crate::sample::Sample;
use std::fmt;

/// Why a line of a datagram was not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum DatagramError {
    /// It starts as JSON.
    Json(JsonError),
    /// It starts otherwise.
    Csv(CsvError),
    /// The datagram has no bytes.
    Empty,
}

impl fmt::Display for DatagramError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(error) => error.fmt(formatter),
            Self::Csv(error) => error.fmt(formatter),
            Self::Empty => formatter.write_str("expected lines, found no bytes"),
        }
    }
}

impl std::error::Error for DatagramError {}

/// Hands each sample and each error of a datagram to `item`, in the order of its lines.
pub fn read(bytes: &[u8], item: impl FnMut(Result<Sample<'_>, DatagramError>)) {
    read_as(bytes, &TextForm::default(), item);
}

/// The same of datagrams of which something is said.
pub fn read_as(
    bytes: &[u8],
    form: &TextForm,
    mut item: impl FnMut(Result<Sample<'_>, DatagramError>),
) {
    if bytes.is_empty() {
        return item(Err(DatagramError::Empty));
    }
    let mut records = Records::new(json::LINE_BYTES_MAX, csv::closes);
    let mut rows = csv::Reader::of(form.clone());
    let mut objects = json::Reader::of(form.clone());
    let mut record = |number: u64, line: Option<&[u8]>, attempt: Attempt| {
        let is_object = |line: &[u8]| {
            let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            line.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{')
        };
        if attempt == Attempt::Behind {
            let is_row = line.is_some_and(|line| is_object(line) || rows.is_row(line));
            return if is_row { Verdict::Done } else { Verdict::Open };
        }
        if line.is_some_and(is_object) && attempt != Attempt::Joined {
            objects.line(number, line, &mut |found| item(found.map_err(DatagramError::Json)));
            return Verdict::Done;
        }
        let line = line.filter(|line| line.len() <= csv::LINE_BYTES_MAX);
        rows.line(number, line, attempt, &mut |found| item(found.map_err(DatagramError::Csv)))
    };
    records.feed(bytes, &mut record);
    records.finish(&mut record);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_kinds_are_read_and_garbage_is_named() {
        let mut found = Vec::new();
        let mut take = |bytes: &[u8]| {
            read(bytes, |item| {
                found.push(match item {
                    Ok(sample) => format!("{} {} {:?}", sample.line, sample.series, sample.value),
                    Err(error) => error.to_string(),
                });
            });
        };
        take(b"{\"a\":1,\"b\":true}\n5,c,2.5\n# note\n");
        take(b"\x00\x01garbage\xff");
        take(b"{\"a\":");
        take(b"");
        // A text that reads like a row, as another may have written it.
        take(b"7,log,\"x\n8,c,666\ny\"\n9,c,3\n{\"a\":4}");
        assert_eq!(found[..3], ["1 a Integer(1)", "1 b Boolean(true)", "2 c Float(2.5)"]);
        assert!(found[3].contains("expected UTF-8"), "{found:?}");
        assert!(found[4].contains("expected one JSON object"), "{found:?}");
        assert_eq!(found[5], "expected lines, found no bytes");
        assert_eq!(found[6], "1 log Quoted(\"x\\n8,c,666\\ny\")");
        assert_eq!(found[7..], ["4 c Integer(3)", "5 a Integer(4)"]);
    }
}
