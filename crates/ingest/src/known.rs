//! Series that have been met, by the keys of how they were written: no text of a name is kept, and a table
//! may be read by threads that make samples for an intake.
//!
//! Invariant: a key stands for one series and for the two names that it was put together of. So what has
//! its key here needs no other look. Held by `tests/names.rs` and `tests/batches.rs`.

use baro_ondisk::Type;
use baro_sources::Key;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A declared series that has been met.
#[derive(Clone, Copy, Debug)]
pub struct Met {
    /// Its id.
    pub id: u32,
    /// Its type.
    pub kind: Type,
}

impl PartialEq for Met {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Met {}

impl PartialOrd for Met {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Met {
    fn cmp(&self, other: &Self) -> Ordering {
        self.id.cmp(&other.id)
    }
}

/// A number that is spread already, or is made by the store: it is mixed a little and not hashed again.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }
}

/// A map whose keys need no hash.
pub(crate) type SpreadMap<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// Half of a key is enough to find it; both are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placed(pub(crate) Key);

impl Hash for Placed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Key([first, _]) = self.0;
        state.write_u64(first);
    }
}

/// Series that have been met.
#[derive(Debug, Default)]
pub struct Known {
    series: SpreadMap<Placed, Met>,
}

impl Known {
    /// The series that was written so.
    #[must_use]
    pub fn get(&self, key: Key) -> Option<Met> {
        self.series.get(&Placed(key)).copied()
    }

    /// How many keys there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.series.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    pub(crate) fn insert(&mut self, key: Key, met: Met) {
        self.series.insert(Placed(key), met);
    }
}

/// The same for several threads: one intake adds what many look up.
#[derive(Clone, Debug, Default)]
pub struct SharedKnown {
    known: Arc<RwLock<Known>>,
}

impl SharedKnown {
    /// For a while: an intake that adds something waits for the end of it.
    pub fn read(&self) -> RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Known> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}
