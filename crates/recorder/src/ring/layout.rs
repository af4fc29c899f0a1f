//! Offsets in a ring's header unit, and the checks at attach.

use crate::{Error, Result};
use baro_ondisk::limits::{RECORD_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{StoreId, crc32c};
use baro_sys::memory::SharedMemory;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

const MAGIC: [u8; 8] = *b"BARORNG1";
const VERSION: u32 = 1;
const CHECKED_BYTES: usize = 64;

// What the producer writes and what the writer writes have cache lines of their own (128 bytes
// apart, because processors fetch lines in pairs). The state has one too, which nobody writes
// between open and close: every push reads it, and on the line of HEAD, which the writer polls and
// the last push has just written, that load was what made one push in five hundred slow.
const STATE: usize = 64;
const HEAD: usize = 128;
const NEXT_SEQUENCE: usize = 136;
const REFUSED_FULL: usize = 144;
const REFUSED_LARGE: usize = 152;
const TAIL: usize = 256;
const DURABLE: usize = 264;
const WRITTEN: usize = 272;
const LOGGED_FULL: usize = 280;
const LOGGED_LARGE: usize = 288;

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
#[derive(Debug)]
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

    /// Writes the header of a new ring into zeroed memory of [`Ring::memory_bytes`].
    pub(crate) fn format(
        memory: SharedMemory,
        store: StoreId,
        producer: u64,
        record_bytes_max: usize,
    ) -> Self {
        let capacity = memory.bytes() - UNIT_BYTES;
        let record_bytes_max = record_bytes_max.min(largest_record(capacity));
        let mut head = [0; CHECKED_BYTES];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&VERSION.to_le_bytes());
        head[16..32].copy_from_slice(&store.0);
        head[32..40].copy_from_slice(&producer.to_le_bytes());
        head[40..48].copy_from_slice(&(capacity as u64).to_le_bytes());
        head[48..52].copy_from_slice(&(record_bytes_max as u32).to_le_bytes());
        let crc = crc32c(0, &head);
        head[12..16].copy_from_slice(&crc.to_le_bytes());
        memory.write(0, &head);
        let ring = Ring { memory, capacity, producer, record_bytes_max };
        ring.state().store(STATE_OPEN, Ordering::Release);
        ring
    }

    /// Checks the header of a ring that somebody made; with `store`, also that it is that store's.
    pub(crate) fn attach(memory: SharedMemory, store: Option<StoreId>) -> Result<Self> {
        let mut head = [0; CHECKED_BYTES];
        memory.read(0, &mut head);
        let number = |at: usize| {
            let bytes = head.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
            u64::from_le_bytes(bytes.unwrap_or_default())
        };
        let low = |at: usize| number(at) & 0xffff_ffff;
        let check = |field, offset: usize, expected: u64, found: u64| {
            if expected == found {
                return Ok(());
            }
            let (path, offset) = (memory.path().to_owned(), offset as u64);
            Err(Error::ForeignRing { path, field, offset, expected, found })
        };
        check("magic", 0, u64::from_le_bytes(MAGIC), number(0))?;
        check("version", 8, u64::from(VERSION), low(8))?;
        let mut sealed = head;
        sealed[12..16].fill(0);
        check("CRC", 12, u64::from(crc32c(0, &sealed)), low(12))?;
        if let Some(store) = store {
            let id = u128::from_le_bytes(store.0);
            check("store id", 16, id as u64, number(16))?;
            check("store id", 24, (id >> 64) as u64, number(24))?;
        }
        let capacity = memory.bytes() - UNIT_BYTES;
        check("capacity", 40, capacity as u64, number(40))?;
        check("capacity in whole units", 40, 0, (capacity % UNIT_BYTES) as u64)?;
        check("capacity of at least 64 KiB", 40, 1, u64::from(capacity >= CAPACITY_MIN))?;
        let record_bytes_max = low(48) as usize;
        let fits = record_bytes_max <= largest_record(capacity);
        check("largest record", 48, 1, u64::from(fits))?;
        Ok(Ring { producer: number(32), capacity, record_bytes_max, memory })
    }

    /// The ring file at `path`.
    pub(crate) fn open(path: &Path, store: Option<StoreId>) -> Result<Self> {
        Ring::attach(SharedMemory::open(path)?, store)
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
