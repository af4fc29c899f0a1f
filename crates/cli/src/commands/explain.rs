//! `baro explain`: why the calls of a trace were late.

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_sys::disk;
use baro_trace::explain::{Knowledge, Question, describe, to_json};
use baro_trace::file::{Ending, TraceFile};
use clap::Args;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A trace, made by `baro trace`
    trace: PathBuf,
    /// Only calls that waited this long
    #[arg(long, value_parser = size::nanoseconds, value_name = "TIME", default_value = "10ms")]
    over: u64,
    /// Tell of so many, the longest
    #[arg(long, value_name = "N", default_value_t = 10)]
    top: usize,
    /// Only calls of this process and those it made; else those that the trace is about
    #[arg(long, short, value_name = "PID")]
    pid: Vec<i32>,
    /// Calls of all processes, whatever the trace is about
    #[arg(long)]
    system: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut known = read(&arguments.trace)?;
    if arguments.system || !arguments.pid.is_empty() {
        known.focus = arguments.pid.iter().copied().collect();
    }
    let question = Question { over_ns: arguments.over, top: arguments.top };
    let explanation = known.explain(&question);
    match arguments.format {
        Format::Json => print_json(&to_json(&known, &explanation))?,
        Format::Text => {
            std::io::stdout().lock().write_all(describe(&known, &explanation).as_bytes())?;
        }
    }
    Ok(Outcome::Done)
}

/// Reads a trace, and says on stderr if it is not whole.
pub(super) fn read(path: &Path) -> Result<Knowledge> {
    let mut trace = TraceFile::open(BufReader::new(disk::open_input(path)?))
        .map_err(|error| format!("{}: {error}", path.display()))?;
    match trace.ending() {
        Ending::Finished => {}
        Ending::BrokenOff => {
            eprintln!("baro: the recording was not ended; its losses are not known")
        }
        Ending::Torn(error) => eprintln!("baro: the trace is read up to where it is torn: {error}"),
    }
    Ok(Knowledge::of(&mut trace)?)
}
