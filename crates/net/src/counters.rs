//! What a server has done, in numbers that any thread may read.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What a server has done.
#[derive(Debug, Default)]
pub struct Counters {
    pub(crate) connections: AtomicU64,
    pub(crate) connections_refused: AtomicU64,
    pub(crate) connections_of_one_refused: AtomicU64,
    pub(crate) connections_given_up: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) bad_heads: AtomicU64,
    pub(crate) slow: AtomicU64,
    pub(crate) without_tls: AtomicU64,
    pub(crate) panics: AtomicU64,
    pub(crate) open: AtomicU64,
    answers: Mutex<BTreeMap<u16, u64>>,
}

/// The counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Connections that were taken.
    pub connections: u64,
    /// Connections that were told to come again.
    pub connections_refused: u64,
    /// The same because of their address.
    pub connections_of_one_refused: u64,
    /// Idle connections that were closed for new ones.
    pub connections_given_up: u64,
    /// Connections now.
    pub open: u64,
    /// Bytes that have come.
    pub received_bytes: u64,
    /// Heads that were refused.
    pub bad_heads: u64,
    /// Clients that were too slow.
    pub slow: u64,
    /// Connections that came to no TLS where it was expected.
    pub without_tls: u64,
    /// Requests that ended with a fault of the server.
    pub panics: u64,
    /// Answers, by status.
    pub answers: BTreeMap<u16, u64>,
}

impl Counters {
    pub(crate) fn answered(&self, status: u16) {
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner).entry(status).or_default() +=
            1;
    }

    /// The counters now.
    #[must_use]
    pub fn counted(&self) -> Counted {
        Counted {
            connections: self.connections.load(Relaxed),
            connections_refused: self.connections_refused.load(Relaxed),
            connections_of_one_refused: self.connections_of_one_refused.load(Relaxed),
            connections_given_up: self.connections_given_up.load(Relaxed),
            open: self.open.load(Relaxed),
            received_bytes: self.received_bytes.load(Relaxed),
            bad_heads: self.bad_heads.load(Relaxed),
            slow: self.slow.load(Relaxed),
            without_tls: self.without_tls.load(Relaxed),
            panics: self.panics.load(Relaxed),
            answers: self.answers.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}
