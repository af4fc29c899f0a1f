//! Flushes: what was pushed before somebody asked is to be durable at once, not only within the time
//! that the writer aims at. For handlers of a failing supply.
//!
//! The writer's thread keeps who waits; the engine hurries as long as anybody does. A producer notices
//! nothing of it: the positions are those that its ring has anyway.
//!
//! Invariant: an answer of 0 means that every record pushed before the question is durable, or a gap
//! that is; whoever has no answer in his time is told how much is not, and delays nothing any more. Held
//! by `a_flush_makes_durable_what_was_pushed_before_it` (`tests/record.rs`).

use super::Engine;
use baro_sys::clock;
use baro_sys::queue::Sender;

/// Somebody waits for what the rings hold now.
#[derive(Debug)]
struct Waiting {
    /// Of each ring the sequence below which everything is waited for.
    targets: Vec<u64>,
    until_ns: u64,
    reply: Sender<u64>,
}

/// All who wait.
#[derive(Debug, Default)]
pub(super) struct Flushes {
    waiting: Vec<Waiting>,
}

impl Flushes {
    /// From now on waits for what has been pushed until now; `reply` gets the number of records that
    /// are not durable at `until_ns` (monotonic), or 0 before.
    pub(super) fn ask(&mut self, engine: &mut Engine, until_ns: u64, reply: Sender<u64>) {
        let targets = engine.offered();
        engine.hurry_up(true);
        self.waiting.push(Waiting { targets, until_ns, reply });
    }

    /// Answers those whose records are durable or whose time is over; when to look again at the
    /// latest.
    pub(super) fn answer(&mut self, engine: &mut Engine) -> u64 {
        if self.waiting.is_empty() {
            return u64::MAX;
        }
        let now_ns = clock::monotonic_ns();
        self.waiting.retain(|waiting| {
            let left = engine.not_durable(&waiting.targets);
            let over = left == 0 || now_ns >= waiting.until_ns;
            if over {
                // Who has gone meanwhile needs no answer.
                let _ = waiting.reply.send(left);
            }
            !over
        });
        engine.hurry_up(!self.waiting.is_empty());
        self.waiting.iter().map(|waiting| waiting.until_ns).min().unwrap_or(u64::MAX)
    }
}

impl Engine {
    /// Of each ring how many sequences have been handed out.
    fn offered(&mut self) -> Vec<u64> {
        self.rings().iter().map(|ring| ring.report().offered).collect()
    }

    /// Sequences below the targets that are neither durable nor a durable gap.
    fn not_durable(&self, targets: &[u64]) -> u64 {
        let left = |(ring, target): (&crate::ring::RingReader, &u64)| {
            target.saturating_sub(ring.released().sequence)
        };
        self.rings().iter().zip(targets).map(left).fold(0, u64::saturating_add)
    }
}
