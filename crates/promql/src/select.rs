//! Selectors: which samples count at which step.

use crate::column::{ABSENT, Series, is_absent};
use crate::error::{Result, unsupported};
use crate::evaluate::Evaluation;
use crate::labels::NAME;
use crate::query::Times;
use crate::source::Samples;
use promql_parser::label::{MatchOp, Matcher};
use promql_parser::parser::{AtModifier, Offset, VectorSelector};
use std::time::{Duration, SystemTime};

/// Where a selector looks: at each step, or at one time for all of them; and how far back from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    at_ns: Option<i64>,
    offset_ns: i64,
}

pub(crate) fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl Look {
    pub(crate) fn of(offset: Option<&Offset>, at: Option<&AtModifier>, query: &Times) -> Self {
        let offset_ns = match offset {
            None => 0,
            Some(Offset::Pos(duration)) => ns(*duration),
            Some(Offset::Neg(duration)) => -ns(*duration),
        };
        let at_ns = at.map(|at| match at {
            AtModifier::Start => query.start_ns,
            // Not the last step, which may be before it.
            AtModifier::End => query.end_ns,
            AtModifier::At(time) => match time.duration_since(SystemTime::UNIX_EPOCH) {
                Ok(since) => ns(since),
                Err(before) => -ns(before.duration()),
            },
        });
        Look { at_ns, offset_ns }
    }

    /// The time that is looked at for a step.
    pub(crate) fn time_ns(&self, step_ns: i64) -> i64 {
        self.at_ns.unwrap_or(step_ns).saturating_sub(self.offset_ns)
    }

    /// The first and the last time that is looked at.
    pub(crate) fn ends_ns(&self, times: &Times) -> (i64, i64) {
        let last_ns = times.time_ns(times.count().saturating_sub(1));
        (self.time_ns(times.start_ns), self.time_ns(last_ns))
    }

    /// Whether all steps have the same.
    pub(crate) fn is_fixed(&self) -> bool {
        self.at_ns.is_some()
    }
}

/// All that a selector asks of labels.
pub(crate) fn matchers(selector: &VectorSelector) -> Result<Vec<Matcher>> {
    if !selector.matchers.or_matchers.is_empty() {
        return unsupported("`or` between matchers");
    }
    let mut matchers = selector.matchers.matchers.clone();
    if let Some(name) = &selector.name {
        matchers.push(Matcher::new(MatchOp::Equal, NAME, name));
    }
    Ok(matchers)
}

impl Evaluation<'_> {
    /// Samples of a selector that may count at these steps, where each counts for `range_ns`.
    pub(crate) fn samples(
        &mut self,
        selector: &VectorSelector,
        range_ns: i64,
        times: &Times,
    ) -> Result<(Vec<Samples>, Look)> {
        let look = Look::of(selector.offset.as_ref(), selector.at.as_ref(), self.query());
        let (first_ns, last_ns) = look.ends_ns(times);
        let from_ns = first_ns.saturating_sub(range_ns);
        let found = self.select(&matchers(selector)?, from_ns, last_ns)?;
        Ok((found, look))
    }

    /// The latest sample of each series at each step; `times_instead`: when it was, in seconds.
    pub(crate) fn vector(
        &mut self,
        selector: &VectorSelector,
        times: &Times,
        times_instead: bool,
    ) -> Result<Vec<Series>> {
        let lookback_ns = times.lookback_ns;
        let (found, look) = self.samples(selector, lookback_ns, times)?;
        let steps = times.count();
        self.charge(found.len().saturating_mul(steps))?;
        let mut series = Vec::with_capacity(found.len());
        for samples in found {
            let mut next = 0;
            let mut at = |step: usize| {
                let time_ns = look.time_ns(times.time_ns(step));
                while samples.times_ns.get(next).is_some_and(|sample_ns| *sample_ns <= time_ns) {
                    next += 1;
                }
                let Some(at) = next.checked_sub(1) else { return ABSENT };
                let (Some(sample_ns), Some(value)) =
                    (samples.times_ns.get(at), samples.values.get(at))
                else {
                    return ABSENT;
                };
                match *sample_ns > time_ns.saturating_sub(lookback_ns) && !is_absent(*value) {
                    true if times_instead => *sample_ns as f64 / 1e9,
                    true => *value,
                    false => ABSENT,
                }
            };
            let values: Vec<f64> = match look.is_fixed() {
                true => vec![at(0); steps],
                false => (0..steps).map(&mut at).collect(),
            };
            series.push(Series { labels: samples.labels, values });
        }
        Ok(series)
    }
}
