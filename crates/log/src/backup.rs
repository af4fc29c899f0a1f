//! The file `backup`, which says whose backup a folder is and how far it reaches: until the log has come
//! further, it holds what each file held when it was copied, and no file is missed for another's sake.
//!
//! Invariant: any bytes are a mark or none, and a mark reads back. Held by
//! `what_a_mark_says_is_read_again_and_nothing_else_is` and the fuzz target `backup_mark`.

use super::names::BACKUP_MARK;
use baro_ondisk::StoreId;
use baro_sys::storage::{Access, Storage, StorageFile};

/// Bytes of the file.
const BYTES: usize = 160;

/// How far a backup has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupMark {
    /// The copy has all of the segments of lower epochs that it has.
    pub complete_below: u64,
    /// No backup has brought a segment of a higher epoch.
    pub reaches: u64,
}

impl BackupMark {
    /// The file's bytes.
    #[must_use]
    pub fn encode(self, store: StoreId) -> [u8; 160] {
        let BackupMark { complete_below, reaches } = self;
        let text = format!(
            "barograph backup 1\nstore {store}\ncomplete-below {complete_below}\nreaches {reaches}\n"
        );
        let mut bytes = [b' '; BYTES];
        let (at, end) = (text.len().min(BYTES - 1), BYTES - 1);
        bytes[..at].copy_from_slice(&text.as_bytes()[..at]);
        bytes[end] = b'\n';
        bytes
    }

    /// The store's id as it is written, and the mark; `None` if these bytes are none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<(&str, Self)> {
        let text = std::str::from_utf8(bytes).ok()?;
        let mut lines = text.lines();
        lines.next().filter(|line| *line == "barograph backup 1")?;
        let store = lines.next()?.strip_prefix("store ")?;
        let mut number = |name: &str| lines.next()?.strip_prefix(name)?.parse().ok();
        let (complete_below, reaches) = (number("complete-below ")?, number("reaches ")?);
        Some((store, BackupMark { complete_below, reaches }))
    }
}

/// The mark in this folder, with the id of its store; `None` if the folder is no backup. A damaged one is that of
/// no store and reaches nowhere.
///
/// # Errors
/// The file cannot be read.
pub fn read_backup_mark<S: Storage>(storage: &S) -> baro_sys::Result<Option<(String, BackupMark)>> {
    let file = match storage.open(BACKUP_MARK, Access::Read) {
        Err(error) if error.is_missing() => return Ok(None),
        opened => opened?,
    };
    let mut bytes = [0; BYTES];
    let read = file.read_at(0, &mut bytes)?;
    let found = BackupMark::decode(bytes.get(..read).unwrap_or(&[]));
    Ok(Some(found.map(|(store, mark)| (store.to_owned(), mark)).unwrap_or_default()))
}

/// The newest epoch that a backup has put there, if the folder is one.
pub fn backup_reaches<S: Storage>(storage: &S) -> Option<u64> {
    read_backup_mark(storage).ok().flatten().map(|(_, mark)| mark.reaches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_mark_says_is_read_again_and_nothing_else_is() {
        let store = StoreId([0xab; 16]);
        for (complete_below, reaches) in [(0, 0), (7, 9), (u64::MAX, u64::MAX)] {
            let mark = BackupMark { complete_below, reaches };
            let bytes = mark.encode(store);
            assert_eq!(BackupMark::decode(&bytes), Some((store.to_string().as_str(), mark)));
        }
        for text in ["", "barograph backup 2\nstore x\n", "barograph backup 1\nstore x\n", "\u{fe}"]
        {
            assert_eq!(BackupMark::decode(text.as_bytes()), None);
        }
    }
}
