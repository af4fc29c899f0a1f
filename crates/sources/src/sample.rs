//! What lines of text come to, whatever their form.

use baro_ondisk::Type;
use std::borrow::Cow;
use std::fmt::Display;

/// A value as it was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar<'a> {
    /// With a point or an exponent, or `nan` or `inf`.
    Float(f64),
    /// Digits only, with or without a sign.
    Integer(i64),
    /// Digits only, and said to have no sign.
    Unsigned(u64),
    /// `true` or `false`.
    Boolean(bool),
    /// A text, and nothing else.
    Text(Cow<'a, str>),
    /// In quotes in a form that puts quotes around numbers too: a text if the series is one.
    Quoted(Cow<'a, str>),
    /// The same where a comma stands for the point: a number with that, and none with a point, if the series is
    /// none of texts.
    QuotedComma(Cow<'a, str>),
    /// No value, in a word that says so and without quotes: `NA`, `NULL`.
    Nothing,
    /// The same word in quotes, or nothing in them, in a line with quotes around everything: a text if the
    /// series is one of texts, else no value.
    QuotedNothing(Cow<'a, str>),
}

/// What is said of a value's type beside the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// Nothing: a series that is new takes numbers with and without a point.
    #[default]
    None,
    /// Nothing, and every field of its line is in quotes, so that quotes do not make a text.
    AllQuoted,
    /// A series that is new has this type.
    As(Type),
}

/// Where the name of a metric was put together, in a form that has two for it: `m` with `a_b`, and `m_a`
/// with `b`, are the metric `m_a_b` both. Who takes samples of such a form can tell one from the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Joint {
    /// Bytes of the metric that the first name has; more than it has: that is all of it.
    pub first_bytes: u32,
    /// A tag has the first name once more, as Prometheus writes to InfluxDB. It is no label.
    pub repeated: bool,
}

impl Joint {
    /// The metric is one name.
    pub const WHOLE: Joint = Joint { first_bytes: u32::MAX, repeated: false };

    /// Behind so many bytes.
    #[must_use]
    pub fn behind(first_bytes: usize) -> Self {
        Joint { first_bytes: u32::try_from(first_bytes).unwrap_or(u32::MAX), repeated: false }
    }
}

/// One understood value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// Line of the input, from 1. Samples of one line and without a time were taken together.
    pub line: u64,
    /// Nanoseconds since the Unix epoch; `None` means now.
    pub time_ns: Option<i64>,
    /// Name of the series; never empty. Copied only if it was not written as it is.
    pub series: Cow<'a, str>,
    /// Where it was put together, if the form has two names for it.
    pub joint: Option<Joint>,
    /// The value.
    pub value: Scalar<'a>,
    /// What its type is said to be.
    pub mark: Mark,
}

/// Why something of an input was not taken.
pub trait Refused: Display {
    /// How many of its lines that concerns.
    fn lines(&self) -> u64 {
        1
    }
}
