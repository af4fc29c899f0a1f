//! A connection that speaks another protocol than HTTP from an answer 101 on: bytes both ways, with bounded waits.
//!
//! Whoever talks reads for a while, then writes, in one thread. A read gives up at the time that was set with
//! [`Talk::wait`], also where a client never stops sending; a write when the client takes nothing for as long as
//! the limits say.
//!
//! Invariant: no read goes on behind its time, and no write waits for who takes nothing. Held by
//! `tests/foxglove` of `baro-serve`.

use crate::wire::Wire;
use baro_sys::clock;
use std::io::{self, ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A connection after an answer 101.
#[derive(Debug)]
pub struct Talk<'w, 's> {
    wire: &'w mut Wire<'s>,
    stop: &'w AtomicBool,
    stall_ns: u64,
    until_ns: u64,
}

impl<'w, 's> Talk<'w, 's> {
    pub(crate) fn new(wire: &'w mut Wire<'s>, stop: &'w AtomicBool, stall_ns: u64) -> Self {
        Talk { wire, stop, stall_ns, until_ns: 0 }
    }

    /// Reads give up in so long with [`ErrorKind::WouldBlock`], whatever has come by then.
    pub fn wait(&mut self, wait_ns: u64) {
        self.until_ns = clock::monotonic_ns().saturating_add(wait_ns);
    }

    /// Whether the server stops, and this is to end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

impl Read for Talk<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left_ns = self.until_ns.saturating_sub(clock::monotonic_ns());
        if left_ns == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        if self.wire.buffered().is_empty() {
            self.wire.fill(left_ns).map_err(|error| match error.kind() {
                ErrorKind::TimedOut => ErrorKind::WouldBlock.into(),
                _ => error,
            })?;
        }
        let from = self.wire.buffered();
        let count = from.len().min(into.len());
        if let (Some(from), Some(into)) = (from.get(..count), into.get_mut(..count)) {
            into.copy_from_slice(from);
        }
        self.wire.take(count);
        Ok(count)
    }
}

impl Write for Talk<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wire.write(bytes, self.stall_ns).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
