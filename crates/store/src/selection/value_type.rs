//! The type of a column's values. There is one more than series have: fields of frames may be `u64`.

use crate::Values;
use baro_ondisk::Type;

/// Type of the values of a [`Column`](crate::Column).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ValueType {
    /// 64-bit floating point.
    F64,
    /// 64-bit signed integer.
    I64,
    /// 64-bit unsigned integer; of fields of frames alone.
    U64,
    /// `true` or `false`.
    Bool,
    /// UTF-8 text.
    Text,
}

impl ValueType {
    /// Of a series of this type; `None` of a channel, whose frames are bytes.
    #[must_use]
    pub fn of(declared: Type) -> Option<Self> {
        match declared {
            Type::F64 => Some(ValueType::F64),
            Type::I64 => Some(ValueType::I64),
            Type::Bool => Some(ValueType::Bool),
            Type::Text => Some(ValueType::Text),
            Type::Channel => None,
        }
    }

    /// Of values that a query hands out.
    #[must_use]
    pub fn of_values(values: &Values<'_>) -> Self {
        match values {
            Values::F64(_) => ValueType::F64,
            Values::I64(_) => ValueType::I64,
            Values::U64(_) => ValueType::U64,
            Values::Bool(_) => ValueType::Bool,
            Values::Text(_) => ValueType::Text,
        }
    }

    /// The name used in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ValueType::F64 => "f64",
            ValueType::I64 => "i64",
            ValueType::U64 => "u64",
            ValueType::Bool => "bool",
            ValueType::Text => "text",
        }
    }
}
