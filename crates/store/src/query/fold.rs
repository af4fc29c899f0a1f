//! Folding samples of one series, in time order, into steps of time.
//!
//! Rules, the same whether samples are read or aggregates of a run are used: NaN counts as a
//! sample and makes mean and sum NaN; min and max pass over it, and are NaN only where there is
//! nothing else; first and last are what they are. Of integers sum and mean come from an exact sum.
//!
//! Of floats sum and mean may differ in their last digits where samples were settled in between: those
//! that are read are added one by one as floats, and a run adds decimals as integers, page by page. To
//! make both equal, all that is read would have to be put into decimals first.

use super::aggregate::{Aggregate, Every, Fill};
use super::before::Before;
use super::each::{Each, Sample};
use super::emit::{Emitter, Form, number};
use super::steps::Grid;
use super::{Query, Target};
use crate::damage::Damage;
use crate::interval::Interval;
use crate::runs::{PageAt, RunFile};
use crate::{Error, Result};
use baro_runs::PageEntry;
use std::ops::ControlFlow;

/// Most steps between two samples that are filled.
const FILLED_MAX: u64 = 1 << 24;

/// Samples of a tile in a page of one series: below that a step gains nothing by aggregates.
const TILE_SAMPLES: u64 = 2048;

/// What a step has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) count: u64,
    pub(super) sum: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) first: f64,
    pub(super) last: f64,
    /// Of integers what is asked for, exactly; of a mean their sum.
    pub(super) exact: i128,
}

impl Step {
    pub(super) const EMPTY: Step =
        Step { count: 0, sum: 0.0, min: f64::NAN, max: f64::NAN, first: 0.0, last: 0.0, exact: 0 };

    /// Adds a sample given by its bits.
    #[inline]
    pub(super) fn add_bits(&mut self, form: Form, bits: u64, aggregate: Aggregate) {
        if matches!(form, Form::I64 | Form::U64) {
            let integer = form.integer(bits);
            self.exact =
                if self.count == 0 { integer } else { aggregate.join(self.exact, integer) };
        }
        self.add(number(form, bits));
    }

    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        if self.count == 0 {
            self.first = value;
        }
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.last = value;
    }

    /// Adds what comes later.
    pub(super) fn join(&mut self, later: &Step, aggregate: Aggregate) {
        if later.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *later;
            return;
        }
        self.count += later.count;
        self.sum += later.sum;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.last = later.last;
        self.exact = aggregate.join(self.exact, later.exact);
    }

    /// The value asked for in the form of [`Form::folded`], of samples of a form; for those that join,
    /// and none if it is too large.
    pub(super) fn bits(&self, form: Form, aggregate: Aggregate) -> Option<u64> {
        match (form.folded(aggregate), aggregate) {
            (_, Aggregate::Count) => Some(self.count),
            (Form::F64 | Form::Bool, _) => Some(self.value(form, aggregate).to_bits()),
            (folded, _) => folded.bits(self.exact),
        }
    }

    /// The value asked for, of samples of a form; for those that join.
    pub(super) fn value(&self, form: Form, aggregate: Aggregate) -> f64 {
        match aggregate {
            Aggregate::Mean => self.total(form) / self.count as f64,
            Aggregate::Min => self.min,
            Aggregate::Max => self.max,
            Aggregate::Sum => self.total(form),
            Aggregate::Count => self.count as f64,
            Aggregate::First => self.first,
            _ => self.last,
        }
    }

    /// The sum, which becomes a float once, at the end, where it is of integers.
    #[inline]
    fn total(&self, form: Form) -> f64 {
        match (form, i64::try_from(self.exact)) {
            (Form::F64 | Form::Bool, _) => self.sum,
            // The conversion of 128 bits is a call; most sums are shorter.
            (Form::I64 | Form::U64, Ok(exact)) => exact as f64,
            (Form::I64 | Form::U64, Err(_)) => self.exact as f64,
        }
    }
}

impl Step {
    /// What is needed of a page's knowledge to give the value asked for.
    pub(super) fn of(known: baro_runs::Known<'_>, aggregate: Aggregate) -> Self {
        match aggregate {
            Aggregate::Mean | Aggregate::Count => {
                let exact = known.integer_sum().unwrap_or(0);
                Step { count: known.count(), sum: known.sum(), exact, ..Step::EMPTY }
            }
            Aggregate::Sum if !known.is_of_integers() => {
                Step { count: known.count(), sum: known.sum(), ..Step::EMPTY }
            }
            _ => Step::known(&known.aggregate(), aggregate),
        }
    }
}

