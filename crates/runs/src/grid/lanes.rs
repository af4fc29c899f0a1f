//! The integers of a band's series at one tick, side by side, and what is known of them over ticks.
//!
//! 32 bits where a page's integers fit, because that is twice as many to an instruction.

use super::LANES_MAX;
use crate::aggregate::Sum;
use crate::numbers::Wide;

/// An integer of a lane. Arithmetic wraps; what was encoded comes out whole.
pub(crate) trait Lane: Copy + Ord + Wide {
    const ZERO: Self;
    fn narrow(value: i64) -> Self;
    fn plus(self, difference: i64) -> Self;
    /// Two parts of the integer whose sums do not overflow within a page.
    fn parts(self) -> (i64, i64);
    /// The sum of integers from the sums of their parts.
    fn total(low: i64, high: i64) -> i128;
}

impl Lane for i32 {
    const ZERO: Self = 0;
    #[inline]
    fn narrow(value: i64) -> Self {
        value as i32
    }
    #[inline]
    fn plus(self, difference: i64) -> Self {
        self.wrapping_add(difference as i32)
    }
    #[inline]
    fn parts(self) -> (i64, i64) {
        (i64::from(self), 0)
    }
    #[inline]
    fn total(low: i64, _: i64) -> i128 {
        i128::from(low)
    }
}

impl Lane for i64 {
    const ZERO: Self = 0;
    #[inline]
    fn narrow(value: i64) -> Self {
        value
    }
    #[inline]
    fn plus(self, difference: i64) -> Self {
        self.wrapping_add(difference)
    }
    #[inline]
    fn parts(self) -> (i64, i64) {
        (self & 0xffff_ffff, self >> 32)
    }
    #[inline]
    fn total(low: i64, high: i64) -> i128 {
        (i128::from(high) << 32) + i128::from(low)
    }
}

/// A row for each lane of a band: at the start of a column, and now.
#[derive(Debug)]
pub(crate) struct Lanes<L> {
    pub(crate) base: [L; LANES_MAX],
    pub(crate) now: [L; LANES_MAX],
}

impl<L: Lane> Lanes<L> {
    pub(crate) fn new() -> Self {
        Lanes { base: [L::ZERO; LANES_MAX], now: [L::ZERO; LANES_MAX] }
    }
}

/// What is known of each lane.
#[derive(Debug)]
pub(crate) struct LaneSums<L> {
    first: [L; LANES_MAX],
    last: [L; LANES_MAX],
    min: [L; LANES_MAX],
    max: [L; LANES_MAX],
    low: [i64; LANES_MAX],
    high: [i64; LANES_MAX],
}

impl<L: Lane> LaneSums<L> {
    pub(crate) fn new() -> Self {
        let zeros = [L::ZERO; LANES_MAX];
        let (low, high) = ([0; LANES_MAX], [0; LANES_MAX]);
        LaneSums { first: zeros, last: zeros, min: zeros, max: zeros, low, high }
    }

    /// Starts with the first tick's row.
    #[inline]
    pub(crate) fn begin(&mut self, row: &[L]) {
        for to in [&mut self.first, &mut self.last, &mut self.min, &mut self.max] {
            to.iter_mut().zip(row).for_each(|(to, value)| *to = *value);
        }
        for ((low, high), value) in self.low.iter_mut().zip(&mut self.high).zip(row) {
            (*low, *high) = value.parts();
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, row: &[L]) {
        for (min, value) in self.min.iter_mut().zip(row) {
            *min = (*min).min(*value);
        }
        for (max, value) in self.max.iter_mut().zip(row) {
            *max = (*max).max(*value);
        }
        for ((low, high), value) in self.low.iter_mut().zip(&mut self.high).zip(row) {
            let parts = value.parts();
            *low += parts.0;
            *high += parts.1;
        }
    }

    #[inline]
    pub(crate) fn end(&mut self, row: &[L]) {
        self.last.iter_mut().zip(row).for_each(|(to, value)| *to = *value);
    }

    /// Of one lane, after `count` rows.
    #[inline]
    pub(crate) fn sum(&self, lane: usize, count: u64) -> Sum {
        let lane = lane % LANES_MAX;
        Sum {
            count,
            sum: L::total(self.low[lane], self.high[lane]),
            min: self.min[lane].wide(),
            max: self.max[lane].wide(),
            first: self.first[lane].wide(),
            last: self.last[lane].wide(),
        }
    }
}
