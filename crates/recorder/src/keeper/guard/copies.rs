//! Copies of pinned segments: whether each is still the file that the keeper made, whole.
//!
//! A copy may be all that is left of its segment. Its bytes are never written again, so a file with
//! another inode, or fewer bytes, is not what was kept. Held by the tests named in [`super`].

use super::NAMES_MAX;
use baro_log::{Pins, kept_name, missing_copies, pin_name};
use baro_ondisk::{Copies as Count, Manifest, Pin, StoreId};
use baro_sys::disk::{Disk, Found};
use std::collections::BTreeMap;

/// What can happen to one, and how it is said.
const DEEDS: [&str; 3] = ["removed", "replaced by another file", "cut"];

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// What each was when it was looked at first; `None` once it was said that something has happened.
    known: BTreeMap<u64, Option<Found>>,
    /// Where the next look begins if there are more than [`NAMES_MAX`].
    from: u64,
    /// Those to which something has happened; the keeper takes them.
    pub(super) doubted: Vec<u64>,
}

/// What pins miss of their copies when a recorder begins, which only they themselves can tell then: a
/// sentence for each. `frames`: the store may have frames, which are in no run.
pub(super) fn missing_before(
    disk: &Disk,
    store: StoreId,
    log: impl Iterator<Item = u64>,
    (manifest, frames): (&Manifest, impl FnOnce() -> bool),
) -> Vec<String> {
    // What cannot be read was told by the keeper.
    let Ok(pins) = Pins::read(disk, store) else { return Vec::new() };
    let missing = missing_copies(disk, store, &pins, log, (manifest, frames)).unwrap_or_default();
    let said = |(pin, found): (Pin, Count)| {
        let expected = pin.copies;
        format!(
            "{}: expected {} copies of segments up to epoch {} ({} bytes), found {} ({} bytes) when this \
             recorder began: part of what it keeps is lost; look with: baro verify",
            pin_name(pin.id, "pin"),
            expected.count,
            expected.last_epoch,
            expected.bytes,
            found.count,
            found.bytes
        )
    };
    missing.into_iter().map(said).collect()
}

impl Copies {
    /// What is wrong with copies of these epochs and was not said before: a sentence for each kind.
    pub(super) fn look(&mut self, disk: &Disk, kept: &[(u64, u64)], all: bool) -> Vec<String> {
        self.known.retain(|epoch, _| kept.binary_search_by_key(epoch, |copy| copy.0).is_ok());
        let most = if all { usize::MAX } else { NAMES_MAX };
        let (before, behind) = kept.split_at(kept.partition_point(|copy| copy.0 < self.from));
        let mut found: [Vec<u64>; DEEDS.len()] = Default::default();
        for (epoch, bytes) in behind.iter().chain(before).take(most).copied() {
            self.from = epoch + 1;
            let deed = self.look_at(disk, epoch, bytes).and_then(|deed| found.get_mut(deed));
            if let Some(epochs) = deed {
                epochs.push(epoch);
                self.doubted.push(epoch);
            }
        }
        let said = |(deed, epochs): (&str, &Vec<u64>)| {
            let first = kept_name(*epochs.first()?);
            let others = match epochs.len() - 1 {
                0 => String::new(),
                1 => " and one more copy".to_owned(),
                others => format!(" and {others} more copies"),
            };
            let were = if epochs.len() == 1 { "was" } else { "were" };
            Some(format!(
                "{first}{others} {were} {deed} while recording: what pins hold there may be lost; \
                 look with: baro verify"
            ))
        };
        DEEDS.into_iter().zip(&found).filter_map(said).collect()
    }

    /// This copy was made anew.
    pub(super) fn remade(&mut self, epoch: u64) {
        self.known.remove(&epoch);
    }

    /// The number of what has happened to this one, which was made with so many bytes, if anything.
    fn look_at(&mut self, disk: &Disk, epoch: u64, bytes: u64) -> Option<usize> {
        let now = match disk.found(&kept_name(epoch)) {
            Err(error) if !error.is_missing() => return None,
            now => now.ok(),
        };
        let deed = match (self.known.get(&epoch), now) {
            (Some(None), _) => return None,
            (_, None) => 0,
            (Some(Some(was)), Some(now)) if now.identity != was.identity => 1,
            (Some(Some(was)), Some(now)) if now.bytes < was.bytes => 2,
            (_, Some(now)) if now.bytes < bytes => 2,
            (_, Some(now)) => {
                self.known.entry(epoch).or_insert(Some(now));
                return None;
            }
        };
        self.known.insert(epoch, None);
        Some(deed)
    }
}
