//! Deleting: a record in the manifest that says which series, which times, and up to where in the log
//! and in the runs. It counts from the rename of the manifest on, for every reader; settling then
//! writes the runs without what is deleted. `docs/deleting.md`.
//!
//! Who settles and who deletes both replace the manifest. So each holds a lock while it does, and who
//! settles begins anew if the manifest is not the one it has started from.
//!
//! Invariants: a crash leaves a deletion undone or done; what was recorded later stays; a deletion is
//! forgotten only when nothing that it covers is in the store. Held by `tests/delete.rs`.

mod room;

pub use room::DeletedRoom;

use crate::interval::{Filter, Interval, Reading};
use crate::merge::Part;
use crate::unsettled::{samples_of, texts_of};
use crate::{Aggregate, Damage, Error, Every, Query, Result, Store, Values};
use baro_log::{Holding, ManifestLock, RUNS, write_manifest};
use baro_ondisk::limits::{DELETED_RANGES_MAX, DELETIONS_MAX};
use baro_ondisk::{Deletion, IdRange, Kind, LogPlace, SampleColumns, Type, is_deleted};
use baro_sys::disk::Disk;
use baro_sys::storage::Storage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, RangeInclusive};

/// What a deletion takes away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    /// Samples or frames by series or channel, each series and time once; 0 where there are none.
    pub rows: BTreeMap<u32, u64>,
    /// Damage met while counting: what lies there is deleted too, and not counted.
    pub damage: Vec<Damage>,
}

/// So often the log may be settled further while it is counted, before settling has to wait for it.
const TRIES: u32 = 3;

/// Who says nothing else waits so long for its turn.
pub(crate) const PATIENCE_NS: u64 = 30_000_000_000;

impl Store {
    /// Deletes what the series and channels `ids` (sorted, each once) have in `interval`, durably; with
    /// an interval of all times the series themselves, which are not listed until something is
    /// recorded. Beside a recorder what it records from now on stays.
    ///
    /// # Errors
    /// More deletions than a manifest holds, the manifest is damaged, a settler of an earlier version
    /// is at work, or the operating system refuses: nothing is deleted then.
    pub fn delete(&mut self, ids: &[u32], interval: Interval) -> Result<Deleted> {
        self.delete_with(ids, interval, &mut |_, waited_ns| waited_ns < PATIENCE_NS)
    }

    /// As [`Store::delete`]. While another process has the manifest locked `go_on` is asked, many times a
    /// second, with who that is and for how many nanoseconds it has been waited for.
    ///
    /// # Errors
    /// As there, and if `go_on` says no.
    pub fn delete_with(
        &mut self,
        ids: &[u32],
        interval: Interval,
        go_on: &mut dyn FnMut(&Holding, u64) -> bool,
    ) -> Result<Deleted> {
        self.storage.create_folder(RUNS)?;
        self.storage.sync_folder("")?;
        if ManifestLock::is_foreign(self.disk()?)? {
            return Err(Error::OldSettler { path: self.path.clone() });
        }
        let disk = self.disk()?.clone();
        for left in (0..TRIES).rev() {
            let mut turn = |disk: &Disk| ManifestLock::take(disk, "deletes", go_on);
            let early = (left == 0).then(|| turn(&disk)).transpose()?;
            let counted = self.count_rows(ids, interval)?;
            let _lock = early.map_or_else(|| turn(&disk), Ok)?;
            if self.put_deletion(ids, interval)? {
                return Ok(counted);
            }
        }
        Err(Error::ManifestChanged)
    }
}

impl Store {
    /// As [`Store::delete`], in any storage; the caller sees to it that nobody else settles or deletes.
    ///
    /// # Errors
    /// As there.
    pub fn delete_in(&mut self, ids: &[u32], interval: Interval) -> Result<Deleted> {
        self.storage.create_folder(RUNS)?;
        self.storage.sync_folder("")?;
        let counted = self.count_rows(ids, interval)?;
        if self.put_deletion(ids, interval)? { Ok(counted) } else { Err(Error::ManifestChanged) }
    }

