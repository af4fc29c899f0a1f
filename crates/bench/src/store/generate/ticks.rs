//! Tick by tick, all series ascending; and the same with some samples that come late.

use super::walk::{LANES, Walk, value};
use super::{BATCH, Batch, Feed};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A sample on its way: it arrives before the given tick is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct OnItsWay {
    arrives: u32,
    series: u32,
    tick: u32,
    thousandths: i32,
}

#[derive(Debug)]
pub(super) struct Ticks {
    walk: Walk,
    first_id: u32,
    /// The tick's value of series not yet delivered, the next tick's of the others.
    now: Vec<i32>,
    tick: u32,
    /// Next series.
    at: usize,
    late: bool,
    on_their_way: BinaryHeap<Reverse<OnItsWay>>,
}

impl Ticks {
    pub(super) fn new(walk: Walk, first_id: u32, late: bool) -> Self {
        let (now, on_their_way) = (walk.starts(), BinaryHeap::new());
        Ticks { walk, first_id, now, tick: 0, at: 0, late, on_their_way }
    }

    /// Fills the batch with late samples whose time has come.
    fn arrivals(&mut self, batch: &mut Batch) -> bool {
        let end = self.tick == self.walk.spec().ticks;
        while let Some(Reverse(next)) = self.on_their_way.peek() {
            if (!end && next.arrives > self.tick) || batch.len() == BATCH {
                break;
            }
            batch.times_ns.push(self.walk.spec().time_ns(next.tick));
            batch.series.push(self.first_id + next.series);
            batch.values.push(value(next.thousandths));
            self.on_their_way.pop();
        }
        !batch.is_empty()
    }

    /// The same with those left out that come later.
    fn some_late(&mut self, batch: &mut Batch) {
        let spec = *self.walk.spec();
        let longest = u64::from((spec.ticks / 10).max(1));
        let draws = self.walk.steps(self.tick);
        let steps = self.walk.steps(self.tick + 1);
        let first = self.at as u32;
        let end = (self.at + BATCH).min(self.now.len());
        let Some(now) = self.now.get_mut(self.at..end) else { return };
        for (quad, now) in (first / LANES as u32..).zip(now.chunks_mut(LANES)) {
            let draws = draws.quad(quad).into_iter().zip(steps.quad(quad));
            for (series, (now, (draw, step))) in
                (quad * LANES as u32..).zip(now.iter_mut().zip(draws))
            {
                if draw.one_in_100() {
                    let late = 1 + self.walk.hash(series, self.tick) % longest;
                    let arrives = self.tick.saturating_add(late as u32);
                    let (tick, thousandths) = (self.tick, *now);
                    let late = OnItsWay { arrives, series, tick, thousandths };
                    self.on_their_way.push(Reverse(late));
                } else {
                    batch.series.push(self.first_id + series);
                    batch.values.push(value(*now));
                }
                *now += step.step();
            }
        }
    }
}

/// Values of consecutive series from `first` on, a multiple of four, and their step to what `steps`
/// lead to.
fn deliver(walk: Walk, tick: u32, first: usize, now: &mut [i32], values: &mut Vec<f64>) {
    let steps = walk.steps(tick + 1);
    values.extend(now.iter().map(|now| value(*now)));
    for (quad, now) in (first / LANES..).zip(now.chunks_mut(LANES)) {
        for (now, draw) in now.iter_mut().zip(steps.quad(quad as u32)) {
            *now += draw.step();
        }
    }
}

impl Feed for Ticks {
    fn next(&mut self, batch: &mut Batch) -> bool {
        batch.clear();
        if self.at == 0 && self.late && self.arrivals(batch) {
            return true;
        }
        if self.tick == self.walk.spec().ticks {
            return false;
        }
        let end = (self.at + BATCH).min(self.now.len());
        batch.time_ns = Some(self.walk.spec().time_ns(self.tick));
        if self.late {
            self.some_late(batch);
        } else if let Some(now) = self.now.get_mut(self.at..end) {
            let first_id = self.first_id + self.at as u32;
            batch.series.extend(first_id..first_id + now.len() as u32);
            deliver(self.walk, self.tick, self.at, now, &mut batch.values);
        }
        self.at = end;
        if self.at == self.now.len() {
            (self.at, self.tick) = (0, self.tick + 1);
        }
        true
    }
}
