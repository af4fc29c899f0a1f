//! Series for an expression, so that most of it has an answer.
//!
//! Each selector gets series that its matchers let through, and each metric one that they may not. Labels of
//! `by`, `on` and the like are on all of them; those by which series find each other differ from one to the
//! next, and are the same for all metrics. Counters are reset, gauges are often 0 or 1, buckets rise with
//! `le`; samples are missing, are NaN, or end the series. All follows from the seed.

use super::patterns::{matches, samples};
use super::scan::{Scanned, Selector};
use baro_promql::testing::Memory;
use baro_promql::{ABSENT, Labels};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const MS: i64 = 1_000_000;
/// Ranges up to which samples have this distance.
const STEPS_MS: [(i64, i64); 4] =
    [(600_000, 15_000), (7_200_000, 60_000), (172_800_000, 240_000), (i64::MAX, 3_600_000)];
/// Samples beside those of the longest range, and at most.
const POINTS_MORE: i64 = 50;
const POINTS_MAX: i64 = 400;

pub(crate) struct Made {
    pub(crate) load: String,
    pub(crate) memory: Memory,
    /// The largest value.
    pub(crate) scale: f64,
    pub(crate) step_ms: i64,
    pub(crate) end_ms: i64,
}

/// What the samples of a metric are.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Counter,
    /// Of all that a histogram has: not less than what is in a bucket.
    Count,
    /// 1, and 0 now and then.
    Flag,
    Gauge,
}

/// Numbers that follow from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

/// So many series for each selector; of one there are none that it may not let through.
pub(crate) fn made(scanned: &Scanned, seed: u64, each: usize) -> Made {
    let place = STEPS_MS.iter().find(|(longest_ms, _)| scanned.longest_ms <= *longest_ms);
    let (_, step_ms) = *place.unwrap();
    let points = (scanned.longest_ms / step_ms + POINTS_MORE).min(POINTS_MAX);
    let end_ms = step_ms * (points - 1);
    let load = format!("load {step_ms}ms\n");
    let mut made = Made { load, memory: Memory::default(), scale: 0.0, step_ms, end_ms };
    let mut numbers = Numbers(seed | 1);
    let mut names: BTreeMap<&str, Vec<&Selector>> = BTreeMap::new();
    for selector in &scanned.selectors {
        names.entry(&selector.metric).or_default().push(selector);
    }
    for (metric, selectors) in names {
        let names = names_of(scanned, &selectors);
        let mut sets: BTreeMap<BTreeMap<String, String>, usize> = BTreeMap::new();
        let nothing = Selector { metric: metric.to_owned(), ..Selector::default() };
        let other = (each > 1).then_some((&nothing, each));
        let all = selectors.iter().flat_map(|one| (0..each).map(move |at| (*one, at)));
        for (selector, at) in all.chain(other) {
            if let Some(labels) = labels(scanned, selector, &names, at) {
                sets.entry(labels).or_insert(at);
            }
        }
        let is_rate = selectors.iter().any(|one| one.is_rate);
        for (labels, at) in sets {
            let bounds = match metric.ends_with("_bucket") || names.contains("le") {
                true => bounds(&selectors),
                false => Vec::new(),
            };
            let lines = lines(kind(metric, is_rate), bounds.len().max(1), points, &mut numbers, at);
            for (which, values) in lines.iter().enumerate() {
                let mut labels = labels.clone();
                if let Some(bound) = bounds.get(which) {
                    labels.insert("le".to_owned(), bound.clone());
                }
                // Equal values leave open which of them `topk` takes.
                let more = if scanned.ranks { at as f64 / 512.0 } else { 0.0 };
                push(&mut made, labels, values, more);
            }
        }
    }
    made
}

/// Names of labels that a metric has: those that are asked of it anywhere, and those of lists. What is left out
/// the first metric has alone, as it is where one side says more than the other.
fn names_of(scanned: &Scanned, selectors: &[&Selector]) -> BTreeSet<String> {
    let asked = selectors.iter().flat_map(|one| &one.matchers).map(|matcher| &matcher.0);
    let mut names: BTreeSet<String> = asked.cloned().collect();
    let has_le = names.contains("le");
    names.extend(scanned.groups.iter().chain(&scanned.keys).cloned());
    names.extend(selectors.iter().flat_map(|one| one.read.keys()).cloned());
    names.insert("instance".to_owned());
    if scanned.selectors.first().is_some_and(|one| one.metric == selectors[0].metric) {
        names.extend(scanned.left_out.iter().cloned());
    }
    if !has_le {
        names.remove("le");
    }
    names.remove("__name__");
    names
}

/// Labels of series number `at` of a selector; `None` if nothing is known that it lets through.
fn labels(
    scanned: &Scanned,
    selector: &Selector,
    names: &BTreeSet<String>,
    at: usize,
) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    let metric = match selector.matchers.iter().any(|matcher| matcher.0 == "__name__") {
        true => value(scanned, selector, "__name__", at)?,
        false => selector.metric.clone(),
    };
    labels.insert("__name__".to_owned(), metric);
    for name in names.iter().filter(|name| *name != "le") {
        let value = value(scanned, selector, name, at)?;
        if !value.is_empty() {
            labels.insert(name.clone(), value);
        }
    }
    Some(labels)
}

