//! Requests that were issued and are not done yet, and who queued those that are not issued yet.
//!
//! A completion comes in the context of an interrupt: who asked is known from the issue alone, which
//! has the same disk and sector. Two requests can be under way at one place (a read of what is being
//! read), so those of one place are a queue; flushes have no place, and are told from others by
//! having no bytes.
//!
//! Invariant: at most [`PENDING_MAX`] of each, the oldest go first; what was found is gone. Held by
//! `requests_are_found_by_place_in_their_order`, `tables_are_bounded`.

use super::class::Class;
use super::event::Process;
use crate::record::Device;
use std::collections::BTreeMap;

/// Requests under way that are remembered: far more than the queues of all disks hold.
pub const PENDING_MAX: usize = 1 << 16;

/// Of the requests at one place, so many are looked at, from the oldest on: two are usual.
const LOOK_MAX: usize = 256;

/// A request that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// Its class when it was issued.
    pub(super) class: Class,
    /// What is not done of it, in bytes.
    pub(super) left_bytes: u64,
    /// Who asked.
    pub(super) process: Process,
    /// The driver gave it back: the next issue at this place is not another request.
    pub(super) requeued: bool,
}

/// Disk, sector, and whether it has bytes.
pub(super) type At = (Device, u64, bool);

/// Values by place, the oldest of a place first; bounded.
#[derive(Debug)]
pub(super) struct Places<T> {
    by_place: BTreeMap<(At, u64), T>,
    by_age: BTreeMap<u64, At>,
    next: u64,
    limit: usize,
}

impl<T> Places<T> {
    pub(super) fn new(limit: usize) -> Self {
        Self { by_place: BTreeMap::new(), by_age: BTreeMap::new(), next: 0, limit }
    }

    /// Adds one; gives the oldest of all if it had to go.
    pub(super) fn add(&mut self, at: At, value: T) -> Option<T> {
        self.by_place.insert((at, self.next), value);
        self.by_age.insert(self.next, at);
        self.next = self.next.wrapping_add(1);
        if self.by_age.len() <= self.limit {
            return None;
        }
        let (number, at) = self.by_age.pop_first()?;
        self.by_place.remove(&(at, number))
    }

    /// The oldest at this place for which `is` holds, to be changed.
    pub(super) fn find(&mut self, at: At, is: impl Fn(&T) -> bool) -> Option<&mut T> {
        let here = self.by_place.range_mut((at, 0)..=(at, u64::MAX)).take(LOOK_MAX);
        here.map(|(_, value)| value).find(|value| is(value))
    }

    /// Takes the oldest at this place for which `is` holds.
    pub(super) fn take(&mut self, at: At, is: impl Fn(&T) -> bool) -> Option<T> {
        let mut here = self.by_place.range((at, 0)..=(at, u64::MAX)).take(LOOK_MAX);
        let number = here.find(|(_, value)| is(value)).map(|((_, number), _)| *number)?;
        self.by_age.remove(&number);
        self.by_place.remove(&(at, number))
    }

    pub(super) fn len(&self) -> usize {
        self.by_place.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: At = (Device(5), 8, true);

    #[test]
    fn requests_are_found_by_place_in_their_order() {
        let mut places = Places::new(10);
        for value in 0..3 {
            assert_eq!(places.add(AT, value), None);
        }
        places.add((Device(5), 8, false), 7);
        places.add((Device(5), 9, true), 9);
        assert_eq!(places.find(AT, |value| *value > 0), Some(&mut 1));
        assert_eq!(places.take(AT, |value| *value == 1), Some(1));
        assert_eq!(places.take(AT, |_| true), Some(0));
        assert_eq!(places.take(AT, |_| true), Some(2));
        assert_eq!(places.take(AT, |_| true), None);
        assert_eq!((places.len(), places.by_age.len()), (2, 2));
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut places = Places::new(2);
        let gone: Vec<_> = (0..5).map(|n| places.add((Device(n), 0, true), n)).collect();
        assert_eq!(gone, [None, None, Some(0), Some(1), Some(2)]);
        assert_eq!((places.len(), places.by_age.len()), (2, 2));
    }
}
