//! The page: what is recorded, live and in any window of time, in a browser.
//!
//! # Design
//!
//! **The server draws nothing and hands out few numbers.** A window of time has as many columns as the
//! picture has, and each column the least, the greatest, the first and the last value of its samples. So an
//! answer has the same size whether the window is a second or a year, and a long one is read from aggregates.
//!
//! **One reader for all viewers.** While somebody looks, one thread follows the log and puts what comes into
//! the columns of each viewer ([`follower`]). A viewer fetches what has changed since he last asked, and waits
//! for it at most a second: plain requests, so that each is let in as any other, and nothing is held for who
//! is gone. Who is slow finds the newest columns, and is told how many he has missed.
//!
//! **Stores of its own.** Windows and the live picture have a store each, opened when they are first needed:
//! they do not wait for the queries of others, nor for each other.
//!
//! **Nothing from elsewhere.** The page is in the program; its rules for the browser let it talk to this server
//! alone and run no script but its own.
//!
//! Invariant: a window has what a fold over all its samples gives, and a live picture what is recorded; what is
//! missing is told. Held by `tests/page`.

mod chosen;
mod column;
mod files;
mod follower;
mod guard;
mod search;
mod status;
mod viewers;
mod window;

pub(crate) use files::file_of as file;
pub(crate) use guard::guarded;

use crate::api::{Parameters, Refusal};
use baro_net::Response;
use baro_store::Store;
use baro_sys::clock;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};
use viewers::Viewers;

/// Between two looks whether it is one's turn.
const TURN_NS: u64 = 1_000_000;

/// What the page shows.
#[derive(Debug)]
pub(crate) struct Live {
    path: PathBuf,
    /// For searches and windows, once somebody asks for one.
    store: Mutex<Option<Store>>,
    viewers: Viewers,
    timeout_ns: u64,
}

/// A store that is there, for one request.
pub(crate) struct Turn<'a>(MutexGuard<'a, Option<Store>>);

impl Turn<'_> {
    pub(crate) fn store(&self) -> Result<&Store, Refusal> {
        self.0.as_ref().ok_or_else(|| Refusal::internal(&"the store is not open"))
    }
}

impl Live {
    /// Of the store at `path`; `viewers` may look at the same time, and a request takes `timeout_ns` at most.
    pub(crate) fn new(path: &Path, viewers: usize, timeout_ns: u64) -> Self {
        let (path, store) = (path.to_owned(), Mutex::new(None));
        Live { path, store, viewers: Viewers::new(viewers), timeout_ns }
    }

    /// The answer to `/live/WHAT`. Blocks while it waits for its turn, for the disk, or for something new.
    ///
    /// # Errors
    /// What is asked for is nothing, or cannot be told.
    pub(crate) fn answer(&self, what: &str, parameters: &Parameters) -> Result<Response, Refusal> {
        let until_ns = clock::monotonic_ns().saturating_add(self.timeout_ns);
        let body = match what {
            "search" => search::answer(self.turn(until_ns)?.store()?, parameters)?,
            "window" => window::answer(self.turn(until_ns)?.store()?, parameters, until_ns)?,
            "follow" => {
                let chosen = chosen::names(parameters, 0)?;
                chosen::Chosen::of(self.turn(until_ns)?.store()?, &chosen)?;
                self.viewers.open(chosen, parameters)?
            }
            "next" => self.viewers.next(parameters)?,
            _ => {
                return Err(Refusal::not_found(
                    "expected /live/search, window, follow or next, found another address",
                ));
            }
        };
        Ok(Response::json(200, body))
    }

    /// The store as it is now; others wait until `until_ns`.
    pub(crate) fn turn(&self, until_ns: u64) -> Result<Turn<'_>, Refusal> {
        let mut store = loop {
            match self.store.try_lock() {
                Ok(store) => break store,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if clock::monotonic_ns() < until_ns => {
                    clock::sleep_ns(TURN_NS);
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Refusal::timeout("other windows have taken all its time"));
                }
            }
        };
        match &mut *store {
            Some(store) => store.refresh().map_err(|error| Refusal::internal(&error))?,
            None => {
                let opened = Store::open(&self.path).map_err(|error| Refusal::internal(&error))?;
                *store = Some(opened);
            }
        }
        Ok(Turn(store))
    }
}
