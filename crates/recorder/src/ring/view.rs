//! What another thread than the producer's sees of its ring: its counters, and whether anybody records.

use super::layout::{Ring, STATE, STATE_CLOSED, WRITER_LOCK};
use super::producer::{Producer, RingReport};
use std::sync::atomic::Ordering;

/// A ring as another thread than its producer's sees it. It pushes nothing, and outlives the producer.
#[derive(Clone, Debug)]
pub struct RingView {
    ring: Ring,
}

impl Producer {
    /// For a thread that waits for what this one pushes.
    #[must_use]
    pub fn view(&self) -> RingView {
        RingView { ring: self.ring().clone() }
    }
}

impl RingView {
    /// The ring's counters, such as how far it is durable, and what its writer says of room. Does not block.
    #[must_use]
    pub fn report(&self) -> RingReport {
        self.ring.report()
    }

    /// Whether a recorder reads the ring: of one that was attached to. Asks the kernel, does not block.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        let memory = &self.ring.memory;
        memory.counter(STATE).load(Ordering::Acquire) != STATE_CLOSED
            && memory.is_locked(WRITER_LOCK)
    }
}
