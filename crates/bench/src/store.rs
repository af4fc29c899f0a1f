//! The store at any number of sensors: how fast samples become durable and settled, what they cost
//! on the device and in memory, and how long questions take. `baro bench store` prints it.
//!
//! A run makes a store in a folder of its own, and removes it. In order: the first yardstick, init,
//! registration, ingest, settling, the other yardsticks, opens, queries, then what would disturb
//! figures: the check of the answers, and one file per sensor.
//!
//! Invariant: nothing is reported of a run that lost a sample or gave a wrong answer. Held by
//! `tests.rs`.

pub mod generate;
pub mod ingest;
pub mod queries;
pub mod report;
pub mod steady;
#[cfg(test)]
mod tests;
pub mod yardsticks;

use crate::BenchError;
use crate::push::Memory;
use baro_log::RUNS;
use baro_recorder::Recorder;
use baro_store::Store;
use baro_sys::{clock, disk, files, footprint, identity};
use generate::Data;
use queries::{Kind, Questions, timed};
use report::{DeviceBytes, StoreReport};
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
    /// There is no folder `dir`.
    pub fn in_folder(dir: &Path) -> Result<Self, BenchError> {
        disk::Disk::open(dir).map_err(BenchError::System)?;
        let path = dir.join(format!("baro-bench-store-{}", std::process::id()));
        disk::Disk::create(&path).map_err(BenchError::System)?;
        Ok(Scratch(path))
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
        seed: spec.seed,
        ring_bytes: ingest::RING_BYTES as u64,
        device_shared: identity::alone_on_file_system(scratch.path()).map(|alone| !alone),
        generate_per_s: yardsticks::generate_per_s(data),
        ..StoreReport::default()
    };
    report.log_append_per_s.push(yardsticks::log_append_per_s(scratch.path(), data)?);
    let first_id = fill(&path, data, spec, &mut report, stop)?;
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

/// Makes the store, and fills it until everything is settled.
fn fill(
    path: &Path,
    data: &dyn Data,
    spec: &StoreSpec,
    report: &mut StoreReport,
    stop: &AtomicBool,
) -> Result<u32, BenchError> {
    let folder = path.parent().unwrap_or(path);
    let before_init = device_bytes(folder)?;
    let log_bytes = spec.log_bytes.unwrap_or_else(|| ingest::log_bytes_for(data.samples()));
    ingest::make(path, log_bytes, data.series(), baro_ondisk::WhenFull::Stop)?;
    let before_registration = device_bytes(path)?;
    let recorder = Recorder::open(path, ingest::options()).map_err(BenchError::Recorder)?;
    let started_ns = clock::monotonic_ns();
    let first_id = ingest::register(&recorder, data)?;
    report.registration_ns = clock::monotonic_ns() - started_ns;
    let mut producer = recorder.producer().map_err(BenchError::Recorder)?;
    let before_push = device_bytes(path)?;
    let done = ingest::ingest(&recorder, &mut producer, data, first_id, stop)?;
    let closed = recorder.close();
    drop(producer);
    ingest::check_counters(&closed)?;
    if done.samples != data.samples() {
        let text = format!("expected {} samples pushed, found {}", data.samples(), done.samples);
        return Err(BenchError::Lost(text));
    }
    let durable = device_bytes(path)?;
    let synced_ns = clock::monotonic_ns();
    let settled = ingest::settle(path)?;
    // Looking at the device between durable and settled is not part of either.
    let settled_ns = clock::monotonic_ns() - synced_ns + done.durable_ns;
    report.peak_rss_ingest_bytes = Memory::now().peak_bytes;
    (report.pushed_ns, report.durable_ns, report.waits) =
        (done.pushed_ns, done.durable_ns, done.waits);
    report.log_bytes = closed.status.device_bytes + closed.status.other_bytes;
    report.device = DeviceBytes {
        init: since(before_registration, before_init),
        registration: since(before_push, before_registration),
        durable: since(durable, before_push),
        settled: None,
    };
    match settled {
        Some(settled) if settled.samples != data.samples() => {
            let (all, found) = (data.samples(), settled.samples);
            return Err(BenchError::Lost(format!("{found} of {all} samples are in runs")));
        }
        Some(_) => {
            report.settled_ns = Some(settled_ns);
            report.device.settled = since(device_bytes(path)?, before_push);
            let runs = path.join("runs");
            report.runs_bytes =
                Some(footprint::allocated_bytes(&runs).map_err(BenchError::System)?);
        }
        None => report.missing.push("this store does not settle into runs".to_owned()),
    }
    if before_push.is_none() {
        report.missing.push("no block device below counts what is written to it".to_owned());
    }
    report.catalog_bytes = catalog_bytes(path)?;
    Ok(first_id)
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
    for kind in Kind::ALL {
        report.rows_checked += questions.check(&store, kind)?;
    }
    Ok(())
}
