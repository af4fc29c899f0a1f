//! `lab cut` and `lab test`: which recordings are made, and what becomes of their outcomes.

use crate::cache::Cache;
use crate::cut::{self, Plan, Way, report};
use crate::kernels::{self, Wanted};
use crate::project::Profile;
use crate::site::Site;
use crate::tool::{self, Result, Trouble, at};
use std::io::Write;
use std::path::PathBuf;
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
pub(crate) fn short() -> Result<()> {
    tool::ready()?;
    let choice = Choice { profile: Profile::Test, ..choice(&[])? };
    let plan = |fs, scenario, way, points| Plan {
        fs,
        scenario,
        way,
        record_for: Duration::from_millis(2000),
        points,
    };
    all(
        &choice,
        &[
            plan("ext4", "direct", Way::Ordinary, 30),
            plan("ext4", "settle", Way::Ordinary, 30),
            plan("f2fs", "direct-5ms", Way::Ordinary, 25),
            plan("f2fs", "pins", Way::Ordinary, 25),
            plan("ext4", "direct", Way::NoBarrier, 6),
            plan("f2fs", "direct", Way::NoSync, 6),
        ],
    )
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
            let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
            let mut file = file.map_err(at(path))?;
            writeln!(file, "{}", report::json(&outcome)).map_err(at(path))?;
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
