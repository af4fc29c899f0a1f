//! The producer's side: push.

use super::consumer::SEQUENCE_MAX;
use super::folder::TO_ATTACH;
use super::layout::{PRODUCER_LOCK, Ring, STATE_CLOSED, WRITER_LOCK, record_bytes};
use super::number::{Number, UNTOLD};
use super::waits::{Told, Waits};
use super::{consumer, layout};
use crate::Error;
use crate::writer::Trouble;
use baro_ondisk::limits::TEXT_BYTES_MAX;
use baro_ondisk::{Kind, Samples};
use baro_sys::memory::{ForkWiped, SharedMemory, as_bytes};
use std::fmt;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Pushes records into one ring. One per ring at a time; cheap to push to, never blocks.
///
/// A forked child's copy refuses every push.
///
/// A push touches as few cache lines and pages as it can, since after another program's turn on
/// the processor each is a miss: this struct's, that of `here`, the ring's head, and the record's.
#[derive(Debug)]
#[repr(align(64))]
pub struct Producer {
    here: ForkWiped<5>,
    ring: Ring,
}

// The numbers in `here`. A forked child finds zeros: no record has room, and the slow path that
// looks for room finds that it is in a child.
/// Bytes ever pushed.
const HEAD: usize = 0;
/// What HEAD may reach: the writer's position when it was last looked at, plus the capacity. It is
/// looked at again only when the ring seems full, so that a push leaves the writer's line alone.
const LIMIT: usize = 1;
/// Where in the ring HEAD is.
const PLACE: usize = 2;
/// Sequence of the next record.
const NEXT: usize = 3;
/// 1 in the process that made the producer.
const MARK: usize = 4;

/// More bytes than anyone pushes in a century: sums with it do not wrap.
const HEAD_MAX: u64 = u64::MAX / 4;

impl Drop for Producer {
    /// Whoever leaves an empty ring last removes its file; otherwise it waits for the next writer.
    fn drop(&mut self) {
        if !self.same_process() {
            return;
        }
        // Given back by hand: the writer of the same process may go on using the open file.
        self.ring.memory.unlock(PRODUCER_LOCK);
        let report = self.ring.report();
        let empty = report.used_bytes == 0 && report.durable == report.offered;
        // Of a file that was cut off nothing can be said; its writer removes it.
        if self.closed() && empty && !self.ring.memory.lost() {
            self.ring.memory.remove_file();
        }
    }
}

/// Why a record was not taken. It has consumed its sequence number all the same (but for
/// [`Refused::Uneven`], which never was a record,
/// [`Refused::Closed`] and [`Refused::Forked`]), is counted, and appears in the log as a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The ring is full: the device has been slower than the input for longer than it covers.
    RingFull,
    /// The record is larger than this ring takes.
    TooLarge {
        /// Largest payload in bytes.
        limit_bytes: usize,
    },
    /// Columns of different lengths, or none in a batch with times.
    Uneven,
    /// The writer has closed the ring.
    Closed,
    /// This is a forked child; the ring belongs to its parent.
    Forked,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::RingFull => f.write_str("the ring is full"),
            Refused::TooLarge { limit_bytes } => {
                write!(f, "the record is larger than {limit_bytes} bytes")
            }
            Refused::Uneven => f.write_str("the columns have different lengths"),
            Refused::Closed => f.write_str("the recorder is closed"),
            Refused::Forked => f.write_str("the ring belongs to the parent process"),
        }
    }
}

impl std::error::Error for Refused {}

