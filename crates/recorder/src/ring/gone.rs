//! Whether a store is gone for good, as far as can be seen from where it was: records that are in its
//! ring alone are given up for that.
//!
//! Invariant: a store that was renamed, restored, or whose disk is not mounted, is not gone. Held by
//! `records_of_a_store_that_may_be_there_are_never_given_up` (the command line).

use super::header::Home;
use baro_log::{IDENTITY, open_folder, read_identity};
use baro_sys::files;
use baro_sys::identity::FileId;

/// Neighbours that are looked at; where there are more, it may be one of them.
const NEIGHBOURS_MAX: usize = 4096;

/// Whether the folder above it is there, on the same device, and neither the store nor one of its
/// neighbours is it.
pub(super) fn is_gone(home: &Home) -> bool {
    let Some(above) = home.path.parent() else { return false };
    let on_device = FileId::of(above).is_ok_and(|found| found.device == home.file.device);
    on_device && !may_be_there(home) && !has_neighbour(home)
}

/// Whether what is in its place may be it: only nothing, and another store, are not.
fn may_be_there(home: &Home) -> bool {
    match FileId::of(&home.path) {
        Err(error) => !error.is_missing(),
        Ok(_) => {
            let found = open_folder(&home.path).and_then(|disk| read_identity(&disk, &home.path));
            found.map_or(true, |found| found.store == home.store)
        }
    }
}

/// Whether a folder beside it is it, renamed.
fn has_neighbour(home: &Home) -> bool {
    let Some(above) = home.path.parent() else { return false };
    let Ok(names) = files::list(above) else { return true };
    let is = |name: &String| FileId::of(&above.join(name).join(IDENTITY));
    names.len() > NEIGHBOURS_MAX
        || names.iter().any(|name| is(name).is_ok_and(|found| found == home.file))
}
