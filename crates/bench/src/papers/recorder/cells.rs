//! The measuring of each kind of cell.
//!
//! A cell's producer is a thread of its own, named for the tracer; beside it sleeps the noise.

use super::case::{BLOCK_BYTES, Background, Case, PERIOD_NS, UNIT_BYTES};
use super::flusher::FlusherOff;
use super::handles::Handles;
use super::{Calls, Outlier, RecorderExperiment, own};
use crate::error::BenchError;
use crate::experiment::unavailable;
use crate::load::{Load, LoadSpec, SequentialReader};
use crate::methods::{Method, MethodReport, Spec};
use crate::noise::{Noise, NoiseReport};
use crate::papers::latency::Latency;
use crate::ways::{Way, WayKind, WayReport, WaySpec};
use baro_sys::{clock, task};
use hdrhistogram::Histogram;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A load is under way when it has run for so long.
const WARM_UP_NS: u64 = 300_000_000;
/// The reader first writes its file, at the device's speed.
const READER_WAIT_NS: u64 = 120_000_000_000;
const STEP_NS: u64 = 20_000_000;

pub(super) fn measure(
    this: &mut RecorderExperiment,
    id: &str,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    let parts: Vec<&str> = id.split('/').collect();
    let value = match parts.as_slice() {
        ["noise"] => noise_alone(u64::from(this.spec.writes_beside) * PERIOD_NS, stop),
        ["case", name, _] => {
            let case = find(name)?;
            write_case(this, case, UNIT_BYTES, this.spec.writes, None, stop)
        }
        ["unit", bytes] => {
            let bytes = bytes.parse().map_err(|_| no_cell(id))?;
            write_case(this, find("ALL")?, bytes, this.spec.writes_beside, None, stop)
        }
        ["reader", "alone"] => reader_alone(this, stop),
        ["reader", "barograph"] => barograph(this, Background::Idle, true, stop),
        ["reader", name] => {
            let reader = Some(reader(this));
            let case = find(name)?;
            write_case(this, case, UNIT_BYTES, this.spec.writes_beside, reader, stop)
        }
        ["way", way, load] => {
            let kind = WayKind::of_key(way).ok_or_else(|| no_cell(id))?;
            other_way(this, kind, Background::named(load).ok_or_else(|| no_cell(id))?, stop)
        }
        ["barograph", load, _] => {
            let load = Background::named(load).ok_or_else(|| no_cell(id))?;
            barograph(this, load, false, stop)
        }
        _ => Err(no_cell(id)),
    }?;
    if stop.load(Relaxed) { Err(BenchError::Stopped) } else { Ok(value) }
}

fn no_cell(id: &str) -> BenchError {
    BenchError::Refused(format!("no cell {id}"))
}

fn find(name: &str) -> Result<&'static Case, BenchError> {
    Case::named(name).ok_or_else(|| no_cell(name))
}

fn noise_alone(duration_ns: u64, stop: &AtomicBool) -> Result<Value, BenchError> {
    let noise = Noise::start(PERIOD_NS)?;
    let end_ns = clock::monotonic_ns().saturating_add(duration_ns);
    wait(end_ns, stop);
    Ok(json!({ "noise": noise_json(&noise.stop()?)? }))
}

fn wait(end_ns: u64, stop: &AtomicBool) {
    while clock::monotonic_ns() < end_ns && !stop.load(Relaxed) {
        clock::sleep_ns(STEP_NS);
    }
}

fn noise_json(noise: &NoiseReport) -> Result<Value, BenchError> {
    Ok(json!(Latency::of(&noise.late_ns, noise.late_ns_max)?))
}

fn reader(this: &RecorderExperiment) -> LoadSpec {
    let file_bytes = this.spec.file_bytes;
    LoadSpec::SequentialReader(SequentialReader { file_bytes, bytes_per_s: None })
}

/// A load under way, and what it had done when the measurement began.
struct Beside {
    load: Load,
    read_before: u64,
    begun_ns: u64,
}

impl Beside {
    fn start(spec: LoadSpec, folder: &Path, stop: &AtomicBool) -> Result<Self, BenchError> {
        let load = Load::start(spec, folder)?;
        let reads = matches!(spec, LoadSpec::SequentialReader(_));
        let end_ns = clock::monotonic_ns().saturating_add(READER_WAIT_NS);
        while reads && load.report().read_bytes == 0 && !stop.load(Relaxed) {
            if clock::monotonic_ns() > end_ns {
                let failed = load.report().first_error;
                return Err(BenchError::Refused(format!(
                    "the reader has not begun within two minutes: {failed:?}"
                )));
            }
            clock::sleep_ns(STEP_NS);
        }
        wait(clock::monotonic_ns() + WARM_UP_NS, stop);
        let read_before = load.report().read_bytes;
        Ok(Self { load, read_before, begun_ns: clock::monotonic_ns() })
    }

