//! What Barograph promises of shares, judged by the same measurement. One that is not met is said and
//! costs the exit code.

use super::{TWO_TO_ONE, UNMEASURED, player};
use crate::papers::share::plan::NESTED_WEIGHTS;
use crate::papers::share::read::{Record, Repeats, Spread};
use crate::papers::share::row::{Direction, Load, Task};
use crate::papers::share::setting::Setting;
use baro_bench::experiment::Claim;
use baro_bench::experiment::judge::{REPEATS_MIN, TOO_FEW, all_agree};

/// Of 2:1.
const RATIO: std::ops::RangeInclusive<f64> = 1.94..=2.06;
const TOTAL: f64 = 0.99;
const ALONE: f64 = 0.97;
const SETTLED_S: f64 = 5.0;

pub(super) fn claims(record: &Record) -> Vec<Claim> {
    vec![
        two_to_one(record),
        other(record, (Task::Pair, &[3, 2]), 0.03, "auto-3-2", "3:2 holds within 3 %"),
        other(
            record,
            (Task::Pair, &[3, 2, 2, 1]),
            0.05,
            "auto-four",
            "each of 3:2:2:1 gets its share within 5 %",
        ),
        other(
            record,
            (Task::Nested, NESTED_WEIGHTS),
            0.05,
            "auto-nested",
            "each of 4:5:1 with 3:2 within the 5 gets its share of the whole within 5 %",
        ),
        throughput(record),
        alone(record),
        playing(record),
        settling(record),
    ]
}

fn claim(id: &str, says: &str, paper: &str) -> Claim {
    Claim::new(id, "ours", says, paper)
}

/// Judged only if each case has enough repeats.
fn judged(claim: Claim, found: &[Repeats<'_>], here: Option<(bool, String)>, rule: &str) -> Claim {
    let few = found.iter().any(|repeats| repeats.count() < REPEATS_MIN);
    match here {
        Some((_, figures)) if few => {
            let mut claim = claim.judged(None, rule, TOO_FEW);
            claim.here = figures;
            claim
        }
        here => claim.judged(here, rule, UNMEASURED),
    }
}

/// Judged by each repeat of each case: one case that is not so in any repeat decides, and one whose
/// repeats disagree leaves it open.
fn by_repeats(
    claim: Claim,
    cases: &[Result<bool, &'static str>],
    figures: &str,
    rule: &str,
) -> Claim {
    let open = cases.iter().find_map(|case| case.err());
    match open {
        _ if cases.is_empty() => claim.judged(None, rule, UNMEASURED),
        _ if cases.contains(&Ok(false)) => {
            claim.judged(Some((false, figures.to_owned())), rule, "")
        }
        Some(why) => claim.open(figures, why),
        None => claim.judged(Some((true, figures.to_owned())), rule, ""),
    }
}

/// Pairs at 2:1 under `auto`, of any size and engine.
fn pairs(record: &Record) -> Vec<Repeats<'_>> {
    let fits = |repeats: &Repeats<'_>| {
        let case = repeats.case;
        case.task == Task::Pair && case.weights == TWO_TO_ONE && case.setting == Setting::Auto
    };
    record.all().filter(fits).collect()
}

fn name(repeats: &Repeats<'_>) -> String {
    repeats.case.load.map_or_else(String::new, |load| {
        let engine = if load.psync { ", psync" } else { "" };
        format!("{} {} MB{engine}", load.direction.name(), load.block_mb)
    })
}

fn two_to_one(record: &Record) -> Claim {
    let found = pairs(record);
    let ratios: Vec<(String, Spread)> =
        found.iter().filter_map(|one| Some((name(one), one.ratio()?))).collect();
    let texts: Vec<String> =
        ratios.iter().map(|(name, ratio)| format!("{name}: {}", ratio.shown(2))).collect();
    let cases: Vec<_> =
        found.iter().map(|one| all_agree(&one.ratios(), |ratio| RATIO.contains(&ratio))).collect();
    let says = "with pieces chosen automatically 2:1 holds for any size of I/O, fio unmodified";
    let claim = claim("auto", says, "1.93 at 100 MB, fio patched");
    by_repeats(claim, &cases, &texts.join("; "), "each repeat of each from 1.94 to 2.06")
}

fn other(
    record: &Record,
    (task, weights): (Task, &[u16]),
    within: f64,
    id: &str,
    says: &str,
) -> Claim {
    let fits = |repeats: &Repeats<'_>| {
        let case = repeats.case;
        case.task == task && case.weights == weights && case.setting == Setting::Auto
    };
    let found: Vec<Repeats<'_>> = record.all().filter(fits).collect();
    let (mut texts, mut cases) = (Vec::new(), Vec::new());
    for repeats in &found {
        // Of two groups the ratio is what counts; of four each one's share.
        let parts: Vec<Vec<f64>> = if weights.len() == 2 {
            let asked = f64::from(weights[0]) / f64::from(weights[1]);
            vec![repeats.ratios().iter().map(|ratio| ratio / asked).collect()]
        } else {
            (0..weights.len()).map(|group| repeats.parts_of_asked(group)).collect()
        };
        cases.extend(parts.iter().map(|part| all_agree(part, |part| (part - 1.0).abs() <= within)));
        let shown = parts.iter().filter_map(|part| Spread::of(part.iter().copied()));
        let shown: Vec<String> = shown.map(|part| part.shown(3)).collect();
        texts.push(format!("{}: {} of what was asked", name(repeats), shown.join(", ")));
    }
    let paper = match (task, weights.len()) {
        (Task::Nested, _) => "not measured; shares of nested groups are called bad",
        (_, 2) => "2.94:2",
        _ => "2.47:1.85:2.09:1",
    };
    let rule = format!("each repeat within {:.0} % of what was asked", within * 100.0);
    by_repeats(claim(id, says, paper), &cases, &texts.join("; "), &rule)
}

