//! The paper's claims, each judged by a rule that is printed with it.
//!
//! The rules allow for noise: what the paper calls halving holds at three quarters and less. What a
//! run did not measure, or what this scale or kernel cannot show, is not judged, and says why.

mod matrix;
mod memory;
mod wear;

use super::Greedy;
use super::plan::USUAL;
use super::records::{Record, Records};
use baro_bench::experiment::Claim;

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

/// The rate with B = 4 KiB.
fn v(record: Option<Record<'_>>, files: u64) -> Option<f64> {
    record?.v(files, USUAL.1)
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
