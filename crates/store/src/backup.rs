//! A second copy of a store in another folder, made beside whatever records or settles. Runs never
//! change, so each is copied once; of the log only what is new since the last backup.
//!
//! The order makes every moment of it a store that can be read, so that a backup that is killed leaves
//! the state before it or a younger one: runs under their names; what is new of the log beside its
//! place; names; the manifest, from which on the runs count; then the log, the oldest segment
//! first; what the store does not have any more goes last. The identity of a first backup is written
//! behind all that, so that before it is whole it is no store.
//!
//! A segment that the recorder reuses meanwhile is passed over if its samples were settled; else all
//! is looked at anew. Nothing of the store is locked or changed.
//!
//! Invariant: after any crash, and after each backup, the copy reads as the store did at one moment.
//! Held by `tests/backup.rs` and `tests/model`.

mod history;
mod log;
mod mark;
mod outdated;
mod place;
#[cfg(test)]
mod tests;

use crate::damage::{Damage, Loss, Source};
use crate::runs::{Unopened, open_run, read_manifest};
use crate::segments::SegmentFile;
use crate::settle::RunRetention;
use crate::{Error, Result, Store};
use baro_log::{
    CATALOG, DICTIONARY, IDENTITY, InitLock, LOCK, MANIFEST, ManifestLock, Role, StoreLock,
    kept_name, pin_name, run_name, set_when_full, tell_deletions, write_manifest,
};
use baro_ondisk::{Manifest, RunEntry};
use baro_sys::disk::{Disk, PartAttempt};
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use mark::MARK;
use outdated::{Insists, Outdated};
use place::Place;
use std::path::{Path, PathBuf};

/// What a backup keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupOptions {
    /// Runs whose newest sample is older than this, nanoseconds, are not in the copy, measured as
    /// [`RunRetention::keep_ns`] is; those that pins hold are. `None`: all that the store has.
    pub keep_ns: Option<u64>,
}

/// What a backup did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BackedUp {
    /// There was no earlier backup in the folder.
    pub first: bool,
    /// Bytes written into the copy.
    pub bytes: u64,
    /// Bytes of runs and segments that were there already.
    pub there_bytes: u64,
    /// Runs copied.
    pub runs: u64,
    /// Segments of the log copied, those that pins keep included.
    pub segments: u64,
    /// Files removed from the copy because the store does not have them any more, or they are older
    /// than what is kept.
    pub removed: u64,
    /// Segments that the recorder reused before they were copied.
    pub recycled: u64,
    /// Those of them with samples that were in no run, and so are not in the copy: of a store that nobody
    /// settles, or not soon enough.
    pub recycled_unsettled: u64,
    /// What was damaged or missing in the store. A whole copy of it that was there has stayed.
    pub damage: Vec<Damage>,
}

impl BackedUp {
    /// One more was reused.
    fn count_recycled(&mut self, unsettled: bool) {
        self.recycled += 1;
        self.recycled_unsettled += u64::from(unsettled);
    }
}

/// A segment with unsettled samples is reused: so often the log is looked at anew. A recorder that nobody
/// settles beside reuses them at any time.
const TRIES: u32 = 4;
/// The same for what a pin holds or held a moment ago. A segment of it that was reused has been copied out of the log
/// before, which is found at once; so only a pin that ends meanwhile is looked for anew.
const HELD_TRIES: u32 = 8;
/// While more than this is copied of runs, merging makes new ones: they are looked at again.
const LITTLE_BYTES: u64 = 64 << 20;
const ROUNDS: u32 = 4;
/// Of a run these tell it from another one.
const END_BYTES: usize = 4096;

