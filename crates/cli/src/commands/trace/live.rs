//! A trace for one analysis: a file that there is, or a recording of this machine that goes into a
//! folder of its own below the folder for temporary files and is removed with it.
//!
//! Invariant: nothing is left of the recording, whether it or the analysis succeeded. Held by
//! `each_analysis_records_for_itself_and_leaves_nothing`.

use super::recording::{BUFFER, Collector, Recording, record_to};
use crate::commands::{Format, explain};
use crate::failure::Result;
use crate::size;
use baro_sys::{clock, files};
use baro_trace::explain::Knowledge;
use clap::Args;
use clap::error::ErrorKind;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;

#[derive(Debug, Args)]
#[group(skip)]
pub(super) struct Subject {
    /// A trace, made by `baro trace`
    #[arg(value_name = "FILE", conflicts_with_all = ["for_ns", "command"])]
    trace: Option<PathBuf>,
    /// Record this machine for this time, and tell of it
    #[arg(long = "for", value_parser = size::nanoseconds_above_0, value_name = "TIME",
          conflicts_with = "command")]
    for_ns: Option<u64>,
    /// How events are recorded
    ///
    /// Where calls are asked for tracefs, else auto.
    #[arg(long, value_enum, conflicts_with = "trace", hide_short_help = true)]
    collector: Option<Collector>,
    /// Memory of the kernel for each processor while it records
    #[arg(long, value_parser = size::bytes, value_name = "SIZE", default_value = BUFFER,
          conflicts_with = "trace", hide_short_help = true)]
    buffer: u64,
    /// Record while this command runs; ends with its exit code
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// A folder that only we can read, removed with all that is in it.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Result<Self> {
        // The id is not enough: a killed process of that id may have left its own.
        let name = format!("baro-live-{}-{}", std::process::id(), clock::monotonic_ns());
        let path = std::env::temp_dir().join(name);
        files::make_folder_with(&path, 0o700).map_err(|error| {
            format!(
                "cannot make the folder {} for the recording: {}; TMPDIR names another place",
                path.display(),
                error.source
            )
        })?;
        Ok(Self(path))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Err(error) = files::remove_tree(&self.0) {
            say!("baro: {error}");
        }
    }
}

impl Subject {
    /// Reads the trace; or records one, by this collector unless another was asked for, and reads
    /// that. Blocks for as long as it records.
    /// How a command ended is told beside.
    pub(super) fn read(
        &self,
        collector: Collector,
        format: Format,
    ) -> Result<(Knowledge, Option<ExitStatus>)> {
        if let Some(path) = &self.trace {
            return Ok((explain::read(path)?, None));
        }
        if self.command.is_empty() && self.for_ns.is_none() {
            let said =
                "expected a trace to read (FILE), or what to record: --for TIME, or -- COMMAND\n";
            return Err(clap::Error::raw(ErrorKind::MissingRequiredArgument, said).into());
        }
        live(&Recording {
            command: &self.command,
            quiet: format == Format::Json,
            for_ns: self.for_ns,
            pids: &[],
            system: false,
            collector: self.collector.unwrap_or(collector),
            buffer_bytes: self.buffer,
            ring: None,
            until_ends: None,
            temporary: true,
        })
    }
}

/// Records into a folder that goes, and reads it.
fn live(recording: &Recording<'_>) -> Result<(Knowledge, Option<ExitStatus>)> {
    let folder = Temporary::new()?;
    let path = folder.0.join("live.trace");
    let recorded = record_to(&path, recording)?;
    recorded.tell_of_command();
    Ok((explain::read(&path)?, recorded.status))
}

/// Records all of this machine for a time, and reads it. Blocks for so long.
pub(in crate::commands) fn recorded(for_ns: u64) -> Result<Knowledge> {
    let recording = Recording {
        command: &[],
        quiet: false,
        for_ns: Some(for_ns),
        pids: &[],
        system: true,
        collector: Collector::Auto,
        buffer_bytes: size::bytes(BUFFER)?,
        ring: None,
        until_ends: None,
        temporary: true,
    };
    Ok(live(&recording)?.0)
}
