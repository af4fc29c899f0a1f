//! Calls that nothing interrupted: neither an interrupt nor another thread took the processor away.
//!
//! A push makes no system call, so that whatever stops it comes from outside and stops a memcpy in
//! the same place just as long. What is left without such calls is the push itself: its instructions,
//! its page faults, and waits for the ring's other side, if it had any. Page faults and voluntary
//! switches are no interruption: a call that has one stays.
//!
//! Invariant: a call that was interrupted is in the report's own histograms, and in none of these
//! (`test what_was_interrupted_is_left_out`).

use super::histogram;
use super::paced::{Loop, note_usage};
use crate::error::BenchError;
use baro_sys::counters::{InterruptCounter, ThreadUsage};
use hdrhistogram::Histogram;

/// Calls that nothing interrupted, in ns.
#[derive(Clone, Debug)]
pub struct Alone {
    /// Time inside such pushes.
    pub push_ns: Histogram<u64>,
    /// Time of such memcpys.
    pub memcpy_ns: Histogram<u64>,
}

impl Alone {
    fn note(&mut self, pushes: bool, took_ns: u64, interruptions: u64) {
        let histogram = if pushes { &mut self.push_ns } else { &mut self.memcpy_ns };
        if interruptions == 0 {
            histogram.saturating_record(took_ns);
        }
    }
}

/// Tells them from the others.
pub(super) struct Watch {
    interrupts: InterruptCounter,
    alone: Alone,
    failed: Option<String>,
}

impl Watch {
    /// For the calling thread; or why not.
    pub(super) fn new() -> Result<Self, String> {
        let said = |error: BenchError| error.to_string();
        Ok(Self {
            interrupts: InterruptCounter::new().map_err(|error| error.to_string())?,
            alone: Alone {
                push_ns: histogram().map_err(said)?,
                memcpy_ns: histogram().map_err(said)?,
            },
            failed: None,
        })
    }

    /// A push or a memcpy.
    pub(super) fn one(&mut self, this: &mut Loop<'_>, pushes: bool) {
        let before = self.count();
        // Inside, as reading the counter may itself wait for a lock where the kernel is PREEMPT_RT.
        let usage = ThreadUsage::now();
        let took_ns = this.counted(pushes);
        let usage = ThreadUsage::now().since(usage);
        let after = self.count();
        note_usage(&mut this.report, usage);
        self.alone.note(pushes, took_ns, after.saturating_sub(before) + usage.involuntary_switches);
    }

    fn count(&mut self) -> u64 {
        self.interrupts.count().unwrap_or_else(|error| {
            self.failed = Some(error.to_string());
            0
        })
    }

    /// What was found; or why it is worth nothing.
    pub(super) fn finish(self) -> Result<Alone, String> {
        self.failed.map_or(Ok(self.alone), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_interrupted_is_left_out() {
        let mut alone = Alone { push_ns: histogram().unwrap(), memcpy_ns: histogram().unwrap() };
        alone.note(true, 100, 0);
        alone.note(true, 9_000, 1);
        alone.note(false, 90, 0);
        alone.note(false, 80, 0);
        alone.note(false, 7_000, 2);
        assert_eq!((alone.push_ns.len(), alone.push_ns.max()), (1, 100));
        assert_eq!((alone.memcpy_ns.len(), alone.memcpy_ns.max()), (2, 90));
    }
}
