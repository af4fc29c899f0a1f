//! What all analyses of a trace have in common on the command line: a trace, a journal, rows, a form.

use super::live::Subject;
use super::recording::{Collector, Recorded};
use crate::commands::making::NewFile;
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_trace::analyze::{self, Analysis, Options, Series, Source};
use clap::Args;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

// Without groups of their own: subjects of several verbs would have the same.
#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Common {
    #[command(flatten)]
    subject: Subject,
    /// Rows of a table at most
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// Of analyses that are about journals.
#[derive(Debug, Args)]
pub(super) struct OfJournal {
    #[command(flatten)]
    common: Common,
    /// Only the journal of this device: its name, or MAJOR:MINOR
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    /// Also each event: rows in a .csv or .json, a picture in a .svg
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// Replace that file if it is there
    #[arg(long, requires = "series", hide_short_help = true)]
    force: bool,
}

/// Of analyses that are about tasks.
#[derive(Debug, Args)]
pub(super) struct OfTasks {
    #[command(flatten)]
    common: Common,
    /// Only this process and those it made; else those that the trace is about
    #[arg(long, short, value_name = "PID")]
    pid: Vec<i32>,
    /// All processes, whatever the trace is about
    #[arg(long)]
    system: bool,
}

/// Reads the trace and prints the analysis; 3 if the trace is not complete.
pub(super) fn run_of_tasks(arguments: &OfTasks, analysis: Analysis) -> Result<Outcome> {
    // Which calls there were and how each ended only the tracer tells.
    let collector = match analysis {
        Analysis::Syscall => Collector::Tracefs,
        _ => Collector::Auto,
    };
    let common = &arguments.common;
    let (mut known, status) = common.subject.read(collector, common.format)?;
    if arguments.system || !arguments.pid.is_empty() {
        known.focus = arguments.pid.iter().copied().collect();
    }
    let tasks = known.all_in_focus();
    let tasks = (!known.focus.is_empty()).then_some(&tasks);
    let source = Source { tasks, ..Source::from(&known) };
    show(common, &source, analysis, &Options::default(), status)
}

/// Likewise, of one journal or all.
pub(super) fn run_of_journal(
    arguments: &OfJournal,
    analysis: Analysis,
    options: &Options,
) -> Result<Outcome> {
    let common = &arguments.common;
    let (known, status) = common.subject.read(Collector::Auto, common.format)?;
    let source = Source::from(&known);
    let device = arguments.device.as_deref().map(|name| {
        let with_journal = |device: &_| source.line.journals.contains_key(device);
        source.device(name).filter(with_journal).ok_or_else(|| no_journal(&source, name))
    });
    let options = Options { device: device.transpose()?, ..*options };
    if let Some(path) = &arguments.series
        && let Some(series) = analyze::series(analysis, &source, &options)
    {
        write_series(path, arguments.force, &series)?;
    }
    show(common, &source, analysis, &options, status)
}

/// In the form that the name says.
fn write_series(path: &Path, force: bool, series: &Series) -> Result<()> {
    let form = path.extension().and_then(|form| form.to_str()).unwrap_or_default();
    let bytes = match form {
        "csv" => series.csv(),
        "json" => format!("{}\n", series.json()),
        "svg" => series.svg(),
        _ => {
            let path = path.display();
            return Err(format!("{path}: expected a name in .csv, .json or .svg").into());
        }
    };
    let mut file = NewFile::create(path, force)?;
    file.write_all(bytes.as_bytes())?;
    file.finish()?;
    Ok(())
}

fn show(
    common: &Common,
    source: &Source<'_>,
    analysis: Analysis,
    options: &Options,
    status: Option<ExitStatus>,
) -> Result<Outcome> {
    let report = analyze::analyze(analysis, source, &Options { top: common.top, ..*options });
    match common.format {
        Format::Json => print_json(&report.json())?,
        Format::Text => baro_command::print_lines(&report.text())?,
    }
    Ok(Recorded::outcome(status, !source.line.is_whole()))
}

fn no_journal(source: &Source<'_>, name: &str) -> String {
    let there = source.line.journals.keys();
    let there: Vec<String> = there
        .map(|device| match source.devices.get(device) {
            Some(name) => format!("{name} ({device})"),
            None => device.to_string(),
        })
        .collect();
    match there.as_slice() {
        [] => format!("--device {name}: the trace has no journal"),
        there => format!(
            "--device {name}: the trace has no journal of it; it has those of {}",
            there.join(", ")
        ),
    }
}