/// A ring's counters at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RingReport {
    /// Random id of the ring's producer.
    pub producer: u64,
    /// Sequences handed out: records pushed and refused.
    pub offered: u64,
    /// Refused because the ring was full.
    pub refused_full: u64,
    /// Refused because they were too large.
    pub refused_large: u64,
    /// Of those that were refused as many as no gap in the log tells of as refused: until it is written, and for good
    /// where one tells of damage instead.
    pub refused_unlogged: u64,
    /// Every sequence below is written (accepted by the device, or by the page cache in buffered
    /// mode) or a logged gap.
    pub written: u64,
    /// Every sequence below is durable or a logged gap.
    pub durable: u64,
    /// Bytes in the ring that are not durable yet.
    pub used_bytes: u64,
    /// Bytes of the ring.
    pub capacity_bytes: u64,
    /// Largest payload that the ring takes, in bytes.
    pub record_bytes_max: usize,
    /// Why the writer has no room now; of a device not what it said.
    pub trouble: Trouble,
    /// Nobody settles any more.
    pub settling_stopped: bool,
    /// Records with lower sequences were recycled, or may have been, before the recorder knew them to be
    /// in runs: those of a producer that waits ([`Producer::wait_for_room`]), where the recorder does not
    /// settle or one that cannot wait needed the room. 0: none.
    pub gone_below: u64,
    /// Records that could not be made durable before the recorder was closed; 0 before that.
    pub left: u64,
    /// Samples in them, but for those that an earlier recorder left.
    pub left_samples: u64,
}

impl RingReport {
    /// From a ring's counters, each of which `read` fetches by its offset.
    pub(super) fn read(
        producer: u64,
        (capacity_bytes, record_bytes_max): (u64, usize),
        read: impl Fn(usize) -> u64,
    ) -> Self {
        // The durable position is read first, so that it is never above what was offered.
        // What cannot be says nothing: whoever takes the ring over gives it up.
        let count = |at| Some(read(at)).filter(|count| *count < SEQUENCE_MAX).unwrap_or(0);
        let durable = count(layout::DURABLE);
        let tail = read(layout::TAIL);
        let head = read(layout::HEAD);
        let logged = count(layout::LOGGED_FULL).saturating_add(count(layout::LOGGED_LARGE));
        let Told { trouble, settling_stopped } = Told::decode(read(layout::TOLD));
        let (refused_full, refused_large) =
            (count(layout::REFUSED_FULL), count(layout::REFUSED_LARGE));
        RingReport {
            producer,
            offered: count(layout::NEXT_SEQUENCE),
            refused_full,
            refused_large,
            refused_unlogged: refused_full.saturating_add(refused_large).saturating_sub(logged),
            written: count(layout::WRITTEN),
            durable,
            used_bytes: head.saturating_sub(tail),
            capacity_bytes,
            record_bytes_max,
            trouble,
            settling_stopped,
            gone_below: count(layout::GONE_BELOW),
            left: 0,
            left_samples: 0,
        }
    }
}

impl RingReport {
    /// Records in the ring of which is not known that they are in the log: those that were refused never
    /// will be.
    #[must_use]
    pub(crate) fn waiting(&self) -> u64 {
        self.offered.saturating_sub(self.durable).saturating_sub(self.refused_unlogged)
    }
}

impl Ring {
    pub(crate) fn report(&self) -> RingReport {
        let read = |at| self.memory.counter(at).load(Ordering::Acquire);
        RingReport::read(self.producer, (self.capacity() as u64, self.record_bytes_max), read)
    }
}

impl Producer {
    /// Takes over a ring as its only producer, going on where the one before stopped. The first in
    /// a process runs every way through a push once ([`super::rehearsal`]).
    pub(crate) fn new(ring: Ring) -> crate::Result<Self> {
        super::rehearsal::rehearse();
        Producer::over(ring)
    }

    /// The same without the rehearsal.
    pub(super) fn over(ring: Ring) -> crate::Result<Self> {
        ring.take(PRODUCER_LOCK)?;
        let head = ring.head().load(Ordering::Acquire);
        let tail = ring.tail().load(Ordering::Acquire);
        if head > HEAD_MAX {
            let (path, field, offset) = (ring.memory.path().to_owned(), "bytes pushed", 128);
            return Err(Error::ForeignRing {
                path,
                field,
                offset,
                expected: HEAD_MAX,
                found: head,
            });
        }
        // The producer before may have died between its two stores; its last record may even have
        // left the ring since.
        let released = ring.durable().load(Ordering::Acquire);
        let seen = consumer::last_sequence(&ring, tail, head).max(released);
        let next_sequence = ring.next_sequence().load(Ordering::Acquire).max(seen);
        if next_sequence >= SEQUENCE_MAX {
            let (path, field, offset) = (ring.memory.path().to_owned(), "next sequence", 136);
            let (expected, found) = (SEQUENCE_MAX - 1, next_sequence);
            return Err(Error::ForeignRing { path, field, offset, expected, found });
        }
        let tail = if tail <= head { tail } else { head };
        ring.next_sequence().store(next_sequence, Ordering::Release);
        // Not before: what one who waited has left in the ring waits on.
        ring.waits().store(Waits::Not.encode(), Ordering::Release);
        let mut here = ForkWiped::new()?;
        here.set(HEAD, head);
        here.set(LIMIT, tail + ring.capacity() as u64);
        here.set(PLACE, head % ring.capacity() as u64);
        here.set(NEXT, next_sequence);
        here.set(MARK, 1);
        Ok(Producer { here, ring })
    }

