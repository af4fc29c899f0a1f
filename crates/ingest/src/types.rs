//! The one table of types: what becomes of a value that comes in, by the type that its series is
//! declared with.
//!
//! | value | f64 | i64 | bool | text | channel | new, [`Types::Numbers`] | new, [`Types::Exact`] |
//! |---|---|---|---|---|---|---|---|
//! | float | as it is | refused | refused | refused | refused | f64 | f64 |
//! | integer | if f64 has it, else refused | as it is | refused | refused | refused | f64 | i64 |
//! | unsigned | if f64 has it, else refused | below 2^63, else refused | refused | refused | refused | f64 | i64, above refused |
//! | truth value | refused | refused | as it is | refused | refused | bool | bool |
//! | text | refused | refused | refused | to 64 KiB, else refused | refused | text | text |
//! | in quotes | what it says | what it says | what it says | to 64 KiB, else refused | refused | what it says, else text | |
//!
//! Doors differ only in the last two columns, so that difference is data, a [`Types`] in each
//! [`Row`](crate::Row): where a form cannot tell `21` from `21.0` a new series takes both, where it
//! can (`21i`, a column of Parquet) each is kept as it is, and where a type is said beside the value
//! ([`Types::As`]) a new series has that. CSV has quotes around numbers too if its writer likes: what is in
//! them is a text only if the series is one or it is no number; and where all fields of a line are in
//! quotes ([`Types::NumbersInQuotes`]) it is none unless the series is one. A cell that says that it has no
//! value ([`Value::Nothing`], [`Value::QuotedNothing`]) declares no series and is no sample, but for one in
//! quotes of a series of texts.
//!
//! A sample of f64, i64 or bool is one word of 64 bits in a record, and only the series' declaration
//! says how to read it; the recorder takes any. So a `Word` is made here and nowhere else, from
//! a value and the type that it is read as.
//!
//! An integer goes into a series of f64 only if it is the same number there, or is how that number is
//! written: 2^53 + 1 is neither. 189711445343616540 is not an f64 either, but what is written for the one
//! next to it; as bits ([`Value::Exact`], for which the rows of integers hold else) it is refused.
//!
//! Invariant: each value has one answer for each type, and none is changed. Held by
//! `tests::each_value_and_each_type_have_one_answer`.

use crate::value::Value;
use baro_ondisk::Type;
use baro_ondisk::limits::TEXT_BYTES_MAX;
use baro_sources::Mark;
use std::fmt;

/// What numbers make of a series that is new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    /// f64, whether they are written with a point or not: 21 and 21.5 are values of one series.
    Numbers,
    /// The same, and what is in quotes is no text: all fields of its line are.
    NumbersInQuotes,
    /// Integers i64, others f64.
    Exact,
    /// What is said beside the value.
    As(Type),
}

impl From<Mark> for Types {
    fn from(mark: Mark) -> Self {
        match mark {
            Mark::None => Types::Numbers,
            Mark::AllQuoted => Types::NumbersInQuotes,
            Mark::As(kind) => Types::As(kind),
        }
    }
}

impl Types {
    /// The type with which a new series is declared whose first value this is.
    #[must_use]
    pub fn declares(self, value: Value<'_>) -> Type {
        match (value, self) {
            (_, Types::As(kind)) => kind,
            (Value::Float(_), _) => Type::F64,
            (Value::Integer(_) | Value::Unsigned(_) | Value::Exact(_), Types::Exact) => Type::I64,
            (Value::Integer(_) | Value::Unsigned(_) | Value::Exact(_), _) => Type::F64,
            (Value::Boolean(_), _) => Type::Bool,
            (Value::Text(_) | Value::QuotedNothing(_), _) => Type::Text,
            // Nobody declares a series for it.
            (Value::Nothing, _) => Type::F64,
            (Value::Quoted(_) | Value::QuotedComma(_), _) => match value.unquoted() {
                Some(Ok(value)) => self.declares((&value).into()),
                // It is refused then.
                _ if self == Types::NumbersInQuotes => Type::F64,
                _ => Type::Text,
            },
        }
    }
}

/// The 64 bits of a sample of f64, i64 or bool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(i64);

impl Word {
    pub(crate) fn bits(self) -> i64 {
        self.0
    }

    /// A word from its bits.
    pub(crate) fn again(bits: i64) -> Self {
        Word(bits)
    }
}

/// A value as its series takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit<'a> {
    Word(Word),
    Text(&'a str),
}

/// A value that its series does not take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Misfit<'a> {
    /// Type of the series.
    pub kind: Type,
    /// The value.
    pub value: Value<'a>,
}

/// Whether it is an integer that i64 does not have.
fn is_beyond_i64(value: Value<'_>) -> bool {
    match value {
        Value::Unsigned(value) => i64::try_from(value).is_err(),
        Value::Exact(value) => i64::try_from(value).is_err(),
        _ => false,
    }
}

