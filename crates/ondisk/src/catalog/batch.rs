//! Many declarations in one record: one type, one unit, consecutive ids, and names as a list of
//! differences. Ten times shorter than a record each. `docs/format.md`, "Catalog".

use super::{
    BATCH, Declaration, HEAD_BYTES, JOINT, JOINT_BYTES, Joint, Type, check_flags, check_length,
};
use crate::bytes::{put, u16_at, u32_at};
use crate::difference::{NameList, put_difference};
use crate::limits::{NAME_BYTES_MAX, UNIT_NAME_BYTES_MAX};
use crate::{Error, What};
use alloc::vec::Vec;

/// Collects declarations of one type and unit until they are enough for a record.
#[derive(Clone, Debug, Default)]
pub struct DeclarationBatch {
    payload: Vec<u8>,
    previous: Vec<u8>,
    count: u16,
    next_id: u32,
}

impl DeclarationBatch {
    /// Starts a record with `id` as the first.
    ///
    /// # Errors
    /// The unit is longer than the format allows.
    pub fn start(
        &mut self,
        id: u32,
        kind: Type,
        unit: &str,
        joint: Option<Joint>,
    ) -> Result<(), Error> {
        check_length("unit", 8, 0, UNIT_NAME_BYTES_MAX, unit.len())?;
        self.payload.clear();
        self.payload.resize(HEAD_BYTES, 0);
        put(&mut self.payload, 0, &id.to_le_bytes());
        let flags = if joint.is_some() { BATCH | JOINT } else { BATCH };
        put(&mut self.payload, 4, &[kind as u8, flags]);
        put(&mut self.payload, 8, &(unit.len() as u16).to_le_bytes());
        self.payload.extend_from_slice(unit.as_bytes());
        self.payload.extend(joint.iter().flat_map(|joint| joint.encode().to_le_bytes()));
        self.previous.clear();
        (self.count, self.next_id) = (0, id);
        Ok(())
    }

    /// Adds the name of the next id; false if the record is to end before it, at about `bytes_max`
    /// bytes or at the largest count.
    ///
    /// # Errors
    /// The name is empty or longer than the format allows.
    pub fn push(&mut self, name: &str, bytes_max: usize) -> Result<bool, Error> {
        check_length("name", 6, 1, NAME_BYTES_MAX, name.len())?;
        if self.count == u16::MAX || (self.count > 0 && self.payload.len() + name.len() > bytes_max)
        {
            return Ok(false);
        }
        put_difference(&mut self.payload, &self.previous, name.as_bytes());
        self.previous.clear();
        self.previous.extend_from_slice(name.as_bytes());
        self.count += 1;
        self.next_id = self.next_id.wrapping_add(1);
        Ok(true)
    }

    /// Names so far.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Id that the next name would get.
    #[must_use]
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// The record's payload.
    pub fn finish(&mut self) -> &[u8] {
        put(&mut self.payload, 6, &self.count.to_le_bytes());
        &self.payload
    }
}

impl Declaration<'_> {
    /// Reads a record's payload, of one declaration or of many, and calls `each` with each.
    ///
    /// # Errors
    /// As [`Declaration::decode`]; those before the error have been handed out.
    pub fn decode_each(payload: &[u8], mut each: impl FnMut(Declaration<'_>)) -> Result<(), Error> {
        let what = What::Declaration;
        let flags = payload.get(5).copied().unwrap_or_default();
        if payload.len() < HEAD_BYTES || flags & !JOINT != BATCH {
            each(Declaration::decode(payload)?);
            return Ok(());
        }
        let number = payload.get(4).copied().unwrap_or_default();
        let kind = Type::decode(number)?;
        check_flags(kind, flags & JOINT)?;
        let first = u32_at(payload, 0);
        let count = usize::from(u16_at(payload, 6));
        check_length("names", 6, 1, usize::from(u16::MAX), count)?;
        let unit_bytes = usize::from(u16_at(payload, 8));
        check_length("unit", 8, 0, UNIT_NAME_BYTES_MAX, unit_bytes)?;
        if first == 0 || first.checked_add(count as u32 - 1).is_none() {
            let limit = u64::from(u32::MAX) - count as u64;
            let (field, offset, found) = ("id", 0, u64::from(first));
            return Err(Error::OutOfRange { what, field, offset, limit, found });
        }
        let end = HEAD_BYTES + unit_bytes;
        let joint_bytes = if flags & JOINT != 0 { JOINT_BYTES } else { 0 };
        let head = payload.get(..end + joint_bytes).ok_or(Error::Truncated {
            what,
            offset: payload.len() as u64,
            expected: (end + joint_bytes) as u64,
            found: payload.len() as u64,
        })?;
        let unit = head.get(HEAD_BYTES..end).unwrap_or(&[]);
        let joint = || Joint::decode(u16_at(payload, end), end as u64);
        let joint = (joint_bytes > 0).then(joint).transpose()?;
        let offset = HEAD_BYTES as u64;
        let unit = core::str::from_utf8(unit).map_err(|_| Error::NotUtf8 { what, offset })?;
        let (mut names, mut at) = (NameList::default(), head.len());
        // Counted from 0: behind the highest id there is none (fuzz/corpus/declaration/highest-id).
        for number in 0..count as u32 {
            let id = first + number;
            let (name, next) = names.next(payload, at, what)?;
            each(Declaration { id, kind, name, unit, joint, layout: None });
            at = next;
        }
        if at != payload.len() {
            return Err(Error::Mismatch {
                what,
                field: "end of the names",
                offset: at as u64,
                expected: at as u64,
                found: payload.len() as u64,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned;
    use alloc::format;
    use alloc::string::String;

    #[test]
    fn a_batch_comes_back_and_any_change_is_an_error_or_other_names() {
        let names: Vec<String> = (0..500).map(|n| format!("t{{s=\"{n}\",x=\"ä\"}}")).collect();
        let repeated = Joint { first_bytes: 1, repeated: true };
        for joint in [None, Some(repeated)] {
            comes_back(&names, joint);
        }
    }

    fn comes_back(names: &[String], joint: Option<Joint>) {
        let mut batch = DeclarationBatch::default();
        batch.start(7, Type::F64, "°C", joint).unwrap();
        for name in names {
            assert!(batch.push(name, 100_000).unwrap());
        }
        assert_eq!((batch.len(), batch.next_id()), (500, 507));
        let payload = batch.finish().to_owned();
        assert!(payload.len() < 500 * 8);
        let mut found = Vec::new();
        Declaration::decode_each(&payload, |one| {
            assert_eq!((one.kind, one.unit, one.joint), (Type::F64, "°C", joint));
            assert_eq!(one.id as usize, 7 + found.len());
            found.push(one.name.to_owned());
        })
        .unwrap();
        assert_eq!(found, names);
        for at in 0..payload.len() {
            assert!(Declaration::decode_each(&payload[..at], |_| {}).is_err(), "{at}");
        }
        for at in 0..40 {
            for byte in 0..=255 {
                let mut bad = payload.clone();
                bad[at] = byte;
                let _ = Declaration::decode_each(&bad, |one| assert!(one.id > 0));
            }
        }
        // A record that a reader of single declarations alone meets is an error to it, not one name.
        assert!(Declaration::decode(&payload).is_err());
        assert!(batch.push("", 10).is_err() && !batch.push("x", 10).unwrap());
    }
}
