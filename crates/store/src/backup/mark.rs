//! The file `backup`, which says whose backup a folder is, and how far it has come. One sector, written
//! in place, since the process that writes a backup holds a lock on it.

use crate::{Error, Result};
use baro_log::{BACKUP_MARK, IDENTITY, LOCK, remove_if_there};
use baro_ondisk::StoreId;
use baro_sys::storage::{Access, AnyStorage, Storage, StorageFile};
use std::path::Path;

pub(super) const MARK: &str = BACKUP_MARK;
/// The same while it is made, and any file at the top of the folder.
pub(super) const NEW: &str = "backup.new";

mod text;

use text::BYTES;
pub(super) use text::Mark;

impl Mark {
    pub(super) fn read(target: &AnyStorage) -> Result<Option<(String, Self)>> {
        let file = match target.open(MARK, Access::Read) {
            Err(error) if error.is_missing() => return Ok(None),
            opened => opened?,
        };
        let mut bytes = [0; BYTES];
        let read = file.read_at(0, &mut bytes)?;
        let found = Mark::decode(bytes.get(..read).unwrap_or(&[]));
        Ok(Some(found.map(|(store, mark)| (store.to_owned(), mark)).unwrap_or_default()))
    }

    pub(super) fn write(self, target: &AnyStorage, store: StoreId) -> Result<()> {
        let file = target.open(MARK, Access::Write)?;
        file.write_at(0, &self.encode(store))?;
        Ok(file.sync_data()?)
    }
}

/// Sees to it that `target` is a folder for backups of `store`: an empty one gets its mark.
///
/// # Errors
/// It holds something else.
pub(super) fn prepare(target: &AnyStorage, path: &Path, store: StoreId) -> Result<()> {
    if check(target, path, store)? {
        return Ok(());
    }
    remove_if_there(target, NEW)?;
    let file = target.create(NEW)?;
    file.write_at(0, &Mark::default().encode(store))?;
    file.sync_data()?;
    target.rename(NEW, MARK)?;
    Ok(target.sync_folder("")?)
}

/// Whether `target` has a mark of `store`, and is no empty folder. Changes nothing.
///
/// # Errors
/// It holds something else.
pub(super) fn check(target: &AnyStorage, path: &Path, store: StoreId) -> Result<bool> {
    let refused = |why: &str| Err(Error::NotABackup { path: path.to_owned(), why: why.to_owned() });
    match Mark::read(target)? {
        Some((of, _)) if of == store.to_string() => return Ok(true),
        Some((of, _)) if of.is_empty() => return refused("its file backup is damaged"),
        Some(_) => return refused("it is the backup of another store"),
        None => {}
    }
    let names = target.list("")?;
    if names.iter().any(|name| name == IDENTITY) {
        return refused("it is a store, and no backup of this one");
    }
    if names.iter().any(|name| ![LOCK, NEW, "lost+found"].contains(&name.as_str())) {
        return refused("it is not empty, and no backup of this store");
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_mark_says_is_read_again_and_nothing_else_is() {
        let store = StoreId([0xab; 16]);
        for (complete_below, reaches) in [(0, 0), (7, 9), (u64::MAX, u64::MAX)] {
            let mark = Mark { complete_below, reaches };
            let bytes = mark.encode(store);
            assert_eq!(Mark::decode(&bytes), Some((store.to_string().as_str(), mark)));
        }
        for text in ["", "barograph backup 2\nstore x\n", "barograph backup 1\nstore x\n", "\u{fe}"]
        {
            assert_eq!(Mark::decode(text.as_bytes()), None);
        }
    }
}
