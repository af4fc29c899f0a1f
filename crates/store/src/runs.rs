//! The runs of a store, opened for reading: the manifest says which count, each file tells its
//! index. What is read of a run is checked by its CRC before it is believed.
//!
//! Beside somebody who settles, a run that was merged away may be gone when it is opened; then the
//! manifest is read again. A run that is open stays readable after its name has gone.

mod page;
mod reads;
mod texts;

pub(crate) use page::{PageAt, RunPart};
pub use reads::PagesRead;
pub(crate) use reads::Reads;
pub(crate) use texts::HeldTexts;

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use crate::mask::Mask;
use baro_log::{MANIFEST, RUNS, run_name};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Deletion, IdRange, Manifest, RunEntry, StoreId};
use baro_runs::{Aggregate, PageEntry, RunIndex};
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use std::sync::Arc;

/// A run that is open.
#[derive(Debug)]
pub(crate) struct RunFile {
    pub(crate) entry: RunEntry,
    pub(crate) index: Arc<RunIndex>,
    pub(crate) file: Arc<AnyFile>,
    /// What of it has been deleted.
    pub(crate) mask: Option<Mask>,
    /// What was read of it.
    pub(crate) reads: Arc<Reads>,
}

impl RunFile {
    fn masked(self, deletions: &Arc<[Deletion]>) -> Self {
        let pages = self.index.pages().iter().map(|page| (page_ids(page), page_times(page)));
        let mask = Mask::of_run(deletions, self.entry.id, pages);
        RunFile { mask, ..self }
    }

    /// The mask, if something of this page may be deleted.
    pub(crate) fn mask_of(&self, page: &PageEntry) -> Option<&Mask> {
        self.mask.as_ref().filter(|mask| mask.meets(page_ids(page), page_times(page)))
    }

    /// What the index knows of the samples of a page that holds one series alone.
    pub(crate) fn aggregate<'a>(&self, page: &'a PageEntry) -> Option<&'a Aggregate> {
        page.aggregate.as_ref().filter(|_| self.mask_of(page).is_none())
    }
}

fn page_ids(page: &PageEntry) -> IdRange {
    IdRange { first: page.first_series, last: page.last_series }
}

