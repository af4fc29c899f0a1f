//! Waiting until what was pushed is durable: all who wait share what the recorder syncs anyway.
//!
//! One thread looks at the rings, each millisecond while anybody waits, and sleeps else. It wakes all who
//! wait when a ring has gone on, and each looks whether that was enough for him.
//!
//! Invariant: nobody is told that his samples are durable before the ring says so, and nobody waits for a
//! ring that nobody records. Held by `tests/http/kept.rs`.

use baro_recorder::RingView;
use baro_sys::clock;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A wait for a device does not notice so much.
const LOOK_NS: u64 = 1_000_000;
/// How often it is looked whether anybody records still.
const ALIVE_LOOKS: u32 = 50;

/// Why nobody can say that samples are durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsure {
    /// The recorder has ended.
    Gone,
    /// It takes too long.
    Late,
}

#[derive(Debug, Default)]
struct State {
    waiting: usize,
    /// Rings that somebody waits for, and how far each was durable.
    looks: u64,
    ended: bool,
}

/// All who wait.
#[derive(Debug, Default)]
pub(crate) struct Acks {
    state: Mutex<State>,
    /// Somebody waits now.
    wanted: Condvar,
    /// A ring may have gone on.
    moved: Condvar,
}

impl Acks {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until all below `sequence` of a ring is durable, at most for `timeout_ns`.
    pub(crate) fn wait(
        &self,
        ring: &RingView,
        sequence: u64,
        timeout_ns: u64,
    ) -> Result<(), Unsure> {
        let end_ns = clock::monotonic_ns().saturating_add(timeout_ns);
        if ring.report().durable >= sequence {
            return Ok(());
        }
        let mut state = self.lock();
        state.waiting += 1;
        self.wanted.notify_one();
        let mut alive_at = state.looks;
        let result = loop {
            if ring.report().durable >= sequence {
                break Ok(());
            }
            let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
            if left_ns == 0 || state.ended {
                break Err(Unsure::Late);
            }
            if state.looks.wrapping_sub(alive_at) >= u64::from(ALIVE_LOOKS) {
                alive_at = state.looks;
                // What became durable just before it ended counts.
                if !ring.is_recorded() && ring.report().durable < sequence {
                    break Err(Unsure::Gone);
                }
            }
            let timeout = Duration::from_nanos(left_ns);
            let waited = self.moved.wait_timeout(state, timeout);
            state = waited.map(|(state, _)| state).unwrap_or_else(|error| error.into_inner().0);
        };
        state.waiting -= 1;
        result
    }

    /// The thread that looks at `rings`; until [`Acks::end`].
    pub(crate) fn look(&self, rings: impl Fn() -> Vec<RingView>) {
        let mut state = self.lock();
        let mut seen: Vec<u64> = Vec::new();
        while !state.ended {
            if state.waiting == 0 {
                state = self.wanted.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            drop(state);
            clock::sleep_ns(LOOK_NS);
            let now: Vec<u64> = rings().iter().map(|ring| ring.report().durable).collect();
            state = self.lock();
            state.looks = state.looks.wrapping_add(1);
            let looks_alive = state.looks.is_multiple_of(u64::from(ALIVE_LOOKS));
            if now != seen || looks_alive {
                seen = now;
                self.moved.notify_all();
            }
        }
    }

    /// Nobody waits any more.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.wanted.notify_all();
        self.moved.notify_all();
    }
}
