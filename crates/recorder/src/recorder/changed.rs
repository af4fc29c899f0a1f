//! What a recorder finds changed in its store when it opens it, in sentences, and what it mends of that.
//!
//! Invariant: no id is given twice, whatever was put back. Held by the store's `tests/damage`.

use crate::Result;
use baro_log::{Catalog, Pins, Recovery, has_catalog_end, mend_settled, recover};
use baro_sys::disk::Disk;
use std::path::Path;

/// What a crash left, and, in sentences, what somebody has changed in the store.
pub(super) fn recover_changed(disk: &Disk, path: &Path) -> Result<(Recovery, Vec<String>)> {
    let mut recovery = recover(disk, path)?;
    let mut changed = Vec::from_iter(mend_settled(disk, &mut recovery)?);
    let (last, pinned) = (recovery.last_epoch, last_pinned(disk, &recovery)?);
    if pinned > last && !recovery.copied && recovery.segments.damaged.is_empty() {
        changed.push(format!(
            "pins hold segments up to epoch {pinned}, and the log has never come further than {last}: it is of an \
             earlier time, and what was in it since is lost"
        ));
        // None of those epochs is given again: a copy of that name would be taken for the new segment's.
        (recovery.changed, recovery.last_epoch) = (true, pinned);
    } else if recovery.changed {
        changed.push(
            "files of the store are not those that belong together: some were put back from an earlier time, or \
             came from a copy of this store that went on by itself, be it now or before; what was in their place \
             is lost"
                .to_owned(),
        );
    }
    Ok((recovery, changed))
}

/// The last epoch that was begun, as pins and their copies tell; 0 without any.
fn last_pinned(disk: &Disk, recovery: &Recovery) -> Result<u64> {
    let pins = Pins::read(disk, recovery.identity.store)?;
    // A pin may name the segment that is being begun, and the one behind it.
    let named = pins.pins.values().map(|pin| match pin.last_epoch {
        u64::MAX => pin.first_epoch.saturating_sub(2),
        last => last.saturating_sub(2).max(pin.copies.last_epoch),
    });
    // No log comes so much further while it lasts: whoever made that up makes no epoch of it.
    let most = recovery.last_epoch.saturating_add(1 << 32);
    let told = named.chain(pins.kept).filter(|epoch| *epoch <= most);
    Ok(told.max().unwrap_or(0))
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
    recovery: &mut Recovery,
    session: u64,
    catalog: &mut Catalog,
    changed: &mut Vec<String>,
) -> Result<()> {
    let newest = recovery.segments.started.last().map_or(0, |(header, _)| header.epoch);
    let told = recovery.segments.beside.catalog.filter(|_| !recovery.copied);
    let is_other =
        told.map_or(Ok(false), |told| has_catalog_end(disk, told, newest).map(|has| !has))?;
    let is_right = told.is_some() && !is_other;
    let (taken, others) = catalog.take_from_dictionary(disk, session, is_right)?;
    // What a dictionary of another history tells does not count.
    let is_strange = is_right && others > 0;
    let given = if is_strange { recovery.segments.beside.highest_id } else { recovery.given_id };
    let found = catalog.highest_id();
    // A copy is made file by file, the catalog not last.
    if taken > 0 && !recovery.copied {
        changed.push(format!(
            "catalog: expected all names that the dictionary has, found {taken} missing: it is of an earlier \
             time, or has lost its end; they are declared again, under the ids that they had"
        ));
    }
    // An earlier one whose names the dictionary had is whole again.
    let is_other = !is_right && (others > 0 || is_other && (taken == 0 || found < given));
    if is_strange {
        changed.push(format!(
            "dictionary: expected one that was made of this store's catalog, found one of a copy that went on by \
             itself, with {others} names or ids that mean others here: it is removed, and made anew"
        ));
    }
    recovery.changed |= is_other;
    if found < given && !recovery.copied {
        changed.push(format!(
            "catalog: expected declarations of ids up to {given}, found them up to {found}: its end is lost, and \
             the names of what was recorded under the others; new series get higher ids (put the newest catalog \
             back from a copy, or: baro recover STORE NEW)"
        ));
    } else if is_other {
        changed.push(
            "catalog: expected the one that the newest segment was recorded with, found another: of an earlier \
             time, or of a copy of this store that went on by itself; series may have the names of others (put \
             the newest catalog back from a copy)"
                .to_owned(),
        );
    }
    // What was declared since the last header is seen by its records alone.
    catalog.number_above(given.max(recovery.highest_id));
    Ok(())
}
