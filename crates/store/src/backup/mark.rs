//! The file `backup`, which says whose backup a folder is, and how far it has come. One sector, written
//! in place, since the process that writes a backup holds a lock on it.

use crate::{Error, Result};
pub(super) use baro_log::BackupMark as Mark;
use baro_log::{BACKUP_MARK, IDENTITY, LOCK, read_backup_mark, remove_if_there};
use baro_ondisk::StoreId;
use baro_sys::storage::{Access, AnyStorage, Storage, StorageFile};
use std::path::Path;

pub(super) const MARK: &str = BACKUP_MARK;
/// The same while it is made, and any file at the top of the folder.
pub(super) const NEW: &str = "backup.new";

/// Writes the mark of a backup that is there.
pub(super) fn write(mark: Mark, target: &AnyStorage, store: StoreId) -> Result<()> {
    let file = target.open(MARK, Access::Write)?;
    file.write_at(0, &mark.encode(store))?;
    Ok(file.sync_data()?)
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
    match read_backup_mark(target)? {
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
