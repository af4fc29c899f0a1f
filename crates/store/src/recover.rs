//! Copies what is readable of a damaged store into a new one; the damaged one is only read.
//!
//! Runs are written anew, page by page; pages that cannot be read are left out. What of the log was
//! settled stays so, unless a run is damaged: then all of the log counts again, which may hold what
//! the run has lost.
//!
//! Producers, sequences, times, sessions and ids stay what they were. Store id, epochs and blocks
//! are new. Ids whose declaration is lost get a name like `unknown-17`.

mod copy;
mod runs;

use crate::backup::place_of;
use crate::damage::Damage;
use crate::read::LiveBlock;
use crate::store::{Store, for_each_stored, unfold};
use crate::{Error, Result, VerifyReport, verify};
use baro_log::{Geometry, IDENTITY, InitLock, LOCK, init_held};
use baro_ondisk::limits::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, SEGMENTS_MAX};
use baro_ondisk::{
    BlockHeader, Deletion, Kind, LogPlace, Samples, StoreId, Type, UnfoldedSamples, WhenFull,
};
use baro_sys::disk::Disk;
use baro_sys::storage::{Access, AnyStorage, Storage};
use copy::Copy;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

/// What was copied and what was not to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovered {
    /// Records copied, gaps and clock steps included.
    pub records: u64,
    /// Live blocks read.
    pub blocks: u64,
    /// Runs copied.
    pub runs: u64,
    /// Samples in them.
    pub runs_samples: u64,
    /// Damage found in the old store.
    pub damage: Vec<Damage>,
    /// Ids that got a placeholder for a name.
    pub placeholders: Vec<u32>,
    /// Verification of the new store.
    pub copy: VerifyReport,
}

impl Recovered {
    /// Whether something that was durable is not in the copy: exit status 3.
    #[must_use]
    pub fn lost(&self) -> bool {
        !self.placeholders.is_empty() || self.damage.iter().any(Damage::is_loss)
    }
}

/// Copies what is readable in the store in `from` into a new store in the folder `to`, which must
/// be empty or missing. `progress` gets blocks read so far and in all. Blocks until all is durable.
///
/// # Errors
/// Nothing tells the old store's geometry, `to` holds something, or the device fails.
pub fn recover(from: &Path, to: &Path, progress: impl FnMut(u64, u64)) -> Result<Recovered> {
    let store = Store::salvage(from)?;
    let (here, there) = (place_of(from), place_of(to));
    if there.starts_with(&here) && there != here {
        return Err(Error::Store(baro_log::Error::Setting {
            name: "folder of the new store",
            expected: "one outside of the store that is read".to_owned(),
            found: to.display().to_string(),
        }));
    }
    let target = Disk::create(to)?;
    recover_in(&store, target, to, progress)
}

