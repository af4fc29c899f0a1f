//! Pins on disk: read when a store is opened, written before they count, and the small files by
//! which another process asks for one. `docs/format.md`, "Pins".
//!
//! Invariant: after a crash a pin is there as it was before or as it was written, never torn. Held
//! by `a_crash_at_any_operation_on_pins_leaves_them_old_or_new` (the recorder's `tests/crash`).

use super::names::{KEPT, PINS, numbered, pin_name};
use crate::Result;
use baro_ondisk::limits::{PINS_MAX, UNIT_BYTES};
use baro_ondisk::{Pin, StoreId};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::{BTreeMap, BTreeSet};

/// Files that are no valid pins are named up to here, and counted beyond.
const DAMAGED_MAX: usize = 20;

/// The pins of a store.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// By id.
    pub pins: BTreeMap<u64, Pin>,
    /// Files that are no valid pins of this store, and why.
    pub damaged: Vec<(String, String)>,
    /// Epochs of the segments that were copied out of the log.
    pub kept: BTreeSet<u64>,
}

impl Pins {
    /// Reads the pins of a store; there are none if there is no folder for them.
    ///
    /// # Errors
    /// The folders cannot be read.
    pub fn read<S: Storage>(storage: &S, store: StoreId) -> Result<Self> {
        let (mut found, mut others) = (Pins::default(), 0_u64);
        for name in list_folder(storage, PINS)? {
            let Some((id, "pin")) = numbered(&name) else { continue };
            let name = format!("{PINS}/{name}");
            match read_pin(storage, &name) {
                Ok(pin) if pin.store == store && pin.id == id && found.pins.len() < PINS_MAX => {
                    found.pins.insert(id, pin);
                }
                // Released a moment ago.
                Err(_) if storage.open(&name, Access::Read).is_err_and(|e| e.is_missing()) => {}
                Ok(pin) if pin.store == store && pin.id == id => {
                    found.damaged.push((name, format!("more than {PINS_MAX} pins")));
                }
                Ok(_) => found.damaged.push((name, "is not this store's or not this id's".into())),
                Err(why) => found.damaged.push((name, why)),
            }
            if found.damaged.len() > DAMAGED_MAX {
                found.damaged.pop();
                others += 1;
            }
        }
        if others > 0 {
            found.damaged.push((PINS.to_owned(), format!("has {others} further files like these")));
        }
        found.kept = kept_epochs(storage)?;
        Ok(found)
    }

    /// Whether what these pins held at an earlier look is held still. A copy goes behind the pin that counts it, so
    /// it was there in between.
    #[must_use]
    pub fn hold(&self, earlier: &Pins) -> bool {
        let stays = |pin: &Pin| {
            let now = self.pins.get(&pin.id);
            now.is_some_and(|now| now.copies.last_epoch >= pin.copies.last_epoch)
        };
        earlier.pins.values().filter(|pin| pin.copies.count > 0).all(stays)
    }

    /// Whether a pin covers the segment of `epoch`.
    #[must_use]
    pub fn covers(&self, epoch: u64) -> bool {
        self.pins.values().any(|pin| pin.epochs().contains(&epoch))
    }
}

/// Epochs of the segments that were copied out of the log.
///
/// # Errors
/// The folder cannot be read.
pub fn kept_epochs<S: Storage>(storage: &S) -> Result<BTreeSet<u64>> {
    let kept = list_folder(storage, KEPT)?;
    let epoch = |name: &String| numbered(name).filter(|(_, end)| *end == "seg").map(|(e, _)| e);
    Ok(kept.iter().filter_map(epoch).collect())
}

/// Names in a folder that may not be there yet; none then.
///
/// # Errors
/// The folder cannot be read.
pub fn list_folder<S: Storage>(storage: &S, folder: &str) -> Result<Vec<String>> {
    match storage.list(folder) {
        Err(error) if error.is_missing() => Ok(Vec::new()),
        other => Ok(other?),
    }
}

fn read_pin<S: Storage>(storage: &S, name: &str) -> std::result::Result<Pin, String> {
    let mut unit = [0; UNIT_BYTES];
    let file = storage.open(name, Access::Read).map_err(|e| e.to_string())?;
    let read = file.read_at(0, &mut unit).map_err(|e| e.to_string())?;
    Pin::decode(unit.get(..read).unwrap_or(&[])).map_err(|e| e.to_string())
}

/// Reads a request or an answer to one, whose ending is as for [`pin_name`]; `None` if there is
/// none, and why if there is one that cannot be read.
pub fn read_message<S: Storage>(
    storage: &S,
    id: u64,
    ending: &str,
) -> Option<std::result::Result<Pin, String>> {
    let name = pin_name(id, ending);
    match storage.open(&name, Access::Read) {
        Err(error) if error.is_missing() => None,
        _ => Some(read_pin(storage, &name)),
    }
}

/// Makes a pin's file, or replaces it; durable when this returns. `ending` as for [`pin_name`].
///
/// # Errors
/// The device fails or is full; then the old file, if there was one, is as it was.
pub fn write_pin<S: Storage>(storage: &S, pin: &Pin, ending: &str) -> Result<()> {
    storage.create_folder(PINS)?;
    storage.sync_folder("")?;
    put(storage, pin, ending, StorageFile::sync_data)?;
    Ok(storage.sync_folder(PINS)?)
}

/// Hands in a request for a pin: seen by the recorder when this returns, and not durable. Who asks waits for
/// the answer, and after a crash nobody does; so a busy device does not hold it up.
///
/// # Errors
/// The file system is full, or refuses.
pub fn write_request<S: Storage>(storage: &S, pin: &Pin) -> Result<()> {
    storage.create_folder(PINS)?;
    put(storage, pin, "ask", |_| Ok(()))
}

fn put<S: Storage>(
    storage: &S,
    pin: &Pin,
    ending: &str,
    sync: impl FnOnce(&S::File) -> baro_sys::Result<()>,
) -> Result<()> {
    // Named by the ending too: the recorder and another process may write at the same time.
    let new = pin_name(pin.id, &format!("{ending}.new"));
    remove_if_there(storage, &new)?;
    let file = storage.create(&new)?;
    file.write_at(0, &pin.encode())?;
    sync(&file)?;
    Ok(storage.rename(&new, &pin_name(pin.id, ending))?)
}

/// Removes a file that may not be there; not durable before the folder is synced.
///
/// # Errors
/// It is there and cannot be removed.
pub fn remove_if_there<S: Storage>(storage: &S, name: &str) -> Result<()> {
    match storage.remove(name) {
        Err(error) if !error.is_missing() => Err(error.into()),
        _ => Ok(()),
    }
}
