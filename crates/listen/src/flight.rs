//! Memory for requests that are under way: each takes what it needs before it needs it, step by step, and is
//! told to come again if there is none now. What is more than all is refused: it would come again for ever.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory for requests that are under way.
#[derive(Debug)]
pub(crate) struct Flight {
    max_bytes: u64,
    used_bytes: AtomicU64,
}

/// There is no memory for this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoMemory {
    /// Others have it now.
    Now,
    /// It needs more than all requests may take together.
    Ever {
        /// What it needs, at least.
        needed_bytes: u64,
        /// What there is for all.
        max_bytes: u64,
    },
}

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
    /// So many in all from now on, whether these are more or fewer than before.
    pub(crate) fn hold(&mut self, bytes: u64) -> Result<(), NoMemory> {
        if let Some(fewer) = self.bytes.checked_sub(bytes) {
            self.flight.used_bytes.fetch_sub(fewer, Relaxed);
            self.bytes = bytes;
            return Ok(());
        }
        self.grow_to(bytes)
    }

    /// So many in all from now on; never fewer than before.
    pub(crate) fn grow_to(&mut self, bytes: u64) -> Result<(), NoMemory> {
        let more = bytes.saturating_sub(self.bytes);
        let max_bytes = self.flight.max_bytes;
        if bytes > max_bytes {
            return Err(NoMemory::Ever { needed_bytes: bytes, max_bytes });
        }
        let grown = self.flight.used_bytes.fetch_update(Relaxed, Relaxed, |used| {
            used.checked_add(more).filter(|used| *used <= max_bytes)
        });
        grown.map_err(|_| NoMemory::Now)?;
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
        assert_eq!(flight.take(41).err(), Some(NoMemory::Now));
        let never = NoMemory::Ever { needed_bytes: 101, max_bytes: 100 };
        assert_eq!(flight.take(101).err(), Some(never));
        let second = flight.take(40).unwrap();
        assert_eq!(first.grow_to(61), Err(NoMemory::Now));
        drop(second);
        first.grow_to(80).unwrap();
        first.grow_to(10).unwrap();
        assert_eq!(flight.used_bytes(), 80);
        first.hold(30).unwrap();
        assert_eq!(flight.used_bytes(), 30);
        drop(first);
        assert_eq!(flight.used_bytes(), 0);
    }
}
