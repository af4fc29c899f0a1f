//! `baro-lab producers`: see `baro_lab::producers`. This process records; the producers are
//! this program once more, attached to its rings.

use baro_bench::verb::new_store::in_new_store;
use baro_command::failure::{Outcome, Result};
use baro_command::size::{self, show_ns};
use baro_command::{Format, print_json};
use baro_lab::producers::{Checked, ProducerSpec, check, produce};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::{Closed, Options, Recorder, attach};
use baro_store::Store;
use baro_sys::clock;
use clap::Args;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CHANNEL: &str = "produced";
/// Time for all processes to start and attach before the first record is due.
const START_NS: u64 = 2_000_000_000;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder on the file system to measure; a store is made in it and removed
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Processes that push
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u8).range(1..=63))]
    producers: u8,
    /// Records a second of each
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    rate: u64,
    /// Payload of a record, at least 24
    #[arg(long, default_value = "64", value_parser = size::bytes)]
    record_bytes: u64,
    /// How long they push
    #[arg(long = "for", default_value = "10s", value_parser = size::nanoseconds)]
    duration: u64,
    /// Size of each ring
    #[arg(long, default_value = "4M", value_parser = size::bytes)]
    ring: u64,
    /// Size of the log, which must hold all of it
    #[arg(long, default_value = "1G", value_parser = size::bytes)]
    log: u64,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// A producer's process.
#[derive(Debug, Args)]
pub(crate) struct One {
    store: PathBuf,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    frame_bytes: usize,
    #[arg(long)]
    records: u64,
    #[arg(long)]
    rate: u64,
    #[arg(long)]
    start_ns: u64,
}

pub(crate) fn one(arguments: &One) -> Result<Outcome> {
    let (mut producer, catalog) = attach(&arguments.store, None)?;
    let channel = catalog.get(CHANNEL).map_or(0, |declared| declared.id);
    let &One { seed, frame_bytes, records, rate, start_ns, .. } = arguments;
    let spec = ProducerSpec { channel, seed, frame_bytes, records, rate, start_ns };
    let report = produce(&mut producer, &spec)?;
    print_json(&json!({
        "pushed": report.pushed,
        "refused": report.refused,
        "paced_ns": report.paced_ns,
        "late_ns_max": report.late_ns_max,
    }))?;
    Ok(Outcome::Done)
}

/// Processes that are killed if they are still there when this is dropped.
struct Producers(Vec<Child>);

impl Drop for Producers {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let (reports, closed, checked) =
        in_new_store(&arguments.dir, arguments.log, WhenFull::Stop, |folder| {
            measure(arguments, folder)
        })?;
    let sum = |name: &str| -> u64 { reports.iter().filter_map(|r| r[name].as_u64()).sum() };
    let most = |name: &str| reports.iter().filter_map(|r| r[name].as_u64()).max().unwrap_or(0);
    let (pushed, refused) = (sum("pushed"), sum("refused"));
    let lost = refused + pushed.saturating_sub(checked.frames) + closed.left;
    let paced_ns = most("paced_ns");
    let order_kept = checked.out_of_order + checked.wrong == 0;
    let each_per_s =
        (pushed + refused) as f64 / reports.len().max(1) as f64 / (paced_ns.max(1) as f64 / 1e9);
    match arguments.format {
        Format::Text => out!(
            "{} producers, {:.0} records/s each: {pushed} pushed, {lost} lost, {}; push to durable \
             {} at most",
            checked.producers,
            each_per_s,
            if order_kept { "order kept" } else { "ORDER NOT KEPT" },
            show_ns(closed.status.longest_durable_ns)
        ),
        Format::Json => print_json(&json!({
            "producers": checked.producers,
            "record_bytes": arguments.record_bytes,
            "ring_bytes": arguments.ring,
            "paced_ns": paced_ns,
            "records_per_s_each": each_per_s,
            "pushed": pushed,
            "refused": refused,
            "frames_in_log": checked.frames,
            "lost": lost,
            "missing": checked.missing,
            "out_of_order": checked.out_of_order,
            "wrong": checked.wrong,
            "late_ns_max": most("late_ns_max"),
            "longest_durable_ns": closed.status.longest_durable_ns,
            "longest_write_ns": closed.status.longest_write_ns,
            "longest_sync_ns": closed.status.longest_sync_ns,
            "device_bytes": closed.status.device_bytes,
            "payload_bytes": closed.status.payload_bytes,
        }))?,
    }
    Ok(Outcome::lost_if(lost > 0 || !order_kept))
}

fn measure(arguments: &Arguments, folder: &Path) -> Result<(Vec<Value>, Closed, Checked)> {
    let options = Options {
        ring_bytes: usize::try_from(arguments.ring).unwrap_or(usize::MAX),
        record_bytes_max: usize::try_from(arguments.record_bytes.max(4096)).unwrap_or(usize::MAX),
        ..Options::default()
    };
    let recorder = Recorder::open(folder, options)?;
    let channel = recorder.declare(&[(CHANNEL, Type::Channel, "")])?.first().copied().unwrap_or(1);
    for _ in 0..arguments.producers {
        recorder.ring_for_attach()?;
    }
    let start_ns = clock::monotonic_ns() + START_NS;
    let records = u128::from(arguments.rate) * u128::from(arguments.duration) / 1_000_000_000;
    let mut producers = Producers(Vec::new());
    for seed in 0..arguments.producers {
        let child = Command::new(std::env::current_exe()?)
            .args(["producer", "--seed", &seed.to_string()])
            .args(["--frame-bytes", &arguments.record_bytes.to_string()])
            .args(["--records", &records.to_string()])
            .args(["--rate", &arguments.rate.to_string()])
            .args(["--start-ns", &start_ns.to_string()])
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        producers.0.push(child);
    }
    let mut reports = Vec::new();
    while let Some(child) = producers.0.pop() {
        let output = child.wait_with_output()?;
        if !output.status.success() {
            return Err(format!("a producer's process ended with {}", output.status).into());
        }
        reports.push(serde_json::from_slice(&output.stdout)?);
    }
    let closed = recorder.close();
    let checked = check(&Store::open(folder)?, channel)?;
    Ok((reports, closed, checked))
}
