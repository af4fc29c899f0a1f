//! Records the kernel's events into a trace file: around a command, for some time, or until it is
//! told to stop.

mod rings;

use super::memory_place::MemoryPlace;
use super::recording::{BUFFER, Collector, Recorded, Recording, RingOptions, record_to};
use crate::commands::{Format, print_json};
use crate::failure::{Failure, Outcome, Result};
use crate::size;
use baro_sys::state::StateFolder;
use baro_sys::{clock, files, termination};
use baro_trace::collect::{CollectError, Summary};
use clap::Args;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What is said of a ring that was ended before a call was slow.
const NOTHING: &str = "baro: no call waited so long: nothing was written";
/// Traces of one second that get a name by themselves.
const NAMES_OF_SECOND: u32 = 100;

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Record while this command runs; ends with its exit code
    ///
    /// What it waited for is told by `baro explain`. Own failures are 125, a command that cannot be run
    /// 126, one that is not there 127.
    #[arg(last = true, value_name = "COMMAND", hide_short_help = true)]
    command: Vec<OsString>,
    /// The trace [default: baro-TIME.trace in this folder]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Stop after this time; else at Ctrl-C
    #[arg(long = "for", value_parser = size::nanoseconds_above_0, value_name = "TIME")]
    for_ns: Option<u64>,
    /// Tell only of this process
    ///
    /// What others did to it is recorded all the same.
    #[arg(long, short, value_name = "PID")]
    pid: Vec<i32>,
    /// Tell of all processes: the default without a command
    #[arg(long, hide_short_help = true)]
    system: bool,
    /// How events are recorded
    #[arg(long, value_enum, default_value_t, hide_short_help = true)]
    collector: Collector,
    /// Memory of the kernel for each processor
    #[arg(long, value_parser = size::bytes, value_name = "SIZE", default_value = BUFFER,
          hide_short_help = true)]
    buffer: u64,
    /// Keep the last TIME in memory, write it at a slow call
    ///
    /// It is written when a call was slow or still waits (--over), and at Ctrl-C. Then it ends, but with --keep
    /// it goes on, and writes the next 10 s later at the soonest. SIGTERM ends without a trace, unless a call
    /// hangs.
    #[arg(long, value_parser = size::nanoseconds_above_0, value_name = "TIME")]
    ring: Option<u64>,
    /// With --ring: a call is slow if it waited this long
    #[arg(long, value_parser = size::nanoseconds, value_name = "TIME", default_value = "50ms", requires = "ring",
          hide_short_help = true)]
    over: u64,
    /// With --ring: memory for what is kept
    #[arg(long, value_parser = size::bytes, value_name = "SIZE", default_value = "256MiB", requires = "ring",
          hide_short_help = true)]
    ring_memory: u64,
    /// Of traces of the default name in the folder of --out, whole or broken off, keep so many and remove
    /// older ones
    #[arg(long, value_name = "N", hide_short_help = true)]
    keep: Option<usize>,
    /// End when whoever started this ends
    #[arg(long, hide_short_help = true)]
    with_parent: bool,
    /// text or json
    #[arg(
        long,
        value_enum,
        default_value_t,
        value_name = "FORM",
        hide_possible_values = true,
        hide_short_help = true
    )]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if arguments.with_parent {
        termination::end_with_parent()?;
    }
    let recording = Recording {
        command: &arguments.command,
        quiet: arguments.format == Format::Json,
        for_ns: arguments.for_ns,
        pids: &arguments.pid,
        system: arguments.system,
        collector: arguments.collector,
        buffer_bytes: arguments.buffer,
        ring: arguments.ring.map(|keep_ns| RingOptions {
            keep_ns,
            bytes_max: arguments.ring_memory,
            over_ns: arguments.over,
            quiet_ns: 0,
        }),
        until_ends: None,
        temporary: false,
    };
    // Before it as well: what was broken off for want of room comes to no end of its own.
    if let (Some(keep), Some(folder)) = (arguments.keep, &arguments.out)
        && folder.is_dir()
    {
        remove_older(folder, keep);
    }
    let memory = match (&arguments.out, &recording.ring) {
        (Some(folder), Some(_)) if folder.is_dir() => MemoryPlace::of(folder),
        _ => None,
    };
    if let Some(memory) = &memory {
        memory.take_home_all();
    }
    if recording.ring.is_some() && arguments.command.is_empty() {
        return rings::run(arguments, &recording, memory.as_ref());
    }
    let record = |path: &Path| record_to(path, &recording);
    let (path, recorded) = match (&arguments.out, &memory) {
        (_, Some(memory)) => named(memory.path(), record)?,
        (Some(path), None) if !path.is_dir() => (path.clone(), record(path)?),
        (folder, None) => named(folder.as_deref().unwrap_or(Path::new("")), record)?,
    };
    recorded.tell_of_command();
    let Some(summary) = &recorded.summary else {
        say!("{NOTHING}");
        return Ok(Outcome::Done);
    };
    let path = memory.map_or_else(|| path.clone(), |memory| memory.deliver(&path));
    let is_lost = told(arguments, &path, summary)?;
    Ok(Recorded::outcome(recorded.status, is_lost))
}

