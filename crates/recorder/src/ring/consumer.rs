//! The writer's side: takes records out of a ring, trusting nothing, and releases them once they
//! are durable.

use super::layout::{
    HEAD_BYTES, PRODUCER_LOCK, Ring, STATE_CLOSED, STATE_OPEN, WRITER_LOCK, record_bytes,
};
use super::waits::Waits;
use baro_ondisk::{Gap, Kind, Samples};
use std::sync::atomic::Ordering;

/// Above any sequence and any count that a producer can reach: ten million a second for two hundred
/// years. Sums over all rings of a recorder do not wrap.
pub(super) const SEQUENCE_MAX: u64 = 1 << 56;
/// By so much counts may differ that are stored one after another by a process which was killed between.
const COUNTS_APART: u64 = 1024;

/// How far the writer has come in a ring: what it may release once this is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// Bytes taken.
    pub(crate) bytes: u64,
    /// Sequence expected next.
    pub(crate) sequence: u64,
    /// Refused records logged, by cause.
    pub(crate) logged_full: u64,
    pub(crate) logged_large: u64,
}

/// What comes next out of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing at the moment.
    Empty,
    /// A record with this head; its payload is read by [`RingReader::copy_payload`].
    Record(Head),
    /// Records are missing here; to be logged before anything that follows.
    Gap(Gap),
}

/// Head of a record, copied out of the ring and checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) kind: Kind,
    pub(crate) stream: u32,
    pub(crate) sequence: u64,
    pub(crate) time_ns: i64,
    pub(crate) length: usize,
}

/// The writer's end of a ring.
#[derive(Debug)]
pub(crate) struct RingReader {
    ring: Ring,
    at: Position,
    released: Position,
    /// Head of the ring when it was last looked at; what lies before it is stable.
    head: u64,
    /// Sequences handed out when it was last looked at.
    offered: u64,
    /// Records below this sequence are in the log already (found by recovery).
    skip_below: u64,
    /// Contents that were given up and whose gap has not been taken yet.
    damaged: Option<Gap>,
    /// The positions make no sense any more: nothing is taken from this ring again.
    broken: bool,
    /// If so: the sequence after the gap that it ends with.
    ends: u64,
    /// How many of these a gap tells of.
    ended: u64,
    /// Bytes taken when it was last looked at.
    looked_at: u64,
    /// It is the ring's writer, and does not only look on.
    has_lock: bool,
    /// What the producer was told last.
    told: u64,
}

impl Drop for RingReader {
    /// Gives the lock back by hand: the producer of the same process, or a child that another thread
    /// has just forked, may have the file open for longer.
    fn drop(&mut self) {
        if self.has_lock {
            self.ring.memory.unlock(WRITER_LOCK);
        }
    }
}

fn head_at(ring: &Ring, position: u64) -> Option<Head> {
    // Records begin at a multiple of 8; a position that is none is nobody's.
    if !position.is_multiple_of(8) {
        return None;
    }
    let [first, sequence, time] = ring.head_words((position % ring.capacity() as u64) as usize);
    let length = (first & 0x0fff_ffff) as usize;
    let kind = Kind::from_number((first >> 28 & 0xf) as u8)
        .filter(|kind| matches!(kind, Kind::Frame | Kind::Samples | Kind::Text))?;
    // A sequence beyond any real one would make sums wrap.
    (length <= ring.record_bytes_max && sequence < SEQUENCE_MAX).then_some(Head {
        kind,
        stream: (first >> 32) as u32,
        sequence,
        time_ns: time as i64,
        length,
    })
}

/// The sequence after the last record between two positions; 0 if there is none.
pub(crate) fn last_sequence(ring: &Ring, tail: u64, head: u64) -> u64 {
    let mut next = 0;
    if head.saturating_sub(tail) > ring.capacity() as u64 {
        return next;
    }
    let mut at = tail;
    while at < head {
        let Some(found) = head_at(ring, at) else { break };
        next = found.sequence.saturating_add(1);
        at += record_bytes(found.length) as u64;
    }
    next
}

impl RingReader {
    /// Takes over a ring as its only writer, from the last released position.
    pub(crate) fn new(ring: Ring, skip_below: u64) -> crate::Result<Self> {
        ring.take(WRITER_LOCK)?;
        ring.state().store(STATE_OPEN, Ordering::Release);
        let mut reader = RingReader::at_released(ring, skip_below);
        reader.has_lock = true;
        reader.ring.told().store(0, Ordering::Release);
        // What recovery found in the log it has made durable: passed over and released here, since
        // no block may follow whose sync would do so.
        reader.next();
        if reader.damaged.is_none() {
            let logged = reader.at;
            reader.set_written(&logged);
            reader.release(&logged);
        }
        Ok(reader)
    }

