//! Places for connections: how many there are, who has one, and who gives his to a new one.
//!
//! A client that waits between two requests holds a place for nothing. When all are taken, the one that has
//! waited longest gives its place up: clients open a connection again by themselves.

use baro_sys::clock;
use baro_sys::tcp::Tcp;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who has waited for less is about to send.
const IDLE_NS: u64 = 100_000_000;

/// A connection with a place.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) tcp: Tcp,
    id: u64,
    /// Since when it has no request; 0: it has one.
    idle_ns: AtomicU64,
}

impl Place {
    pub(crate) fn is_idle(&self) {
        self.idle_ns.store(clock::monotonic_ns().max(1), Relaxed);
    }

    pub(crate) fn is_busy(&self) {
        self.idle_ns.store(0, Relaxed);
    }
}

/// What became of a new connection.
#[derive(Debug)]
pub(crate) enum Entered {
    Has(Arc<Place>),
    /// And an idle one was closed for it.
    Instead(Arc<Place>),
    Full(Tcp),
}

/// All places.
#[derive(Debug)]
pub(crate) struct Places {
    max: usize,
    taken: Mutex<(u64, HashMap<u64, Arc<Place>>)>,
}

impl Places {
    pub(crate) fn new(max: usize) -> Self {
        Places { max, taken: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, (u64, HashMap<u64, Arc<Place>>)> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn enter(&self, tcp: Tcp) -> Entered {
        let mut taken = self.lock();
        let mut instead = false;
        if taken.1.len() >= self.max {
            let now_ns = clock::monotonic_ns();
            let idle = taken.1.values().filter_map(|place| {
                let since_ns = place.idle_ns.load(Relaxed);
                (since_ns > 0 && now_ns.saturating_sub(since_ns) > IDLE_NS)
                    .then_some((since_ns, place.id))
            });
            let Some((_, id)) = idle.min() else { return Entered::Full(tcp) };
            if let Some(place) = taken.1.remove(&id) {
                place.tcp.end();
            }
            instead = true;
        }
        taken.0 += 1;
        let place = Arc::new(Place { tcp, id: taken.0, idle_ns: AtomicU64::new(0) });
        taken.1.insert(place.id, Arc::clone(&place));
        if instead { Entered::Instead(place) } else { Entered::Has(place) }
    }

    pub(crate) fn leave(&self, place: &Place) {
        self.lock().1.remove(&place.id);
    }

    pub(crate) fn are_free(&self) -> bool {
        self.lock().1.is_empty()
    }

    /// Those without a request are closed; with `all` the others too.
    pub(crate) fn end(&self, all: bool) {
        for place in self.lock().1.values() {
            if all || place.idle_ns.load(Relaxed) > 0 {
                place.tcp.end();
            }
        }
    }
}