/// As [`recover`], between any two storages; `path` names the new one in errors.
///
/// # Errors
/// As [`recover`].
pub fn recover_in(
    store: &Store,
    target: impl Storage,
    path: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<Recovered> {
    copy_into(store, &AnyStorage::new(target), path, &mut progress)
}

fn copy_into(
    store: &Store,
    target: &AnyStorage,
    path: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Recovered> {
    let lock = lock_empty(target, path)?;
    let mut id = StoreId::default();
    baro_sys::identity::random(&mut id.0)?;
    let geometry = geometry(store)?;
    let now_ns = baro_sys::clock::realtime_ns();
    let identity = init_held(&lock, target, path, id, now_ns, &geometry, (0, |_| {}))?;
    let mut copy = Copy::new(target, identity)?;
    let mut strange: BTreeMap<u32, Type> = BTreeMap::new();
    let mut unfolded = UnfoldedSamples::default();
    let total = store.index()?.segments.iter().map(|s| s.blocks).sum();
    let (settled, mut mark) = (store.settled(), None);
    let deletions = &store.runs.deletions;
    let mut places: Vec<LogPlace> = Vec::new();
    let notes = store.blocks_with(store.access, |live, notes| {
        let mut failed = None;
        // As it is stored: the deletions go along.
        let live = &LiveBlock { mask: None, ..*live };
        let header = &live.block.header;
        pass_deletions(deletions, header, &mut places, &mut copy)?;
        if mark.is_none() && !settled.covers(header.epoch, header.sequence) {
            mark = Some(copy.mark()?);
        }
        // A section is copied as it is, with the records that lead to it. One that cannot be read
        // is lost with them.
        let unread = notes.damage.len();
        let (records, samples) = moved(live);
        unfold(live, notes, &mut unfolded, records);
        let whole = notes.damage.len() == unread && samples == Some(unfolded.samples());
        let section = if whole { live.block.section_bytes() } else { &[] };
        if !section.is_empty() {
            copy.start_block(&live.block.header)?;
        }
        let _ = for_each_stored(live, notes, |record, notes| {
            if record.kind == Kind::Moved && section.is_empty() {
                return ControlFlow::Continue(());
            }
            notes.records += 1;
            let mut see = |id: u32, kind: Type| {
                if store.catalog.kind(id).is_none() {
                    strange.entry(id).or_insert(kind);
                }
            };
            if record.kind == Kind::Frame {
                see(record.stream, Type::Channel);
            }
            if record.kind == Kind::Text {
                see(record.stream, Type::Text);
            }
            for (id, _, _) in record.samples().iter().flat_map(|samples| samples.iter()) {
                see(id, Type::F64);
            }
            match copy.push(record, &live.block.header) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if !section.is_empty() && failed.is_none() {
            for (time_ns, at) in unfolded.records() {
                let payload = unfolded.bytes().get(at).unwrap_or(&[]);
                let samples = Samples::decode(payload, time_ns).map_err(Error::Format)?;
                for (id, _, _) in samples.iter().filter(|one| store.catalog.kind(one.0).is_none()) {
                    strange.entry(id).or_insert(Type::F64);
                }
            }
            let mut times = unfolded.records().map(|(time_ns, _)| time_ns);
            let first = times.next();
            copy.end_block(section, first, times.last().or(first))?;
        }
        progress(notes.blocks, total);
        failed.map_or(Ok(ControlFlow::Continue(())), Err)
    })?;
    let mark = mark.map_or_else(|| copy.mark(), Ok)?;
    places.resize(deletions.len(), copy.place()?);
    let deletions = moved_deletions(deletions, places);
    let session = copy.finish()?;
    let runs = runs::copy(store, target, identity.store, mark, deletions)?;
    for (id, kind) in &runs.series {
        if store.catalog.kind(*id).is_none() {
            strange.entry(*id).or_insert(*kind);
        }
    }
    copy::declare(store, target, session, &strange)?;
    let new = Store::open_in(target.clone(), path, Access::Read)?;
    let checked = verify(&new, Access::Read, |_, _| {})?;
    let mut damage = damage_of(store);
    damage.extend(notes.damage);
    damage.extend(runs.damage);
    let placeholders = strange.into_keys().collect();
    Ok(Recovered {
        records: notes.records,
        blocks: notes.blocks,
        runs: runs.runs,
        runs_samples: runs.samples,
        damage,
        placeholders,
        copy: checked,
    })
}

/// Takes the lock of a folder that is empty, and is so still when it is held.
fn lock_empty(target: &AnyStorage, path: &Path) -> Result<InitLock> {
    // Also what keeps a damaged store without identity from being made anew over itself.
    let check = || {
        let there = target.list("")?;
        let Some(other) = there.iter().find(|name| *name != LOCK) else { return Ok(()) };
        if there.iter().any(|name| name == IDENTITY) {
            return Err(Error::Store(baro_log::Error::Exists { path: path.to_owned() }));
        }
        Err(Error::Store(baro_log::Error::Setting {
            name: "folder of the new store",
            expected: "an empty one, or none".to_owned(),
            found: format!(
                "{} with {other} in it (remove it if an earlier recover was stopped there)",
                path.display()
            ),
        }))
    };
    check()?;
    let lock = InitLock::take(target, path)?;
    check()?;
    Ok(lock)
}

/// Notes how far the copy is for each deletion that does not concern this block any more.
fn pass_deletions(
    deletions: &[Deletion],
    header: &BlockHeader,
    places: &mut Vec<LogPlace>,
    copy: &mut Copy<'_>,
) -> Result<()> {
    let at = LogPlace { session: header.session, sequence: header.sequence };
    while deletions.get(places.len()).is_some_and(|next| next.before <= at) {
        places.push(copy.place()?);
    }
    Ok(())
}

/// Damage of the old store beside what reading its blocks has met.
fn damage_of(store: &Store) -> Vec<Damage> {
    let mut damage = store.damage();
    let catalog = store.catalog.damage();
    damage.extend(catalog.into_iter().filter(|found| !store.damage().contains(found)));
    damage
}

/// Deletions of the copy, which count up to these places of its log. Runs are copied without what is
/// deleted; of the log it still is in the blocks.
fn moved_deletions(deletions: &[Deletion], places: Vec<LogPlace>) -> Vec<Deletion> {
    let moved = deletions.iter().zip(places);
    moved.map(|(one, before)| Deletion { before, runs_below: 0, ..one.clone() }).collect()
}

/// How many records of a block have their samples in its section, and how many samples these are;
/// samples are `None` if not all of its records can be read.
fn moved(live: &LiveBlock<'_>) -> (u64, Option<u64>) {
    let (mut records, mut samples) = (0, Some(0));
    for chunk in live.block.chunks() {
        let Ok(chunk) = chunk else { return (records, None) };
        for record in chunk.records() {
            match record {
                Ok(record) if record.kind == Kind::Moved => {
                    records += 1;
                    let count = record.moved().ok().map(u64::from);
                    samples = samples.zip(count).map(|(sum, count)| sum + count);
                }
                Ok(_) => {}
                Err(_) => samples = None,
            }
        }
    }
    (records, samples)
}

/// The same geometry, so that recording can go on in the copy; larger where that would not hold it.
fn geometry(store: &Store) -> Result<Geometry> {
    let identity = &store.identity;
    let needed = store.index()?.segments.len() as u32 + 2;
    let names = store.catalog.len() as u64 * 16;
    let catalog_bytes = store.catalog.held_bytes().max(names).div_ceil(SEGMENT_BYTES_MIN).max(1);
    let guessed = store.damage().iter().any(|damage| damage.loss == crate::Loss::Identity);
    Ok(Geometry {
        segment_bytes: identity.segment_bytes,
        // A guessed number of segments may be that of one strange file name.
        segments: if guessed { needed } else { identity.segments.max(needed) }.min(SEGMENTS_MAX),
        catalog_bytes: (catalog_bytes * SEGMENT_BYTES_MIN).min(SEGMENT_BYTES_MAX),
        // A guess must not lead to what was saved being recycled.
        when_full: if guessed { WhenFull::Stop } else { identity.when_full },
    })
}