/// Copies the store in the folder `from` into the folder `to`, which is missing, empty, or holds an
/// earlier backup of it. `tick` gets the bytes of each piece that was read, and may rest. Blocks until
/// all is durable.
///
/// # Errors
/// `to` holds something else, or is recorded into or backed up to by another process; the manifest or
/// the names of the store are damaged, which would replace whole ones; or the operating system
/// refuses. The copy is then as it was before, or younger.
pub fn backup(
    from: &Path,
    to: &Path,
    options: &BackupOptions,
    tick: &mut dyn FnMut(u64),
) -> Result<BackedUp> {
    let mut store = Store::open(from)?;
    let refused = |why: String| Error::NotABackup { path: to.to_owned(), why };
    let (here, there) = (place_of(from), place_of(to));
    if here.starts_with(&there) || there.starts_with(&here) {
        return Err(refused("one of the two folders lies in the other".to_owned()));
    }
    let target = Disk::create(to)?;
    let any = AnyStorage::new(target.clone());
    if let Err(error) = mark::check(&any, to, store.identity.store) {
        // What another one has just begun looks like anything else.
        let first = target.found(IDENTITY).is_err();
        return match target.lock_holder(LOCK) {
            Ok(Some(holder)) if first => Err(refused(writes_there(holder.pid))),
            _ => Err(error),
        };
    }
    let _lock = lock_target(&target, to)?;
    mark::prepare(&any, to, store.identity.store)?;
    // Held until the end for versions that lock nothing else.
    let only = target.try_part(MARK, 0)?;
    if matches!(only, PartAttempt::Held) {
        return Err(refused("another process writes a backup there".to_owned()));
    }
    copy_into(&mut store, &any, to, options, tick)
}

