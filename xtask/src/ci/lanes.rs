//! Runs test programs in two lanes side by side: one for those that meet the machine, one after the
//! other as their devices, tracers and clocks need it, and one for those that only compute.
//!
//! What waits in the first lane leaves its processor to the second. When the first is done it helps.
//! A program that no list names meets the machine: a wrong guess costs seconds, the other way round
//! a test that fails now and then.

use super::programs::Program;
use super::report::{Parser, Report};
use crate::shell::Cmd;
use crate::tiers::{Moved, TIER_VARIABLE, Tier};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Instant;

/// Programs that touch no device, no tracer, no setting and no other process but their own children.
/// The longest first, so that none is left over at the end.
#[rustfmt::skip]
const COMPUTES: &[&str] = &[
    "baro-recorder:crash", "baro-store:model", "baro-fuzz:smoke", "baro-store:keeping",
    "baro-store:reading", "baro-cli:query", "baro-store:damage", "baro-cli:lives", "baro-cli:abuse",
    "baro-export:packed", "baro-export:columns", "baro-export:bounds", "baro-store:crash",
    "baro-export:forms", "baro-store:rot", "baro-store:lib", "baro-fuzz:bounds", "baro-cli:text_forms",
    "baro-cli:released", "baro-store:settle_memory", "baro-ondisk:lib", "baro-python:python",
    "baro-cli:readers", "baro-cli:baro", "baro-cli:output", "baro-cli:exchange", "baro-cli:import",
    "baro-ondisk:released", "baro-ondisk:section", "baro-capi:samples", "baro-cli:delete",
    "baro-cli:history", "baro-cli:foreign", "baro-cli:outs", "baro-store:deleting", "baro-capi:sequences",
    "baro-ingest:names", "baro-capi:read", "baro-runs:lib",
    "baro-runs:damage", "baro-runs:round_trip", "baro-log:lib", "baro-promises:lib", "baro-sources:lib",
    "baro-ingest:lib", "baro-net:lib", "baro-show:lib", "baro-command:lib", "baro-export:lib",
    "baro-export:export", "baro-lake:baro-lake", "baro-trace:account",
    "baro-trace:analyzed", "baro-trace:blk", "baro-trace:recorded", "baro-fuzz:lib", "lab:lab",
    "lab-agent:lib", "xtask:xtask",
];

/// What makes tests take some of their seeds; an empty one is none.
const NARROWING: &[&str] = &[TIER_VARIABLE.0, "BARO_SIM_SEED", "BARO_SIM_COUNT"];

/// How much the second lane steps back: a victim of a stall is not to wait for a processor.
const NICE: u32 = 10;

/// What came of all programs.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) report: Report,
    /// Name and seconds of each.
    pub(super) seconds: Vec<(String, f64)>,
}

/// Runs the tests of `tier`, all of them whatever fails; the error is the commands that repeat what
/// failed: who has waited for a run wants to know of every failure in it.
pub(super) fn run(programs: &[Program], moved: &Moved, tier: Tier) -> Result<Done, String> {
    let of_tier = programs.iter().filter(|program| moved.has_any(&program.name(), tier));
    let place = |program: &Program| COMPUTES.iter().position(|name| *name == program.name());
    let (mut computes, meets): (Vec<_>, Vec<_>) =
        of_tier.partition(|program| place(program).is_some());
    computes.sort_by_key(|program| place(program));
    let lanes = [Mutex::new(VecDeque::from(meets)), Mutex::new(VecDeque::from(computes))];
    let done = Mutex::new(Done::default());
    let failed = Mutex::new(Vec::new());
    let work = |own: usize| {
        let take = |lane: usize| lanes[lane].lock().ok().and_then(|mut lane| lane.pop_front());
        // Who computes never takes what meets the machine: two of those at once disturb each other.
        while let Some(program) = take(own).or_else(|| take(1)) {
            let begin = Instant::now();
            match one(program, moved, tier, if place(program).is_some() { NICE } else { 0 }) {
                Ok(report) => {
                    let seconds = begin.elapsed().as_secs_f64();
                    if let Ok(mut done) = done.lock() {
                        println!("   {:7.1} s  {}: {}", seconds, program.name(), report.counts());
                        done.report.add(report);
                        done.seconds.push((program.name(), seconds));
                    }
                }
                Err(repeat) => {
                    if let Ok(mut failed) = failed.lock() {
                        failed.push(repeat);
                    }
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for lane in 0..lanes.len() {
            let work = &work;
            scope.spawn(move || work(lane));
        }
    });
    match failed.into_inner() {
        Ok(failed) if failed.is_empty() => {
            done.into_inner().map_err(|_| "a lane of tests ended by a panic".to_owned())
        }
        Ok(failed) => Err(failed.join("\n")),
        Err(_) => Err("a lane of tests ended by a panic".to_owned()),
    }
}

/// Runs one program; what it printed is shown if it fails.
fn one(program: &Program, moved: &Moved, tier: Tier, nice: u32) -> Result<Report, String> {
    let mut cmd = program.cmd(nice).arg("--show-output").arg("--exact");
    let named = match tier {
        Tier::Push => moved.left_out(&program.name()),
        Tier::Full => moved.in_full(&program.name()),
    };
    if tier == Tier::Push {
        cmd = named.iter().fold(cmd, |cmd, test| cmd.arg("--skip").arg(test));
        cmd = cmd.env(TIER_VARIABLE.0, TIER_VARIABLE.1);
    } else {
        cmd = named.iter().fold(cmd, |cmd, test| cmd.arg(test));
        // Whatever the environment says: a record is of all seeds.
        cmd = NARROWING.iter().fold(cmd, |cmd, name| cmd.env(name, ""));
    }
    let (parser, ok) = parsed(&cmd)?;
    if !ok {
        let test = parser.first_failed().unwrap_or_default().to_owned();
        print!("{}", parser.output_of_last_binary());
        return Err(program.repeat(&test));
    }
    let left_out = parser.filtered_out();
    let (report, name) = (parser.finish(), program.name());
    let known = match tier {
        Tier::Push => left_out == named.len(),
        Tier::Full => report.total() >= named.len(),
    };
    if !known {
        return Err(format!(
            "{}: a test of {name} is named there that it does not have",
            Moved::FILE
        ));
    }
    Ok(report)
}

fn parsed(cmd: &Cmd) -> Result<(Parser, bool), String> {
    let mut parser = Parser::default();
    let mut errors = Vec::new();
    let ok = cmd
        .lines(|line| parser.line(line), |line| errors.push(line.to_owned()))
        .map_err(|error| format!("{cmd}    (did not start: {error})"))?;
    if !ok {
        errors.iter().for_each(|line| eprintln!("{line}"));
    }
    Ok((parser, ok))
}
