//! A random walk for each series, in thousandths: steps of -5 to 5, uniform (0.43 B of entropy a
//! sample), from a start of 0 to 16,383. A value is exactly `i as f64 / 1000.0`.
//!
//! A step is a function of seed, series and tick, so that any series can be walked again alone;
//! one hash gives the steps of four series, which makes it cheaper than the push beside it.

use super::{Data, Feed, Order, bursty, shuffled, ticks};
use crate::BenchError;
use baro_ondisk::Type;
use baro_store::Interval;

/// Steps of one hash.
pub(super) const LANES: usize = 4;

/// What is generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WalkSpec {
    /// Number of series.
    pub series: u32,
    /// Samples of each.
    pub ticks: u32,
    /// Makes walks differ.
    pub seed: u64,
    /// How they arrive.
    pub order: Order,
    /// Time of tick 0.
    pub start_ns: i64,
    /// Time from tick to tick.
    pub step_ns: i64,
}

impl WalkSpec {
    /// About `samples` samples: a whole number of ticks, at least one.
    ///
    /// # Errors
    /// No series, or more ticks than 32 bits count.
    pub fn about(series: u32, samples: u64, seed: u64, order: Order) -> Result<Self, BenchError> {
        if series == 0 || series > SERIES_MAX {
            let (field, expected) = ("series", "1 to 16,777,216");
            return Err(BenchError::Specification { field, found: u64::from(series), expected });
        }
        let ticks = samples.div_ceil(u64::from(series)).max(1);
        let ticks = u32::try_from(ticks).map_err(|_| BenchError::Specification {
            field: "samples",
            found: samples,
            expected: "less than 2^32 of each series",
        })?;
        let (start_ns, step_ns) = (START_NS, 1_000_000_000);
        Ok(WalkSpec { series, ticks, seed, order, start_ns, step_ns })
    }

    /// Time of a tick.
    #[must_use]
    pub fn time_ns(&self, tick: u32) -> i64 {
        self.start_ns + i64::from(tick) * self.step_ns
    }
}

/// Ten ticks of so many are still counted in 32 bits.
const SERIES_MAX: u32 = 1 << 24;
/// 2023-11-14T22:13:20Z.
const START_NS: i64 = 1_700_000_000_000_000_000;

/// The walks of a spec.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    spec: WalkSpec,
}

/// The finalizer of splitmix64.
#[inline]
pub(super) fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What is drawn for one sample: its step, and beside it whether it is one of 100.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Draw(u32);

impl Draw {
    #[inline]
    fn of(hash: u64, lane: usize) -> Draw {
        Draw(((hash >> (16 * lane)) as u32 & 0xffff) * 11)
    }

    /// -5 to 5.
    #[inline]
    pub(super) fn step(self) -> i32 {
        (self.0 >> 16) as i32 - 5
    }

    /// True for one of 100, whatever the step.
    #[inline]
    pub(super) fn one_in_100(self) -> bool {
        self.0 & 0xffff < 655
    }
}

/// The steps that lead to one tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    key: u64,
}

impl Steps {
    /// Of the series `quad * 4` and the three behind it.
    #[inline]
    pub(super) fn quad(self, quad: u32) -> [Draw; LANES] {
        let hash = mix(self.key.wrapping_add(u64::from(quad).wrapping_mul(GOLDEN)));
        std::array::from_fn(|lane| Draw::of(hash, lane))
    }

    /// Of one series.
    #[inline]
    pub(super) fn one(self, series: u32) -> Draw {
        let quad = series / LANES as u32;
        let hash = mix(self.key.wrapping_add(u64::from(quad).wrapping_mul(GOLDEN)));
        Draw::of(hash, (series % LANES as u32) as usize)
    }
}

/// A value of so many thousandths.
#[inline]
pub(super) fn value(thousandths: i32) -> f64 {
    f64::from(thousandths) / 1000.0
}