/// What keeps everybody else from writing into the folder of a backup.
#[derive(Debug)]
enum TargetLock {
    /// No store is there yet.
    First(#[expect(dead_code, reason = "held")] InitLock),
    /// Nobody may record into an earlier backup, settle it or delete in it.
    Again(
        #[expect(dead_code, reason = "held")] [StoreLock; 2],
        #[expect(dead_code, reason = "held")] ManifestLock,
    ),
}

/// Records into it, or makes a copy.
fn writes_there(pid: Option<u32>) -> String {
    pid.map_or("another process writes there".to_owned(), |pid| {
        format!("process {pid} writes there")
    })
}

fn lock_target(target: &Disk, to: &Path) -> Result<TargetLock> {
    let refused = |why: String| Error::NotABackup { path: to.to_owned(), why };
    if target.found(IDENTITY).is_err() {
        let lock = InitLock::take(target, to).map_err(|error| match error {
            baro_log::Error::Making { pid, .. } => refused(writes_there(pid)),
            other => other.into(),
        })?;
        if target.found(IDENTITY).is_err() {
            return Ok(TargetLock::First(lock));
        }
    }
    let take = |role: Role, doing: &str| {
        let taken = StoreLock::take(target, role).map_err(Error::from)?;
        taken.map_err(|holder| {
            let who =
                holder.pid.map_or("another process".to_owned(), |pid| format!("process {pid}"));
            refused(format!("{who} {doing}"))
        })
    };
    let recording = take(Role::Recording, "records into it, or writes a backup there")?;
    target.create_folder(baro_log::RUNS)?;
    let settling = take(Role::Settling, "settles it")?;
    let manifest = ManifestLock::take(target, "writes a backup", &mut |_, _| false)?;
    Ok(TargetLock::Again([recording, settling], manifest))
}

/// Where a folder is, with links followed as far as it is there: what is not made yet has no other name.
pub(crate) fn place_of(path: &Path) -> PathBuf {
    for there in path.ancestors() {
        let here = if there.as_os_str().is_empty() { Path::new(".") } else { there };
        if let (Ok(place), Ok(rest)) = (here.canonicalize(), path.strip_prefix(there)) {
            return if rest.as_os_str().is_empty() { place } else { place.join(rest) };
        }
    }
    path.to_owned()
}

/// As [`backup`], between any two storages; `path` names the copy in errors. Nobody else is to write
/// into `target` meanwhile.
///
/// # Errors
/// As [`backup`].
pub fn backup_in(
    store: &mut Store,
    target: &(impl Storage + Clone),
    path: &Path,
    options: &BackupOptions,
    tick: &mut dyn FnMut(u64),
) -> Result<BackedUp> {
    copy_into(store, &AnyStorage::new(target.clone()), path, options, tick)
}

fn copy_into(
    store: &mut Store,
    target: &AnyStorage,
    path: &Path,
    options: &BackupOptions,
    tick: &mut dyn FnMut(u64),
) -> Result<BackedUp> {
    mark::prepare(target, path, store.identity.store)?;
    let mut place = Place::open(target, path, tick)?;
    // Before anything is written: a run of another history may have the name of one that is there.
    check(store, &place)?;
    let (mut tries, mut held_tries) = (TRIES, HELD_TRIES);
    while tries > 0 {
        let mut rounds = ROUNDS;
        let manifest = loop {
            let manifest = wanted(store, options)?;
            let bytes = copy_runs(store, &manifest, &mut place)?;
            rounds -= 1;
            if bytes < LITTLE_BYTES || rounds == 0 {
                break manifest;
            }
            store.refresh()?;
        };
        let insists = Insists { unsettled: tries > 1, held: held_tries > 1 };
        match rest_of(store, &manifest, &mut place, insists) {
            Err(Outdated::Recycled) => {
                tries -= 1;
                store.refresh()?;
            }
            Err(Outdated::Held) => {
                held_tries = held_tries.saturating_sub(1);
                store.refresh()?;
            }
            Err(Outdated::Failed(error)) => {
                // The room that they take may be what is missing.
                let _ = place.remove_parts();
                return Err(error);
            }
            Ok(()) => {
                for damage in store.damage_so_far() {
                    place.done.damage.retain(|one| *one != damage);
                    place.done.damage.push(damage);
                }
                return Ok(place.done);
            }
        }
    }
    Err(Error::Recycled { path: store.path.clone() })
}

/// The manifest of the copy.
fn wanted(store: &Store, options: &BackupOptions) -> Result<Manifest> {
    if let Some(damage) = store.runs.damage.iter().find(|damage| damage.loss.is_of_manifest()) {
        return Err(Error::Manifest { damage: Box::new(damage.clone()) });
    }
    if let Some(damage) = store.catalog.opening.iter().find(|damage| damage.is_loss()) {
        return Err(Error::CatalogDamaged { reason: damage.to_string() });
    }
    let mut manifest = store.runs.manifest.clone();
    let retention = RunRetention { keep_ns: options.keep_ns, ..RunRetention::default() };
    let (old, _) = retention.drop_of(store, |_| false, None, false);
    manifest.runs.retain(|run| !old.contains(run));
    Ok(manifest)
}

/// Copies the runs that are not there; returns their bytes.
fn copy_runs(store: &Store, manifest: &Manifest, place: &mut Place<'_>) -> Result<u64> {
    place.folder(baro_log::RUNS)?;
    let before = place.done.bytes;
    place.done.there_bytes = 0;
    for entry in &manifest.runs {
        let name = run_name(entry.id);
        // One that has been merged away since is open still.
        let held = store.runs.files.iter().find(|run| run.entry == *entry);
        let end = held.map(|run| end_of(&run.file, entry.bytes)).transpose()?;
        if place.bytes_of(&name)? == Some(entry.bytes) && place.ends_with(&name, end)? {
            place.done.there_bytes += entry.bytes;
            continue;
        }
        match held {
            Some(run) => place.put(&run.file, &name, entry.bytes, entry.bytes)?,
            None if place.done.first => copy_damaged(store, entry, place)?,
            None => {}
        }
        // What it replaces, in runs and in the log, may be whole: so a damaged one is not taken.
        if !place.done.first
            && let Some(damage) = damage_of(store, entry, place)?
        {
            place.remove(&name)?;
            let (path, damage) = (place.path.to_owned(), Box::new(damage));
            return Err(Error::BackupOfDamaged { path, damage });
        }
        place.done.runs += 1;
    }
    place.target.sync_folder(baro_log::RUNS)?;
    Ok(place.done.bytes - before)
}

/// The last bytes of a run, which hold a checksum of its index.
fn end_of(file: &AnyFile, bytes: u64) -> Result<Vec<u8>> {
    let mut end = vec![0; usize::try_from(bytes).unwrap_or(END_BYTES).min(END_BYTES)];
    let read = file.read_at(bytes - end.len() as u64, &mut end)?;
    end.truncate(read);
    Ok(end)
}

/// What is wrong with a run that was just copied.
fn damage_of(store: &Store, entry: &RunEntry, place: &mut Place<'_>) -> Result<Option<Damage>> {
    match open_run(place.target, store.identity.store, entry) {
        Ok(run) => crate::verify::runs::damage_of(&run),
        Err(Unopened::Missing(damage) | Unopened::Damaged(damage)) => Ok(Some(damage)),
        Err(Unopened::Failed(error)) => Err(error.into()),
    }
}

/// A run that does not open is copied as it is, if it is there: so a first copy tells of the damage too.
fn copy_damaged(store: &Store, entry: &RunEntry, place: &mut Place<'_>) -> Result<()> {
    let name = run_name(entry.id);
    match store.storage.open(&name, Access::Read) {
        Err(error) if error.is_missing() => Ok(()),
        opened => {
            let file = opened?;
            let bytes = file.size_bytes()?;
            place.put(&file, &name, bytes, bytes)
        }
    }
}

/// Everything but the runs.
fn rest_of(
    store: &Store,
    manifest: &Manifest,
    place: &mut Place<'_>,
    insists: Insists,
) -> std::result::Result<(), Outdated> {
    check(store, place)?;
    let mut segments = log::Wanted::of(store, place, insists)?;
    segments.fill(store, place)?;
    segments.stage(store, place)?;
    copy_names(store, place)?;
    copy_pins(store, place)?;
    if !place.done.first {
        set_when_full(place.target, place.path, store.identity.when_full).map_err(Error::from)?;
    }
    let deletions = !manifest.deletions.is_empty();
    if deletions && !place.done.first {
        // Before they count, so that no version which knows none shows what was deleted.
        tell_deletions(place.target, true).map_err(Error::from)?;
    }
    put_manifest(manifest, place)?;
    segments.put(store, place)?;
    if place.done.first {
        // From here on it is a store, and says at once whether something has been deleted.
        let identity = store.identity.encode_with(deletions);
        place.put_bytes(IDENTITY, &identity)?;
        place.target.sync_folder("").map_err(Error::from)?;
    }
    tell_deletions(place.target, deletions).map_err(Error::from)?;
    remove_rest(store, manifest, &segments, place)?;
    Ok(place.complete(store.identity.store, segments.complete_below())?)
}

/// Why a copy is refused that went on by itself.
const OTHER_HISTORY: &str = "it is the backup of another history of this store, which was put back from \
                             a copy and recorded into";

/// Refuses a copy that somebody has recorded into, or that is younger than the store: it would be lost.
fn check(store: &Store, place: &Place<'_>) -> Result<()> {
    if place.done.first {
        return Ok(());
    }
    let segments = place.started(store.identity.segments)?;
    let there = segments.iter().map(|(_, header, _)| header.epoch).max().unwrap_or(0);
    let newest = store.segments.started.last().map_or(0, |last| last.header.epoch);
    let (ours, manifest) =
        (&store.runs.manifest, read_manifest(place.target, store.identity.store)?);
    let manifest = manifest.ok().flatten().unwrap_or_default();
    let why = if there > place.mark.reaches {
        "somebody has recorded into it since it was a backup"
    // A power cut may have taken the start of one segment that a backup had seen.
    } else if there > newest + 1 || (manifest.generation > ours.generation && ours.generation > 0) {
        "it is younger than the store, which may have been put back from an older copy"
    } else if history::runs_differ(ours, &manifest) {
        OTHER_HISTORY
    } else if history::has_more(store, place, &segments)? {
        "it has durable blocks that the store lacks: the store was put back from an older copy and \
         has another history since, or it is damaged there (baro verify tells)"
    } else {
        return Ok(());
    };
    Err(Error::NotABackup { path: place.path.to_owned(), why: why.to_owned() })
}

/// From here on the runs count.
fn put_manifest(manifest: &Manifest, place: &mut Place<'_>) -> Result<()> {
    let there = place.read(MANIFEST)?;
    if manifest.generation == 0 {
        // Nothing was settled yet, or the manifest is gone: the copy's is not to go with it.
        let gone = "is missing, and the copy has one: the store is older than the copy, or it was removed \
                    (baro recover reads what is left)"
            .to_owned();
        let (file, source) = (MANIFEST.to_owned(), Source::Unreadable(gone));
        let damage = Box::new(Damage { file, offset: 0, source, loss: Loss::Manifest });
        return there.map_or(Ok(()), |_| Err(Error::Manifest { damage }));
    }
    let bytes = manifest.encode();
    if there.as_deref() == Some(bytes.as_slice()) {
        return Ok(());
    }
    if place.done.first {
        place.put_bytes(MANIFEST, &bytes)?;
        return Ok(place.target.sync_folder(baro_log::RUNS)?);
    }
    Ok(write_manifest(place.target, manifest)?)
}

/// Names of series: what is in the log and in runs was declared before.
fn copy_names(store: &Store, place: &mut Place<'_>) -> Result<()> {
    // The dictionary says how far into the catalog it reaches. Opened before that is read, it is never
    // ahead of what is copied of it, although a recorder may declare and settle meanwhile.
    let dictionary = store.storage.open(DICTIONARY, Access::Read);
    let file = store.storage.open(CATALOG, Access::Read)?;
    let (end, size) = (log::end_of_catalog(&file)?, file.size_bytes()?);
    place.put_if_other(&file, CATALOG, end, size)?;
    match dictionary {
        Err(error) if error.is_missing() => place.remove(DICTIONARY)?,
        opened => {
            let file = opened?;
            let bytes = file.size_bytes()?;
            place.put_if_other(&file, DICTIONARY, bytes, bytes)?;
        }
    }
    Ok(place.target.sync_folder("")?)
}

fn copy_pins(store: &Store, place: &mut Place<'_>) -> Result<()> {
    place.folder(baro_log::PINS)?;
    for pin in store.pins() {
        let name = pin_name(pin.id, "pin");
        let bytes = pin.encode();
        if place.read(&name)?.as_deref() != Some(bytes.as_slice()) {
            place.put_bytes(&name, &bytes)?;
        }
    }
    Ok(place.target.sync_folder(baro_log::PINS)?)
}

/// Removes from the copy what the store does not have any more.
fn remove_rest(
    store: &Store,
    manifest: &Manifest,
    segments: &log::Wanted,
    place: &mut Place<'_>,
) -> Result<()> {
    let runs: Vec<String> = manifest.runs.iter().map(|run| run_name(run.id)).collect();
    let ours = |name: &str| name.ends_with(".run") || name.ends_with(".new");
    place.remove_others(baro_log::RUNS, ours, &runs)?;
    let pins: Vec<String> = store.pins().map(|pin| pin_name(pin.id, "pin")).collect();
    place.remove_others(baro_log::PINS, |name| name.ends_with(".pin"), &pins)?;
    // Those that were made since pins were looked at are copied too.
    let since = store.segments.started.iter();
    let since = since.filter(|one| matches!(one.file, SegmentFile::Kept(_)));
    let epochs = store.kept().chain(since.map(|one| one.header.epoch)).chain(segments.kept());
    let kept: Vec<String> = epochs.map(kept_name).collect();
    place.remove_others(baro_log::KEPT, |name| name.ends_with(".seg"), &kept)
}
