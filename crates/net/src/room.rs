//! Memory of answers that are made and not fetched yet, of all clients together.
//!
//! Who asks for much and takes it slowly holds it for as long as that lasts. So what is held has one bound, and
//! who comes when it is used up is told to come again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes that answers may hold together.
#[derive(Clone, Debug)]
pub struct Room {
    free: Arc<AtomicU64>,
}

/// Bytes that an answer holds, given back when it is gone.
#[derive(Debug)]
pub struct Held {
    free: Arc<AtomicU64>,
    bytes: u64,
}

impl Room {
    /// Of so many bytes.
    #[must_use]
    pub fn of(bytes: u64) -> Self {
        Room { free: Arc::new(AtomicU64::new(bytes)) }
    }

    /// Takes bytes; `None` if others hold too many. Does not block.
    #[must_use]
    pub fn take(&self, bytes: u64) -> Option<Held> {
        let taken = self.free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(bytes));
        taken.is_ok().then(|| Held { free: Arc::clone(&self.free), bytes })
    }
}

impl Held {
    /// Gives back what is more than these bytes.
    pub(crate) fn shrink(&mut self, bytes: u64) {
        let over = self.bytes.saturating_sub(bytes);
        self.bytes -= over;
        self.free.fetch_add(over, Relaxed);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.free.fetch_add(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::Room;

    #[test]
    fn what_is_held_is_bounded_and_comes_back() {
        let room = Room::of(10);
        let held = room.take(7);
        assert!(held.is_some() && room.take(4).is_none() && room.take(3).is_some());
        let mut held = held.unwrap();
        held.shrink(2);
        held.shrink(5);
        assert!(room.take(9).is_none() && room.take(8).is_some());
        drop(held);
        assert!(room.take(10).is_some() && room.take(11).is_none());
    }
}
