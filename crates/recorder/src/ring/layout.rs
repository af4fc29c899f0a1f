//! Offsets of a ring's counters, and the ways to a ring. Its header is `header`'s.

use super::header::{CHECKED_BYTES, HEADER_BYTES, HOME_PATH, Header, Home};
use crate::{Error, Result};
use baro_ondisk::StoreId;
use baro_ondisk::limits::{RECORD_BYTES_MAX, UNIT_BYTES};
use baro_sys::memory::SharedMemory;
use baro_sys::state::StateFolder;
use std::sync::atomic::{AtomicU64, Ordering};

// What the producer writes and what the writer writes have cache lines of their own (128 bytes
// apart, because processors fetch lines in pairs). The state has one too, which nobody writes
// between open and close: every push reads it, and on the line of HEAD, which the writer polls and
// the last push has just written, that load was what made one push in five hundred slow.
/// Of the header, that of its store.
const STORE: usize = 16;
pub(super) const STATE: usize = 64;
pub(super) const HEAD: usize = 128;
pub(super) const NEXT_SEQUENCE: usize = 136;
pub(super) const REFUSED_FULL: usize = 144;
pub(super) const REFUSED_LARGE: usize = 152;
// Written once by who attaches.
pub(super) const WAITS: usize = 160;
pub(super) const TAIL: usize = 256;
pub(super) const DURABLE: usize = 264;
pub(super) const WRITTEN: usize = 272;
pub(super) const LOGGED_FULL: usize = 280;
pub(super) const LOGGED_LARGE: usize = 288;
pub(super) const TOLD: usize = 296;
pub(super) const GONE_BELOW: usize = 304;

/// Bytes of a record's head in the ring.
pub(crate) const HEAD_BYTES: usize = 24;
/// Alignment of records in the ring.
const ALIGN: usize = 8;
/// Smallest capacity: a few records of any size worth recording.
pub(crate) const CAPACITY_MIN: usize = 64 << 10;
/// Byte of the file that the producer locks.
pub(crate) const PRODUCER_LOCK: i64 = 0;
/// Byte of the file that the writer locks.
pub(crate) const WRITER_LOCK: i64 = 1;

pub(crate) const STATE_OPEN: u64 = 1;
pub(crate) const STATE_CLOSED: u64 = 2;

/// Bytes that a record takes in the ring.
#[inline]
pub(crate) const fn record_bytes(payload: usize) -> usize {
    (HEAD_BYTES + payload).next_multiple_of(ALIGN)
}

/// A mapped ring whose header has been checked.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    pub(crate) memory: SharedMemory,
    capacity: usize,
    pub(crate) producer: u64,
    pub(crate) record_bytes_max: usize,
}

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident = $offset:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[inline]
        pub(crate) fn $name(&self) -> &AtomicU64 {
            self.memory.counter($offset)
        }
    )*};
}

impl Ring {
    counters! {
        /// Bytes ever pushed.
        head = HEAD,
        /// Sequence of the next record, refused ones included.
        next_sequence = NEXT_SEQUENCE,
        /// Records refused because the ring was full.
        refused_full = REFUSED_FULL,
        /// Records refused because they were too large.
        refused_large = REFUSED_LARGE,
        /// Bytes ever released.
        tail = TAIL,
        /// Every sequence below is durable or a logged gap.
        durable = DURABLE,
        /// Every sequence below is written or a logged gap.
        written = WRITTEN,
        /// How much of `refused_full` has been logged as gaps.
        logged_full = LOGGED_FULL,
        /// How much of `refused_large` has been logged as gaps.
        logged_large = LOGGED_LARGE,
        /// How the producer waits for room.
        waits = WAITS,
        /// What the writer says of room.
        told = TOLD,
        /// Records below this sequence may be recycled, before they were in runs.
        gone_below = GONE_BELOW,
        /// Open or closed.
        state = STATE,
    }

    /// Bytes of shared memory for a ring of `capacity`.
    pub(crate) const fn memory_bytes(capacity: usize) -> usize {
        UNIT_BYTES + capacity
    }

    /// Rounds a wanted capacity to one that a ring can have.
    pub(crate) fn capacity_for(wanted: usize) -> usize {
        wanted.max(CAPACITY_MIN).next_multiple_of(UNIT_BYTES)
    }

    /// Writes the header of a new ring of `home` into zeroed memory of [`Ring::memory_bytes`].
    pub(crate) fn format(
        memory: SharedMemory,
        home: impl Into<Home>,
        producer: u64,
        record_bytes_max: usize,
    ) -> Self {
        let capacity = memory.bytes() - UNIT_BYTES;
        let record_bytes_max = record_bytes_max.min(largest_record(capacity));
        let ring = Ring { memory, capacity, producer, record_bytes_max };
        ring.write_header(&home.into());
        ring.watch_for_loss();
        ring.state().store(STATE_OPEN, Ordering::Release);
        ring
    }

    /// Id of the store that it says it belongs to. Looked up in its memory: a push wants a small ring.
    pub(crate) fn store(&self) -> StoreId {
        let mut id = [0; 16];
        self.memory.read(STORE, &mut id);
        StoreId(id)
    }

    /// Says whose ring it is from now on. For who has its writer's lock.
    pub(crate) fn write_header(&self, home: &Home) {
        let header = Header {
            home: home.clone(),
            producer: self.producer,
            capacity: self.capacity as u64,
            record_bytes_max: self.record_bytes_max as u32,
        };
        let (checked, path) = header.encode();
        self.memory.write(0, &checked);
        self.memory.write(HOME_PATH, &path);
    }

