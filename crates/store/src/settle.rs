//! Settling: samples go from the log into runs, and small runs into larger ones.
//!
//! A step takes as many unsettled blocks as fit the memory given, merges their sections, writes
//! one run under another name, syncs and renames it, and then replaces the manifest, which names
//! the run and says how far the log is settled now. So there is the old state or the new one
//! whenever the power goes, and a run that no manifest names is removed by the next step.
//!
//! Only blocks that are durable for certain are settled: those that a later block of their session
//! proves, or, if nobody records, all live ones.
//!
//! Invariants: a killed settling leaves what is read as it was; each sample that was durable is
//! read once, from the log or from a run. Held by `tests/settle.rs` and `tests/model`.

mod batch;
mod output;
mod pace;
mod passed;
mod retention;
mod thread;
mod trusted;
mod turns;
mod write;

pub use baro_log::Holding;
pub use retention::{Dropped, RunRetention};
pub use thread::{Settling, SettlingOptions, SettlingState, SettlingStatus};

use crate::catalog::write_dictionary_in_portions;
use crate::damage::Damage;
use crate::runs::{Runs, read_manifest};
use crate::verify::runs::younger_run;
use crate::{Error, Hold, Result, Store};
use baro_log::{KnowingLock, ManifestLock, Pins, RUNS, Role, StoreLock, run_name, write_manifest};
use baro_ondisk::limits::RUNS_MAX;
use baro_ondisk::{Manifest, RunEntry};
use baro_sys::clock;
use baro_sys::disk::Disk;
use baro_sys::storage::Storage;
use pace::Pace;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use turns::Turns;

/// A name takes about 130 bytes of memory while a dictionary is written (measured with a million of
/// 41 letters), and each further portion writes the dictionary once more: half a million names go
/// at once where 40 MiB are given, which take less than twice that for a moment.
const DICTIONARY_NAME_BYTES: usize = 80;

/// How settling goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettleOptions {
    /// Compressed samples taken from the log at once: what becomes one run. Memory needed beside
    /// is about half as much.
    pub memory_bytes: usize,
    /// Nothing is settled before so many bytes of sections are there (unless all is asked for):
    /// larger runs are smaller in all and are merged less often.
    pub least_bytes: u64,
    /// So many runs of one level become one of the next.
    pub fan_in: usize,
    /// No run grows larger than this by merging.
    pub run_bytes_max: u64,
    /// What is kept.
    pub retention: RunRetention,
    /// Rest after each piece of work as often as it took: 0 settles at full speed, 3 takes a
    /// quarter of the time.
    pub rest: u32,
}

impl Default for SettleOptions {
    fn default() -> Self {
        SettleOptions {
            memory_bytes: 40 << 20,
            least_bytes: 32 << 20,
            fan_in: 8,
            run_bytes_max: 1 << 30,
            retention: RunRetention::default(),
            rest: 0,
        }
    }
}

/// How much of the log is to be settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What makes a run worth writing.
    Enough,
    /// Everything that is durable for certain.
    All,
}

/// What a step did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Samples taken from the log, duplicates included.
    pub samples_read: u64,
    /// Samples in the runs written.
    pub samples: u64,
    /// Bytes of the runs written.
    pub bytes: u64,
    /// Runs written from the log.
    pub runs: u32,
    /// Runs written by merging.
    pub merged: u32,
    /// Runs dropped because of their age or size.
    pub dropped: Dropped,
    /// What was free where more is to be, and dropping all runs would not have given that: none was dropped
    /// for it.
    pub min_free_missed: Option<u64>,
    /// Runs written anew without what has been deleted, or dropped because nothing was left.
    pub cleaned: u32,
    /// Damage met; the samples there are in no run.
    pub damage: Vec<Damage>,
    /// There is more to do at once.
    pub more: bool,
}

