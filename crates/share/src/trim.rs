//! How weights are trimmed, so that shares come out as asked over seconds, whatever keeps BFQ from it.
//!
//! BFQ holds its own account, and what is lost outside of it (a turn lost to the journal, a request
//! served in another's wait) it never makes good: docs/share-cause.md. So the account is held here too:
//! what each group that wants more was short of or had too much, in bytes, since the same groups want
//! more. Weights change a little, so that this is repaid in [`REPAY_S`] seconds, and are as asked where
//! nothing is owed. Pure.
//!
//! Invariants: a trimmed weight is within a quarter of what was asked; what is owed is forgotten when
//! other groups want more for two seconds, and shorter times do not count, so nobody pays for having
//! been alone; weights of groups that want less for so long, or have no sibling that wants more, are as
//! asked. Held by the tests below.

use crate::control::{GroupPeriod, Period};
use crate::weight::Weight;
use std::collections::{BTreeMap, BTreeSet};

/// What is owed is repaid in so long. Measured with 6: shorter follows single pieces.
const REPAY_S: f64 = 6.0;
/// A share is changed by no more than this part of it.
const MOST: f64 = 0.25;
/// Other groups must have wanted more for so long.
const SETTLE_NS: u64 = 2_000_000_000;
/// Who is behind by this part of a piece is owed nothing: bytes are counted before they are done, and
/// all have a piece under way. Measured with 1: a slow disk with large pieces had 2.10 for 2.
const GRAIN: f64 = 0.25;
/// How much of a new rate is believed.
const BELIEVED: f64 = 0.3;

/// The account of one disk.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trim {
    /// Who wants more, in every period that counts.
    wanting: BTreeSet<String>,
    /// Others that have wanted more since, and for how long, ns.
    others: (BTreeSet<String>, u64),
    /// Bytes that a group is short of; negative: it had too much. Those of siblings come to 0.
    owed: BTreeMap<String, f64>,
    /// Bytes a second of siblings that want more, by their parent.
    rates: BTreeMap<String, f64>,
    /// The weights that are not as asked.
    trimmed: BTreeMap<String, Weight>,
    /// Weights cannot make good what is owed.
    spent: bool,
}

/// The group that `name` is in, `a` of `a/b`; the top is "".
fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(parent, _)| parent)
}

impl Trim {
    /// Nothing can be judged: the account begins anew. Who wants more is seen all the same.
    pub(crate) fn rest(&mut self, period: &Period) {
        let Self { wanting, others, .. } = std::mem::take(self);
        (self.wanting, self.others) = (wanting, others);
        self.counts(period);
    }

    /// Whether weights cannot make good what is owed: it is too much, or none of them may be changed.
    pub(crate) fn is_spent(&self) -> bool {
        self.spent
    }

    /// The weights of groups that are not to be as asked.
    pub(crate) fn weights(&self) -> &BTreeMap<String, Weight> {
        &self.trimmed
    }

    /// Whether the set of backlogged groups is the one this account was opened for. The account begins anew
    /// with another set only when that set has lasted for a while, because programs pause between two calls
    /// and new ones begin at any moment.
    fn counts(&mut self, period: &Period) -> bool {
        let wanting = period.groups.iter().filter(|group| group.backlogged);
        let wanting: BTreeSet<String> = wanting.map(|group| group.name.clone()).collect();
        if wanting == self.wanting {
            self.others = Default::default();
            return true;
        }
        if wanting != self.others.0 {
            self.others = (wanting, 0);
        }
        self.others.1 = self.others.1.saturating_add(period.duration_ns);
        if self.others.1 >= SETTLE_NS {
            *self = Self { wanting: std::mem::take(&mut self.others.0), ..Self::default() };
        }
        false
    }

    /// Takes a period, and changes weights. `piece_bytes`: the largest piece of any.
    pub(crate) fn step(&mut self, period: &Period, piece_bytes: f64) {
        let seconds = period.duration_ns as f64 / 1e9;
        let grain = piece_bytes * GRAIN;
        if !self.counts(period) || seconds <= 0.0 {
            return;
        }
        self.trimmed.clear();
        self.spent = false;
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
                    self.trimmed.insert(one.name.clone(), new);
                }
            }
        }
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