    /// Attaches to the ring file at `path`, made by a recorder in any process. What is pushed goes to
    /// whom the file belongs to: it must be this user's or root's (for root: that of whoever has the
    /// folder), and nobody else may be able to open it, or to have put it there.
    ///
    /// # Errors
    /// It is no ring, another producer uses it, or somebody else's hand may be in it.
    pub fn attach(path: &Path) -> crate::Result<Self> {
        let (folder, name) = super::found::open_above(path)?;
        Producer::new(Ring::attach(SharedMemory::open_private_in(&folder, &name)?, None)?)
    }

    /// Pushes a frame of `channel`, taken at `time_ns` (since the Unix epoch). Returns its sequence.
    ///
    /// # Errors
    /// See [`Refused`]; the call never blocks, allocates, or enters the kernel.
    #[inline]
    pub fn push_frame(&mut self, channel: u32, time_ns: i64, frame: &[u8]) -> Result<u64, Refused> {
        self.push(Kind::Frame, channel, time_ns, frame.len(), frame, &[])
    }

    /// Pushes samples of many series, all taken at `time_ns`: see [`Number`].
    ///
    /// # Errors
    /// See [`Refused`]; the call never blocks, allocates, or enters the kernel.
    #[inline]
    pub fn push_samples<N: Number>(
        &mut self,
        time_ns: i64,
        series: &[u32],
        values: &[N],
    ) -> Result<u64, Refused> {
        self.push_columns(N::NUMBER, time_ns, series, as_bytes(values))
    }

    /// Pushes samples, each with a time of its own, in any order: see [`Number`]. The record's time
    /// is that of the first.
    ///
    /// # Errors
    /// See [`Refused`]; the call never blocks, allocates, or enters the kernel.
    #[inline]
    pub fn push_batch<N: Number>(
        &mut self,
        times_ns: &[i64],
        series: &[u32],
        values: &[N],
    ) -> Result<u64, Refused> {
        self.push_timed(N::NUMBER, times_ns, series, as_bytes(values))
    }

    /// Pushes one sample: see [`Number`]. A batch costs less for each.
    ///
    /// # Errors
    /// See [`Refused`]; the call never blocks, allocates, or enters the kernel.
    #[inline]
    pub fn push_sample<N: Number>(
        &mut self,
        series: u32,
        time_ns: i64,
        value: N,
    ) -> Result<u64, Refused> {
        self.push_one(N::NUMBER, series, time_ns, value.bits())
    }

