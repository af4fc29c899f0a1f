//! Data whose series have clocks and values of their own: the samples of a walk in the same order of
//! arrival, at other times than those of one common grid, of another kind, some of them late.
//!
//! A time is a function of seed, series and tick, but for that of Poisson arrivals, which is a sum
//! along the series: there each series keeps its last time, and has to arrive in its order.
//!
//! Invariant: a series' times rise strictly, and what is handed out is what is expected. Held by
//! `tests.rs`.

use super::late::Late;
use super::values::thousandths;
use super::walk::mix;
use super::{Batch, Data, Feed, Order, Values, Walk};
use crate::BenchError;
use baro_ondisk::Type;
use baro_store::Interval;

/// Most of a jitter, in nanoseconds.
const JITTER_NS: u64 = 1_000_000;

/// When samples are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// All series at the same times.
    #[default]
    Grid,
    /// Each series at its own place within the tick, always the same.
    Offset,
    /// At the tick, later by up to a millisecond, each time another.
    Jitter,
    /// Independent of each other, so many in the mean.
    Poisson,
}

impl Times {
    /// All of them.
    pub const ALL: [Times; 4] = [Times::Grid, Times::Offset, Times::Jitter, Times::Poisson];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Times::Grid => "grid",
            Times::Offset => "offset",
            Times::Jitter => "jitter",
            Times::Poisson => "poisson",
        }
    }
}

/// A walk at such times.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    walk: Walk,
    times: Times,
    values: Values,
    late_percent: u32,
}

impl Timed {
    /// The walk at these times.
    ///
    /// # Errors
    /// Poisson arrivals of an order in which a series' samples do not follow each other.
    pub fn new(walk: Walk, times: Times) -> Result<Self, BenchError> {
        let order = walk.spec().order;
        if times == Times::Poisson && matches!(order, Order::Shuffled | Order::Late) {
            let (field, expected) = ("order of poisson", "0 (ticks) or 2 (bursty)");
            return Err(BenchError::Specification { field, found: order as u64, expected });
        }
        Ok(Timed { walk, times, values: Values::Walk, late_percent: 0 })
    }

    /// The same with such values.
    #[must_use]
    pub fn with_values(self, values: Values) -> Self {
        Timed { values, ..self }
    }

    /// The same with so many of 100 samples late by up to a tenth of the range.
    ///
    /// # Errors
    /// More than all.
    pub fn with_late(self, late_percent: u32) -> Result<Self, BenchError> {
        if late_percent > 100 {
            let (field, found) = ("late samples of 100", u64::from(late_percent));
            return Err(BenchError::Specification { field, found, expected: "0 to 100" });
        }
        Ok(Timed { late_percent, ..self })
    }

    /// How long after its tick a sample is taken; of Poisson arrivals, after the one before.
    fn later_ns(&self, series: u32, tick: u32) -> i64 {
        let spec = self.walk.spec();
        let step_ns = spec.step_ns.max(1) as u64;
        match self.times {
            Times::Grid => 0,
            Times::Offset => (mix(spec.seed ^ mix(u64::from(series) + 1)) % step_ns) as i64,
            Times::Jitter => (self.walk.hash(series, tick) % JITTER_NS.min(step_ns)) as i64,
            Times::Poisson => {
                let draw = (self.walk.hash(series, tick) >> 11) as f64 + 1.0;
                let gap = -(draw / (1_u64 << 53) as f64).ln() * step_ns as f64;
                (gap as i64).max(1)
            }
        }
    }

    /// The tick of a time of the walk.
    fn tick(&self, time_ns: i64) -> u32 {
        let spec = self.walk.spec();
        ((time_ns - spec.start_ns) / spec.step_ns.max(1)) as u32
    }

    /// Walks along a series: its next time, by that of the sample before.
    fn next_ns(&self, series: u32, tick: u32, last_ns: i64) -> i64 {
        match self.times {
            Times::Poisson => last_ns + self.later_ns(series, tick),
            _ => self.walk.spec().time_ns(tick) + self.later_ns(series, tick),
        }
    }

