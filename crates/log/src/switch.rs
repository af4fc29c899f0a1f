//! What happens when a log is full, changed in a store that is there.
//!
//! The identity is overwritten in place and not replaced: rings and locks know a store by this very file.
//! What changes lies in its first 64 bytes, which a device writes whole or not at all. Who deletes writes
//! there too (`deleted.rs`), so the manifest is locked meanwhile.
//!
//! Invariant: after a crash the store is as it was, or as it was to be; whether something has been deleted
//! is told as before. Held by `a_crash_at_any_operation_of_a_switch_leaves_the_store_old_or_new` (the
//! recorder's `tests/crash`).

use super::names::{IDENTITY, RUNS};
use super::settled::PATIENCE_NS;
use super::{ManifestLock, read_identity};
use crate::Result;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Identity, WhenFull};
use baro_sys::disk::Disk;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::path::Path;

/// From the next open on, this happens when the log of the store is full; durable when this returns. For
/// who holds the store's lock for recording; `path` is for messages. Waits a few seconds for who settles
/// or deletes.
///
/// # Errors
/// It is no store, another process keeps the manifest locked, or the device fails; then nothing is known
/// until the identity has been read again.
pub fn switch_when_full(disk: &Disk, path: &Path, when_full: WhenFull) -> Result<Identity> {
    let found = read_identity(disk, path)?;
    if found.when_full == when_full {
        return Ok(found);
    }
    disk.create_folder(RUNS)?;
    let mut go_on = |_: &_, waited_ns| waited_ns < PATIENCE_NS;
    let _lock = ManifestLock::take(disk, "changes what a full log does", &mut go_on)?;
    set_when_full(disk, path, when_full)
}

/// The same for who holds the lock of the manifest too, in any storage.
///
/// # Errors
/// It is no store, or the device fails; then nothing is known until the identity has been read again.
pub fn set_when_full<S: Storage>(
    storage: &S,
    path: &Path,
    when_full: WhenFull,
) -> Result<Identity> {
    let found = read_identity(storage, path)?;
    if found.when_full == when_full {
        return Ok(found);
    }
    let mut unit = [0; UNIT_BYTES];
    let read = storage.open(IDENTITY, Access::Read)?.read_at(0, &mut unit)?;
    let deletions = Identity::tells_deletions(unit.get(..read).unwrap_or(&[]));
    let identity = Identity { when_full, ..found };
    let file = storage.open(IDENTITY, Access::Write)?;
    file.write_at(0, &identity.encode_with(deletions))?;
    file.sync_data()?;
    read_identity(storage, path)
}
