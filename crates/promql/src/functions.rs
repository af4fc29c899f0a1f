//! Functions, by their names.

mod dates;
mod histogram;
mod labels;
mod math;
mod over_time;
mod rates;

use crate::column::{ABSENT, Series, Value, is_absent, map, nameless};
use crate::error::{Result, execution, unsupported};
use crate::evaluate::{Evaluation, Ranges};
use crate::labels::{Labels, NAME};
use crate::query::Times;
use crate::select::matchers;
use over_time::Window;
use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{Call, Expr};
use std::collections::HashMap;

impl Evaluation<'_> {
    pub(crate) fn call(&mut self, call: &Call, times: &Times) -> Result<Value> {
        let name = call.func.name;
        if call.func.experimental {
            return unsupported(format!("the experimental function {name}()"));
        }
        let arguments: Vec<&Expr> = call.args.args.iter().map(AsRef::as_ref).collect();
        let arguments = arguments.as_slice();
        if let Some(of) = math::function(name) {
            return self.each(arguments, times, |values| map(values, of));
        }
        if let Some(of) = dates::function(name) {
            return self.date(arguments, times, of);
        }
        if let Some(over_time) = over_time::function(name) {
            return self
                .over(arguments, times, over_time.keeps_name, |window, _| (over_time.of)(window));
        }
        // What it makes of a number at each step.
        self.charge(times.count())?;
        match (name, arguments) {
            ("time", []) => Ok(Value::Scalar(seconds(times))),
            ("pi", []) => Ok(Value::Scalar(vec![std::f64::consts::PI; times.count()])),
            ("vector", [of]) => {
                let values = self.scalar(of, times)?;
                Ok(Value::Vector(vec![Series { labels: Labels::default(), values }]))
            }
            ("scalar", [of]) => {
                let series = self.series(of, times)?;
                Ok(Value::Scalar(only_one(&series, times.count())))
            }
            ("timestamp", [of]) => self.timestamp(of, times),
            ("sort", [of]) => self.sorted(of, times, f64::total_cmp),
            ("sort_desc", [of]) => self.sorted(of, times, |a, b| b.total_cmp(a)),
            ("clamp", [of, least, most]) => {
                let (least, most) = (self.scalar(least, times)?, self.scalar(most, times)?);
                self.clamp(of, times, &least, &most)
            }
            ("clamp_min", [of, least]) => {
                let least = self.scalar(least, times)?;
                self.clamp(of, times, &least, &vec![f64::INFINITY; times.count()])
            }
            ("clamp_max", [of, most]) => {
                let most = self.scalar(most, times)?;
                self.clamp(of, times, &vec![f64::NEG_INFINITY; times.count()], &most)
            }
            ("round", [of, rest @ ..]) => {
                let to = match rest {
                    [to] => self.scalar(to, times)?,
                    _ => vec![1.0; times.count()],
                };
                let of = &[*of];
                self.each(of, times, |values| {
                    for (value, to) in values.iter_mut().zip(&to) {
                        // By the inverse, as Prometheus does: 1/0.1 is exact where 0.1 is not.
                        let inverse = 1.0 / to;
                        map(std::slice::from_mut(value), |value| {
                            (value * inverse + 0.5).floor() / inverse
                        });
                    }
                })
            }
            ("predict_linear", [of, ahead]) => {
                let ahead = self.scalar(ahead, times)?;
                self.over(&[*of], times, false, |window, step| {
                    let ahead = ahead.get(step).copied().unwrap_or(f64::NAN);
                    rates::predicted(window, times.time_ns(step), ahead)
                })
            }
            ("quantile_over_time", [q, of]) => {
                let q = self.scalar(q, times)?;
                self.over(&[*of], times, false, |window, step| {
                    let q = q.get(step).copied().unwrap_or(f64::NAN);
                    Some(crate::sum::quantile(q, &mut window.values.to_vec()))
                })
            }
            _ => self.call_of_labels(name, arguments, times),
        }
    }

    /// Functions that make or read labels.
    fn call_of_labels(&mut self, name: &str, arguments: &[&Expr], times: &Times) -> Result<Value> {
        match (name, arguments) {
            ("absent", [of]) => {
                let series = self.series(of, times)?;
                Ok(Value::Vector(absent(labels_asked(of)?, times.count(), &series)))
            }
            ("absent_over_time", [of]) => {
                let found = self.over(&[*of], times, true, |_, _| Some(1.0))?;
                let Value::Vector(series) = found else { return execution("expected a range") };
                Ok(Value::Vector(absent(labels_asked(of)?, times.count(), &series)))
            }
            ("label_replace", [of, to, replacement, from, pattern]) => {
                let series = self.series(of, times)?;
                let texts = [to, replacement, from, pattern].map(|of| self.text(of));
                labels::replace(series, texts)
            }
            ("label_join", [of, to, between, from @ ..]) => {
                let series = self.series(of, times)?;
                let from: Result<Vec<String>> = from.iter().map(|of| self.text(of)).collect();
                labels::join(series, &self.text(to)?, &self.text(between)?, &from?)
            }
            ("histogram_quantile", [q, of]) => {
                let q = self.scalar(q, times)?;
                let series = self.series(of, times)?;
                histogram::quantiles(&q, series)
            }
            ("histogram_fraction", [lower, upper, of]) => {
                let (lower, upper) = (self.scalar(lower, times)?, self.scalar(upper, times)?);
                let series = self.series(of, times)?;
                histogram::fractions(&lower, &upper, series)
            }
            _ if name.starts_with("histogram_") => {
                unsupported(format!("{name}(), which is of native histograms,"))
            }
            _ => unsupported(format!("the function {name}()")),
        }
    }

    /// A function of each value.
    fn each(
        &mut self,
        arguments: &[&Expr],
        times: &Times,
        mut of: impl FnMut(&mut [f64]),
    ) -> Result<Value> {
        let [argument] = arguments else { return execution("expected one argument") };
        let mut series = self.series(argument, times)?;
        series.iter_mut().for_each(|one| of(&mut one.values));
        nameless(series).map(Value::Vector)
    }

    fn clamp(&mut self, of: &Expr, times: &Times, least: &[f64], most: &[f64]) -> Result<Value> {
        self.each(&[of], times, |values| {
            for (value, (least, most)) in values.iter_mut().zip(least.iter().zip(most)) {
                if least > most {
                    *value = ABSENT;
                }
                map(std::slice::from_mut(value), |value| greater(*least, smaller(*most, value)));
            }
        })
    }

    fn date(&mut self, arguments: &[&Expr], times: &Times, of: fn(f64) -> f64) -> Result<Value> {
        if arguments.is_empty() {
            let mut values = seconds(times);
            map(&mut values, of);
            return Ok(Value::Vector(vec![Series { labels: Labels::default(), values }]));
        }
        self.each(arguments, times, |values| map(values, of))
    }

    /// A function of the samples of a range.
    fn over(
        &mut self,
        arguments: &[&Expr],
        times: &Times,
        keeps_name: bool,
        of: impl Fn(&Window<'_>, usize) -> Option<f64>,
    ) -> Result<Value> {
        let [argument] = arguments else { return execution("expected one argument") };
        let Ranges { series, range_ns, look } = self.ranges(argument, times)?;
        self.charge(series.len().saturating_mul(times.count()))?;
        let mut found = Vec::with_capacity(series.len());
        for one in series {
            let (mut first, mut end) = (0, 0);
            let mut values = Vec::with_capacity(times.count());
            for step in 0..times.count() {
                let end_ns = look.time_ns(times.time_ns(step));
                let start_ns = end_ns.saturating_sub(range_ns);
                let before = |at: usize, bound_ns: i64| {
                    one.times_ns.get(at).is_some_and(|time_ns| *time_ns <= bound_ns)
                };
                while before(first, start_ns) {
                    first += 1;
                }
                while before(end, end_ns) {
                    end += 1;
                }
                let within = first..end.max(first);
                let window = Window {
                    times_ns: one.times_ns.get(within.clone()).unwrap_or(&[]),
                    values: one.values.get(within).unwrap_or(&[]),
                    start_ns,
                    end_ns,
                };
                // Ranges of neighbouring steps overlap: together they may be far more than there are samples.
                self.spend(1 + window.values.len())?;
                let value = (!window.values.is_empty()).then(|| of(&window, step)).flatten();
                values.push(value.unwrap_or(ABSENT));
            }
            if values.iter().all(|value| is_absent(*value)) {
                continue;
            }
            let labels = if keeps_name { one.labels } else { one.labels.without_name() };
            found.push(Series { labels, values });
        }
        if !keeps_name {
            let mut seen = std::collections::HashSet::new();
            if !found.iter().all(|one| seen.insert(&one.labels)) {
                return execution("vector cannot contain metrics with the same labelset");
            }
        }
        Ok(Value::Vector(found))
    }

    /// When the samples were, or the steps if it is of anything else.
    fn timestamp(&mut self, of: &Expr, times: &Times) -> Result<Value> {
        match of {
            Expr::Paren(paren) => self.timestamp(&paren.expr, times),
            Expr::VectorSelector(selector) => {
                nameless(self.vector(selector, times, true)?).map(Value::Vector)
            }
            _ => {
                let seconds = seconds(times);
                self.each(&[of], times, |values| {
                    for (value, seconds) in values.iter_mut().zip(&seconds) {
                        map(std::slice::from_mut(value), |_| *seconds);
                    }
                })
            }
        }
    }

    /// By value at one time; of several there is no order.
    fn sorted(
        &mut self,
        of: &Expr,
        times: &Times,
        order: fn(&f64, &f64) -> std::cmp::Ordering,
    ) -> Result<Value> {
        let mut series = self.series(of, times)?;
        if times.is_one() {
            let value = |one: &Series| one.values.first().copied().unwrap_or(ABSENT);
            series.retain(|one| !is_absent(value(one)));
            // NaN is last either way.
            series.sort_by(|a, b| {
                let (a, b) = (value(a), value(b));
                a.is_nan().cmp(&b.is_nan()).then_with(|| order(&a, &b))
            });
        }
        Ok(Value::Vector(series))
    }
}

