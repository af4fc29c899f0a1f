//! Field layouts: where values lie inside the frames of a channel, so that they can be read back
//! as series. `docs/format.md`, "Field layout".
//!
//! A layout is checked as a whole when it is made, from text or from bytes alike: whoever holds a
//! [`Layout`] reads any frame without further checks, and only a frame's length decides which
//! values it has.
//!
//! Invariant: fields lie apart, inside the largest frame, under different names. Held by
//! `tests::every_mistake_names_its_field`, and by the fuzz target `layout`.

mod codec;
mod error;
mod text;

pub use error::LayoutError;

use crate::bytes::array_at;
use crate::limits::{
    FIELD_NAME_BYTES_MAX, FIELD_VALUES_MAX, FIELDS_MAX, RECORD_BYTES_MAX, UNIT_NAME_BYTES_MAX,
};
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;

/// Type of a field inside a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names say it")]
pub enum FieldType {
    U8 = 1,
    U16 = 2,
    U32 = 3,
    U64 = 4,
    I8 = 5,
    I16 = 6,
    I32 = 7,
    I64 = 8,
    F32 = 9,
    F64 = 10,
    /// One byte; 0 is false, anything else true.
    Bool = 11,
}

impl FieldType {
    const ALL: [FieldType; 11] = {
        use FieldType::{Bool, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        [U8, U16, U32, U64, I8, I16, I32, I64, F32, F64, Bool]
    };

    /// The name used in text.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            FieldType::U8 => "u8",
            FieldType::U16 => "u16",
            FieldType::U32 => "u32",
            FieldType::U64 => "u64",
            FieldType::I8 => "i8",
            FieldType::I16 => "i16",
            FieldType::I32 => "i32",
            FieldType::I64 => "i64",
            FieldType::F32 => "f32",
            FieldType::F64 => "f64",
            FieldType::Bool => "bool",
        }
    }

    /// Bytes of one value.
    #[must_use]
    pub fn bytes(self) -> usize {
        match self {
            FieldType::U8 | FieldType::I8 | FieldType::Bool => 1,
            FieldType::U16 | FieldType::I16 => 2,
            FieldType::U32 | FieldType::I32 | FieldType::F32 => 4,
            FieldType::U64 | FieldType::I64 | FieldType::F64 => 8,
        }
    }

    fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One field of a layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// Type of a value.
    pub kind: FieldType,
    /// The bytes of a value stand with the highest first.
    pub big_endian: bool,
    /// Elements of an array; `None` for a single value.
    pub elements: Option<u16>,
    /// Where it starts in the frame.
    pub offset_bytes: u32,
    /// What a raw value is multiplied with.
    pub scale: f64,
    /// What is added to it then.
    pub bias: f64,
    /// Unit of the values, may be empty.
    pub unit: String,
}

// Scale and bias of a checked layout are finite.
impl Eq for Field {}

/// A value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldValue {
    /// Of f32 and f64, and of anything scaled.
    Float(f64),
    /// Of signed integers, and of unsigned ones below 64 bits.
    Integer(i64),
    /// Of u64.
    Unsigned(u64),
    /// Of bool.
    Boolean(bool),
}

impl Field {
    /// A single little-endian value as it lies in the frame, without unit.
    #[must_use]
    pub fn new(name: &str, kind: FieldType, offset_bytes: u32) -> Self {
        Field {
            name: name.to_owned(),
            kind,
            big_endian: false,
            elements: None,
            offset_bytes,
            scale: 1.0,
            bias: 0.0,
            unit: String::new(),
        }
    }

    /// Values in a frame that is long enough.
    #[must_use]
    pub fn values(&self) -> usize {
        usize::from(self.elements.unwrap_or(1))
    }

    /// First byte behind it.
    #[must_use]
    pub fn end_bytes(&self) -> u64 {
        u64::from(self.offset_bytes) + (self.values() * self.kind.bytes()) as u64
    }

    /// Whether values are integers, as far as their type and scale say.
    #[must_use]
    pub fn is_scaled(&self) -> bool {
        self.scale != 1.0 || self.bias != 0.0
    }

    /// Value `element` (0 of a single one) in `frame`; `None` if the frame ends before it or there
    /// is no such element.
    #[must_use]
    #[inline]
    pub fn read(&self, frame: &[u8], element: usize) -> Option<FieldValue> {
        if element >= self.values() {
            return None;
        }
        let at = self.offset_bytes as usize + element * self.kind.bytes();
        macro_rules! number {
            ($kind:ty) => {{
                let bytes = array_at(frame, at)?;
                if self.big_endian {
                    <$kind>::from_be_bytes(bytes)
                } else {
                    <$kind>::from_le_bytes(bytes)
                }
            }};
        }
        let raw = match self.kind {
            FieldType::U8 => FieldValue::Integer(i64::from(number!(u8))),
            FieldType::U16 => FieldValue::Integer(i64::from(number!(u16))),
            FieldType::U32 => FieldValue::Integer(i64::from(number!(u32))),
            FieldType::U64 => FieldValue::Unsigned(number!(u64)),
            FieldType::I8 => FieldValue::Integer(i64::from(number!(i8))),
            FieldType::I16 => FieldValue::Integer(i64::from(number!(i16))),
            FieldType::I32 => FieldValue::Integer(i64::from(number!(i32))),
            FieldType::I64 => FieldValue::Integer(number!(i64)),
            FieldType::F32 => FieldValue::Float(f64::from(number!(f32))),
            FieldType::F64 => FieldValue::Float(number!(f64)),
            FieldType::Bool => FieldValue::Boolean(number!(u8) != 0),
        };
        if !self.is_scaled() {
            return Some(raw);
        }
        Some(match raw {
            FieldValue::Float(value) => FieldValue::Float(value * self.scale + self.bias),
            FieldValue::Integer(value) => FieldValue::Float(value as f64 * self.scale + self.bias),
            FieldValue::Unsigned(value) => FieldValue::Float(value as f64 * self.scale + self.bias),
            FieldValue::Boolean(_) => raw,
        })
    }
}

