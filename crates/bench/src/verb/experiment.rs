//! What the benches of the papers have in common: measuring into a file that a killed run goes on
//! from, or studying files; progress with the time left; the report.
//!
//! Invariant: the machine is as before when this returns, however it ends, and what was measured is
//! in the file. Held by `tests/bench_recorder.rs`.

use crate::BenchError;
use crate::experiment::{self, Experiment, Machine, Measurement, Progress, Study, Verdict};
use baro_command::failure::{Outcome, Result};
use baro_command::size;
use baro_command::{Format, print_json};
use baro_command::{say, status};
use baro_sys::{clock, files, termination};
use clap::Args;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Where measurements and reports are.
#[derive(Debug, Args)]
pub struct Files {
    /// The measurement
    ///
    /// One that a killed run left is gone on with, a whole one is studied.
    #[arg(long, value_name = "FILE", conflicts_with = "study")]
    out: Option<PathBuf>,
    /// Measure anew, and replace the file
    #[arg(long, conflicts_with = "study")]
    anew: bool,
    /// Measure nothing: study this measurement
    ///
    /// Beside others of other machines.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    study: Vec<PathBuf>,
    /// The report
    ///
    /// FILE.html beside the measurement if nothing is said.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

impl Files {
    /// Whether nothing is to be measured.
    #[must_use]
    pub fn only_study(&self) -> bool {
        !self.study.is_empty()
    }

    fn out(&self, name: &str) -> PathBuf {
        self.out.clone().unwrap_or_else(|| PathBuf::from(format!("baro-bench-{name}.jsonl")))
    }
}

/// Judges measurements: the first, beside others.
pub type Judge = fn(&Measurement, &[Measurement]) -> Study;

/// The program and the verb that measure an experiment.
fn called(experiment: &str) -> (&'static str, String) {
    match experiment {
        "recorder" => ("baro", "baro bench recorder".to_owned()),
        other => ("baro-lab", format!("baro-lab {other}")),
    }
}

/// Measures what the file does not hold yet, and reports.
///
/// # Errors
/// The file is of another measurement or machine, a cell cannot be measured, or it was told to end.
pub fn measure(
    experiment: &mut dyn Experiment,
    machine: Machine,
    files: &Files,
    judge: Judge,
) -> Result<Outcome> {
    termination::watch()?;
    let name = experiment.plan().experiment;
    let (program, _) = called(name);
    let out = files.out(name);
    if files.anew && files::exists(&out) {
        // Only what is a measurement is replaced.
        Measurement::read(&out)?;
        files::remove(&out)?;
    }
    let terminal = baro_command::status_on_terminal();
    let began_ns = clock::monotonic_ns();
    let mut measured_here = false;
    let measured = until_signalled(|stop| {
        experiment::run(experiment, machine, &out, stop, &mut |progress| {
            measured_here |= progress.cell.is_some();
            show(program, progress, terminal);
        })
    });
    match measured {
        Err(BenchError::Stopped) => {
            return Err(format!(
                "stopped; what was measured is in {}: the same command goes on from there",
                out.display()
            )
            .into());
        }
        other => other.map(drop)?,
    }
    if measured_here {
        let took_ns = clock::monotonic_ns().saturating_sub(began_ns);
        say!("{program}: measured in {}; {}", size::show_ns(took_ns), out.display());
    } else {
        say!("{program}: {} is whole: this is what it says; --anew measures again", out.display());
    }
    let html = files.html.clone().unwrap_or_else(|| out.with_extension("html"));
    // Of the file, as anybody who studies it later: a number that was written and read again may
    // differ in its last bit.
    let measured = Measurement::read(&out)?;
    report(program, &judge(&measured, &[]), Some(&html), files.format)
}

/// Studies the files that were named.
///
/// # Errors
/// One cannot be read, or is of another experiment.
pub fn study(name: &str, files: &Files, judge: Judge) -> Result<Outcome> {
    let read = |path: &PathBuf| -> Result<Measurement> {
        let measured = Measurement::read(path)?;
        if measured.head.experiment != name {
            let found = &measured.head.experiment;
            return Err(format!(
                "{}: a measurement of {}, not {name}; study it with that",
                path.display(),
                called(found).1
            )
            .into());
        }
        Ok(measured)
    };
    let all = files.study.iter().map(read).collect::<Result<Vec<_>>>()?;
    let (first, others) = all.split_first().ok_or("name a measurement to study")?;
    report(called(name).0, &judge(first, others), files.html.as_deref(), files.format)
}

fn report(program: &str, study: &Study, html: Option<&Path>, format: Format) -> Result<Outcome> {
    // First: a file that cannot be written takes nothing of the report along.
    match format {
        Format::Text => baro_command::print_lines(&study.text())?,
        Format::Json => print_json(&serde_json::to_value(study)?)?,
    }
    if let Some(html) = html {
        files::replace(html, study.html().as_bytes())?;
        say!("{program}: report in {}", html.display());
    }
    // A claim of the paper that does not hold is a result; one of ours is not met.
    let ours = |claim: &&experiment::Claim| claim.source == "ours";
    let missed = |claim: &experiment::Claim| claim.verdict == Verdict::DoesNotHold;
    Ok(Outcome::lost_if(study.claims.iter().filter(ours).any(missed)))
}

/// One line on a terminal that is overwritten; elsewhere a line for each cell.
fn show(program: &str, progress: Progress<'_>, terminal: bool) {
    const WIDTH: usize = 24;
    let filled = progress.done * WIDTH / progress.total.max(1);
    let bar = format!("{}{}", "#".repeat(filled), ".".repeat(WIDTH - filled.min(WIDTH)));
    let Some(cell) = progress.cell else {
        if terminal {
            baro_command::end_status();
        }
        return;
    };
    let left = size::show_ns(progress.left_ns);
    let counts = format!("{}/{}", progress.done, progress.total);
    if terminal {
        status!("[{bar}] {counts} {cell}, about {left} left");
    } else {
        say!("{program}: {counts} {cell}, about {left} left");
    }
}

/// Runs `work` with a flag that is set when the process is asked to end.
fn until_signalled<T>(work: impl FnOnce(&AtomicBool) -> T) -> T {
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                stop.fetch_or(termination::requested().is_some(), Relaxed);
                clock::sleep_ns(20_000_000);
            }
        });
        let result = work(&stop);
        done.store(true, Relaxed);
        result
    })
}
