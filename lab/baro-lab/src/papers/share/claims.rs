//! What the paper says and what we promise, judged from the measurement.
//!
//! By one rule (`baro_bench::experiment::judge`): a case counts where it was measured at least three
//! times, since one run of a few large I/Os says little, and a limit between the smallest and the
//! largest of its repeats decides nothing.

mod ours;

use super::printed::FIXED_READ_100;
use super::read::{Record, Repeats, Spread};
use super::row::{Case, Direction, Load, Task};
use super::setting::Setting;
use Direction::{Read, Write};
use baro_bench::experiment::Claim;
use baro_bench::experiment::judge::{all_agree, is_below};

/// The paper's own limit of what is still 2:1.
const KEPT: f64 = 1.9;
/// It calls this collapsed.
const COLLAPSED: f64 = 1.8;
pub(super) const TWO_TO_ONE: &[u16] = &[2, 1];
pub(super) const UNMEASURED: &str = "a cell that it needs was not measured";

pub(super) fn claims(record: &Record) -> Vec<Claim> {
    let mut claims = of_the_paper(record);
    claims.extend(ours::claims(record));
    claims
}

/// A claim about one ratio: id, what it says, the paper's figure, the cell, and what must hold.
type Row<'a> = (&'a str, &'a str, &'a str, (Setting, Direction, u64), (fn(f64) -> bool, &'a str));

fn collapsed(ratio: f64) -> bool {
    ratio < COLLAPSED
}

fn kept(ratio: f64) -> bool {
    ratio >= KEPT
}

fn of_the_paper(record: &Record) -> Vec<Claim> {
    use Setting::{Default, FifoExpire, Fixed, MaxBudget, StrictGuarantees};
    let claim = |id: &str, says: &str, paper: &str| Claim::new(id, "paper", says, paper);
    let fixed = format!("{FIXED_READ_100}");
    let keeps = (kept as fn(f64) -> bool, "the ratio at least 1.9");
    let loses = (collapsed as fn(f64) -> bool, "the ratio below 1.8");
    let by_ratio = |(id, says, paper, cell, (holds, rule)): Row<'_>| {
        let (setting, direction, block_mb) = cell;
        let found = record.pair(TWO_TO_ONE, setting, direction, block_mb);
        ratios(claim(id, says, paper), found, holds, rule)
    };
    #[rustfmt::skip]
    let rows: [Row<'_>; 6] = [
        ("small-reads", "small direct reads keep 2:1 with BFQ as it is", "1.96 at 1 MB", (Default, Read, 1), keeps),
        ("large-reads", "direct reads of 100 MB do not", "1.26", (Default, Read, 100), loses),
        ("large-writes", "nor direct writes of 100 MB", "1.15", (Default, Write, 100), loses),
        ("fifo-expire", "fifo_expire of 1 s does not heal reads of 100 MB", "1.27", (FifoExpire, Read, 100), loses),
        ("max-budget", "a max_budget of 1,024 does not either", "1.36", (MaxBudget, Read, 100), loses),
        ("strict", "nor does strict_guarantees", "1.30", (StrictGuarantees, Read, 100), loses),
    ];
    #[rustfmt::skip]
    let cures: [Row<'_>; 2] = [
        ("fixed", "pieces of 30 MB heal reads of 100 MB", &fixed, (Fixed, Read, 100), keeps),
        ("fixed-writes", "pieces of 10 MB heal writes of 100 MB", "figure 7", (Fixed, Write, 100), keeps),
    ];
    let mut claims: Vec<Claim> = rows.into_iter().map(by_ratio).collect();
    claims.push(strict_costs(record));
    claims.extend(cures.into_iter().map(by_ratio));
    let more = record.pair(&[3, 2], Setting::Fixed, Read, 100);
    let near = |ratio: f64| (ratio / 1.5 - 1.0).abs() <= 0.05;
    let claim_more = claim("fixed-3-2", "and 3:2 too", "2.94:2");
    claims.push(ratios(claim_more, more, near, "the ratio within 5 % of 1.5"));
    claims.push(late(
        record,
        Setting::Default,
        "player-late",
        "a player is late beside reads of 100 MB",
    ));
    claims.push(late(record, Setting::Fixed, "player-fixed", "with pieces it is not"));
    claims
}

/// Judges the ratio of each repeat.
fn ratios(
    claim: Claim,
    found: Option<Repeats<'_>>,
    holds: impl Fn(f64) -> bool,
    rule: &str,
) -> Claim {
    let Some((repeats, ratio)) = found.and_then(|one| Some((one, one.ratio()?))) else {
        return claim.judged(None, rule, UNMEASURED);
    };
    match all_agree(&repeats.ratios(), holds) {
        Ok(holds) => claim.judged(Some((holds, ratio.shown(2))), rule, UNMEASURED),
        Err(why) => claim.open(ratio.shown(2), why),
    }
}

fn strict_costs(record: &Record) -> Claim {
    let claim =
        Claim::new("strict-costs", "paper", "strict_guarantees costs throughput", "34 % at 100 MB");
    let totals = |setting| record.pair(TWO_TO_ONE, setting, Read, 100).map(|one| one.totals());
    let found = totals(Setting::Default).zip(totals(Setting::StrictGuarantees));
    let Some((bare, strict)) = found else { return claim.judged(None, "", UNMEASURED) };
    let shown = |totals: &[f64]| Spread::of(totals.iter().copied()).map(|one| one.shown(1));
    let Some((before, after)) = shown(&bare).zip(shown(&strict)) else {
        return claim.judged(None, "", UNMEASURED);
    };
    let text = format!("{before} MB/s, then {after}");
    let less: Vec<f64> = bare.iter().map(|total| total * 0.95).collect();
    match is_below(&strict, &less) {
        Ok(below) => claim.judged(Some((below, text)), "each total below 0.95 of each without", ""),
        Err(why) => claim.open(text, why),
    }
}

/// A player beside direct reads of 100 MB.
pub(super) fn player(record: &Record, setting: Setting, load: Load) -> Option<Repeats<'_>> {
    let weights = TWO_TO_ONE.to_vec();
    record.find(&Case { task: Task::Player, weights, setting, load: Some(load) })
}

fn late(record: &Record, setting: Setting, id: &str, says: &str) -> Claim {
    let found = player(record, setting, Load::direct(Read, 100));
    let is_late = setting == Setting::Default;
    let here = found.and_then(|found| {
        let (late, frames) = (found.late_frames()?, found.frames()?);
        Some(((late > 0) == is_late, format!("{late} late of {frames} frames")))
    });
    let rule = if is_late { "any late frame" } else { "no late frame" };
    let paper = if is_late { "late from 40 MB on" } else { "never late" };
    Claim::new(id, "paper", says, paper).judged(here, rule, UNMEASURED)
}
