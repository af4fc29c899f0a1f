//! A layout as bytes: behind the unit in a channel's declaration.

use super::{Field, FieldType, Layout};
use crate::bytes::{array_at, u16_at, u32_at};
use crate::limits::FIELDS_MAX;
use crate::{Error, What};
use alloc::borrow::ToOwned;
use alloc::vec::Vec;

const HEAD_BYTES: usize = 26;
const BIG_ENDIAN: u8 = 1;

impl Layout {
    /// The bytes in a declaration.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend((self.fields().len() as u16).to_le_bytes());
        for field in self.fields() {
            bytes.extend([field.kind as u8, u8::from(field.big_endian) * BIG_ENDIAN]);
            bytes.extend(field.elements.unwrap_or(0).to_le_bytes());
            bytes.extend(field.offset_bytes.to_le_bytes());
            bytes.extend(field.scale.to_le_bytes());
            bytes.extend(field.bias.to_le_bytes());
            bytes.extend([field.name.len() as u8, field.unit.len() as u8]);
            bytes.extend(field.name.as_bytes());
            bytes.extend(field.unit.as_bytes());
        }
        bytes
    }

    /// Reads the bytes of a declaration.
    ///
    /// # Errors
    /// They are not exactly one layout; offsets count from the layout's start.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let what = What::Layout;
        let short = |at: usize, expected: usize| Error::Truncated {
            what,
            offset: at as u64,
            expected: expected as u64,
            found: bytes.len().saturating_sub(at) as u64,
        };
        if bytes.len() < 2 {
            return Err(short(0, 2));
        }
        let count = usize::from(u16_at(bytes, 0));
        let out = |field, offset: usize, limit, found| Error::OutOfRange {
            what,
            field,
            offset: offset as u64,
            limit,
            found,
        };
        if !(1..=FIELDS_MAX).contains(&count) {
            return Err(out("fields", 0, FIELDS_MAX as u64, count as u64));
        }
        let mut fields = Vec::with_capacity(count.min(bytes.len() / HEAD_BYTES));
        let mut at = 2;
        for _ in 0..count {
            let head: [u8; HEAD_BYTES] =
                array_at(bytes, at).ok_or_else(|| short(at, HEAD_BYTES))?;
            let kind = FieldType::from_number(head[0])
                .ok_or_else(|| out("type", at, 11, u64::from(head[0])))?;
            if head[1] & !BIG_ENDIAN != 0 {
                return Err(out("flags", at + 1, u64::from(BIG_ENDIAN), u64::from(head[1])));
            }
            let float = |offset| f64::from_le_bytes(array_at(&head, offset).unwrap_or_default());
            let name_at = at + HEAD_BYTES;
            let unit_at = name_at + usize::from(head[24]);
            let end = unit_at + usize::from(head[25]);
            let text = |from: usize, to: usize| {
                let found = bytes.get(from..to).ok_or_else(|| short(from, to - from))?;
                core::str::from_utf8(found)
                    .map(ToOwned::to_owned)
                    .map_err(|_| Error::NotUtf8 { what, offset: from as u64 })
            };
            fields.push(Field {
                name: text(name_at, unit_at)?,
                kind,
                big_endian: head[1] & BIG_ENDIAN != 0,
                elements: Some(u16_at(&head, 2)).filter(|elements| *elements > 0),
                offset_bytes: u32_at(&head, 4),
                scale: float(8),
                bias: float(16),
                unit: text(unit_at, end)?,
            });
            at = end;
        }
        if at != bytes.len() {
            let (field, offset) = ("length", 0);
            let (expected, found) = (at as u64, bytes.len() as u64);
            return Err(Error::Mismatch { what, field, offset, expected, found });
        }
        Layout::new(fields).map_err(|error| {
            let (field, limit, found) = error.as_numbers();
            out(field, 0, limit, found)
        })
    }
}
