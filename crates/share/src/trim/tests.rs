//! Simulated schedulers that keep something from a group, and whether the trimmed weights make it good.

use super::*;
use crate::cgroup::Served;
use crate::control::GroupPeriod;
use crate::observe::Work;

const PERIOD_NS: u64 = 500_000_000;
const BYTES: f64 = 6e6;

fn period(groups: &[(&str, u16, f64)]) -> Period {
    let groups = groups.iter().map(|(name, weight, bytes)| GroupPeriod {
        name: (*name).to_owned(),
        weight: Weight::new(*weight).unwrap(),
        served: Served { read_bytes: 0, written_bytes: *bytes as u64 },
        backlogged: *bytes > 0.0,
        uncut: false,
        trimmable: true,
    });
    Period { duration_ns: PERIOD_NS, work: Work::default(), groups: groups.collect() }
}

fn step(trim: &mut Trim, period: &Period, piece_bytes: f64) -> BTreeMap<String, Weight> {
    trim.step(period, piece_bytes);
    trim.weights().clone()
}

/// A minute in which the scheduler divides by the weights that it has, but `lost` (of the share, at each
/// period) of `a` goes to `b`. Gives their ratio, and the least and the most weight of `a`.
fn minute(trim: &mut Trim, weight: (u16, u16), lost: impl Fn(usize) -> f64) -> (f64, u16, u16) {
    let (mut a, mut b) = weight;
    let (mut got_a, mut got_b, mut least, mut most) = (0.0, 0.0, u16::MAX, 0);
    for index in 0..120 {
        let share = f64::from(a) / f64::from(a + b) - lost(index);
        let bytes = (share * BYTES, (1.0 - share) * BYTES);
        let weights =
            step(trim, &period(&[("a", weight.0, bytes.0), ("b", weight.1, bytes.1)]), 4e5);
        let now = |name: &str, asked: u16| weights.get(name).map_or(asked, |one| one.get());
        (a, b) = (now("a", weight.0), now("b", weight.1));
        (got_a, got_b) = (got_a + bytes.0, got_b + bytes.1);
        (least, most) = (least.min(a), most.max(a));
    }
    (got_a / got_b, least, most)
}

#[test]
fn what_a_scheduler_keeps_from_a_group_is_made_good() {
    for (weight, asked) in [((200, 100), 2.0), ((300, 200), 1.5), ((10, 5), 2.0)] {
        let mut trim = Trim::default();
        // At first nothing is known; then it holds: over each minute.
        minute(&mut trim, weight, |_| 0.03);
        let (steady, ..) = minute(&mut trim, weight, |_| 0.03);
        assert!((steady / asked - 1.0).abs() < 0.015, "{weight:?}: {steady}");
        let (jumps, ..) = minute(&mut trim, weight, |at| if at % 20 < 4 { 0.1 } else { 0.0 });
        assert!((jumps / asked - 1.0).abs() < 0.015, "{weight:?}: {jumps}");
    }
    let without = 0.6367 / 0.3633;
    assert!(without < 1.8, "what it would be");
}

#[test]
fn nothing_is_trimmed_where_weights_hold() {
    let mut trim = Trim::default();
    let (ratio, least, most) = minute(&mut trim, (200, 100), |_| 0.0);
    assert_eq!((least, most), (200, 200), "{ratio}");
    // A part of a piece more or less at the end of a period is no debt.
    let (_, least, most) = minute(&mut trim, (200, 100), |at| [0.01, -0.01][at % 2]);
    assert_eq!((least, most), (200, 200));
}