    fn finish(self) -> Value {
        let took_ns = clock::monotonic_ns().saturating_sub(self.begun_ns);
        let read_bytes = self.load.report().read_bytes.saturating_sub(self.read_before);
        let report = self.load.stop();
        json!({
            "operations": report.operations,
            "allocated_bytes": report.allocated_bytes,
            "full_pauses": report.full_pauses,
            "failures": report.failures,
            "first_error": report.first_error.map(|kind| format!("{kind:?}")),
            "read_bytes_per_s": read_bytes as f64 * 1e9 / took_ns.max(1) as f64,
        })
    }
}

fn reader_alone(this: &RecorderExperiment, stop: &AtomicBool) -> Result<Value, BenchError> {
    let beside = Beside::start(reader(this), this.site.folder(), stop)?;
    let duration_ns = u64::from(this.spec.writes_beside) * PERIOD_NS;
    wait(clock::monotonic_ns().saturating_add(duration_ns), stop);
    Ok(json!({ "load": beside.finish() }))
}

/// One of the paper's cases, with a reader beside it or its own load.
fn write_case(
    this: &mut RecorderExperiment,
    case: &Case,
    unit_bytes: u64,
    writes: u32,
    reader: Option<LoadSpec>,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    let spec = case.spec(unit_bytes, this.spec.file_bytes);
    let folder = this.site.folder().to_path_buf();
    let flusher_off = case.flusher_off && this.spec.machine_wide;
    let off = if flusher_off { Some(FlusherOff::set()?) } else { None };
    let load = reader.or_else(|| case.background.load(this.spec.file_bytes));
    let beside = load.map(|load| Beside::start(load, &folder, stop)).transpose()?;
    let watching = begin(this);
    let noise = Noise::start(PERIOD_NS)?;
    let length_ns = u64::from(writes) * PERIOD_NS;
    let produced = produce(&folder, spec, length_ns, stop);
    let noise = noise.stop()?;
    let (calls, report, handles) = match produced {
        Ok(produced) => produced,
        Err(BenchError::File { what: "preallocate", path, source })
            if source.kind() == std::io::ErrorKind::Unsupported =>
        {
            return Ok(unavailable(format!("cannot preallocate {}: {source}", path.display())));
        }
        Err(error) => return Err(error),
    };
    let outliers = end(this, watching, &calls);
    let load = beside.map(Beside::finish);
    drop(off);
    let flush = &report.flush;
    Ok(json!({
        "write": Latency::of(&report.latency_ns, report.latency_ns_max)?,
        "lost_periods": report.lost_periods,
        "written_bytes": report.written_bytes,
        "failed_writes": report.failed_writes,
        "first_error": report.first_error.map(|kind| format!("{kind:?}")),
        "recordings": report.recordings,
        "journal_handles": handles,
        "flush": Latency::of(&flush.latency_ns, flush.latency_ns.max())?,
        "flushes_failed": flush.failed,
        "unit_bytes": unit_bytes,
        "flusher": if flusher_off { "off" } else { "as_found" },
        "load": load,
        "noise": noise_json(&noise)?,
        "outliers": outliers.as_ref().ok(),
        "outliers_missing": outliers.as_ref().err(),
    }))
}

type Produced = (Calls, MethodReport, Option<u64>);

/// Records in a thread of its own.
fn produce(
    folder: &Path,
    spec: Spec,
    length_ns: u64,
    stop: &AtomicBool,
) -> Result<Produced, BenchError> {
    std::thread::scope(|scope| {
        let producer = std::thread::Builder::new().name("recorder".to_owned());
        let producer = producer.spawn_scoped(scope, || {
            let mut method = Method::new(folder, "recording", spec)?;
            let tid = task::thread_id();
            let handles = Handles::of(tid);
            let begin_ns = clock::monotonic_ns();
            method.run_slice(length_ns, stop)?;
            let calls = Calls { tid, when_ns: begin_ns..clock::monotonic_ns() };
            let handles = handles.and_then(Handles::finish);
            Ok((calls, method.finish()?, handles))
        });
        let producer = producer.map_err(BenchError::Thread)?;
        producer.join().unwrap_or(Err(BenchError::ThreadLost("recorder")))
    })
}