/// A value of a label that the matchers let through.
fn value(scanned: &Scanned, selector: &Selector, name: &str, at: usize) -> Option<String> {
    let is_key = scanned.keys.contains(name) || name == "instance";
    let mut candidates = vec![format!("{name}-{}", if is_key { at } else { at % 2 })];
    let mut asked: Vec<(&str, &str)> = Vec::new();
    let matchers = selector.matchers.iter().filter(|matcher| matcher.0 == name);
    asked.extend(matchers.map(|matcher| (matcher.1.as_str(), matcher.2.as_str())));
    if let Some(pattern) = selector.read.get(name) {
        asked.push(("=~", pattern));
    }
    for (operator, wanted) in &asked {
        match *operator {
            "=" => candidates.push((*wanted).to_owned()),
            "=~" => {
                let mut found = samples(wanted, &candidates[0]);
                let turns = at % found.len().max(1);
                found.rotate_left(turns);
                candidates.append(&mut found);
            }
            _ => {}
        }
    }
    candidates.extend([format!("other-{at}"), String::new()]);
    candidates.into_iter().find(|candidate| {
        asked.iter().all(|(operator, wanted)| match *operator {
            "=" => candidate == wanted,
            "!=" => candidate != wanted,
            "=~" => matches(wanted, candidate),
            _ => !matches(wanted, candidate),
        })
    })
}

/// Upper bounds of buckets: some, and those that are asked for.
fn bounds(selectors: &[&Selector]) -> Vec<String> {
    let asked = selectors.iter().flat_map(|one| &one.matchers);
    let asked = asked.filter(|matcher| matcher.0 == "le" && matcher.1 == "=");
    let mut all: Vec<String> = asked.map(|matcher| matcher.2.clone()).collect();
    all.extend(["0.1", "1", "10", "+Inf"].map(str::to_owned));
    let number = |text: &String| text.parse::<f64>().unwrap_or(0.0);
    all.sort_by(|a, b| number(a).total_cmp(&number(b)));
    all.dedup();
    all
}

fn kind(metric: &str, is_rate: bool) -> Kind {
    let ends = ["_total", "_sum", "_bucket"];
    let flags = ["info", "up", "status", "ready", "condition", "phase", "health", "has_leader"];
    match () {
        () if metric.ends_with("_count") => Kind::Count,
        () if is_rate || ends.iter().any(|end| metric.ends_with(end)) => Kind::Counter,
        () if flags.iter().any(|word| metric.contains(word)) => Kind::Flag,
        () => Kind::Gauge,
    }
}

/// Values of a series, or of the buckets of one; `None` where there is no sample.
fn lines(
    kind: Kind,
    count: usize,
    points: i64,
    numbers: &mut Numbers,
    at: usize,
) -> Vec<Vec<Option<f64>>> {
    let mut lines = vec![Vec::new(); count];
    let mut counts = vec![0.0; count];
    for _ in 0..points {
        let chance = numbers.below(200);
        if chance < 4 {
            counts.fill(0.0);
        }
        let mut below = 0.0;
        for (count, line) in counts.iter_mut().zip(&mut lines) {
            // A bucket has what those below it have.
            below += numbers.below(40) as f64 / 4.0;
            *count += below;
            let value = match kind {
                Kind::Counter => *count,
                Kind::Count => *count * 8.0,
                Kind::Flag => f64::from(numbers.below(8) > 0),
                Kind::Gauge => match numbers.below(6) {
                    0 => 0.0,
                    1 => 1.0,
                    _ => numbers.below(4_000) as f64 / 4.0,
                },
            };
            line.push(match chance {
                10..=16 => None,
                20..=21 => Some(ABSENT),
                30..=32 if at == 1 && kind == Kind::Gauge => Some(f64::NAN),
                // One bucket alone is missing.
                40..=41 if numbers.below(4) == 0 => None,
                _ => Some(value),
            });
        }
    }
    lines
}

fn push(made: &mut Made, labels: BTreeMap<String, String>, values: &[Option<f64>], more: f64) {
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let pairs: Vec<String> =
        labels.iter().map(|(name, value)| format!("{name}=\"{}\"", quoted(value))).collect();
    write!(made.load, "  {{{}}}", pairs.join(",")).unwrap();
    let labels = Labels::new(labels);
    for (point, value) in (0_i64..).zip(values) {
        let Some(value) = value else {
            made.load.push_str(" _");
            continue;
        };
        let is_end = value.to_bits() == ABSENT.to_bits();
        let value = if is_end || value.is_nan() { *value } else { *value + more };
        made.memory.insert(labels.clone(), point * made.step_ms * MS, value);
        match value {
            _ if is_end => made.load.push_str(" stale"),
            _ if value.is_nan() => made.load.push_str(" NaN"),
            _ => {
                made.scale = made.scale.max(value.abs());
                write!(made.load, " {value}").unwrap();
            }
        }
    }
    made.load.push('\n');
}
