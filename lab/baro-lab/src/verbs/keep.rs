//! `baro-lab keep`: see `baro_lab::keep`. Reads the pinned window back and compares it with
//! what was pushed in it.

use baro_bench::verb::new_store::in_new_store;
use baro_command::failure::{Outcome, Result};
use baro_command::size;
use baro_command::{Format, print_json};
use baro_lab::keep::{KeepReport, KeepSpec, run as measure};
use baro_ondisk::WhenFull;
use baro_recorder::{Options, Retention};
use baro_store::{Filter, Interval, Reading, Store};
use baro_sys::disk::Disk;
use baro_sys::storage::{Access, Storage, StorageFile};
use baro_sys::{clock, termination};
use clap::Args;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder on the file system to measure; a store is made in it and removed
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Payload of a record
    #[arg(long, default_value = "16K", value_parser = size::bytes)]
    record_bytes: u64,
    /// Bytes pushed per second
    #[arg(long, default_value = "200MB", value_parser = size::bytes)]
    rate: u64,
    /// Size of the log
    #[arg(long, default_value = "16M", value_parser = size::bytes)]
    log: u64,
    /// How often the log is written over
    #[arg(long, default_value_t = 100)]
    rounds: u64,
    /// Pins made meanwhile, each released before the next
    #[arg(long, default_value_t = 0)]
    pins: u32,
    /// How far a pin reaches back
    #[arg(long, default_value = "1s", value_parser = size::nanoseconds)]
    before: u64,
    /// How far it goes on
    #[arg(long, default_value = "1s", value_parser = size::nanoseconds)]
    after: u64,
    /// Size of the ring
    #[arg(long, default_value = "64M", value_parser = size::bytes)]
    ring: u64,
    /// Bound on the time from push to durable
    #[arg(long, default_value = "100ms", value_parser = size::nanoseconds)]
    durable_within: u64,
    /// Processor of the producer
    #[arg(long)]
    cpu: Option<usize>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let (report, found) =
        in_new_store(&arguments.dir, arguments.log, WhenFull::Recycle, |folder| {
            run_in(arguments, folder)
        })?;
    let value = as_json(arguments, &report, &found);
    match arguments.format {
        Format::Json => print_json(&value)?,
        Format::Text => {
            let object = value.as_object().into_iter().flatten();
            object.for_each(|(key, value)| out!("{key:32} {value}"));
        }
    }
    Ok(Outcome::lost_if(report.lost > 0 || found.missing > 0 || found.damage > 0))
}

/// What is found in the store afterwards.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    files: u64,
    bytes: u64,
    files_before: u64,
    bytes_before: u64,
    /// Records pushed in the last pin's window, and how many of them are not found.
    window: u64,
    missing: u64,
    damage: u64,
}

fn run_in(arguments: &Arguments, folder: &Path) -> Result<(KeepReport, Found)> {
    let interval_ns = arguments.record_bytes * 1_000_000_000 / arguments.rate.max(1);
    let spec = KeepSpec {
        record_bytes: arguments.record_bytes as usize,
        records: (arguments.rounds * arguments.log / arguments.record_bytes.max(1)).max(10),
        interval_ns,
        cpu: arguments.cpu,
        pins: arguments.pins,
        before_ns: arguments.before,
        after_ns: arguments.after,
    };
    let options = Options {
        durable_within_ns: arguments.durable_within,
        ring_bytes: arguments.ring as usize,
        retention: Retention::default(),
        ..Options::default()
    };
    let mut found = Found::default();
    (found.files_before, found.bytes_before) = contents(folder)?;
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                stop.fetch_or(termination::requested().is_some(), Ordering::Relaxed);
                clock::sleep_ns(20_000_000);
            }
        });
        let report = measure(folder, spec, options, &stop);
        done.store(true, Ordering::Relaxed);
        report
    })?;
    (found.files, found.bytes) = contents(folder)?;
    let store = Store::open(folder)?;
    found.damage = store.damage().len() as u64;
    if let Some(pin) = report.pins.last() {
        let (from_ns, to_ns) = pin.window_ns();
        let interval = Interval { from_ns, to_ns };
        let pushed: Vec<i64> =
            report.times_ns.iter().copied().filter(|at| interval.holds(*at)).collect();
        let mut there = Vec::with_capacity(pushed.len());
        let filter = Filter::all().data_only();
        let notes = store.records(interval, &filter, &Reading::default(), |record| {
            there.push(record.time_ns);
            ControlFlow::Continue(())
        })?;
        found.damage += notes.damage.len() as u64;
        found.window = pushed.len() as u64;
        found.missing = pushed.iter().filter(|at| there.binary_search(at).is_err()).count() as u64;
        found.missing += there.len().saturating_sub(pushed.len()) as u64;
    }
    Ok((report, found))
}

/// Number and bytes of the files in a store.
fn contents(folder: &Path) -> Result<(u64, u64)> {
    let disk = Disk::open(folder)?;
    let (mut files, mut bytes) = (0, 0);
    for part in ["log", "pins", "kept"] {
        let names = match disk.list(part) {
            Err(error) if error.is_missing() => continue,
            other => other?,
        };
        for name in names {
            files += 1;
            bytes += disk.open(&format!("{part}/{name}"), Access::Read)?.size_bytes()?;
        }
    }
    Ok((files, bytes))
}

fn as_json(arguments: &Arguments, report: &KeepReport, found: &Found) -> Value {
    let at = |histogram: Option<&baro_bench::Histogram>, quantile| {
        histogram.filter(|h| !h.is_empty()).map(|h| h.value_at_quantile(quantile))
    };
    let (first, last) = (report.tenths.first(), report.tenths.last());
    let (beside, without) = (Some(&report.beside_pin_ns), Some(&report.without_pin_ns));
    let status = &report.status;
    let bytes = report.times_ns.len() as u64 * arguments.record_bytes;
    json!({
        "record_bytes": arguments.record_bytes,
        "records": report.times_ns.len(),
        "rounds": bytes as f64 / arguments.log.max(1) as f64,
        "elapsed_ns": report.elapsed_ns,
        "bytes_per_s": bytes as f64 / (report.elapsed_ns.max(1) as f64 / 1e9),
        "lost": report.lost,
        "segments_started": status.segments_started,
        "first_push_p50_ns": at(first, 0.5),
        "first_push_p9999_ns": at(first, 0.9999),
        "last_push_p50_ns": at(last, 0.5),
        "last_push_p9999_ns": at(last, 0.9999),
        "beside_pin_push_p50_ns": at(beside, 0.5),
        "beside_pin_push_p9999_ns": at(beside, 0.9999),
        "without_pin_push_p50_ns": at(without, 0.5),
        "without_pin_push_p9999_ns": at(without, 0.9999),
        "resident_first_bytes": report.resident_bytes.first(),
        "resident_last_bytes": report.resident_bytes.last(),
        "files_before": found.files_before,
        "files_after": found.files,
        "file_bytes_before": found.bytes_before,
        "file_bytes_after": found.bytes,
        "pins": report.pins.len(),
        "pins_refused": report.refused,
        "pin_reasons": report.pins.last().map(|pin| &pin.reason),
        "window_records": found.window,
        "window_records_missing": found.missing,
        "damage": found.damage,
        "device_bytes": status.device_bytes,
        "other_bytes": status.other_bytes,
        "payload_bytes": status.payload_bytes,
        "longest_durable_ns": status.longest_durable_ns,
    })
}
