//! `lab cells`, `faults`, `media` and `start`: the same on every kernel, disk and file system that was
//! chosen.

use crate::cache::Cache;
use crate::faults::{self, CASES, Case};
use crate::kernels::{self, Kernel, SERIES, Series, Wanted};
use crate::machine::disk::{self, MODELS, Model};
use crate::project::Profile;
use crate::site::Site;
use crate::tool::{self, Result, Trouble, at};
use crate::{cells, media, start};
use serde_json::Value;
use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

struct Choice {
    kernels: Vec<&'static Series>,
    fs: Vec<&'static str>,
    disks: Vec<&'static Model>,
    cases: Vec<Case>,
    seed: u64,
    json: Option<PathBuf>,
    profile: Profile,
}

fn choice(args: &[&str]) -> std::result::Result<Choice, String> {
    let mut choice = Choice {
        kernels: Vec::new(),
        fs: vec!["ext4", "f2fs"],
        disks: Vec::new(),
        cases: CASES.to_vec(),
        seed: 1,
        json: None,
        profile: Profile::Release,
    };
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        if arg == "--test-profile" {
            choice.profile = Profile::Test;
            continue;
        }
        let value = args.next().ok_or_else(|| format!("{arg} needs a value"))?;
        match arg {
            "--kernel" => choice.kernels.push(kernels::series(value)?),
            "--disk" => choice.disks.push(disk::model(value)?),
            "--fs" => choice.fs.retain(|fs| *fs == value),
            "--case" => choice.cases.retain(|case| case.name() == value),
            "--seed" => {
                choice.seed = value.parse().map_err(|_| format!("--seed: no number: {value}"))?
            }
            "--json" => choice.json = Some(PathBuf::from(value)),
            other => return Err(format!("unknown option {other}")),
        }
        if choice.fs.is_empty() || choice.cases.is_empty() {
            return Err(format!("{arg}: nothing is called '{value}'"));
        }
    }
    Ok(choice)
}

impl Choice {
    fn site<'a>(&self, cache: &'a Cache, kernel: &'a Kernel) -> Site<'a> {
        Site { cache, kernel, profile: self.profile }
    }

    fn keep(&self, json: &Value) -> std::result::Result<(), String> {
        let Some(path) = &self.json else { return Ok(()) };
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        writeln!(file.map_err(at(path))?, "{json}").map_err(at(path))
    }
}

fn end(done: usize, wrong: &[String], begin: Instant) -> Result<()> {
    println!("{done} done in {:.0} s", begin.elapsed().as_secs_f64());
    if wrong.is_empty() { Ok(()) } else { Err(Trouble::Failed(wrong.join("\n     "))) }
}

/// `lab media`.
pub(crate) fn media(args: &[&str]) -> Result<()> {
    let mut choice = choice(args)?;
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
    let mut choice = choice(args)?;
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
    let mut choice = choice(args)?;
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
    let mut choice = choice(args)?;
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
