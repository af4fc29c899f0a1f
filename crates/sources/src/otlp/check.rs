//! Whether bytes are a message: whoever reads it afterwards meets no field that is not what it should be.
//!
//! So a request that cannot be decoded is refused before anything of it is taken.

use super::schema::{Kind, Message};
use crate::protobuf::{Fields, Value};
use std::fmt;

/// Messages within messages: libraries of protobuf stop at 100, and what is sent has 8 and one to three for
/// each level of an attribute that has others in it.
pub(super) const DEPTH_MAX: u32 = 48;

/// Bytes that are no message of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The message that cannot be read.
    message: &'static str,
    deep: bool,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.deep {
            true => write!(
                f,
                "expected messages at most {DEPTH_MAX} deep, found a {} deeper than that",
                self.message
            ),
            false => write!(
                f,
                "expected an ExportMetricsServiceRequest in protobuf, found bytes that are no {}",
                self.message
            ),
        }
    }
}

/// Checks all of a message.
pub(super) fn check(message: &Message, bytes: &[u8], depth: u32) -> Result<(), Unreadable> {
    let wrong = Unreadable { message: message.name, deep: false };
    if depth > DEPTH_MAX {
        return Err(Unreadable { deep: true, ..wrong });
    }
    for field in Fields::of(bytes) {
        let (number, value) = field.map_err(|_| wrong)?;
        let row = message.fields.iter().find(|row| u64::from(row.number) == number);
        let Some(row) = row else { continue };
        let right = match (&row.kind, value) {
            (Kind::One(inner) | Kind::Many(inner), Value::Bytes(bytes)) => {
                check(inner, bytes, depth + 1)?;
                true
            }
            (Kind::Text, Value::Bytes(bytes)) => str::from_utf8(bytes).is_ok(),
            (Kind::Fixed64s | Kind::Doubles, Value::Bytes(bytes)) => bytes.len().is_multiple_of(8),
            (Kind::Bytes, Value::Bytes(_))
            | (Kind::Bool | Kind::Uint32 | Kind::Int64 | Kind::Enum(_), Value::Varint(_))
            | (
                Kind::Fixed64 | Kind::Sfixed64 | Kind::Double | Kind::Fixed64s | Kind::Doubles,
                Value::Fixed64(_),
            ) => true,
            _ => false,
        };
        if !right {
            return Err(wrong);
        }
    }
    Ok(())
}
