//! A value as it came in. Whatever the form it was written in, it is one of these before anything is
//! decided about it.

use baro_ondisk::Type;
use baro_sources::Scalar;
use baro_sources::influx::InfluxValue;
use baro_sources::number::{self, NumberFault};
use std::fmt;

/// How much of a text an error quotes.
const FOUND_CHARS_MAX: usize = 40;

/// A value as it was written, whatever its series is declared as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Floating point.
    Float(f64),
    /// Integer.
    Integer(i64),
    /// Integer that is said to have no sign.
    Unsigned(u64),
    /// Integer that came as its bits and not as a decimal: an f64 has to be the same number.
    Exact(i128),
    /// Truth value.
    Boolean(bool),
    /// Text.
    Text(&'a str),
    /// In quotes in a form that puts them around numbers too: a text if the series is of texts, else
    /// what the text says.
    Quoted(&'a str),
    /// The same where a comma stands for the point of a number.
    QuotedComma(&'a str),
    /// No value, in a word that says so.
    Nothing,
    /// The same in quotes, in a form that puts them around everything: a text if the series is of texts, else no
    /// value.
    QuotedNothing(&'a str),
}

impl Value<'_> {
    /// What a text in quotes says if it is no text; `None` of all else.
    pub(crate) fn unquoted(self) -> Option<Result<Scalar<'static>, NumberFault>> {
        match self {
            Value::Quoted(text) => Some(number::scalar(text)),
            // A point separates thousands there, if anything.
            Value::QuotedComma(text) if text.contains('.') => Some(Err(NumberFault::Form)),
            Value::QuotedComma(text) => Some(number::scalar(&text.replace(',', "."))),
            _ => None,
        }
    }

    /// Whether this is no value in a series of the type `kind`, or in one of which none is known.
    pub(crate) fn is_nothing(self, kind: Option<Type>) -> bool {
        match self {
            Value::Nothing => true,
            Value::QuotedNothing(_) => kind != Some(Type::Text),
            _ => false,
        }
    }
}

impl<'a> From<&'a Scalar<'_>> for Value<'a> {
    fn from(value: &'a Scalar<'_>) -> Self {
        match value {
            Scalar::Float(value) => Value::Float(*value),
            Scalar::Integer(value) => Value::Integer(*value),
            Scalar::Unsigned(value) => Value::Unsigned(*value),
            Scalar::Boolean(value) => Value::Boolean(*value),
            Scalar::Text(text) => Value::Text(text),
            Scalar::Quoted(text) => Value::Quoted(text),
            Scalar::QuotedComma(text) => Value::QuotedComma(text),
            Scalar::Nothing => Value::Nothing,
            Scalar::QuotedNothing(text) => Value::QuotedNothing(text),
        }
    }
}

impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // With a point, so that it does not look like an integer.
            Value::Float(value) => write!(f, "{value:?}"),
            Value::Integer(value) => value.fmt(f),
            Value::Unsigned(value) => value.fmt(f),
            Value::Exact(value) => value.fmt(f),
            Value::Boolean(value) => value.fmt(f),
            Value::Nothing => f.write_str("no value"),
            Value::Text(text)
            | Value::Quoted(text)
            | Value::QuotedComma(text)
            | Value::QuotedNothing(text) => {
                let found: String = text.chars().take(FOUND_CHARS_MAX).collect();
                write!(f, "{found:?}")
            }
        }
    }
}

impl<'a> From<&'a InfluxValue<'_>> for Value<'a> {
    fn from(value: &'a InfluxValue<'_>) -> Self {
        match value {
            InfluxValue::Float(value) => Value::Float(*value),
            InfluxValue::Integer(value) => Value::Integer(*value),
            InfluxValue::Unsigned(value) => Value::Unsigned(*value),
            InfluxValue::Boolean(value) => Value::Boolean(*value),
            InfluxValue::Text(text) => Value::Text(text),
        }
    }
}