    /// Reads a ring from the last released position on, without taking it over.
    pub(crate) fn at_released(ring: Ring, skip_below: u64) -> Self {
        let at = Position {
            bytes: ring.tail().load(Ordering::Acquire),
            sequence: ring.durable().load(Ordering::Acquire),
            logged_full: ring.logged_full().load(Ordering::Acquire),
            logged_large: ring.logged_large().load(Ordering::Acquire),
        };
        let mut reader = RingReader {
            ring,
            at,
            released: at,
            head: at.bytes,
            offered: at.sequence,
            skip_below,
            damaged: None,
            broken: false,
            ends: 0,
            ended: 0,
            looked_at: at.bytes,
            has_lock: false,
            told: 0,
        };
        reader.look();
        if !reader.broken && at.sequence > reader.offered.saturating_add(COUNTS_APART) {
            reader.give_up();
        }
        if reader.broken && at.sequence > reader.offered.min(SEQUENCE_MAX) {
            // What says how far it is in the log cannot be: that of the log itself counts.
            reader.at.sequence = skip_below;
            reader.released.sequence = skip_below;
            reader.offered = skip_below;
            reader.broken = false;
            reader.give_up();
        }
        // A crash between the stores of `release` leaves records that are durable already.
        while let Some(head) = head_at(&reader.ring, reader.at.bytes)
            .filter(|head| reader.head > reader.at.bytes && head.sequence < at.sequence)
        {
            let bytes = record_bytes(head.length) as u64;
            if bytes > reader.head - reader.at.bytes {
                break;
            }
            reader.at.bytes += bytes;
        }
        reader
    }

    /// Sees what has been pushed since the last call.
    pub(crate) fn look(&mut self) {
        if self.broken {
            return;
        }
        // In this order: see the end of `Producer::push`.
        let offered = self.ring.next_sequence().load(Ordering::Acquire);
        let head = self.ring.head().load(Ordering::Acquire);
        let used = head.wrapping_sub(self.released.bytes);
        // Zeros where the header was: the file was cut off and is as long as before again.
        let state = self.ring.state().load(Ordering::Acquire);
        if !matches!(state, STATE_OPEN | STATE_CLOSED)
            || used > self.ring.capacity() as u64
            || !head.is_multiple_of(8)
            || head < self.head
            || !self.counts_can_be(offered, head)
            || self.ring.memory.is_cut()
        {
            self.give_up();
            return;
        }
        self.head = head;
        self.offered = offered;
        self.looked_at = self.at.bytes;
    }

    /// Whether so many can have been offered: each was pushed, which takes room, or refused.
    fn counts_can_be(&self, offered: u64, head: u64) -> bool {
        let full = self.ring.refused_full().load(Ordering::Acquire);
        let large = self.ring.refused_large().load(Ordering::Acquire);
        let pushed = head / HEAD_BYTES as u64;
        [offered, full, large].into_iter().all(|count| count < SEQUENCE_MAX)
            && offered <= pushed.saturating_add(full).saturating_add(large) + COUNTS_APART
    }

    /// Nothing is taken from this ring again. What it held is a gap: as much as is known of, and at
    /// least one, since it was not given up for nothing. Its producer is told at its next push.
    #[cold]
    fn give_up(&mut self) {
        if !self.broken {
            self.broken = true;
            self.ring.close_for_good();
            self.ends = self.offered.max(self.at.sequence.saturating_add(1));
        }
        self.at.bytes = self.head;
        let lost = self.ends.saturating_sub(self.at.sequence);
        self.ended = lost;
        self.damaged = (lost > 0).then(|| Gap { damaged: lost, ..Gap::default() });
    }

    /// Whether the ring's file was cut off since it was last looked at, and something was copied out of
    /// it meanwhile, which may be zeros: a page that is left in part does not fault.
    pub(crate) fn cut(&self) -> bool {
        !self.broken && self.at.bytes != self.looked_at && self.ring.memory.is_cut()
    }

    /// Goes back to a position that was reached before, in a ring that was not rewound since.
    pub(crate) fn back_to(&mut self, position: &Position) {
        self.at = *position;
        self.damaged = None;
        if self.broken || self.ring.memory.is_cut() {
            self.give_up();
        }
    }

    /// How far it is released.
    pub(crate) fn released(&self) -> Position {
        self.released
    }

