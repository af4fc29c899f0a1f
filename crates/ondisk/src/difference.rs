//! A list of names, each as its difference to the one before: names of series differ in a few
//! digits here and there, and a handful of bytes says which. `docs/format.md`, "Lists of names".
//!
//! Invariant: a decoder takes any bytes, and a name is never longer than the format allows. Held by
//! the tests below and the fuzz target `declaration`.

use crate::limits::NAME_BYTES_MAX;
use crate::varint::varint_at;
use crate::{Error, What};
use alloc::vec::Vec;

/// Most edits from one name to the next; what would need more is written out.
const EDITS_MAX: usize = 16;
/// A count in a nibble: from here on a varint follows.
const LONG: usize = 15;

/// Appends `value` as a varint.
pub(crate) fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn is_separator(byte: u8) -> bool {
    byte.is_ascii() && !byte.is_ascii_alphanumeric()
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

fn common_end(a: &[u8], b: &[u8]) -> usize {
    a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count()
}

/// Appends the difference of `name` to the name before it in the list, `previous` (empty for the
/// first).
pub(crate) fn put_difference(out: &mut Vec<u8>, previous: &[u8], name: &[u8]) {
    let place = out.len();
    out.push(0);
    let (mut old, mut new) = (previous, name);
    let mut edits = 0;
    loop {
        let keep = common(old, new);
        (old, new) = (old.get(keep..).unwrap_or(&[]), new.get(keep..).unwrap_or(&[]));
        if old.is_empty() && new.is_empty() {
            break;
        }
        // An edit goes to the end of the word, or to the end of all if what follows differs.
        let word = |bytes: &[u8]| bytes.iter().position(|byte| is_separator(*byte));
        let (drop, put) = match (word(old), word(new)) {
            (Some(a), Some(b)) if edits + 1 < EDITS_MAX && old.get(a) == new.get(b) => (a, b),
            _ => (old.len(), new.len()),
        };
        let (from, to) = (old.get(..drop).unwrap_or(old), new.get(..put).unwrap_or(new));
        let end = common_end(from, to);
        let (drop, put) = (drop - end, put - end);
        push_varint(out, keep as u64);
        out.push((drop.min(LONG) | put.min(LONG) << 4) as u8);
        for long in [drop, put].into_iter().filter(|count| *count >= LONG) {
            push_varint(out, (long - LONG) as u64);
        }
        out.extend_from_slice(new.get(..put).unwrap_or(new));
        (old, new) = (old.get(drop..).unwrap_or(&[]), new.get(put..).unwrap_or(&[]));
        edits += 1;
    }
    if let Some(count) = out.get_mut(place) {
        *count = edits as u8;
    }
}

/// Reads a list of names.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameList {
    name: Vec<u8>,
    scratch: Vec<u8>,
}

