//! Cells of a column as values, times and labels: what can be taken exactly, and what not.
//!
//! Invariant: a value that is taken means what the file's does: a decimal is taken only where its
//! digits come back from the number of 64 bits that is kept. Held by
//! `values_of_every_type_are_exact_or_refused` (`tests/columns.rs`).

use super::Value;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type,
    Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use std::borrow::Cow;

/// Decimals below this, of at most so many places, are exact quotients of two exact numbers.
const DECIMAL_FAST_MAX: u128 = 1_000_000_000_000_000;
const PLACES_FAST_MAX: i8 = 22;

/// What a column's cells become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Float,
    Integer,
    Boolean,
    Text,
    /// All of it is null.
    Nothing,
}

impl Kind {
    pub(super) fn of(kind: &DataType) -> Option<Self> {
        use DataType as T;
        Some(match kind {
            kind if kind.is_integer() => Kind::Integer,
            kind if is_text(kind) => Kind::Text,
            T::Float16 | T::Float32 | T::Float64 => Kind::Float,
            T::Decimal128(_, 0) => Kind::Integer,
            T::Decimal128(..) => Kind::Float,
            T::Boolean => Kind::Boolean,
            T::Null => Kind::Nothing,
            _ => return None,
        })
    }
}

pub(super) fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// A type in words.
pub(super) fn type_name(kind: &DataType) -> &'static str {
    use DataType as T;
    match kind {
        T::Null => "nulls alone",
        T::Boolean => "truth values",
        T::Float16 | T::Float32 | T::Float64 => "floats",
        T::Timestamp(..) => "timestamps",
        T::Date32 | T::Date64 => "dates",
        T::Time32(_) | T::Time64(_) => "times of day",
        T::Duration(_) | T::Interval(_) => "durations",
        T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) => "decimals",
        T::Decimal256(..) => "decimals of more than 38 digits",
        T::Struct(_) => "structures",
        T::List(_) | T::LargeList(_) | T::FixedSizeList(..) => "lists",
        T::Map(..) => "maps",
        kind if kind.is_integer() => "integers",
        kind if is_text(kind) => "text",
        _ => "bytes that are not marked as text",
    }
}

/// The time in a cell, in the column's unit.
pub(super) fn time_of(array: &ArrayRef, at: usize) -> Option<i64> {
    if array.is_null(at) {
        return None;
    }
    use DataType as T;
    Some(match array.data_type() {
        T::Timestamp(TimeUnit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().value(at)
        }
        T::Timestamp(TimeUnit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().value(at)
        }
        T::Timestamp(TimeUnit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().value(at)
        }
        T::Timestamp(TimeUnit::Second, _) => array.as_primitive::<TimestampSecondType>().value(at),
        T::Date32 => array.as_primitive::<Date32Type>().value(at).into(),
        _ => match value_of(array, at) {
            Ok(Some(Value::Integer(time))) => time,
            _ => return None,
        },
    })
}

/// Nanoseconds of a time that is a number of 64 bits with a point, and finite. Where the number is a whole count of
/// nanoseconds it is that; else its shortest digits count, as they would be in text: 1700000000.1 is a tenth
/// behind the second, and no number of 64 bits is exactly that. What is finer is rounded, but of nanoseconds. The error
/// says what was expected.
pub(super) fn float_time_ns(time: f64, unit_ns: i64) -> Result<i64, &'static str> {
    const OUTSIDE: &str = "a time from 1677 to 2262";
    if let Some(time_ns) = exact_ns(time, unit_ns) {
        return i64::try_from(time_ns).map_err(|_| OUTSIDE);
    }
    if unit_ns == 1 {
        return Err("no digits below the nanosecond");
    }
    let digits = time.abs().to_string();
    let (whole, part) = digits.split_once('.').unwrap_or((&digits, "0"));
    let part: f64 = format!("0.{part}").parse().map_err(|_| OUTSIDE)?;
    // Less than a unit, which is at most a second.
    let part_ns = (part * unit_ns as f64).round() as i64;
    let whole_ns = whole.parse::<i64>().ok().and_then(|whole| whole.checked_mul(unit_ns));
    let time_ns = whole_ns.and_then(|whole_ns| whole_ns.checked_add(part_ns)).ok_or(OUTSIDE)?;
    Ok(if time < 0.0 { -time_ns } else { time_ns })
}

