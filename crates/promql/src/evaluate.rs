//! A query, part by part.

use crate::column::{Series, Value, is_absent, map, nameless};
use crate::error::{Error, Result, execution, unsupported};
use crate::labels::Labels;
use crate::query::{Points, Times};
use crate::select::{Look, ns};
use crate::source::{SERIES_VALUES, Samples, Source};
use promql_parser::label::Matcher;
use promql_parser::parser::{Expr, SubqueryExpr};

/// What deep parts of a query may be: each takes some of the stack.
const DEPTH_MAX: usize = 200;

/// A query under way.
pub(crate) struct Evaluation<'a> {
    source: &'a dyn Source,
    query: &'a Times,
    /// Values that may still be held.
    left: usize,
    depth: usize,
    /// Values worked off since it was asked whether there is time.
    worked: usize,
}

/// Values between two questions whether there is time: some milliseconds.
const WORKED_MAX: usize = 1 << 20;

/// Samples that functions over a range get: of each series, and where each step looks.
pub(crate) struct Ranges {
    pub(crate) series: Vec<Samples>,
    pub(crate) range_ns: i64,
    pub(crate) look: Look,
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(source: &'a dyn Source, query: &'a Times) -> Self {
        Evaluation { source, query, left: query.values_max, depth: 0, worked: 0 }
    }

