//! What the victim itself knows of its slow calls: the truth that an explanation is held against.
//!
//! Invariant: each call that took at least [`SLOW_NS`] is in the account, as long as there are not
//! more than [`CALLS_MAX`]; then the shortest go. Held by the test below.

use baro_sys::{clock, task};

/// Calls that take at least so long are kept.
pub const SLOW_NS: u64 = 50_000_000;
/// A victim that is slowed for ten seconds has at most 200 of them.
const CALLS_MAX: usize = 256;

/// A slow call, by the clock and the task that made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowCall {
    /// The thread's id, which tracers call pid.
    pub tid: u32,
    /// Name of the system call.
    pub call: &'static str,
    /// When it began, on the monotonic clock.
    pub begin_ns: u64,
    /// When it was over.
    pub end_ns: u64,
    /// How long of it the thread was ready to run without a processor, by the kernel's count.
    pub run_delay_ns: u64,
}

impl SlowCall {
    /// How long it took.
    #[must_use]
    pub fn wait_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }
}

/// All that a victim did.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// The slow calls, in their order.
    pub slow: Vec<SlowCall>,
    /// All calls.
    pub calls: u64,
}

impl Account {
    /// Makes a call and notes it.
    pub(super) fn call<T>(&mut self, call: &'static str, make: impl FnOnce() -> T) -> T {
        let before_ns = task::own_run_delay_ns();
        let begin_ns = clock::monotonic_ns();
        let made = make();
        let end_ns = clock::monotonic_ns();
        self.calls += 1;
        if end_ns - begin_ns >= SLOW_NS {
            let run_delay_ns = task::own_run_delay_ns().saturating_sub(before_ns);
            let tid = task::thread_id();
            self.note(SlowCall { tid, call, begin_ns, end_ns, run_delay_ns });
        }
        made
    }

    fn note(&mut self, call: SlowCall) {
        self.slow.push(call);
        if self.slow.len() > CALLS_MAX {
            let shortest =
                (0..self.slow.len()).min_by_key(|at| self.slow.get(*at).map(SlowCall::wait_ns));
            self.slow.remove(shortest.unwrap_or(0));
        }
    }

    /// The longest call: the one that is judged.
    #[must_use]
    pub fn longest(&self) -> Option<&SlowCall> {
        self.slow.iter().max_by_key(|call| call.wait_ns())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_calls_are_kept_and_of_too_many_the_longest() {
        let mut account = Account::default();
        assert_eq!(account.call("pwrite", || 7), 7);
        account.call("fsync", || clock::sleep_ns(SLOW_NS));
        assert_eq!((account.calls, account.slow.len()), (2, 1));
        let slow = account.slow[0];
        assert!(slow.call == "fsync" && slow.tid == task::thread_id() && slow.wait_ns() >= SLOW_NS);
        for length_ns in 0..2_000 {
            account.note(SlowCall { begin_ns: 0, end_ns: length_ns, ..slow });
        }
        assert_eq!(account.slow.len(), CALLS_MAX);
        assert_eq!(account.longest(), Some(&slow));
        assert_eq!(account.slow[1].wait_ns(), 2_001 - CALLS_MAX as u64);
    }
}
