//! Aggregations over series: at each step what the series of a group come to.

use crate::column::{ABSENT, Series, Value, is_absent};
use crate::error::{Result, execution, unsupported};
use crate::evaluate::Evaluation;
use crate::labels::Labels;
use crate::query::Times;
use crate::source::SERIES_VALUES;
use crate::sum::{Sum, mean, quantile, variance};
use promql_parser::parser::{AggregateExpr, LabelModifier};
use std::collections::HashMap;

/// Series of one group.
struct Group {
    labels: Labels,
    of: Vec<usize>,
}

impl Evaluation<'_> {
    pub(crate) fn aggregate(&mut self, of: &AggregateExpr, times: &Times) -> Result<Value> {
        let name = of.op.to_string();
        if matches!(name.as_str(), "limitk" | "limit_ratio") {
            return unsupported(format!("the experimental aggregation {name}"));
        }
        let series = self.series(&of.expr, times)?;
        let groups = groups(&series, of.modifier.as_ref());
        self.charge(groups.len().saturating_mul(SERIES_VALUES + times.count()))?;
        let parameter = |own: &mut Self| match &of.param {
            Some(parameter) => own.scalar(parameter, times),
            None => execution(format!("{name}: expected a number before the vector")),
        };
        let folded = |fold: &dyn Fn(&mut [f64], usize) -> f64| {
            Ok(Value::Vector(groups.iter().map(|group| group.fold(&series, times, fold)).collect()))
        };
        match name.as_str() {
            "sum" => folded(&|values, _| Sum::of(values.iter().copied())),
            "avg" => folded(&|values, _| mean(values)),
            "count" => folded(&|values, _| values.len() as f64),
            "group" => folded(&|_, _| 1.0),
            "min" => folded(&|values, _| extreme(values, |value, least| value < least)),
            "max" => folded(&|values, _| extreme(values, |value, most| value > most)),
            "stdvar" => folded(&|values, _| variance(values)),
            "stddev" => folded(&|values, _| variance(values).sqrt()),
            "quantile" => {
                let q = parameter(self)?;
                folded(&|values, step| quantile(q.get(step).copied().unwrap_or(f64::NAN), values))
            }
            "topk" | "bottomk" => {
                let k = parameter(self)?;
                ranked(series, &groups, times, &k, name == "topk").map(Value::Vector)
            }
            "count_values" => {
                let Some(label) = &of.param else { return execution("expected a label") };
                let label = self.text(label)?;
                if label.is_empty() {
                    return execution("invalid label name \"\"");
                }
                self.counted(&series, &groups, times, &label).map(Value::Vector)
            }
            _ => unsupported(format!("the aggregation {name}")),
        }
    }
}

fn groups(series: &[Series], modifier: Option<&LabelModifier>) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut places: HashMap<Labels, usize> = HashMap::new();
    for (at, one) in series.iter().enumerate() {
        let labels = match modifier {
            None => Labels::default(),
            Some(LabelModifier::Include(names)) => one.labels.only(&names.labels),
            Some(LabelModifier::Exclude(names)) => one.labels.without(&names.labels),
        };
        let place = *places.entry(labels.clone()).or_insert_with(|| {
            groups.push(Group { labels, of: Vec::new() });
            groups.len() - 1
        });
        if let Some(group) = groups.get_mut(place) {
            group.of.push(at);
        }
    }
    groups
}

impl Group {
    /// Values that are there at a step.
    fn values(&self, series: &[Series], step: usize, values: &mut Vec<f64>) {
        values.clear();
        let found = self.of.iter().filter_map(|at| series.get(*at)?.values.get(step));
        values.extend(found.copied().filter(|value| !is_absent(*value)));
    }

    fn fold(
        &self,
        series: &[Series],
        times: &Times,
        fold: &dyn Fn(&mut [f64], usize) -> f64,
    ) -> Series {
        let mut there = Vec::with_capacity(self.of.len());
        let at = |step: usize| {
            self.values(series, step, &mut there);
            if there.is_empty() { ABSENT } else { fold(&mut there, step) }
        };
        Series { labels: self.labels.clone(), values: (0..times.count()).map(at).collect() }
    }
}

/// The value that goes before all others; NaN only where there is nothing else.
fn extreme(values: &[f64], before: fn(f64, f64) -> bool) -> f64 {
    let best = |best: f64, value: &f64| {
        if before(*value, best) || best.is_nan() { *value } else { best }
    };
    values.iter().fold(f64::NAN, best)
}

/// The first `k` of each group, which stay what they are. At one time they come in their order.
fn ranked(
    mut series: Vec<Series>,
    groups: &[Group],
    times: &Times,
    k: &[f64],
    most: bool,
) -> Result<Vec<Series>> {
    if k.iter().any(|k| k.is_nan()) {
        return execution("Parameter value is NaN");
    }
    let mut order = Vec::new();
    for group in groups {
        for step in 0..times.count() {
            let k = k.get(step).copied().unwrap_or(0.0);
            let value = |at: &usize| {
                series.get(*at).and_then(|one| one.values.get(step)).copied().unwrap_or(ABSENT)
            };
            let mut there: Vec<usize> =
                group.of.iter().copied().filter(|at| !is_absent(value(at))).collect();
            // NaN is last either way, and of equal values the first comes first.
            there.sort_by(|a, b| {
                let (a, b) = (value(a), value(b));
                let by_value = if most { b.partial_cmp(&a) } else { a.partial_cmp(&b) };
                let by_value = by_value.unwrap_or(std::cmp::Ordering::Equal);
                a.is_nan().cmp(&b.is_nan()).then(by_value)
            });
            let keep = if k < 1.0 { 0 } else { k as usize };
            let (kept, left_out) = there.split_at(keep.min(there.len()));
            order.extend_from_slice(kept);
            for at in left_out {
                if let Some(value) = series.get_mut(*at).and_then(|one| one.values.get_mut(step)) {
                    *value = ABSENT;
                }
            }
        }
    }
    if times.is_one() {
        let mut slots: Vec<Option<Series>> = series.into_iter().map(Some).collect();
        let taken = order.iter().filter_map(|at| slots.get_mut(*at)?.take());
        return Ok(taken.collect());
    }
    Ok(series)
}

impl Evaluation<'_> {
    /// How many series have each value, which becomes a label: there may be as many as there are values.
    fn counted(
        &mut self,
        series: &[Series],
        groups: &[Group],
        times: &Times,
        label: &str,
    ) -> Result<Vec<Series>> {
        let mut found: Vec<Series> = Vec::new();
        let mut places: HashMap<Labels, usize> = HashMap::new();
        let mut there = Vec::new();
        for group in groups {
            for step in 0..times.count() {
                group.values(series, step, &mut there);
                for value in &there {
                    let mut labels = group.labels.clone();
                    labels.set(label, written(*value));
                    let at = match places.get(&labels) {
                        Some(at) => *at,
                        None => {
                            self.charge(SERIES_VALUES + times.count())?;
                            places.insert(labels.clone(), found.len());
                            found.push(Series { labels, values: vec![ABSENT; times.count()] });
                            found.len() - 1
                        }
                    };
                    let one = found.get_mut(at).and_then(|one| one.values.get_mut(step));
                    if let Some(count) = one {
                        *count = if is_absent(*count) { 1.0 } else { *count + 1.0 };
                    }
                }
            }
        }
        Ok(found)
    }
}

/// A number as Prometheus writes it.
fn written(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NaN".to_owned(),
        f64::INFINITY => "+Inf".to_owned(),
        f64::NEG_INFINITY => "-Inf".to_owned(),
        _ => value.to_string(),
    }
}