fn page_times(page: &PageEntry) -> (i64, i64) {
    (page.time_min_ns, page.time_max_ns)
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Runs {
    pub(crate) manifest: Manifest,
    /// The oldest data first.
    pub(crate) files: Vec<Arc<RunFile>>,
    pub(crate) damage: Vec<Damage>,
    /// What has been deleted.
    pub(crate) deletions: Arc<[Deletion]>,
}

impl Default for Runs {
    fn default() -> Self {
        Runs {
            manifest: Manifest::default(),
            files: Vec::new(),
            damage: Vec::new(),
            deletions: Arc::from([]),
        }
    }
}

/// A manifest may be replaced between reading it and opening its runs; so often it is read again.
const TRIES: u32 = 8;

/// What the manifest says; `None` if there is none, which means that nothing was ever settled.
///
/// # Errors
/// It cannot be read.
pub(crate) fn read_manifest(
    storage: &AnyStorage,
    store: StoreId,
) -> Result<std::result::Result<Option<Manifest>, Damage>> {
    let file = match storage.open(MANIFEST, Access::Read) {
        Err(error) if error.is_missing() => return Ok(Ok(None)),
        other => other?,
    };
    let bytes = usize::try_from(file.size_bytes()?).unwrap_or(usize::MAX);
    let mut buffer = vec![0; bytes.min(Manifest::BYTES_MAX + UNIT_BYTES)];
    let read = match file.read_at(0, &mut buffer) {
        Ok(read) => read,
        Err(error) => return Ok(Err(unreadable(MANIFEST, 0, &error, Loss::Manifest))),
    };
    let damaged = |source| Damage::format(MANIFEST, source, Loss::Manifest);
    Ok(match Manifest::decode(buffer.get(..read).unwrap_or(&[])) {
        Ok(manifest) if manifest.store != store => {
            let half = |id: StoreId| u128::from_le_bytes(id.0) as u64;
            Err(damaged(baro_ondisk::Error::Mismatch {
                what: baro_ondisk::What::Manifest,
                field: "store id",
                offset: 16,
                expected: half(store),
                found: half(manifest.store),
            }))
        }
        Ok(manifest) => Ok(Some(manifest)),
        Err(source) => Err(damaged(source)),
    })
}

/// A place that the operating system does not read: the device says that it is damaged.
fn unreadable(file: &str, offset: u64, error: &baro_sys::Error, loss: Loss) -> Damage {
    let source = Source::Unreadable(error.to_string());
    Damage { file: file.to_owned(), offset, source, loss }
}

/// What earlier settlings met of damage: it stays told when the blocks have been recycled.
fn lost(manifest: &Manifest) -> Option<Damage> {
    let (file, offset, source) = (MANIFEST.to_owned(), 72, Source::Earlier);
    let loss = Loss::Unsettled(manifest.lost_blocks);
    (manifest.lost_blocks > 0).then_some(Damage { file, offset, source, loss })
}

impl Runs {
    /// Opens the runs that count now; those that `before` has open are taken from there.
    ///
    /// # Errors
    /// The operating system refuses; what is damaged is in [`Runs::damage`].
    pub(crate) fn open(
        storage: &AnyStorage,
        store: StoreId,
        before: &[Arc<RunFile>],
    ) -> Result<Self> {
        let mut tries = TRIES;
        loop {
            let mut found = Runs::default();
            match read_manifest(storage, store)? {
                Ok(None) => return Ok(found),
                Ok(Some(manifest)) => {
                    found.damage.extend(lost(&manifest));
                    found.deletions = manifest.deletions.as_slice().into();
                    found.manifest = manifest;
                }
                Err(damage) => {
                    found.damage.push(damage);
                    return Ok(found);
                }
            }
            tries -= 1;
            let mut gone = false;
            for entry in &found.manifest.runs {
                let known = before.iter().find(|run| run.entry == *entry);
                if let Some(run) = known {
                    let (index, file) = (Arc::clone(&run.index), Arc::clone(&run.file));
                    let reads = Arc::clone(&run.reads);
                    let again = RunFile { entry: *entry, index, file, mask: None, reads };
                    let again = again.masked(&found.deletions);
                    let same = again.mask == run.mask;
                    found.files.push(if same { Arc::clone(run) } else { Arc::new(again) });
                    continue;
                }
                match open_run(storage, store, entry) {
                    Ok(run) => found.files.push(Arc::new(run.masked(&found.deletions))),
                    Err(Unopened::Missing(damage)) => {
                        gone = true;
                        found.damage.push(damage);
                    }
                    Err(Unopened::Damaged(damage)) => found.damage.push(damage),
                    Err(Unopened::Failed(error)) => return Err(error.into()),
                }
            }
            if !gone || tries == 0 {
                return Ok(found);
            }
        }
    }

    /// All runs of a store whose manifest is lost that can be opened, the oldest data first as far as
    /// can be told: what was merged more often is older.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(crate) fn salvage(storage: &AnyStorage, store: StoreId) -> Result<Vec<Arc<RunFile>>> {
        let mut found = Vec::new();
        // A folder that is gone, as its damage says, has none.
        let names = match storage.list(RUNS) {
            Err(error) if error.is_missing() => Vec::new(),
            other => other?,
        };
        for name in names {
            let id = name.strip_suffix(".run").and_then(|id| u64::from_str_radix(id, 16).ok());
            let Some(id) = id.filter(|id| run_name(*id) == format!("{RUNS}/{name}")) else {
                continue;
            };
            let any = RunEntry { id, ..RunEntry::default() };
            let Ok((mut run, _)) = open_any(storage, store, &any) else { continue };
            let (time_min_ns, time_max_ns) = run.index.time_range().unwrap_or((0, 0));
            let (level, samples) = (run.index.info().level, run.index.samples());
            let bytes = run.file.size_bytes()?;
            let footer_crc = run.entry.footer_crc;
            run.entry =
                RunEntry { id, level, bytes, samples, time_min_ns, time_max_ns, footer_crc };
            found.push(Arc::new(run));
        }
        found.sort_by_key(|run| (std::cmp::Reverse(run.entry.level), run.entry.id));
        Ok(found)
    }

    /// Bytes of all runs.
    pub(crate) fn bytes(&self) -> u64 {
        self.manifest.runs.iter().map(|run| run.bytes).sum()
    }
}

#[derive(Debug)]
pub(crate) enum Unopened {
    Missing(Damage),
    Damaged(Damage),
    Failed(baro_sys::Error),
}

