//! Each series delivers its samples of fifty ticks at once.

use super::walk::{LANES, Walk, value};
use super::{BATCH, Batch, Feed};

/// Ticks of a burst.
const BURST: usize = 50;

#[derive(Debug)]
pub(super) struct Bursty {
    walk: Walk,
    first_id: u32,
    /// Values at the first tick of the next burst of each series.
    now: Vec<i32>,
    tick: u32,
    /// Next series, a multiple of four.
    at: usize,
}

impl Bursty {
    pub(super) fn new(walk: Walk, first_id: u32) -> Self {
        Bursty { walk, first_id, now: walk.starts(), tick: 0, at: 0 }
    }

    /// The bursts of four series.
    fn quad(&mut self, ticks: usize, batch: &mut Batch) {
        let spec = *self.walk.spec();
        let mut burst = [[0_i32; BURST]; LANES];
        let end = (self.at + LANES).min(self.now.len());
        let Some(now) = self.now.get_mut(self.at..end) else { return };
        for column in 0..ticks {
            let steps = self.walk.steps(self.tick + column as u32 + 1);
            let draws = steps.quad((self.at / LANES) as u32);
            for ((row, now), draw) in burst.iter_mut().zip(now.iter_mut()).zip(draws) {
                if let Some(place) = row.get_mut(column) {
                    *place = *now;
                }
                *now += draw.step();
            }
        }
        let first = self.first_id + self.at as u32;
        for (id, row) in (first..).zip(burst.iter().take(end - self.at)) {
            batch.series.extend(std::iter::repeat_n(id, ticks));
            batch.values.extend(row.iter().take(ticks).map(|now| value(*now)));
            batch.times_ns.extend((0..ticks as u32).map(|tick| spec.time_ns(self.tick + tick)));
        }
        self.at = end;
    }
}

impl Feed for Bursty {
    fn next(&mut self, batch: &mut Batch) -> bool {
        batch.clear();
        let left = self.walk.spec().ticks - self.tick;
        if left == 0 {
            return false;
        }
        let ticks = BURST.min(left as usize);
        while batch.len() + LANES * ticks <= BATCH && self.at < self.now.len() {
            self.quad(ticks, batch);
        }
        if self.at == self.now.len() {
            (self.at, self.tick) = (0, self.tick + ticks as u32);
        }
        true
    }
}
