//! Reading sections: any tile, or the first numbers of one.

use super::{BITS_16, BITS_32, BITS_64, CONSTANT, PACKED, PCO_FORMAT};
use crate::cursor::{Cursor, Plane};
use crate::{Error, What};
use pco::DecompressorScratch;
use pco::data_types::Number;
use pco::wrapped::{ChunkDecompressor, FileDecompressor};
use std::cell::Cell;

/// What pco reads at most at once; a tile with fewer bytes behind it makes it copy, so the last
/// ones of a page are read from a padded copy of the page's end.
const TAIL_BYTES: usize = 4_700;

/// A page's bytes, with a padded copy of their end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    pub(crate) page: &'a [u8],
    tail: &'a [u8],
    tail_at: usize,
    /// Offset of the page in the file.
    pub(crate) base: u64,
}

impl<'a> Source<'a> {
    pub(crate) fn new(page: &'a [u8], base: u64, tail: &'a mut Vec<u8>) -> Self {
        let tail_at = page.len().saturating_sub(TAIL_BYTES);
        tail.clear();
        tail.extend_from_slice(page.get(tail_at..).unwrap_or(&[]));
        tail.resize(tail.len() + TAIL_BYTES, 0);
        Source { page, tail, tail_at, base }
    }

    fn from(&self, at: usize) -> &'a [u8] {
        let bytes = match at.checked_sub(self.tail_at) {
            Some(at) => self.tail.get(at..),
            None => self.page.get(at..),
        };
        bytes.unwrap_or(&[])
    }

    pub(crate) fn cursor(&self, at: usize) -> Cursor<'a> {
        Cursor::new(What::Page, self.base, self.page, at)
    }
}

/// Buffers for decoded tiles, kept from page to page.
#[derive(Default, Debug)]
pub(crate) struct Scratch {
    pco: DecompressorScratch,
    i16: Vec<i16>,
    i32: Vec<i32>,
    i64: Vec<i64>,
}

/// Decoded numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tile<'a> {
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
}

/// A number of any tile as the widest type.
pub(crate) trait Wide: Copy {
    fn wide(self) -> i64;
}

impl Wide for i16 {
    #[inline]
    fn wide(self) -> i64 {
        i64::from(self)
    }
}

impl Wide for i32 {
    #[inline]
    fn wide(self) -> i64 {
        i64::from(self)
    }
}

impl Wide for i64 {
    #[inline]
    fn wide(self) -> i64 {
        self
    }
}

/// Runs `$body` with the numbers of a tile as a slice of their own type.
macro_rules! with_tile {
    ($tile:expr, $values:ident => $body:expr) => {
        match $tile {
            $crate::numbers::Tile::I16($values) => $body,
            $crate::numbers::Tile::I32($values) => $body,
            $crate::numbers::Tile::I64($values) => $body,
        }
    };
}
pub(crate) use with_tile;

enum Coder {
    Constant(i64),
    Packed(i64),
    I16(ChunkDecompressor<i16>),
    I32(ChunkDecompressor<i32>),
    I64(ChunkDecompressor<i64>),
}

/// A section of a page, ready to decode any of its tiles.
pub(crate) struct Section<'a> {
    coder: Coder,
    /// Bytes of each tile; of a packed section the numbers themselves.
    lengths: Plane<'a>,
    tiles_at: usize,
    /// The tile that was asked for last, and where it starts.
    last: Cell<(usize, usize)>,
    end: usize,
    field: &'static str,
}

impl std::fmt::Debug for Section<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Section({} {}..{})", self.field, self.tiles_at, self.end)
    }
}

