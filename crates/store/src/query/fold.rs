//! Folding samples of one series, in time order, into steps of time.
//!
//! Rules, the same whether samples are read or aggregates of a run are used: NaN counts as a
//! sample and makes mean and sum NaN; min and max pass over it, and are NaN only where there is
//! nothing else; first and last are what they are.

use super::Query;
use super::aggregate::{Aggregate, Every};
use super::emit::{Emitter, Form, number};
use super::steps::Grid;
use crate::damage::Damage;
use crate::interval::Interval;
use crate::runs::{PageAt, RunFile};
use crate::{Error, Result};
use baro_runs::PageEntry;
use baro_sys::storage::StorageFile;
use std::ops::ControlFlow;

/// Most samples of a step of which a percentile is taken: they are held in memory.
pub(super) const PERCENTILE_SAMPLES_MAX: usize = 4 << 20;

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
    /// Of integers what is asked for, exactly.
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

    /// The value asked for in the form of [`Form::folded`], of samples of a form; not for percentiles,
    /// and none if it is too large.
    pub(super) fn bits(&self, form: Form, aggregate: Aggregate) -> Option<u64> {
        match (form.folded(aggregate), aggregate) {
            (_, Aggregate::Count) => Some(self.count),
            (Form::F64 | Form::Bool, _) => Some(self.value(aggregate).to_bits()),
            (folded, _) => folded.bits(self.exact),
        }
    }

    /// The value asked for; not for percentiles.
    pub(super) fn value(&self, aggregate: Aggregate) -> f64 {
        match aggregate {
            Aggregate::Mean => self.sum / self.count as f64,
            Aggregate::Min => self.min,
            Aggregate::Max => self.max,
            Aggregate::Sum => self.sum,
            Aggregate::Count => self.count as f64,
            Aggregate::First => self.first,
            Aggregate::Last | Aggregate::P99 => self.last,
        }
    }
}

impl Step {
    /// What is needed of a page's knowledge to give the value asked for.
    pub(super) fn of(known: baro_runs::Known<'_>, aggregate: Aggregate) -> Self {
        match aggregate {
            Aggregate::Mean | Aggregate::Count => {
                Step { count: known.count(), sum: known.sum(), ..Step::EMPTY }
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
            Aggregate::Sum => integers.sum,
            Aggregate::First => integers.first.into(),
            Aggregate::Last => integers.last.into(),
            Aggregate::Mean | Aggregate::Count | Aggregate::P99 => 0,
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
    grid: Grid,
    start_ns: i64,
    step: Step,
    /// Of what the samples of the step are.
    form: Form,
    values: Vec<f64>,
    /// Of integers instead, so that their order is that of what they stand for.
    integers: Vec<i128>,
}

impl Fold {
    /// `None` where the query folds nothing.
    pub(super) fn of(query: &Query) -> Option<Self> {
        let (every, grid) = (query.every?, Grid::of(query));
        let (values, integers) = (Vec::new(), Vec::new());
        let (step, form) = (Step::EMPTY, Form::F64);
        Some(Fold { every, grid, start_ns: 0, step, form, values, integers })
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
            flow = self.end(out);
        }
        (self.start_ns, self.form) = (start_ns, form);
        self.step.add_bits(form, bits, self.every.aggregate);
        if self.every.aggregate == Aggregate::P99 {
            if self.values.len() + self.integers.len() >= PERCENTILE_SAMPLES_MAX {
                return Err(Error::Percentile { limit: PERCENTILE_SAMPLES_MAX });
            }
            match form {
                Form::F64 | Form::Bool => self.values.push(number(form, bits)),
                Form::I64 | Form::U64 => self.integers.push(form.integer(bits)),
            }
        }
        Ok(flow)
    }

    /// Whether aggregates can be put together to what is asked for.
    pub(super) fn joins(&self) -> bool {
        self.every.aggregate != Aggregate::P99
    }

    /// Whether asking a page for its steps costs less than reading it: a step has tiles inside.
    pub(super) fn worth(&self, page: &PageEntry) -> bool {
        let span_ns = page.time_max_ns.abs_diff(page.time_min_ns).max(1);
        let steps = span_ns.checked_div(self.every.step_ns).unwrap_or(0);
        u64::from(page.samples) / (steps + 1) >= TILE_SAMPLES
    }

    /// Adds the samples of a page that holds one series alone.
    pub(super) fn page<F: StorageFile>(
        &mut self,
        (run, entry): (&RunFile<F>, &PageEntry),
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
            return Ok(Ok(self.join(start_ns, (form, &step), out)));
        }
        let every = self.every;
        reader.with(run, entry, |page| {
            let mut at_ns = from_ns;
            loop {
                let start_ns = self.grid.start_ns(at_ns);
                let next_ns = self.grid.end_ns(at_ns).min(interval.to_ns);
                if let Some(found) = page.aggregate(series, at_ns, next_ns)? {
                    let step = Step::known(&found, every.aggregate);
                    let flow = self.join(start_ns, (form, &step), out);
                    if flow.is_break() {
                        return Ok(flow);
                    }
                }
                if next_ns > last_ns || next_ns == i64::MAX {
                    return Ok(ControlFlow::Continue(()));
                }
                at_ns = next_ns;
            }
        })
    }

    /// Adds what is known of later samples, all in one step.
    pub(super) fn join(
        &mut self,
        start_ns: i64,
        (form, later): (Form, &Step),
        out: &mut Emitter<'_>,
    ) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        if self.step.count > 0 && start_ns != self.start_ns {
            flow = self.end(out);
        }
        (self.start_ns, self.form) = (start_ns, form);
        self.step.join(later, self.every.aggregate);
        flow
    }

    /// The series, or the step, is over.
    pub(super) fn end(&mut self, out: &mut Emitter<'_>) -> ControlFlow<()> {
        if self.step.count == 0 {
            return ControlFlow::Continue(());
        }
        let at = |values: usize| (values * 99).div_ceil(100).max(1) - 1;
        let bits = if self.every.aggregate != Aggregate::P99 {
            match out.floats {
                true => Some(self.step.value(self.every.aggregate).to_bits()),
                false => self.step.bits(self.form, self.every.aggregate),
            }
        } else if self.integers.is_empty() {
            let at = at(self.values.len());
            Some(self.values.select_nth_unstable_by(at, f64::total_cmp).1.to_bits())
        } else {
            let at = at(self.integers.len());
            let integer = *self.integers.select_nth_unstable(at).1;
            match out.floats {
                true => Some((integer as f64).to_bits()),
                false => self.form.bits(integer),
            }
        };
        self.values.clear();
        self.integers.clear();
        self.step = Step::EMPTY;
        out.step(self.start_ns, bits)
    }
}