fn throughput(record: &Record) -> Claim {
    let (mut found, mut texts, mut low, mut high) = (Vec::new(), Vec::new(), f64::MAX, f64::MAX);
    let mut median = f64::MAX;
    for cut in pairs(record) {
        let Some(load) = cut.case.load else { continue };
        let bare = record.task(Task::Pair, TWO_TO_ONE, Setting::Default, load);
        let Some(bare) = bare else { continue };
        let Some((with, without)) = cut.total().zip(bare.total()) else { continue };
        let part = with.median / without.median.max(f64::MIN_POSITIVE);
        texts.push(format!("{}: {part:.3}", name(&cut)));
        low = low.min(with.low / without.high.max(f64::MIN_POSITIVE));
        high = high.min(with.high / without.low.max(f64::MIN_POSITIVE));
        median = median.min(part);
        found.extend([cut, bare]);
    }
    let claim = claim("auto-total", "the total is at most 1 % less than without cutting", "- 1 %");
    let rule = "the total at least 0.99 of that with BFQ alone, at each size";
    let figures = texts.join("; ");
    // One that is worse with any repeats is worse; one that some repeats save is open.
    let decided = low >= TOTAL || high < TOTAL || median >= TOTAL;
    if !texts.is_empty() && !decided && found.iter().all(|one| one.count() >= REPEATS_MIN) {
        let why = "repeats differ by more than what is judged: longer cells would tell (--seconds)";
        let mut claim = claim.judged(None, rule, why);
        claim.here = figures;
        return claim;
    }
    let here = (!texts.is_empty()).then_some((median >= TOTAL, figures));
    judged(claim, &found, here, rule)
}

fn alone(record: &Record) -> Claim {
    let (mut texts, mut cases) = (Vec::new(), Vec::new());
    for repeats in record.all() {
        let (Task::Alone(_), Setting::Auto) = (repeats.case.task, repeats.case.setting) else {
            continue;
        };
        let Some(load) = repeats.case.load else { continue };
        let device = record.task(Task::Device, &[1], Setting::Default, load);
        let Some((device, rate)) = device.zip(repeats.total()) else { continue };
        let Some(own) = device.total().filter(|own| own.median > 0.0) else { continue };
        let parts: Vec<f64> = repeats.totals().iter().map(|total| total / own.median).collect();
        cases.push(all_agree(&parts, |part| part >= ALONE));
        let part = rate.median / own.median;
        texts.push(format!("{}, {}: {part:.3}", repeats.case.task.name(), name(&repeats)));
    }
    let says = "either group alone has the whole disk within 5 s";
    let rule =
        "from 5 s on each repeat at least 0.97 of the disk's own median rate without sharing";
    by_repeats(claim("auto-alone", says, "-"), &cases, &texts.join("; "), rule)
}

fn playing(record: &Record) -> Claim {
    let loads = [Direction::Read, Direction::Write].map(|direction| Load::direct(direction, 100));
    let found: Vec<Repeats<'_>> =
        loads.into_iter().filter_map(|load| player(record, Setting::Auto, load)).collect();
    let (mut texts, mut holds) = (Vec::new(), true);
    for repeats in &found {
        let Some((late, frames)) = repeats.late_frames().zip(repeats.frames()) else { continue };
        let part = repeats.part_read().unwrap_or(0.0);
        holds &= late == 0 && part >= 1.0;
        let (load, percent) = (name(repeats), part * 100.0);
        texts.push(format!("{load}: {late} late of {frames}, {percent:.0} % from the device"));
    }
    let here = (!texts.is_empty()).then(|| (holds, texts.join("; ")));
    let says = "a player is never late beside direct I/O of 100 MB";
    let rule = "no late frame in any repeat, all bytes of the video from the device";
    judged(claim("auto-player", says, "0, size chosen by hand"), &found, here, rule)
}

fn settling(record: &Record) -> Claim {
    let fits = |repeats: &Repeats<'_>| {
        repeats.case.task == Task::Change && repeats.case.setting == Setting::Auto
    };
    let found: Vec<Repeats<'_>> = record.all().filter(fits).collect();
    let (mut texts, mut cases) = (Vec::new(), Vec::new());
    for repeats in &found {
        let window = |of: fn(&_) -> Option<f64>| repeats.settled_s(of);
        let one_s = window(|settled: &crate::papers::share::row::Settled| settled.one_s);
        let rest_s = window(|settled: &crate::papers::share::row::Settled| settled.rest_s);
        let shown = |found: Option<Spread>| {
            found.map_or("not in each repeat".to_owned(), |found| format!("{} s", found.shown(1)))
        };
        // One that never was as asked took longer than any limit.
        let all = repeats.settled_each(|settled| settled.rest_s.unwrap_or(f64::INFINITY));
        cases.push(all_agree(&all, |seconds| seconds <= SETTLED_S));
        texts.push(format!(
            "{}: over all that follows {}, over each second {}",
            name(repeats),
            shown(rest_s),
            shown(one_s)
        ));
    }
    let says = "after a change of load the ratio is as asked within 5 s";
    // A second holds three or four pieces of each: too few to tell 5 % from one piece.
    let rule = "from 5 s on at the latest the ratio over all that follows is within 5 %";
    by_repeats(claim("auto-change", says, "not treated"), &cases, &texts.join("; "), rule)
}
