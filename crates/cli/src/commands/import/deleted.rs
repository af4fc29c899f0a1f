//! Series that were deleted whole and come back with an import: they keep their type, which whoever mends a
//! wrong import is told. Held by `who_imports_into_a_deleted_series_is_told_its_type` (`tests/delete.rs`).

use baro_store::Store;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::Path;

/// Of more it is only said that there are.
const NAMED_MAX: usize = 3;
/// Names of series that did not take a value, looked up at most.
const REFUSED_MAX: usize = 100;

/// What was deleted before an import, and what came of it again.
#[derive(Debug, Default)]
pub(super) struct Deleted {
    ids: Vec<RangeInclusive<u32>>,
    refused: BTreeSet<String>,
    /// Of those that were deleted.
    taken: Vec<u32>,
}

impl Deleted {
    /// Those of a store; none if it cannot be read.
    pub(super) fn of(store: &Path) -> Self {
        let ids = Store::open(store).map(|store| store.deleted_series()).unwrap_or_default();
        Deleted { ids, ..Deleted::default() }
    }

    /// A series with this name, as the file has it, did not take a value.
    pub(super) fn refused(&mut self, name: &str) {
        if !self.ids.is_empty() && self.refused.len() < REFUSED_MAX {
            self.refused.insert(name.to_owned());
        }
    }

    /// Asks of which of them samples were taken.
    pub(super) fn look(&mut self, has_taken: impl Fn(u32) -> bool) {
        let ids = self.ids.iter().cloned().flatten();
        self.taken = ids.filter(|id| has_taken(*id)).take(NAMED_MAX + 1).collect();
    }

    /// Says which of them have samples again, or would have.
    pub(super) fn tell(&self, store: &Path) {
        if self.taken.is_empty() && self.refused.is_empty() {
            return;
        }
        let Ok(store) = Store::open(store) else { return };
        let catalog = store.catalog();
        let refused = self.refused.iter().filter_map(|name| catalog.lookup(name).ok().flatten());
        let refused = refused.filter(|found| self.ids.iter().any(|ids| ids.contains(&found.id)));
        let taken = self.taken.iter().filter_map(|id| catalog.get(*id).ok().flatten());
        let mut named: Vec<String> = Vec::new();
        for found in taken.chain(refused) {
            let name = format!("{} ({})", found.name, found.kind.name());
            if !named.contains(&name) {
                named.push(name);
            }
        }
        let more = if named.len() > NAMED_MAX { " and others" } else { "" };
        named.truncate(NAMED_MAX);
        if !named.is_empty() {
            say!(
                "note: deleted before, and of the same type still: {}{more}; what is of another type needs \
                 another name",
                named.join(", ")
            );
        }
    }
}
