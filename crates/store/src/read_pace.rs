//! The pace of what reads a store beside a recorder: so many bytes a second.

use baro_sys::clock;

/// Keeps a reader to its rate: it is never ahead by more than one piece, and one that was late does
/// not catch up, since that would be the burst that this prevents.
#[derive(Clone, Debug)]
pub struct ReadPace {
    bytes_per_s: Option<u64>,
    /// When the next read may start, by the monotonic clock.
    next_ns: u64,
}

impl ReadPace {
    /// At most so many bytes a second; without a number it never waits.
    #[must_use]
    pub fn new(bytes_per_s: Option<u64>) -> Self {
        ReadPace { bytes_per_s: bytes_per_s.map(|rate| rate.max(1)), next_ns: 0 }
    }

    /// Waits until `bytes` more may be read. Blocks for as long as those before them take at the
    /// rate.
    pub fn wait(&mut self, bytes: u64) {
        if self.bytes_per_s.is_none() {
            return;
        }
        let now_ns = clock::monotonic_ns();
        let rest_ns = self.due_ns(now_ns, bytes);
        if rest_ns > 0 {
            clock::sleep_ns(rest_ns);
        }
    }

    /// How long to wait from `now_ns` on.
    fn due_ns(&mut self, now_ns: u64, bytes: u64) -> u64 {
        let rest_ns = self.next_ns.saturating_sub(now_ns);
        let rate = self.bytes_per_s.unwrap_or(u64::MAX);
        let cost_ns = u128::from(bytes) * 1_000_000_000 / u128::from(rate);
        let cost_ns = u64::try_from(cost_ns).unwrap_or(u64::MAX);
        self.next_ns = self.next_ns.max(now_ns).saturating_add(cost_ns);
        rest_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_keeps_to_its_rate_and_does_not_catch_up() {
        let mut pace = ReadPace::new(Some(1000));
        // The first piece costs the second one its second.
        assert_eq!(pace.due_ns(5_000_000_000, 1000), 0);
        assert_eq!(pace.due_ns(5_000_000_000, 500), 1_000_000_000);
        assert_eq!(pace.due_ns(6_100_000_000, 500), 400_000_000);
        // Idle for ten seconds: one piece goes at once, and no more.
        assert_eq!(pace.due_ns(17_000_000_000, 1000), 0);
        assert_eq!(pace.due_ns(17_000_000_000, 1), 1_000_000_000);
        assert_eq!(ReadPace::new(None).due_ns(1, u64::MAX), 0);
        assert_eq!(ReadPace::new(Some(0)).due_ns(1, u64::MAX), 0);
    }
}