impl Step {
    /// Of what a run knows.
    pub(super) fn known(of: &baro_runs::Aggregate, aggregate: Aggregate) -> Self {
        let exact = of.integers.map_or(0, |integers| match aggregate {
            Aggregate::Min => integers.min.into(),
            Aggregate::Max => integers.max.into(),
            Aggregate::Sum | Aggregate::Mean => integers.sum,
            Aggregate::First => integers.first.into(),
            Aggregate::Last => integers.last.into(),
            _ => 0,
        });
        Step {
            exact,
            count: of.count,
            sum: of.sum,
            min: of.min,
            max: of.max,
            first: of.first.1,
            last: of.last.1,
        }
    }
}

/// Folds one series after another.
#[derive(Debug)]
pub(super) struct Fold {
    every: Every,
    fill: Option<Fill>,
    grid: Grid,
    interval: Interval,
    start_ns: i64,
    step: Step,
    /// Of what the samples of the step are.
    form: Form,
    /// For what does not join.
    each: Option<Each>,
    /// Samples of each series before the interval.
    before: Before,
    filled: Filled,
}

/// How far rows of a series have gone out, where empty steps are filled.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    /// Where the next step begins; none before the first one.
    next_ns: Option<i64>,
    /// What an empty one has, in the form of the rows.
    bits: Option<u64>,
}

impl Fold {
    /// `None` where the query folds nothing.
    pub(super) fn of(query: &Query, before: Before) -> Option<Self> {
        let (every, grid, interval) = (query.every?, Grid::of(query), query.interval);
        let each = (!every.aggregate.joins()).then(|| Each::new(every.aggregate));
        let (step, form, filled) = (Step::EMPTY, Form::F64, Filled::default());
        let (fill, start_ns) = (query.fill, 0);
        Some(Fold { every, fill, grid, interval, start_ns, step, form, each, before, filled })
    }

    /// Whether a series without a sample may have rows.
    pub(super) fn fills(&self) -> bool {
        self.fill.is_some()
    }

    /// What follows is of another series.
    pub(super) fn begin(&mut self, target: Target, form: Form, out: &Emitter<'_>) {
        let before = self.before.get(target.place);
        (self.form, self.step, self.filled) = (form, Step::EMPTY, Filled::default());
        if let Some(each) = &mut self.each {
            each.begin(form, before);
        }
        let Some(fill) = self.fill else { return };
        let first_ns = self.interval.from_ns;
        match (fill, before) {
            (Fill::Previous, Some(before)) if self.every.aggregate.is_value() => {
                let bits = self.held(before, out);
                self.filled = Filled { next_ns: Some(self.grid.start_ns(first_ns)), bits };
            }
            (Fill::Previous, _) => {}
            (Fill::Zero, _) => {
                let next_ns = (first_ns > i64::MIN).then(|| self.grid.start_ns(first_ns));
                // The same bits in all forms.
                self.filled = Filled { next_ns, bits: Some(0) };
            }
        }
    }

    /// A sample that holds, in the form of the rows.
    fn held(&self, sample: Sample, out: &Emitter<'_>) -> Option<u64> {
        let mut step = Step::EMPTY;
        step.add_bits(self.form, sample.bits, Aggregate::Last);
        match (out.floats, self.form.folded(self.every.aggregate)) {
            (false, Form::I64 | Form::U64) => self.form.bits(step.exact),
            _ => Some(step.last.to_bits()),
        }
    }

    /// Adds a sample; the step before goes out if it is over.
    pub(super) fn add(
        &mut self,
        time_ns: i64,
        (form, bits): (Form, u64),
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        let start_ns = self.grid.start_ns(time_ns);
        let mut flow = ControlFlow::Continue(());
        if self.step.count > 0 && start_ns != self.start_ns {
            flow = self.end_step(out)?;
        }
        (self.start_ns, self.form) = (start_ns, form);
        self.step.add_bits(form, bits, self.every.aggregate);
        if let Some(each) = &mut self.each {
            each.add(start_ns.max(self.interval.from_ns), form, Sample { time_ns, bits })?;
        }
        Ok(flow)
    }

    /// Whether aggregates can be put together to what is asked for.
    pub(super) fn joins(&self) -> bool {
        self.each.is_none()
    }

    /// Whether asking a page for its steps costs less than reading it: a step has tiles inside.
    pub(super) fn worth(&self, page: &PageEntry) -> bool {
        let span_ns = page.time_max_ns.abs_diff(page.time_min_ns).max(1);
        let steps = span_ns.checked_div(self.every.step_ns).unwrap_or(0);
        u64::from(page.samples) / (steps + 1) >= TILE_SAMPLES
    }

