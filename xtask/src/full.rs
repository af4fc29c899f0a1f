//! `cargo xtask full`: the steps that are too long for each push.
//!
//! Each step guards paths: the product code that it tries, its tests, its scripts. Where it has
//! passed, a record with a hash of those paths is kept in `.ci/full/`, and committed. The step is due
//! when the hash differs, so nothing that changed can be forgotten: what makes something to hand out
//! refuses while any step is due (`nothing_due`), and CI runs as many as its time allows, cheapest
//! first, and names the rest.
//!
//! Invariant: no guarantee is dropped by moving it here (`tidy tiers`: each row of the table of
//! invariants has its tier, and each test that moved its reason).

mod guards;
mod record;
mod steps;

use crate::ci::Report;
use record::Record;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use steps::{STEPS, Step};

const HELP: &str = "expected STEP..., --all, --list, or --due [--until SECONDS_SINCE_1970]";

/// No step is longer: a machine must be able to run one in a sitting.
const LONGEST_SECONDS: u64 = 3_600;

/// Other machines are slower: a step is assumed to take so many times what its table says.
const CAUTION: f64 = 1.3;

/// `cargo xtask full [STEP... | --all | --list | --due [--until SECONDS]]`.
pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    match args {
        ["--list"] => list(),
        [] | ["--due"] => due_steps(None),
        ["--due", "--until", seconds] => {
            let until = seconds.parse().map_err(|e| format!("{seconds}: {e}; {HELP}"))?;
            due_steps(Some(until))
        }
        ["--all"] => all(&STEPS.iter().collect::<Vec<_>>()),
        names => {
            let known = |name: &&str| STEPS.iter().find(|step| step.name == *name);
            let steps: Option<Vec<&Step>> = names.iter().map(known).collect();
            let names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
            all(&steps.ok_or_else(|| format!("{HELP}; the steps are {}", names.join(" ")))?)
        }
    }
}

/// Refuses while a step is due: for what makes something to hand out.
pub(crate) fn nothing_due(what: &str) -> Result<(), String> {
    let due = due()?;
    if due.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = due.iter().map(|step| step.name).collect();
    Err(format!(
        "{what} is made of a tested tree only; due: {}. Run `make test-full`, commit .ci/full",
        names.join(" ")
    ))
}

/// The steps whose paths have changed since they passed, cheapest first.
fn due() -> Result<Vec<&'static Step>, String> {
    let mut due = Vec::new();
    for step in STEPS {
        let hash = hash_of(step)?;
        if !Record::read(step.name)?.is_some_and(|record| record.passed(&hash)) {
            due.push(step);
        }
    }
    due.sort_by_key(|step| step.seconds);
    Ok(due)
}

fn hash_of(step: &Step) -> Result<String, String> {
    guards::hash_of(step.packages, step.paths)
        .map_err(|why| format!("what the full step '{}' guards: {why}", step.name))
}

fn list() -> Result<(), String> {
    for step in STEPS {
        let record = Record::read(step.name)?;
        let said = match &record {
            None => "due: has never passed".to_owned(),
            Some(record) if record.passed(&hash_of(step)?) => format!("passed {record}"),
            Some(record) => format!("due: changed since it passed {record}"),
        };
        println!("{:8} {:5} s  {}; {said}", step.name, step.seconds, step.what);
    }
    Ok(())
}

/// Runs what is due, as far as the time allows; goes on where it was stopped, since each step that
/// passed has its record.
fn due_steps(until_s: Option<u64>) -> Result<(), String> {
    let due = due()?;
    if due.is_empty() {
        println!("full: nothing is due");
        return Ok(());
    }
    let fits = |step: &Step| {
        let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        until_s.is_none_or(|until| now_s + (step.seconds as f64 * CAUTION) as u64 <= until)
    };
    let (mut total, mut left) = (Report::default(), Vec::new());
    for step in due {
        if fits(step) {
            total.add(one(step)?);
        } else {
            left.push(step);
        }
    }
    total.print_skips();
    for step in left {
        println!("due: {} ({} s): cargo xtask full {}", step.name, step.seconds, step.name);
    }
    println!("full: {}", total.counts());
    Ok(())
}

/// Runs these, due or not.
fn all(steps: &[&Step]) -> Result<(), String> {
    let mut total = Report::default();
    for step in steps {
        total.add(one(step)?);
    }
    total.print_skips();
    println!("full: {}", total.counts());
    Ok(())
}

/// Runs one and keeps the record, unless what it guards changed meanwhile or all of it was skipped.
/// What was skipped of it is counted in the record.
fn one(step: &Step) -> Result<Report, String> {
    println!("== full {}: {}", step.name, step.what);
    let (before, begin) = (hash_of(step)?, Instant::now());
    let report = (step.run)().map_err(|repeat| {
        format!("full step '{}' failed; to repeat it:\n    {repeat}", step.name)
    })?;
    let seconds = begin.elapsed().as_secs();
    println!("   {} ok, {seconds} s, {}", step.name, report.counts());
    if seconds > LONGEST_SECONDS {
        println!("   longer than {LONGEST_SECONDS} s: divide this step");
    }
    if report.passed() == 0 {
        println!("   no record: all of it was skipped here");
    } else if hash_of(step)? == before {
        Record::new(&before, seconds, &report.counts()).write(step.name)?;
    } else {
        println!("   no record: what it guards was changed while it ran");
    }
    Ok(report)
}
