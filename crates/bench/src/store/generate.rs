//! The data of the store's bench: what is pushed, in which order, and what must come back.
//!
//! Nothing is kept that can be made again: a walk's samples are computed when they are pushed and
//! once more when an answer is checked, so neither memory nor the device knows them beforehand.
//!
//! Invariant: every order hands out the same samples, each once, and two runs with one seed are
//! the same to the bit. Held by `tests.rs`.

mod bursty;
mod late;
mod proc;
mod recorded;
mod shuffled;
#[cfg(test)]
mod tests;
mod ticks;
mod timed;
mod values;
mod walk;

pub use proc::record_proc;
pub use recorded::Recorded;
pub use timed::{Timed, Times};
pub use values::Values;
pub use walk::{Walk, WalkSpec};

use baro_ondisk::Type;
use baro_store::Interval;

/// Samples in one push, but for the rest of a tick: enough to make its fixed cost small, and a
/// small part of the ring.
pub const BATCH: usize = 4096;

/// The order in which samples arrive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// Every tick all series, ascending.
    #[default]
    Ticks,
    /// Within each 10 ticks any order.
    Shuffled,
    /// Each series delivers its samples of 50 ticks at once.
    Bursty,
    /// As ticks, but one sample of 100 comes late by up to a tenth of the range.
    Late,
}

impl Order {
    /// All of them.
    pub const ALL: [Order; 4] = [Order::Ticks, Order::Shuffled, Order::Bursty, Order::Late];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Order::Ticks => "ticks",
            Order::Shuffled => "shuffled",
            Order::Bursty => "bursty",
            Order::Late => "late",
        }
    }
}

/// What is pushed at once.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The time of all of them; `None`: each has its own in `times_ns`.
    pub time_ns: Option<i64>,
    /// Empty if all have one time.
    pub times_ns: Vec<i64>,
    /// Ids.
    pub series: Vec<u32>,
    /// Values of series of type f64.
    pub values: Vec<f64>,
    /// Values of series of type i64: then `values` is empty.
    pub integers: Vec<i64>,
}

impl Batch {
    /// Empties it.
    pub fn clear(&mut self) {
        self.time_ns = None;
        self.times_ns.clear();
        self.series.clear();
        self.values.clear();
        self.integers.clear();
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Time of sample number `at`.
    #[must_use]
    pub fn time_at(&self, at: usize) -> i64 {
        self.time_ns.or_else(|| self.times_ns.get(at).copied()).unwrap_or(0)
    }

    /// The 64 bits of its value.
    #[must_use]
    pub fn bits_at(&self, at: usize) -> u64 {
        let float = self.values.get(at).map(|value| value.to_bits());
        float.or_else(|| self.integers.get(at).map(|value| *value as u64)).unwrap_or(0)
    }
}

/// Samples in the order of arrival.
pub trait Feed {
    /// Replaces the contents of `batch` by the next samples; false at the end.
    fn next(&mut self, batch: &mut Batch) -> bool;
}

/// Data of a bench: series are numbered from 0.
pub trait Data: Sync {
    /// Number of series.
    fn series(&self) -> u32;
    /// Number of samples in all.
    fn samples(&self) -> u64;
    /// Name with labels, and type.
    fn declaration(&self, series: u32) -> (String, Type);
    /// From the first time to behind the last.
    fn range(&self) -> Interval;
    /// The samples as they arrive; series 0 has the id `first_id`, the others follow.
    fn feed(&self, first_id: u32) -> Box<dyn Feed + '_>;
    /// The same samples in the order in which they were taken: what yardsticks append.
    fn in_order(&self) -> Box<dyn Feed + '_>;
    /// Calls `each` with what a query for this series and interval must answer, by rising time:
    /// each time once. Values as 64 bits.
    fn expected(&self, series: u32, interval: Interval, each: &mut dyn FnMut(i64, u64));
}
