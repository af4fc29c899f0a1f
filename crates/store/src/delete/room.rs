//! What deletions have left in the store: how many there are, and about how many bytes of runs settling
//! gives back. From indexes alone, no page is read; so of a page that is deleted in part its share is
//! taken, as if its samples lay evenly in its ids and times.
//!
//! Held by `what_is_deleted_is_told_and_its_room_comes_back` of `tests/delete.rs`.

use super::merged;
use crate::Store;
use crate::runs::RunFile;
use baro_ondisk::{Deletion, IdRange};
use baro_runs::PageEntry;

/// What deletions have left: how many there are, and what settling gives back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeletedRoom {
    /// Deletions in force.
    pub deletions: u32,
    /// Series and channels of which something was deleted.
    pub series: u64,
    /// Bytes of runs that settling gives back, estimated.
    pub runs_bytes: u64,
}

impl Store {
    /// What deletions have left.
    #[must_use]
    pub fn deleted_room(&self) -> DeletedRoom {
        let deletions = &self.runs.deletions;
        let ids = merged(deletions.iter().flat_map(|one| one.ids.iter().copied()));
        let series = ids.iter().map(|range| u64::from(range.last - range.first) + 1).sum();
        let runs_bytes = self.runs.files.iter().map(|run| deleted_bytes(run)).sum();
        DeletedRoom { deletions: deletions.len() as u32, series, runs_bytes }
    }
}

fn deleted_bytes(run: &RunFile) -> u64 {
    let of_page = |page: &PageEntry| {
        let by = run.mask_of(page).map_or(&[][..], crate::mask::Mask::by);
        let share: f64 = by.iter().map(|one| share(one, page)).sum();
        (f64::from(page.bytes) * share.min(1.0)) as u64
    };
    run.index.pages().iter().map(of_page).sum()
}

/// Of a page, by its ids and times.
fn share(one: &Deletion, page: &PageEntry) -> f64 {
    let width = |first: i128, last: i128| (last - first + 1).max(0) as f64;
    let both = |a: (i128, i128), b: (i128, i128)| width(a.0.max(b.0), a.1.min(b.1));
    let ids = (i128::from(page.first_series), i128::from(page.last_series));
    let of_ids: f64 = one
        .ids
        .iter()
        .map(|IdRange { first, last }| both(ids, (i128::from(*first), i128::from(*last))))
        .sum();
    let times = (i128::from(page.time_min_ns), i128::from(page.time_max_ns));
    let end = if one.to_ns == i64::MAX { i128::MAX / 2 } else { i128::from(one.to_ns) - 1 };
    let of_times = both(times, (i128::from(one.from_ns), end));
    of_ids / width(ids.0, ids.1) * of_times / width(times.0, times.1)
}
