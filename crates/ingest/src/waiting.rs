//! What a source that waits for room is told meanwhile, by whoever watches over it: that it is to stop, or
//! that settling, which would make room, has stopped.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a source that waits for room is told by whoever watches over it. The default waits on.
#[derive(Debug, Default)]
pub struct Waiting {
    stop: AtomicBool,
    unsettled: Mutex<Option<String>>,
}

impl Waiting {
    /// Nothing is waited for any more.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Why nothing is settled now; `None` if it is.
    pub fn settling_stopped(&self, why: Option<String>) {
        *self.unsettled.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(crate) fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn unsettled(&self) -> Option<String> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
