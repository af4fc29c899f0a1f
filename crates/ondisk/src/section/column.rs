//! A column of integers: frame of reference and bit packing in mini-blocks of 128, each with its
//! own least value and width. Format: `docs/format.md`, "Sample section".
//!
//! Every 64-bit pattern round-trips, since sums and differences wrap. The reader knows the count
//! before it looks, so no byte of the column sizes anything.

use super::pack::{MINI, PACKED_BYTES, Packed, is_width, pack, packed_bytes, unpack, width_for};
use crate::varint::{put_varint, unzigzag, varint_at, zigzag};
use crate::{Error, What};

/// How a column is stored: the low bits of its first byte.
const CONSTANT: u8 = 0;
const OFFSETS: u8 = 1;
const DIFFERENCES: u8 = 2;
/// Units of which all offsets are multiples; the number in bits 4 and 5 of the first byte.
const UNITS: [i64; 4] = [1, 1_000, 1_000_000, 1_000_000_000];
/// Most bytes of a column's head, and of a mini-block's.
pub(super) const HEAD_BYTES_MAX: usize = 1 + 10;

/// What the writer tries beside offsets from the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Try {
    /// Nothing.
    Offsets,
    /// Differences from value to value; decimal units.
    Times,
    /// Decimal units.
    Spans,
}

/// Bytes being written.
#[derive(Debug)]
pub(super) struct Output<'a> {
    bytes: &'a mut [u8],
    at: usize,
}

impl<'a> Output<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Output { bytes, at: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.at
    }

    #[inline]
    fn byte(&mut self, byte: u8) -> Option<()> {
        *self.bytes.get_mut(self.at)? = byte;
        self.at += 1;
        Some(())
    }

    #[inline]
    fn signed(&mut self, value: i64) -> Option<()> {
        self.at = put_varint(self.bytes, self.at, zigzag(value))?;
        Some(())
    }

    #[inline]
    fn copy(&mut self, from: &[u8]) -> Option<()> {
        self.bytes.get_mut(self.at..self.at + from.len())?.copy_from_slice(from);
        self.at += from.len();
        Some(())
    }
}

#[inline]
fn bounds(values: &[i64]) -> (i64, i64) {
    values.iter().fold((i64::MAX, i64::MIN), |(low, high), v| (low.min(*v), high.max(*v)))
}

/// Bits of all mini-blocks, heads included, roughly.
fn cost(values: &[i64]) -> usize {
    let mini = |mini: &[i64]| {
        let (low, high) = bounds(mini);
        let least = u64::BITS - zigzag(low).leading_zeros();
        16 + least as usize + mini.len() * width_for(high.wrapping_sub(low) as u64) as usize
    };
    values.chunks(MINI).map(mini).sum()
}

/// The largest unit of which all differences from the first value are multiples.
fn unit_of(values: &[i64]) -> u8 {
    let Some(first) = values.first() else { return 0 };
    // Constants, so that no division is made.
    let thousands = |v: &i64| v.checked_sub(*first).is_some_and(|d| d % 1_000 == 0);
    let millions = |v: &i64| v.wrapping_sub(*first) % 1_000_000 == 0;
    let billions = |v: &i64| v.wrapping_sub(*first) % 1_000_000_000 == 0;
    if !values.iter().all(thousands) {
        return 0;
    }
    if values.iter().all(billions) {
        3
    } else if values.iter().all(millions) {
        2
    } else {
        1
    }
}

/// Writes a column; `None` if it does not fit. `spare` has room for as many values.
pub(super) fn put_column(
    to: &mut Output<'_>,
    values: &[i64],
    tries: Try,
    spare: &mut [i64],
    packed: &mut Packed,
) -> Option<()> {
    let Some(first) = values.first() else { return Some(()) };
    if values.iter().all(|value| value == first) {
        to.byte(CONSTANT)?;
        return to.signed(*first);
    }
    let unit = if tries == Try::Offsets { 0 } else { unit_of(values) };
    if tries == Try::Times {
        let spare = spare.get_mut(..values.len() - 1)?;
        for (place, pair) in spare.iter_mut().zip(values.windows(2)) {
            *place = pair.get(1)?.wrapping_sub(*pair.first()?);
        }
        if cost(spare) < cost(values) {
            to.byte(DIFFERENCES | unit << 4)?;
            to.signed(*values.first()?)?;
            return put_minis(to, spare, unit, packed);
        }
    }
    to.byte(OFFSETS | unit << 4)?;
    put_minis(to, values, unit, packed)
}

