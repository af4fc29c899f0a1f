//! A value as it came in. Whatever the form it was written in, it is one of these before anything is
//! decided about it.

use baro_sources::Scalar;
use baro_sources::influx::InfluxValue;

/// A value as it was written, whatever its series is declared as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Floating point.
    Float(f64),
    /// Integer.
    Integer(i64),
    /// Integer that is said to have no sign.
    Unsigned(u64),
    /// Truth value.
    Boolean(bool),
    /// Text.
    Text(&'a str),
}

impl From<Scalar> for Value<'_> {
    fn from(value: Scalar) -> Self {
        match value {
            Scalar::Float(value) => Value::Float(value),
            Scalar::Integer(value) => Value::Integer(value),
            Scalar::Boolean(value) => Value::Boolean(value),
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
