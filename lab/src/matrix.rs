//! `lab cells`, `faults`, `media`, `reset` and `start`: the same on every kernel, disk and file system that was
//! chosen.

use crate::cache::Cache;
use crate::choice::Choice;
use crate::kernels::{self, SERIES, Wanted};
use crate::machine::disk::{self, MODELS};
use crate::tool::{self, Result, Trouble};
use crate::{cells, faults, media, reset, start};
use std::time::Instant;

fn end(done: usize, wrong: &[String], begin: Instant) -> Result<()> {
    println!("{done} done in {:.0} s", begin.elapsed().as_secs_f64());
    if wrong.is_empty() { Ok(()) } else { Err(Trouble::Failed(wrong.join("\n     "))) }
}

/// `lab media`.
pub(crate) fn media(args: &[&str]) -> Result<()> {
    let mut choice = Choice::of(&["--kernel", "--disk"], args)?;
    tool::ready()?;
    if choice.disks.is_empty() {
        choice.disks.extend(MODELS);
    }
    if choice.kernels.is_empty() {
        choice.kernels.push(kernels::series("6.1")?);
    }
    let cache = Cache::open()?;
    for series in &choice.kernels {
        let kernel = kernels::ready(&cache, series, Wanted::Locked)?;
        for model in &choice.disks {
            let json = media::run(choice.site(&cache, &kernel), model)
                .map_err(|why| format!("{}: {why}", model.name))?;
            println!("{} {}: {}", kernel.release, model.name, json["measured"]);
            choice.keep(&json)?;
        }
    }
    Ok(())
}

/// `lab start`.
pub(crate) fn start(args: &[&str]) -> Result<()> {
    let mut choice = Choice::of(&["--kernel"], args)?;
    tool::ready()?;
    if choice.kernels.is_empty() {
        choice.kernels.extend(SERIES);
    }
    let cache = Cache::open()?;
    for series in &choice.kernels {
        let kernel = kernels::ready(&cache, series, Wanted::Locked)?;
        let json = start::run(choice.site(&cache, &kernel), 9)?;
        println!("{}: {} s from call to result, median of 9", kernel.release, json["median_s"]);
        choice.keep(&json)?;
    }
    Ok(())
}

/// `lab cells`.
pub(crate) fn cells(args: &[&str]) -> Result<()> {
    let mut choice = Choice::of(&["--kernel", "--fs", "--disk"], args)?;
    tool::ready()?;
    if choice.disks.is_empty() {
        choice.disks.push(disk::model("none")?);
    }
    if choice.kernels.is_empty() {
        choice.kernels.extend(SERIES);
    }
    let cache = Cache::open()?;
    let begin = Instant::now();
    let (mut done, mut wrong) = (0, Vec::new());
    for series in &choice.kernels {
        let kernel = kernels::ready(&cache, series, Wanted::Locked)?;
        for model in &choice.disks {
            for fs in &choice.fs {
                let cell = cells::run(choice.site(&cache, &kernel), model, fs)
                    .map_err(|why| format!("{} {fs} {}: {why}", series.name, model.name))?;
                let verdict = if cell.wrong.is_empty() { "ok" } else { "WRONG" };
                println!("{} {fs} {}: {verdict}", kernel.release, model.name);
                choice.keep(&cell.json)?;
                wrong
                    .extend(cell.wrong.iter().map(|why| format!("{} {fs}: {why}", kernel.release)));
                done += 1;
            }
        }
    }
    end(done, &wrong, begin)
}

/// `lab faults`.
pub(crate) fn faults(args: &[&str]) -> Result<()> {
    let mut choice = Choice::of(&["--kernel", "--fs", "--case", "--seed"], args)?;
    tool::ready()?;
    if choice.kernels.is_empty() {
        choice.kernels.push(kernels::series("6.1")?);
    }
    let cache = Cache::open()?;
    let begin = Instant::now();
    let (mut done, mut wrong) = (0, Vec::new());
    for series in &choice.kernels {
        let kernel = kernels::ready(&cache, series, Wanted::Locked)?;
        for fs in &choice.fs {
            for case in &choice.cases {
                let name = format!("{} {fs} {}", kernel.release, case.name());
                let outcome = faults::run(choice.site(&cache, &kernel), fs, *case, choice.seed)
                    .map_err(|why| format!("{name}: {why}"))?;
                let verdict = if outcome.wrong.is_empty() { "ok" } else { "WRONG" };
                println!("{name}: {verdict}; {}", outcome.json["judged"].as_str().unwrap_or(""));
                choice.keep(&outcome.json)?;
                wrong.extend(outcome.wrong.iter().map(|why| format!("{name}: {why}")));
                done += 1;
            }
        }
    }
    end(done, &wrong, begin)
}

/// `lab reset`.
pub(crate) fn reset(args: &[&str]) -> Result<()> {
    let mut choice = Choice::of(&["--kernel", "--seed"], args)?;
    tool::ready()?;
    if choice.kernels.is_empty() {
        choice.kernels.push(kernels::series("6.1")?);
    }
    let cache = Cache::open()?;
    let begin = Instant::now();
    let (mut done, mut wrong) = (0, Vec::new());
    for series in &choice.kernels {
        let kernel = kernels::ready(&cache, series, Wanted::Locked)?;
        let outcome = reset::run(choice.site(&cache, &kernel), choice.seed)
            .map_err(|why| format!("{}: {why}", kernel.release))?;
        println!("{}: {}", kernel.release, outcome.json["judged"].as_str().unwrap_or("WRONG"));
        choice.keep(&outcome.json)?;
        wrong.extend(outcome.wrong.iter().map(|why| format!("{}: {why}", kernel.release)));
        done += 1;
    }
    end(done, &wrong, begin)
}
