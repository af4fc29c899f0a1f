//! How many series there may be: in the store, and of those that one token may write.
//!
//! Both are counted in the store's catalog, so that a restart of the listener changes nothing. What is counted
//! for a token is the series that begin with its prefix; one without a prefix has the bound of the store.
//!
//! Several lanes that declare at the same moment may go beyond a bound by what one piece of a request has.

use baro_ingest::Intake;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Which bound new series meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Bound {
    #[default]
    Store,
    Token,
}

impl Bound {
    /// What a refusal says of it.
    pub(crate) fn said(self) -> &'static str {
        match self {
            Bound::Store => "the store has as many as a listener may bring it to (--series)",
            Bound::Token => {
                "the store has as many with this token's prefix as a token may have (--series-per-token)"
            }
        }
    }
}

/// The bounds, and how many series there are.
#[derive(Debug)]
pub(crate) struct Quota {
    store_max: u64,
    token_max: u64,
    /// In the store, as far as it is known here.
    store: AtomicU64,
    /// By the prefix of a token.
    prefixes: Mutex<HashMap<String, u64>>,
    /// Samples of new series that were refused.
    refused: AtomicU64,
}

impl Quota {
    pub(crate) fn new(store_max: u64, token_max: u64) -> Self {
        let (store, refused) = (AtomicU64::new(0), AtomicU64::new(0));
        Quota { store_max, token_max, store, prefixes: Mutex::default(), refused }
    }

    /// New series that may be declared now, and what bounds them.
    pub(crate) fn left(&self, intake: &Intake<'static>, prefix: &str) -> (usize, Bound) {
        let known = self.store.fetch_max(intake.series_in_store(), Relaxed);
        let store = self.store_max.saturating_sub(known.max(intake.series_in_store()));
        let token = match prefix {
            "" => u64::MAX,
            prefix => {
                let mut prefixes = self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
                let count = || intake.count_series(|name| begins(name, prefix));
                let count = match prefixes.get(prefix) {
                    Some(count) => *count,
                    None => *prefixes.entry(prefix.to_owned()).or_insert_with(count),
                };
                self.token_max.saturating_sub(count)
            }
        };
        let bound = if token < store { Bound::Token } else { Bound::Store };
        (usize::try_from(token.min(store)).unwrap_or(usize::MAX), bound)
    }

    /// So many were declared.
    pub(crate) fn declared(&self, intake: &Intake<'static>, prefix: &str, count: u64) {
        self.store.fetch_max(intake.series_in_store(), Relaxed);
        if count > 0 && !prefix.is_empty() {
            let mut prefixes = self.prefixes.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = prefixes.get_mut(prefix) {
                *known += count;
            }
        }
    }

    /// Samples were refused, since their series may not be declared.
    pub(crate) fn refused(&self, samples: u64) {
        self.refused.fetch_add(samples, Relaxed);
    }

    /// How many these were.
    pub(crate) fn refused_samples(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Series in the store, as far as it is known, and how many there may be.
    pub(crate) fn store(&self) -> (u64, u64) {
        (self.store.load(Relaxed), self.store_max)
    }

    /// How many a token may have.
    pub(crate) fn token_max(&self) -> u64 {
        self.token_max
    }
}

/// As `Pass::allows` has it.
fn begins(name: &str, prefix: &str) -> bool {
    name.starts_with(prefix) || name.strip_prefix("{\"").unwrap_or(name).starts_with(prefix)
}
