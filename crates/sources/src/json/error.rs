//! What can be wrong with a line of JSON. A line is refused on its own and the reading goes on.
//!
//! Invariant: an error quotes little of the input. Held by `super::tests::errors_quote_little`.

use crate::csv::what_is;
use crate::form::Kind;
use crate::lines::{NOT_UTF8, UTF16};
use crate::milliseconds::InMilliseconds;
use crate::sample::Refused;
use crate::time::TimeFault;
use std::fmt;

/// A line that was skipped because of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// Line of the input, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub problem: JsonProblem,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonProblem {
    /// The line is longer than `limit_bytes`; it was skipped up to its newline.
    LineTooLong {
        /// The most bytes a line may have.
        limit_bytes: usize,
    },
    /// The input is UTF-16: nothing of it is read.
    Utf16,
    /// The line is not UTF-8.
    NotUtf8,
    /// It is no JSON object.
    Syntax {
        /// Byte of the line, from 1.
        column: usize,
        /// What was expected or found there.
        reason: String,
    },
    /// A key stands there twice (`time` and `time_ns` are one).
    Twice {
        /// The key.
        key: String,
    },
    /// Two keys that may be the time.
    Times {
        /// One.
        a: String,
        /// The other.
        b: String,
    },
    /// A metric of Telegraf that is none.
    Telegraf {
        /// What of it.
        found: String,
    },
    /// The time is none.
    Time {
        /// What it is.
        found: String,
        /// Why it is none.
        fault: TimeFault,
    },
    /// Metric, values and timestamps that do not go together.
    Metric {
        /// What does not.
        found: String,
    },
    /// The time of a value of such a metric is none.
    MetricTime {
        /// What it is.
        found: String,
        /// Why it is none.
        fault: TimeFault,
    },
    /// An array that begins here has not ended: the rest of the input is missing.
    ArrayOpen,
    /// A column that somebody has spoken of, and that no object had.
    ColumnUnseen {
        /// Its name.
        column: String,
    },
    /// Two keys that may name the series, or be its value.
    TwoOfAKind {
        /// One.
        a: String,
        /// The other.
        b: String,
    },
    /// An object that can be read in two ways: it has a value, and another key that may name the series or be
    /// one.
    TwoWays {
        /// The key of the value.
        value: String,
        /// The other key.
        key: String,
    },
    /// A key is said to be the value, and none names the series.
    NameMissing,
    /// A number under a key that hardly has values.
    Id {
        /// The key.
        key: String,
    },
    /// A label that is none.
    Label {
        /// Its key.
        key: String,
        /// What it is.
        found: String,
    },
    /// A name that no label can have.
    LabelKey {
        /// The name.
        key: String,
    },
    /// A label that the name of the series has too.
    LabelTwice {
        /// The label.
        label: String,
    },
    /// A frame of a channel, as `baro cat --format json` writes it.
    Frame,
    /// There is a name of a series and no value of it.
    ValueMissing {
        /// The key of the name.
        key: String,
    },
    /// A type that is none.
    Kind {
        /// What it is.
        found: String,
    },
    /// The series' name is no string.
    Series {
        /// What it is.
        found: String,
    },
    /// The series has no name.
    SeriesEmpty,
    /// There is no value.
    NoValues,
    /// A key beside a name and a value is said to be neither label nor nothing.
    Beside {
        /// The key.
        key: String,
    },
    /// A value is none of the kind that is said for it.
    OfKind {
        /// Its series.
        series: String,
        /// The kind.
        kind: Kind,
        /// What it is.
        found: String,
    },
    /// A value is no number of 64 bits, no truth value and no text.
    Value {
        /// Its series.
        series: String,
        /// What it is.
        found: String,
    },
}

impl fmt::Display for JsonError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for JsonError {}

impl Refused for JsonError {}

