//! `baro-lab bfq`: see `baro_lab::bfq`. Two groups on one device, and what BFQ says of them.
//!
//! The workers are this program once more (`baro-lab bfq-worker`), since a control group holds processes.

use baro_command::failure::{Outcome, Result};
use baro_command::size::{self, show_bytes, show_ns};
use baro_command::{Format, print_json};
use baro_lab::bfq::message::Reason;
use baro_lab::bfq::{BfqReport, BfqSpec, Direction, WorkerSpec, run as measure, work};
use baro_sys::termination;
use baro_tune::{OnConflict, Options};
use clap::Args;
use serde_json::{Map, Value, json};
use std::io::BufReader;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder on the device, for two files
    #[arg(long, default_value = ".")]
    dir: PathBuf,
    /// Write instead of read
    #[arg(long)]
    write: bool,
    /// Bytes of one call; two with a comma for one of each group
    #[arg(long, default_value = "10M", value_parser = size::bytes, value_delimiter = ',')]
    block: Vec<u64>,
    /// Weights of the groups
    #[arg(long, default_value = "200,100", value_delimiter = ',')]
    weights: Vec<u64>,
    /// How long
    #[arg(long = "for", default_value = "20s", value_parser = size::nanoseconds)]
    duration: u64,
    /// Bytes of each file
    #[arg(long, default_value = "400M", value_parser = size::bytes)]
    file_size: u64,
    /// A setting of the device's queue or of BFQ for this time: nr_requests=1024
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = setting)]
    settings: Vec<(String, String)>,
    /// Keep the recorded lines in this file
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Where the journal of settings is
    #[arg(long)]
    state_dir: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

