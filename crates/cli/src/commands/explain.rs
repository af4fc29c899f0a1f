//! `baro explain`: why the calls of a trace were late.

mod kernel_log;
mod prove;

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_sys::files;
use baro_trace::explain::{Explanation, Knowledge, Question, describe, drawn, to_json};
use baro_trace::file::{Ending, TraceFile};
use baro_trace::render::{View, html, perfetto};
use clap::Args;
use std::io::BufReader;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(after_help = "Example: baro explain freeze.trace")]
pub(crate) struct Arguments {
    /// A trace, made by `baro trace`
    #[arg(required_unless_present = "kernel_log")]
    trace: Option<PathBuf>,
    /// Instead of a trace: the kernel's log with its reports of hung tasks (or of sysrq-w), as dmesg or
    /// journalctl -k write it; without FILE this machine's own, - is stdin
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = baro_sys::kernel_log::PATH,
          conflicts_with_all = ["trace", "pid", "system", "html", "perfetto"])]
    kernel_log: Option<PathBuf>,
    /// Only calls that waited this long
    #[arg(long, value_parser = size::nanoseconds, value_name = "TIME", default_value = "10ms")]
    over: u64,
    /// Tell of so many, the longest
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Only calls of this process and those it made
    ///
    /// Else of those that the trace is about.
    #[arg(long, short, value_name = "PID")]
    pid: Vec<i32>,
    /// Calls of all processes, whatever the trace is about
    #[arg(long)]
    system: bool,
    /// Also write one page with plots, for any browser
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Also write a trace for ui.perfetto.dev
    ///
    /// With arrows from each wait to who ended it.
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Try what is advised, and tell if it helps (root)
    ///
    /// Of the longest call: records this machine as it is, then with the advised setting, compares the waits of such calls, and
    /// puts the setting back. Ends with 3 if the longest wait is not halved. Only settings of this machine
    /// are tried.
    #[arg(long, conflicts_with_all = ["kernel_log", "html", "perfetto"])]
    prove: bool,
    /// With --prove: record so long each time
    #[arg(long = "for", value_parser = size::nanoseconds_above_0, value_name = "TIME", default_value = "1m",
          requires = "prove", hide_short_help = true)]
    for_ns: u64,
    /// With --prove: do not ask
    #[arg(long, requires = "prove", hide_short_help = true)]
    yes: bool,
    /// With --prove: folder of the journal
    #[arg(long, value_name = "DIR", requires = "prove", hide_short_help = true)]
    state_dir: Option<PathBuf>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let trace = match (&arguments.kernel_log, &arguments.trace) {
        (Some(log), _) => return kernel_log::run(log, arguments.top, arguments.format),
        (None, Some(trace)) => trace,
        (None, None) => return Err("expected a trace, or --kernel-log".into()),
    };
    let mut known = read(trace)?;
    if arguments.system || !arguments.pid.is_empty() {
        known.focus = arguments.pid.iter().copied().collect();
    }
    let question = Question { over_ns: arguments.over, top: arguments.top };
    let explanation = known.explain(&question);
    if arguments.prove {
        return prove::run(arguments, &known, &explanation);
    }
    draw(arguments, trace, &known, &explanation)?;
    match arguments.format {
        Format::Json => print_json(&to_json(&known, &explanation))?,
        Format::Text => {
            baro_command::print_lines(&describe(&known, &explanation))?;
        }
    }
    Ok(Outcome::lost_if(!known.line.is_whole()))
}

/// Writes the pictures that were asked for.
fn draw(
    arguments: &Arguments,
    trace: &Path,
    known: &Knowledge,
    explanation: &Explanation,
) -> Result<()> {
    let slow = drawn(known, explanation);
    let title = trace.display().to_string();
    let view = View {
        title: &title,
        machine: &known.machine,
        line: &known.line,
        slow: &slow,
        names: known,
        remarks: &explanation.notes,
    };
    let create = |path: &Path| {
        files::create(path).map_err(|error| format!("{}: {}", path.display(), error.source))
    };
    if let Some(path) = &arguments.html {
        html(&view, create(path)?)?;
    }
    if let Some(path) = &arguments.perfetto {
        perfetto(&view, create(path)?)?;
    }
    Ok(())
}

/// Reads a trace, and says on stderr if it is not whole.
pub(super) fn read(path: &Path) -> Result<Knowledge> {
    super::refuse_folder(path, "a trace that baro trace has recorded")?;
    let mut trace = TraceFile::open(BufReader::new(files::open(path)?))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    match trace.ending() {
        Ending::Finished => {}
        Ending::BrokenOff => {
            say!("baro: the recording was not ended; its losses are not known")
        }
        Ending::Torn(error) => say!("baro: the trace is read up to where it is torn: {error}"),
    }
    Ok(Knowledge::of(&mut trace)?)
}
