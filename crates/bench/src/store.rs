//! The store at any number of sensors: how fast samples become durable and settled, what they cost
//! on the device and in memory, and how long questions take. `baro bench store` prints it.
//!
//! A run makes a store in a folder of its own, and removes it. In order: the first yardstick, init,
//! registration, ingest, settling, the other yardsticks, opens, queries, then what would disturb
//! figures: the check of the answers, and one file per sensor.
//!
//! Invariant: nothing is reported of a run that lost a sample or gave a wrong answer. Held by
//! `tests.rs`.

mod fill;
pub mod generate;
pub mod ingest;
pub mod queries;
pub mod report;
pub mod state;
pub mod steady;
#[cfg(test)]
mod tests;
pub mod yardsticks;

use crate::BenchError;
use crate::ground;
use crate::push::Memory;
use baro_log::RUNS;
use baro_store::Store;
use baro_sys::{disk, files, footprint, identity};
use generate::Data;
use queries::{Kind, Questions, timed};
use report::StoreReport;
use state::State;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// What is not in the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSpec {
    /// Size of the log; `None`: as large as the samples need.
    pub log_bytes: Option<u64>,
    /// Draws questions.
    pub seed: u64,
    /// How the report calls data and order.
    pub data: String,
    /// See above.
    pub order: &'static str,
    /// When samples are taken.
    pub times: &'static str,
    /// What its values are.
    pub values: &'static str,
    /// Samples of 100 that come late.
    pub late_percent: u32,
    /// In which state the store is asked.
    pub state: State,
    /// Time for each kind of question: less often asked if it takes longer.
    pub budget_ns: u64,
}

/// Opens of each kind.
const OPENS: usize = 11;

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// A folder of this process in `dir`; made by who needs it.
    ///
    /// # Errors
    /// There is no folder `dir`, or root is not to measure there.
    pub fn in_folder(dir: &Path) -> Result<Self, BenchError> {
        let name = format!("baro-bench-store-{}", std::process::id());
        Ok(Scratch(ground::make_own(dir, name)?))
    }

    /// Its place.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = files::remove_tree(&self.0);
    }
}

/// What the device below `path` has been given, with all that is dirty written first.
fn device_bytes(path: &Path) -> Result<Option<u64>, BenchError> {
    footprint::sync_file_system(path).map_err(BenchError::System)?;
    footprint::device_written_bytes(path).map_err(BenchError::System)
}

fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    now?.checked_sub(before?)
}

/// Runs the bench with `data` on the file system of `dir`. Blocks for as long as it takes; `stop`
/// ends it early with an error. The peak of memory is that of the whole process from now on.
///
/// # Errors
/// The store cannot be made, written or read; a sample is lost; an answer is wrong.
pub fn run(
    dir: &Path,
    data: &dyn Data,
    spec: &StoreSpec,
    stop: &AtomicBool,
) -> Result<StoreReport, BenchError> {
    // From here on; where it is refused (no /proc) the peak is that since the process started.
    let _ = baro_sys::files::write_setting(Path::new("/proc/self/clear_refs"), "5");
    let scratch = Scratch::in_folder(dir)?;
    let path = scratch.path().join("store");
    let mut report = StoreReport {
        series: data.series(),
        samples: data.samples(),
        data: spec.data.clone(),
        order: spec.order,
        times: spec.times,
        values: spec.values,
        late_percent: spec.late_percent,
        state: spec.state.name(),
        seed: spec.seed,
        ring_bytes: ingest::RING_BYTES as u64,
        device_shared: identity::alone_on_file_system(scratch.path()).map(|alone| !alone),
        generate_per_s: yardsticks::generate_per_s(data),
        ..StoreReport::default()
    };
    report.log_append_per_s.push(yardsticks::log_append_per_s(scratch.path(), data)?);
    let first_id = fill::fill(&path, data, spec, &mut report, stop)?;
    for _ in 0..2 {
        report.log_append_per_s.push(yardsticks::log_append_per_s(scratch.path(), data)?);
    }
    let questions = Questions::new(data, first_id, spec.seed);
    ask(&path, &questions, spec, &mut report, stop)?;
    let files_folder = scratch.path().join("files");
    let files = yardsticks::SensorFiles::make(&files_folder, data, questions.sensors())?;
    report.files_made = questions.sensors().len() as u64;
    for (kind, timing) in Kind::ALL.into_iter().zip(&mut report.files) {
        *timing = questions.time_files(&files, kind, spec.budget_ns, stop)?;
    }
    Ok(report)
}

/// Allocated bytes of the files and folders of the catalog.
fn catalog_bytes(path: &Path) -> Result<u64, BenchError> {
    use baro_log::{CATALOG, DICTIONARY};
    use baro_sys::storage::Storage;
    let names =
        disk::Disk::open(path).and_then(|disk| disk.list("")).map_err(BenchError::System)?;
    let mut bytes = 0;
    for name in names.iter().filter(|name| *name == CATALOG || *name == DICTIONARY) {
        bytes += footprint::allocated_bytes(&path.join(name)).map_err(BenchError::System)?;
    }
    Ok(bytes)
}

/// Opens, queries, and the check of their answers.
fn ask(
    path: &Path,
    questions: &Questions<'_>,
    spec: &StoreSpec,
    report: &mut StoreReport,
    stop: &AtomicBool,
) -> Result<(), BenchError> {
    footprint::sync_file_system(path).map_err(BenchError::System)?;
    report.open_cold = timed(OPENS, spec.budget_ns, stop, |number| {
        footprint::drop_cached(path).map_err(BenchError::System)?;
        questions.open_and_ask(path, number)
    })?;
    report.open_warm =
        timed(OPENS, spec.budget_ns, stop, |number| questions.open_and_ask(path, number))?;
    // Warm: the cold opens have dropped the files.
    footprint::read_cached(&path.join(RUNS)).map_err(BenchError::System)?;
    let store = Store::open(path).map_err(BenchError::Store)?;
    for (kind, timing) in Kind::ALL.into_iter().zip(&mut report.queries) {
        *timing = questions.time(&store, kind, spec.budget_ns, stop)?;
    }
    report.peak_rss_bytes = Memory::now().peak_bytes;
    report.runs = store.pages_read().count() as u64;
    for (kind, cost) in Kind::ALL.into_iter().zip(&mut report.costs) {
        let checked = questions.check(&store, kind)?;
        report.rows_checked += checked.rows;
        *cost = Some(checked.cost);
    }
    Ok(())
}
