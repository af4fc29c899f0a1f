//! What tools ask about a store from outside its recorder: which rings there are and what waits in
//! them, and to pin and to release. For `baro info`, `pin`, `rings` and `tune`, for programs in C, and
//! for the fuzzer. Who embeds a recorder is told the same of his own by
//! [`RingReport`](crate::RingReport), so this is behind the feature `inspect`.
//!
//! Invariant: looking (all but the two of pins) makes nothing and takes nothing over. Held by
//! `tests/attach.rs`.

use crate::ring::RingFolder;
use baro_ondisk::StoreId;
use baro_sys::files;
use std::path::{Path, PathBuf};

pub use crate::keeper::{pin_in_store, release_in_store};
pub use crate::ring::{FoundRing, RingContents, RingSearch, inspect as inspect_ring};

/// Every ring of a store that lies where rings are looked for (or below `wanted`), by whose process
/// soever.
#[must_use]
pub fn rings_of(store: StoreId, wanted: Option<&Path>) -> Vec<FoundRing> {
    RingFolder::rings(store, wanted, baro_sys::schedule::user_id()).rings
}

/// The same of the store at `path`, for root where its owner has them, and whoever else; with what was found
/// where the owner has them and is no ring or cannot be trusted.
#[must_use]
pub fn rings_at(path: &Path, store: StoreId, wanted: Option<&Path>) -> RingSearch {
    let owner = crate::attach::owner_to_trust(path);
    let owner = owner.unwrap_or_else(|_| baro_sys::schedule::user_id());
    let mut found = RingFolder::rings(store, wanted, owner);
    if baro_sys::schedule::is_root() {
        let all = RingSearch::of_all(wanted).rings.into_iter().filter(|ring| ring.store == store);
        for ring in all {
            if !found.rings.iter().any(|known| known.path == ring.path) {
                found.rings.push(ring);
            }
        }
    }
    found
}

/// Bytes in the rings of the recorders of the store at `path` that are not durable yet, and how many these
/// rings hold. A look at files; blocks for no recorder.
#[must_use]
pub fn waiting_at(path: &Path, store: StoreId) -> (u64, u64) {
    let rings = rings_at(path, store, None).rings;
    let used = rings.iter().filter(|ring| ring.has_writer);
    used.fold((0, 0), |(waiting, capacity), ring| {
        (waiting + ring.report.used_bytes, capacity + ring.report.capacity_bytes)
    })
}

/// Percent of the last ten seconds in which some task waited for a disk; `None` where the kernel does not
/// say it.
#[must_use]
pub fn disk_pressure() -> Option<f64> {
    let text = files::read_text(Path::new("/proc/pressure/io"), 4_096).ok()?;
    text.split("avg10=").nth(1)?.split(' ').next()?.parse().ok()
}

/// Below which folder rings would be made where nothing is said; it need not exist yet.
#[must_use]
pub fn base_of_rings() -> Option<PathBuf> {
    RingFolder::base()
}
