//! The files of a store beside its segments: whether each is still the one that was there.
//!
//! The catalog only grows, the manifest only moves on, a run stays as long as the manifest names it, a
//! pin as long as the keeper holds it. Invariant: what is said was found twice where another process
//! may replace it meanwhile. Held by the tests named in [`super`].

use super::NAMES_MAX;
use super::copies::Copies;
use crate::keeper::Holds;
use baro_log::{
    CATALOG, FOLDER, IDENTITY, LOCK, MANIFEST, pin_name, read_catalog_header, run_name,
};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Identity, Manifest, StoreId};
use baro_sys::disk::{Disk, Found};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::BTreeSet;

/// Names, and what is missing without them.
const FILES: [(&str, &str); 4] = [
    (IDENTITY, "without it this is no store: baro recover makes a new one of what is left"),
    (LOCK, "another recorder could have written meanwhile: baro verify"),
    (CATALOG, "names of series may be lost: baro verify"),
    (FOLDER, "nothing that is written can be found again"),
];

/// See the module.
#[derive(Debug)]
pub(super) struct Names {
    /// What each of [`FILES`] was.
    known: [Option<Found>; FILES.len()],
    settled: u64,
    /// The manifest at the last look, and the runs that it names, with their bytes.
    manifest: Option<Found>,
    runs: Vec<(u64, u64)>,
    /// Where the next look begins if there are more runs than [`NAMES_MAX`].
    from_run: usize,
    pub(super) copies: Copies,
    /// The file of a lock was removed or replaced, and is not locked since.
    pub(super) unlocked: bool,
    /// The file `store` is not the one that was locked when the store was opened.
    pub(super) is_store_replaced: bool,
    /// The same of the file of the lock.
    pub(super) is_lock_replaced: bool,
    /// What was said of pins and runs.
    said: BTreeSet<String>,
}

impl Names {
    pub(super) fn new(disk: &Disk) -> Self {
        let known = FILES.map(|(name, _)| disk.found(name).ok());
        Names {
            known,
            settled: 0,
            manifest: None,
            runs: Vec::new(),
            from_run: 0,
            copies: Copies::default(),
            unlocked: false,
            is_store_replaced: false,
            is_lock_replaced: false,
            said: BTreeSet::new(),
        }
    }

    /// From now on this file is what it is now.
    pub(super) fn know(&mut self, disk: &Disk, name: &str) {
        for (known, (file, _)) in self.known.iter_mut().zip(FILES) {
            if file == name {
                *known = disk.found(name).ok();
            }
        }
    }

    /// What is wrong and was not said before; `all`: every name is looked at, else some of many.
    pub(super) fn look(
        &mut self,
        disk: &Disk,
        store: StoreId,
        holds: &Holds,
        all: bool,
    ) -> Vec<String> {
        let mut said = Vec::new();
        for (known, (name, without)) in self.known.iter_mut().zip(FILES) {
            let now = match disk.found(name) {
                Err(error) if !error.is_missing() => continue,
                now => now.ok(),
            };
            let identity = |found: &Option<Found>| found.as_ref().map(|found| found.identity);
            if identity(known) != identity(&now) && (name == IDENTITY || name == LOCK) {
                self.unlocked = true;
                self.is_store_replaced |= name == IDENTITY;
                self.is_lock_replaced |= name == LOCK;
            }
            // Who writes over it in place leaves its name and its bytes.
            let is_touched =
                known.map(|found| found.modified_ns) != now.map(|found| found.modified_ns);
            let is_other = match name {
                IDENTITY => is_touched && !is_store(disk, store),
                CATALOG => all && !is_catalog(disk, store),
                _ => false,
            };
            if is_other && now.is_some() {
                said.push(format!("{name} was written over while recording: {without}"));
            }
            said.extend(changed(name, known.as_ref(), now.as_ref(), without));
            *known = now;
        }
        said.extend(self.runs(disk, store, all));
        said.extend(self.copies.look(disk, &holds.kept, all));
        let gone = |id: &&u64| disk.found(&pin_name(**id, "pin")).is_err_and(|e| e.is_missing());
        for id in holds.pins.iter().filter(gone) {
            let name = pin_name(*id, "pin");
            said.extend(self.once(format!(
                "{name} was removed while recording: what it pins is kept until this recorder ends"
            )));
        }
        said
    }