    /// What comes next, without taking it.
    #[inline]
    pub(crate) fn next(&mut self) -> Next {
        if let Some(gap) = self.damaged {
            return Next::Gap(gap);
        }
        if self.broken {
            return Next::Empty;
        }
        loop {
            let left = self.head - self.at.bytes;
            let head = match left {
                0 => None,
                _ => match self.head_here(left) {
                    Some(head) => Some(head),
                    None => return self.discard(),
                },
            };
            let to = head.map_or(self.offered, |head| head.sequence);
            if self.at.sequence < to {
                if self.at.sequence >= self.skip_below {
                    return Next::Gap(self.missing(to - self.at.sequence));
                }
                // Recovery found this gap in the log.
                let gap = self.missing(to.min(self.skip_below) - self.at.sequence);
                self.take_gap(&gap);
                continue;
            }
            match head {
                None => return Next::Empty,
                Some(head) if head.sequence < self.skip_below => self.take_record(&head),
                Some(head) => return Next::Record(head),
            }
        }
    }

    #[inline]
    fn head_here(&self, left: u64) -> Option<Head> {
        head_at(&self.ring, self.at.bytes).filter(|head| {
            record_bytes(head.length) as u64 <= left && head.sequence >= self.at.sequence
        })
    }

    /// `lost` sequences are missing from the expected one on: by which causes?
    #[cold]
    fn missing(&self, lost: u64) -> Gap {
        let full = self.ring.refused_full().load(Ordering::Acquire);
        let large = self.ring.refused_large().load(Ordering::Acquire);
        let ring_full = lost.min(full.saturating_sub(self.at.logged_full));
        let too_large = (lost - ring_full).min(large.saturating_sub(self.at.logged_large));
        Gap { ring_full, too_large, damaged: 0, unknown: lost - ring_full - too_large }
    }

    /// What lies between here and the head is no record: give it up, say so, go on behind it.
    #[cold]
    fn discard(&mut self) -> Next {
        self.at.bytes = self.head;
        let lost = self.offered.saturating_sub(self.at.sequence).max(1);
        let gap = Gap { damaged: lost, ..Gap::default() };
        self.damaged = Some(gap);
        Next::Gap(gap)
    }

    /// The record that [`RingReader::next`] returned: copies its payload, as it is now.
    #[inline]
    pub(crate) fn copy_payload(&self, to: &mut [u8]) {
        self.copy_part(0, to);
    }

    /// The same from `offset` of the payload on; `to` ends within it.
    #[inline]
    pub(crate) fn copy_part(&self, offset: usize, to: &mut [u8]) {
        // A position near 2^64 is nobody's, but must not make the sum wrap: reduced first.
        let capacity = self.ring.capacity() as u64;
        let place = self.at.bytes % capacity + (HEAD_BYTES + offset) as u64;
        self.ring.read((place % capacity) as usize, to);
    }

    /// Samples of the record that [`RingReader::next`] returned, as far as it is one that has some.
    #[inline]
    pub(crate) fn samples_of(&self, head: &Head) -> u64 {
        match head.kind {
            Kind::Text => 1,
            Kind::Samples if head.length >= Samples::HEAD_BYTES => {
                let mut first = [0; Samples::HEAD_BYTES];
                self.copy_payload(&mut first);
                Samples::shape(first, head.length).map_or(0, |(count, _)| count as u64)
            }
            _ => 0,
        }
    }

    /// Samples that wait in the ring and have sequences from `sequence` on.
    pub(crate) fn samples_left(&mut self, sequence: u64) -> u64 {
        let (reached, damaged) = (self.at, self.damaged);
        let mut samples = 0;
        self.at = self.released;
        while !self.broken && self.at.bytes < self.head {
            let Some(head) = self.head_here(self.head - self.at.bytes) else { break };
            samples += if head.sequence >= sequence { self.samples_of(&head) } else { 0 };
            self.take_record(&head);
        }
        (self.at, self.damaged) = (reached, damaged);
        samples
    }

    /// Moves behind the record that [`RingReader::next`] returned.
    #[inline]
    pub(crate) fn take_record(&mut self, head: &Head) {
        self.at.bytes += record_bytes(head.length) as u64;
        self.at.sequence = head.sequence + 1;
    }

    /// Moves behind the gap that [`RingReader::next`] returned.
    pub(crate) fn take_gap(&mut self, gap: &Gap) {
        self.damaged = None;
        self.at.sequence = self.at.sequence.saturating_add(gap.lost());
        self.at.logged_full = self.at.logged_full.saturating_add(gap.ring_full);
        self.at.logged_large = self.at.logged_large.saturating_add(gap.too_large);
    }