/// Tells of a trace that is whole, and removes older ones. Gives whether events were lost.
fn told(arguments: &Arguments, path: &Path, summary: &Summary) -> Result<bool> {
    report(arguments.format, path, summary)?;
    if let Some(keep) = arguments.keep {
        remove_older(path.parent().unwrap_or(Path::new(".")), keep);
    }
    Ok(summary.losses.iter().any(|cpu| cpu.total() > 0))
}

/// Records under a name by the time. Who records into the same folder in the same second gets the
/// next name.
fn named<T>(folder: &Path, record: impl Fn(&Path) -> Result<T>) -> Result<(PathBuf, T)> {
    let name = default_name();
    let mut number = 1;
    loop {
        let end = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{name}{end}.trace"));
        match record(&path) {
            Err(error) if number < NAMES_OF_SECOND && is_there(&error) => number += 1,
            result => return Ok((path, result?)),
        }
    }
}

fn is_there(error: &Failure) -> bool {
    matches!(error.cause::<CollectError>(), Some(CollectError::Output { source, .. })
        if source.kind() == std::io::ErrorKind::AlreadyExists)
}

/// Removes the oldest traces of the default name: those sort by time. So do those that were broken
/// off, but for what somebody writes at this moment.
fn remove_older(folder: &Path, keep: usize) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut names = baro_sys::files::list(folder).unwrap_or_default();
    names.retain(|name| {
        let is_part = name.ends_with(".trace.part");
        name.starts_with("baro-")
            && (name.ends_with(".trace") || is_part && !files::is_held(&folder.join(name)))
    });
    names.sort_unstable();
    let old = names.len().saturating_sub(keep.max(1));
    if old == 0 {
        return;
    }
    match StateFolder::open(folder) {
        Ok(folder) => names.iter().take(old).for_each(|name| drop(folder.remove(name))),
        Err(error) => say!("baro: --keep: {error}; older traces stay"),
    }
}

fn default_name() -> String {
    let seconds = clock::realtime_ns() / 1_000_000_000;
    let time = crate::time::show(seconds * 1_000_000_000);
    let digits: String = time.chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    format!("baro-{}", digits.get(..15).unwrap_or(&digits))
}

fn report(format: Format, path: &Path, summary: &Summary) -> Result<()> {
    let lost: u64 = summary.losses.iter().map(|cpu| cpu.total()).sum();
    match format {
        Format::Json => print_json(&json!({
            "file": path.display().to_string(),
            "bytes": summary.bytes,
            "pages": summary.pages,
            "lost_events": lost,
            "missing_events": summary.missing_events,
        })),
        Format::Text => {
            out!("{}: {}, {lost} events lost", path.display(), size::show_bytes(summary.bytes));
            out!("baro explain {}", path.display());
            Ok(())
        }
    }
}
