//! Whether a store and a table belong together.
//!
//! Each knows something of the other: the store which table it was handed over to last and how far it has
//! offered its runs, the table which runs it has. Where these differ one of them is an older copy, or it is
//! not the one that is meant: a file system that is not mounted looks like an empty folder.

use crate::delta::uuid;
use crate::error::{Error, Result};
use baro_store::Handover;

const NEW_TABLE: &str = "hand it over to a new table";

/// Fails if a store that has `known` is not to get a new table.
pub(crate) fn check_new(known: Option<Handover>) -> Result<()> {
    let Some(known) = known.filter(|known| known.holds) else { return Ok(()) };
    Err(Error::Disagree {
        expected: format!("the table {}, which this store is held for", uuid(known.table)),
        found: "no table".to_owned(),
        next: "is its file system mounted, and the path right? Nothing was made. Only if that table is \
               given up: baro lake STORE --release, then hand over to a new one",
    })
}

/// Fails if a store that has `known`, and gives its next run this number, is not one of which this table has
/// the runs below `below`.
pub(super) fn check(
    known: Option<Handover>,
    table: [u8; 16],
    below: u64,
    next_run: u64,
) -> Result<()> {
    let runs = |below: u64| match below.checked_sub(1) {
        Some(last) => format!("the runs up to {last} of this store"),
        None => "no run of this store".to_owned(),
    };
    let (expected, found, next) = match known {
        _ if below > next_run => (
            format!("a store with {}, as the table has it", runs(below)),
            format!("one whose next run is {next_run}: an older copy"),
            NEW_TABLE,
        ),
        Some(known) if known.table == table && below > known.offered => (
            format!("a store that has offered {}, as the table has it", runs(below)),
            format!("one that has offered {}: an older copy", runs(known.offered)),
            NEW_TABLE,
        ),
        None if below > 0 => (
            "a store that knows of this table".to_owned(),
            format!("none, and the table has {}", runs(below)),
            "runs may have been merged since: hand it over to a new table",
        ),
        Some(known) if known.table == table && known.below > below => (
            format!("a table with {}", runs(known.below)),
            format!("one with {}", runs(below)),
            "it has lost versions, or is an older copy: restore it, or hand over to a new table",
        ),
        Some(known) if known.table != table && known.holds => (
            format!("the table {}, which this store is held for", uuid(known.table)),
            format!("the table {}", uuid(table)),
            "is the right file system mounted, and the path right? Only if the first table is given up: \
             baro lake STORE --release, then hand over to this one",
        ),
        Some(known) if known.table != table && below > 0 => (
            format!("a store that was handed over to this table {} last", uuid(table)),
            format!("one that was handed over to another since, {}", uuid(known.table)),
            "hand it over to that one, or to a new one",
        ),
        _ => return Ok(()),
    };
    Err(Error::Disagree { expected, found, next })
}