    /// Sequence expected next.
    pub(crate) fn sequence(&self) -> u64 {
        self.at.sequence
    }

    /// Producer of the ring.
    pub(crate) fn producer(&self) -> u64 {
        self.ring.producer
    }

    /// How far this reader has come.
    pub(crate) fn position(&self) -> Position {
        self.at
    }

    /// Everything up to `position` is accepted by the device.
    pub(crate) fn set_written(&mut self, position: &Position) {
        self.ring.written().store(position.sequence, Ordering::Release);
    }

    /// Everything up to `position` is durable: the producer may have the space back.
    pub(crate) fn release(&mut self, position: &Position) {
        self.released = *position;
        self.ring.logged_full().store(position.logged_full, Ordering::Release);
        self.ring.logged_large().store(position.logged_large, Ordering::Release);
        self.ring.durable().store(position.sequence, Ordering::Release);
        // Last: a writer that starts after a crash between these stores finds records of which
        // the durable sequence says that they are in the log, and skips them.
        self.ring.tail().store(position.bytes, Ordering::Release);
    }

    /// Goes back to what is durable: the rest has to be written again, elsewhere.
    pub(crate) fn rewind(&mut self) {
        let released = self.released;
        self.back_to(&released);
        self.ring.written().store(released.sequence, Ordering::Release);
    }

    /// Whether everything that was offered is durable or logged.
    pub(crate) fn drained(&self) -> bool {
        self.damaged.is_none()
            && self.released == self.at
            && (self.broken || self.at.bytes == self.head)
    }

    /// Refuses pushes from now on; one that is under way may still succeed, and then waits for the
    /// next writer unless this one looks again.
    pub(crate) fn close(&mut self) {
        self.ring.state().store(STATE_CLOSED, Ordering::Release);
    }

    /// Whether the ring's positions were found impossible.
    pub(crate) fn broken(&self) -> bool {
        self.broken
    }

    /// How its producer waits for room.
    pub(crate) fn waits(&self) -> Waits {
        Waits::decode(self.ring.waits().load(Ordering::Acquire))
    }

    /// Says that what it has pushed below `sequence` was recycled before it was in runs.
    pub(crate) fn set_gone_below(&self, sequence: u64) {
        self.ring.gone_below().fetch_max(sequence, Ordering::AcqRel);
    }

    /// Says why there is no room.
    pub(crate) fn tell(&mut self, told: u64) {
        if self.told != told {
            self.told = told;
            self.ring.told().store(told, Ordering::Release);
        }
    }

    /// The ring's counters.
    pub(crate) fn report(&self) -> super::RingReport {
        self.ring.report()
    }

    /// Whether more than a quarter of the ring waits for being durable.
    pub(crate) fn filling_up(&self) -> bool {
        !self.broken && self.head - self.released.bytes > self.ring.capacity() as u64 / 4
    }

    /// Records that were in the ring when it was given up and are not durable: they wait in a block for room in
    /// the log, and nowhere else. Without those that a gap in that block tells of.
    pub(crate) fn given_up(&self) -> u64 {
        if !self.broken {
            return 0;
        }
        let told = if self.damaged.is_none() { self.ended } else { 0 };
        self.ends.saturating_sub(self.released.sequence).saturating_sub(told)
    }

    /// Sequences offered and not in the log.
    pub(crate) fn pending(&self) -> u64 {
        self.offered.saturating_sub(self.at.sequence.max(self.skip_below))
    }

    /// The same without those that were refused, which no gap tells of yet.
    pub(crate) fn waiting(&self) -> u64 {
        self.pending().saturating_sub(self.report().refused_unlogged)
    }

    /// Largest payload in this ring.
    pub(crate) fn record_bytes_max(&self) -> usize {
        self.ring.record_bytes_max
    }

    /// Whether the ring's file can be removed: nothing is in it and no producer is attached (none
    /// ever was, or it has ended). If so, none can attach any more.
    pub(crate) fn finished(&mut self) -> bool {
        // A producer of this process shares the mapping, and with it the lock.
        if self.ring.memory.handles() > 1 {
            return false;
        }
        // The lock first: before it is had, a push that began before the ring was closed may still
        // add a record to what was seen.
        if self.ring.take(PRODUCER_LOCK).is_err() {
            return false;
        }
        self.look();
        self.drained() && (self.broken || self.at.sequence >= self.offered)
    }

    /// Removes the ring's file, and its folder with the last one.
    pub(crate) fn remove_file(&self) {
        self.ring.memory.remove_file();
    }

    /// The ring's file.
    pub(crate) fn path(&self) -> &std::path::Path {
        self.ring.memory.path()
    }
}
