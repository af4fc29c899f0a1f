//! How much memory a file will take, and how many rows at once it is therefore read by.
//!
//! A column of a file is held as the page it is read from, its dictionary, and the rows of a batch. All
//! of that is known from headers before any of it is read, so a file either fits or is refused, and
//! rows at once are few where they are large. Texts are views into their pages (`Utf8View`): one of 8
//! MiB that 8,192 rows have is there once.
//!
//! Invariant: reading takes at most 48 MiB and three times the file, and a column's pages have as many
//! values as there are rows before the first row is handed out. Held by
//! `a_small_parquet_file_takes_little_memory` (`tests/bounds.rs`) and
//! `a_page_that_miscounts_its_values_pairs_none_with_another_time` (`tests/packed.rs`).

use super::pages::{Page, pages};
use crate::{Error, Result};
use parquet::file::metadata::ParquetMetaData;
use parquet::file::reader::Length;
use std::fs::File;

/// What a file may take: this, and so many times its own size. docs/limits.md has both.
const ROOM_BYTES: u64 = 48 << 20;
const ROOM_TIMES: u64 = 3;
/// A page that every file may have: writers make them of 1 MiB, dictionaries too.
pub(super) const PAGE_BYTES_MAX: u64 = 16 << 20;
/// Rows at once: at most 2 to this power.
const ROWS_POWER: usize = 13;
/// Of the room for the rows of a batch.
const BATCH_SHARE: u64 = 2;
/// What a column's reader takes beside its pages, and what a row takes in each column: value, place,
/// levels, and what grows is doubled. Measured.
const COLUMN_BYTES: u64 = 6 << 10;
const CELL_BYTES: u64 = 40;

/// What a file may take.
pub(super) fn room_bytes(file_bytes: u64) -> u64 {
    ROOM_BYTES.saturating_add(file_bytes.saturating_mul(ROOM_TIMES))
}

/// Refuses what takes more than there is room for.
pub(super) fn check(bytes: u64, room_bytes: u64, what: &str) -> Result<()> {
    if bytes <= room_bytes {
        return Ok(());
    }
    Err(Error::Layout {
        found: format!(
            "{what} that takes {} MiB of memory, more than {} MiB",
            bytes >> 20,
            room_bytes >> 20
        ),
        expected: "a file that is read in 48 MiB of memory and three times its size (write it with \
                   smaller pages and dictionaries, or with fewer columns)",
    })
}

/// Rows at once by which these columns of a file fit into what is left of its room.
pub(super) fn rows_at_once(
    file: &File,
    metadata: &ParquetMetaData,
    columns: &[usize],
    room_bytes: u64,
    taken_bytes: u64,
) -> Result<usize> {
    let mut standing_bytes = taken_bytes;
    let mut moving = [0_u64; ROWS_POWER + 1];
    let mut all = Vec::new();
    for column in columns {
        all.clear();
        let is_text = is_text(metadata, *column);
        let mut largest = 0;
        // Such a file would have more pages than bytes.
        let chunks = metadata.row_groups().iter().filter_map(|group| group.columns().get(*column));
        let bytes = chunks.map(|chunk| u64::try_from(chunk.compressed_size()).unwrap_or(0));
        if bytes.fold(0, u64::saturating_add) > file.len() {
            return Err(super::footer::damaged("row groups that share their pages"));
        }
        for (number, group) in (1..).zip(metadata.row_groups()) {
            let Some(chunk) = group.columns().get(*column) else { continue };
            let (mut dictionary, mut page, mut rows) = (0_u64, 0_u64, 0_u64);
            pages(file, chunk, number, room_bytes, |found| {
                rows += found.rows;
                match found.rows {
                    0 => dictionary += found.memory_bytes,
                    _ => page = page.max(found.memory_bytes),
                }
                if is_text {
                    all.push(found);
                    let bytes = (all.capacity() * size_of::<Page>()) as u64;
                    check(standing_bytes.saturating_add(bytes), room_bytes, "pages of a column")?;
                }
                Ok(())
            })?;
            // Else its values would be those of other rows.
            let column = chunk.column_descr();
            if column.max_rep_level() == 0 && u64::try_from(group.num_rows()) != Ok(rows) {
                let many = group.num_rows();
                return Err(Error::Column {
                    column: column.name().chars().take(60).collect(),
                    expected: format!("pages of {many} values, the rows of row group {number}"),
                    found: "pages of more or fewer (damaged)",
                });
            }
            largest = largest.max(dictionary + page);
        }
        standing_bytes = standing_bytes.saturating_add(COLUMN_BYTES + largest);
        check(standing_bytes, room_bytes, "pages of all columns")?;
        for (power, moving) in moving.iter_mut().enumerate() {
            *moving = moving.saturating_add(CELL_BYTES << power);
            *moving = moving.saturating_add(held_bytes(&all, 1 << power));
        }
    }
    let left = (room_bytes - standing_bytes) / BATCH_SHARE;
    let power = moving.iter().rposition(|bytes| *bytes <= left);
    match power {
        Some(power) => Ok(1 << power),
        None => check(standing_bytes + moving[0] * BATCH_SHARE, room_bytes, "one row").map(|()| 1),
    }
}

fn is_text(metadata: &ParquetMetaData, column: usize) -> bool {
    let columns = metadata.file_metadata().schema_descr().columns();
    let kind = columns.get(column).map(|one| one.physical_type());
    kind == Some(parquet::basic::Type::BYTE_ARRAY)
}

/// The most that texts of so many rows in succession hold: all of the pages that they lie in, and
/// those that are made anew.
fn held_bytes(pages: &[Page], rows: u64) -> u64 {
    let bytes = |page: &Page| page.memory_bytes + page.made_bytes.min(rows * page.made_max_bytes);
    let (mut most, mut sum, mut covered, mut end) = (0, 0_u64, 0_u64, 0);
    for (begin, page) in pages.iter().enumerate() {
        // From the last row of this page on.
        if end <= begin {
            (sum, covered, end) = (bytes(page), 0, begin + 1);
        } else if begin > 0 {
            covered = covered.saturating_sub(page.rows);
        }
        while covered + 1 < rows
            && let Some(next) = pages.get(end)
        {
            (sum, covered, end) = (sum + bytes(next), covered + next.rows, end + 1);
        }
        most = most.max(sum);
        sum -= bytes(page);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_the_pages_they_lie_in() {
        let page = |rows, memory_bytes| Page { rows, memory_bytes, ..Page::default() };
        let pages = [page(0, 7), page(10, 100), page(1, 1), page(10, 50), page(10, 60), page(3, 5)];
        assert_eq!(held_bytes(&pages, 1), 100);
        assert_eq!(held_bytes(&pages, 2), 110);
        assert_eq!(held_bytes(&pages, 3), 151);
        assert_eq!(held_bytes(&pages, 13), 211);
        assert_eq!(held_bytes(&pages, 1_000), 223);
        assert_eq!(held_bytes(&[], 5), 0);
        let made = Page { rows: 10, memory_bytes: 4, made_bytes: 90, made_max_bytes: 20 };
        assert_eq!((held_bytes(&[made], 2), held_bytes(&[made], 8)), (44, 94));
    }
}
