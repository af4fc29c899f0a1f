//! Memory for requests that are under way: each takes what it may need before it needs it, and is told to
//! come again if there is none.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory for requests that are under way.
#[derive(Debug)]
pub(crate) struct Flight {
    max_bytes: u64,
    used_bytes: AtomicU64,
}

/// There is no memory for this request now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoMemory;

/// What a request has of it; given back at its end.
#[derive(Debug)]
pub(crate) struct Share<'a> {
    flight: &'a Flight,
    bytes: u64,
}

impl Flight {
    pub(crate) fn new(max_bytes: u64) -> Self {
        Flight { max_bytes, used_bytes: AtomicU64::new(0) }
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Relaxed)
    }

    pub(crate) fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// So many bytes for a request.
    pub(crate) fn take(&self, bytes: u64) -> Result<Share<'_>, NoMemory> {
        let mut share = Share { flight: self, bytes: 0 };
        share.grow_to(bytes)?;
        Ok(share)
    }
}

impl Share<'_> {
    /// So many in all from now on; never fewer than before.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> Result<(), NoMemory> {
        let more = bytes.saturating_sub(self.bytes);
        let max_bytes = self.flight.max_bytes;
        let grown = self.flight.used_bytes.fetch_update(Relaxed, Relaxed, |used| {
            used.checked_add(more).filter(|used| *used <= max_bytes)
        });
        grown.map_err(|_| NoMemory)?;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.flight.used_bytes.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_given_back() {
        let flight = Flight::new(100);
        let mut first = flight.take(60).unwrap();
        assert!(flight.take(41).is_err());
        let second = flight.take(40).unwrap();
        assert_eq!(first.grow_to(61), Err(NoMemory));
        drop(second);
        first.grow_to(80).unwrap();
        first.grow_to(10).unwrap();
        assert_eq!(flight.used_bytes(), 80);
        drop(first);
        assert_eq!(flight.used_bytes(), 0);
    }
}
