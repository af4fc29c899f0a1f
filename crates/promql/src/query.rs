//! A query, the times it is asked for, and its answer.

use crate::column::{Series, Value, is_absent};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::labels::Labels;
use crate::source::Source;
use promql_parser::parser::Expr;
use std::fmt;

/// Bytes of a query at most: longer ones are not written by hand, and nest deeper than is safe.
const QUERY_BYTES_MAX: usize = 16 << 10;
/// How far before a step a sample may be that counts there.
const LOOKBACK_NS: i64 = 300_000_000_000;
/// Step of a subquery that names none.
const SUBQUERY_STEP_NS: i64 = 60_000_000_000;
/// Values held at once, samples and results.
const VALUES_MAX: usize = 16 << 20;

/// A query that was understood.
#[derive(Clone, Debug)]
pub struct Query {
    pub(crate) expression: Expr,
}

/// For which times a query is evaluated, and with what bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The first one, in nanoseconds since the Unix epoch.
    pub start_ns: i64,
    /// The last one, or a time less than a step behind it.
    pub end_ns: i64,
    /// From one to the next; above 0.
    pub step_ns: i64,
    /// A sample counts for so long.
    pub lookback_ns: i64,
    /// Step of a subquery that names none.
    pub subquery_step_ns: i64,
    /// Samples and results held at once, at most.
    pub values_max: usize,
}

/// What a query comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A number at each time.
    Scalar(Vec<f64>),
    /// A text.
    Text(String),
    /// Series with a value at each time, [`ABSENT`](crate::ABSENT) where there is none; for one time
    /// in the order that the query asks for.
    Vector(Vec<(Labels, Vec<f64>)>),
    /// Samples as they are, with their times in nanoseconds: of a range, at one time.
    Matrix(Vec<(Labels, Vec<(i64, f64)>)>),
}

impl Times {
    /// One time, with the bounds of Prometheus.
    #[must_use]
    pub fn at(time_ns: i64) -> Self {
        Times::range(time_ns, time_ns, 1)
    }

    /// Several, with the bounds of Prometheus.
    #[must_use]
    pub fn range(start_ns: i64, end_ns: i64, step_ns: i64) -> Self {
        Times {
            start_ns,
            end_ns,
            step_ns,
            lookback_ns: LOOKBACK_NS,
            subquery_step_ns: SUBQUERY_STEP_NS,
            values_max: VALUES_MAX,
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        let span = i128::from(self.end_ns) - i128::from(self.start_ns);
        usize::try_from(span / i128::from(self.step_ns.max(1)) + 1).unwrap_or(0)
    }

    /// Time number `at`.
    #[must_use]
    pub fn time_ns(&self, at: usize) -> i64 {
        let at = i64::try_from(at).unwrap_or(i64::MAX);
        self.start_ns.saturating_add(self.step_ns.saturating_mul(at))
    }

    pub(crate) fn is_one(&self) -> bool {
        self.count() == 1
    }
}

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// It is not PromQL, or too long.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > QUERY_BYTES_MAX {
            let (found, limit) = (text.len(), QUERY_BYTES_MAX);
            return Err(Error::Parse(format!("expected at most {limit} bytes, found {found}")));
        }
        // The parser takes such a byte for a letter, and then another text is asked for.
        let is_byte = |(at, _): (usize, &str)| {
            text.get(at + 2..at + 3).is_some_and(|digit| "89abcdefABCDEF".contains(digit))
        };
        if text.match_indices("\\x").any(is_byte) {
            return Err(Error::Unsupported("a byte that is no letter by itself (\\xff)".into()));
        }
        let expression = promql_parser::parser::parse(text).map_err(Error::Parse)?;
        Ok(Query { expression })
    }

    /// Its answer at these times. Blocks as the source does.
    ///
    /// # Errors
    /// Something of it is not answered here; the series do not go together as it asks; it needs more
    /// values than it may; the source has none.
    pub fn evaluate(&self, source: &dyn Source, times: &Times) -> Result<Answer> {
        if times.step_ns <= 0 || times.end_ns < times.start_ns {
            return Err(Error::Execution(
                "expected a step above 0 and an end behind the start".into(),
            ));
        }
        let mut evaluation = Evaluation::new(source, times);
        if times.is_one()
            && let Some(matrix) = evaluation.matrix(&self.expression)?
        {
            return Ok(Answer::Matrix(matrix));
        }
        Ok(match evaluation.value(&self.expression, times)? {
            Value::Scalar(values) => Answer::Scalar(values),
            Value::Text(text) => Answer::Text(text),
            Value::Vector(series) => {
                let there = |one: &Series| one.values.iter().any(|value| !is_absent(*value));
                let series = series.into_iter().filter(there);
                Answer::Vector(series.map(|one| (one.labels, one.values)).collect())
            }
        })
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Answer::Scalar(values) => write!(f, "{values:?}"),
            Answer::Text(text) => write!(f, "{text:?}"),
            Answer::Vector(series) => {
                for (at, (labels, values)) in series.iter().enumerate() {
                    let line = if at == 0 { "" } else { "\n" };
                    write!(f, "{line}{labels}")?;
                    for value in values {
                        match is_absent(*value) {
                            true => f.write_str(" _")?,
                            false => write!(f, " {value}")?,
                        }
                    }
                }
                Ok(())
            }
            Answer::Matrix(series) => {
                series.iter().try_for_each(|(labels, points)| write!(f, "{labels} {points:?}"))
            }
        }
    }
}