impl<'a> Section<'a> {
    /// Reads the head of the section of `count` numbers in `tiles` tiles at the cursor, which moves
    /// behind the section.
    pub(crate) fn open(
        source: &Source<'a>,
        cursor: &mut Cursor<'a>,
        field: &'static str,
        tiles: usize,
        count: usize,
    ) -> Result<Self, Error> {
        let form = cursor.byte(field)?;
        let (mut lengths, mut tiles_at) = (Plane::default(), cursor.at());
        let mut open = |cursor: &mut Cursor<'a>| -> Result<usize, Error> {
            let meta_bytes = cursor.count(field, crate::limits::PAGE_BYTES_MAX)?;
            let meta_at = cursor.at();
            let meta = cursor.take(field, meta_bytes)?;
            // Classic mode and no delta, or pco would allocate what the bytes ask for.
            cursor.expect(field, 0, u64::from(meta.first().copied().unwrap_or(u8::MAX)))?;
            lengths = cursor.plane(field, tiles)?;
            // Of lengths that do not fit this, a tile is cut short, and pco says so.
            let bytes = cursor.count(field, crate::limits::PAGE_BYTES_MAX)?;
            tiles_at = cursor.at();
            cursor.take(field, bytes)?;
            Ok(meta_at)
        };
        let coder = match form {
            CONSTANT => Coder::Constant(cursor.signed(field)?),
            BITS_16 => Coder::I16(chunk(source, open(cursor)?, field)?),
            BITS_32 => Coder::I32(chunk(source, open(cursor)?, field)?),
            BITS_64 => Coder::I64(chunk(source, open(cursor)?, field)?),
            PACKED => {
                let least = cursor.signed(field)?;
                lengths = cursor.plane(field, count)?;
                Coder::Packed(least)
            }
            other => return Err(cursor.out_of_range(field, u64::from(PACKED), u64::from(other))),
        };
        let end = cursor.at();
        let last = Cell::new((0, tiles_at));
        Ok(Section { coder, lengths, tiles_at, last, end, field })
    }

    /// Where tile `index` starts in the page.
    pub(crate) fn tile_at(&self, index: usize) -> usize {
        match self.coder {
            Coder::Constant(_) | Coder::Packed(_) => self.tiles_at,
            _ => {
                let (last, at) = self.last.get();
                let (last, at) = if last <= index { (last, at) } else { (0, self.tiles_at) };
                let at = (at as u64).saturating_add(self.lengths.sum(last..index)) as usize;
                self.last.set((index, at));
                at
            }
        }
    }

    /// Where the tile behind tile `index`, which starts at `at`, starts.
    pub(crate) fn next_at(&self, index: usize, at: usize) -> usize {
        match self.coder {
            Coder::Constant(_) | Coder::Packed(_) => at,
            _ => at.saturating_add(self.lengths.get(index) as usize),
        }
    }

    /// Number `index` of the section, if it can be read alone.
    #[inline]
    pub(crate) fn alone(&self, index: usize) -> Option<i64> {
        match self.coder {
            Coder::Constant(value) => Some(value),
            Coder::Packed(least) => Some(least.wrapping_add(self.lengths.get(index) as i64)),
            _ => None,
        }
    }

    /// Hands out `count` numbers from `first` on, if they can be read alone; says whether.
    #[inline]
    pub(crate) fn each_alone(&self, first: usize, count: usize, mut put: impl FnMut(i64)) -> bool {
        match self.coder {
            Coder::Constant(value) => (0..count).for_each(|_| put(value)),
            Coder::Packed(least) => {
                self.lengths.each(first, count, |more| put(least.wrapping_add(more as i64)));
            }
            _ => return false,
        }
        true
    }

    /// Whether [`Section::alone`] is all that is needed: then there are no tiles to decode.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.coder, Coder::Constant(_) | Coder::Packed(_))
    }

    /// Decodes the first `wanted` of the `count` numbers of the tile at `at`.
    pub(crate) fn decode<'s>(
        &self,
        source: &Source<'a>,
        at: usize,
        count: usize,
        wanted: usize,
        scratch: &'s mut Scratch,
    ) -> Result<Tile<'s>, Error> {
        let wanted = wanted.min(count);
        // pco decodes batches of 256.
        let room = wanted.next_multiple_of(256).min(count);
        let Scratch { pco, i16, i32, i64 } = scratch;
        let tile = match &self.coder {
            // A packed section is read number by number; see `alone`.
            Coder::Constant(value) | Coder::Packed(value) => {
                i64.clear();
                i64.resize(wanted, *value);
                Tile::I64(i64)
            }
            Coder::I16(chunk) => Tile::I16(self.typed(source, chunk, at, count, room, pco, i16)?),
            Coder::I32(chunk) => Tile::I32(self.typed(source, chunk, at, count, room, pco, i32)?),
            Coder::I64(chunk) => Tile::I64(self.typed(source, chunk, at, count, room, pco, i64)?),
        };
        Ok(match tile {
            Tile::I16(values) => Tile::I16(values.get(..wanted).unwrap_or(values)),
            Tile::I32(values) => Tile::I32(values.get(..wanted).unwrap_or(values)),
            Tile::I64(values) => Tile::I64(values.get(..wanted).unwrap_or(values)),
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the scratch in its parts")]
    fn typed<'s, T: Number + Default>(
        &self,
        source: &Source<'a>,
        chunk: &ChunkDecompressor<T>,
        at: usize,
        count: usize,
        room: usize,
        pco: &mut DecompressorScratch,
        values: &'s mut Vec<T>,
    ) -> Result<&'s [T], Error> {
        if values.len() < room {
            values.resize(room, T::default());
        }
        let values = values.get_mut(..room).unwrap_or(&mut []);
        let refused = |reason: String| Error::Codec {
            what: What::Page,
            field: self.field,
            offset: source.base.saturating_add(at as u64),
            reason,
        };
        if room > 0 {
            let mut page = chunk
                .page_decompressor_with_scratch(source.from(at), count, pco)
                .map_err(|error| refused(error.message))?;
            let progress = page.read(values).map_err(|error| refused(error.message))?;
            if progress.n_processed != room {
                return Err(refused(format!("expected {room} numbers, found fewer")));
            }
        }
        Ok(values)
    }
}

fn chunk<T: Number>(
    source: &Source<'_>,
    at: usize,
    field: &'static str,
) -> Result<ChunkDecompressor<T>, Error> {
    let refused = |error: pco::errors::PcoError| Error::Codec {
        what: What::Page,
        field,
        offset: source.base.saturating_add(at as u64),
        reason: error.message,
    };
    let (file, _) = FileDecompressor::new(PCO_FORMAT.as_slice()).map_err(refused)?;
    let (chunk, _) = file.chunk_decompressor::<T, _>(source.from(at)).map_err(refused)?;
    Ok(chunk)
}
