//! What is said about an input of text beside the input: the unit and the zone of its times, the sign
//! before its decimals, and what its columns are.
//!
//! A form that says such things itself needs none of them; where it does not and two readings are
//! possible, the parsers refuse and name what would decide.

use crate::time::Times;

/// What is said of an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextForm {
    /// How times are read.
    pub times: Times,
    /// Numbers have a comma where others have a point; of CSV.
    pub decimal_comma: bool,
    /// Columns by their names in the header, and what they are; of CSV.
    pub columns: Vec<(String, Role)>,
}

/// What a column of CSV is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The time.
    Time,
    /// The name of the series.
    Series,
    /// The value.
    Value,
    /// A label of the series, by the name of the column.
    Label,
    /// Nothing.
    Skip,
    /// Values of the series that bears its name, of this kind.
    Values(Option<Kind>),
}

/// A type as texts name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit floating point.
    F64,
    /// 64-bit signed integer.
    I64,
    /// 64-bit integer without a sign, which becomes an i64 if that can be.
    U64,
    /// Truth value.
    Bool,
    /// Text.
    Text,
}

impl Kind {
    /// The kind that is called so.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "f64" => Kind::F64,
            "i64" => Kind::I64,
            "u64" => Kind::U64,
            "bool" => Kind::Bool,
            "text" => Kind::Text,
            _ => return None,
        })
    }

    /// What a value of it is, for messages.
    pub(crate) fn expected(self) -> &'static str {
        match self {
            Kind::F64 => "a number, since f64 is said",
            Kind::I64 => "an integer of 64 bits, since i64 is said",
            Kind::U64 => "an integer from 0 on, since u64 is said",
            Kind::Bool => "true or false, since bool is said",
            Kind::Text => "a text, since text is said",
        }
    }

    /// The type of a series that is declared for it.
    #[must_use]
    pub fn declares(self) -> baro_ondisk::Type {
        match self {
            Kind::F64 => baro_ondisk::Type::F64,
            Kind::I64 | Kind::U64 => baro_ondisk::Type::I64,
            Kind::Bool => baro_ondisk::Type::Bool,
            Kind::Text => baro_ondisk::Type::Text,
        }
    }
}

impl Role {
    /// The role that is called so.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name {
            "time" => Role::Time,
            "series" => Role::Series,
            "value" => Role::Value,
            "label" => Role::Label,
            "skip" => Role::Skip,
            "values" => Role::Values(None),
            kind => Role::Values(Some(Kind::of_name(kind)?)),
        })
    }
}