    /// What a deletion would take away; the store is seen anew.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn count_rows(&mut self, ids: &[u32], interval: Interval) -> Result<Deleted> {
        // The log is to be seen after the manifest: what runs hold is then before its end.
        self.refresh()?;
        for _ in 0..TRIES {
            let before = self.runs.manifest.generation;
            self.refresh()?;
            if self.runs.manifest.generation == before {
                break;
            }
        }
        let mut found = Deleted { rows: ids.iter().map(|id| (*id, 0)).collect(), ..<_>::default() };
        // What has no declaration may have numbers or frames.
        let of = |wanted: fn(Option<Type>) -> bool| -> Vec<u32> {
            ids.iter().copied().filter(|id| wanted(self.catalog.kind(*id))).collect()
        };
        let numbers = of(|kind| !matches!(kind, Some(Type::Text | Type::Channel)));
        let every = Every { step_ns: 0, aggregate: Aggregate::Count };
        let counted = self.query_ids(&numbers, &Query::every(interval, every), |batch| {
            if let Values::I64([count, ..]) = batch.values {
                found.rows.insert(batch.target.id, u64::try_from(*count).unwrap_or(0));
            }
            ControlFlow::Continue(())
        })?;
        let mut notes = counted.read;
        let texts = of(|kind| kind == Some(Type::Text));
        let texts = self.query_ids(&texts, &Query::raw(interval), |batch| {
            *found.rows.entry(batch.target.id).or_default() += batch.times_ns.len() as u64;
            ControlFlow::Continue(())
        })?;
        notes.add(texts.read);
        let channels = of(|kind| matches!(kind, None | Some(Type::Channel)));
        if !channels.is_empty() {
            let filter = Filter::ids(&channels).data_only();
            notes.add(self.records(interval, &filter, &Reading::default(), |record| {
                if record.kind == Kind::Frame {
                    *found.rows.entry(record.stream).or_default() += 1;
                }
                ControlFlow::Continue(())
            })?);
        }
        found.damage = notes.damage;
        Ok(found)
    }

    /// Puts a deletion of all that is seen into the manifest; false, and nothing is done, if that is
    /// another one by now.
    fn put_deletion(&mut self, ids: &[u32], interval: Interval) -> Result<bool> {
        if let Some(damage) = self.runs.damage.iter().find(|d| d.loss.is_of_manifest()) {
            return Err(Error::Manifest { damage: Box::new(damage.clone()) });
        }
        let mut manifest = self.runs.manifest.clone();
        if !self.is_newest(&manifest)? {
            return Ok(false);
        }
        let places = self.index()?.segments.iter().filter(|segment| !segment.live.is_empty());
        let place = places.map(|segment| LogPlace {
            session: segment.segment.header.session,
            sequence: segment.live.end,
        });
        let last = manifest.deletions.last().map(|last| last.before).unwrap_or_default();
        let before = place.max().unwrap_or_default().max(last);
        let whole =
            |id: &u32| interval == Interval::ALL && self.catalog.kind(*id) != Some(Type::Channel);
        // A manifest has them in order, each once.
        let ids = BTreeSet::from_iter(ids.iter().copied());
        let (series, others): (Vec<u32>, Vec<u32>) = ids.into_iter().partition(|id| whole(id));
        for (ids, whole) in [(series, true), (others, false)] {
            if !ids.is_empty() {
                manifest.deletions.push(Deletion {
                    before,
                    runs_below: manifest.next_run,
                    from_ns: interval.from_ns,
                    to_ns: interval.to_ns,
                    whole,
                    ids: Deletion::ranges(ids),
                });
            }
        }
        let ranges = manifest.deletions.iter().map(|one| one.ids.len()).sum::<usize>();
        if manifest.deletions.len() > DELETIONS_MAX || ranges > DELETED_RANGES_MAX {
            return Err(Error::Deletions { limit: DELETIONS_MAX, ranges: DELETED_RANGES_MAX });
        }
        manifest.store = self.identity.store;
        manifest.generation += 1;
        write_manifest(&self.storage, &manifest)?;
        self.refresh()?;
        Ok(true)
    }

    /// Ids of series that were deleted whole, by rising order; of some there may be samples again that are in no
    /// run yet. Reads nothing.
    #[must_use]
    pub fn deleted_series(&self) -> Vec<RangeInclusive<u32>> {
        let whole = self.runs.deletions.iter().filter(|one| one.whole);
        let ids = merged(whole.flat_map(|one| one.ids.iter().copied()));
        ids.iter().map(|ids| ids.first..=ids.last).collect()
    }

    /// Series that were deleted and of which nothing has been recorded since, as ids by rising order.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn hidden(&self) -> Result<Hidden> {
        let mut whole: Vec<IdRange> = Vec::new();
        for one in self.runs.deletions.iter().filter(|one| one.whole) {
            whole.extend(&one.ids);
        }
        let mut hidden = Hidden { whole: merged(whole), back: BTreeSet::new() };
        if hidden.whole.is_empty() {
            return Ok(hidden);
        }
        // What is in runs has been told by who settled it. Of the log a block at a time: it may be large.
        let (mut scratch, mut columns) = (SampleColumns::default(), <_>::default());
        let mut back = BTreeSet::new();
        self.unsettled_blocks(
            |_| true,
            |_, live, notes| {
                if let Some(mut part) = samples_of(live, notes) {
                    for at in 0..part.pieces() {
                        crate::columns::Columns::clear(&mut columns);
                        part.decode(at, &mut scratch, &mut columns)?;
                        back.extend(columns.series.iter().filter(|id| hidden.was_deleted(**id)));
                    }
                }
                texts_of(live, notes, |text| {
                    back.extend(Some(text.series).filter(|id| hidden.was_deleted(*id)));
                });
                Ok(ControlFlow::Continue(()))
            },
        )?;
        hidden.back = back;
        Ok(hidden)
    }

    /// Deletions that concern something which may be in the store; the others may be forgotten. What
    /// these hide from lists stays hidden, by one deletion of all of them.
    pub(crate) fn needed_deletions(&self) -> Vec<Deletion> {
        let all = &self.runs.deletions;
        let opened = self.runs.files.len() == self.runs.manifest.runs.len();
        let in_runs = |one: &Deletion| {
            let mut masks = self.runs.files.iter().filter_map(|run| run.mask.as_ref());
            !opened || masks.any(|mask| mask.by().contains(one))
        };
        let begins = self.segments.started.iter().map(|segment| LogPlace {
            session: segment.header.session,
            sequence: segment.header.first_block,
        });
        let oldest = begins.min();
        let told = self.segments.damage.is_empty();
        let in_log = |one: &Deletion| !told || oldest.is_some_and(|oldest| oldest < one.before);
        let is_idle = |one: &&Deletion| !in_runs(one) && !in_log(one);
        let hide = all.iter().filter(is_idle).filter(|one| one.whole);
        let hide = merged(hide.flat_map(|one| one.ids.iter().copied()));
        let hide = (!hide.is_empty()).then(|| Deletion {
            from_ns: i64::MIN,
            to_ns: i64::MAX,
            whole: true,
            ids: hide,
            ..Deletion::default()
        });
        let others = all.iter().filter(|one| !is_idle(one)).cloned();
        hide.into_iter().chain(others).collect()
    }
}