fn setting(text: &str) -> std::result::Result<(String, String), String> {
    let pair = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let (name, value) = pair.ok_or_else(|| format!("{text:?}: expected NAME=VALUE"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Where the journal is: in `state_dir`, or where this user's is.
fn journal(state_dir: Option<PathBuf>) -> Options {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (state, home) = (variable("XDG_STATE_HOME"), variable("HOME"));
    let default = || Options::state_dir_default(state.as_deref(), home.as_deref());
    let state_dir = state_dir.unwrap_or_else(default);
    Options { state_dir, on_conflict: OnConflict::Overwrite, ..Options::default() }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.weights.len() != 2 || !(1..=2).contains(&arguments.block.len()) {
        return Err("expected two weights, and one block size or two: --weights 200,100".into());
    }
    termination::watch()?;
    let spec = BfqSpec {
        dir: arguments.dir.clone(),
        direction: if arguments.write { Direction::Write } else { Direction::Read },
        block_bytes: arguments.block.clone(),
        weights: arguments.weights.clone(),
        file_bytes: arguments.file_size,
        length_ns: arguments.duration,
        settings: arguments.settings.clone(),
        worker: vec![std::env::current_exe()?.into(), "bfq-worker".into()],
        journal: journal(arguments.state_dir.clone()),
        keep: arguments.keep.clone(),
    };
    let report = measure(&spec, &|| termination::requested().is_some())?;
    match arguments.format {
        Format::Json => print_json(&as_json(&spec, &report))?,
        Format::Text => print(&spec, &report),
    }
    Ok(Outcome::lost_if(report.lost_lines > 0))
}

fn print(spec: &BfqSpec, report: &BfqReport) {
    let seconds = report.totals.span_us as f64 / 1e6;
    let settings: Vec<String> =
        report.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    out!("{} on {}: {}", spec.direction.name(), report.device, settings.join(" "));
    out!();
    for (number, group) in report.groups.iter().enumerate() {
        out!(
            "weight {}: {} a call, {}/s; charged {}/s, of it {}/s for time",
            spec.weights[number],
            show_bytes(spec.block_bytes[number % spec.block_bytes.len()]),
            show_bytes((group.done_bytes as f64 / seconds) as u64),
            show_bytes((group.charged_bytes as f64 / seconds) as u64),
            show_bytes((group.time_bytes() as f64 / seconds) as u64),
        );
        out!();
        let ends: Vec<String> = Reason::ALL
            .iter()
            .zip(group.expired)
            .filter(|(_, times)| *times > 0)
            .map(|(reason, times)| format!("{times} {}", reason.name()))
            .collect();
        out!(
            "  turns: {} ({}), slow {}; lags forgotten: {} of {} activations, {}; budgets lost: {}, {}",
            group.turns(),
            ends.join(", "),
            group.slow,
            group.moved,
            group.activations,
            show_bytes(group.moved_bytes),
            group.emptied,
            show_bytes(group.emptied_bytes),
        );
        out!();
        out!(
            "  tags: {:.0} on average, {} at most; longest without service {}; longest call {}",
            report.tags_mean[number],
            group.tags_max,
            show_ns(group.unserved_max_us * 1000),
            show_ns(report.longest_ns[number]),
        );
        out!();
    }
    out!(
        "ratio {:.2}, of what was charged {:.2}, with lags and lost budgets {:.2}; all tags held {:.0} % of the time; the model of BFQ \
         expected {} of {} choices",
        report.ratio(),
        report.charged_ratio(),
        report.virtual_ratio(),
        100.0 * report.totals.at_limit_us as f64 / report.totals.span_us.max(1) as f64,
        report.totals.expected,
        report.totals.choices,
    );
    out!();
    if report.lost_lines > 0 {
        out!("{} lines were lost: figures are too low; measure for less time", report.lost_lines);
        out!();
    }
}

fn as_json(spec: &BfqSpec, report: &BfqReport) -> Value {
    let group = |(number, group): (usize, &baro_lab::bfq::GroupAccount)| {
        let expired: Map<String, Value> = Reason::ALL
            .iter()
            .zip(group.expired)
            .map(|(reason, times)| (reason.name().to_owned(), json!(times)))
            .collect();
        json!({
            "weight": spec.weights[number],
            "block_bytes": spec.block_bytes[number % spec.block_bytes.len()],
            "calls": report.calls[number],
            "longest_call_ns": report.longest_ns[number],
            "done_bytes": group.done_bytes,
            "issued_bytes": group.issued_bytes,
            "charged_bytes": group.charged_bytes,
            "charged_for_time_bytes": group.time_bytes(),
            "turns": group.turns(),
            "turns_ns": group.turns_us * 1000,
            "expired": expired,
            "slow": group.slow,
            "activations": group.activations,
            "lags_forgotten": group.moved,
            "lags_forgotten_bytes": group.moved_bytes,
            "started_in_the_past": group.back,
            "charged_outside_turns_bytes": group.outside_bytes,
            "emptied": group.emptied,
            "emptied_bytes": group.emptied_bytes,
            "tags_mean": report.tags_mean[number],
            "tags_max": group.tags_max,
            "unserved_max_ns": group.unserved_max_us * 1000,
        })
    };
    let settings: Map<String, Value> =
        report.settings.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    json!({
        "device": report.device,
        "direction": spec.direction.name(),
        "settings": settings,
        "span_ns": report.totals.span_us * 1000,
        "ratio": report.ratio(),
        "charged_ratio": report.charged_ratio(),
        "virtual_ratio": report.virtual_ratio(),
        "groups": report.groups.iter().enumerate().map(group).collect::<Vec<_>>(),
        "tag_limit": report.totals.tag_limit,
        "at_tag_limit_ns": report.totals.at_limit_us * 1000,
        "choices": report.totals.choices,
        "choices_expected": report.totals.expected,
        "lost_lines": report.lost_lines,
    })
}

/// A reader or writer of `baro-lab bfq` (internal).
#[derive(Debug, Args)]
pub(crate) struct Worker {
    #[arg(long)]
    file: PathBuf,
    #[arg(long)]
    file_size: u64,
    #[arg(long)]
    block: u64,
    #[arg(long)]
    write: bool,
}

pub(crate) fn worker(arguments: &Worker) -> Result<Outcome> {
    // A Ctrl-C is for whoever asked, who then closes the pipe.
    termination::watch()?;
    let spec = WorkerSpec {
        file: arguments.file.clone(),
        file_bytes: arguments.file_size,
        block_bytes: arguments.block,
        write: arguments.write,
    };
    work(&spec, BufReader::new(std::io::stdin()), std::io::stdout(), &|| false)?;
    Ok(Outcome::Done)
}
