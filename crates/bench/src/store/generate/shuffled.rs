//! Any order within ten ticks: a seeded permutation of all samples of the window.
//!
//! The permutation is computed, not stored: a bijection of the numbers below a power of two,
//! without those that are too large. The window's values are kept as distances from its first
//! tick, one byte each.

use super::walk::{LANES, Walk, mix, value};
use super::{BATCH, Batch, Feed};

/// Numbers that are permuted together.
const BLOCK: usize = 256;
/// Ticks of a window.
const WINDOW: u32 = 10;

#[derive(Debug)]
pub(super) struct Shuffled {
    walk: Walk,
    first_id: u32,
    /// Values at the window's first tick.
    now: Vec<i32>,
    /// Distances from there, tick by tick.
    distances: Vec<i8>,
    /// First tick of the window, and of the next.
    tick: u32,
    next_tick: u32,
    permutation: Permutation,
    times_ns: [i64; WINDOW as usize],
    picked: Vec<u32>,
}

/// The numbers below `count`, each once.
#[derive(Clone, Copy, Debug, Default)]
struct Permutation {
    count: u32,
    /// All bits of the bijection.
    mask: u32,
    shift: u32,
    factors: [u32; 2],
    offsets: [u32; 2],
    next: u64,
}

impl Permutation {
    fn new(count: u32, seed: u64) -> Self {
        let mask = count.next_power_of_two() - 1;
        let shift = (mask.count_ones() / 2).max(1);
        let (a, b) = (mix(seed), mix(seed ^ u64::MAX));
        let factors = [a as u32 | 1, b as u32 | 1];
        let offsets = [(a >> 32) as u32, (b >> 32) as u32];
        Permutation { count, mask, shift, factors, offsets, next: 0 }
    }

    /// Replaces the contents of `picked` by at most [`BATCH`] next numbers; none
    /// at the end.
    fn take(&mut self, picked: &mut Vec<u32>) {
        picked.resize(BATCH + BLOCK, 0);
        let mut taken = 0;
        // A block is only begun if there is room for all of it, so none is cut.
        while taken + BLOCK <= BATCH && self.next <= u64::from(self.mask) {
            let mut block: [u32; BLOCK] = std::array::from_fn(|at| self.next as u32 + at as u32);
            for x in &mut block {
                for (factor, offset) in self.factors.into_iter().zip(self.offsets) {
                    *x = x.wrapping_mul(factor).wrapping_add(offset) & self.mask;
                    *x ^= *x >> self.shift;
                }
            }
            let left = u64::from(self.mask) + 1 - self.next;
            let block = &block[..left.min(BLOCK as u64) as usize];
            self.next += block.len() as u64;
            for x in block {
                // Always written, and kept if it is in range: no branch to be mispredicted.
                picked[taken] = *x;
                taken += usize::from(*x < self.count);
            }
        }
        picked.truncate(taken);
    }
}

impl Shuffled {
    pub(super) fn new(walk: Walk, first_id: u32) -> Self {
        Shuffled {
            walk,
            first_id,
            now: walk.starts(),
            distances: Vec::new(),
            tick: 0,
            next_tick: 0,
            permutation: Permutation::default(),
            times_ns: [0; WINDOW as usize],
            picked: Vec::new(),
        }
    }

    /// Walks through the next window; false if there is none.
    fn window(&mut self) -> bool {
        let spec = *self.walk.spec();
        if self.next_tick == spec.ticks {
            return false;
        }
        if self.next_tick > 0 {
            // From the first tick of the last window to that of this one.
            let series = self.now.len();
            let last = self.distances.get(self.distances.len() - series..).unwrap_or(&[]);
            let steps = self.walk.steps(self.next_tick);
            for (series, (now, distance)) in (0..).zip(self.now.iter_mut().zip(last)) {
                *now += i32::from(*distance) + steps.one(series).step();
            }
        }
        self.tick = self.next_tick;
        let rows = WINDOW.min(spec.ticks - self.tick);
        self.next_tick += rows;
        let series = self.now.len();
        self.distances.clear();
        self.distances.resize(series * rows as usize, 0);
        for row in 1..rows as usize {
            let steps = self.walk.steps(self.tick + row as u32);
            let (before, here) = self.distances.split_at_mut(row * series);
            let before = before.get((row - 1) * series..).unwrap_or(&[]);
            let quads = before.chunks(LANES).zip(here.chunks_mut(LANES));
            for (quad, (before, here)) in (0..).zip(quads.take(series.div_ceil(LANES))) {
                for ((before, here), draw) in before.iter().zip(here).zip(steps.quad(quad)) {
                    *here = before + draw.step() as i8;
                }
            }
        }
        for (row, time_ns) in (0..).zip(&mut self.times_ns) {
            *time_ns = spec.time_ns(self.tick.saturating_add(row));
        }
        let seed = self.walk.hash(u32::MAX, self.tick);
        self.permutation = Permutation::new(self.distances.len() as u32, seed);
        true
    }
}

/// Division of 32-bit numbers by one that is fixed: a multiplication.
#[derive(Clone, Copy, Debug)]
struct Divisor {
    divisor: u32,
    factor: u64,
}

impl Divisor {
    fn new(divisor: u32) -> Self {
        Divisor { divisor, factor: (u64::MAX / u64::from(divisor)).wrapping_add(1) }
    }

    #[inline]
    fn divide(self, number: u32) -> (u32, u32) {
        let quotient = match self.divisor {
            1 => number,
            _ => ((u128::from(self.factor) * u128::from(number)) >> 64) as u32,
        };
        (quotient, number - quotient * self.divisor)
    }
}

impl Feed for Shuffled {
    fn next(&mut self, batch: &mut Batch) -> bool {
        batch.clear();
        self.permutation.take(&mut self.picked);
        if self.picked.is_empty() {
            if !self.window() {
                return false;
            }
            self.permutation.take(&mut self.picked);
        }
        let divisor = Divisor::new(self.walk.spec().series);
        let (now, distances) = (self.now.as_slice(), self.distances.as_slice());
        // Column by column: nothing is checked for room at each sample.
        batch.times_ns.extend(self.picked.iter().map(|place| {
            let (row, _) = divisor.divide(*place);
            self.times_ns[row as usize]
        }));
        batch.series.extend(self.picked.iter().map(|place| divisor.divide(*place).1));
        batch.values.extend(batch.series.iter().zip(&self.picked).map(|(series, place)| {
            value(now[*series as usize] + i32::from(distances[*place as usize]))
        }));
        batch.series.iter_mut().for_each(|series| *series += self.first_id);
        true
    }
}