/// A number times a unit of at most a second, if that is whole and below 2^127.
fn exact_ns(time: f64, unit_ns: i64) -> Option<i128> {
    let bits = time.to_bits();
    let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
    let (mantissa, exponent) = match exponent {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    };
    let product = i128::from(mantissa) * i128::from(unit_ns);
    let whole = match exponent {
        _ if mantissa == 0 => 0,
        0..=40 => product << exponent,
        -120..0 if product.trailing_zeros() >= exponent.unsigned_abs() => product >> -exponent,
        _ => return None,
    };
    Some(if time < 0.0 { -whole } else { whole })
}

/// The cells of a column. What nearly all columns have is looked up once for all of them, since each row
/// would ask again for the same type.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    array: &'a ArrayRef,
    known: Known<'a>,
}

#[derive(Clone, Copy)]
enum Known<'a> {
    Floats(&'a [f64]),
    Integers(&'a [i64]),
    /// Timestamps, in the column's unit.
    Times(&'a [i64]),
    /// Of another type, or some are null.
    Nothing,
}

impl<'a> Cells<'a> {
    pub(super) fn of(array: &'a ArrayRef) -> Self {
        use DataType as T;
        let known = match array.data_type() {
            _ if array.null_count() > 0 => Known::Nothing,
            T::Float64 => Known::Floats(array.as_primitive::<Float64Type>().values()),
            T::Int64 => Known::Integers(array.as_primitive::<Int64Type>().values()),
            T::Timestamp(TimeUnit::Nanosecond, _) => {
                Known::Times(array.as_primitive::<TimestampNanosecondType>().values())
            }
            T::Timestamp(TimeUnit::Microsecond, _) => {
                Known::Times(array.as_primitive::<TimestampMicrosecondType>().values())
            }
            T::Timestamp(TimeUnit::Millisecond, _) => {
                Known::Times(array.as_primitive::<TimestampMillisecondType>().values())
            }
            _ => Known::Nothing,
        };
        Cells { array, known }
    }

    /// As [`value_of`].
    #[inline]
    pub(super) fn value(&self, at: usize) -> Result<Option<Value<'a>>, String> {
        match self.known {
            Known::Floats(values) => Ok(values.get(at).copied().map(Value::Float)),
            Known::Integers(values) => Ok(values.get(at).copied().map(Value::Integer)),
            Known::Times(_) | Known::Nothing => value_of(self.array, at),
        }
    }

    /// As [`time_of`].
    #[inline]
    pub(super) fn time(&self, at: usize) -> Option<i64> {
        match self.known {
            Known::Integers(times) | Known::Times(times) => times.get(at).copied(),
            Known::Floats(_) | Known::Nothing => time_of(self.array, at),
        }
    }

    /// The time of a column of floats; the inner `None` is a null.
    #[inline]
    pub(super) fn float_time(&self, at: usize) -> Option<Option<f64>> {
        match self.known {
            Known::Floats(times) => Some(times.get(at).copied()),
            Known::Integers(_) | Known::Times(_) => None,
            Known::Nothing => {
                let times = self.array.as_primitive_opt::<Float64Type>()?;
                Some(times.is_valid(at).then(|| times.value(at)))
            }
        }
    }
}

/// The value in a cell; `None` of a null. The error says what was found.
pub(super) fn value_of(array: &ArrayRef, at: usize) -> Result<Option<Value<'_>>, String> {
    use DataType as T;
    if array.is_null(at) {
        return Ok(None);
    }
    Ok(Some(match array.data_type() {
        T::Float64 => Value::Float(array.as_primitive::<Float64Type>().value(at)),
        T::Float32 => Value::Float(array.as_primitive::<Float32Type>().value(at).into()),
        T::Float16 => Value::Float(array.as_primitive::<Float16Type>().value(at).into()),
        T::Int64 => Value::Integer(array.as_primitive::<Int64Type>().value(at)),
        T::Int32 => Value::Integer(array.as_primitive::<Int32Type>().value(at).into()),
        T::Int16 => Value::Integer(array.as_primitive::<Int16Type>().value(at).into()),
        T::Int8 => Value::Integer(array.as_primitive::<Int8Type>().value(at).into()),
        T::UInt64 => Value::Unsigned(array.as_primitive::<UInt64Type>().value(at)),
        T::UInt32 => Value::Integer(array.as_primitive::<UInt32Type>().value(at).into()),
        T::UInt16 => Value::Integer(array.as_primitive::<UInt16Type>().value(at).into()),
        T::UInt8 => Value::Integer(array.as_primitive::<UInt8Type>().value(at).into()),
        T::Boolean => Value::Boolean(array.as_boolean().value(at)),
        T::Utf8View => Value::Text(array.as_string_view().value(at)),
        T::Decimal128(_, places) => {
            decimal(array.as_primitive::<Decimal128Type>().value(at), *places)?
        }
        _ => return Ok(None),
    }))
}