impl From<baro_sys::Error> for Unopened {
    fn from(error: baro_sys::Error) -> Self {
        Unopened::Failed(error)
    }
}

/// Opens the run that `entry` means: a file of its number from another history of the store, or of an
/// older copy, is damage, though it is whole by itself.
pub(crate) fn open_run(
    storage: &AnyStorage,
    store: StoreId,
    entry: &RunEntry,
) -> std::result::Result<RunFile, Unopened> {
    let (run, footer_crc) = open_any(storage, store, entry)?;
    let (from_ns, to_ns) = run.index.time_range().unwrap_or((entry.time_min_ns, entry.time_max_ns));
    let crc = |crc: u32| u64::from(crc);
    let fields = [
        ("bytes of the run", entry.bytes, run.file.size_bytes()?),
        ("samples of the run", entry.samples, run.index.samples()),
        ("earliest time of the run", entry.time_min_ns as u64, from_ns as u64),
        ("latest time of the run", entry.time_max_ns as u64, to_ns as u64),
        ("level of the run", entry.level.into(), run.index.info().level.into()),
        ("CRC of its footer", crc(entry.footer_crc.unwrap_or(footer_crc)), crc(footer_crc)),
    ];
    match fields.into_iter().find(|(_, expected, found)| expected != found) {
        None => Ok(run),
        Some((field, expected, found)) => {
            let (what, offset) = (baro_ondisk::What::Manifest, 0);
            let source = baro_ondisk::Error::Mismatch { what, field, offset, expected, found };
            let loss = Loss::Samples(entry.samples);
            Err(Unopened::Damaged(Damage::format(&run_name(entry.id), source, loss)))
        }
    }
}

/// Whether there is a run of this number that can be opened.
pub(crate) fn is_run(storage: &AnyStorage, store: StoreId, id: u64) -> bool {
    open_any(storage, store, &RunEntry { id, ..RunEntry::default() }).is_ok()
}

/// Opens any run of this number, and the CRC of its footer.
fn open_any(
    storage: &AnyStorage,
    store: StoreId,
    entry: &RunEntry,
) -> std::result::Result<(RunFile, u32), Unopened> {
    let name = run_name(entry.id);
    let damaged = |source: Source| {
        let loss = Loss::Samples(entry.samples);
        Unopened::Damaged(Damage { file: name.clone(), offset: 0, source, loss })
    };
    let file = match storage.open(&name, Access::Read) {
        Err(error) if error.is_missing() => {
            let loss = Loss::Samples(entry.samples);
            return Err(Unopened::Missing(unreadable(&name, 0, &error, loss)));
        }
        other => other?,
    };
    let bytes = file.size_bytes()?;
    let run = |error: baro_runs::Error| damaged(Source::Run(error));
    let part = |offset: u64, bytes: usize| {
        let mut part = vec![0; bytes];
        let read = file.read_at(offset, &mut part).map_err(|error| {
            let loss = Loss::Samples(entry.samples);
            Unopened::Damaged(unreadable(&name, offset, &error, loss))
        })?;
        part.truncate(read);
        Ok::<_, Unopened>(part)
    };
    let footer_bytes = RunIndex::FOOTER_BYTES;
    let footer = part(bytes.saturating_sub(footer_bytes as u64), footer_bytes)?;
    let place = RunIndex::footer(bytes, &footer).map_err(run)?;
    // An index of gigabytes that nobody wrote is not read to be told from one.
    if !file.is_written(place.offset, place.bytes as u64)? {
        let (what, offset) = (baro_runs::What::Index, place.offset);
        let (field, expected) = ("index", place.bytes as u64);
        let found = 0;
        return Err(run(baro_runs::Error::Truncated { what, field, offset, expected, found }));
    }
    let index = part(place.offset, place.bytes)?;
    let header = part(0, UNIT_BYTES)?;
    let index = RunIndex::decode(&header, &index, &footer).map_err(run)?;
    if index.info().store != store || index.info().run != entry.id {
        let source = baro_ondisk::Error::Mismatch {
            what: baro_ondisk::What::Manifest,
            field: "run",
            offset: 0,
            expected: entry.id,
            found: index.info().run,
        };
        return Err(damaged(Source::Format(source)));
    }
    let (index, file) = (Arc::new(index), Arc::new(file));
    let run = RunFile { entry: *entry, index, file, mask: None, reads: <_>::default() };
    Ok((run, RunIndex::footer_crc(&footer)))
}
