//! `baro-lab overhead`: see `baro_lab::overhead`. Records with `baro trace`, as a user would.

use crate::baro;
use baro_bench::BenchError;
use baro_bench::verb::recording::Recording;
use baro_command::failure::{Outcome, Result};
use baro_command::size::{self, show_bytes, show_ns};
use baro_command::{Format, print_json};
use baro_lab::overhead::{
    OverheadReport, OverheadSpec, Pair, Recorded, Tracer, Workload, run as measure,
};
use baro_probes::{PROBES_CPU, Timing, all_runs};
use baro_sys::{clock, files, termination};
use baro_trace::file::{Item, TraceFile};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    /// 1,024 files of 1 MiB, then a sync: paper D's
    #[value(name = "files-1m")]
    Files1m,
    /// 200,000 empty files: metadata only
    FilesEmpty,
}

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The work
    #[arg(value_enum, default_value = "files-1m")]
    workload: Name,
    /// Folder for an image of up to 1.4 GiB; best in memory
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// How `baro trace` collects; `none` records nothing, to see what differs by itself
    #[arg(long, default_value = "auto")]
    collector: String,
    /// Pairs of runs
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Files to make; as in the paper if not given
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=300_000))]
    files: Option<u64>,
    /// Bytes a second of the device; as fast as memory if not given
    #[arg(long, value_parser = size::bytes)]
    device: Option<u64>,
    /// Share of the processors above which the exit code is 3
    #[arg(long)]
    goal: Option<f64>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let workload = match arguments.workload {
        Name::Files1m => Workload::Files1m(arguments.files.unwrap_or(1_024)),
        Name::FilesEmpty => Workload::FilesEmpty(arguments.files.unwrap_or(200_000)),
    };
    let spec = OverheadSpec {
        workload,
        rounds: arguments.rounds,
        device_bytes_per_s: arguments.device.unwrap_or(0),
    };
    let mut tracer: Box<dyn Tracer> = match arguments.collector.as_str() {
        "none" => Box::new(Nothing),
        collector => Box::new(Baro {
            collector: collector.to_owned(),
            dir: arguments.dir.clone(),
            running: None,
            timing: None,
        }),
    };
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                stop.fetch_or(termination::requested().is_some(), Ordering::Relaxed);
                clock::sleep_ns(20_000_000);
            }
        });
        let report = measure(spec, &arguments.dir, &stop, tracer.as_mut());
        done.store(true, Ordering::Relaxed);
        report
    })?;
    let over = arguments.goal.is_some_and(|goal| report.cpu_share().is_some_and(|s| s > goal));
    let lost: u64 = report.pairs.iter().map(|pair| pair.recorded.lost).sum();
    match arguments.format {
        Format::Json => print_json(&as_json(arguments, workload, &report))?,
        Format::Text => print(arguments, workload, &report),
    }
    Ok(Outcome::lost_if(over || lost > 0))
}

/// Records nothing.
struct Nothing;

impl Tracer for Nothing {
    fn begin(&mut self) -> std::result::Result<(), BenchError> {
        Ok(())
    }

    fn time_kernel(&mut self) -> std::result::Result<bool, BenchError> {
        Ok(false)
    }

    fn kernel_ns(&self) -> u64 {
        0
    }

    fn cpu_ns(&self) -> u64 {
        0
    }

    fn end(&mut self, _: u64, _: u64) -> std::result::Result<Recorded, BenchError> {
        Ok(Recorded::default())
    }
}

/// Records with `baro trace`.
struct Baro {
    collector: String,
    dir: PathBuf,
    running: Option<Recording>,
    timing: Option<Timing>,
}

fn refused(error: &baro_command::failure::Failure) -> BenchError {
    BenchError::Refused(error.to_string())
}

impl Tracer for Baro {
    fn begin(&mut self) -> std::result::Result<(), BenchError> {
        let start = |baro: PathBuf| Recording::start(&baro, &self.collector, &self.dir, None);
        let recording = baro::program().and_then(start);
        self.running = Some(recording.map_err(|error| refused(&error))?);
        Ok(())
    }

    fn time_kernel(&mut self) -> std::result::Result<bool, BenchError> {
        if self.collector == "tracefs" {
            return Ok(false);
        }
        match Timing::start() {
            Ok(timing) => self.timing = Some(timing),
            // Then the tracer recorded alone.
            Err(_) if self.collector == "auto" => return Ok(false),
            Err(error) => return Err(BenchError::Refused(error.to_string())),
        }
        Ok(true)
    }

    fn kernel_ns(&self) -> u64 {
        let runs = self.timing.as_ref().and_then(|_| all_runs().ok());
        runs.map_or(0, |(_, ns)| ns)
    }

