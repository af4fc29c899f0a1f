//! Pages of a ring buffer made of events, for collectors that are not the kernel's tracer.
//!
//! What such a collector records takes the form of the kernel's own pages, so that the trace file and
//! all its readers have one kind of event only. Which entries there are and how they lie is said in
//! [`ring_page`](crate::ring_page), which reads them.
//!
//! Invariant: what is written is read back, with times that never go back; a page ends where the
//! next event would not fit. Held by `any_events_are_read_back_from_pages`.

#[cfg(test)]
mod tests;

use crate::error::{Error, Result};
use crate::format::{EventHeader, PageHeader};

const TIME_BITS: u32 = 27;
const MISSED_EVENTS: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// Bytes of a word, and of the head of an entry.
const WORD: usize = 4;
/// The word of an entry and the one that has its length: the most that comes before a payload.
const HEAD_BYTES: usize = 2 * WORD;
const EXTEND_BYTES: usize = 2 * WORD;

/// Where finished pages go.
pub type Sink<'a> = dyn FnMut(&[u8]) -> Result<()> + 'a;

/// Makes pages of events that come in the order of time.
#[derive(Debug)]
pub struct PageWriter {
    page: PageHeader,
    event: EventHeader,
    bytes: Vec<u8>,
    last_ns: u64,
    missed: u64,
    pages: u64,
}

impl PageWriter {
    /// Makes pages as a kernel with these headers would.
    #[must_use]
    pub fn new(page: PageHeader, event: EventHeader) -> Self {
        Self { page, event, bytes: Vec::new(), last_ns: 0, missed: 0, pages: 0 }
    }

    /// Appends an event, from `common_type` on; up to three bytes of filler follow it. If there is
    /// no room for it, the page before goes to `sink`. An event that is older than the one before
    /// is put at the time of that one: what is merged by time must not go back.
    ///
    /// # Errors
    /// [`Error::Page`]: the event is empty or too long for any page; or those of `sink`.
    pub fn push(&mut self, time_ns: u64, payload: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        let padded = payload.len().next_multiple_of(WORD);
        if payload.is_empty() || HEAD_BYTES + padded > self.page.data_bytes {
            return Err(Error::Page {
                field: "length of an event",
                offset_bytes: self.page.data_offset_bytes,
                expected: "an event that fits into a page",
                found: payload.len() as u64,
            });
        }
        let time_ns = time_ns.max(self.last_ns);
        let data_bytes = self.bytes.len().saturating_sub(self.page.data_offset_bytes);
        if data_bytes + EXTEND_BYTES + HEAD_BYTES + padded > self.page.data_bytes {
            self.flush(sink)?;
        }
        if self.bytes.is_empty() {
            self.bytes.resize(self.page.data_offset_bytes, 0);
            let at = self.page.timestamp_offset_bytes;
            put(&mut self.bytes, at, &time_ns.to_le_bytes());
            self.last_ns = time_ns;
        }
        let mut delta = time_ns - self.last_ns;
        if delta >> TIME_BITS != 0 {
            self.entry(self.event.time_extend, delta);
            self.word((delta >> TIME_BITS) as u32);
            delta = 0;
        }
        let words = padded / WORD;
        if words <= usize::from(self.event.data_words_max) {
            self.entry(words as u8, delta);
        } else {
            self.entry(0, delta);
            self.word((WORD + padded) as u32);
        }
        let end = self.bytes.len() + padded;
        self.bytes.extend_from_slice(payload);
        self.bytes.resize(end, 0);
        self.last_ns = time_ns;
        Ok(())
    }

    /// Says that events were lost before the next one: ends the page, and the next one tells it.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn missed(&mut self, events: u64, sink: &mut Sink<'_>) -> Result<()> {
        if events > 0 {
            self.flush(sink)?;
            self.missed = self.missed.saturating_add(events);
        }
        Ok(())
    }

    /// Ends the page, if it has events.
    ///
    /// # Errors
    /// Those of `sink`.
    pub fn flush(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let data_bytes = self.bytes.len().saturating_sub(self.page.data_offset_bytes);
        let mut commit = data_bytes as u64;
        let missed = std::mem::take(&mut self.missed);
        let width = self.page.commit_bytes;
        if missed > 0 {
            commit |= MISSED_EVENTS;
            if data_bytes + width <= self.page.data_bytes {
                commit |= MISSED_STORED;
                self.bytes.extend_from_slice(&missed.to_le_bytes()[..width.min(8)]);
            }
        }
        let at = self.page.commit_offset_bytes;
        put(&mut self.bytes, at, &commit.to_le_bytes()[..width.min(8)]);
        let done = sink(&self.bytes);
        self.bytes.clear();
        self.pages += 1;
        done
    }

    /// Pages that were handed on.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.pages
    }

    fn entry(&mut self, kind: u8, delta: u64) {
        let delta = (delta & ((1 << TIME_BITS) - 1)) as u32;
        self.word(u32::from(kind) | delta << 5);
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend_from_slice(&word.to_le_bytes());
    }
}

fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    if let Some(place) = bytes.get_mut(offset..offset + value.len()) {
        place.copy_from_slice(value);
    }
}