impl Walk {
    /// The walks of `spec`.
    #[must_use]
    pub fn new(spec: WalkSpec) -> Self {
        Walk { spec }
    }

    /// What is generated.
    #[must_use]
    pub fn spec(&self) -> &WalkSpec {
        &self.spec
    }

    /// The steps from tick `tick - 1` to `tick`.
    #[inline]
    pub(super) fn steps(&self, tick: u32) -> Steps {
        Steps {
            key: mix(self.spec.seed ^ (u64::from(tick) + 1).wrapping_mul(0xd605_1b4c_93b1_2d7f)),
        }
    }

    /// The value of tick 0.
    pub(super) fn start(&self, series: u32) -> i32 {
        let key = self.spec.seed.wrapping_mul(GOLDEN) ^ 0x5851_f42d_4c95_7f2d;
        (mix(key.wrapping_add(u64::from(series))) >> 50) as i32
    }

    /// The values of tick 0.
    pub(super) fn starts(&self) -> Vec<i32> {
        (0..self.spec.series).map(|series| self.start(series)).collect()
    }

    /// A hash of anything about one sample.
    pub(super) fn hash(&self, series: u32, tick: u32) -> u64 {
        mix(self.spec.seed ^ mix(u64::from(series) << 32 | u64::from(tick)))
    }

    /// Thousandths of one series, tick by tick.
    pub fn of(&self, series: u32) -> impl Iterator<Item = i32> + use<> {
        let walk = *self;
        let mut now = walk.start(series);
        (0..self.spec.ticks).map(move |tick| {
            if tick > 0 {
                now += walk.steps(tick).one(series).step();
            }
            now
        })
    }

    /// Ticks in an interval.
    fn ticks_in(&self, interval: Interval) -> std::ops::Range<u32> {
        let spec = self.spec;
        let tick = |time_ns: i64| {
            let after = i128::from(time_ns) - i128::from(spec.start_ns);
            let step = i128::from(spec.step_ns.max(1));
            (after + step - 1).div_euclid(step).clamp(0, i128::from(spec.ticks)) as u32
        };
        tick(interval.from_ns)..tick(interval.to_ns)
    }
}

impl Data for Walk {
    fn series(&self) -> u32 {
        self.spec.series
    }

    fn samples(&self) -> u64 {
        u64::from(self.spec.series) * u64::from(self.spec.ticks)
    }

    /// 100 lines of sensors one behind the other, ten sites.
    fn declaration(&self, series: u32) -> (String, Type) {
        let (line, site) = (series / 1000 % 100, series / 100_000 % 10);
        (format!("temp{{line=\"{line}\",sensor=\"s{series:07}\",site=\"{site}\"}}"), Type::F64)
    }

    fn range(&self) -> Interval {
        let (from_ns, last_ns) = (self.spec.start_ns, self.spec.time_ns(self.spec.ticks));
        Interval { from_ns, to_ns: last_ns }
    }

    fn feed(&self, first_id: u32) -> Box<dyn Feed + '_> {
        match self.spec.order {
            Order::Ticks => Box::new(ticks::Ticks::new(*self, first_id, false)),
            Order::Late => Box::new(ticks::Ticks::new(*self, first_id, true)),
            Order::Shuffled => Box::new(shuffled::Shuffled::new(*self, first_id)),
            Order::Bursty => Box::new(bursty::Bursty::new(*self, first_id)),
        }
    }

    fn in_order(&self) -> Box<dyn Feed + '_> {
        Box::new(ticks::Ticks::new(*self, 1, false))
    }

    fn expected(&self, series: u32, interval: Interval, each: &mut dyn FnMut(i64, u64)) {
        let ticks = self.ticks_in(interval);
        for (tick, thousandths) in (0..ticks.end).zip(self.of(series)) {
            if tick >= ticks.start {
                each(self.spec.time_ns(tick), value(thousandths).to_bits());
            }
        }
    }
}
