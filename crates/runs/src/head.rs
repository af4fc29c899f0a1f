//! What every page begins with: its shape, how its integers stand for values, which series it holds,
//! and the few values that are kept beside.

use crate::cursor::{Cursor, Plane, put_plane, put_varint};
use crate::domain::{Domain, Patch};
use crate::limits::PAGE_SAMPLES_MAX;
use crate::numbers::{PCO_FORMAT, Source};
use crate::{Error, PageEntry};
use baro_ondisk::Type;

/// Bytes of the CRC in front of a page.
pub(crate) const CRC_BYTES: usize = 4;

/// How a page's samples lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Every series has the same times.
    Grid = 1,
    /// Every series has its own.
    Ragged = 2,
}

/// Number of a type in pages and index; 0 for none.
pub(crate) fn type_from(number: u8) -> Option<Type> {
    [Type::F64, Type::I64, Type::Bool, Type::Text].into_iter().find(|kind| *kind as u8 == number)
}

/// Writes the head; the CRC in front of it comes last, with [`seal`].
pub(crate) fn put_head(
    to: &mut Vec<u8>,
    shape: Shape,
    kind: Type,
    domain: Domain,
    ids: &[u32],
    patches: &[Patch],
) {
    to.extend_from_slice(&[0; CRC_BYTES]);
    to.extend_from_slice(&[shape as u8, kind as u8]);
    to.extend_from_slice(&domain.bytes());
    to.extend_from_slice(&PCO_FORMAT);
    put_varint(to, ids.len() as u64);
    put_varint(to, u64::from(ids.first().copied().unwrap_or(0)));
    let gaps: Vec<u64> = ids
        .windows(2)
        .map(|pair| match pair {
            [a, b] => u64::from(b.wrapping_sub(*a).wrapping_sub(1)),
            _ => 0,
        })
        .collect();
    put_plane(to, &gaps);
    put_varint(to, patches.len() as u64);
    put_plane(to, &patches.iter().map(|patch| u64::from(patch.0)).collect::<Vec<_>>());
    put_plane(to, &patches.iter().map(|patch| patch.1).collect::<Vec<_>>());
}

/// Puts the CRC in front of the page that starts at `at` in `to`; `seed` is of run and offset.
pub(crate) fn seal(page: &mut [u8], seed: u32) {
    if let Some((crc, body)) = page.split_first_chunk_mut::<CRC_BYTES>() {
        *crc = baro_ondisk::crc32c(seed, body).to_le_bytes();
    }
}

/// The head of a page.
#[derive(Debug)]
pub(crate) struct Head<'a> {
    pub(crate) shape: Shape,
    pub(crate) kind: Type,
    pub(crate) domain: Domain,
    pub(crate) ids: Ids<'a>,
}

impl<'a> Head<'a> {
    /// Reads the head; patches go to `patches`.
    pub(crate) fn open(
        source: &Source<'a>,
        cursor: &mut Cursor<'a>,
        entry: &PageEntry,
        patches: &mut Vec<Patch>,
    ) -> Result<Self, Error> {
        let shape = match cursor.byte("shape")? {
            1 => Shape::Grid,
            2 => Shape::Ragged,
            other => return Err(cursor.out_of_range("shape", 2, u64::from(other))),
        };
        let number = cursor.byte("type")?;
        cursor.expect("type", entry.kind as u64, u64::from(number))?;
        let [domain, parameter] = cursor.array("domain")?;
        let Some(domain) = Domain::from_bytes([domain, parameter]) else {
            return Err(cursor.out_of_range("domain", 2, u64::from(domain)));
        };
        if (entry.kind == Type::F64) == (domain == Domain::Integer) {
            return Err(cursor.out_of_range("domain", 2, u64::from(domain.bytes()[0])));
        }
        let format = cursor.array("codec")?;
        let number = |format| u64::from(u16::from_le_bytes(format));
        cursor.expect("codec", number(PCO_FORMAT), number(format))?;
        let count = cursor.count("series", PAGE_SAMPLES_MAX)?;
        if count == 0 {
            return Err(cursor.out_of_range("series", PAGE_SAMPLES_MAX as u64, 0));
        }
        let first = cursor.varint("first series")?;
        cursor.expect("first series", u64::from(entry.first_series), first)?;
        let gaps = cursor.plane("series", count - 1)?;
        let ids = Ids { first: entry.first_series, count, gaps };
        let last = ids.last();
        cursor.expect("last series", u64::from(entry.last_series), last)?;
        let patched = cursor.count("patches", PAGE_SAMPLES_MAX)?;
        let places = cursor.plane("patches", patched)?;
        let values = cursor.plane("patches", patched)?;
        patches.clear();
        for index in 0..patched {
            let place = places.get(index);
            let before = patches.last().map_or(0, |patch: &Patch| u64::from(patch.0) + 1);
            if place < before || place >= u64::from(entry.samples) {
                return Err(cursor.out_of_range("patches", u64::from(entry.samples), place));
            }
            patches.push((place as u32, values.get(index)));
        }
        let _ = source;
        Ok(Head { shape, kind: entry.kind, domain, ids })
    }
}

/// The series of a page, ascending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ids<'a> {
    first: u32,
    pub(crate) count: usize,
    gaps: Plane<'a>,
}

impl Ids<'_> {
    fn last(&self) -> u64 {
        let first = u64::from(self.first);
        if self.gaps.is_constant() {
            let gap = self.gaps.get(0).saturating_add(1);
            return gap.saturating_mul(self.count as u64 - 1).saturating_add(first);
        }
        (0..self.count - 1)
            .fold(first, |id, index| id.saturating_add(self.gaps.get(index)).saturating_add(1))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + use<'_> {
        let mut id = self.first;
        (0..self.count).map(move |index| {
            if index > 0 {
                id = id.wrapping_add(self.gaps.get(index - 1) as u32).wrapping_add(1);
            }
            id
        })
    }

    /// The place of a series in the page.
    pub(crate) fn position(&self, series: u32) -> Option<usize> {
        let after = series.checked_sub(self.first)? as usize;
        if self.gaps.is_constant() {
            let step = self.gaps.get(0) as usize + 1;
            return (after.is_multiple_of(step) && after / step < self.count)
                .then_some(after / step);
        }
        self.iter().position(|id| id == series)
    }
}
