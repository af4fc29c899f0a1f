//! Reading and writing the heads of pages and the index: bytes, varints, bit-packed planes.
//! A read behind the end is an error with the file's offset, never a panic.

use crate::{Error, What};

/// Reads fields one after another.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    what: What,
    base: u64,
}

impl<'a> Cursor<'a> {
    /// From `at` on in `bytes`, which lie at `base` in the file.
    pub(crate) fn new(what: What, base: u64, bytes: &'a [u8], at: usize) -> Self {
        Cursor { bytes, at, what, base }
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn offset(&self) -> u64 {
        self.base.saturating_add(self.at as u64)
    }

    pub(crate) fn take(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], Error> {
        let end = self.at.checked_add(count);
        let Some(bytes) = end.and_then(|end| self.bytes.get(self.at..end)) else {
            return Err(Error::Truncated {
                what: self.what,
                field,
                offset: self.offset(),
                expected: count as u64,
                found: self.bytes.len().saturating_sub(self.at) as u64,
            });
        };
        self.at += count;
        Ok(bytes)
    }

    pub(crate) fn byte(&mut self, field: &'static str) -> Result<u8, Error> {
        Ok(self.take(field, 1)?.first().copied().unwrap_or(0))
    }

    pub(crate) fn u32(&mut self, field: &'static str) -> Result<u32, Error> {
        Ok(u32::from_le_bytes(self.array(field)?))
    }

    pub(crate) fn u64(&mut self, field: &'static str) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array(field)?))
    }

    pub(crate) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], Error> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(field, N)?);
        Ok(array)
    }

    pub(crate) fn varint(&mut self, field: &'static str) -> Result<u64, Error> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte(field)?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.out_of_range(field, u64::MAX, u64::MAX))
    }

    pub(crate) fn signed(&mut self, field: &'static str) -> Result<i64, Error> {
        Ok(unzigzag(self.varint(field)?))
    }

    /// A varint that may be `limit` at most.
    pub(crate) fn count(&mut self, field: &'static str, limit: usize) -> Result<usize, Error> {
        let found = self.varint(field)?;
        if found > limit as u64 {
            return Err(self.out_of_range(field, limit as u64, found));
        }
        Ok(found as usize)
    }

    pub(crate) fn out_of_range(&self, field: &'static str, limit: u64, found: u64) -> Error {
        Error::OutOfRange { what: self.what, field, offset: self.offset(), limit, found }
    }

    pub(crate) fn expect(
        &self,
        field: &'static str,
        expected: u64,
        found: u64,
    ) -> Result<(), Error> {
        if expected == found {
            return Ok(());
        }
        Err(Error::Mismatch { what: self.what, field, offset: self.offset(), expected, found })
    }

    /// A plane of `count` numbers that [`put_plane`] wrote.
    pub(crate) fn plane(&mut self, field: &'static str, count: usize) -> Result<Plane<'a>, Error> {
        if count == 0 {
            return Ok(Plane::default());
        }
        let least = self.varint(field)?;
        let width = self.byte(field)?;
        if width > 64 {
            return Err(self.out_of_range(field, 64, u64::from(width)));
        }
        let bytes = self.take(field, (count * usize::from(width)).div_ceil(8))?;
        Ok(Plane { bytes, least, width: u32::from(width) })
    }
}

/// Numbers of one width, each less the least of them; any can be read without the others.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Plane<'a> {
    bytes: &'a [u8],
    least: u64,
    width: u32,
}

