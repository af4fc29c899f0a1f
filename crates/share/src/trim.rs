//! How weights are trimmed, so that shares come out as asked over seconds, whatever keeps BFQ from it.
//!
//! BFQ holds its own account, and what is lost outside of it (a turn lost to the journal, a request
//! served in another's wait) it never makes good: docs/share-cause.md. So the account is held here too:
//! what each group that wants more was short of or had too much, in bytes, since the same groups want
//! more. Weights change a little, so that this is repaid in [`REPAY_S`] seconds, and are as asked where
//! nothing is owed. Pure.
//!
//! Invariants: a trimmed weight is within a quarter of what was asked; what is owed is forgotten when
//! the groups that want more change, so nobody pays for having been alone; weights of groups that want
//! less, or have no sibling that wants more, are as asked. Held by the tests below.

use crate::control::{GroupPeriod, Period};
use crate::weight::Weight;
use std::collections::BTreeMap;

/// What is owed is repaid in so long. Measured with 6: shorter follows single pieces.
const REPAY_S: f64 = 6.0;
/// A share is changed by no more than this part of it.
const MOST: f64 = 0.25;
/// The first seconds of a load are no account: one program began before the other.
const SETTLE_NS: u64 = 2_000_000_000;
/// Who is behind by this part of a piece is owed nothing: bytes are counted before they are done, and
/// all have a piece under way. Measured with 1: a slow disk with large pieces had 2.10 for 2.
const GRAIN: f64 = 0.25;
/// How much of a new rate is believed.
const BELIEVED: f64 = 0.3;

/// The account of one disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trim {
    /// For so long the same groups have wanted more, ns.
    since_ns: u64,
    /// Bytes that a group is short of; negative: it had too much. Those of siblings come to 0.
    owed: BTreeMap<String, f64>,
    /// Bytes a second of siblings that want more, by their parent.
    rates: BTreeMap<String, f64>,
    /// Weights cannot make good what is owed.
    spent: bool,
}

/// The group that `name` is in, `a` of `a/b`; the top is "".
fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Trim {
    /// The groups that want more have changed, or nothing can be judged: the account begins anew.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Whether weights cannot make good what is owed: it is too much, or none of them may be changed.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }

    /// Takes a period, and gives the weights of groups that are not to be as asked. `piece_bytes`: the
    /// largest piece of any.
    pub(crate) fn step(&mut self, period: &Period, piece_bytes: f64) -> BTreeMap<String, Weight> {
        let mut trimmed = BTreeMap::new();
        self.spent = false;
        self.since_ns = self.since_ns.saturating_add(period.duration_ns);
        let seconds = period.duration_ns as f64 / 1e9;
        let grain = piece_bytes * GRAIN;
        if self.since_ns < SETTLE_NS || seconds <= 0.0 {
            return trimmed;
        }
        let mut families: BTreeMap<&str, Vec<&GroupPeriod>> = BTreeMap::new();
        for group in period.groups.iter().filter(|group| group.backlogged) {
            families.entry(parent(&group.name)).or_default().push(group);
        }
        for (parent, siblings) in families.into_iter().filter(|(_, all)| all.len() > 1) {
            let bytes: f64 = siblings.iter().map(|one| one.served.bytes() as f64).sum();
            let weights: f64 = siblings.iter().map(|one| f64::from(one.weight.get())).sum();
            let rate = self.rates.entry(parent.to_owned()).or_insert(bytes / seconds);
            *rate += BELIEVED * (bytes / seconds - *rate);
            let repaid = (*rate * REPAY_S).max(1.0);
            let share = |one: &GroupPeriod| f64::from(one.weight.get()) / weights;
            // More than the weights can repay is forgotten, of all in proportion: what one is short of
            // is what others had too much.
            let mut kept = 1.0_f64;
            for one in &siblings {
                let owed = self.owed.entry(one.name.clone()).or_default();
                *owed += share(one) * bytes - one.served.bytes() as f64;
                let most = repaid * share(one) * MOST + grain;
                kept = kept.min(most / owed.abs().max(f64::MIN_POSITIVE));
            }
            self.spent |= kept < 1.0 || siblings.iter().all(|one| !one.trimmable);
            for one in siblings {
                let owed = self.owed.entry(one.name.clone()).or_default();
                *owed *= kept;
                let owed = owed.signum() * (owed.abs() - grain).max(0.0);
                let part = (owed / repaid / share(one)).clamp(-MOST, MOST);
                let new = scaled(one.weight, 1.0 + part);
                if let Some(new) = new.filter(|new| one.trimmable && *new != one.weight) {
                    trimmed.insert(one.name.clone(), new);
                }
            }
        }
        trimmed
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1250")]
fn scaled(weight: Weight, part: f64) -> Option<Weight> {
    let scaled = (f64::from(weight.get()) * part).round() as u16;
    Weight::new(scaled.clamp(1, crate::weight::WEIGHT_MAX))
}

#[cfg(test)]
#[path = "trim/tests.rs"]
mod tests;