impl NameList {
    /// The name whose difference is at `at`, and the offset behind it. `what` is for the error.
    pub(crate) fn next(
        &mut self,
        bytes: &[u8],
        at: usize,
        what: What,
    ) -> Result<(&str, usize), Error> {
        let offset = at as u64;
        let bad = |field, limit: usize, found: u64| Error::OutOfRange {
            what,
            field,
            offset,
            limit: limit as u64,
            found,
        };
        let short = || Error::Truncated { what, offset: bytes.len() as u64, expected: 1, found: 0 };
        let edits = usize::from(*bytes.get(at).ok_or_else(short)?);
        if edits > EDITS_MAX {
            return Err(bad("edits of a name", EDITS_MAX, edits as u64));
        }
        let mut at = at + 1;
        let count = |at: usize| -> Result<(usize, usize), Error> {
            let (value, next) = varint_at(bytes, at).ok_or_else(short)?;
            let value = usize::try_from(value).ok().filter(|value| *value <= NAME_BYTES_MAX);
            Ok((value.ok_or_else(|| bad("bytes of an edit", NAME_BYTES_MAX, u64::MAX))?, next))
        };
        self.scratch.clear();
        let mut old = 0;
        for _ in 0..edits {
            let (keep, next) = count(at)?;
            let control = usize::from(*bytes.get(next).ok_or_else(short)?);
            at = next + 1;
            let (mut drop, mut put) = (control & 15, control >> 4);
            if drop == LONG {
                let (more, next) = count(at)?;
                (drop, at) = (drop + more, next);
            }
            if put == LONG {
                let (more, next) = count(at)?;
                (put, at) = (put + more, next);
            }
            let kept = self.name.get(old..old + keep);
            let kept = kept.filter(|_| old + keep + drop <= self.name.len());
            let left = self.name.len() - old;
            let kept = kept.ok_or_else(|| bad("kept bytes of a name", left, keep as u64))?;
            self.scratch.extend_from_slice(kept);
            self.scratch.extend_from_slice(bytes.get(at..at + put).ok_or_else(short)?);
            old += keep + drop;
            at += put;
            if self.scratch.len() > NAME_BYTES_MAX {
                return Err(bad("name", NAME_BYTES_MAX, self.scratch.len() as u64));
            }
        }
        self.scratch.extend_from_slice(self.name.get(old..).unwrap_or(&[]));
        if !(1..=NAME_BYTES_MAX).contains(&self.scratch.len()) {
            return Err(bad("name", NAME_BYTES_MAX, self.scratch.len() as u64));
        }
        core::mem::swap(&mut self.name, &mut self.scratch);
        let name = core::str::from_utf8(&self.name);
        Ok((name.map_err(|_| Error::NotUtf8 { what, offset })?, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use std::println;

    fn round_trip(names: &[String]) -> usize {
        let mut bytes = Vec::new();
        let mut previous: &[u8] = &[];
        for name in names {
            put_difference(&mut bytes, previous, name.as_bytes());
            previous = name.as_bytes();
        }
        let (mut list, mut at) = (NameList::default(), 0);
        for name in names {
            let (found, next) = list.next(&bytes, at, What::Declaration).unwrap();
            assert_eq!(found, name);
            at = next;
        }
        assert_eq!(at, bytes.len());
        bytes.len()
    }

    #[test]
    fn names_come_back_and_patterned_ones_take_few_bytes() {
        let mut seed = 1_u64;
        let mut below = |limit: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            seed % limit
        };
        for _ in 0..2000 {
            let names: Vec<String> = (0..20)
                .map(|_| {
                    let parts = ["a", "b", "{", "\"", ",", "12", "7", "ä", "0000000000000000000"];
                    let long = below(9) == 0;
                    let count = below(if long { 60 } else { 9 });
                    let text = (0..count).map(|_| parts[below(9) as usize]).collect::<String>();
                    format!("n{text}")
                })
                .collect();
            round_trip(&names);
        }
        round_trip(&["x".repeat(1024), "y".repeat(1024), "x".into(), "\"".repeat(1024)]);
        let name = |n: u32| {
            let (line, site) = (n % 100, char::from(b'a' + (n % 8) as u8));
            format!("temp{{line=\"{line}\",sensor=\"s{n:06}\",site=\"{site}\"}}")
        };
        let names: Vec<String> = (100_000..110_000).map(name).collect();
        let per_name = round_trip(&names) as f64 / 10_000.0;
        println!("{per_name} bytes a name");
        assert!(per_name < 12.0);
    }

    #[test]
    fn any_bytes_are_a_list_or_an_error() {
        let mut seed = 99_u64;
        for _ in 0..100_000 {
            let mut bytes = [0; 48];
            for byte in &mut bytes {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                // Small numbers, so that much of it is valid.
                *byte = if seed & 1 == 0 { (seed >> 8) as u8 & 7 } else { (seed >> 8) as u8 };
            }
            let (mut list, mut at) = (NameList::default(), 0);
            while let Ok((name, next)) = list.next(&bytes, at, What::Declaration) {
                assert!(!name.is_empty() && name.len() <= NAME_BYTES_MAX && next > at);
                at = next;
            }
        }
    }
}
