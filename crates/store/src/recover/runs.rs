//! Writes the runs of a store anew into another: their bytes name the store, so that they cannot be
//! copied as they are. Each page is decoded and its samples pushed into the new run; one that is
//! damaged is left out and named. If the manifest is lost, all runs that are whole are taken.
//!
//! Held by `runs_are_recovered_but_for_damaged_pages` (`tests/runs.rs`).

use crate::damage::{Damage, Loss};
use crate::runs::{PageAt, RunFile, Runs};
use crate::{Result, Store};
use baro_log::{RUNS, run_name, write_manifest};
use baro_ondisk::{Deletion, Manifest, RunEntry, Settled, StoreId, Type};
use baro_runs::{RunInfo, RunWriter};
use baro_sys::storage::{AnyStorage, Storage, StorageFile};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was copied.
#[derive(Debug, Default)]
pub(super) struct Copied {
    pub(super) runs: u64,
    pub(super) samples: u64,
    pub(super) damage: Vec<Damage>,
    /// Series in the runs.
    pub(super) series: BTreeMap<u32, Type>,
}

/// Copies all runs; `mark` is how far the copied log is settled if none of them is damaged.
pub(super) fn copy(
    store: &Store,
    target: &AnyStorage,
    id: StoreId,
    mark: Settled,
    deletions: Vec<Deletion>,
) -> Result<Copied> {
    let mut copied = Copied::default();
    let lost = store.runs.damage.iter().any(|damage| damage.loss.is_of_manifest());
    let found =
        if lost { Runs::salvage(&store.storage, store.identity.store)? } else { Vec::new() };
    let files = if lost { &found } else { &store.runs.files };
    if files.is_empty() && deletions.is_empty() && store.runs.manifest.settled == Settled::default()
    {
        return Ok(copied);
    }
    target.create_folder(RUNS)?;
    target.sync_folder("")?;
    let mut manifest =
        Manifest { store: id, generation: 1, next_run: 1, deletions, ..Manifest::default() };
    for run in files {
        if let Some(entry) = copy_run(run, target, id, manifest.next_run, &mut copied)? {
            manifest.next_run += 1;
            manifest.runs.push(entry);
            copied.runs += 1;
            copied.samples += entry.samples;
        }
    }
    // What was lost before stays told.
    manifest.lost_blocks = store.runs.manifest.lost_blocks;
    let earlier = |damage: &Damage| matches!(damage.loss, Loss::Unsettled(_));
    if copied.damage.is_empty() && store.runs.damage.iter().all(earlier) {
        manifest.settled = mark;
    }
    write_manifest(target, &manifest)?;
    Ok(copied)
}

/// `None` of a run of which nothing is left.
fn copy_run(
    run: &Arc<RunFile>,
    target: &AnyStorage,
    store: StoreId,
    id: u64,
    copied: &mut Copied,
) -> Result<Option<RunEntry>> {
    let level = run.entry.level;
    let file = target.create(&run_name(id))?;
    let mut offset = 0;
    let info = RunInfo { store, run: id, level, note: run.index.info().note.clone() };
    let mut writer = RunWriter::new(&info, |bytes: &[u8]| -> Result<()> {
        file.write_at(offset, bytes)?;
        offset += bytes.len() as u64;
        Ok(())
    })?;
    let mut page = PageAt::new();
    for entry in run.index.pages() {
        // Whole or not at all: damage may be found in the middle.
        let mut groups: Vec<(u32, Vec<i64>, Vec<u64>)> = Vec::new();
        let mut texts: Vec<(u32, Vec<i64>, Vec<String>)> = Vec::new();
        let read = page.with(run, entry, |page| {
            if page.kind() == Type::Text {
                return page.read_all_text(i64::MIN, i64::MAX, |series, time_ns, text| {
                    if texts.last().is_none_or(|last| last.0 != series) {
                        texts.push((series, Vec::new(), Vec::new()));
                    }
                    if let Some(last) = texts.last_mut() {
                        last.1.push(time_ns);
                        last.2.push(text.to_owned());
                    }
                });
            }
            page.read_all(i64::MIN, i64::MAX, |series, times_ns, bits| {
                groups.push((series, times_ns.to_vec(), bits.to_vec()));
            })
        })?;
        if let Err(damage) = read {
            copied.damage.push(damage);
            continue;
        }
        for (series, times_ns, bits) in &groups {
            copied.series.insert(*series, entry.kind);
            writer.push(*series, entry.kind, times_ns, bits)?;
        }
        for (series, times_ns, values) in &texts {
            copied.series.insert(*series, Type::Text);
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            writer.push_text(*series, times_ns, &values)?;
        }
    }
    let summary = writer.finish()?;
    if summary.samples == 0 {
        target.remove(&run_name(id))?;
        return Ok(None);
    }
    file.sync_data()?;
    target.sync_folder(RUNS)?;
    let (time_min_ns, time_max_ns) = summary.times_ns.unwrap_or((0, 0));
    let (samples, bytes, footer_crc) = (summary.samples, offset, Some(summary.footer_crc));
    Ok(Some(RunEntry { id, level, bytes, samples, time_min_ns, time_max_ns, footer_crc }))
}
