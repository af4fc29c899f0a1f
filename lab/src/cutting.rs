//! `lab cut` and `lab test`: which recordings are made, and what becomes of their outcomes.

use crate::cache::Cache;
use crate::cut::{self, Plan, Way, report};
use crate::kernels::{self, Wanted};
use crate::project::Profile;
use crate::site::Site;
use crate::tool::{self, Result, Trouble, at};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const FILE_SYSTEMS: [&str; 2] = ["ext4", "f2fs"];

/// What to cut.
struct Choice {
    kernel: &'static kernels::Series,
    fs: Vec<&'static str>,
    scenarios: Vec<&'static str>,
    way: Way,
    points: usize,
    record_for: Duration,
    seed: u64,
    json: Option<PathBuf>,
    profile: Profile,
}

fn choice(args: &[&str]) -> std::result::Result<Choice, String> {
    let mut choice = Choice {
        kernel: kernels::series("6.1")?,
        fs: FILE_SYSTEMS.to_vec(),
        scenarios: scenarios(),
        way: Way::Ordinary,
        points: 120,
        record_for: Duration::from_secs(3),
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
        let number =
            || value.parse::<u64>().map_err(|_| format!("{arg}: number expected, found {value}"));
        match arg {
            "--kernel" => choice.kernel = kernels::series(value)?,
            "--fs" => choice.fs = vec![one(arg, value, &FILE_SYSTEMS)?],
            "--scenario" => {
                let all = value.split(',').map(|name| one(arg, name, &scenarios()));
                choice.scenarios = all.collect::<std::result::Result<_, _>>()?;
            }
            "--way" => {
                let ways = [Way::Ordinary, Way::NoBarrier, Way::NoSync];
                let found = ways.into_iter().find(|way| way.name() == value);
                choice.way = found.ok_or_else(|| format!("--way: no '{value}'"))?;
            }
            "--points" => choice.points = usize::try_from(number()?.clamp(2, 100_000)).unwrap_or(2),
            "--seconds" => choice.record_for = Duration::from_secs(number()?.clamp(1, 60)),
            "--seed" => choice.seed = number()?,
            "--json" => choice.json = Some(PathBuf::from(value)),
            other => return Err(format!("unknown option {other}")),
        }
    }
    Ok(choice)
}

fn one(arg: &str, value: &str, all: &[&'static str]) -> std::result::Result<&'static str, String> {
    let found = all.iter().copied().find(|known| *known == value);
    found.ok_or_else(|| format!("{arg}: no '{value}'; there are {}", all.join(" ")))
}

fn scenarios() -> Vec<&'static str> {
    // That one is for disks that fail, not for cuts.
    lab_load::SCENARIOS.iter().map(|one| one.name).filter(|name| *name != "fault").collect()
}

/// `lab cut`.
pub(crate) fn command(args: &[&str]) -> Result<()> {
    let choice = choice(args)?;
    tool::ready()?;
    let mut plans = Vec::new();
    for fs in &choice.fs {
        for scenario in &choice.scenarios {
            plans.push(Plan {
                fs,
                scenario,
                way: choice.way,
                record_for: choice.record_for,
                points: choice.points,
            });
        }
    }
    all(&choice, &plans)
}

/// `lab test`: enough to see that the promises hold and that the judge can fail.
pub(crate) fn short(args: &[&str]) -> Result<()> {
    let choice = Choice { profile: Profile::Test, ..choice(args)? };
    tool::ready()?;
    // Its outcomes are those of tests, not measurements: one line is kept for all of them.
    let (begin, json) = (Instant::now(), choice.json.clone());
    let choice = Choice { json: None, ..choice };
    let plan = |fs, scenario, way, points| Plan {
        fs,
        scenario,
        way,
        record_for: Duration::from_millis(2000),
        points,
    };
    let plans = [
        plan("ext4", "direct", Way::Ordinary, 30),
        plan("ext4", "settle", Way::Ordinary, 30),
        plan("f2fs", "direct-5ms", Way::Ordinary, 25),
        plan("f2fs", "pins", Way::Ordinary, 25),
        plan("ext4", "direct", Way::NoBarrier, 6),
        plan("f2fs", "direct", Way::NoSync, 6),
    ];
    let done = all(&choice, &plans);
    if let Some(path) = json {
        let ordinary = plans.iter().filter(|plan| plan.way == Way::Ordinary);
        let row = json!({
            "what": "test", "points": ordinary.map(|plan| plan.points).sum::<usize>(),
            "seconds": begin.elapsed().as_secs(), "right": done.is_ok(),
        });
        keep(&path, &row)?;
    }
    done
}

/// Adds a line to a file.
fn keep(path: &Path, row: &Value) -> std::result::Result<(), String> {
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    writeln!(file.map_err(at(path))?, "{row}").map_err(at(path))
}

fn all(choice: &Choice, plans: &[Plan]) -> Result<()> {
    let cache = Cache::open()?;
    let kernel = kernels::ready(&cache, choice.kernel, Wanted::Locked)?;
    let site = Site { cache: &cache, kernel: &kernel, profile: choice.profile };
    let begin = Instant::now();
    let (mut points, mut wrong) = (0, Vec::new());
    for plan in plans {
        let outcome = cut::run(site, plan, choice.seed)?;
        println!("{}", report::line(&outcome));
        if let Some(path) = &choice.json {
            keep(path, &report::json(&outcome))?;
        }
        if plan.way == Way::Ordinary {
            points += outcome.verdicts.len();
        }
        if !outcome.is_right() {
            wrong.push(format!("{} {} {}", plan.fs, plan.scenario, plan.way.name()));
        }
    }
    println!(
        "{points} crash points in {:.0} s, Linux {}",
        begin.elapsed().as_secs_f64(),
        kernel.release
    );
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Trouble::Failed(format!("wrong: {}", wrong.join(", "))))
    }
}
