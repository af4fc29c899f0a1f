//! In which state a store is when it is asked, and how it comes to be so.
//!
//! Invariant: whatever the state, all samples of the data are there, and what is older is of no matter to
//! the questions. Held by `tests.rs`.

use super::generate::{Batch, Data, Feed};
use baro_store::{RunRetention, SettleOptions};

/// In which state the store is that is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// All of it recorded, then settled at once.
    #[default]
    Fresh,
    /// The first half of it settled, the other one in the log.
    Half,
    /// Recorded and settled in ten portions, which makes runs that are merged; what was before is
    /// dropped by its age.
    Aged,
}

/// Portions of an aged store.
const PORTIONS: u64 = 10;
/// Of an aged store: so many runs are merged, so that it happens twice.
const FAN_IN: usize = 4;

impl State {
    /// All of them.
    pub const ALL: [State; 3] = [State::Fresh, State::Half, State::Aged];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Fresh => "fresh",
            State::Half => "half",
            State::Aged => "aged",
        }
    }

    /// In how many portions `samples` are recorded, and how many of them are settled.
    pub(super) fn portions(self) -> (u64, u64) {
        match self {
            State::Fresh => (1, 1),
            State::Half => (2, 1),
            State::Aged => (PORTIONS, PORTIONS),
        }
    }

    /// How a portion is settled.
    pub(super) fn settling(self, data: &dyn Data) -> SettleOptions {
        let range = data.range();
        let length_ns = range.to_ns.abs_diff(range.from_ns);
        let retention = RunRetention { keep_ns: Some(length_ns), ..RunRetention::default() };
        match self {
            State::Aged => SettleOptions { fan_in: FAN_IN, retention, ..SettleOptions::default() },
            State::Fresh | State::Half => SettleOptions::default(),
        }
    }
}

/// What was before the data: a tenth of it, twice the range earlier.
pub(super) struct Before<'a> {
    feed: Box<dyn Feed + 'a>,
    earlier_ns: i64,
    left: u64,
}

impl<'a> Before<'a> {
    pub(super) fn new(data: &'a dyn Data, first_id: u32) -> Self {
        let range = data.range();
        let earlier_ns = range.to_ns.saturating_sub(range.from_ns).saturating_mul(2);
        let left = data.samples() / PORTIONS;
        Before { feed: data.feed(first_id), earlier_ns, left }
    }
}

impl Feed for Before<'_> {
    fn next(&mut self, batch: &mut Batch) -> bool {
        if self.left == 0 || !self.feed.next(batch) {
            return false;
        }
        batch.time_ns = batch.time_ns.map(|time_ns| time_ns - self.earlier_ns);
        batch.times_ns.iter_mut().for_each(|time_ns| *time_ns -= self.earlier_ns);
        self.left = self.left.saturating_sub(batch.len() as u64);
        true
    }
}