    fn once(&mut self, what: String) -> Option<String> {
        self.said.insert(what.clone()).then_some(what)
    }

    /// The manifest and the runs that it names.
    fn runs(&mut self, disk: &Disk, store: StoreId, all: bool) -> Vec<String> {
        let mut said = Vec::new();
        if !self.read_manifest(disk, store) {
            said.extend(self.once(format!(
                "{MANIFEST} was removed, replaced or damaged while recording: samples in runs may \
                 not be found"
            )));
        }
        let most = if all { usize::MAX } else { NAMES_MAX };
        let (before, behind) = self.runs.split_at(self.from_run.min(self.runs.len()));
        let turn: Vec<_> = behind.iter().chain(before).take(most).copied().collect();
        self.from_run = (self.from_run + turn.len()) % self.runs.len().max(1);
        let missing = |(id, bytes): &(u64, u64)| match disk.found(&run_name(*id)) {
            Ok(found) => found.bytes < *bytes,
            Err(error) => error.is_missing(),
        };
        let once: Vec<_> = turn.into_iter().filter(missing).collect();
        if once.is_empty() {
            return said;
        }
        // Looked at twice: since the look at the manifest merging may have dropped it.
        self.manifest = None;
        self.read_manifest(disk, store);
        for run in once {
            if self.runs.contains(&run) && missing(&run) {
                let name = run_name(run.0);
                said.extend(self.once(format!(
                    "{name} was removed or cut while recording: its samples are lost"
                )));
            }
        }
        said
    }

    /// Takes in the manifest if it has changed; false if less is settled than before.
    fn read_manifest(&mut self, disk: &Disk, store: StoreId) -> bool {
        let found = disk.found(MANIFEST).ok();
        if found.is_some() && found == self.manifest {
            return true;
        }
        self.manifest = found;
        let read = read_manifest(disk).filter(|manifest| manifest.store == store);
        let settled = read.as_ref().map_or(0, |manifest| manifest.settled.epoch);
        let runs = read.map(|manifest| manifest.runs).unwrap_or_default();
        self.runs = runs.iter().map(|run| (run.id, run.bytes)).collect();
        let less = settled < self.settled;
        self.settled = self.settled.max(settled);
        !less
    }
}

/// Whether the file `store` says that this is the store of that id; yes too if it cannot be read.
fn is_store(disk: &Disk, store: StoreId) -> bool {
    let mut unit = [0; UNIT_BYTES];
    let read = disk.open(IDENTITY, Access::Read).and_then(|file| file.read_at(0, &mut unit));
    let Ok(read) = read else { return true };
    let found = Identity::decode(unit.get(..read).unwrap_or(&[]));
    found.is_ok_and(|found| found.store == store)
}

/// Whether the catalog begins with the header of one of that store; yes too if it cannot be read.
fn is_catalog(disk: &Disk, store: StoreId) -> bool {
    let Ok(file) = disk.open(CATALOG, Access::ReadDirect) else { return true };
    match read_catalog_header(&file) {
        Ok((header, _)) => header.store == store,
        Err(error) => !matches!(error, baro_log::Error::Format { .. }),
    }
}

pub(super) fn read_manifest(disk: &Disk) -> Option<Manifest> {
    let file = disk.open(MANIFEST, Access::Read).ok()?;
    let bytes = usize::try_from(file.size_bytes().ok()?).ok()?;
    let mut manifest = vec![0; bytes.min(Manifest::BYTES_MAX)];
    let read = file.read_at(0, &mut manifest).ok()?;
    Manifest::decode(manifest.get(..read)?).ok()
}

/// What has happened to a file, if anything.
fn changed(name: &str, was: Option<&Found>, now: Option<&Found>, without: &str) -> Option<String> {
    let was = was?;
    match now {
        None => Some(format!("{name} was removed while recording: {without}")),
        Some(now) if now.identity != was.identity => {
            Some(format!("{name} was replaced by another file while recording: {without}"))
        }
        // A folder's size is nobody's matter, and that of a lock is its text's.
        Some(now) if now.bytes < was.bytes && (name == CATALOG || name == IDENTITY) => {
            let (before, after) = (was.bytes, now.bytes);
            Some(format!(
                "{name} was cut from {before} to {after} bytes while recording: {without}"
            ))
        }
        Some(_) => None,
    }
}
