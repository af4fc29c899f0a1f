//! Aggregates that need each sample, in the order of their times: percentiles, spread, and what changes
//! from sample to sample. Those of [`Aggregate::joins`] do without.
//!
//! Invariant: what a step has come to does not depend on where its samples lie. Held by the models of
//! `tests/settle.rs` and `tests/model`.

use super::Aggregate;
use super::emit::{Form, number};
use crate::{Error, Result};

/// Most samples of a step of which a percentile is taken: they are held in memory.
const PERCENTILE_SAMPLES_MAX: usize = 4 << 20;

/// A sample of the series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) time_ns: i64,
    pub(super) bits: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Each {
    aggregate: Aggregate,
    form: Form,
    /// Values of the step, for percentiles.
    floats: Vec<f64>,
    /// Of integers instead, so that their order is that of what they stand for.
    integers: Vec<i128>,
    count: u64,
    mean: f64,
    /// Sum of the squares of what values are off their mean.
    squares: f64,
    /// What the step is compared with: the sample before it, or its first.
    base: Option<Sample>,
    /// The latest sample, also of steps before.
    latest: Option<Sample>,
    /// What a counter of floats has risen before it was last set back. Each rise counts by itself: in a
    /// sum over all, what is small, or behind an infinity, would be lost.
    risen: f64,
    /// What it has risen from since.
    risen_from: f64,
    rise_exact: i128,
    /// Value by nanoseconds, and how many of these.
    area: (f64, f64),
}

impl Each {
    pub(super) fn new(aggregate: Aggregate) -> Self {
        Each {
            aggregate,
            form: Form::F64,
            floats: Vec::new(),
            integers: Vec::new(),
            count: 0,
            mean: 0.0,
            squares: 0.0,
            base: None,
            latest: None,
            risen: 0.0,
            risen_from: 0.0,
            rise_exact: 0,
            area: (0.0, 0.0),
        }
    }

    /// A series begins, of which this sample is before the interval.
    pub(super) fn begin(&mut self, form: Form, before: Option<Sample>) {
        self.clear();
        self.latest = before.filter(|sample| !number(form, sample.bits).is_nan());
    }

    /// The latest sample that was seen, of those that look back.
    pub(super) fn latest(&self) -> Option<Sample> {
        self.latest
    }

    /// Adds a sample to the step, which begins at `start_ns`.
    pub(super) fn add(&mut self, start_ns: i64, form: Form, sample: Sample) -> Result<()> {
        self.form = form;
        match self.aggregate {
            Aggregate::Percentile(_) | Aggregate::Median => self.hold(sample.bits)?,
            Aggregate::Stddev => {
                let value = number(form, sample.bits);
                self.count += 1;
                let off = value - self.mean;
                self.mean += off / self.count as f64;
                self.squares += off * (value - self.mean);
            }
            _ => self.follow(start_ns, sample),
        }
        Ok(())
    }

    fn hold(&mut self, bits: u64) -> Result<()> {
        if self.floats.len() + self.integers.len() >= PERCENTILE_SAMPLES_MAX {
            return Err(Error::Percentile { limit: PERCENTILE_SAMPLES_MAX });
        }
        match self.form {
            Form::F64 | Form::Bool => {
                let value = number(self.form, bits);
                // NaN is the largest, whatever its sign.
                self.floats.push(if value.is_nan() { value.abs() } else { value });
            }
            Form::I64 | Form::U64 => self.integers.push(self.form.integer(bits)),
        }
        Ok(())
    }

    /// A sample behind the latest one.
    fn follow(&mut self, start_ns: i64, sample: Sample) {
        let value = number(self.form, sample.bits);
        if value.is_nan() {
            return;
        }
        self.count += 1;
        if self.base.is_none() {
            self.risen_from = self.latest.map_or(value, |before| number(self.form, before.bits));
        }
        if let Some(before) = self.latest {
            let was = number(self.form, before.bits);
            let [now, then] = [sample, before].map(|one| self.form.integer(one.bits));
            // As floats two integers beyond 2^53 may be equal.
            let fell = match self.form {
                Form::I64 | Form::U64 => now < then,
                Form::F64 | Form::Bool => value < was,
            };
            let reset = self.aggregate != Aggregate::Delta && fell;
            if reset {
                self.risen += apart(was, self.risen_from);
                self.risen_from = value.min(0.0);
            }
            self.rise_exact += if reset { now.max(0) } else { now - then };
            let held_ns = sample.time_ns.abs_diff(before.time_ns.max(start_ns)) as f64;
            self.area = (self.area.0 + area(was, held_ns), self.area.1 + held_ns);
        }
        self.base = self.base.or(self.latest).or(Some(sample));
        self.latest = Some(sample);
    }

