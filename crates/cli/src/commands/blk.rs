//! `baro blk`: what goes to a disk, by class of request, device and process; see `docs/blk.md`.

mod files;
mod live;
mod report;
mod table;

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro blk --device sda --for 10s")]
pub(crate) struct Arguments {
    /// Only this disk: sda, /dev/sda
    ///
    /// Of a partition the disk it is on. May be given more than once.
    #[arg(long, conflicts_with_all = ["file", "blktrace", "blkparse"])]
    device: Vec<PathBuf>,
    /// For how long; until Ctrl-C without it
    #[arg(long = "for", value_name = "TIME", value_parser = size::nanoseconds,
          conflicts_with_all = ["file", "blktrace", "blkparse", "command"])]
    duration_ns: Option<u64>,
    /// The application is this process
    ///
    /// May be given more than once.
    #[arg(short, long, value_name = "PID",
          conflicts_with_all = ["file", "blktrace", "blkparse", "command", "application_bytes"])]
    pid: Vec<u32>,
    /// Write what is dirty on the disk's file systems before the interval and at its end
    #[arg(long, requires = "device", hide_short_help = true)]
    sync: bool,
    /// Memory of the kernel for events, for each processor
    #[arg(long, default_value = "4M", value_parser = size::bytes, value_name = "SIZE",
          hide_short_help = true)]
    buffer: u64,
    /// Read a trace of Barograph
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["blktrace", "blkparse"])]
    file: Option<PathBuf>,
    /// Read files of blktrace, one for each processor
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "blkparse")]
    blktrace: Vec<PathBuf>,
    /// Read text of blkparse, perf script, trace-cmd report or the kernel's file trace, whichever it is;
    /// - is stdin
    #[arg(long, visible_alias = "text", value_name = "FILE")]
    blkparse: Option<PathBuf>,
    /// Rows of the result
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// Classes as the kernel has them, with F (flush, force unit access) and A (ahead)
    #[arg(long, hide_short_help = true)]
    raw: bool,
    /// How long the disk lasts, of TB that may be written
    #[arg(long, value_name = "TB", value_parser = terabytes)]
    tbw: Option<f64>,
    /// Bytes that the application has written, if nobody else can tell
    #[arg(long, value_name = "BYTES", value_parser = size::bytes, conflicts_with = "command",
          hide_short_help = true)]
    application_bytes: Option<u64>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
    /// Run this and watch until it ends; ends with its exit code
    ///
    /// Its output goes to stderr with --format json. Own failures are 125, a command that cannot be run
    /// 126, one that is not there 127.
    #[arg(last = true, value_name = "COMMAND",
          conflicts_with_all = ["file", "blktrace", "blkparse"])]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum By {
    /// One for each disk
    #[default]
    Device,
    /// One for each process on each disk
    Process,
}

fn terabytes(text: &str) -> std::result::Result<f64, String> {
    let wrong = || format!("expected terabytes as on the data sheet, such as 290, found {text:?}");
    let number: f64 = text.trim_end_matches("TB").trim_end().parse().map_err(|_| wrong())?;
    if number > 0.0 && number < 1e12 { Ok(number) } else { Err(wrong()) }
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let mut report = if let Some(path) = &arguments.file {
        files::trace(path)?
    } else if !arguments.blktrace.is_empty() {
        files::blktrace(&arguments.blktrace)?
    } else if let Some(path) = &arguments.blkparse {
        files::blkparse(path)?
    } else {
        live::watch(arguments)?
    };
    if let Some(bytes) = arguments.application_bytes {
        report.application = Some(report::Application::given(bytes));
    }
    match arguments.format {
        Format::Json => print_json(&report.json(arguments))?,
        Format::Text => {
            table::print(&report, arguments);
            report.notes.iter().for_each(|note| say!("baro: {note}"));
        }
    }
    let Some(status) = report.command else { return Ok(Outcome::lost_if(report.incomplete)) };
    if report.incomplete && arguments.format == Format::Json {
        report.notes.iter().for_each(|note| say!("baro: {note}"));
    }
    if !status.success() {
        say!("baro: the command ended with {status}; what it did is accounted for");
    }
    Ok(Outcome::of_command(status))
}

#[cfg(test)]
mod tests {
    use super::terabytes;

    #[test]
    fn endurance_is_read_as_it_is_on_the_data_sheet() {
        assert_eq!(terabytes("290"), Ok(290.0));
        assert_eq!(terabytes("0.5 TB"), Ok(0.5));
        for bad in ["", "0", "-1", "TB", "inf", "NaN", "290 GB"] {
            assert!(terabytes(bad).is_err(), "{bad}");
        }
    }
}
