//! Whether a page, unpacked, has as many levels and values as its header says.
//!
//! Its reader takes what the header says and leaves the rest, so a page that has more would shift its
//! column by a row against the others. Runs are counted and not unpacked: a page of a million rows has some
//! hundred of them.
//!
//! Invariant: rows of a page are handed out only if it has just as many. What writers put behind the
//! last value so that bytes are whole is let pass. Held by
//! `levels_and_values_of_every_encoding_are_counted` (`tests/packed.rs`).

use super::compact::Walk;
use super::delta;
use super::pages::{DATA_PAGE, Header};
use parquet::basic::Type;
use parquet::schema::types::ColumnDescriptor;

/// Numbers of the format.
const PLAIN: i32 = 0;
const PLAIN_DICTIONARY: i32 = 2;
const RLE: i32 = 3;
const DELTA_BINARY_PACKED: i32 = 5;
const DELTA_BYTE_ARRAY: i32 = 7;
const RLE_DICTIONARY: i32 = 8;
const BYTE_STREAM_SPLIT: i32 = 9;

/// Values that a run of bits has behind the last one at most, whatever they are: most writers fill eights or
/// words of 32, and DuckDB 256 with what was there before.
const BEHIND_MAX: u64 = 256;
/// What fastparquet leaves behind plain values.
const TAIL: &[u8] = &[0; 8];

/// None if there are more or fewer; `page` are its bytes, of a column without lists.
pub(super) fn matching(header: &Header, page: &[u8], column: &ColumnDescriptor) -> Option<()> {
    let rows = u64::try_from(header.values).ok()?;
    let is_optional = column.max_def_level() > 0;
    let (levels, values) = match header.kind {
        DATA_PAGE if is_optional => long(page)?,
        DATA_PAGE => page.split_at(0),
        _ => {
            let (definition, repetition) = header.levels.unwrap_or_default();
            let behind = page.get(usize::try_from(repetition).ok()?..)?;
            behind.split_at_checked(usize::try_from(definition).ok()?)?
        }
    };
    let there = match is_optional {
        true => ones(levels, 1, rows)?,
        false => rows,
    };
    // Of no values some writers write nothing, others an empty form.
    if there == 0 {
        return Some(());
    }
    let behind = |bytes: u64| values.get(usize::try_from(there.checked_mul(bytes)?).ok()?..);
    let bytes = match column.physical_type() {
        Type::INT32 | Type::FLOAT => Some(4),
        Type::INT64 | Type::DOUBLE => Some(8),
        Type::INT96 => Some(12),
        Type::FIXED_LEN_BYTE_ARRAY => Some(u64::try_from(column.type_length()).ok()?),
        Type::BOOLEAN | Type::BYTE_ARRAY => None,
    };
    match (header.encoding, bytes) {
        (PLAIN, Some(bytes)) => matches!(behind(bytes)?, b"" | TAIL).then_some(()),
        // How many there are decides where each byte is.
        (BYTE_STREAM_SPLIT, Some(bytes)) => behind(bytes)?.is_empty().then_some(()),
        (PLAIN, None) if column.physical_type() == Type::BYTE_ARRAY => {
            let mut rest = values;
            (0..there).try_for_each(|_| long(rest).map(|(_, behind)| rest = behind))?;
            matches!(rest, b"" | TAIL).then_some(())
        }
        // Truth values are bits, and one writer adds a byte where eights are full.
        (PLAIN, None) => {
            let tail = values.get(usize::try_from(there.div_ceil(8)).ok()?..)?;
            (tail.strip_suffix(TAIL).unwrap_or(tail).len() <= 1).then_some(())
        }
        (PLAIN_DICTIONARY | RLE_DICTIONARY, _) => {
            let (width, runs) = values.split_first()?;
            ones(runs, u32::from(*width), there).map(drop)
        }
        (RLE, None) => ones(long(values)?.0, 1, there).map(drop),
        (DELTA_BINARY_PACKED..=DELTA_BYTE_ARRAY, _) => {
            (delta::count(values)? == there).then_some(())
        }
        // Its reader knows no other.
        _ => Some(()),
    }
}

/// Bytes behind a length of 32 bits, and those behind them.
fn long(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(u32::from_le_bytes(*length) as usize)
}

/// How many of `count` numbers of `width` bits are not 0, of width 1; None if there are more or fewer.
fn ones(runs: &[u8], width: u32, count: u64) -> Option<u64> {
    let (mut left, mut ones) = (count, 0);
    let mut walk = Walk::new(runs);
    while left > 0 {
        let head = walk.varint()?;
        let many = head >> 1;
        if head & 1 == 0 {
            let value = walk.take(width.div_ceil(8) as usize)?;
            left = left.checked_sub(many)?;
            ones += many * u64::from(value.iter().any(|byte| *byte != 0));
            continue;
        }
        let room = many.checked_mul(8)?;
        let used = left.min(room);
        if room - used > BEHIND_MAX {
            return None;
        }
        // Some writers leave away what is behind the last value.
        let whole = usize::try_from(many.checked_mul(u64::from(width))?).ok()?;
        let bytes = walk.take(whole.min(walk.left()))?;
        if (bytes.len() as u64).checked_mul(8)? < used.checked_mul(u64::from(width))? {
            return None;
        }
        if width == 1 {
            let (full, part) = bytes.split_at((used / 8) as usize);
            ones += full.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
            let mask = (1_u8 << (used % 8)) - 1;
            ones += part.first().map_or(0, |byte| u64::from((byte & mask).count_ones()));
        }
        left -= used;
    }
    // Runs of nothing are nothing.
    walk.take(walk.left())?.iter().all(|byte| *byte == 0).then_some(ones)
}
