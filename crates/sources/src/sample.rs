//! What lines of text come to, whatever their form.

use std::borrow::Cow;

/// A value as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scalar {
    /// With a point or an exponent, or `nan` or `inf`.
    Float(f64),
    /// Digits only, with or without a sign.
    Integer(i64),
    /// `true` or `false`.
    Boolean(bool),
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
    pub value: Scalar,
}
