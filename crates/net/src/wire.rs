//! Bytes of a connection: what has come and is not read yet, and the waits for more.

use crate::counters::Counters;
use crate::tls::Stream;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

/// A connection with the bytes that have come and are not read yet.
#[derive(Debug)]
pub(crate) struct Wire<'a> {
    stream: Stream<'a>,
    counters: &'a Counters,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl<'a> Wire<'a> {
    pub(crate) fn new(stream: Stream<'a>, counters: &'a Counters, bytes: usize) -> Self {
        let buffer = vec![0; bytes.max(1_024)].into_boxed_slice();
        Wire { stream, counters, buffer, start: 0, end: 0 }
    }

    /// What has come and is not read.
    pub(crate) fn buffered(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// So many of them are read.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.start = (self.start + bytes).min(self.end);
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    /// Whether no more of one head can come.
    pub(crate) fn is_full(&self) -> bool {
        self.end - self.start == self.buffer.len()
    }

    /// Waits for more, at most for `timeout_ns`; 0: there is none, or no room for it.
    pub(crate) fn fill(&mut self, timeout_ns: u64) -> io::Result<usize> {
        if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        if room.is_empty() {
            return Ok(0);
        }
        let count = self.stream.read(room, timeout_ns)?;
        self.end += count;
        self.counters.received_bytes.fetch_add(count as u64, Relaxed);
        Ok(count)
    }

    /// The same into another buffer, where nothing is held here.
    pub(crate) fn read_past(&mut self, into: &mut [u8], timeout_ns: u64) -> io::Result<usize> {
        let count = self.stream.read(into, timeout_ns)?;
        self.counters.received_bytes.fetch_add(count as u64, Relaxed);
        Ok(count)
    }

    pub(crate) fn write(&mut self, bytes: &[u8], timeout_ns: u64) -> io::Result<()> {
        self.stream.write_all(bytes, timeout_ns)
    }

    /// Tells the peer that nothing more is written.
    pub(crate) fn end_output(&mut self, timeout_ns: u64) {
        self.stream.end_output(timeout_ns);
    }
}
