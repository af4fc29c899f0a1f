//! `lab cut` and `lab test`: which recordings are made, and what becomes of their outcomes.

use crate::cache::Cache;
use crate::choice::Choice;
use crate::cut::{self, Plan, Way, report};
use crate::kernels::{self, Series, Wanted};
use crate::project::Profile;
use crate::tool::{self, Result, Trouble};
use serde_json::json;
use std::time::{Duration, Instant};

/// `lab cut`.
pub(crate) fn command(args: &[&str]) -> Result<()> {
    let known = ["--kernel", "--fs", "--scenario", "--way", "--points", "--seconds", "--seed"];
    let choice = Choice::of(&known, args)?;
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
    for series in kernels_of(&choice)? {
        all(&choice, series, &plans)?;
    }
    Ok(())
}

/// Those chosen, or Debian 12's.
fn kernels_of(choice: &Choice) -> Result<Vec<&'static Series>> {
    if choice.kernels.is_empty() {
        return Ok(vec![kernels::series("6.1")?]);
    }
    Ok(choice.kernels.clone())
}

/// `lab test`: enough to see that the promises hold and that the judge can fail.
pub(crate) fn short(args: &[&str]) -> Result<()> {
    let kept = Choice { profile: Profile::Test, ..Choice::of(&["--seed"], args)? };
    tool::ready()?;
    // Its outcomes are those of tests, not measurements: one line is kept for all of them.
    let (begin, choice) = (Instant::now(), Choice { json: None, ..kept.clone() });
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
    let done = all(&choice, kernels::series("6.1")?, &plans);
    let ordinary = plans.iter().filter(|plan| plan.way == Way::Ordinary);
    kept.keep(&json!({
        "what": "test", "points": ordinary.map(|plan| plan.points).sum::<usize>(),
        "seconds": begin.elapsed().as_secs(), "right": done.is_ok(),
    }))?;
    done
}

fn all(choice: &Choice, series: &'static Series, plans: &[Plan]) -> Result<()> {
    let cache = Cache::open()?;
    let kernel = kernels::ready(&cache, series, Wanted::Locked)?;
    let site = choice.site(&cache, &kernel);
    let begin = Instant::now();
    let (mut points, mut wrong) = (0, Vec::new());
    for plan in plans {
        let outcome = cut::run(site, plan, choice.seed)?;
        println!("{}", report::line(&outcome));
        choice.keep(&report::json(&outcome))?;
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