    /// Adds the samples of a page that holds one series alone.
    pub(super) fn page(
        &mut self,
        (run, entry): (&RunFile, &PageEntry),
        (series, form): (u32, Form),
        interval: Interval,
        reader: &mut PageAt,
        out: &mut Emitter<'_>,
    ) -> Result<std::result::Result<ControlFlow<()>, Damage>> {
        let from_ns = entry.time_min_ns.max(interval.from_ns);
        let last_ns = entry.time_max_ns.min(interval.to_ns.saturating_sub(1));
        let start_ns = self.grid.start_ns(from_ns);
        let inside = from_ns == entry.time_min_ns && last_ns == entry.time_max_ns;
        if let Some(aggregate) = run.aggregate(entry).filter(|_| inside)
            && last_ns < self.grid.end_ns(from_ns)
        {
            // The page is not read at all.
            let step = Step::known(aggregate, self.every.aggregate);
            return self.join(start_ns, (form, &step), out).map(Ok);
        }
        let every = self.every;
        let mut failed = None;
        let done = reader.with(run, entry, |page| {
            let mut at_ns = from_ns;
            loop {
                let start_ns = self.grid.start_ns(at_ns);
                let next_ns = self.grid.end_ns(at_ns).min(interval.to_ns);
                if let Some(found) = page.aggregate(series, at_ns, next_ns)? {
                    let step = Step::known(&found, every.aggregate);
                    let flow = self.join(start_ns, (form, &step), out).unwrap_or_else(|error| {
                        failed = Some(error);
                        ControlFlow::Break(())
                    });
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                if next_ns > last_ns || next_ns == i64::MAX {
                    return Ok(ControlFlow::Continue(()));
                }
                at_ns = next_ns;
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(done),
        }
    }

    /// Adds what is known of later samples, all in one step.
    pub(super) fn join(
        &mut self,
        start_ns: i64,
        (form, later): (Form, &Step),
        out: &mut Emitter<'_>,
    ) -> Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        if self.step.count > 0 && start_ns != self.start_ns {
            flow = self.end_step(out)?;
        }
        (self.start_ns, self.form) = (start_ns, form);
        self.step.join(later, self.every.aggregate);
        Ok(flow)
    }

    /// The series is over.
    pub(super) fn end(&mut self, out: &mut Emitter<'_>) -> Result<ControlFlow<()>> {
        let flow = self.end_step(out)?;
        if flow.is_break() || self.interval.to_ns == i64::MAX {
            return Ok(flow);
        }
        self.fill_until(self.interval.to_ns, out)
    }

    /// The step is over.
    fn end_step(&mut self, out: &mut Emitter<'_>) -> Result<ControlFlow<()>> {
        if self.step.count == 0 {
            return Ok(ControlFlow::Continue(()));
        }
        if let Some(flow) = out.whole_step(self.start_ns, &self.step) {
            self.step = Step::EMPTY;
            return Ok(flow);
        }
        let (aggregate, end_ns) = (self.every.aggregate, self.grid.end_ns(self.start_ns));
        let bits = match &mut self.each {
            Some(each) => each.end(end_ns.min(self.interval.to_ns), out.floats),
            None if out.floats => Some(Some(self.step.value(self.form, aggregate).to_bits())),
            None => Some(self.step.bits(self.form, aggregate)),
        };
        self.step = Step::EMPTY;
        // One that has nothing to say is filled like an empty one.
        if self.fill.is_some() && bits.is_some() {
            let flow = self.fill_until(self.start_ns, out)?;
            if flow.is_break() {
                return Ok(flow);
            }
            let latest = self.each.as_ref().and_then(Each::latest);
            let previous = match latest.filter(|_| aggregate == Aggregate::TimeMean) {
                Some(latest) => self.held(latest, out),
                None => bits.flatten(),
            };
            let bits = if self.fill == Some(Fill::Zero) { Some(0) } else { previous };
            self.filled = Filled { next_ns: Some(end_ns), bits };
        }
        Ok(match bits {
            Some(bits) => out.step(self.start_ns, bits),
            None => ControlFlow::Continue(()),
        })
    }

    /// Empty steps that begin before this time go out.
    fn fill_until(&mut self, until_ns: i64, out: &mut Emitter<'_>) -> Result<ControlFlow<()>> {
        let Filled { next_ns: Some(mut next_ns), bits: Some(bits) } = self.filled else {
            return Ok(ControlFlow::Continue(()));
        };
        for _ in 0..FILLED_MAX {
            if next_ns >= until_ns {
                return Ok(ControlFlow::Continue(()));
            }
            if out.step(next_ns, Some(bits)).is_break() {
                return Ok(ControlFlow::Break(()));
            }
            next_ns = self.grid.end_ns(next_ns);
            self.filled.next_ns = Some(next_ns);
        }
        Err(Error::Filled { limit: FILLED_MAX })
    }
}