    /// The times of the whole query.
    pub(crate) fn query(&self) -> &'a Times {
        self.query
    }

    /// So many values are about to be held.
    pub(crate) fn charge(&mut self, values: usize) -> Result<()> {
        let limit = self.query.values_max;
        self.left = self.left.checked_sub(values).ok_or(Error::TooMuch { limit })?;
        self.spend(values)
    }

    /// So many values are worked off.
    pub(crate) fn spend(&mut self, values: usize) -> Result<()> {
        self.worked = self.worked.saturating_add(values);
        if self.worked > WORKED_MAX {
            self.worked = 0;
            if !self.source.goes_on() {
                return Err(Error::Late);
            }
        }
        Ok(())
    }

    pub(crate) fn select(
        &mut self,
        matchers: &[Matcher],
        from_ns: i64,
        to_ns: i64,
    ) -> Result<Vec<Samples>> {
        let found = self.source.select(matchers, from_ns, to_ns, self.left)?;
        self.charge(found.iter().map(|samples| SERIES_VALUES + samples.values.len()).sum())?;
        Ok(found)
    }

    /// The value of an expression at these times.
    pub(crate) fn value(&mut self, of: &Expr, times: &Times) -> Result<Value> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return execution(format!("expected at most {DEPTH_MAX} parts within each other"));
        }
        let value = self.part(of, times);
        self.depth -= 1;
        value
    }

    fn part(&mut self, of: &Expr, times: &Times) -> Result<Value> {
        match of {
            Expr::NumberLiteral(number) => {
                // Within a subquery these are many, and there may be as many of them as parts.
                self.charge(times.count())?;
                Ok(Value::Scalar(vec![number.val; times.count()]))
            }
            Expr::StringLiteral(text) => Ok(Value::Text(text.val.clone())),
            Expr::Paren(paren) => self.value(&paren.expr, times),
            Expr::VectorSelector(selector) => {
                self.vector(selector, times, false).map(Value::Vector)
            }
            Expr::Unary(unary) => Ok(match self.value(&unary.expr, times)? {
                Value::Scalar(mut values) => {
                    values.iter_mut().for_each(|value| *value = -*value);
                    Value::Scalar(values)
                }
                Value::Vector(mut series) => {
                    series.iter_mut().for_each(|one| map(&mut one.values, |value| -value));
                    Value::Vector(nameless(series)?)
                }
                Value::Text(_) => return execution("a text has no sign"),
            }),
            Expr::Aggregate(aggregate) => self.aggregate(aggregate, times),
            Expr::Binary(binary) => self.binary(binary, times),
            Expr::Call(call) => self.call(call, times),
            Expr::MatrixSelector(_) | Expr::Subquery(_) => {
                execution("a range has no value by itself: expected a function around it")
            }
            Expr::Extension(_) => unsupported("an extension of the language"),
        }
    }

    /// The value of an expression that is a vector.
    pub(crate) fn series(&mut self, of: &Expr, times: &Times) -> Result<Vec<Series>> {
        match self.value(of, times)? {
            Value::Vector(series) => Ok(series),
            _ => execution("expected an instant vector, found a scalar or a text"),
        }
    }

    /// The value of an expression that is a number at each step.
    pub(crate) fn scalar(&mut self, of: &Expr, times: &Times) -> Result<Vec<f64>> {
        match self.value(of, times)? {
            Value::Scalar(values) => Ok(values),
            _ => execution("expected a scalar, found a vector or a text"),
        }
    }

    /// A text that is written in the query.
    pub(crate) fn text(&self, of: &Expr) -> Result<String> {
        match of {
            Expr::StringLiteral(text) => Ok(text.val.clone()),
            Expr::Paren(paren) => self.text(&paren.expr),
            _ => execution("expected a text"),
        }
    }

    /// Samples of a range.
    pub(crate) fn ranges(&mut self, of: &Expr, times: &Times) -> Result<Ranges> {
        match of {
            Expr::Paren(paren) => self.ranges(&paren.expr, times),
            Expr::MatrixSelector(matrix) => {
                let range_ns = ns(matrix.range);
                let (mut series, look) = self.samples(&matrix.vs, range_ns, times)?;
                series.iter_mut().for_each(without_ends);
                Ok(Ranges { series, range_ns, look })
            }
            Expr::Subquery(subquery) => self.subquery(subquery, times),
            _ => execution("expected a range vector"),
        }
    }

    /// The inner expression at multiples of the step, as if these were samples.
    fn subquery(&mut self, subquery: &SubqueryExpr, times: &Times) -> Result<Ranges> {
        let look = Look::of(subquery.offset.as_ref(), subquery.at.as_ref(), self.query);
        let range_ns = ns(subquery.range);
        let step_ns = subquery.step.map_or(times.subquery_step_ns, ns).max(1);
        let (first_ns, last_ns) = look.ends_ns(times);
        let from_ns = first_ns.saturating_sub(range_ns);
        // The first multiple behind the begin, which is not of the range.
        let start_ns = from_ns.div_euclid(step_ns).saturating_add(1).saturating_mul(step_ns);
        if start_ns > last_ns {
            return Ok(Ranges { series: Vec::new(), range_ns, look });
        }
        let inner = Times { start_ns, end_ns: last_ns, step_ns, ..*times };
        self.charge(inner.count())?;
        let found = match self.value(&subquery.expr, &inner)? {
            Value::Vector(series) => series,
            Value::Scalar(values) => vec![Series { labels: Labels::default(), values }],
            Value::Text(_) => return execution("a text has no range"),
        };
        let samples = |one: Series| {
            let there = one.values.iter().enumerate().filter(|(_, value)| !is_absent(**value));
            let (times_ns, values) = there.map(|(at, value)| (inner.time_ns(at), *value)).unzip();
            Samples { labels: one.labels, times_ns, values }
        };
        Ok(Ranges { series: found.into_iter().map(samples).collect(), range_ns, look })
    }

    /// Samples as they are, where the whole query is a range; of one time.
    pub(crate) fn matrix(&mut self, of: &Expr) -> Result<Option<Vec<Points>>> {
        match of {
            Expr::Paren(paren) => return self.matrix(&paren.expr),
            Expr::MatrixSelector(_) | Expr::Subquery(_) => {}
            _ => return Ok(None),
        }
        let times = *self.query;
        let Ranges { series, range_ns, look } = self.ranges(of, &times)?;
        let end_ns = look.time_ns(times.start_ns);
        let start_ns = end_ns.saturating_sub(range_ns);
        let points = |one: Samples| {
            let points = one.times_ns.into_iter().zip(one.values);
            let within = points.filter(|(time_ns, _)| *time_ns > start_ns && *time_ns <= end_ns);
            (one.labels, within.collect::<Vec<_>>())
        };
        let all = series.into_iter().map(points).filter(|(_, points)| !points.is_empty());
        Ok(Some(all.collect()))
    }
}

/// Markers of an end are no samples of a range.
fn without_ends(samples: &mut Samples) {
    if !samples.values.iter().any(|value| is_absent(*value)) {
        return;
    }
    let pairs = samples.times_ns.iter().copied().zip(samples.values.iter().copied());
    let (times_ns, values) = pairs.filter(|(_, value)| !is_absent(*value)).unzip();
    (samples.times_ns, samples.values) = (times_ns, values);
}
