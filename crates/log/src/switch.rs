//! What happens when a log is full, changed in a store that is there.
//!
//! The identity is overwritten in place and not replaced: rings and locks know a store by this very file.
//! What changes lies in its first 64 bytes, which a device writes whole or not at all.
//!
//! Invariant: after a crash the store is as it was, or as it was to be. Held by
//! `a_crash_at_any_operation_of_a_switch_leaves_the_store_old_or_new` (the recorder's `tests/crash`).

use super::names::IDENTITY;
use super::read_identity;
use crate::Result;
use baro_ondisk::{Identity, WhenFull};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::path::Path;

/// From the next open on, this happens when the log of the store is full; durable when this returns. For
/// who holds the store's lock for recording; `path` is for messages.
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
    let identity = Identity { when_full, ..found };
    let file = storage.open(IDENTITY, Access::Write)?;
    file.write_at(0, &identity.encode())?;
    file.sync_data()?;
    read_identity(storage, path)
}
