//! How far the log is settled into runs, as the manifest says that whoever settles replaces.
//!
//! Invariant: no epoch that is settled is given to a segment again, whatever headers are damaged:
//! its blocks would count as settled. Held by `a_settled_epoch_is_never_given_again` of the store.

use super::MANIFEST;
use baro_ondisk::{Manifest, Settled, StoreId};
use baro_sys::storage::{Access, Storage, StorageFile};

/// How far the log is settled; `None` if there is no manifest of this store that can be read: its reader in the store says so.
#[must_use]
pub fn read_settled<S: Storage>(storage: &S, store: StoreId) -> Option<Settled> {
    Some(read_manifest(storage, store)?.settled)
}

pub(crate) fn read_manifest<S: Storage>(storage: &S, store: StoreId) -> Option<Manifest> {
    let file = storage.open(MANIFEST, Access::Read).ok()?;
    let bytes = usize::try_from(file.size_bytes().ok()?).ok()?;
    let mut manifest = vec![0; bytes.min(Manifest::BYTES_MAX)];
    let read = file.read_at(0, &mut manifest).ok()?;
    let manifest = Manifest::decode(manifest.get(..read)?).ok()?;
    (manifest.store == store).then_some(manifest)
}

/// The highest epoch that is settled, or in part.
pub(super) fn last_settled_epoch<S: Storage>(storage: &S, store: StoreId) -> u64 {
    read_settled(storage, store).map_or(0, |settled| match settled.end {
        0 => settled.epoch.saturating_sub(1),
        _ => settled.epoch,
    })
}
