//! A query, the times it is asked for, and its answer.

use crate::column::{Series, Value, is_absent};
use crate::error::{Error, Result};
use crate::evaluate::Evaluation;
use crate::labels::Labels;
use crate::select::matchers;
use crate::source::Source;
use crate::{place, text};
use promql_parser::label::Matcher;
use promql_parser::parser::Expr;
use std::fmt;
use std::panic::catch_unwind;

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
    Matrix(Vec<Points>),
}

/// Samples of a series, with their times in nanoseconds.
pub type Points = (Labels, Vec<(i64, f64)>);

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

/// What the parser says of a text that its grammar has not.
const NO_QUERY: &str = "invalid promql query";

fn parsed(text: &str) -> std::result::Result<Expr, String> {
    // It gives up on durations that no clock has, such as `1e30`.
    let parsed = catch_unwind(|| promql_parser::parser::parse(text));
    parsed.unwrap_or_else(|_| Err("expected a duration that exists".to_owned()))
}

/// Whether the grammar has such a text, whatever the types of its parts.
fn is_like_a_query(text: &str) -> bool {
    let Ok(text) = text::prepared(text) else { return false };
    let has_words = catch_unwind(|| promql_parser::parser::lexer(&text).is_ok()).unwrap_or(false);
    has_words
        && match parsed(&text) {
            Ok(_) => true,
            Err(said) => said != NO_QUERY && !said.starts_with("unexpected"),
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
        let prepared = text::prepared(text)?;
        let parsed = parsed(&prepared).map_err(|said| {
            let told = (said == NO_QUERY).then(|| place::told(text, is_like_a_query)).flatten();
            Error::Parse(told.unwrap_or(said))
        });
        Ok(Query { expression: parsed? })
    }

    /// Whether it has a value at each of several times: a range and a text have none.
    #[must_use]
    pub fn has_steps(&self) -> bool {
        let mut of = &self.expression;
        while let Expr::Paren(paren) = of {
            of = &paren.expr;
        }
        !matches!(of, Expr::MatrixSelector(_) | Expr::Subquery(_) | Expr::StringLiteral(_))
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

/// What a selector, such as `temp{site="a"}`, asks of the labels of a series.
///
/// # Errors
/// It is no selector, or asks for an offset or a time.
pub fn matchers_of(text: &str) -> Result<Vec<Matcher>> {
    match Query::parse(text)?.expression {
        Expr::VectorSelector(selector) if selector.offset.is_none() && selector.at.is_none() => {
            matchers(&selector)
        }
        _ => Err(Error::Parse(format!(
            "expected a selector such as temp{{site=\"a\"}}, found {text}"
        ))),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_taken_as_grafana_writes_them() {
        for text in ["{__name__=~\".+\",}", "wheel", "wheel{site=\"b\"}", "{a=~`\\d+`}"] {
            assert!(matchers_of(text).is_ok(), "{text}: {:?}", matchers_of(text));
        }
        // Of such a length the parser makes a panic.
        for text in ["up[1e30]", "up offset NaN", "up offset Inf"] {
            assert!(matches!(Query::parse(text), Err(Error::Parse(_))), "{text}");
        }
    }

    #[test]
    fn what_nests_too_deep_or_is_too_long_is_refused() {
        let source = crate::testing::Memory::default();
        let nested = format!("{}1{}", "(".repeat(5_000), ")".repeat(5_000));
        let found = Query::parse(&nested).and_then(|of| of.evaluate(&source, &Times::at(0)));
        assert!(matches!(found, Err(Error::Execution(_))), "{found:?}");
        assert!(matches!(Query::parse(&"1+".repeat(10_000)), Err(Error::Parse(_))));
        // Whatever a comment has: a quote in it is none.
        for begin in ["#\"\n", "#{\n", "#`'\n"] {
            for (open, close) in [("sum(", ")"), ("(", ")"), ("-", "")] {
                let nested = format!("{begin}{}up{}", open.repeat(2_000), close.repeat(2_000));
                assert!(matches!(matchers_of(&nested), Err(Error::Execution(_))), "{begin}{open}");
            }
        }
        for part in ["1+", "-", "1 or ", "1 atan2 "] {
            let long = format!("{}1", part.repeat(1_000));
            let found = Query::parse(&long).and_then(|of| of.evaluate(&source, &Times::at(0)));
            assert!(matches!(found, Err(Error::Execution(_))), "{found:?}");
        }
        let sum = format!("{}1", "1+".repeat(100));
        let found = Query::parse(&sum).and_then(|of| of.evaluate(&source, &Times::at(0)));
        assert_eq!(found, Ok(Answer::Scalar(vec![101.0])));
    }
}
