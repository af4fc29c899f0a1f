//! The footer of a file, before the `parquet` crate makes a tree of it: how deep it nests and how much
//! memory it will take.
//!
//! A footer of 50 bytes may say that it has two thousand million columns, and each level of its schema
//! is a call within a call. Here it is only walked.
//!
//! Invariant: a footer that is let through takes at most [`Footer::memory_bytes`]. Held by
//! `a_small_parquet_file_takes_little_memory` (`tests/bounds.rs`).

use super::compact::{Place, Seen, Walk};
use crate::{Error, Result};
use parquet::file::reader::{ChunkReader, Length};
use std::fs::File;

/// Bytes of the length and the mark at the end of a file.
const TAIL_BYTES: u64 = 8;
/// Levels of a schema at most.
const DEPTH_MAX: usize = 64;
/// Row groups at most: more have no number in the format.
const ROW_GROUPS_MAX: usize = 1 << 15;

/// What a built element takes at most, beside its texts. Measured.
const SCHEMA_ELEMENT_BYTES: u64 = 1_400;
const ROW_GROUP_BYTES: u64 = 600;
const COLUMN_CHUNK_BYTES: u64 = 1_000;
const SMALL_BYTES: u64 = 80;
/// A value of a list: counts have 8 bytes each, and one in the file.
const VALUE_BYTES: u64 = 8;

/// What a footer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Footer {
    /// What it takes when it is built, itself included.
    pub(super) memory_bytes: u64,
}

/// Error of a file that is not what the format says.
pub(super) fn damaged(what: &str) -> Error {
    Error::Layout { found: format!("{what} (damaged)"), expected: "a Parquet file" }
}

impl Footer {
    /// Walks the footer of a file. `room_bytes` is what it may take.
    pub(super) fn read(file: &File, room_bytes: u64) -> Result<Self> {
        let file_bytes = file.len();
        let tail_at = file_bytes.checked_sub(TAIL_BYTES).ok_or_else(|| damaged("no footer"))?;
        let tail = file.get_bytes(tail_at, TAIL_BYTES as usize)?;
        let (length, mark) = tail.split_at(4);
        let length = length.try_into().map_or(0, u32::from_le_bytes);
        if mark != b"PAR1" || u64::from(length) > tail_at {
            // The reader knows the other marks, and says what is wrong.
            return Ok(Footer::default());
        }
        let mut footer = Footer { memory_bytes: 2 * u64::from(length) };
        super::bound::check(footer.memory_bytes, room_bytes, "a footer")?;
        let bytes = file.get_bytes(tail_at - u64::from(length), length as usize)?;
        let mut schema = Schema::default();
        let seen = Walk::new(&bytes).walk(Place::File, &mut |place, id, seen| {
            footer.memory_bytes += match (place, id, seen) {
                (Place::File, 4, Seen::List(count)) if count > ROW_GROUPS_MAX => return None,
                (Place::File, 2, Seen::List(count)) => {
                    schema.begin(count)?;
                    count as u64 * SCHEMA_ELEMENT_BYTES
                }
                (Place::File, 4, Seen::List(count)) => count as u64 * ROW_GROUP_BYTES,
                (Place::RowGroup, 1, Seen::List(count)) => count as u64 * COLUMN_CHUNK_BYTES,
                (_, _, Seen::List(count)) => count as u64 * SMALL_BYTES,
                (_, _, Seen::Values(count)) => count as u64 * VALUE_BYTES,
                (_, _, Seen::Bytes(bytes)) => 2 * bytes as u64,
                (Place::SchemaElement, 5, Seen::Number(children)) => {
                    schema.children = children;
                    0
                }
                (Place::SchemaElement, 0, Seen::End) => {
                    schema.element()?;
                    // The path of a column names all levels.
                    schema.open.len() as u64 * 48
                }
                _ => 0,
            };
            Some(())
        });
        seen.ok_or_else(|| damaged("a footer whose lists or levels cannot be"))?;
        super::bound::check(footer.memory_bytes, room_bytes, "a footer")?;
        Ok(footer)
    }
}

/// The schema's tree, of which the elements come parents first.
#[derive(Debug, Default)]
struct Schema {
    /// Children still to come, of each level.
    open: Vec<usize>,
    /// Elements that may still be somebody's children.
    left: usize,
    children: i64,
}

impl Schema {
    fn begin(&mut self, elements: usize) -> Option<()> {
        *self = Schema { left: elements, ..Schema::default() };
        Some(())
    }

    fn element(&mut self) -> Option<()> {
        if let Some(last) = self.open.last_mut() {
            *last -= 1;
        }
        // As its reader takes it: of 32 bits.
        let children = usize::try_from(std::mem::take(&mut self.children) as i32).ok()?;
        // All children are elements, so a sum above their number is a lie.
        self.left = self.left.checked_sub(children)?;
        if children > 0 {
            self.open.push(children);
        }
        while self.open.last() == Some(&0) {
            self.open.pop();
        }
        (self.open.len() <= DEPTH_MAX).then_some(())
    }
}