    fn feed_of<'a>(&self, inner: Box<dyn Feed + 'a>, first_id: u32) -> Box<dyn Feed + 'a> {
        let last_ns = match self.times {
            Times::Grid if self.values == Values::Walk => return inner,
            Times::Grid => Vec::new(),
            Times::Poisson => vec![self.walk.spec().start_ns; self.walk.spec().series as usize],
            Times::Offset | Times::Jitter => Vec::new(),
        };
        Box::new(TimedFeed { timed: *self, inner, first_id, last_ns })
    }
}

struct TimedFeed<'a> {
    timed: Timed,
    inner: Box<dyn Feed + 'a>,
    first_id: u32,
    /// Of Poisson arrivals: the last time of each series.
    last_ns: Vec<i64>,
}

impl TimedFeed<'_> {
    /// Of a walk's values, at a walk's times.
    fn make_values(&self, batch: &mut Batch) {
        let integers = self.timed.values.kind() == Type::I64;
        for at in 0..batch.len() {
            let series = batch.series[at] - self.first_id;
            let thousandths = thousandths(batch.values[at]);
            let tick = self.timed.tick(batch.time_at(at));
            let bits = self.timed.values.bits(series, tick, thousandths);
            if integers {
                batch.integers.push(bits as i64);
            } else {
                batch.values[at] = f64::from_bits(bits);
            }
        }
        if integers {
            batch.values.clear();
        }
    }
}

impl Feed for TimedFeed<'_> {
    fn next(&mut self, batch: &mut Batch) -> bool {
        if !self.inner.next(batch) {
            return false;
        }
        if self.timed.values != Values::Walk {
            self.make_values(batch);
        }
        if self.timed.times == Times::Grid {
            return true;
        }
        if let Some(time_ns) = batch.time_ns.take() {
            batch.times_ns.resize(batch.series.len(), time_ns);
        }
        for (id, time_ns) in batch.series.iter().zip(&mut batch.times_ns) {
            let series = id - self.first_id;
            let tick = self.timed.tick(*time_ns);
            match self.last_ns.get_mut(series as usize) {
                Some(last_ns) => {
                    *last_ns = self.timed.next_ns(series, tick, *last_ns);
                    *time_ns = *last_ns;
                }
                None => *time_ns = self.timed.next_ns(series, tick, 0),
            }
        }
        true
    }
}

impl Data for Timed {
    fn series(&self) -> u32 {
        self.walk.series()
    }

    fn samples(&self) -> u64 {
        self.walk.samples()
    }

    fn declaration(&self, series: u32) -> (String, Type) {
        (self.walk.declaration(series).0, self.values.kind())
    }

    fn range(&self) -> Interval {
        let (spec, mut range) = (self.walk.spec(), self.walk.range());
        if self.times == Times::Poisson {
            // Nine standard deviations behind the mean end no series comes.
            let ticks = f64::from(spec.ticks);
            range.to_ns += ((9.0 * ticks.sqrt() + 50.0) * spec.step_ns as f64) as i64;
        }
        range
    }

    fn feed(&self, first_id: u32) -> Box<dyn Feed + '_> {
        let feed = self.feed_of(self.walk.feed(first_id), first_id);
        if self.late_percent == 0 {
            return feed;
        }
        let (all, seed) = ((first_id, self.samples()), self.walk.spec().seed);
        Box::new(Late::new(feed, all, self.late_percent, seed))
    }

    fn in_order(&self) -> Box<dyn Feed + '_> {
        self.feed_of(self.walk.in_order(), 1)
    }

    fn expected(&self, series: u32, interval: Interval, each: &mut dyn FnMut(i64, u64)) {
        let (mut tick, mut last_ns) = (0, self.walk.spec().start_ns);
        self.walk.expected(series, Interval::ALL, &mut |_, bits| {
            last_ns = self.next_ns(series, tick, last_ns);
            if (interval.from_ns..interval.to_ns).contains(&last_ns) {
                let thousandths = thousandths(f64::from_bits(bits));
                each(last_ns, self.values.bits(series, tick, thousandths));
            }
            tick += 1;
        });
    }
}
