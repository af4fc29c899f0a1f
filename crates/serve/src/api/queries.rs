//! Queries, at one time and at several.

use super::answer::{Data, Refusal};
use super::parameters::Parameters;
use super::results::{Bounds, Text, at_once, over};
use super::series::told;
use super::{Api, STACK_BYTES};
use crate::source::Stored;
use baro_promql::{Answer, Query, Times};
use baro_sys::clock;

/// Steps of a range at most, as in Prometheus.
const STEPS_MAX: usize = 11_000;

impl Api {
    pub(super) fn query(&self, parameters: &Parameters) -> Result<Data, Refusal> {
        let text = parameters.needed("query")?;
        let time_ns = parameters.time_or_now_ns("time")?;
        let times = self.times(Times::at(time_ns), parameters)?;
        let bounds = self.bounds(parameters)?;
        self.evaluate(text, &times, parameters, false, |answer| at_once(answer, time_ns, bounds))
    }

    pub(super) fn query_range(&self, parameters: &Parameters) -> Result<Data, Refusal> {
        let text = parameters.needed("query")?;
        let bound = |name| {
            parameters.needed(name)?;
            Ok(parameters.time_ns(name)?.unwrap_or(0))
        };
        let (start_ns, end_ns): (i64, i64) = (bound("start")?, bound("end")?);
        parameters.needed("step")?;
        let step_ns = parameters.length_ns("step")?.unwrap_or(0);
        if end_ns < start_ns {
            return Err(Refusal::bad(
                "invalid parameter \"end\": end timestamp must not be before start time",
            ));
        }
        if step_ns <= 0 {
            return Err(Refusal::bad(
                "invalid parameter \"step\": zero or negative query resolution step widths are not \
                 accepted. Try a positive integer",
            ));
        }
        let times = self.times(Times::range(start_ns, end_ns, step_ns), parameters)?;
        // As many steps, so one point more.
        if times.count() > STEPS_MAX + 1 {
            return Err(Refusal::bad(
                "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query \
                 resolution (?step=XX)",
            ));
        }
        let bounds = self.bounds(parameters)?;
        self.evaluate(text, &times, parameters, true, |answer| over(answer, &times, bounds))
    }

    fn bounds(&self, parameters: &Parameters) -> Result<Bounds, Refusal> {
        let series_max = parameters.limit()?.unwrap_or(usize::MAX);
        Ok(Bounds { bytes_max: self.answer_bytes_max(), series_max })
    }

    fn times(&self, times: Times, parameters: &Parameters) -> Result<Times, Refusal> {
        let asked_ns = parameters.length_ns("lookback_delta")?.filter(|asked_ns| *asked_ns > 0);
        let lookback_ns = asked_ns.unwrap_or(self.lookback_ns);
        Ok(Times { lookback_ns, values_max: self.values_max, ..times })
    }

    fn evaluate(
        &self,
        text: &str,
        times: &Times,
        parameters: &Parameters,
        range: bool,
        write: impl FnOnce(Answer) -> Text + Send,
    ) -> Result<Data, Refusal> {
        let asked_ns = parameters.length_ns("timeout")?;
        let asked_ns = asked_ns.and_then(|ns| u64::try_from(ns).ok()).unwrap_or(self.timeout_ns);
        let until_ns = clock::monotonic_ns().saturating_add(asked_ns.min(self.timeout_ns));
        let work = || {
            let query = Query::parse(text).map_err(|error| Refusal::of_query(&error))?;
            if range && !query.has_steps() {
                return Err(Refusal::bad(
                    "invalid parameter \"query\": invalid expression type for range query, must be \
                     Scalar or instant Vector",
                ));
            }
            let (store, _turn) = self.turn(parameters, until_ns)?;
            let source = Stored::new(&store, until_ns);
            let answer = query.evaluate(&source, times);
            let answer = answer.map_err(|error| Refusal::of_query(&error))?;
            // While it is this one's turn: of many at once each may have so much.
            let (text, is_cut) = write(answer)?;
            let mut warnings = source.into_warnings();
            warnings.extend(told(is_cut));
            self.held(Data::of_text(text).with(warnings))
        };
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().name("query".to_owned());
            let worker = builder
                .stack_size(STACK_BYTES)
                .spawn_scoped(scope, work)
                .map_err(|error| Refusal::internal(&error))?;
            worker.join().map_err(|_| Refusal::internal(&"the query has failed within"))?
        })
    }
}
