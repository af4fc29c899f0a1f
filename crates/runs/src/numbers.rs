//! Sections of integers, cut into tiles that each decode on their own; pco does the coding.
//!
//! pco's own deltas and modes stay off: what a run stores are differences already, and a tile must
//! not need its neighbours. The narrowest of 16, 32 and 64 bits that holds every number is used.
//!
//! **Invariant:** a decoder sizes nothing by what pco's bytes say: a chunk that asks for another
//! mode or a delta of pco's is refused before it is parsed, so what is left is bounded by its
//! 15-bit count of bins. The fuzz target `run_page` gives it hostile bytes behind correct CRCs.

use crate::cursor::{Cursor, Plane, put_plane, put_signed, put_varint};
use crate::{Error, What};
use pco::data_types::Number;
use pco::wrapped::{ChunkDecompressor, FileCompressor, FileDecompressor};
use pco::{ChunkConfig, DecompressorScratch, DeltaSpec, ModeSpec, PagingSpec};
use std::cell::Cell;

/// What pco reads at most at once; a tile with fewer bytes behind it makes it copy, so the last
/// ones of a page are read from a padded copy of the page's end.
const TAIL_BYTES: usize = 4_700;

/// pco's format, 4.1: two bytes that its wrapped form leaves to the one who wraps.
pub(crate) const PCO_FORMAT: [u8; 2] = [4, 1];

/// pco's level where numbers are short. A higher one costs time to open a page and, with tiles of
/// 256, bytes: each tile starts with four states, and these grow.
const LEVEL: usize = 5;
/// Where they are long: floats that are no decimals take 2 % less than at 5.
const LEVEL_WIDE: usize = 8;

const CONSTANT: u8 = 0;
const BITS_16: u8 = 1;
const BITS_32: u8 = 2;
const BITS_64: u8 = 3;
const PACKED: u8 = 4;

/// Numbers of the narrowest width that holds them all.
#[derive(Debug)]
pub(crate) enum Numbers {
    Constant(i64),
    I16(Vec<i16>),
    I32(Vec<i32>),
    I64(Vec<i64>),
}

impl Numbers {
    /// Numbers between `least` and `most`, `count` of them.
    pub(crate) fn collect(
        least: i64,
        most: i64,
        count: usize,
        values: impl FnMut(&mut dyn FnMut(i64)),
    ) -> Self {
        let mut values = values;
        if least >= most {
            return Numbers::Constant(least);
        }
        macro_rules! typed {
            ($variant:ident, $type:ty) => {{
                let mut typed: Vec<$type> = Vec::with_capacity(count);
                values(&mut |value| typed.push(value as $type));
                Numbers::$variant(typed)
            }};
        }
        if i16::try_from(least).is_ok() && i16::try_from(most).is_ok() {
            typed!(I16, i16)
        } else if i32::try_from(least).is_ok() && i32::try_from(most).is_ok() {
            typed!(I32, i32)
        } else {
            typed!(I64, i64)
        }
    }

    pub(crate) fn from_slice(values: &[i64]) -> Self {
        let least = values.iter().copied().min().unwrap_or(0);
        let most = values.iter().copied().max().unwrap_or(0);
        Self::collect(least, most, values.len(), |put| values.iter().for_each(|v| put(*v)))
    }
}

/// Writes a section: form, then a constant, or pco's chunk, the tiles' lengths, and the tiles.
/// `tiles` are the numbers in each, none of them 0, and their sum is what `numbers` holds.
pub(crate) fn put_numbers(to: &mut Vec<u8>, numbers: &Numbers, tiles: Vec<usize>) {
    match numbers {
        Numbers::Constant(value) => {
            to.push(CONSTANT);
            put_signed(to, *value);
        }
        Numbers::I16(values) => put_typed(to, BITS_16, values, tiles),
        Numbers::I32(values) => put_typed(to, BITS_32, values, tiles),
        Numbers::I64(values) => put_typed(to, BITS_64, values, tiles),
    }
}

fn put_typed<T: Number>(to: &mut Vec<u8>, form: u8, values: &[T], tiles: Vec<usize>) {
    let count = tiles.len();
    let level = if form == BITS_64 { LEVEL_WIDE } else { LEVEL };
    let config = ChunkConfig::default()
        .with_compression_level(level)
        .with_mode_spec(ModeSpec::Classic)
        .with_delta_spec(DeltaSpec::NoOp)
        .with_paging_spec(PagingSpec::Exact(tiles));
    // Memory is the only thing written to, and the tiles fit the numbers, so this cannot fail; if
    // it did, the section would be empty and its page refused by every reader, never wrong.
    let Ok(mut chunk) = FileCompressor::default().chunk_compressor(values, &config) else { return };
    let (mut meta, mut lengths) = (Vec::new(), Vec::with_capacity(count));
    let Ok(_) = chunk.write_meta(&mut meta) else { return };
    let mut tiles = Vec::with_capacity(values.len());
    for index in 0..count {
        let before = tiles.len();
        let Ok(_) = chunk.write_page(index, &mut tiles) else { return };
        lengths.push((tiles.len() - before) as u64);
    }
    to.push(form);
    put_varint(to, meta.len() as u64);
    to.extend_from_slice(&meta);
    put_plane(to, &lengths);
    put_varint(to, tiles.len() as u64);
    to.extend_from_slice(&tiles);
}

/// Writes a section that is small beside the page and of which readers want single numbers: packed
/// bits, any of which can be read alone and without pco's tables, unless that takes a quarter more.
pub(crate) fn put_few(to: &mut Vec<u8>, values: &[i64], tiles: Vec<usize>) {
    let numbers = Numbers::from_slice(values);
    if matches!(numbers, Numbers::Constant(_)) {
        return put_numbers(to, &numbers, tiles);
    }
    let least = values.iter().copied().min().unwrap_or(0);
    let above: Vec<u64> = values.iter().map(|v| v.wrapping_sub(least) as u64).collect();
    let mut packed = vec![PACKED];
    put_signed(&mut packed, least);
    put_plane(&mut packed, &above);
    if values.len() > 64 {
        let mut coded = Vec::new();
        put_numbers(&mut coded, &numbers, tiles);
        if packed.len() > coded.len() / 4 * 5 {
            packed = coded;
        }
    }
    to.extend_from_slice(&packed);
}

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
            offset: source.base + at as u64,
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
        offset: source.base + at as u64,
        reason: error.message,
    };
    let (file, _) = FileDecompressor::new(PCO_FORMAT.as_slice()).map_err(refused)?;
    let (chunk, _) = file.chunk_decompressor::<T, _>(source.from(at)).map_err(refused)?;
    Ok(chunk)
}
