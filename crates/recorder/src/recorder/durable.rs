//! Waiting for what was pushed to be durable: one record, or all of them.
//!
//! Held by `a_flush_makes_durable_what_was_pushed_before_it` (`tests/record.rs`).

use super::Recorder;
use crate::ring::{Producer, RingReport};
use crate::writer::Command;
use crate::{Error, Result};
use baro_sys::clock;
use baro_sys::queue::{RecvTimeoutError, channel};
use std::time::Duration;

impl Recorder {
    /// Waits until every sequence below `sequence` of a producer is durable; false after
    /// `timeout_ns`. Not for the thread that must not wait.
    pub fn wait_durable(&self, producer: &Producer, sequence: u64, timeout_ns: u64) -> bool {
        let deadline_ns = clock::monotonic_ns().saturating_add(timeout_ns);
        while producer.durable() < sequence {
            if clock::monotonic_ns() >= deadline_ns {
                return false;
            }
            clock::sleep_ns(1_000_000);
        }
        true
    }

    /// Makes durable at once what all producers of this recorder, those attached too, have pushed
    /// before the call, without waiting for company as the writer does; returns how many records are
    /// not durable after `timeout_ns`: 0 if all are, at least 1 if the writer could not answer by then. A refused
    /// record counts until its gap is durable.
    /// May be called by any thread but the one that must not wait; pushes go on and notice nothing.
    ///
    /// # Errors
    /// The writer's thread has ended.
    pub fn flush(&self, timeout_ns: u64) -> Result<u64> {
        // Beyond the writer's own answer, should the machine be too busy for it.
        const LATE_NS: u64 = 2_000_000;
        let until_ns = clock::monotonic_ns().saturating_add(timeout_ns);
        let (reply, answer) = channel();
        self.commands.send(Command::Flush(until_ns, reply)).map_err(|_| Error::WriterGone)?;
        let wait = Duration::from_nanos(timeout_ns.saturating_add(LATE_NS));
        match answer.recv_timeout(wait) {
            Ok(left) => Ok(left),
            Err(RecvTimeoutError::Timeout) => {
                let open = |ring: &RingReport| ring.offered.saturating_sub(ring.durable);
                Ok(self
                    .writer
                    .published()
                    .rings
                    .iter()
                    .map(open)
                    .fold(0, u64::saturating_add)
                    .max(1))
            }
            Err(RecvTimeoutError::Disconnected) => Err(Error::WriterGone),
        }
    }
}