/// Series that are not to be listed; see [`Store::hidden`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hidden {
    whole: Vec<IdRange>,
    back: BTreeSet<u32>,
}

impl Hidden {
    fn was_deleted(&self, id: u32) -> bool {
        let at = self.whole.partition_point(|range| range.last < id);
        self.whole.get(at).is_some_and(|range| range.first <= id)
    }

    /// Whether this one is not to be listed.
    #[must_use]
    pub fn has(&self, id: u32) -> bool {
        !self.whole.is_empty() && self.was_deleted(id) && !self.back.contains(&id)
    }
}

/// Takes ids of which something was recorded again out of what hides them: their samples stay deleted.
pub(crate) fn bring_back(deletions: &mut Vec<Deletion>, back: &BTreeSet<u32>) {
    let is = |one: &Deletion| one.whole && back.iter().any(|id| one.is_of(*id));
    if !deletions.iter().any(is) {
        return;
    }
    for one in std::mem::take(deletions) {
        if !is(&one) {
            deletions.push(one);
            continue;
        }
        let found = back.iter().copied().filter(|id| one.is_of(*id));
        let shown = Deletion { whole: false, ids: Deletion::ranges(found), ..one.clone() };
        let mut ids = Vec::new();
        for range in &one.ids {
            let mut first = Some(range.first);
            for id in back.range(range.first..=range.last) {
                if let Some(first) = first.filter(|first| first < id) {
                    ids.push(IdRange { first, last: id - 1 });
                }
                first = id.checked_add(1);
            }
            let rest = first.filter(|first| *first <= range.last);
            ids.extend(rest.map(|first| IdRange { first, last: range.last }));
        }
        deletions.push(shown);
        if !ids.is_empty() {
            deletions.push(Deletion { ids, ..one });
        }
    }
}

/// Whether a sample of this series is hidden from lists by one of these.
pub(crate) fn is_whole(deletions: &[Deletion], id: u32) -> bool {
    deletions.iter().any(|one| one.whole && is_deleted(std::slice::from_ref(one), id, 0))
}

/// Ranges of ids by rising order, those that overlap or touch as one.
fn merged(ranges: impl IntoIterator<Item = IdRange>) -> Vec<IdRange> {
    let mut sorted: Vec<IdRange> = ranges.into_iter().collect();
    sorted.sort_unstable();
    let mut merged: Vec<IdRange> = Vec::new();
    for range in sorted {
        match merged.last_mut().filter(|last| range.first <= last.last.saturating_add(1)) {
            Some(last) => last.last = last.last.max(range.last),
            None => merged.push(range),
        }
    }
    merged
}