/// One sort for both orders: each has five kilobytes, and boards have little room for programs.
fn sorted(fields: &[Field], order: fn(&Field, &Field) -> Ordering) -> Vec<&Field> {
    let mut sorted: Vec<&Field> = fields.iter().collect();
    sorted.sort_unstable_by(|a, b| order(a, b));
    sorted
}

/// The fields of a channel's frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    fields: Vec<Field>,
}

impl Layout {
    /// A layout of these fields.
    ///
    /// # Errors
    /// There are none or too many, one is not as the format asks for, ends behind the largest
    /// frame, overlaps another, or has the name of another.
    pub fn new(fields: Vec<Field>) -> Result<Self, LayoutError> {
        if fields.is_empty() || fields.len() > FIELDS_MAX {
            return Err(LayoutError::Count { limit: FIELDS_MAX, found: fields.len() });
        }
        for field in &fields {
            check(field)?;
        }
        let values: usize = fields.iter().map(Field::values).sum();
        if values > FIELD_VALUES_MAX {
            return Err(LayoutError::Values { limit: FIELD_VALUES_MAX, found: values });
        }
        let by_place = sorted(&fields, |a, b| a.offset_bytes.cmp(&b.offset_bytes));
        for (before, field) in by_place.iter().zip(by_place.iter().skip(1)) {
            if u64::from(field.offset_bytes) < before.end_bytes() {
                return Err(LayoutError::Overlap {
                    field: field.name.clone(),
                    offset_bytes: field.offset_bytes,
                    with: before.name.clone(),
                    end_bytes: before.end_bytes(),
                });
            }
        }
        let by_name =
            sorted(&fields, |a, b| (&a.name, a.offset_bytes).cmp(&(&b.name, b.offset_bytes)));
        for (before, field) in by_name.iter().zip(by_name.iter().skip(1)) {
            if before.name == field.name {
                return Err(LayoutError::Twice {
                    field: field.name.clone(),
                    offset_bytes: field.offset_bytes,
                    first_bytes: before.offset_bytes,
                });
            }
        }
        Ok(Layout { fields })
    }

    /// The fields, in the order in which they were given.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The field of this name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The field and element that `name` means, as in `speed` or `cell[2]`: what stands behind the
    /// dot in the name of a field's series. An array has no series without an index.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(usize, usize)> {
        let (name, element) = match name.strip_suffix(']').and_then(|rest| rest.split_once('[')) {
            Some((name, index)) => (name, Some(index)),
            None => (name, None),
        };
        let at = self.fields.iter().position(|field| field.name == name)?;
        let field = self.fields.get(at)?;
        match (field.elements, element) {
            (None, None) => Some((at, 0)),
            (Some(elements), Some(text)) => {
                let index: u16 = text.parse().ok()?;
                // One name for one element: no signs, no leading zeros.
                let plain = text.len() == 1 || !text.starts_with('0');
                (index < elements && plain && !text.starts_with('+')).then_some((at, index.into()))
            }
            _ => None,
        }
    }

    /// Bytes that a frame needs to have all fields.
    #[must_use]
    pub fn frame_bytes(&self) -> u64 {
        self.fields.iter().map(Field::end_bytes).max().unwrap_or(0)
    }

    /// Checks that all fields lie inside frames of `frame_bytes`.
    ///
    /// # Errors
    /// The first field that does not.
    pub fn check_frame(&self, frame_bytes: u64) -> Result<(), LayoutError> {
        match self.fields.iter().find(|field| field.end_bytes() > frame_bytes) {
            None => Ok(()),
            Some(field) => Err(outside(field, frame_bytes)),
        }
    }
}

fn outside(field: &Field, frame_bytes: u64) -> LayoutError {
    LayoutError::OutOfFrame {
        field: field.name.clone(),
        offset_bytes: field.offset_bytes,
        frame_bytes,
        end_bytes: field.end_bytes(),
    }
}

fn check(field: &Field) -> Result<(), LayoutError> {
    let fail = |expected, found: String| LayoutError::Field {
        field: field.name.clone(),
        offset_bytes: field.offset_bytes,
        expected,
        found,
    };
    let good = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    if !(1..=FIELD_NAME_BYTES_MAX).contains(&field.name.len()) || !field.name.chars().all(good) {
        return Err(fail("a name of 1 to 64 bytes: letters, digits, _ and -", field.name.clone()));
    }
    if field.unit.len() > UNIT_NAME_BYTES_MAX
        || field.unit.chars().any(|c| c.is_control() || matches!(c, '(' | ')'))
    {
        return Err(fail("a unit of at most 64 bytes without brackets", field.unit.clone()));
    }
    let number = |value: f64| alloc::format!("{value}");
    if !field.scale.is_finite() || field.scale == 0.0 {
        return Err(fail("a scale that is a number other than 0", number(field.scale)));
    }
    if !field.bias.is_finite() {
        return Err(fail("a bias that is a number", number(field.bias)));
    }
    if field.kind == FieldType::Bool && field.is_scaled() {
        return Err(fail("a bool without scale and bias", number(field.scale)));
    }
    if field.elements == Some(0) {
        return Err(fail("an array of 1 to 65535 elements", "0".to_owned()));
    }
    if field.end_bytes() > RECORD_BYTES_MAX as u64 {
        return Err(outside(field, RECORD_BYTES_MAX as u64));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