/// A cell as the value of a label; empty of a null, which is no label.
pub(super) fn label_of(array: &ArrayRef, at: usize) -> Cow<'_, str> {
    match array.data_type() {
        DataType::Decimal128(_, places) if !array.is_null(at) => {
            digits(array.as_primitive::<Decimal128Type>().value(at), *places).into()
        }
        _ => match value_of(array, at) {
            Ok(Some(Value::Text(text))) => text.into(),
            Ok(Some(Value::Float(value))) => value.to_string().into(),
            Ok(Some(Value::Integer(value))) => value.to_string().into(),
            Ok(Some(Value::Unsigned(value))) => value.to_string().into(),
            Ok(Some(Value::Boolean(value))) => value.to_string().into(),
            _ => "".into(),
        },
    }
}

fn decimal(unscaled: i128, places: i8) -> Result<Value<'static>, String> {
    if places == 0 {
        let fits = i64::try_from(unscaled).map(Value::Integer);
        return fits.map_err(|_| format!("expected an integer of 64 bits, found {unscaled}"));
    }
    if unscaled.unsigned_abs() < DECIMAL_FAST_MAX && (0..=PLACES_FAST_MAX).contains(&places) {
        return Ok(Value::Float(unscaled as f64 / 10_f64.powi(places.into())));
    }
    let text = digits(unscaled, places);
    let value = text.parse::<f64>().unwrap_or(f64::NAN);
    let back = format!("{value:.*}", usize::try_from(places).unwrap_or(0));
    if back != text {
        return Err(format!("expected digits that a float of 64 bits keeps, found {text}"));
    }
    Ok(Value::Float(value))
}

/// A decimal as text.
fn digits(unscaled: i128, places: i8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let all = unscaled.unsigned_abs().to_string();
    let Ok(places @ 1..) = usize::try_from(places) else {
        return format!("{sign}{all}{}", "0".repeat(places.unsigned_abs().into()));
    };
    let all = format!("{all:0>width$}", width = places + 1);
    let (whole, part) = all.split_at(all.len() - places);
    format!("{sign}{whole}.{part}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact_or_refused() {
        let float = |unscaled, places| decimal(unscaled, places);
        assert_eq!(float(-1_234, 2), Ok(Value::Float(-12.34)));
        assert_eq!(float(5, 3), Ok(Value::Float(0.005)));
        assert_eq!(float(7, 0), Ok(Value::Integer(7)));
        assert_eq!(float(0, 38), Ok(Value::Float(0.0)));
        assert!(float(i128::from(i64::MAX) + 1, 0).unwrap_err().contains("9223372036854775808"));
        let found = float(1_234_567_890_123_456_789, 2).unwrap_err();
        assert!(found.ends_with("found 12345678901234567.89"), "{found}");
        // Halves keep their digits, however large.
        assert_eq!(float(45_035_996_273_704_955, 1), Ok(Value::Float(4_503_599_627_370_495.5)));
        assert_eq!(
            (digits(-5, 3), digits(12, 0), digits(3, -2)),
            ("-0.005".into(), "12".into(), "300".into())
        );
    }
}
