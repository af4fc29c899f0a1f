//! Fields of an event, found by name once and read by place from then on.
//!
//! A million events a second are read by a few fields each, so names are looked up when a trace is
//! opened: [`Field::resolve`] gives an accessor that knows place, size and sign, and
//! [`Field::get`] reads. Numbers are widened or narrowed to what is asked for, since the same field
//! has 4 bytes on one kernel and 8 on another (`tid` of jbd2); a value that does not fit is an error
//! and not another value. `Option` makes a field that only some kernels have.
//!
//! Invariant: a read outside of the event is an error, whatever the event says of places in itself.
//! Held by `any_event_is_read_or_refused`.

#[cfg(test)]
mod tests;
mod value;

pub use value::{Device, FRAMES_MAX, Frames, GroupPath, Name, Value};

use crate::error::{Error, Result, quoted};
use crate::format::{EventFormat, FieldFormat, Shape};
use std::marker::PhantomData;

/// Where and how a field lies in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub(crate) offset_bytes: usize,
    pub(crate) size_bytes: usize,
    pub(crate) signed: bool,
    pub(crate) shape: Shape,
}

impl Place {
    fn of(field: &FieldFormat) -> Self {
        Self {
            offset_bytes: field.offset_bytes as usize,
            size_bytes: field.size_bytes as usize,
            signed: field.signed,
            shape: field.shape,
        }
    }

    /// The number at this place, with its sign in all 64 bits.
    pub(crate) fn number(&self, payload: &[u8]) -> Result<u64> {
        let bytes = slice(payload, self.offset_bytes, self.size_bytes)?;
        let value = bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        let spare = 64_u32.saturating_sub(8 * self.size_bytes as u32);
        Ok(if self.signed { ((value << spare) as i64 >> spare) as u64 } else { value })
    }

    /// The bytes of an array: those in the field, or those it points to.
    pub(crate) fn bytes<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8]> {
        let from = match self.shape {
            Shape::DataLoc => 0,
            Shape::RelLoc => self.offset_bytes + self.size_bytes,
            // An array without a size of its own takes what is left of the event.
            Shape::Array(_) if self.size_bytes == 0 => {
                let rest = payload.len().saturating_sub(self.offset_bytes);
                return slice(payload, self.offset_bytes, rest);
            }
            Shape::Plain | Shape::Array(_) => {
                return slice(payload, self.offset_bytes, self.size_bytes);
            }
        };
        let place = self.number(payload)?;
        slice(payload, from + (place & 0xffff) as usize, (place >> 16 & 0xffff) as usize)
    }
}

/// `length` bytes of an event; both numbers are below 2^17, so nothing overflows.
fn slice(payload: &[u8], offset_bytes: usize, length_bytes: usize) -> Result<&[u8]> {
    payload.get(offset_bytes..offset_bytes + length_bytes).ok_or(Error::Record {
        offset_bytes,
        expected: "an event that reaches over its fields",
        found: payload.len() as u64,
    })
}

/// A field of one kind of event, read as a `T`.
#[derive(Debug)]
pub struct Field<T> {
    place: Option<Place>,
    value: PhantomData<fn() -> T>,
}

// Derived, these would ask the same of T.
impl<T> Clone for Field<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Field<T> {}

impl<T: Value> Field<T> {
    /// Looks a field up under the names it has had, the first that is there.
    ///
    /// # Errors
    /// [`Error::Field`]: there is none and `T` is no `Option`, or it cannot be read as a `T`.
    pub fn resolve(format: &EventFormat, names: &[&str]) -> Result<Self> {
        let wrong = |found| Error::Field {
            event: format.name.clone(),
            field: names.join(" or "),
            expected: T::EXPECTED,
            found,
        };
        let Some(field) = names.iter().find_map(|name| format.field(name)) else {
            return if T::OPTIONAL {
                Ok(Self { place: None, value: PhantomData })
            } else {
                Err(wrong(format.field_names()))
            };
        };
        let place = Place::of(field);
        if !T::fits(&place, &field.type_name) {
            let found = format!("{} of {} bytes", field.type_name, field.size_bytes);
            return Err(wrong(quoted(&found)));
        }
        Ok(Self { place: Some(place), value: PhantomData })
    }

    /// True if the event has this field on this kernel.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.place.is_some()
    }

    /// The field's value in one event.
    ///
    /// # Errors
    /// [`Error::Record`]: the event is too short, or the value out of range for a `T`.
    pub fn get(&self, payload: &[u8]) -> Result<T> {
        T::read(self.place.as_ref(), payload)
    }
}

impl Field<Name> {
    /// The text of the field whole, however long, without the zero at its end.
    ///
    /// # Errors
    /// [`Error::Record`]: the event is too short.
    pub fn text<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8]> {
        self.place.map_or(Ok(&[]), |place| place.bytes(payload).map(value::until_zero))
    }
}
