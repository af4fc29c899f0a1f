//! Who is connected: what the one that reads the log and a client's own thread share.
//!
//! A client is locked for as long as a message is put in or taken out, never while anybody waits for a disk or a
//! connection.

use super::queue::Queue;
use super::told::Notice;
use super::topics::Topics;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What a client has, and what waits for it.
#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) queue: Queue,
    /// What it was told that there is; `None` until it was told.
    pub(super) topics: Option<Topics>,
    /// Topics that came since, as texts: no more than topics are told at all.
    pub(super) texts: VecDeque<String>,
    /// By their ids.
    pub(super) notices: BTreeMap<&'static str, Notice>,
}

impl State {
    /// Tells a notice, unless that one waits already.
    pub(super) fn tell(&mut self, notice: Notice) {
        self.notices.insert(notice.id, notice);
    }
}

/// One client.
#[derive(Debug, Default)]
pub(super) struct Client {
    state: Mutex<State>,
    came: Condvar,
}

impl Client {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was put in.
    pub(super) fn wake(&self) {
        self.came.notify_one();
    }

    /// Waits until something is put in, at most for so long.
    pub(super) fn wait(&self, wait_ns: u64) {
        let state = self.lock();
        if state.queue.is_empty() && state.texts.is_empty() {
            drop(self.came.wait_timeout(state, Duration::from_nanos(wait_ns)));
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    clients: BTreeMap<u64, Arc<Client>>,
    next: u64,
    /// Rises whenever a client goes, or its subscriptions change.
    changes: u64,
}

/// All clients.
#[derive(Debug)]
pub(super) struct Clients {
    shared: Mutex<Shared>,
    came: Condvar,
    max: usize,
}

/// A client that leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Entered<'a> {
    clients: &'a Clients,
    id: u64,
    pub(super) client: Arc<Client>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let mut shared = self.clients.lock();
        shared.clients.remove(&self.id);
        shared.changes += 1;
    }
}

impl Clients {
    pub(super) fn new(max: usize) -> Self {
        Clients { shared: Mutex::default(), came: Condvar::new(), max }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn are_full(&self) -> bool {
        self.lock().clients.len() >= self.max
    }

    /// What one more is told.
    pub(super) fn full(&self) -> String {
        let max = self.max;
        format!(
            "expected at most {max} sockets at once, found one more: close another one, or start the server \
             with --viewers"
        )
    }

    /// A new client; `None` if there are as many as there may be.
    pub(super) fn enter(&self) -> Option<Entered<'_>> {
        let mut shared = self.lock();
        if shared.clients.len() >= self.max {
            return None;
        }
        shared.next += 1;
        let (id, client) = (shared.next, Arc::new(Client::default()));
        shared.clients.insert(id, Arc::clone(&client));
        self.came.notify_all();
        Some(Entered { clients: self, id, client })
    }

    /// Subscriptions of a client are others now.
    pub(super) fn have_changed(&self) {
        self.lock().changes += 1;
    }

    /// All of them, and the number of changes so far. Waits for the first one, at most for so long.
    pub(super) fn all(&self, wait_ns: u64) -> (Vec<Arc<Client>>, u64) {
        let mut shared = self.lock();
        if shared.clients.is_empty() {
            let waited = self.came.wait_timeout(shared, Duration::from_nanos(wait_ns));
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        (shared.clients.values().cloned().collect(), shared.changes)
    }
}
