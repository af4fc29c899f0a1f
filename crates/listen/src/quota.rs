//! How many series there may be: in the store, and of those that one token may write.
//!
//! Both are counted in the store's catalog, so that a restart of the listener changes nothing. What is counted
//! for a token is the series that begin with its prefix; one without a prefix has the bound of the store.
//!
//! Lanes declare side by side, and each knows of the others' series when it reads the catalog on. So who is
//! about to declare has a turn: it sets aside as many series as its text can have. Where that is more than is
//! left, it counts anew what there is, and goes on alone.
//!
//! Invariant: no bound is exceeded, however many lanes there are, and what is declared is never refused. Held by
//! `a_bound_of_series_is_one_for_all_lanes` (`tests/http/lanes.rs`).

use crate::lane::NoLane;
use baro_ingest::Intake;
use baro_sys::clock;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

/// Series with the prefix of a token.
#[derive(Clone, Copy, Debug, Default)]
struct Prefixed {
    count: u64,
    /// Up to this id all were looked at; those above it may all have the prefix.
    up_to: u64,
    /// Set aside for turns.
    aside: u64,
}

#[derive(Debug, Default)]
struct State {
    /// Series in the store, as far as they are known here.
    store: u64,
    /// Set aside for turns.
    aside: u64,
    prefixes: HashMap<String, Prefixed>,
    /// Somebody declares near a bound.
    alone: bool,
}

/// The bounds, and how many series there are.
#[derive(Debug)]
pub(crate) struct Quota {
    store_max: u64,
    token_max: u64,
    state: Mutex<State>,
    /// A turn has ended.
    ended: Condvar,
    /// Samples of new series that were refused.
    refused: AtomicU64,
}

/// Who may declare so many now.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    quota: &'a Quota,
    prefix: &'a str,
    aside: u64,
    alone: bool,
    /// New series that may be declared.
    pub(crate) left: usize,
    /// What bounds them.
    pub(crate) bound: Bound,
}

impl State {
    /// What is left, and by which bound it is. Of series that nobody has looked at the worst is taken.
    fn left(&self, quota: &Quota, prefix: &str) -> (u64, Bound) {
        let store = quota.store_max.saturating_sub(self.store + self.aside);
        let token = match prefix {
            "" => u64::MAX,
            prefix => {
                let Prefixed { count, up_to, aside } =
                    self.prefixes.get(prefix).copied().unwrap_or_default();
                let used = count + self.store.saturating_sub(up_to) + aside;
                quota.token_max.saturating_sub(used)
            }
        };
        if token < store { (token, Bound::Token) } else { (store, Bound::Store) }
    }

    fn prefixed(&mut self, prefix: &str) -> Option<&mut Prefixed> {
        match prefix {
            "" => None,
            prefix => Some(self.prefixes.entry(prefix.to_owned()).or_default()),
        }
    }

    /// Looks at series that nobody has looked at.
    fn count(&mut self, intake: &mut Intake<'static>, prefix: &str) {
        // What cannot be read now counts as it did.
        let has_learned = intake.learn().is_ok();
        let highest = intake.series_in_store();
        self.store = self.store.max(highest);
        if let Some(prefixed) = self.prefixed(prefix).filter(|_| has_learned) {
            let above = u32::try_from(prefixed.up_to).unwrap_or(u32::MAX);
            prefixed.count += intake.count_series_above(above, |name| begins(name, prefix));
            prefixed.up_to = prefixed.up_to.max(highest);
        }
    }
}

impl Quota {
    pub(crate) fn new(store_max: u64, token_max: u64) -> Self {
        let (state, ended, refused) = (Mutex::default(), Condvar::new(), AtomicU64::new(0));
        Quota { store_max, token_max, state, ended, refused }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn of a piece that has at most `most` new series; waits for others until `end_ns`.
    pub(crate) fn turn<'a>(
        &'a self,
        intake: &mut Intake<'static>,
        prefix: &'a str,
        most: u64,
        end_ns: u64,
    ) -> Result<Turn<'a>, NoLane> {
        let turn = |left: u64, bound, aside, alone| {
            let left = usize::try_from(left).unwrap_or(usize::MAX);
            Turn { quota: self, prefix, aside, alone, left, bound }
        };
        let mut state = self.lock();
        state.store = state.store.max(intake.series_in_store());
        let (left, bound) = state.left(self, prefix);
        // What is new to a lane may be declared; it is read before anything is refused.
        if most == 0 {
            return Ok(turn(0, bound, 0, false));
        }
        let mut left = (left, bound);
        loop {
            if left.0 >= most && !state.alone {
                state.aside += most;
                if let Some(prefixed) = state.prefixed(prefix) {
                    prefixed.aside += most;
                }
                return Ok(turn(most, left.1, most, false));
            }
            state.count(intake, prefix);
            left = state.left(self, prefix);
            let is_alone = state.aside == 0 && !state.alone;
            if is_alone || (left.0 >= most && !state.alone) {
                if left.0 >= most {
                    continue;
                }
                // Who may declare nothing keeps nobody waiting.
                state.alone = left.0 > 0;
                return Ok(turn(left.0, left.1, 0, state.alone));
            }
            let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
            if left_ns == 0 {
                return Err(NoLane::Busy);
            }
            let waited = self.ended.wait_timeout(state, Duration::from_nanos(left_ns));
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
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
        (self.lock().store, self.store_max)
    }

    /// How many a token may have.
    pub(crate) fn token_max(&self) -> u64 {
        self.token_max
    }
}

impl Turn<'_> {
    /// Takes note of what the lane has declared, before what was set aside is free again.
    pub(crate) fn end(self, intake: &Intake<'static>) {
        let mut state = self.quota.lock();
        state.store = state.store.max(intake.series_in_store());
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.quota.lock();
        state.aside = state.aside.saturating_sub(self.aside);
        let aside = self.aside;
        if let Some(prefixed) = state.prefixed(self.prefix) {
            prefixed.aside = prefixed.aside.saturating_sub(aside);
        }
        if self.alone {
            state.alone = false;
        }
        drop(state);
        self.quota.ended.notify_all();
    }
}

/// As `Pass::allows` has it.
fn begins(name: &str, prefix: &str) -> bool {
    name.starts_with(prefix) || name.strip_prefix("{\"").unwrap_or(name).starts_with(prefix)
}
