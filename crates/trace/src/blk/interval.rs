//! The interval of a recording: from its first event to its last.
//!
//! Times of other programs can be wrong: one that blktrace took before its start has wrapped, and a single
//! one would make the interval forty years. So an event that is alone, more than a day away from the one
//! before and the one after, is no part of the interval, and counted. Invariant: constant memory; events
//! with a neighbour are within the interval. Test: below.

/// A recording with such a pause and one event behind it is not told from one with a wrong time.
const JUMP_NS: u64 = 24 * 60 * 60 * 1_000_000_000;

/// First and last time of what was seen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Interval {
    seen: Option<Seen>,
    /// Far from what was seen: whether it is alone is not known yet.
    far_ns: Option<u64>,
    alone: u64,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    first_ns: u64,
    last_ns: u64,
    /// Of the event before.
    now_ns: u64,
    is_alone: bool,
}

impl Seen {
    fn one(time_ns: u64) -> Seen {
        Seen { first_ns: time_ns, last_ns: time_ns, now_ns: time_ns, is_alone: true }
    }

    fn add(&mut self, time_ns: u64) {
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
        (self.now_ns, self.is_alone) = (time_ns, false);
    }
}

impl Interval {
    pub(super) fn take(&mut self, time_ns: u64) {
        let near = |other: u64| time_ns.abs_diff(other) <= JUMP_NS;
        let Some(seen) = &mut self.seen else {
            self.seen = Some(Seen::one(time_ns));
            return;
        };
        match self.far_ns.take() {
            // After a long pause it goes on.
            Some(far_ns) if near(far_ns) => {
                if seen.is_alone {
                    *seen = Seen::one(far_ns);
                    self.alone += 1;
                }
                seen.add(far_ns);
                seen.add(time_ns);
            }
            far_ns => {
                self.alone += u64::from(far_ns.is_some());
                if near(seen.now_ns) {
                    seen.add(time_ns);
                } else {
                    self.far_ns = Some(time_ns);
                }
            }
        }
    }

    pub(super) fn span_ns(&self) -> u64 {
        self.seen.map_or(0, |seen| seen.last_ns.saturating_sub(seen.first_ns))
    }

    /// Events that are no part of it.
    pub(super) fn alone(&self) -> u64 {
        self.alone + u64::from(self.far_ns.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[u64]) -> (u64, u64) {
        let mut interval = Interval::default();
        times.iter().for_each(|time| interval.take(*time));
        (interval.span_ns(), interval.alone())
    }

    #[test]
    fn an_event_that_is_alone_is_no_part_of_the_interval() {
        let (start, wrapped) = (5_u64, 1_266_874_889 * 1_000_000_000);
        assert_eq!(of(&[]), (0, 0));
        assert_eq!(of(&[start]), (0, 0));
        assert_eq!(of(&[start, 10, 8]), (5, 0));
        for times in [
            [wrapped, start, 10, 20],
            [start, wrapped, 10, 20],
            [start, 10, wrapped, 20],
            [start, 10, 20, wrapped],
            [start, 10, 20, u64::MAX],
        ] {
            assert_eq!(of(&times), (15, 1), "{times:?}");
        }
        assert_eq!(of(&[start, wrapped, u64::MAX, 10]), (5, 2));
    }

    #[test]
    fn a_long_pause_is_part_of_it() {
        let later = 3 * JUMP_NS;
        assert_eq!(of(&[5, 10, later, later + 1]), (later - 4, 0));
        assert_eq!(of(&[5, JUMP_NS, 2 * JUMP_NS]), (2 * JUMP_NS - 5, 0));
    }
}