/// The smaller one, NaN if one is; but minus infinity goes before that, as in Go.
fn smaller(a: f64, b: f64) -> f64 {
    let nothing_less = a == f64::NEG_INFINITY || b == f64::NEG_INFINITY;
    match () {
        () if nothing_less => f64::NEG_INFINITY,
        () if a.is_nan() || b.is_nan() => f64::NAN,
        () => a.min(b),
    }
}

/// The greater one, in the same way.
fn greater(a: f64, b: f64) -> f64 {
    -smaller(-a, -b)
}

/// Each step's time.
fn seconds(times: &Times) -> Vec<f64> {
    (0..times.count()).map(|at| times.time_ns(at) as f64 / 1e9).collect()
}

/// The value where there is one series, else NaN.
fn only_one(series: &[Series], steps: usize) -> Vec<f64> {
    let at = |step: usize| {
        let values = series.iter().filter_map(|one| one.values.get(step));
        let mut there = values.copied().filter(|value| !is_absent(*value));
        match (there.next(), there.next()) {
            (Some(value), None) => value,
            _ => f64::NAN,
        }
    };
    (0..steps).map(at).collect()
}

/// 1 where no series has a value.
fn absent(labels: Labels, steps: usize, series: &[Series]) -> Vec<Series> {
    let at = |step: usize| {
        let there = |one: &Series| one.values.get(step).is_some_and(|value| !is_absent(*value));
        if series.iter().any(there) { ABSENT } else { 1.0 }
    };
    let values: Vec<f64> = (0..steps).map(at).collect();
    match values.iter().all(|value| is_absent(*value)) {
        true => Vec::new(),
        false => vec![Series { labels, values }],
    }
}

/// Labels that a selector names with one value each.
fn labels_asked(of: &Expr) -> Result<Labels> {
    let asked = match of {
        Expr::Paren(paren) => return labels_asked(&paren.expr),
        Expr::VectorSelector(selector) => matchers(selector)?,
        Expr::MatrixSelector(matrix) => matchers(&matrix.vs)?,
        _ => Vec::new(),
    };
    let mut times: HashMap<&str, usize> = HashMap::new();
    asked.iter().for_each(|matcher| *times.entry(&matcher.name).or_default() += 1);
    let equal = |matcher: &&Matcher| {
        let alone = times.get(matcher.name.as_str()) == Some(&1);
        matches!(matcher.op, MatchOp::Equal) && alone && matcher.name != NAME
    };
    let pairs = asked.iter().filter(equal);
    Ok(Labels::new(pairs.map(|matcher| (matcher.name.as_str(), matcher.value.as_str()))))
}
