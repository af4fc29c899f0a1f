//! Verification of runs: every page's CRC, every sample of it decoded, and held against what page,
//! index and manifest say of it.
//!
//! Held by `what_is_wrong_with_a_run_is_named` (`tests/runs.rs`).

use super::Pass;
use crate::Result;
use crate::damage::{Damage, Loss};
use crate::runs::{PageAt, RunFile, is_run};
use crate::store::Store;
use baro_log::{BACKUP_MARK, MANIFEST, RUNS, run_name};
use baro_ondisk::{Error as Format, Manifest, RunEntry, StoreId, Type, What};
use baro_runs::{Page, PageEntry};
use baro_sys::storage::{Access, AnyStorage, Storage};

/// What decoding a page has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Found {
    samples: u64,
    time_min_ns: i64,
    time_max_ns: i64,
    in_order: bool,
}

/// Reads all runs; `progress` gets bytes read so far. Runs that cannot be opened are in the store's
/// damage.
pub(super) fn check(store: &Store, pass: &mut Pass, mut progress: impl FnMut(u64)) -> Result<()> {
    let mut page = PageAt::new();
    let mut done = 0;
    for run in &store.runs.files {
        pass.report.runs += 1;
        let counted = pass.report.runs_samples;
        let mut damaged = false;
        for entry in run.index.pages() {
            let found = page.with_stored(run, entry, |page| {
                page.series().for_each(|id| pass.declared.see(id));
                decode(page)
            })?;
            done += u64::from(entry.bytes);
            pass.report.runs_page_bytes += u64::from(entry.bytes);
            progress(done);
            match found.and_then(|found| agrees(run, entry, found)) {
                Ok(found) => pass.see_samples(found),
                Err(damage) => {
                    damaged = true;
                    pass.report.damage.push(damage);
                }
            }
        }
        let found = pass.report.runs_samples - counted;
        if !damaged && found != run.entry.samples {
            let source = mismatch("samples", run.entry.samples, found);
            let lost = run.entry.samples.saturating_sub(found);
            let name = run_name(run.entry.id);
            pass.report.damage.push(Damage::format(&name, source, Loss::Samples(lost)));
        }
    }
    pass.report.runs_unnamed = unnamed(store)?;
    if pass.report.damage.iter().all(|damage| !damage.loss.is_of_manifest()) {
        pass.report.damage.extend(younger_run(
            &store.storage,
            store.identity.store,
            &store.runs.manifest,
        )?);
    }
    Ok(())
}

/// The first page of a run that is not as it was written.
pub(crate) fn damage_of(run: &RunFile) -> Result<Option<Damage>> {
    let mut page = PageAt::new();
    for entry in run.index.pages() {
        let found = page.with_stored(run, entry, decode)?;
        if let Err(damage) = found.and_then(|found| agrees(run, entry, found)) {
            return Ok(Some(damage));
        }
    }
    Ok(None)
}

impl Pass {
    fn see_samples(&mut self, found: Found) {
        self.report.runs_samples += found.samples;
        if found.samples > 0 {
            let times = (found.time_min_ns, found.time_max_ns);
            let all = self.report.times_ns.get_or_insert(times);
            *all = (all.0.min(times.0), all.1.max(times.1));
        }
    }
}

fn mismatch(field: &'static str, expected: u64, found: u64) -> Format {
    Format::Mismatch { what: What::Manifest, field, offset: 0, expected, found }
}

/// Decodes all of a page.
fn decode(page: &mut Page<'_>) -> std::result::Result<Found, baro_runs::Error> {
    let mut found =
        Found { samples: 0, time_min_ns: i64::MAX, time_max_ns: i64::MIN, in_order: true };
    let mut last: Option<(u32, i64)> = None;
    let mut see = |series: u32, times_ns: &[i64]| {
        for time_ns in times_ns {
            found.in_order &= last < Some((series, *time_ns));
            last = Some((series, *time_ns));
            found.time_min_ns = found.time_min_ns.min(*time_ns);
            found.time_max_ns = found.time_max_ns.max(*time_ns);
        }
        found.samples += times_ns.len() as u64;
    };
    if page.kind() == Type::Text {
        page.read_all_text(i64::MIN, i64::MAX, |series, time_ns, _| see(series, &[time_ns]))?;
    } else {
        page.read_all(i64::MIN, i64::MAX, |series, times_ns, _| see(series, times_ns))?;
    }
    Ok(found)
}

/// Whether a page holds what the index says.
fn agrees(run: &RunFile, entry: &PageEntry, found: Found) -> std::result::Result<Found, Damage> {
    let checks = [
        ("samples of a page", u64::from(entry.samples), found.samples),
        ("earliest time of a page", entry.time_min_ns as u64, found.time_min_ns as u64),
        ("latest time of a page", entry.time_max_ns as u64, found.time_max_ns as u64),
        ("order of a page", 1, u64::from(found.in_order)),
    ];
    for (field, expected, is) in checks {
        if expected != is {
            let name = run_name(run.entry.id);
            let loss = Loss::Samples(u64::from(entry.samples));
            let damage = Damage::format(&name, mismatch(field, expected, is), loss);
            return Err(Damage { offset: entry.offset, ..damage });
        }
    }
    Ok(found)
}

/// A run that a younger manifest must have named, or one before it: settling that was killed leaves none
/// of a number above that of the next run. A backup copies runs before the manifest.
pub(crate) fn younger_run(
    storage: &AnyStorage,
    store: StoreId,
    manifest: &Manifest,
) -> Result<Option<Damage>> {
    let names = match storage.list(RUNS) {
        Err(error) if error.is_missing() => return Ok(None),
        other => other?,
    };
    let number = |name: &String| u64::from_str_radix(name.strip_suffix(".run")?, 16).ok();
    let younger = names.iter().filter_map(number).filter(|id| *id > manifest.next_run);
    let mut younger: Vec<u64> = younger.collect();
    if younger.is_empty() || storage.open(BACKUP_MARK, Access::Read).is_ok() {
        return Ok(None);
    }
    younger.sort_unstable();
    younger.retain(|id| is_run(storage, store, *id));
    Ok(younger.last().map(|newest| {
        let (what, field, offset) = (What::Manifest, "next run", 56);
        let (expected, found) = (newest.saturating_add(1), manifest.next_run);
        let source = Format::Mismatch { what, field, offset, expected, found };
        Damage::format(MANIFEST, source, Loss::Since)
    }))
}

/// Files in the folder of the runs that are none of the store's.
fn unnamed(store: &Store) -> Result<Vec<String>> {
    if store.runs.damage.iter().any(|damage| damage.loss.is_of_manifest()) {
        // Nobody knows which ones count.
        return Ok(Vec::new());
    }
    let mut names = match store.storage.list(RUNS) {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        other => other?,
    };
    let counts = |name: &String| {
        let is = |run: &RunEntry| run_name(run.id) == format!("{RUNS}/{name}");
        ["manifest", "manifest.lock", "lock", "lake", "clock"].contains(&name.as_str())
            || store.runs.manifest.runs.iter().any(is)
    };
    names.retain(|name| !counts(name));
    names.sort();
    Ok(names.into_iter().map(|name| format!("{RUNS}/{name}")).collect())
}
