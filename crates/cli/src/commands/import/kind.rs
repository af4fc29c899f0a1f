//! Files of another kind than their name says, told by how they begin.
//!
//! Invariant: nothing is taken for lines of text that is of a kind which begins as no text does. Held by
//! `a_mistake_says_what_is_wrong_and_what_to_do`.

use super::Input;
use crate::failure::Result;
use baro_sys::files;
use std::io::Read;
use std::path::Path;

/// How files of other programs begin, what they are, and what to do with them.
const KINDS: [(&[u8], &str); 6] = [
    (b"PAR1", "a Parquet file: --input parquet"),
    (
        b"PK\x03\x04",
        "a zip archive, as spreadsheets (xlsx, ods) are too: save its sheet as CSV, or unpack it",
    ),
    (b"ARROW1", "an Arrow file: write it as Parquet, as pyarrow and DuckDB do"),
    (b"\x89MCAP", "an MCAP file: write its messages as lines of JSON or CSV"),
    (b"SQLite format 3", "a database of SQLite: write its table as CSV"),
    (b"\x89HDF", "an HDF5 file: write its series as CSV or Parquet"),
];

/// Refuses an ordinary file that begins as one of another kind than `input` is. Reads its first bytes.
pub(super) fn refuse_other(file: &Path, input: Input) -> Result<()> {
    if !files::is_regular(file) {
        return Ok(());
    }
    let mut begin = Vec::new();
    let read = files::open(file)?.take(16).read_to_end(&mut begin);
    read.map_err(|error| format!("{}: read: {error}", file.display()))?;
    let kind = KINDS.iter().find(|(mark, _)| begin.starts_with(mark));
    let is_parquet = kind.is_some_and(|(mark, _)| *mark == b"PAR1");
    let (wanted, said) = match (input, kind) {
        (Input::Parquet, _) if is_parquet || begin.starts_with(b"PARE") || begin.is_empty() => {
            return Ok(());
        }
        (Input::Parquet, Some((_, said))) => ("Parquet", *said),
        (Input::Parquet, None) => {
            ("Parquet", "what begins as no Parquet file does: its form is told by --input")
        }
        (_, Some((_, said))) => ("lines of text", *said),
        (_, None) => return Ok(()),
    };
    Err(format!("{}: expected {wanted}, found {said}", file.display()).into())
}