    /// Checks the header of a ring that somebody made; with `store`, also that it is that store's.
    pub(crate) fn attach(memory: SharedMemory, store: Option<StoreId>) -> Result<Self> {
        let mut head = [0; CHECKED_BYTES];
        memory.read(0, &mut head);
        let header = Header::decode(&head, memory.bytes(), memory.path())?;
        if let Some(store) = store {
            header.check_store(store, memory.path())?;
        }
        let (capacity, record_bytes_max) =
            (header.capacity as usize, header.record_bytes_max as usize);
        let ring = Ring { producer: header.producer, capacity, record_bytes_max, memory };
        ring.watch_for_loss();
        Ok(ring)
    }

    /// A ring whose file somebody cuts off refuses pushes from then on: the next one reads this.
    fn watch_for_loss(&self) {
        self.memory.mark_when_lost(STATE, STATE_CLOSED);
    }

    /// Refuses pushes from now on, also those of a producer who maps what the file is now, if this
    /// process does not any more.
    pub(crate) fn close_for_good(&self) {
        self.state().store(STATE_CLOSED, Ordering::Release);
        if self.memory.lost() {
            self.memory.write_through(STATE as u64, STATE_CLOSED);
        }
    }

    /// The ring file `name` in `folder`, if it is one of `home`.
    pub(crate) fn open(folder: &StateFolder, name: &str, home: &Home) -> Result<Self> {
        let ring = Ring::attach(SharedMemory::open_in(folder, name)?, Some(home.store))?;
        let mut head = vec![0; HEADER_BYTES];
        ring.memory.read(0, &mut head);
        let made_for = Header::decode(&head, ring.memory.bytes(), ring.memory.path())?.home;
        if made_for.may_be(home) {
            return Ok(ring);
        }
        let path = ring.memory.path().to_owned();
        Err(Error::StrayRing { path, made_for: made_for.to_string(), here: home.to_string() })
    }

    /// Bytes for records.
    #[inline]
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes one of the two locks.
    pub(crate) fn take(&self, lock: i64) -> Result<()> {
        if self.memory.try_lock(lock)? {
            return Ok(());
        }
        Err(Error::RingBusy { path: self.memory.path().to_owned() })
    }

    /// Copies to `place`, around the end if need be. Returns the place behind.
    #[inline]
    pub(crate) fn write(&self, place: usize, bytes: &[u8]) -> usize {
        if bytes.len() < self.capacity - place {
            self.memory.write(UNIT_BYTES + place, bytes);
            return place + bytes.len();
        }
        self.write_around(place, bytes)
    }

    /// Copies a record's head and the first part of its payload, at once if they do not go around
    /// the end: the usual case, and the one that is timed. Returns the place behind.
    #[inline]
    pub(crate) fn write_head(
        &self,
        place: usize,
        head: [u64; HEAD_BYTES / 8],
        part: &[u8],
    ) -> usize {
        if HEAD_BYTES + part.len() < self.capacity - place {
            self.memory.write_both(UNIT_BYTES + place, head, part);
            return place + HEAD_BYTES + part.len();
        }
        self.write_head_around(place, head, part)
    }

    // The ways around the end are taken seldom, so their code may be met for the first time with
    // the ring's first round, and its page be read then. Not inlined, they exist once, and are
    // rehearsed (`rehearsal`); a copy in each caller would not be.

    /// Copies what reaches the end or goes around it.
    #[cold]
    #[inline(never)]
    fn write_around(&self, place: usize, bytes: &[u8]) -> usize {
        let (first, second) = bytes.split_at(self.capacity - place);
        self.memory.write(UNIT_BYTES + place, first);
        self.memory.write(UNIT_BYTES, second);
        second.len()
    }

    #[cold]
    #[inline(never)]
    fn write_head_around(
        &self,
        mut place: usize,
        head: [u64; HEAD_BYTES / 8],
        part: &[u8],
    ) -> usize {
        for number in head {
            place = self.write(place, &number.to_le_bytes());
        }
        self.write(place, part)
    }

    /// Has the next `bytes` from `place` on at hand for writing, so that the next push meets no
    /// cache miss of the ring's.
    #[inline]
    pub(crate) fn prefetch(&self, place: usize, bytes: usize) {
        self.memory.prefetch(UNIT_BYTES + place, bytes);
    }

    /// A record's head at `place`: a multiple of 8, so that it may go around the end between numbers.
    #[inline]
    pub(crate) fn head_words(&self, place: usize) -> [u64; HEAD_BYTES / 8] {
        if self.capacity - place >= HEAD_BYTES {
            return self.memory.numbers(UNIT_BYTES + place);
        }
        std::array::from_fn(|at| {
            let [number] = self.memory.numbers(UNIT_BYTES + (place + at * 8) % self.capacity);
            number
        })
    }

    /// Copies from `place` (below the capacity), around the end if need be.
    #[inline]
    pub(crate) fn read(&self, place: usize, bytes: &mut [u8]) {
        let room = self.capacity - place;
        if bytes.len() <= room {
            self.memory.read(UNIT_BYTES + place, bytes);
            return;
        }
        let (first, second) = bytes.split_at_mut(room);
        self.memory.read(UNIT_BYTES + place, first);
        self.memory.read(UNIT_BYTES, second);
    }
}

/// A record may take at most a quarter of its ring, so that the writer can always make progress
/// while the producer goes on.
pub(crate) fn largest_record(capacity: usize) -> usize {
    (capacity / 4 - HEAD_BYTES).min(RECORD_BYTES_MAX)
}
