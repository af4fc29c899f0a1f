//! Samples some of which come late: in the order of another feed, but for a part that is held back and
//! handed out when up to a tenth of all samples have come behind it.
//!
//! Invariant: each sample of the feed is handed out once. Held by `tests.rs`.

use super::walk::mix;
use super::{BATCH, Batch, Feed};
use std::collections::VecDeque;

/// Late samples are handed out together with those that are due about then.
const BUCKETS: u64 = 64;

/// A sample: series, time, value.
type Row = (u32, i64, u64);

pub(super) struct Late<'a> {
    inner: Box<dyn Feed + 'a>,
    first_id: u32,
    /// Of 100 samples so many are late.
    percent: u32,
    seed: u64,
    /// By when they are due, from `due` on.
    held: VecDeque<Vec<Row>>,
    due: u64,
    /// Samples that came until a bucket more is due.
    width: u64,
    seen: u64,
    /// Whether values are integers.
    integers: bool,
    ended: bool,
}

impl<'a> Late<'a> {
    /// Of `samples` in all.
    pub(super) fn new(
        inner: Box<dyn Feed + 'a>,
        (first_id, samples): (u32, u64),
        percent: u32,
        seed: u64,
    ) -> Self {
        let width = (samples / 10 / BUCKETS).max(1);
        let (held, due, seen) = (VecDeque::new(), 0, 0);
        let (integers, ended) = (false, false);
        Late { inner, first_id, percent, seed, held, due, width, seen, integers, ended }
    }

    /// Hands out some of what is due; false if nothing is.
    fn late(&mut self, batch: &mut Batch) -> bool {
        while let Some(rows) = self.held.front_mut() {
            if !self.ended && self.due >= self.seen / self.width {
                return false;
            }
            if rows.is_empty() {
                self.held.pop_front();
                self.due += 1;
                continue;
            }
            batch.clear();
            for (id, time_ns, bits) in rows.drain(rows.len().saturating_sub(BATCH)..) {
                batch.series.push(id);
                batch.times_ns.push(time_ns);
                if self.integers {
                    batch.integers.push(bits as i64);
                } else {
                    batch.values.push(f64::from_bits(bits));
                }
            }
            return true;
        }
        // Nobody is late: what comes next is held from here on.
        self.due = self.seen / self.width;
        false
    }

    /// Holds back what is late of the batch.
    fn hold(&mut self, batch: &mut Batch) {
        self.integers = !batch.integers.is_empty();
        let (now, mut kept) = (self.seen / self.width, 0);
        for at in 0..batch.len() {
            let (id, time_ns) = (batch.series[at], batch.time_at(at));
            let key = u64::from(id - self.first_id) << 32 ^ time_ns as u64;
            let hash = mix(self.seed ^ mix(key));
            if hash % 100 < u64::from(self.percent) {
                let due = (now + 1 + (hash >> 32) % BUCKETS - self.due) as usize;
                if self.held.len() <= due {
                    self.held.resize(due + 1, Vec::new());
                }
                self.held[due].push((id, time_ns, batch.bits_at(at)));
                continue;
            }
            batch.series[kept] = id;
            if let Some(time) = batch.times_ns.get_mut(kept) {
                *time = time_ns;
            }
            if self.integers {
                batch.integers[kept] = batch.integers[at];
            } else {
                batch.values[kept] = batch.values[at];
            }
            kept += 1;
        }
        self.seen += batch.len() as u64;
        batch.series.truncate(kept);
        batch.times_ns.truncate(kept);
        batch.values.truncate(kept);
        batch.integers.truncate(kept);
    }
}

impl Feed for Late<'_> {
    fn next(&mut self, batch: &mut Batch) -> bool {
        loop {
            if self.late(batch) {
                return true;
            }
            if self.ended || !self.inner.next(batch) {
                if self.ended || self.held.is_empty() {
                    return false;
                }
                self.ended = true;
                continue;
            }
            self.hold(batch);
            if !batch.is_empty() {
                return true;
            }
        }
    }
}