/// Another way to write the same blocks.
fn other_way(
    this: &mut RecorderExperiment,
    kind: WayKind,
    background: Background,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    let folder = this.site.folder().to_path_buf();
    if let Err(reason) = kind.available(&folder) {
        return Ok(unavailable(reason));
    }
    let writes = u64::from(this.spec.writes_beside);
    // Some write the whole file before: no longer than is needed.
    let file_bytes = (writes * BLOCK_BYTES).max(2 * UNIT_BYTES).min(this.spec.file_bytes);
    let spec = WaySpec {
        block_bytes: BLOCK_BYTES,
        period_ns: PERIOD_NS,
        flush_bytes: UNIT_BYTES,
        file_bytes,
    };
    let mut way = Way::new(kind, &folder, "way", spec)?;
    let load = background.load(this.spec.file_bytes);
    let beside = load.map(|load| Beside::start(load, &folder, stop)).transpose()?;
    let watching = begin(this);
    let noise = Noise::start(PERIOD_NS)?;
    let (calls, report) = std::thread::scope(|scope| {
        let producer = std::thread::Builder::new().name("recorder".to_owned());
        let producer = producer.spawn_scoped(scope, || {
            let begin_ns = clock::monotonic_ns();
            way.run_slice(writes * PERIOD_NS, stop)?;
            let when_ns = begin_ns..clock::monotonic_ns();
            Ok::<_, BenchError>((Calls { tid: task::thread_id(), when_ns }, way.finish()?))
        });
        let producer = producer.map_err(BenchError::Thread)?;
        producer.join().unwrap_or(Err(BenchError::ThreadLost("recorder")))
    })?;
    let noise = noise.stop()?;
    let outliers = end(this, watching, &calls);
    way_json(&report, beside.map(Beside::finish), &noise, &outliers)
}

fn way_json(
    report: &WayReport,
    load: Option<Value>,
    noise: &NoiseReport,
    outliers: &Result<Vec<Outlier>, String>,
) -> Result<Value, BenchError> {
    Ok(json!({
        "name": report.kind.name(),
        "durable": report.kind.durable(),
        "write": Latency::of(&report.latency_ns, report.latency_ns_max)?,
        "lost_periods": report.lost_periods,
        "written_bytes": report.written_bytes,
        "failed_writes": report.failed_writes,
        "first_error": report.first_error.map(|kind| format!("{kind:?}")),
        "waits": report.waits,
        "load": load,
        "noise": noise_json(noise)?,
        "outliers": outliers.as_ref().ok(),
        "outliers_missing": outliers.as_ref().err(),
    }))
}

/// The same through Barograph: `reader` adds the sequential reader of table 3.
fn barograph(
    this: &mut RecorderExperiment,
    background: Background,
    reads: bool,
    stop: &AtomicBool,
) -> Result<Value, BenchError> {
    let folder = this.site.folder().to_path_buf();
    let store = own::store(&folder)?;
    let reader = reads.then(|| reader(this));
    let load = reader.or_else(|| background.load(this.spec.file_bytes));
    let beside = load.map(|load| Beside::start(load, &folder, stop)).transpose()?;
    let noise = Noise::start(PERIOD_NS)?;
    let records = if reads { this.spec.writes_beside } else { this.spec.writes };
    let report = own::record(&store, u64::from(records), stop)?;
    let noise = noise.stop()?;
    let load = beside.map(Beside::finish);
    let kernel = report.kernel.as_ref().filter(|kernel| kernel.lost_events == 0);
    let alone = report.alone.as_ref().map(|alone| {
        let of = |histogram: &Histogram<u64>| Latency::of(histogram, histogram.max());
        Ok::<_, BenchError>((of(&alone.push_ns)?, of(&alone.memcpy_ns)?))
    });
    let alone = alone.transpose()?;
    Ok(json!({
        "write": Latency::of(&report.push_ns, report.push_max_ns)?,
        "memcpy": Latency::of(&report.memcpy_ns, report.memcpy_max_ns)?,
        "write_alone": alone.as_ref().map(|alone| &alone.0),
        "memcpy_alone": alone.as_ref().map(|alone| &alone.1),
        "alone_missing": report.alone_reason,
        "page_faults": report.page_faults,
        "voluntary_switches": report.voluntary_switches,
        "lost": report.lost,
        "written_bytes": report.records * BLOCK_BYTES,
        "forced_commits": kernel.map(|kernel| kernel.forced_commits),
        "longest_durable_ns": report.status.longest_durable_ns,
        "longest_write_ns": report.status.longest_write_ns,
        "longest_sync_ns": report.status.longest_sync_ns,
        "ring_used_bytes_max": report.ring_used_bytes_max,
        "syscalls": report.syscalls,
        "load": load,
        "noise": noise_json(&noise)?,
    }))
}

/// Whether the witness watches; why not is kept.
fn begin(this: &mut RecorderExperiment) -> bool {
    let Some(witness) = &mut this.witness else { return false };
    match witness.begin() {
        Ok(()) => true,
        Err(reason) => {
            // Once: it will not be otherwise for the next cell.
            this.witness = None;
            this.unwatched = Some(reason);
            false
        }
    }
}

fn end(
    this: &mut RecorderExperiment,
    watching: bool,
    calls: &Calls,
) -> Result<Vec<Outlier>, String> {
    match &mut this.witness {
        Some(witness) if watching => witness.end(calls),
        _ => Err(this.unwatched.clone().unwrap_or_else(|| "not asked for".to_owned())),
    }
}
