//! What a recorder finds changed in its store when it opens it, in sentences, and what it mends of that.
//!
//! Invariant: no id is given twice, whatever was put back. Held by the store's `tests/damage/changed.rs`.

use crate::Result;
use baro_log::{Catalog, Recovery, mend_settled, recover};
use baro_sys::disk::Disk;
use std::path::Path;

/// What a crash left, and, in sentences, what somebody has changed in the store.
pub(super) fn recover_changed(disk: &Disk, path: &Path) -> Result<(Recovery, Vec<String>)> {
    let mut recovery = recover(disk, path)?;
    let mut changed = Vec::from_iter(mend_settled(disk, &mut recovery)?);
    if recovery.changed {
        changed.push(
            "segments of the log are not those that were there when the newest was begun: files of an \
             earlier time were put back, and what was in their place is lost"
                .to_owned(),
        );
    }
    Ok((recovery, changed))
}

/// The catalog of a store whose log was recovered.
pub(super) fn read_catalog(disk: &Disk, recovery: &Recovery) -> Result<Catalog> {
    let catalog = Catalog::read(disk)?;
    catalog.check_store(recovery.identity.store)?;
    Ok(catalog)
}

/// Declares what the catalog has lost and the dictionary still has. What is lost all the same is told, and no id
/// that was given is given again: samples that are there would get another series' name.
pub(super) fn complete_catalog(
    disk: &Disk,
    recovery: &Recovery,
    session: u64,
    catalog: &mut Catalog,
    changed: &mut Vec<String>,
) -> Result<()> {
    let taken = catalog.take_from_dictionary(disk, session)?;
    let (given, found) = (recovery.given_id, catalog.highest_id());
    // A copy is made file by file, the catalog not last.
    if taken > 0 && !recovery.copied {
        changed.push(format!(
            "catalog: expected all names that the dictionary has, found {taken} missing: it is of an earlier \
             time, or has lost its end; they are declared again, under the ids that they had"
        ));
    }
    if found < given && !recovery.copied {
        changed.push(format!(
            "catalog: expected declarations of ids up to {given}, found them up to {found}: its end is lost, and \
             the names of what was recorded under the others; new series get higher ids (put the newest catalog \
             back from a copy, or: baro recover STORE NEW)"
        ));
    }
    // What was declared since the last header is seen by its records alone.
    catalog.number_above(given.max(recovery.highest_id));
    Ok(())
}