fn put_minis(to: &mut Output<'_>, values: &[i64], unit: u8, packed: &mut Packed) -> Option<()> {
    for mini in values.chunks(MINI) {
        let (low, high) = bounds(mini);
        let mut range = high.wrapping_sub(low) as u64;
        let mut divided = [0; MINI];
        let (mini, from) = if unit == 0 {
            (mini, low)
        } else {
            let mut divide = |divided_by: fn(u64) -> u64| {
                for (place, value) in divided.iter_mut().zip(mini) {
                    *place = divided_by(value.wrapping_sub(low) as u64) as i64;
                }
                range = divided_by(range);
            };
            match unit {
                1 => divide(|offset| offset / 1_000),
                2 => divide(|offset| offset / 1_000_000),
                _ => divide(|offset| offset / 1_000_000_000),
            }
            (divided.get(..mini.len())?, 0)
        };
        let width = width_for(range);
        to.byte(width as u8)?;
        to.signed(low)?;
        let bytes = pack(mini, from, width, packed);
        to.copy(packed.get(..bytes)?)?;
    }
    Some(())
}

/// Bytes being read; errors carry the offset in the section.
#[derive(Debug)]
pub(super) struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
    offset: u64,
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8], offset: u64) -> Self {
        Input { bytes, at: 0, offset }
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset + self.at as u64
    }

    /// Bytes that have not been read.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    fn short(&self) -> Error {
        Error::Truncated { what: What::Section, offset: self.offset(), expected: 1, found: 0 }
    }

    #[inline]
    fn byte(&mut self) -> Result<u8, Error> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.short())?;
        self.at += 1;
        Ok(byte)
    }

    #[inline]
    fn signed(&mut self) -> Result<i64, Error> {
        let (value, at) = varint_at(self.bytes, self.at).ok_or_else(|| self.short())?;
        self.at = at;
        Ok(unzigzag(value))
    }

    #[inline]
    fn take(&mut self, bytes: usize) -> Result<&'a [u8], Error> {
        let taken = self.bytes.get(self.at..self.at + bytes).ok_or_else(|| self.short())?;
        self.at += bytes;
        Ok(taken)
    }

    fn wrong(&self, field: &'static str, limit: u64, found: u64) -> Error {
        let (what, offset) = (What::Section, self.offset() - 1);
        Error::OutOfRange { what, field, offset, limit, found }
    }
}

/// Reads a column of `to.len()` integers.
pub(super) fn read_column(from: &mut Input<'_>, to: &mut [i64]) -> Result<(), Error> {
    let Some((first, rest)) = to.split_first_mut() else { return Ok(()) };
    let head = from.byte()?;
    let unit = UNITS.get(usize::from(head >> 4)).copied();
    let Some(unit) = unit.filter(|_| head & 0x0c == 0 && (head & 3 != CONSTANT || head == 0))
    else {
        return Err(from.wrong("form of a column", 0x32, u64::from(head)));
    };
    match head & 3 {
        CONSTANT => {
            *first = from.signed()?;
            rest.fill(*first);
            Ok(())
        }
        OFFSETS => read_minis(from, to, unit),
        DIFFERENCES => {
            *first = from.signed()?;
            let mut sum = *first;
            read_minis(from, rest, unit)?;
            for value in rest {
                sum = sum.wrapping_add(*value);
                *value = sum;
            }
            Ok(())
        }
        form => Err(from.wrong("form of a column", u64::from(DIFFERENCES), u64::from(form))),
    }
}

fn read_minis(from: &mut Input<'_>, to: &mut [i64], unit: i64) -> Result<(), Error> {
    let mut packed = [0; PACKED_BYTES];
    for mini in to.chunks_mut(MINI) {
        let width = u32::from(from.byte()?);
        if !is_width(width) {
            return Err(from.wrong("width", 64, u64::from(width)));
        }
        let low = from.signed()?;
        let bytes = from.take(packed_bytes(mini.len(), width))?;
        if let Some(place) = packed.get_mut(..bytes.len()) {
            place.copy_from_slice(bytes);
        }
        if unit == 1 {
            unpack(&packed, width, low, mini);
        } else {
            unpack(&packed, width, 0, mini);
            mini.iter_mut().for_each(|v| *v = low.wrapping_add(v.wrapping_mul(unit)));
        }
    }
    Ok(())
}