#[test]
fn no_trim_is_beyond_a_quarter_and_none_outlives_its_load() {
    let mut trim = Trim::default();
    // One that gets nothing of what it wants, for whatever reason.
    let (_, least, most) = minute(&mut trim, (200, 100), |_| 0.6);
    // The other's quarter is an eighth of this one.
    assert_eq!((least, most), (200, 225));
    assert!(trim.is_spent());
    assert!(
        trim.owed.values().sum::<f64>().abs() < 1.0,
        "what one lacks others had: {:?}",
        trim.owed
    );
    // What was owed meanwhile is bounded: it is repaid soon after.
    let (ratio, ..) = minute(&mut trim, (200, 100), |_| 0.0);
    assert!(ratio < 2.2, "{ratio}");
    minute(&mut trim, (200, 100), |_| 0.1);
    assert!(!trim.owed.is_empty());
    // Where nothing can be judged nothing is owed, and who wants more is known when it can be again.
    let one = period(&[("a", 200, 1e6), ("b", 100, 5e6)]);
    trim.rest(&one);
    assert!(trim.owed.is_empty() && trim.weights().is_empty());
    assert!(!step(&mut trim, &one, 0.0).is_empty());
    let mut new = Trim::default();
    assert!(step(&mut new, &one, 0.0).is_empty(), "the first seconds are no account");
}

#[test]
fn a_pause_between_two_calls_is_no_other_load() {
    let mut trim = Trim::default();
    let lacks = period(&[("a", 200, 3.8e6), ("b", 100, 2.2e6)]);
    (0..20).for_each(|_| trim.step(&lacks, 0.0));
    let before = trim.owed.clone();
    assert!(before["a"] > 0.0);
    // It has nothing under way for a moment, and the other has the disk: nobody owes anybody for it.
    let alone = period(&[("a", 200, 0.0), ("b", 100, 6e6)]);
    let weights = step(&mut trim, &alone, 0.0);
    assert_eq!(trim.owed, before);
    assert!(weights["a"].get() > 200);
    trim.step(&lacks, 0.0);
    assert!(trim.owed["a"] > before["a"]);
    // For two seconds, and it is another load.
    (0..4).for_each(|_| trim.step(&alone, 0.0));
    assert!(trim.owed.is_empty() && trim.weights().is_empty());
}

#[test]
fn only_siblings_that_want_more_pay_each_other() {
    let mut trim = Trim::default();
    let one = period(&[("a", 200, 3e6), ("b/x", 300, 1e6), ("b/y", 100, 2e6), ("c", 100, 0.0)]);
    let mut last = BTreeMap::new();
    for _ in 0..20 {
        last = step(&mut trim, &one, 0.0);
    }
    let names: Vec<_> = last.keys().map(String::as_str).collect();
    assert_eq!(names, ["b/x", "b/y"]);
    assert!(last["b/x"].get() > 300 && last["b/y"].get() < 100, "{last:?}");
}

#[test]
fn a_weight_that_may_not_be_changed_is_not() {
    let mut trim = Trim::default();
    let mut one = period(&[("a", 200, 3.9e6), ("b", 100, 2.1e6)]);
    one.groups[0].trimmable = false;
    let mut some = |one: &Period| {
        let steps = (0..8).map(|_| step(&mut trim, one, 0.0));
        steps.last().unwrap_or_default()
    };
    let names: Vec<String> = some(&one).into_keys().collect();
    assert_eq!(names, ["b"], "its sibling's is enough");
    one.groups[1].trimmable = false;
    assert!(some(&one).is_empty());
    assert!(trim.is_spent());
}

#[test]
fn any_figures_are_taken() {
    let mut trim = Trim::default();
    for bytes in [0.0, 1.0, 1e19, f64::MAX, f64::NAN] {
        for duration_ns in [0, 1, u64::MAX] {
            let mut one = period(&[("a", 1, bytes), ("b", 1000, 1.0), ("b/c", 7, bytes)]);
            one.duration_ns = duration_ns;
            one.groups.iter_mut().for_each(|group| group.backlogged = true);
            for piece_bytes in [1e300, 0.0] {
                let weights = step(&mut trim, &one, piece_bytes);
                assert!(weights.values().all(|weight| (1..=1000).contains(&weight.get())));
            }
        }
    }
}