impl Plane<'_> {
    /// Number `index`; behind the end it is what zeros would say.
    #[inline]
    pub(crate) fn get(&self, index: usize) -> u64 {
        if self.width == 0 {
            return self.least;
        }
        let bit = index * self.width as usize;
        let (byte, shift) = (bit / 8, (bit % 8) as u32);
        let mask = u64::MAX >> (64 - self.width);
        let word = match self.bytes.get(byte..).and_then(|bytes| bytes.first_chunk::<8>()) {
            Some(word) if shift + self.width <= 64 => u64::from_le_bytes(*word) >> shift,
            _ => self.slow(byte, shift),
        };
        self.least.wrapping_add(word & mask)
    }

    /// Hands out `count` numbers from `first` on: several at a time cost half of [`Plane::get`].
    #[inline]
    pub(crate) fn each(&self, first: usize, count: usize, mut put: impl FnMut(u64)) {
        let (width, least) = (self.width as usize, self.least);
        let mut index = first;
        let end = first + count;
        if (1..=57).contains(&width) {
            // Up to 57 bits lie in the 8 bytes from their first byte on.
            let mask = u64::MAX >> (64 - width);
            while index < end {
                let bit = index * width;
                let Some(word) = self.bytes.get(bit / 8..).and_then(|b| b.first_chunk::<8>())
                else {
                    break;
                };
                put(least.wrapping_add((u64::from_le_bytes(*word) >> (bit % 8)) & mask));
                index += 1;
            }
        }
        (index..end).for_each(|index| put(self.get(index)));
    }

    /// Sum of the numbers in `range`.
    pub(crate) fn sum(&self, range: std::ops::Range<usize>) -> u64 {
        range.fold(0, |sum, index| sum.saturating_add(self.get(index)))
    }

    /// Whether all numbers are the same.
    pub(crate) fn is_constant(&self) -> bool {
        self.width == 0
    }

    #[cold]
    fn slow(&self, byte: usize, shift: u32) -> u64 {
        let mut word = [0; 16];
        let rest = self.bytes.get(byte..).unwrap_or(&[]);
        let count = rest.len().min(16);
        if let (Some(to), Some(from)) = (word.get_mut(..count), rest.get(..count)) {
            to.copy_from_slice(from);
        }
        (u128::from_le_bytes(word) >> shift) as u64
    }
}

pub(crate) fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

pub(crate) fn put_signed(to: &mut Vec<u8>, value: i64) {
    put_varint(to, zigzag(value));
}

/// Least, width, and the numbers less the least, bit-packed. Nothing at all for no numbers.
pub(crate) fn put_plane(to: &mut Vec<u8>, values: &[u64]) {
    let (Some(least), Some(most)) = (values.iter().min(), values.iter().max()) else { return };
    let width = 64 - (most - least).leading_zeros();
    put_varint(to, *least);
    to.push(width as u8);
    let (mut word, mut bits) = (0_u128, 0);
    for value in values {
        word |= u128::from(value - least) << bits;
        bits += width;
        while bits >= 8 {
            to.push(word as u8);
            word >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        to.push(word as u8);
    }
}

#[inline]
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

#[inline]
pub(crate) fn unzigzag(value: u64) -> i64 {
    ((value >> 1) as i64) ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_of_every_width_read_back() {
        for width in 0..=64_u32 {
            let top = if width == 0 { 0 } else { u64::MAX >> (64 - width) };
            let values: Vec<u64> =
                (0..100).map(|n: u64| top.wrapping_mul(n * n + 1) & top).collect();
            let mut bytes = Vec::new();
            put_plane(&mut bytes, &values);
            let mut cursor = Cursor::new(What::Page, 0, &bytes, 0);
            let plane = cursor.plane("test", values.len()).unwrap();
            assert_eq!(cursor.at(), bytes.len());
            assert_eq!((0..100).map(|n| plane.get(n)).collect::<Vec<_>>(), values);
            for (first, count) in [(0, 100), (3, 50), (99, 1), (100, 0), (40, 60)] {
                let mut found = Vec::new();
                plane.each(first, count, |value| found.push(value));
                assert_eq!(found, values[first..first + count]);
            }
            assert!(Cursor::new(What::Page, 0, &bytes[..1], 0).plane("test", 100).is_err());
        }
    }

    #[test]
    fn varints_read_back_and_end_where_the_bytes_end() {
        for value in [0, 1, 127, 128, u64::from(u32::MAX), u64::MAX] {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, value);
            assert_eq!(Cursor::new(What::Page, 0, &bytes, 0).varint("test"), Ok(value));
            let short = &bytes[..bytes.len() - 1];
            assert!(Cursor::new(What::Page, 0, short, 0).varint("test").is_err());
            assert_eq!(unzigzag(zigzag(value as i64)), value as i64);
        }
    }
}