impl fmt::Display for Misfit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.name();
        match (self.kind, self.value) {
            (Type::Text, Value::Text(text) | Value::Quoted(text) | Value::QuotedComma(text)) => {
                let bytes = text.len();
                write!(f, "expected a text of at most {TEXT_BYTES_MAX} bytes, found {bytes} bytes")
            }
            (Type::F64, Value::Integer(_) | Value::Unsigned(_) | Value::Exact(_)) => {
                write!(
                    f,
                    "expected f64, found {}, which it does not have (it has each integer up to 2^53); ",
                    self.value
                )?;
                f.write_str(match is_beyond_i64(self.value) {
                    true => "no series has each integer from 2^63 on: write a point",
                    false => "make its series one of i64, or write a point",
                })
            }
            (Type::I64, value) if is_beyond_i64(value) => write!(
                f,
                "expected i64, found {value}, which is beyond it (no series has each integer from 2^63 on; \
                 one of f64 takes it with a point, to 53 bits)"
            ),
            (_, value) => write!(f, "expected {kind}, found {value}"),
        }
    }
}

/// Whether an f64 is this integer, or, of one that was written as a decimal, is written so.
fn has_f64(integer: i128, was_written: bool) -> bool {
    let nearest = integer as f64;
    // What is up to 2^64 is exact in i128, whatever the nearest f64 of it is.
    nearest as i128 == integer || (was_written && nearest.to_string() == integer.to_string())
}

/// What a series of the type `kind` makes of a value; see the table above.
#[inline]
pub(crate) fn fit(kind: Type, value: Value<'_>) -> Result<Fit<'_>, Misfit<'_>> {
    match (kind, value) {
        // What nearly all are.
        (Type::F64, Value::Float(value)) => Ok(Fit::Word(Word(value.to_bits().cast_signed()))),
        _ => fit_other(kind, value),
    }
}

