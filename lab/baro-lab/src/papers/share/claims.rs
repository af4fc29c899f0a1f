//! What the paper says and what we promise, judged from the measurement.
//!
//! Ours are judged only where each case was measured at least three times: one run of a few large
//! I/Os says little. A limit between the smallest and the largest of repeats of two rates that are
//! compared decides nothing.

mod ours;

use super::printed::FIXED_READ_100;
use super::read::{Record, Repeats, Spread};
use super::row::{Case, Direction, Load, Task};
use super::setting::Setting;
use Direction::{Read, Write};
use baro_bench::experiment::Claim;

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

pub(super) fn ratio(
    record: &Record,
    setting: Setting,
    direction: Direction,
    block_mb: u64,
) -> Option<Spread> {
    record.pair(TWO_TO_ONE, setting, direction, block_mb)?.ratio()
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
        let found = ratio(record, setting, direction, block_mb);
        let here = found.map(|found| (holds(found.median), found.shown(2)));
        claim(id, says, paper).judged(here, rule, UNMEASURED)
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
    let more = record.pair(&[3, 2], Setting::Fixed, Read, 100).and_then(|one| one.ratio());
    claims.push(claim("fixed-3-2", "and 3:2 too", "2.94:2").judged(
        more.map(|ratio| ((ratio.median / 1.5 - 1.0).abs() <= 0.05, ratio.shown(2))),
        "the ratio within 5 % of 1.5",
        UNMEASURED,
    ));
    claims.push(late(
        record,
        Setting::Default,
        "player-late",
        "a player is late beside reads of 100 MB",
    ));
    claims.push(late(record, Setting::Fixed, "player-fixed", "with pieces it is not"));
    claims
}

fn strict_costs(record: &Record) -> Claim {
    let total = |setting| record.pair(TWO_TO_ONE, setting, Read, 100)?.total();
    let found = total(Setting::Default).zip(total(Setting::StrictGuarantees));
    Claim::new("strict-costs", "paper", "strict_guarantees costs throughput", "34 % at 100 MB")
        .judged(
            found.map(|(bare, strict)| {
                let text = format!("{} MB/s, then {}", bare.shown(1), strict.shown(1));
                (strict.median < bare.median * 0.95, text)
            }),
            "the total below 0.95 of that without",
            UNMEASURED,
        )
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
