//! Declarations: the payloads of the catalog's records.

mod batch;

pub use batch::DeclarationBatch;

use crate::bytes::{put, u16_at, u32_at};
use crate::limits::{NAME_BYTES_MAX, UNIT_NAME_BYTES_MAX};
use crate::{Error, Layout, What};
use alloc::borrow::Cow;
use alloc::vec;
use alloc::vec::Vec;

/// Type of a series, or a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Type {
    /// 64-bit floating point.
    F64 = 1,
    /// 64-bit signed integer.
    I64 = 2,
    /// 0 or 1.
    Bool = 3,
    /// UTF-8 text.
    Text = 4,
    /// Not a series: a channel of frames.
    Channel = 16,
}

impl Type {
    /// The type with this number in `docs/format.md`, if there is one.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Type::F64,
            2 => Type::I64,
            3 => Type::Bool,
            4 => Type::Text,
            16 => Type::Channel,
            _ => return None,
        })
    }

    pub(crate) fn decode(number: u8) -> Result<Self, Error> {
        Type::from_number(number).ok_or(Error::OutOfRange {
            what: What::Declaration,
            field: "type",
            offset: 4,
            limit: 16,
            found: u64::from(number),
        })
    }

    /// The name used in output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Type::F64 => "f64",
            Type::I64 => "i64",
            Type::Bool => "bool",
            Type::Text => "text",
            Type::Channel => "channel",
        }
    }
}

/// A series or channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration<'a> {
    /// Id inside the store, from 1 on.
    pub id: u32,
    /// Type of the values.
    pub kind: Type,
    /// Name with labels, for example `cpu_idle{cpu="0"}`.
    pub name: &'a str,
    /// Unit of the values, may be empty.
    pub unit: &'a str,
    /// Of which two names the name was put together; `None` if it was not, or that is not known.
    pub joint: Option<Joint>,
    /// Fields of a channel's frames.
    pub layout: Option<Cow<'a, Layout>>,
}

/// Where two names meet in one: the measurement `m_a` and its field `b` are the series `m_a_b`, and so are
/// `m` and `a_b`. It tells who brings samples of one from who brings those of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joint {
    /// Bytes of the first name.
    pub first_bytes: u16,
    /// A tag `__name__` had the first name once more.
    pub repeated: bool,
}

impl Joint {
    /// In two bytes; never 0.
    fn encode(self) -> u16 {
        (self.first_bytes.min(NAME_BYTES_MAX as u16) << 1 | u16::from(self.repeated)) + 1
    }

    fn decode(bytes: u16, offset: u64) -> Result<Self, Error> {
        let limit = (NAME_BYTES_MAX as u64) << 1 | 1;
        let found = u64::from(bytes).wrapping_sub(1);
        if found > limit {
            let (what, field) = (What::Declaration, "joint");
            return Err(Error::OutOfRange { what, field, offset, limit, found: u64::from(bytes) });
        }
        Ok(Joint { first_bytes: (found >> 1) as u16, repeated: found & 1 == 1 })
    }
}

const HEAD_BYTES: usize = 10;
const LAYOUT_PRESENT: u8 = 1;
/// Flags of a record with many declarations.
const BATCH: u8 = 2;
/// Flags of a record whose names were put together of two.
const JOINT: u8 = 4;
const JOINT_BYTES: usize = 2;

impl<'a> Declaration<'a> {
    /// Whether it can be encoded.
    ///
    /// # Errors
    /// Name or unit is longer than the format allows, the name is empty, a series has a layout, or a
    /// channel a joint.
    pub fn check(&self) -> Result<(), Error> {
        check_length("name", 6, 1, NAME_BYTES_MAX, self.name.len())?;
        check_length("unit", 8, 0, UNIT_NAME_BYTES_MAX, self.unit.len())?;
        check_flags(self.kind, self.flags())
    }

    fn flags(&self) -> u8 {
        let joint = if self.joint.is_some() { JOINT } else { 0 };
        joint | if self.layout.is_some() { LAYOUT_PRESENT } else { 0 }
    }

