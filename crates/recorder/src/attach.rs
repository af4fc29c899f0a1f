//! A producer in a process of its own: finds a free ring of a recorder that runs elsewhere, and
//! the ids under which the store knows its series.
//!
//! To attach nothing is asked of the recorder's process: rings are files on a tmpfs that only their
//! owner can open, a lock says which is taken, and the catalog is read from the store. So attaching
//! works whatever the recorder is doing, and the death of either costs the other nothing. Only what is
//! to be declared is asked for (`asking.rs`), before it is pushed.
//!
//! Invariant: a ring has one producer, whoever looks for one at the same time, and nobody but the
//! store's owner and root can read what is pushed. Held by `tests/attach.rs` and `tests/squat.rs`.

use crate::ring::{Producer, RingFolder};
use crate::{Error, Result};
use baro_log::{Catalog, open_folder, read_identity};
use baro_sys::identity::owner;
use baro_sys::schedule;
use std::path::Path;

/// Attaches to a ring that a recorder of the store at `store` made for other processes
/// (`baro record --attach N`, [`Recorder::ring_for_attach`](crate::Recorder::ring_for_attach)) and
/// that no producer has. With `rings`, looks in that folder, the one that the recorder was given with
/// [`Rings::In`](crate::Rings::In); with `None`, where recorders make rings by default. Comes with the
/// store's catalog of now: ids of series and channels; [`Producer::declare_each`] asks for others.
///
/// # Errors
/// It is no store, its catalog is damaged, or no ring is free.
pub fn attach(store: &Path, rings: Option<&Path>) -> Result<(Producer, Catalog)> {
    let disk = open_folder(store)?;
    let identity = read_identity(&disk, store)?;
    let owner = owner_to_trust(store)?;
    let search = RingFolder::rings(identity.store, rings, owner);
    let (found, strays): (Vec<_>, Vec<_>) =
        search.rings.into_iter().filter(|r| r.to_attach).partition(|ring| ring.is_of(store));
    for ring in found.iter().filter(|ring| !ring.has_producer) {
        match Producer::attach(&ring.path) {
            Ok(producer) if producer.closed() => {}
            Ok(producer) => return Ok((producer, Catalog::read(&disk)?)),
            // Taken meanwhile, or gone with its recorder.
            Err(Error::RingBusy { .. }) => {}
            Err(Error::System(error)) if error.is_missing() => {}
            Err(error) => return Err(error),
        }
    }
    let mut why = format!("none free of {}", found.len());
    if let Some(stray) = strays.first() {
        let count = strays.len();
        let whose = stray.made_for();
        why += &format!("; {count} belong to the store {whose} of the same id: one is a copy");
    }
    search.refused.iter().for_each(|refused| why += &format!("; {refused}"));
    Err(Error::Setting {
        name: "rings to attach to",
        expected: match found.len() {
            0 => "those of a recorder that was started with --attach N (if one runs: end it and start it so, or \
                  come again when it has ended)",
            _ => "one that no producer has (there are as many as its recorder's --attach N says)",
        }
        .to_owned(),
        found: why,
    })
}

/// Whose rings of the store at `path` are looked at: this user's, or, by root, its owner's.
pub(crate) fn owner_to_trust(path: &Path) -> Result<u32> {
    if schedule::is_root() { Ok(owner(path)?) } else { Ok(schedule::user_id()) }
}
