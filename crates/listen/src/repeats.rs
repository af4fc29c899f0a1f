//! What happens again and again: told when it begins, and then once a minute with how often.

use baro_sys::clock;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

const MINUTE_NS: u64 = 60_000_000_000;

#[derive(Debug, Default)]
struct Told {
    last_ns: u64,
    since: u64,
}

/// What happens again and again.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    told: Mutex<HashMap<&'static str, Told>>,
}

impl Repeats {
    /// It has happened. `kind` says what is the same.
    pub(crate) fn say(&self, kind: &'static str, said: &str) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ns = clock::monotonic_ns();
        let is_new = !told.contains_key(kind);
        let one = told.entry(kind).or_default();
        one.since += 1;
        if is_new || now_ns.saturating_sub(one.last_ns) >= MINUTE_NS {
            let times = one.since;
            *one = Told { last_ns: now_ns, since: 0 };
            match times {
                1 => say!("{kind}: {said}"),
                _ => say!("{kind}, {times} times in the last minutes: {said}"),
            }
        }
    }
}
