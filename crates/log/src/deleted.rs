//! What has been deleted, for readers of the log alone, and how versions that know no deletions are kept
//! from showing it: the file `store` has another version as long as a manifest has deletions.
//!
//! Only its version and checksum are written, 8 bytes of one sector: a power cut leaves the old ones or
//! the new ones. The file is not replaced, since its locks say who records.
//!
//! Invariant: whenever deletions are in force the file says so. Held by
//! `a_crash_while_deleting_or_settling_leaves_it_undone_or_done` of the store.

use super::settled::read_manifest;
use super::{IDENTITY, MANIFEST};
use crate::{Error, Result};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Deletion, Identity, StoreId};
use baro_sys::storage::{Access, Storage, StorageFile};

/// What has been deleted; `None` if there is a manifest and it cannot be read.
#[must_use]
pub fn read_deletions<S: Storage>(storage: &S, store: StoreId) -> Option<Vec<Deletion>> {
    match storage.open(MANIFEST, Access::Read) {
        Err(error) if error.is_missing() => Some(Vec::new()),
        _ => read_manifest(storage, store).map(|manifest| manifest.deletions),
    }
}

/// Says in the file `store` whether something has been deleted, durably.
///
/// # Errors
/// It is damaged, or the operating system refuses.
pub fn tell_deletions<S: Storage>(storage: &S, deletions: bool) -> Result<()> {
    let mut unit = [0; UNIT_BYTES];
    let read = storage.open(IDENTITY, Access::Read)?.read_at(0, &mut unit)?;
    let unit = unit.get(..read).unwrap_or(&[]);
    let told = Identity::tells_deletions(unit) == deletions;
    if told && !deletions {
        return Ok(());
    }
    let seal = Identity::seal(unit, deletions)
        .map_err(|source| Error::Format { file: IDENTITY.to_owned(), source })?;
    let file = storage.open(IDENTITY, Access::Write)?;
    if !told {
        file.write_at(Identity::SEAL_AT, &seal)?;
    }
    // Also where it is told: who said so may have ended before it was durable.
    Ok(file.sync_data()?)
}
