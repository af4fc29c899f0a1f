//! What lines of text come to, whatever their form.

use baro_ondisk::Type;
use std::borrow::Cow;

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

/// One understood value.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample<'a> {
    /// Line of the input, from 1. Samples of one line and without a time were taken together.
    pub line: u64,
    /// Nanoseconds since the Unix epoch; `None` means now.
    pub time_ns: Option<i64>,
    /// Name of the series; never empty. Copied only if it was not written as it is.
    pub series: Cow<'a, str>,
    /// The value.
    pub value: Scalar<'a>,
    /// What its type is said to be.
    pub mark: Mark,
}