impl fmt::Display for JsonProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong { limit_bytes } => {
                write!(formatter, "the line is longer than {limit_bytes} bytes and was skipped")
            }
            Self::Utf16 => formatter.write_str(UTF16),
            Self::NotUtf8 => formatter.write_str(NOT_UTF8),
            Self::Syntax { column, reason } => {
                write!(formatter, "column {column}: expected one JSON object, found {reason}")
            }
            Self::Twice { key } => write!(formatter, "expected each key once, found {key:?} twice"),
            Self::Times { a, b } => {
                write!(formatter, "expected one time, found {a:?} and {b:?} (call it \"time\")")
            }
            Self::Telegraf { found } => write!(
                formatter,
                "expected a metric of Telegraf (fields, name, tags, timestamp; a tag __name__ is no \
                 label), found {found}"
            ),
            Self::Time { found, fault } => write!(formatter, "expected {fault}, found {found}"),
            Self::Metric { found } => write!(
                formatter,
                "expected metric as labels, and as many values, which are numbers, as timestamps in \
                 milliseconds, found {found}"
            ),
            Self::MetricTime { found, fault } => {
                write!(formatter, "expected {}, found {found}", InMilliseconds(*fault))
            }
            Self::ArrayOpen => formatter.write_str(
                "expected ] behind the array that begins here, found the end of the input: what came is \
                 taken, and the rest of it is missing",
            ),
            Self::ColumnUnseen { column } => write!(
                formatter,
                "--columns {column}: expected an object with that key, found none up to here, the last one"
            ),
            Self::TwoOfAKind { a, b } => write!(
                formatter,
                "expected one key of its kind, found {a:?} and {b:?} (--columns {a}=skip or --columns \
                 {b}=label says what one of them is)"
            ),
            Self::TwoWays { value, key } => write!(
                formatter,
                "expected to know what {key:?} is beside {value:?}, and no key that names the series: \
                 --columns {key}=series if it does, {key}=label if it tells series apart, {key}=skip if it \
                 says nothing, {value}=values if each key is a series"
            ),
            Self::Id { key } => formatter.write_str(&what_is(key)),
            Self::NameMissing => formatter.write_str(
                "expected a key that names the series, found none (--columns KEY=series says which it is)",
            ),
            Self::Label { key, found } => write!(
                formatter,
                "label {key:?}: expected a text that is no number and no time, since each would be a \
                 series of its own, found {found} (--columns {key}=label if it is meant so, {key}=skip if \
                 it is not needed)"
            ),
            Self::LabelKey { key } => write!(
                formatter,
                "expected a name that a label can have, found {key:?} (--columns {key}=skip passes it over)"
            ),
            Self::LabelTwice { label } => write!(
                formatter,
                "expected each label once, found {label:?} in the name of the series too"
            ),
            Self::Frame => formatter.write_str(
                "expected series and value, found a frame of a channel (frames have no place in lines \
                 of text)",
            ),
            Self::ValueMissing { key } => write!(
                formatter,
                "expected \"value\" beside {key:?}, which names the series, found none (--columns says what \
                 keys are, such as {key}=values, {key}=skip or OTHER=value)"
            ),
            Self::Kind { found } => write!(
                formatter,
                "value_type: expected f64, i64, u64, bool or text in quotes, found {found}"
            ),
            Self::Series { found } => {
                write!(formatter, "expected the name of a series in quotes, found {found}")
            }
            Self::SeriesEmpty => write!(formatter, "expected the name of a series, found nothing"),
            Self::NoValues => write!(
                formatter,
                "expected series and value, or one key for each series, found no value"
            ),
            Self::Beside { key } => write!(
                formatter,
                "expected label or skip for {key:?} beside a key that names the series and its value"
            ),
            Self::OfKind { series, kind, found } => {
                write!(formatter, "series {series:?}: expected {}, found {found}", kind.expected())
            }
            Self::Value { series, found } => write!(
                formatter,
                "series {series:?}: expected a number of 64 bits, true or false, or a text, found {found}"
            ),
        }
    }
}