/// What a new manifest has not any more.
enum Changes<'a> {
    Nothing,
    /// Runs whose samples are gone.
    Dropped(&'a [RunEntry]),
    /// Runs whose samples are in another run.
    Replaced(&'a [RunEntry]),
}

/// Moves samples from the log into runs, and small runs into larger ones, step by step. A store has one
/// at a time.
#[derive(Debug)]
pub struct Settler {
    store: Store,
    options: SettleOptions,
    pace: Arc<Pace>,
    lock: Option<StoreLock>,
    /// Where the manifest is locked while it is replaced, and what says that it will be.
    gate: Option<(Disk, Option<KnowingLock>)>,
    /// Asked while another process has the manifest locked.
    turns: Turns,
    /// Another process records into the store.
    foreign: bool,
    /// Runs that were found damaged when they were to be merged.
    damaged: BTreeSet<u64>,
    /// What has been handed over to a table, as it was when the step began.
    hold: Hold,
}

impl Settler {
    /// Opens the store at `path` for settling.
    ///
    /// # Errors
    /// It is no store, or another process settles it.
    pub fn open(path: &Path, options: SettleOptions) -> Result<Self> {
        Settler::open_with(path, options, |_| true)
    }

    /// As [`Settler::open`]. When another process has the manifest locked for longer than a moment, `turn` is
    /// told who, many times a second, and with `None` when that is over. It says whether to go on waiting; if
    /// not, the step ends with [`Error::Ended`].
    ///
    /// # Errors
    /// As [`Settler::open`].
    pub fn open_with(
        path: &Path,
        options: SettleOptions,
        turn: impl Fn(Option<&Holding>) -> bool + Send + Sync + 'static,
    ) -> Result<Self> {
        Settler::open_at(path, options, Arc::new(Pace::new(options.rest)), Turns::new(turn))
    }

    fn open_at(path: &Path, options: SettleOptions, pace: Arc<Pace>, turns: Turns) -> Result<Self> {
        let store = Store::open(path)?;
        store.storage.create_folder(RUNS)?;
        store.storage.sync_folder("")?;
        let lock = StoreLock::take(store.disk()?, Role::Settling)?
            .map_err(|holder| Error::Settling { path: path.to_owned(), pid: holder.pid })?;
        let damaged = BTreeSet::new();
        let disk = baro_log::open_folder(path)?;
        let knowing = ManifestLock::know(&disk)?;
        let (lock, gate) = (Some(lock), Some((disk, knowing)));
        let (foreign, hold) = (true, Hold::None);
        let mut settler =
            Settler { store, options, pace, lock, gate, turns, foreign, damaged, hold };
        settler.clean()?;
        Ok(settler)
    }

    /// One step: a run from the log, or a merging, or runs dropped. Blocks for the device.
    ///
    /// # Errors
    /// The operating system refuses: what was there before is there still.
    pub fn step(&mut self, extent: Extent) -> Result<Settled> {
        // A step whose end would have to wait is not begun: what it wrote may be outdated by then.
        drop(self.lock_manifest()?);
        let holder = StoreLock::holder(self.store.disk()?, Role::Recording)?;
        self.foreign = holder.is_some_and(|holder| holder.pid != Some(std::process::id()));
        let mut recording = holder.is_some();
        if !recording {
            // Sessions that are seen now, and nobody records then: they are over.
            self.store.refresh()?;
            recording = StoreLock::holder(self.store.disk()?, Role::Recording)?.is_some();
        }
        self.step_with(extent, recording)
    }

    /// Notes that no epoch below `epoch` holds samples which are in no run, for who knows that
    /// without reading. Writes the manifest if that is news.
    ///
    /// # Errors
    /// The operating system refuses, or the manifest is damaged or older than it was.
    pub fn pass_over(&mut self, epoch: u64) -> Result<()> {
        let _lock = self.lock_manifest()?;
        let mut manifest = match read_manifest(&self.store.storage, self.store.identity.store)? {
            Ok(manifest) => manifest.unwrap_or_default(),
            Err(damage) => return Err(Error::Manifest { damage: Box::new(damage) }),
        };
        // One that was put back is no ground to write another on: the next one would be as young as it should
        // be, and nobody would know any more.
        if let Some(damage) = self.store.older_now(&manifest) {
            return Err(Error::Manifest { damage: Box::new(damage) });
        }
        if epoch <= manifest.settled.epoch {
            return Ok(());
        }
        manifest.settled = baro_ondisk::Settled { epoch, end: 0 };
        self.replace(manifest)?;
        self.pace.taken().passed_over(epoch);
        Ok(())
    }

    /// Whether somebody else has replaced the manifest, as who deletes does.
    pub(crate) fn has_news(&self) -> Result<bool> {
        Ok(!self.store.is_newest(&self.store.runs.manifest)?)
    }

    /// Lets others know something ([`StoreLock::say`]); what cannot be written is not.
    fn say(&self, line: &str) {
        if let Some(lock) = &self.lock {
            let _ = lock.say(line);
        }
    }
}

impl Settler {
    /// Over a store that is open already, in any storage; the caller sees to it that nobody else
    /// settles it.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn over(store: Store, options: SettleOptions) -> Result<Self> {
        store.storage.create_folder(RUNS)?;
        store.storage.sync_folder("")?;
        let mut settler = Settler {
            store,
            options,
            pace: Arc::new(Pace::new(options.rest)),
            lock: None,
            gate: None,
            turns: Turns::default(),
            foreign: false,
            damaged: BTreeSet::new(),
            hold: Hold::None,
        };
        settler.clean()?;
        Ok(settler)
    }

    /// As [`Settler::step`]; `recording`: somebody records into the store now, or may do so since
    /// the store was opened or the last step. A session that has begun since is taken for one that
    /// goes on in any case.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn step_with(&mut self, extent: Extent, recording: bool) -> Result<Settled> {
        let done = self.try_step(extent, recording);
        if done.is_err() {
            self.pace.taken().give_up();
        }
        if matches!(done, Err(Error::ManifestChanged)) {
            // Something was deleted meanwhile: the step begins anew, and knows it.
            self.clean()?;
            return Ok(Settled { more: true, ..Settled::default() });
        }
        if done.is_err() {
            // A run that no manifest came to name may take the room that is missing.
            let _ = self.clean();
        }
        done
    }

    fn try_step(&mut self, extent: Extent, recording: bool) -> Result<Settled> {
        let known = self.store.last_session();
        self.store.refresh()?;
        // First: with it the types of a million series are a million bytes.
        if self.write_dictionary_if_room()?.is_some() {
            self.store.refresh()?;
        }
        // Of a session that goes on more blocks may follow in a segment that seems to be its last.
        let recording = recording || self.store.last_session() != known;
        let mut report = Settled::default();
        if let Some(damage) = self.store.runs.damage.iter().find(|d| d.loss.is_of_manifest()) {
            return Err(Error::Manifest { damage: Box::new(damage.clone()) });
        }
        report.damage.extend(self.store.runs.damage.iter().cloned());
        self.hold = Hold::read(&self.store.storage, self.store.identity.store);
        if let Hold::Unreadable(damage) = &self.hold {
            report.damage.push(Damage::clone(damage));
        }
        self.drop_old(&mut report)?;
        let taken = self.settle_log(extent, recording, &mut report)?;
        if !taken && !self.merge(&mut report)? {
            self.drop_deleted(&mut report)?;
        }
        report.more |= self.mergeable().is_some() || self.deleted_in().is_some();
        Ok(report)
    }

    /// Writes the dictionary anew when a tenth of all names is in none: so a name is written a few
    /// times in its life, an open reads few names, and they are there twice should the catalog be
    /// lost. Nothing while another process records, which may declare more.
    ///
    /// # Errors
    /// The device is full or fails; the old dictionary stays.
    pub fn write_dictionary(&mut self) -> Result<Option<crate::DictionaryWritten>> {
        // A tenth of all is a ninth of the others.
        let catalog = &self.store.catalog;
        if self.foreign || !catalog.lacks(catalog.covered().div_ceil(9).max(1)) {
            return Ok(None);
        }
        let most = self.options.memory_bytes / DICTIONARY_NAME_BYTES;
        let (storage, store) = (&self.store.storage, self.store.identity.store);
        let (pace, mut since_ns) = (&self.pace, clock::monotonic_ns());
        // To be ended is no reason to leave it half done: the old one would stay.
        let mut rest = |_| since_ns = pace.rest(since_ns).unwrap_or(since_ns);
        match write_dictionary_in_portions(storage, store, most.max(1), &mut rest) {
            // A damaged catalog is told by its readers; no dictionary is made of it.
            Err(Error::CatalogDamaged { .. }) => Ok(None),
            other => other,
        }
    }

    /// The same, but for a full device: what can be settled or dropped then gives room, and all names are
    /// in the catalog.
    fn write_dictionary_if_room(&mut self) -> Result<Option<crate::DictionaryWritten>> {
        match self.write_dictionary() {
            Err(error) if error.is_full() => Ok(None),
            other => other,
        }
    }

    /// The store as it is settled.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The store, seen anew.
    #[must_use]
    pub fn into_store(self) -> Store {
        self.store
    }

    /// Removes what a killed or failed settling has left.
    fn clean(&mut self) -> Result<()> {
        let storage = &self.store.storage;
        let manifest = match read_manifest(storage, self.store.identity.store)? {
            Ok(manifest) => manifest.unwrap_or_default(),
            // What is damaged is not cleaned up behind.
            Err(_) => return Ok(()),
        };
        // Nor behind an older one that was put back.
        if self.store.runs.damage.iter().any(|damage| damage.loss.is_of_manifest()) {
            return Ok(());
        }
        if let Some(damage) = younger_run(storage, self.store.identity.store, &manifest)? {
            return Err(Error::Manifest { damage: Box::new(damage) });
        }
        // Whoever was killed may not have made durable what is read here.
        storage.sync_folder(RUNS)?;
        for name in storage.list(RUNS)? {
            let id = name.strip_suffix(".run").and_then(|id| u64::from_str_radix(id, 16).ok());
            let counts = |id| manifest.runs.iter().any(|run| run.id == id);
            let left = match id {
                // A reader may still be about to open a run that was merged away a moment ago; by
                // the next open of a settler it has read the manifest again.
                Some(id) => !counts(id),
                None => name.ends_with(".new"),
            };
            if left {
                storage.remove(&format!("{RUNS}/{name}"))?;
            }
        }
        Ok(())
    }

    /// Writes the manifest, in which what `changes` says is gone; from its rename on it counts.
    fn commit(&mut self, manifest: Manifest, changes: &Changes<'_>) -> Result<()> {
        let _lock = self.lock_manifest()?;
        if !self.store.is_newest(&self.store.runs.manifest)? {
            return Err(Error::ManifestChanged);
        }
        // Whoever hands over reads the manifest only after he has offered its runs.
        let hold = Hold::read(&self.store.storage, self.store.identity.store);
        let is_allowed = match changes {
            Changes::Nothing => true,
            Changes::Dropped(runs) => {
                // A pin that is asked for meanwhile may hold one of them.
                let pins = Pins::read(&self.store.storage, self.store.identity.store)?;
                let are_known =
                    pins.pins.keys().all(|id| self.store.pins().any(|pin| pin.id == *id));
                are_known && !runs.iter().any(|run| self.is_kept(&hold, run))
            }
            Changes::Replaced(runs) => {
                let stays = |run: &RunEntry| {
                    let had = self.has(&self.hold, run);
                    had == self.has(&hold, run) && (had || !hold.offers(run))
                };
                hold.table() == self.hold.table() && runs.iter().all(stays)
            }
        };
        if !is_allowed {
            return Err(Error::ManifestChanged);
        }
        self.replace(manifest)
    }

    /// Whether a table has the samples of a run.
    fn has(&self, hold: &Hold, run: &RunEntry) -> bool {
        if *hold == Hold::None {
            return false;
        }
        let store = &self.store;
        let file = store.runs.files.iter().find(|file| file.entry.id == run.id);
        let note = file.map_or(&[][..], |file| file.index.info().note.as_slice());
        hold.has(store.identity.store, run, note)
    }

    /// Whether a run is not dropped before a table has its samples.
    fn is_kept(&self, hold: &Hold, run: &RunEntry) -> bool {
        hold.holds() && !self.has(hold, run)
    }

    /// Whether a table has the samples of a run; `None` if it may be getting them now, and the run stays
    /// as it is.
    fn standing(&self, run: &RunEntry) -> Option<bool> {
        let has = self.has(&self.hold, run);
        (has || !self.hold.offers(run)).then_some(has)
    }

    fn lock_manifest(&self) -> Result<Option<ManifestLock>> {
        let gate = self.gate.as_ref();
        gate.map(|(disk, _)| self.turns.take(disk, "settles")).transpose()
    }

    /// The same under the lock.
    fn replace(&mut self, mut manifest: Manifest) -> Result<()> {
        let storage = &self.store.storage;
        manifest.store = self.store.identity.store;
        manifest.generation += 1;
        if manifest.runs.len() > RUNS_MAX {
            return Err(Error::Runs { limit: RUNS_MAX });
        }
        let (settled, last) = (manifest.settled, manifest.settled.last_epoch());
        let mut headers = self.store.segments.started.iter().map(|segment| segment.header);
        if let Some(header) = headers.find(|header| header.epoch == last) {
            manifest.settled_crc = settled.session_crc(header.session);
        } else if last != self.store.runs.manifest.settled.last_epoch() {
            manifest.settled_crc = 0;
        }
        write_manifest(storage, &manifest)?;
        let files = std::mem::take(&mut self.store.runs.files);
        self.store.runs = Runs::open(storage, self.store.identity.store, &files)?;
        Ok(())
    }

    /// Removes the files of runs that no manifest names any more.
    fn remove(&mut self, runs: &[RunEntry]) -> Result<()> {
        for run in runs {
            match self.store.storage.remove(&run_name(run.id)) {
                Err(error) if !error.is_missing() => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }
}

impl Store {
    /// Whether the manifest that counts is of the same generation as this one.
    pub(crate) fn is_newest(&self, manifest: &Manifest) -> Result<bool> {
        match read_manifest(&self.storage, self.identity.store)? {
            Ok(found) => Ok(found.map_or(0, |found| found.generation) == manifest.generation),
            Err(damage) => Err(Error::Manifest { damage: Box::new(damage) }),
        }
    }
}

#[cfg(test)]
mod tests;
