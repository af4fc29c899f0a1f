//! What a backup does about segments that are reused before they are copied: what it insists on is looked for
//! anew, and the rest is passed over and counted.

use crate::{Error, Result, Store};
use baro_log::kept_epochs;

/// Why a backup cannot go on as it was begun.
pub(super) enum Outdated {
    /// Samples that may be in no run were reused.
    Recycled,
    /// What a pin holds was: it is elsewhere by now.
    Held,
    Failed(Error),
}

/// What is looked for anew if it was reused, and not passed over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Insists {
    pub(super) unsettled: bool,
    pub(super) held: bool,
}

impl Insists {
    /// A segment of this epoch was reused before it was copied.
    pub(super) fn meets(
        self,
        store: &Store,
        epoch: u64,
        unsettled: bool,
    ) -> std::result::Result<(), Outdated> {
        if self.held && is_held(store, epoch)? {
            return Err(Outdated::Held);
        }
        if self.unsettled && unsettled {
            return Err(Outdated::Recycled);
        }
        Ok(())
    }
}

impl From<Error> for Outdated {
    fn from(error: Error) -> Self {
        match error {
            Error::Recycled { .. } => Outdated::Recycled,
            error => Outdated::Failed(error),
        }
    }
}

impl From<baro_sys::Error> for Outdated {
    fn from(error: baro_sys::Error) -> Self {
        Outdated::Failed(error.into())
    }
}

/// Whether a pin had a segment copied out of the log before that reused it, or had when the store was looked at,
/// and was released since: only a new look finds either.
fn is_held(store: &Store, epoch: u64) -> Result<bool> {
    Ok(store.kept().any(|kept| kept == epoch) || kept_epochs(&store.storage)?.contains(&epoch))
}