    fn cpu_ns(&self) -> u64 {
        self.running.as_ref().map_or(0, Recording::cpu_ns)
    }

    fn end(&mut self, begin_ns: u64, end_ns: u64) -> std::result::Result<Recorded, BenchError> {
        let Some(mut recording) = self.running.take() else { return Ok(Recorded::default()) };
        let ended = recording.end().and_then(|()| count(recording.file(), begin_ns, end_ns));
        ended.map_err(|error| refused(&error))
    }
}

/// Events of a trace between two times, and what was lost in all of it.
fn count(path: &Path, begin_ns: u64, end_ns: u64) -> Result<Recorded> {
    let mut trace = TraceFile::open(BufReader::new(files::open(path)?))?;
    let lost = trace.losses().iter().map(|cpu| cpu.total()).sum();
    let (mut events, mut records) = (0, 0);
    let mut merged = trace.merge()?;
    while let Some(item) = merged.next()? {
        if let Item::Event { cpu, time_ns, .. } = item
            && (begin_ns..end_ns).contains(&time_ns)
        {
            events += 1;
            records += u64::from(cpu == PROBES_CPU);
        }
    }
    let trace_bytes = files::size_bytes(path)?;
    Ok(Recorded { events, records, lost, trace_bytes, kernel_ns: 0 })
}

/// The collector that recorded: `auto` is one of the two, by whether probes made records.
fn recorded_by<'a>(arguments: &'a Arguments, report: &OverheadReport) -> &'a str {
    let probes = report.pairs.iter().any(|pair| pair.recorded.records > 0);
    match arguments.collector.as_str() {
        "auto" if probes => "btf",
        "auto" => "tracefs",
        named => named,
    }
}

fn print(arguments: &Arguments, workload: Workload, report: &OverheadReport) {
    for (at, pair) in report.pairs.iter().enumerate() {
        out!(
            "pair {:2}: {} without, {} with: ratio {:.3}; {} events, {} lost, {}; recorder {}, \
             share of the processors {:.2} %",
            at + 1,
            show_ns(pair.without_ns),
            show_ns(pair.with_ns),
            pair.time_ratio(),
            pair.recorded.events,
            pair.recorded.lost,
            show_bytes(pair.recorded.trace_bytes),
            show_ns(pair.tracer_ns),
            pair.cpu_share(report.cpus, report.event_cost_ns) * 100.0,
        );
    }
    if let Some(timed) = &report.timed {
        out!(
            "timed: {} in programs in the kernel, {} other events, recorder {}, of {}",
            show_ns(timed.recorded.kernel_ns),
            timed.recorded.events.saturating_sub(timed.recorded.records),
            show_ns(timed.tracer_ns),
            show_ns(timed.with_ns),
        );
    }
    out!(
        "{}, {} files, collector {}: median ratio of times {:.3} (runs without a recording differ \
         by {:.2}), share of the processors {}, {:.0} ns an event",
        workload.name(),
        workload.files(),
        recorded_by(arguments, report),
        report.time_ratio().unwrap_or(0.0),
        report.spread().unwrap_or(0.0),
        report.cpu_share().map_or("not measured".to_owned(), |s| format!("{:.2} %", s * 100.0)),
        report.event_cost_ns,
    );
}

fn as_json(arguments: &Arguments, workload: Workload, report: &OverheadReport) -> Value {
    let all = |of: fn(&Pair) -> u64| report.pairs.iter().map(of).collect::<Vec<u64>>();
    let sum = |of: fn(&Pair) -> u64| report.pairs.iter().map(of).sum::<u64>();
    json!({
        "workload": workload.name(),
        "files": workload.files(),
        "collector": recorded_by(arguments, report),
        "device_bytes_per_s": arguments.device,
        "rounds": report.pairs.len(),
        "cpus": report.cpus,
        "cpu_share": report.cpu_share(),
        "time_ratio": report.time_ratio(),
        "time_ratios": report.pairs.iter().map(Pair::time_ratio).collect::<Vec<_>>(),
        "spread_without": report.spread(),
        "events": sum(|pair| pair.recorded.events),
        "lost": sum(|pair| pair.recorded.lost),
        "timed_kernel_ns": report.timed.map(|timed| timed.recorded.kernel_ns),
        "timed_ns": report.timed.map(|timed| timed.with_ns),
        "event_cost_ns": report.event_cost_ns,
        "without_ns": all(|pair| pair.without_ns),
        "with_ns": all(|pair| pair.with_ns),
        "recorder_cpu_ns": all(|pair| pair.tracer_ns),
        "run_events": all(|pair| pair.recorded.events),
        "trace_bytes": all(|pair| pair.recorded.trace_bytes),
    })
}
