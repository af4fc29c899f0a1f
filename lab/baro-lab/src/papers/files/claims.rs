//! The paper's claims, each judged by a rule that is printed with it.
//!
//! The rules allow for noise: what the paper calls halving holds at three quarters and less. What a
//! run did not measure, or what this scale or kernel cannot show, is not judged, and says why.

mod matrix;
mod memory;
mod wear;

use super::Greedy;
use super::records::{Record, Records};
use super::tables::blocks;
use baro_bench::experiment::Claim;
use baro_bench::experiment::judge::WITHIN_SPREAD;

/// All of them, in the paper's order.
pub(super) fn all(all: &Records<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    claims.extend(matrix::one_file(all.hdd));
    claims.extend(matrix::many_files(all.hdd));
    claims.extend(matrix::small_blocks(all.hdd));
    claims.extend(memory::variations(all.hdd));
    claims.extend(memory::layers(all.hdd));
    claims.extend(wear::solid_state(all.ssd));
    claims.extend(wear::amplification(all.first));
    claims.extend(wear::conclusion(all.first));
    claims
}

const UNMEASURED: &str = "a cell that it needs has no numbers in this measurement";
const NO_SSD: &str = "no SSD was measured: baro-lab files --device ssd, or a folder on one with \
                      --device none";

fn judged(claim: Claim, here: Option<(bool, String)>, rule: &str) -> Claim {
    claim.judged(here, rule, UNMEASURED)
}

/// The same where rates are compared that vary within their cells: None decides nothing.
fn decided(claim: Claim, here: Option<(Option<bool>, String)>, rule: &str) -> Claim {
    match here {
        Some((Some(holds), figures)) => claim.judged(Some((holds, figures)), rule, UNMEASURED),
        Some((None, figures)) => claim.open(figures, WITHIN_SPREAD),
        None => claim.judged(None, rule, UNMEASURED),
    }
}

/// Whether a quotient of two rates fulfils a rule, whichever part of their cells one looks at.
fn of_quotient(of: &Greedy, to: &Greedy, holds: impl Fn(f64) -> bool) -> Option<bool> {
    let (of, to) = (of.range(), to.range());
    let low = of.0 / to.1.max(f64::MIN_POSITIVE);
    let high = of.1 / to.0.max(f64::MIN_POSITIVE);
    (holds(low) == holds(high)).then(|| holds(low))
}

/// Of several that must all be so: one that is not decides, one that is open leaves it open.
fn all_of(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(false)) {
        return Some(false);
    }
    (!parts.contains(&None)).then_some(true)
}

/// The fastest cell of the matrix with so many files.
fn best_of(record: Record<'_>, files: u64) -> Option<Greedy> {
    let cells = blocks(record).into_iter().filter_map(|kib| record.greedy("matrix", files, kib));
    cells.max_by(|one, two| one.mb_per_s().total_cmp(&two.mb_per_s()))
}

fn greedy(record: Option<Record<'_>>, files: u64, kib: u64) -> Option<Greedy> {
    record?.greedy("matrix", files, kib)
}

/// Judges by the quotient of two cells' rates, if it does not depend on which part of their time one
/// looks at.
fn compared(
    claim: Claim,
    one: Option<&Greedy>,
    other: Option<&Greedy>,
    holds: fn(f64) -> bool,
    rule: &str,
) -> Claim {
    let Some((one, other)) = one.zip(other).filter(|(one, _)| one.mb_per_s() > 0.0) else {
        return claim.judged(None, rule, UNMEASURED);
    };
    let (from, to) = (one.mb_per_s(), other.mb_per_s());
    let (first, second) = (one.range(), other.range());
    let text = format!(
        "{from:.2} MB/s ({:.2} to {:.2}), then {to:.2} ({:.2} to {:.2})",
        first.0, first.1, second.0, second.1
    );
    let (low, high) = (second.0 / first.1, second.1 / first.0.max(f64::MIN_POSITIVE));
    if holds(low) == holds(high) && holds(low) == holds(to / from) {
        return claim.judged(Some((holds(to / from), text)), rule, UNMEASURED);
    }
    let why = format!(
        "the rates vary more within their cells than they differ: {text}; longer cells would tell \
         (--full)"
    );
    claim.judged(None, rule, &why)
}