    /// Pushes one sample of a text series: at most 64 KiB.
    ///
    /// # Errors
    /// See [`Refused`]; the call never blocks, allocates, or enters the kernel.
    #[inline]
    pub fn push_text(&mut self, series: u32, time_ns: i64, text: &str) -> Result<u64, Refused> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(match self.closed() {
                true => self.refuse_closed(),
                false => self.refuse_large(TEXT_BYTES_MAX),
            });
        }
        self.push(Kind::Text, series, time_ns, text.len(), text.as_bytes(), &[])
    }

    /// Pushes samples of series of several types: their 64 bits, which the caller has made for the types
    /// that they are declared with. Nobody looks at these. There is one time for all of them, which costs
    /// less, or one for each.
    ///
    /// # Errors
    /// See [`Refused`]; the call never blocks, allocates, or enters the kernel.
    #[inline]
    pub fn push_words(
        &mut self,
        times_ns: &[i64],
        series: &[u32],
        words: &[i64],
    ) -> Result<u64, Refused> {
        match times_ns {
            [time_ns] => self.push_columns(UNTOLD, *time_ns, series, as_bytes(words)),
            _ => self.push_timed(UNTOLD, times_ns, series, as_bytes(words)),
        }
    }

    fn push_timed(
        &mut self,
        number: u32,
        times_ns: &[i64],
        series: &[u32],
        values: &[u8],
    ) -> Result<u64, Refused> {
        let Some(first_ns) = times_ns.first() else { return Err(Refused::Uneven) };
        if series.len() * 8 != values.len() || times_ns.len() != series.len() {
            return Err(Refused::Uneven);
        }
        let length = Samples::payload_bytes(series.len(), true);
        let head = Samples::head(series.len() as u32, true);
        let columns = [as_bytes(series), as_bytes(times_ns), values];
        self.push(Kind::Samples, number, *first_ns, length, &head, &columns)
    }

    #[inline]
    fn push_one(
        &mut self,
        number: u32,
        series: u32,
        time_ns: i64,
        bits: u64,
    ) -> Result<u64, Refused> {
        // Head and columns of one sample are so small that they are put together first.
        let mut payload = [0; Samples::HEAD_BYTES + 12];
        payload[..8].copy_from_slice(&Samples::head(1, false));
        payload[8..12].copy_from_slice(&series.to_le_bytes());
        payload[12..].copy_from_slice(&bits.to_le_bytes());
        self.push(Kind::Samples, number, time_ns, payload.len(), &payload, &[])
    }

    fn push_columns(
        &mut self,
        number: u32,
        time_ns: i64,
        series: &[u32],
        values: &[u8],
    ) -> Result<u64, Refused> {
        if series.len() * 8 != values.len() {
            return Err(Refused::Uneven);
        }
        let length = Samples::payload_bytes(series.len(), false);
        let head = Samples::head(series.len() as u32, false);
        self.push(Kind::Samples, number, time_ns, length, &head, &[as_bytes(series), values])
    }

    #[inline]
    fn push(
        &mut self,
        kind: Kind,
        stream: u32,
        time_ns: i64,
        length: usize,
        first: &[u8],
        rest: &[&[u8]],
    ) -> Result<u64, Refused> {
        if self.closed() {
            return Err(self.refuse_closed());
        }
        if length > self.ring.record_bytes_max {
            return Err(self.refuse_large(self.ring.record_bytes_max));
        }
        let bytes = record_bytes(length);
        let end = self.here.get(HEAD) + bytes as u64;
        if end > self.here.get(LIMIT) {
            self.look_again(end)?;
        }
        let sequence = self.here.get(NEXT);
        let kind_and_length = length as u64 | (kind as u64) << 28;
        let head = [kind_and_length | u64::from(stream) << 32, sequence, time_ns as u64];
        let mut place = self.ring.write_head(self.here.get(PLACE) as usize, head, first);
        for part in rest {
            place = self.ring.write(place, part);
        }
        place += bytes - layout::HEAD_BYTES - length;
        let place =
            if place >= self.ring.capacity() { place - self.ring.capacity() } else { place };
        self.here.set(PLACE, place as u64);
        self.here.set(HEAD, end);
        self.here.set(NEXT, sequence + 1);
        // The record exists from here on. Its sequence follows, so that the writer, which reads
        // in the opposite order, never takes a record that it does not see yet for a lost one.
        self.ring.head().store(end, Ordering::Release);
        self.ring.next_sequence().store(sequence + 1, Ordering::Release);
        self.ring.prefetch(place, bytes);
        Ok(sequence)
    }

    fn same_process(&self) -> bool {
        self.here.get(MARK) == 1
    }

    /// The ring seems full: has the writer moved on, or is this a child?
    #[cold]
    #[inline(never)]
    fn look_again(&mut self, end: u64) -> Result<(), Refused> {
        if !self.same_process() {
            return Err(Refused::Forked);
        }
        // A tail that somebody put out of range is not taken: the sum must not wrap.
        let tail = self.ring.tail().load(Ordering::Acquire);
        if tail <= self.here.get(HEAD) {
            self.here.set(LIMIT, tail + self.ring.capacity() as u64);
        }
        if end <= self.here.get(LIMIT) {
            return Ok(());
        }
        self.ring.refused_full().fetch_add(1, Ordering::Relaxed);
        self.lose_sequence();
        Err(Refused::RingFull)
    }

    #[cold]
    #[inline(never)]
    fn refuse_closed(&self) -> Refused {
        if self.same_process() { Refused::Closed } else { Refused::Forked }
    }

    #[cold]
    #[inline(never)]
    fn refuse_large(&mut self, limit_bytes: usize) -> Refused {
        if !self.same_process() {
            return Refused::Forked;
        }
        self.ring.refused_large().fetch_add(1, Ordering::Relaxed);
        self.lose_sequence();
        Refused::TooLarge { limit_bytes }
    }

    fn lose_sequence(&mut self) {
        let next = self.here.get(NEXT) + 1;
        self.here.set(NEXT, next);
        self.ring.next_sequence().store(next, Ordering::Release);
    }

    /// Whether the writer has closed the ring.
    #[must_use]
    #[inline]
    pub fn closed(&self) -> bool {
        self.ring.state().load(Ordering::Acquire) == STATE_CLOSED
    }

    /// Every sequence below this is durable (survives a power cut) or a logged gap. Does not block.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.ring.durable().load(Ordering::Acquire)
    }

    /// Sequence that the next record will have.
    #[must_use]
    pub fn next_sequence(&self) -> u64 {
        self.here.get(NEXT)
    }

    /// Bytes that the ring has room for, heads of records (24 B, rounded up to 8) included. For
    /// producers that can wait, such as one that reads a file. Does not block.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        let used = self.here.get(HEAD).saturating_sub(self.ring.tail().load(Ordering::Acquire));
        self.ring.capacity().saturating_sub(usize::try_from(used).unwrap_or(usize::MAX))
    }

    /// Bytes that a record of this payload takes in a ring.
    #[must_use]
    pub const fn record_bytes(payload_bytes: usize) -> usize {
        record_bytes(payload_bytes)
    }

    /// How this producer waits for room ([`Producer::free_bytes`]): then what it pushes waits in the ring
    /// for settling, and for its sake nothing is recycled that is in no run; nor does it take the half
    /// of such a log that is kept for those who cannot wait. Does not block.
    pub fn wait_for_room(&self, waits: Waits) {
        self.ring.waits().store(waits.encode(), Ordering::Release);
    }

    /// The ring's counters, and what its writer says of room. Does not block.
    #[must_use]
    pub fn report(&self) -> RingReport {
        self.ring.report()
    }

    /// The ring's file, to which another process can attach; empty for a private ring.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.ring.memory.path()
    }

    /// Whether the ring was made for a producer in another process than its recorder's.
    pub(crate) fn is_attached(&self) -> bool {
        self.path().file_name().is_some_and(|name| name.to_string_lossy().ends_with(TO_ATTACH))
    }

    /// Whether a recorder has the ring now; of a ring that was attached to.
    pub(crate) fn has_writer(&self) -> bool {
        self.ring.memory.is_locked(WRITER_LOCK)
    }

    /// Id of the ring's store.
    pub(crate) fn store(&self) -> baro_ondisk::StoreId {
        self.ring.store()
    }

    /// The folder of the ring's file, in which nobody but its owner and root can have put anything.
    pub(crate) fn folder(&self) -> crate::Result<baro_sys::state::StateFolder> {
        Ok(super::found::open_above(self.path())?.0)
    }

    /// The ring.
    pub(super) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// The ring's memory.
    pub(crate) fn memory(&self) -> SharedMemory {
        self.ring.memory.clone()
    }

    /// Whether the ring's memory is locked.
    #[cfg(feature = "inspect")]
    #[must_use]
    pub fn locked(&self) -> &baro_sys::memory::Locked {
        self.ring.memory.locked()
    }
}