    /// The step is over, and ends at `end_ns`: its value in the form of [`Form::folded`], or as a float.
    /// The outer `None`: it has none; the inner one: it is too large.
    pub(super) fn end(&mut self, end_ns: i64, floats: bool) -> Option<Option<u64>> {
        let bits = self.value(end_ns, floats);
        self.clear();
        bits
    }

    fn value(&mut self, end_ns: i64, floats: bool) -> Option<Option<u64>> {
        let float = |value: f64| Some(Some(value.to_bits()));
        match self.aggregate {
            Aggregate::Percentile(_) | Aggregate::Median => self.of_held(floats),
            _ if self.count == 0 => None,
            Aggregate::Stddev => float((self.squares / self.count as f64).sqrt()),
            Aggregate::Increase | Aggregate::Delta => match self.form.folded(self.aggregate) {
                Form::I64 | Form::U64 if floats => float(self.rise()?),
                Form::F64 | Form::Bool => float(self.rise()?),
                folded => Some(folded.bits(self.rise_exact)),
            },
            Aggregate::Rate => {
                let (base, latest) = (self.base?, self.latest?);
                let over_ns = latest.time_ns.abs_diff(base.time_ns);
                (over_ns > 0).then(|| Some((self.rise()? / (over_ns as f64 / 1e9)).to_bits()))
            }
            _ => {
                let latest = self.latest?;
                let value = number(self.form, latest.bits);
                // Where the interval has no end the last value holds for nobody knows how long.
                let held_ns = if end_ns == i64::MAX { 0 } else { end_ns.abs_diff(latest.time_ns) };
                let (before, ns) = self.area;
                let held_ns = held_ns as f64;
                let (all, ns) = (before + area(value, held_ns), ns + held_ns);
                float(if ns > 0.0 { all / ns } else { value })
            }
        }
    }

    /// By how much the series has risen in the step.
    fn rise(&self) -> Option<f64> {
        let latest = number(self.form, self.latest?.bits);
        Some(match self.form {
            Form::I64 | Form::U64 => self.rise_exact as f64,
            Form::F64 | Form::Bool => self.risen + apart(latest, self.risen_from),
        })
    }

    fn of_held(&mut self, as_float: bool) -> Option<Option<u64>> {
        let (floats, integers) = (&mut self.floats, &mut self.integers);
        let median = self.aggregate == Aggregate::Median;
        let place = self.aggregate.place(floats.len().max(integers.len()));
        if !integers.is_empty() {
            let even = integers.len().is_multiple_of(2);
            let (below, at, _) = integers.select_nth_unstable(place);
            if median {
                let other = below.iter().max().filter(|_| even).unwrap_or(at);
                return Some(Some(((*at + *other) as f64 / 2.0).to_bits()));
            }
            let at = if as_float { Some((*at as f64).to_bits()) } else { self.form.bits(*at) };
            return Some(at);
        }
        if floats.is_empty() {
            return None;
        }
        let even = floats.len().is_multiple_of(2);
        let (below, at, _) = floats.select_nth_unstable_by(place, f64::total_cmp);
        if median && even {
            let other = below.iter().copied().max_by(f64::total_cmp).unwrap_or(*at);
            // Not by their sum, which may be too large.
            return Some(Some((other / 2.0 + *at / 2.0).to_bits()));
        }
        Some(Some(at.to_bits()))
    }

    /// Forgets the step; the latest sample stays.
    fn clear(&mut self) {
        self.floats.clear();
        self.integers.clear();
        (self.count, self.mean, self.squares) = (0, 0.0, 0.0);
        (self.base, self.risen, self.rise_exact, self.area) = (None, 0.0, 0, (0.0, 0.0));
    }
}

/// By how much a value is above another one: by nothing if both are the same infinity.
fn apart(value: f64, from: f64) -> f64 {
    if value == from { 0.0 } else { value - from }
}

/// A value held for a time. An infinite one that is held for none counts for nothing.
fn area(value: f64, held_ns: f64) -> f64 {
    if held_ns > 0.0 { value * held_ns } else { 0.0 }
}
