//! Types that series and channels are declared with, as the writer looks at them: whoever pushes gives an
//! id and bits, and a push looks nothing up.
//!
//! The table is filled where names are declared, before their ids are handed out. The writer has a copy
//! that it renews when something was added, so that it takes no lock for a record.
//!
//! Invariant: a value, text or frame whose series is declared with another type is not recorded under
//! it; its record is a gap and counted. One with an id that is not in the table is recorded, since it may
//! be understood later, and counted and told. Held by `a_push_of_another_type_is_a_counted_gap`
//! (`tests/types.rs` of the store).

use crate::ring::{FLOATS, Head, INTEGERS, RingReader};
use baro_ondisk::{CatalogEnd, Kind, Samples, Type};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Ids are looked up at once up to this one: the table is as long as the highest.
const ID_MAX: u32 = 1 << 24;
/// Ids copied out of the ring at once, on the stack.
const IDS_AT_ONCE: usize = 256;

/// The types of all ids, 0 of those that nobody has declared.
#[derive(Debug, Default)]
pub(crate) struct DeclaredTypes {
    types: Mutex<(Vec<u8>, Option<CatalogEnd>)>,
    changes: AtomicU64,
}

impl DeclaredTypes {
    /// These too; the catalog ends at `end` with them, durably.
    pub(crate) fn add(&self, declared: impl Iterator<Item = (u32, Type)>, end: CatalogEnd) {
        let mut types = self.types.lock().unwrap_or_else(PoisonError::into_inner);
        let (types, known_end) = &mut *types;
        let mut changed = known_end.replace(end) != Some(end);
        for (id, kind) in declared {
            // One beyond it fills the table: of no other there is then said that nobody has declared it.
            let place = id.min(ID_MAX) as usize;
            if types.len() <= place {
                types.resize(place + 1, 0);
            }
            if let Some(found) = types.get_mut(place) {
                changed |= *found != kind as u8;
                *found = kind as u8;
            }
        }
        if changed {
            self.changes.fetch_add(1, Ordering::Release);
        }
    }
}

/// What the table says of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// All of it is of the type that its series is declared with.
    Yes,
    /// Nobody has declared a series in it.
    Undeclared,
    /// A series in it is declared with another type.
    No,
}

/// The writer's copy.
#[derive(Debug, Default)]
pub(crate) struct KnownTypes {
    shared: Arc<DeclaredTypes>,
    types: Vec<u8>,
    end: Option<CatalogEnd>,
    changes: u64,
}

impl KnownTypes {
    pub(crate) fn of(shared: Arc<DeclaredTypes>) -> Self {
        KnownTypes { shared, ..KnownTypes::default() }
    }

    /// Sees what has been declared since the last call.
    pub(crate) fn look(&mut self) {
        let changes = self.shared.changes.load(Ordering::Acquire);
        if changes != self.changes {
            let types = self.shared.types.lock().unwrap_or_else(PoisonError::into_inner);
            self.types.clone_from(&types.0);
            self.end = types.1;
            self.changes = changes;
        }
    }

    /// The highest id that is declared, of those that the table has room for.
    pub(crate) fn highest(&self) -> u32 {
        self.types.len().saturating_sub(1) as u32
    }

    /// Where the catalog ends with them; not known without a catalog.
    pub(crate) fn catalog_end(&self) -> Option<CatalogEnd> {
        self.end
    }

    /// Whether the record that comes next in a ring is of the type of its series.
    pub(crate) fn fit(&self, ring: &RingReader, head: &Head) -> Fit {
        let taken = match head.kind {
            Kind::Frame => of(Type::Channel),
            Kind::Text => of(Type::Text),
            Kind::Samples => return self.samples_fit(ring, head),
            _ => return Fit::Yes,
        };
        self.takes(head.stream, taken)
    }

    fn samples_fit(&self, ring: &RingReader, head: &Head) -> Fit {
        let mut first = [0; Samples::HEAD_BYTES];
        if head.length <= Samples::HEAD_BYTES {
            return Fit::Yes;
        }
        ring.copy_payload(&mut first);
        let Some((count, _)) = Samples::shape(first, head.length) else { return Fit::Yes };
        let taken = match head.stream {
            FLOATS => of(Type::F64),
            INTEGERS => of(Type::I64) | of(Type::Bool),
            // Pushed by a program of 0.1, which does not say.
            _ => of(Type::F64) | of(Type::I64) | of(Type::Bool),
        };
        let mut ids = [0_u32; IDS_AT_ONCE];
        let (mut at, mut found) = (0, Fit::Yes);
        while at < count {
            let Some(some) = ids.get_mut(..IDS_AT_ONCE.min(count - at)) else { break };
            let offset = Samples::HEAD_BYTES + 4 * at;
            ring.copy_part(offset, baro_sys::memory::as_bytes_mut(some));
            for id in some.iter() {
                match self.takes(*id, taken) {
                    Fit::Yes => {}
                    Fit::Undeclared => found = Fit::Undeclared,
                    Fit::No => return Fit::No,
                }
            }
            at += some.len();
        }
        found
    }

    #[inline]
    fn takes(&self, id: u32, taken: u32) -> Fit {
        let known = if id < ID_MAX { self.types.get(id as usize) } else { None };
        match known.copied().unwrap_or(0) {
            // Of ids beyond a table that is full nothing is known.
            0 if id < ID_MAX || self.types.len() <= ID_MAX as usize => Fit::Undeclared,
            kind if kind == 0 || taken >> kind & 1 == 1 => Fit::Yes,
            _ => Fit::No,
        }
    }
}

/// A type as a bit.
const fn of(kind: Type) -> u32 {
    1 << kind as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(declared: &[(u32, Type)]) -> KnownTypes {
        let shared = Arc::new(DeclaredTypes::default());
        shared.add(declared.iter().copied(), CatalogEnd::default());
        let mut known = KnownTypes::of(shared);
        known.look();
        known
    }

    /// A time that somebody has pushed as an id is one too.
    #[test]
    fn what_nobody_has_declared_is_known_however_high() {
        let floats = of(Type::F64);
        let few = known(&[(1, Type::F64), (2, Type::Text)]);
        assert_eq!((few.takes(1, floats), few.takes(2, floats)), (Fit::Yes, Fit::No));
        for id in [0, 3, ID_MAX - 1, ID_MAX, ID_MAX + 1, u32::MAX] {
            assert_eq!(few.takes(id, floats), Fit::Undeclared, "{id}");
        }
        let many = known(&[(1, Type::F64), (ID_MAX + 7, Type::Text)]);
        assert_eq!(
            (many.takes(3, floats), many.takes(ID_MAX, floats)),
            (Fit::Undeclared, Fit::Yes)
        );
        assert_eq!(many.takes(u32::MAX, floats), Fit::Yes);
    }
}
