//! Sections of integers, cut into tiles that each decode on their own; pco does the coding.
//!
//! pco's own deltas and modes stay off: what a run stores are differences already, and a tile must
//! not need its neighbours. The narrowest of 16, 32 and 64 bits that holds every number is used.
//!
//! **Invariant:** a decoder sizes nothing by what pco's bytes say: a chunk that asks for another
//! mode or a delta of pco's is refused before it is parsed, so what is left is bounded by its
//! 15-bit count of bins. The fuzz target `run_page` gives it hostile bytes behind correct CRCs.

mod section;

pub(crate) use section::{Scratch, Section, Source, Tile, Wide, with_tile};

use crate::cursor::{put_plane, put_signed, put_varint};
use pco::data_types::Number;
use pco::wrapped::FileCompressor;
use pco::{ChunkConfig, DeltaSpec, ModeSpec, PagingSpec};

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
