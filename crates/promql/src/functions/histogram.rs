//! Quantiles of histograms whose buckets are series with a label `le`.

use crate::column::{ABSENT, Series, Value, is_absent};
use crate::error::Result;
use crate::labels::Labels;
use std::collections::HashMap;

/// Counts that differ by less than this share are the same: sums of rates are not exact.
const SAME: f64 = 1e-12;

/// A bucket: its upper bound, and how many are not above it.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    upper: f64,
    count: f64,
}

/// The quantile of each histogram at each step.
pub(super) fn quantiles(q: &[f64], series: Vec<Series>) -> Result<Value> {
    Ok(of_each(q.len(), series, |step, buckets| {
        q.get(step).map_or(f64::NAN, |q| quantile(*q, buckets))
    }))
}

/// The share of each histogram that is between two values.
pub(super) fn fractions(lower: &[f64], upper: &[f64], series: Vec<Series>) -> Result<Value> {
    Ok(of_each(lower.len(), series, |step, buckets| match (lower.get(step), upper.get(step)) {
        (Some(lower), Some(upper)) => fraction(*lower, *upper, buckets),
        _ => f64::NAN,
    }))
}

/// What the buckets of each histogram come to at each step.
fn of_each(steps: usize, series: Vec<Series>, of: impl Fn(usize, Vec<Bucket>) -> f64) -> Value {
    let mut order: Vec<(Labels, Vec<(f64, Series)>)> = Vec::new();
    let mut places: HashMap<Labels, usize> = HashMap::new();
    for one in series {
        let Some(upper) = bound(one.labels.get("le")) else { continue };
        let labels = one.labels.without(&["le".to_owned()]);
        let at = *places.entry(labels.clone()).or_insert_with(|| {
            order.push((labels, Vec::new()));
            order.len() - 1
        });
        if let Some((_, buckets)) = order.get_mut(at) {
            buckets.push((upper, one));
        }
    }
    let mut found = Vec::new();
    for (labels, buckets) in order {
        let at = |step: usize| {
            let there = buckets.iter().filter_map(|(upper, one)| {
                let count = *one.values.get(step)?;
                (!is_absent(count)).then_some(Bucket { upper: *upper, count })
            });
            let there: Vec<Bucket> = there.collect();
            if there.is_empty() { ABSENT } else { of(step, there) }
        };
        found.push(Series { labels, values: (0..steps).map(at).collect() });
    }
    Value::Vector(found)
}

fn bound(text: &str) -> Option<f64> {
    match text {
        "+Inf" | "Inf" | "inf" | "+inf" => Some(f64::INFINITY),
        "-Inf" | "-inf" => Some(f64::NEG_INFINITY),
        // Not a number is no bound.
        _ => text.parse().ok().filter(|bound: &f64| !bound.is_nan()),
    }
}

fn quantile(q: f64, mut buckets: Vec<Bucket>) -> f64 {
    if q.is_nan() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    if !sorted(&mut buckets) {
        return f64::NAN;
    }
    rising(&mut buckets);
    let (Some(last), true) = (buckets.last().copied(), buckets.len() >= 2) else {
        return f64::NAN;
    };
    if last.count == 0.0 || last.count.is_nan() {
        return f64::NAN;
    }
    let mut rank = q * last.count;
    let others = buckets.len() - 1;
    let at = buckets.iter().take(others).position(|bucket| bucket.count >= rank).unwrap_or(others);
    let (Some(found), before) = (buckets.get(at), at.checked_sub(1).and_then(|at| buckets.get(at)))
    else {
        return f64::NAN;
    };
    match before {
        Some(before) if at == others => before.upper,
        None if found.upper <= 0.0 => found.upper,
        _ => {
            let (start, below) = before.map_or((0.0, 0.0), |before| (before.upper, before.count));
            let count = found.count - below;
            rank -= below;
            start + (found.upper - start) * (rank / count)
        }
    }
}

/// Sorts them, and puts those of one bound together; false if there is none for all values.
fn sorted(buckets: &mut Vec<Bucket>) -> bool {
    buckets.sort_by(|a, b| a.upper.total_cmp(&b.upper));
    buckets.dedup_by(|next, kept| {
        let same = next.upper == kept.upper;
        kept.count += if same { next.count } else { 0.0 };
        same
    });
    buckets.last().is_some_and(|last| last.upper == f64::INFINITY)
}

fn fraction(lower: f64, upper: f64, mut buckets: Vec<Bucket>) -> f64 {
    if !sorted(&mut buckets) || lower.is_nan() || upper.is_nan() {
        return f64::NAN;
    }
    let Some(count) = buckets.last().map(|last| last.count).filter(|count| *count != 0.0) else {
        return f64::NAN;
    };
    if lower >= upper {
        return 0.0;
    }
    (below(upper, &buckets) - below(lower, &buckets)) / count
}

/// How many are below a value: within a bucket in proportion. The first one begins at 0, or nowhere if
/// it ends below that; such a bucket, and the last one, are not divided.
fn below(value: f64, buckets: &[Bucket]) -> f64 {
    let first = buckets.first().is_some_and(|bucket| bucket.upper > 0.0);
    let (mut start, mut before) = (if first { 0.0 } else { f64::NEG_INFINITY }, 0.0);
    for Bucket { upper, count } in buckets {
        if start >= value {
            return before;
        }
        if *upper > value {
            return match start == f64::NEG_INFINITY {
                true => *count,
                false => before + (count - before) * (value - start) / (upper - start),
            };
        }
        (start, before) = (*upper, *count);
    }
    before
}

/// Counts do not fall from bucket to bucket; where they do, they were not taken at one moment.
fn rising(buckets: &mut [Bucket]) {
    let Some(mut before) = buckets.first().map(|bucket| bucket.count) else { return };
    for bucket in buckets.iter_mut().skip(1) {
        let off = (bucket.count - before).abs();
        let small = off <= SAME * (bucket.count.abs() + before.abs()).min(f64::MAX);
        if small || bucket.count < before {
            bucket.count = before;
        }
        before = bucket.count;
    }
}
