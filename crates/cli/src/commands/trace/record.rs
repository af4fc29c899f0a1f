//! Records the kernel's events into a trace file: around a command, for some time, or until it is
//! told to stop.

use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size;
use baro_probes::{ProbeOptions, Probes};
use baro_sys::{clock, termination};
use baro_trace::collect::{
    Beside, Options, STACKS_OF_ALL, Session, Summary, known_events, rare_events,
};
use clap::{Args, ValueEnum};
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

/// Memory of the kernel for each processor: what comes in a fifth of a second at a rate of 300,000
/// events a second.
const BUFFER: &str = "8MiB";

/// How events are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Collector {
    /// Probes where the kernel has what they need, else the tracer alone
    #[default]
    Auto,
    /// The kernel's tracer alone: any kernel with tracefs; every event, and so the dearer
    Tracefs,
    /// Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is
    /// rare: Linux 5.18 on
    Btf,
}

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Arguments {
    /// Record while this command runs; what it waited for is told at the end
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// The trace; by default baro-TIME.trace in this folder
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Stop after this time; else at Ctrl-C
    #[arg(long = "for", value_parser = size::nanoseconds, value_name = "TIME")]
    for_ns: Option<u64>,
    /// Tell only of this process; what others did to it is recorded all the same
    #[arg(long, short, value_name = "PID")]
    pid: Vec<i32>,
    /// Tell of all processes: the default without a command
    #[arg(long)]
    system: bool,
    /// How events are recorded
    #[arg(long, value_enum, default_value_t)]
    collector: Collector,
    /// Memory of the kernel for each processor
    #[arg(long, value_parser = size::bytes, value_name = "SIZE", default_value = BUFFER)]
    buffer: u64,
    /// Keep only the last so much in memory, and write it when a call was slow (--over)
    #[arg(long, value_parser = size::nanoseconds, value_name = "TIME")]
    ring: Option<u64>,
    /// With --ring: a call is slow if it waited this long
    #[arg(long, value_parser = size::nanoseconds, value_name = "TIME", default_value = "50ms", requires = "ring")]
    over: u64,
    /// With --ring: memory for what is kept
    #[arg(long, value_parser = size::bytes, value_name = "SIZE", default_value = "256MiB", requires = "ring")]
    ring_memory: u64,
    /// Of traces of the default name in the folder of --out, keep so many and remove older ones
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

/// What goes on after a slow call, so that what ended it is in the trace as well.
const AFTER_NS: u64 = 1_000_000_000;

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let folder = arguments.out.as_ref().filter(|path| path.is_dir());
    let path = match (&arguments.out, folder) {
        (_, Some(folder)) => folder.join(default_name()),
        (Some(path), None) => path.clone(),
        (None, None) => default_name(),
    };
    let mut session = start(arguments, &path)?;
    if session.recorder().missing_events().iter().any(|event| event == "ftrace/kernel_stack") {
        eprintln!("baro: this kernel adds no stacks to events: what a sleep is for stays unknown");
    }
    if let Some(ring_ns) = arguments.ring {
        session.ring(ring_ns, arguments.ring_memory, arguments.over)?;
    }
    let mut target = match arguments.command.as_slice() {
        [] => None,
        [program, rest @ ..] => Some(
            Command::new(program)
                .args(rest)
                .spawn()
                .map_err(|error| format!("{}: {error}", program.to_string_lossy()))?,
        ),
    };
    if target.is_none() {
        eprintln!("baro: recording to {}; Ctrl-C ends", path.display());
    }
    let mut focus = arguments.pid.clone();
    focus.extend(target.as_ref().and_then(|child| i32::try_from(child.id()).ok()));
    if !arguments.system {
        session.focus(&focus)?;
    }
    let status = record(arguments, &mut session, target.as_mut())?;
    let summary = session.finish()?;
    report(arguments.format, &path, &summary)?;
    if let Some(keep) = arguments.keep {
        remove_older(path.parent().unwrap_or(Path::new(".")), keep);
    }
    if let Some(status) = status.filter(|status| !status.success()) {
        eprintln!("baro: the command ended with {status}");
    }
    Ok(Outcome::lost_if(summary.losses.iter().any(|cpu| cpu.total() > 0)))
}

/// Starts the collector that was asked for.
fn start(arguments: &Arguments, path: &Path) -> Result<Session> {
    let own_pid = std::process::id();
    // A ring watches calls begin and end, which only the tracer tells.
    let wants_probes = match arguments.collector {
        Collector::Auto => arguments.ring.is_none(),
        Collector::Tracefs => false,
        Collector::Btf => true,
    };
    let probes = match wants_probes.then(|| Probes::start(&ProbeOptions::default())) {
        Some(Err(error)) if arguments.collector == Collector::Btf => return Err(error.into()),
        Some(Err(error)) => {
            eprintln!("baro: the tracer records alone: {error}");
            None
        }
        other => other.and_then(std::result::Result::ok),
    };
    let options = Options {
        name: "baro-trace".to_owned(),
        buffer_kib: arguments.buffer >> 10,
        events: match probes {
            Some(_) => rare_events(own_pid),
            None => known_events(None, own_pid),
        },
        surroundings: true,
        stacks: probes.is_none().then(|| STACKS_OF_ALL.to_owned()),
    };
    let beside = probes.map(|probes| Box::new(probes) as Box<dyn Beside>);
    Ok(Session::start(&options, beside, path)?)
}

/// Records until the command has ended, the time is over, or a signal came.
fn record(
    arguments: &Arguments,
    session: &mut Session,
    mut target: Option<&mut Child>,
) -> Result<Option<ExitStatus>> {
    let begin_ns = clock::monotonic_ns();
    let mut slow_ns: Option<u64> = None;
    loop {
        if let Some(seen) = session.turn()?
            && slow_ns.is_none()
        {
            let wait = size::show_ns(seen.wait_ns);
            eprintln!("baro: {}() of pid {} waited {wait}", seen.call, seen.pid);
            slow_ns = Some(clock::monotonic_ns());
        }
        if slow_ns.is_some_and(|at| clock::monotonic_ns() >= at + AFTER_NS) {
            return Ok(None);
        }
        if let Some(child) = &mut target
            && let Some(status) = child.try_wait()?
        {
            return Ok(Some(status));
        }
        let age_ns = clock::monotonic_ns().saturating_sub(begin_ns);
        let over = arguments.for_ns.is_some_and(|for_ns| age_ns >= for_ns);
        // Ctrl-C goes to the command as well: it ends, and that ends the recording.
        let told = termination::requested().is_some() && target.is_none();
        if over || told {
            return Ok(None);
        }
    }
}

/// Removes the oldest traces of the default name: those sort by time.
fn remove_older(folder: &Path, keep: usize) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let mut names = baro_sys::host::list_dir(folder).unwrap_or_default();
    names.retain(|name| name.starts_with("baro-") && name.ends_with(".trace"));
    names.sort_unstable();
    let old = names.len().saturating_sub(keep.max(1));
    for name in names.iter().take(old) {
        let _ = baro_sys::dirty::remove(&folder.join(name));
    }
}

fn default_name() -> PathBuf {
    let seconds = clock::realtime_ns() / 1_000_000_000;
    let time = crate::time::show(seconds * 1_000_000_000);
    let digits: String = time.chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    PathBuf::from(format!("baro-{}.trace", digits.get(..15).unwrap_or(&digits)))
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
