//! What another thread than the producer's sees of its ring: how far it is durable, and whether anybody
//! records.

use super::layout::{DURABLE, STATE, STATE_CLOSED, TOLD, WRITER_LOCK};
use super::producer::Producer;
use super::waits::Told;
use crate::writer::Trouble;
use baro_sys::memory::SharedMemory;
use std::sync::atomic::Ordering;

/// A ring as another thread than its producer's sees it: how far it is durable, and whether anybody records.
/// It pushes nothing, and outlives the producer.
#[derive(Clone, Debug)]
pub struct RingView {
    memory: SharedMemory,
}

impl Producer {
    /// For a thread that waits for what this one pushes.
    #[must_use]
    pub fn view(&self) -> RingView {
        RingView { memory: self.memory() }
    }
}

impl RingView {
    /// Every sequence below this is durable (survives a power cut) or a logged gap. Does not block.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.memory.counter(DURABLE).load(Ordering::Acquire)
    }

    /// Why the recorder writes nothing now, as it has told this ring, and whether nobody settles any more. Does
    /// not block.
    #[must_use]
    pub fn trouble(&self) -> (Trouble, bool) {
        let told = Told::decode(self.memory.counter(TOLD).load(Ordering::Relaxed));
        (told.trouble, told.settling_stopped)
    }

    /// Whether a recorder reads the ring: of one that was attached to. Asks the kernel, does not block.
    #[must_use]
    pub fn is_recorded(&self) -> bool {
        self.memory.counter(STATE).load(Ordering::Acquire) != STATE_CLOSED
            && self.memory.is_locked(WRITER_LOCK)
    }
}