fn fit_other(kind: Type, value: Value<'_>) -> Result<Fit<'_>, Misfit<'_>> {
    let integer = match value {
        Value::Integer(value) => Some(i128::from(value)),
        Value::Unsigned(value) => Some(i128::from(value)),
        Value::Exact(value) => Some(value),
        _ => None,
    };
    let was_written = !matches!(value, Value::Exact(_));
    if kind == Type::F64 && integer.is_some_and(|integer| !has_f64(integer, was_written)) {
        return Err(Misfit { kind, value });
    }
    Ok(Fit::Word(Word(match (kind, value) {
        (Type::F64, Value::Integer(value)) => (value as f64).to_bits().cast_signed(),
        (Type::F64, Value::Unsigned(value)) => (value as f64).to_bits().cast_signed(),
        (Type::F64, Value::Exact(value)) => (value as f64).to_bits().cast_signed(),
        (Type::I64, Value::Integer(value)) => value,
        (Type::I64, Value::Exact(value)) if i64::try_from(value).is_ok() => value as i64,
        (Type::I64, Value::Unsigned(value)) if i64::try_from(value).is_ok() => value as i64,
        (Type::Bool, Value::Boolean(value)) => i64::from(value),
        (
            Type::Text,
            Value::Text(text)
            | Value::Quoted(text)
            | Value::QuotedComma(text)
            | Value::QuotedNothing(text),
        ) if text.len() <= TEXT_BYTES_MAX => return Ok(Fit::Text(text)),
        (Type::F64 | Type::I64 | Type::Bool, Value::Quoted(_) | Value::QuotedComma(_)) => {
            let misfit = Misfit { kind, value };
            let Some(Ok(said)) = value.unquoted() else { return Err(misfit) };
            let Ok(Fit::Word(word)) = fit(kind, (&said).into()) else { return Err(misfit) };
            return Ok(Fit::Word(word));
        }
        (kind, value) => return Err(Misfit { kind, value }),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each type makes of a value: bits, text or refusal; and what a new series becomes.
    fn row(value: Value<'_>) -> String {
        let types = [Type::F64, Type::I64, Type::Bool, Type::Text, Type::Channel];
        let answers = types.map(|kind| match fit(kind, value) {
            Ok(Fit::Word(word)) if kind == Type::F64 => {
                format!("{:?}", f64::from_bits(word.bits().cast_unsigned()))
            }
            Ok(Fit::Word(word)) => word.bits().to_string(),
            Ok(Fit::Text(text)) => format!("{} bytes", text.len()),
            Err(misfit) => misfit.to_string(),
        });
        let new = [Types::Numbers, Types::Exact].map(|types| types.declares(value).name());
        format!("{} | {}", answers.join(" | "), new.join(" | "))
    }

    fn refused(kinds: &str, found: &str) -> String {
        let said = kinds.split(' ').map(|kind| format!("expected {kind}, found {found}"));
        said.collect::<Vec<_>>().join(" | ")
    }

    #[test]
    fn what_is_in_quotes_has_one_answer_for_each_type() {
        for (value, expected) in [
            (
                Value::Quoted("12"),
                format!(
                    "12.0 | 12 | {} | 2 bytes | {} | f64 | i64",
                    refused("bool", "\"12\""),
                    refused("channel", "\"12\"")
                ),
            ),
            (
                Value::QuotedComma("1,5"),
                format!(
                    "1.5 | {} | 3 bytes | {} | f64 | f64",
                    refused("i64 bool", "\"1,5\""),
                    refused("channel", "\"1,5\"")
                ),
            ),
            (
                Value::QuotedComma("1.5"),
                format!(
                    "{} | 3 bytes | {} | text | text",
                    refused("f64 i64 bool", "\"1.5\""),
                    refused("channel", "\"1.5\"")
                ),
            ),
            (
                Value::QuotedNothing("NA"),
                format!(
                    "{} | 2 bytes | {} | text | text",
                    refused("f64 i64 bool", "\"NA\""),
                    refused("channel", "\"NA\"")
                ),
            ),
            (
                Value::Quoted("on"),
                format!(
                    "{} | 2 bytes | {} | text | text",
                    refused("f64 i64 bool", "\"on\""),
                    refused("channel", "\"on\"")
                ),
            ),
        ] {
            assert_eq!(row(value), expected);
        }
    }

    #[test]
    fn each_value_and_each_type_have_one_answer() {
        let long = "x".repeat(TEXT_BYTES_MAX + 1);
        let no_f64 = |found: &str| {
            format!(
                "expected f64, found {found}, which it does not have (it has each integer up to 2^53); \
                 make its series one of i64, or write a point"
            )
        };
        let others = "bool text channel";
        for (value, expected) in [
            (
                Value::Float(-0.0),
                format!("-0.0 | {} | f64 | f64", refused("i64 bool text channel", "-0.0")),
            ),
            (
                Value::Float(f64::NAN),
                format!("NaN | {} | f64 | f64", refused("i64 bool text channel", "NaN")),
            ),
            (
                Value::Integer((1 << 53) + 1),
                format!(
                    "{} | 9007199254740993 | {} | f64 | i64",
                    no_f64("9007199254740993"),
                    refused(others, "9007199254740993")
                ),
            ),
            (
                Value::Unsigned(i64::MAX as u64),
                format!(
                    "{} | {} | {} | f64 | i64",
                    no_f64("9223372036854775807"),
                    i64::MAX,
                    refused(others, "9223372036854775807")
                ),
            ),
            (
                Value::Unsigned(1 << 63),
                format!(
                    "9.223372036854776e18 | expected i64, found 9223372036854775808, which is beyond it (no \
                     series has each integer from 2^63 on; one of f64 takes it with a point, to 53 bits) | {} \
                     | f64 | i64",
                    refused(others, "9223372036854775808")
                ),
            ),
            (
                Value::Boolean(true),
                format!(
                    "{} | 1 | {} | bool | bool",
                    refused("f64 i64", "true"),
                    refused("text channel", "true")
                ),
            ),
            (
                Value::Text("a \"b\""),
                format!(
                    "{} | 5 bytes | {} | text | text",
                    refused("f64 i64 bool", r#""a \"b\"""#),
                    refused("channel", r#""a \"b\"""#)
                ),
            ),
            (
                Value::Text(&long),
                format!(
                    "{} | expected a text of at most 65536 bytes, found 65537 bytes | {} | text | \
                     text",
                    refused("f64 i64 bool", &format!("{:?}", "x".repeat(40))),
                    refused("channel", &format!("{:?}", "x".repeat(40)))
                ),
            ),
        ] {
            assert_eq!(row(value), expected);
        }
    }

    #[test]
    fn an_integer_that_f64_does_not_have_is_refused() {
        let exact = 1_i64 << 53;
        for (value, fits) in [
            (Value::Integer(exact), true),
            (Value::Integer(exact + 1), false),
            (Value::Integer(-exact - 1), false),
            (Value::Integer(exact + 2), true),
            (Value::Integer(i64::MIN), true),
            (Value::Integer(-189_711_445_343_616_540), true),
            (Value::Integer(-189_711_445_343_616_541), false),
            (Value::Integer(i64::MAX), false),
            (Value::Unsigned(u64::MAX), false),
            (Value::Unsigned(1 << 63), true),
            (Value::Float(0.1), true),
            // Nobody has written this one: it is not what is next to it.
            (Value::Exact(-189_711_445_343_616_540), false),
            (Value::Exact(i128::from(exact) + 2), true),
            (Value::Exact(1 << 63), true),
        ] {
            assert_eq!(fit(Type::F64, value).is_ok(), fits, "{value}");
        }
        assert!(fit(Type::I64, Value::Integer(exact + 1)).is_ok());
        assert!(fit(Type::I64, Value::Exact(-189_711_445_343_616_540)).is_ok());
        assert!(fit(Type::I64, Value::Exact(1 << 63)).is_err());
    }

    #[test]
    fn what_is_said_beside_a_value_decides_for_a_new_series() {
        for kind in [Type::F64, Type::I64, Type::Bool, Type::Text] {
            assert_eq!(Types::As(kind).declares(Value::Integer(1)), kind);
        }
        let quoted = Types::NumbersInQuotes;
        assert_eq!(quoted.declares(Value::Quoted("n/a")), Type::F64);
        assert!(fit(Type::F64, Value::Quoted("n/a")).is_err());
        assert_eq!(quoted.declares(Value::Quoted("5")), Type::F64);
        assert_eq!(quoted.declares(Value::Quoted("true")), Type::Bool);
    }
}