    /// The record's payload.
    ///
    /// # Errors
    /// As [`Declaration::check`].
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        self.check()?;
        let flags = self.flags();
        let mut bytes = vec![0; HEAD_BYTES];
        put(&mut bytes, 0, &self.id.to_le_bytes());
        put(&mut bytes, 4, &[self.kind as u8, flags]);
        put(&mut bytes, 6, &(self.name.len() as u16).to_le_bytes());
        put(&mut bytes, 8, &(self.unit.len() as u16).to_le_bytes());
        bytes.extend_from_slice(self.name.as_bytes());
        bytes.extend_from_slice(self.unit.as_bytes());
        bytes.extend(self.joint.iter().flat_map(|joint| joint.encode().to_le_bytes()));
        if let Some(layout) = &self.layout {
            bytes.extend(layout.encode());
        }
        Ok(bytes)
    }

    /// Reads a record's payload.
    ///
    /// # Errors
    /// Truncated, of unknown type, with lengths outside the limits, not UTF-8, or with a layout
    /// that is none.
    pub fn decode(payload: &'a [u8]) -> Result<Self, Error> {
        let what = What::Declaration;
        let found = payload.len() as u64;
        let short = |expected: usize| Error::Truncated {
            what,
            offset: found,
            expected: expected as u64,
            found,
        };
        let (Some([kind, flags]), true) = (payload.get(4..6), payload.len() >= HEAD_BYTES) else {
            return Err(short(HEAD_BYTES));
        };
        let kind = Type::decode(*kind)?;
        check_flags(kind, *flags)?;
        let name_bytes = usize::from(u16_at(payload, 6));
        let unit_bytes = usize::from(u16_at(payload, 8));
        check_length("name", 6, 1, NAME_BYTES_MAX, name_bytes)?;
        check_length("unit", 8, 0, UNIT_NAME_BYTES_MAX, unit_bytes)?;
        let end = HEAD_BYTES + name_bytes + unit_bytes;
        let with_layout = flags & LAYOUT_PRESENT != 0;
        let joint_bytes = if flags & JOINT != 0 { JOINT_BYTES } else { 0 };
        let all = end + joint_bytes;
        if payload.len() < all || (payload.len() > all && !with_layout) {
            return Err(short(all));
        }
        let joint = || Joint::decode(u16_at(payload, end), end as u64);
        let joint = (joint_bytes > 0).then(joint).transpose()?;
        let text = |from: usize, to: usize| {
            core::str::from_utf8(payload.get(from..to).unwrap_or(&[]))
                .map_err(|_| Error::NotUtf8 { what, offset: from as u64 })
        };
        let name = text(HEAD_BYTES, HEAD_BYTES + name_bytes)?;
        let unit = text(HEAD_BYTES + name_bytes, end)?;
        let id = u32_at(payload, 0);
        if id == 0 {
            let (field, offset, expected, found) = ("id", 0, 1, 0);
            return Err(Error::Mismatch { what, field, offset, expected, found });
        }
        let layout = if with_layout {
            let layout = Layout::decode(payload.get(end..).unwrap_or(&[]));
            Some(Cow::Owned(layout.map_err(|error| error.at(end as u64))?))
        } else {
            None
        };
        Ok(Declaration { id, kind, name, unit, joint, layout })
    }
}

/// Only a channel has frames, so only a channel has a layout; and its name is one name.
fn check_flags(kind: Type, flags: u8) -> Result<(), Error> {
    let limit = if kind == Type::Channel { LAYOUT_PRESENT } else { JOINT };
    if flags & !limit == 0 {
        return Ok(());
    }
    let (limit, found) = (u64::from(limit), u64::from(flags));
    Err(Error::OutOfRange { what: What::Declaration, field: "flags", offset: 5, limit, found })
}

fn check_length(
    field: &'static str,
    offset: u64,
    least: usize,
    limit: usize,
    found: usize,
) -> Result<(), Error> {
    if (least..=limit).contains(&found) {
        return Ok(());
    }
    let (limit, found) = (limit as u64, found as u64);
    Err(Error::OutOfRange { what: What::Declaration, field, offset, limit, found })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips_and_takes_any_bytes() {
        let (kind, name, unit) = (Type::F64, "temp{site=\"ä\"}", "°C");
        let declared = Declaration { id: 3, kind, name, unit, joint: None, layout: None };
        let joints = [0, 1, 4, 1024].map(|first_bytes| Joint { first_bytes, repeated: false });
        let repeated = Joint { first_bytes: 1024, repeated: true };
        for joint in [None, Some(repeated)].into_iter().chain(joints.map(Some)) {
            let declared = Declaration { joint, ..declared.clone() };
            let bytes = declared.encode().unwrap();
            assert_eq!(Declaration::decode(&bytes), Ok(declared));
            for at in 0..bytes.len() {
                assert!(Declaration::decode(&bytes[..at]).is_err());
                for byte in 0..=255 {
                    let mut bad = bytes.clone();
                    bad[at] = byte;
                    let _ = Declaration::decode(&bad);
                }
            }
        }
        assert!(Declaration { name: "", ..declared.clone() }.encode().is_err());
        assert!(Declaration { unit: &"x".repeat(65), ..declared }.encode().is_err());
    }

    #[test]
    fn a_channel_may_have_a_layout_and_a_series_may_not() {
        let layout: Layout = "speed:f32@0,state:u8@6".parse().unwrap();
        let channel = Declaration {
            id: 1,
            kind: Type::Channel,
            name: "control",
            unit: "",
            joint: None,
            layout: Some(Cow::Owned(layout)),
        };
        let bytes = channel.encode().unwrap();
        assert_eq!(Declaration::decode(&bytes), Ok(channel.clone()));
        // Bytes that nothing announces were an error and stay one, and so is a layout cut short.
        let mut unannounced = bytes.clone();
        unannounced[5] = 0;
        assert!(Declaration::decode(&unannounced).is_err());
        for end in 0..bytes.len() {
            assert!(Declaration::decode(&bytes[..end]).is_err());
        }
        let mut series = bytes;
        series[4] = Type::F64 as u8;
        assert!(Declaration::decode(&series).is_err());
        assert!(Declaration { kind: Type::I64, ..channel }.encode().is_err());
    }
}
