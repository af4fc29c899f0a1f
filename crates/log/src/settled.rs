//! How far the log is settled into runs, as the manifest says that whoever settles replaces.
//!
//! Invariant: no epoch that is settled is given to a segment again, whatever headers are damaged:
//! its blocks would count as settled. Held by `a_settled_epoch_is_never_given_again` of the store.

use super::backup::backup_reaches;
use super::{MANIFEST, ManifestLock, RUNS, Recovery, tell_deletions};
use crate::Result;
use baro_ondisk::{Manifest, Settled, StoreId};
use baro_sys::disk::Disk;
use baro_sys::storage::{Access, Storage, StorageFile};

/// Who settles or deletes is waited for so long.
pub(super) const PATIENCE_NS: u64 = 30_000_000_000;

/// Generation of the manifest, and how far it says that the log is settled; `None` if there is no
/// manifest of this store that can be read: its reader in the store says so.
#[must_use]
pub fn read_progress<S: Storage>(storage: &S, store: StoreId) -> Option<(u64, Settled)> {
    let manifest = read_manifest(storage, store)?;
    Some((manifest.generation, manifest.settled))
}

pub(crate) fn read_manifest<S: Storage>(storage: &S, store: StoreId) -> Option<Manifest> {
    let file = storage.open(MANIFEST, Access::Read).ok()?;
    let bytes = usize::try_from(file.size_bytes().ok()?).ok()?;
    let mut manifest = vec![0; bytes.min(Manifest::BYTES_MAX)];
    let read = file.read_at(0, &mut manifest).ok()?;
    let manifest = Manifest::decode(manifest.get(..read)?).ok()?;
    (manifest.store == store).then_some(manifest)
}

/// Puts a manifest in the place of the one before, durably: after a crash it is the one or the other.
/// What it has of deletions is told before they are in force, until they are not any more.
///
/// # Errors
/// The operating system refuses, or the file `store` is damaged.
pub fn write_manifest<S: Storage>(storage: &S, manifest: &Manifest) -> Result<()> {
    let deletions = !manifest.deletions.is_empty();
    if deletions {
        tell_deletions(storage, true)?;
    }
    let new = format!("{MANIFEST}.new");
    match storage.remove(&new) {
        Err(error) if !error.is_missing() => return Err(error.into()),
        _ => {}
    }
    let file = storage.create(&new)?;
    file.write_at(0, &manifest.encode())?;
    file.sync_data()?;
    storage.rename(&new, MANIFEST)?;
    storage.sync_folder(RUNS)?;
    if !deletions {
        tell_deletions(storage, false)?;
    }
    Ok(())
}

/// Where more is settled than the log that `recovery` found has ever had, somebody has changed the
/// manifest: what is recorded from now on would count as settled, and never be read. So nothing counts
/// as settled any more, durably, and one block as damaged, so that it stays told. Whatever is in runs
/// already is settled once more, which changes nothing. What was found, in a sentence.
///
/// Where a header is damaged, it may be that of the segment which is settled, and all stays.
///
/// # Errors
/// Another process keeps the manifest locked, or the operating system refuses.
pub fn mend_settled(disk: &Disk, recovery: &mut Recovery) -> Result<Option<String>> {
    let newest = recovery.segments.started.last().map_or(0, |(header, _)| header.epoch);
    if let Some(found) = read_manifest(disk, recovery.identity.store)
        && disk.sync_folder(RUNS).is_ok()
    {
        // Durable from now on: headers may tell of it.
        let generation = &mut recovery.segments.beside.generation;
        *generation = found.generation.max(*generation);
    }
    // Into a backup the manifest comes before the log.
    let reached = newest.max(backup_reaches(disk).unwrap_or(0));
    let is_other = |found: &Manifest| {
        found.other_session(recovery.segments.started.iter().map(|(header, _)| header)).is_some()
    };
    let others = read_manifest(disk, recovery.identity.store).is_some_and(|found| is_other(&found));
    let is_more = recovery.last_epoch > reached;
    if !is_more && !others || !recovery.segments.damaged.is_empty() {
        return Ok(None);
    }
    let _lock =
        ManifestLock::take(disk, "begins to record", &mut |_, waited_ns| waited_ns < PATIENCE_NS)?;
    let found = read_manifest(disk, recovery.identity.store);
    let is_wrong = |found: &Manifest| found.settled.last_epoch() > newest || is_other(found);
    let Some(mut manifest) = found.filter(is_wrong) else {
        return Ok(None);
    };
    let last = manifest.settled.last_epoch();
    (manifest.settled, manifest.settled_crc) = (Settled::default(), 0);
    manifest.lost_blocks = manifest.lost_blocks.saturating_add(1);
    manifest.generation += 1;
    write_manifest(disk, &manifest)?;
    let generation = &mut recovery.segments.beside.generation;
    *generation = manifest.generation.max(*generation);
    recovery.last_epoch = newest;
    if last <= newest {
        return Ok(Some(format!(
            "{MANIFEST} says that a segment of epoch {last} is settled, and the one of the log is of another \
             session: it is of a copy of this store that went on by itself. All of the log counts as unsettled \
             now (put the right runs back from a copy)"
        )));
    }
    Ok(Some(format!(
        "{MANIFEST} says that epoch {last} is settled, and the log has never come further than \
         {newest}: somebody has changed one of them. All of the log counts as unsettled now"
    )))
}
