//! The writer's state machine.
//!
//! Invariants, held by the simulator's tests:
//! - a ring gets space back only for records that a successful sync has made durable;
//! - a segment is started only when everything before its predecessor is durable;
//! - no block goes to a segment that was in use before its new header is durable, so that a crash
//!   leaves either the old life whole or the new one;
//! - after a failed write or sync nothing more goes to that segment: what was not durable is read
//!   from the rings again and written to another one.

use super::choose::{Choice, Next as NextSegment};
use super::device::{Completion, Device, Operation};
use super::flight::{Flight, Flights, Logged};
use super::status::{Status, Trouble};
use crate::log::Recovery;
use crate::ring::{Next, Position, RingReader};
use baro_ondisk::limits::{CHUNKS_MAX, UNIT_BYTES};
use baro_ondisk::{
    BlockBuilder, BlockHeader, DeadTail, Gap, Kind, SegmentHeader, SegmentKind, StoreId,
};
use baro_sys::memory::AlignedBuffer;

/// The clocks at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Now {
    /// CLOCK_MONOTONIC.
    pub monotonic_ns: u64,
    /// CLOCK_REALTIME.
    pub realtime_ns: i64,
    /// CLOCK_BOOTTIME.
    pub boottime_ns: i64,
}

/// What an engine starts from.
#[derive(Debug)]
pub struct Start {
    /// Longest time from push to durable that is aimed at.
    pub durable_within_ns: u64,
    /// Size of the buffers in which blocks are built: the largest block.
    pub block_bytes: usize,
    /// Number of those buffers.
    pub buffers: usize,
    /// Session of this open.
    pub session: u64,
    /// Id of this boot.
    pub boot_id: [u8; 16],
}

/// Blocks and headers on their way at most; a bound on memory, far above what a device needs.
const FLIGHTS_MAX: usize = 1024;
/// A step of realtime against boottime that is worth a record: above what NTP slews in an hour.
const CLOCK_STEP_NS: i64 = 50_000_000;
/// After a failure with nowhere to go, try again this much later.
const RETRY_NS: u64 = 200_000_000;

#[derive(Debug)]
struct Segment {
    index: u32,
    epoch: u64,
    first_block: u64,
    offset: u64,
    /// Blocks may follow: the header is durable, or there is no earlier life that it must replace.
    ready: bool,
}

#[derive(Debug)]
struct Syncing {
    ticket: u64,
    flights: usize,
    since_ns: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Engine {
    start: Start,
    store: StoreId,
    segment_bytes: u64,
    choice: Choice,
    rings: Vec<RingReader>,
    first_ring: usize,
    builder: BlockBuilder,
    filling: Option<AlignedBuffer>,
    filling_since_ns: u64,
    free: Vec<AlignedBuffer>,
    free_units: Vec<AlignedBuffer>,
    segment: Option<Segment>,
    /// The next segment waits for a sync.
    wants_segment: bool,
    flights: Flights,
    writes: usize,
    syncing: Option<Syncing>,
    ticket: u64,
    epoch: u64,
    next_block: u64,
    previous_crc: u32,
    /// Blocks that would be valid again were the header that superseded them recycled.
    dead: Vec<DeadTail>,
    durable_block: u64,
    durable_crc: u32,
    /// The segment of the newest durable block: not reused before a newer one is durable.
    durable_segment: Option<u32>,
    own_sequence: u64,
    own_durable: (u64, i64),
    logged_durable: Logged,
    clock_ns: Option<i64>,
    padding_bytes: u64,
    failing: bool,
    /// Starts again since something was durable last.
    attempts: u32,
    retry_at_ns: u64,
    closing: bool,
    now: Now,
    io_ns: u64,
    status: Status,
}

impl Engine {
    /// An engine that goes on after what `recovery` found.
    ///
    /// # Errors
    /// There is no memory for the buffers.
    pub fn new(start: Start, recovery: &Recovery) -> baro_sys::Result<Self> {
        let buffers = |count: usize, bytes: usize| {
            (0..count).map(|_| AlignedBuffer::new(bytes).map(|(b, _)| b)).collect::<Result<_, _>>()
        };
        let choice = Choice::new(recovery);
        Ok(Engine {
            store: recovery.identity.store,
            segment_bytes: recovery.identity.segment_bytes,
            durable_segment: choice.newest(),
            choice,
            rings: Vec::new(),
            first_ring: 0,
            builder: BlockBuilder::new(CHUNKS_MAX),
            filling: None,
            filling_since_ns: 0,
            free: buffers(start.buffers.max(2), start.block_bytes)?,
            free_units: buffers(3, UNIT_BYTES)?,
            segment: None,
            wants_segment: false,
            flights: Flights::default(),
            writes: 0,
            syncing: None,
            ticket: 0,
            epoch: recovery.last_epoch,
            next_block: 0,
            previous_crc: 0,
            dead: recovery.dead.clone(),
            durable_block: 0,
            durable_crc: 0,
            own_sequence: 0,
            own_durable: (0, 0),
            logged_durable: Logged::default(),
            clock_ns: None,
            padding_bytes: 0,
            failing: false,
            attempts: 0,
            retry_at_ns: 0,
            closing: false,
            now: Now::default(),
            io_ns: 0,
            status: Status { session: start.session, ..Status::default() },
            start,
        })
    }

    /// Reads from this ring too.
    pub(crate) fn add_ring(&mut self, ring: RingReader) {
        self.rings.push(ring);
        self.status.rings = self.rings.len() as u32;
    }

    /// The store that is written.
    pub(crate) fn store(&self) -> StoreId {
        self.store
    }

    /// Rings that are read.
    pub(crate) fn rings(&self) -> &[RingReader] {
        &self.rings
    }

    /// Rings that are read, for what follows the last step.
    pub(crate) fn rings_mut(&mut self) -> &mut [RingReader] {
        &mut self.rings
    }

    /// Counters.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// From now on rings refuse; what they hold is flushed at once.
    pub fn close(&mut self) {
        self.closing = true;
        self.rings.iter_mut().for_each(RingReader::close);
    }

    /// Whether nothing is on its way, and nothing is left that could be.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.flights.is_empty()
            && self.builder.is_empty()
            && self.writes == 0
            && self.syncing.is_none()
            && self.rings.iter().all(RingReader::drained)
    }

    /// Whether a stop would leave records in the rings: the log is full or the device fails.
    #[must_use]
    pub fn stuck(&self) -> bool {
        self.writes == 0 && self.syncing.is_none() && self.status.trouble != Trouble::None
    }

    /// Takes the end of an operation.
    pub fn complete(&mut self, now: Now, completion: Completion) {
        self.now = now;
        let Completion { ticket, buffer, result } = completion;
        if let Some(buffer) = buffer {
            self.writes -= 1;
            let whole_block = buffer.len() == self.start.block_bytes;
            if whole_block { &mut self.free } else { &mut self.free_units }.push(buffer);
        }
        let syncing = self.syncing.take_if(|syncing| syncing.ticket == ticket);
        match (result, syncing) {
            (Err(error), _) => self.fail(&error),
            // After a failure nothing that was on its way counts.
            (Ok(()), _) if self.failing => {}
            (Ok(()), Some(syncing)) => self.durable(&syncing),
            (Ok(()), None) => self.written(ticket),
        }
    }

    fn written(&mut self, ticket: u64) {
        let now = self.now.monotonic_ns;
        if let Some(flight) = self.flights.find(ticket) {
            flight.done = true;
            let took = now.saturating_sub(flight.submitted_ns);
            self.status.longest_write_ns = self.status.longest_write_ns.max(took);
        }
        if let Some(last) = self.flights.last_done() {
            for (ring, position) in self.rings.iter_mut().zip(&last.positions) {
                ring.set_written(position);
            }
        }
    }

    fn durable(&mut self, syncing: &Syncing) {
        let now = self.now.monotonic_ns;
        let took = now.saturating_sub(syncing.since_ns);
        self.status.longest_sync_ns = self.status.longest_sync_ns.max(took);
        self.status.syncs += 1;
        let mut oldest = now;
        for count in (0..syncing.flights).rev() {
            let Some(flight) = self.flights.pop() else { break };
            oldest = oldest.min(flight.since_ns);
            if flight.header {
                if let Some(segment) = self.segment.as_mut().filter(|s| s.epoch == flight.epoch) {
                    segment.ready = true;
                }
                // Of this file's earlier lives nothing is left.
                let gone = |t: &DeadTail| t.index == flight.segment && t.epoch < flight.epoch;
                self.dead.retain(|tail| !gone(tail));
            } else {
                self.durable_block = flight.next_block;
                self.durable_crc = flight.crc;
                self.durable_segment = Some(flight.segment);
                self.own_durable = (flight.own_sequence, flight.own_clock_ns);
                self.logged_durable = flight.logged;
                self.status.durable_blocks = self.durable_block;
                // The counters are shared with other processes: stored as rarely as possible.
                let last = count == 0 || self.flights.front().is_some_and(|next| next.header);
                for (ring, position) in self.rings.iter_mut().zip(&flight.positions) {
                    if last {
                        ring.release(position);
                    }
                }
                // How long a block takes beyond what the engine chooses to wait: follows a rise
                // at once and a fall slowly.
                let took = now.saturating_sub(flight.submitted_ns);
                self.io_ns = took.max(self.io_ns - self.io_ns / 64);
            }
            self.flights.give_back(flight.positions);
        }
        let age = now.saturating_sub(oldest);
        self.status.longest_durable_ns = self.status.longest_durable_ns.max(age);
        self.status.trouble = Trouble::None;
        self.attempts = 0;
    }

    fn fail(&mut self, error: &baro_sys::Error) {
        self.status.failures += 1;
        self.status.trouble = Trouble::Device { error: error.to_string() };
        if !self.failing {
            self.failing = true;
            self.status.segments_suspect += 1;
        }
        if let Some(current) = self.segment.take()
            && self.durable_block <= current.first_block
        {
            self.choice.give_back(current.index);
        }
    }

    /// After a failure, once nothing is on its way any more: back to what is durable.
    fn start_again(&mut self) {
        self.failing = false;
        self.wants_segment = false;
        self.note_dead();
        self.flights.clear();
        self.builder.clear();
        self.free.extend(self.filling.take());
        self.rings.iter_mut().for_each(RingReader::rewind);
        self.next_block = self.durable_block;
        self.previous_crc = self.durable_crc;
        self.own_sequence = self.own_durable.0;
        self.set_logged(self.logged_durable);
        self.clock_ns = self.clock_ns.map(|_| self.own_durable.1);
        // The first attempt elsewhere is at once; only if that fails too is the device given time.
        self.attempts = self.attempts.saturating_add(1);
        if self.attempts > 1 {
            self.retry_at_ns = self.now.monotonic_ns + RETRY_NS;
        }
    }

    fn logged(&self) -> Logged {
        let Status { records, payload_bytes, lost, .. } = self.status;
        Logged { records, payload_bytes, lost }
    }

    fn set_logged(&mut self, logged: Logged) {
        let Logged { records, payload_bytes, lost } = logged;
        self.status = Status { records, payload_bytes, lost, ..std::mem::take(&mut self.status) };
    }

    /// What is on its way is superseded by the next segment started. Headers repeat it, since that
    /// segment may be recycled while one of these cannot be.
    fn note_dead(&mut self) {
        let end = self.durable_block;
        for flight in self.flights.iter().filter(|flight| !flight.header) {
            if self.dead.last().is_none_or(|tail| tail.epoch != flight.epoch) {
                self.dead.push(DeadTail { epoch: flight.epoch, end, index: flight.segment });
            }
        }
    }

    /// Does what can be done now; returns when to call again at the latest (monotonic). A
    /// completion is a reason to call earlier.
    pub fn step(&mut self, now: Now, device: &mut impl Device) -> u64 {
        self.now = now;
        let poll_at = now.monotonic_ns + self.poll_ns();
        if self.failing {
            if self.writes > 0 || self.syncing.is_some() {
                return poll_at;
            }
            self.start_again();
        }
        self.rings.iter_mut().for_each(RingReader::look);
        self.status.rings_broken = self.rings.iter().filter(|ring| ring.broken()).count() as u32;
        if now.monotonic_ns < self.retry_at_ns {
            return self.retry_at_ns.min(poll_at);
        }
        let mut blocks = 0;
        while self.fill() {
            if !self.seal(device) {
                break;
            }
            blocks += 1;
        }
        if !self.builder.is_empty() && self.due() && self.writes == 0 {
            blocks += u64::from(self.seal(device));
        }
        self.sync(device);
        if blocks > 1 {
            // Input faster than a block per poll: look again before the ring fills.
            return now.monotonic_ns + self.poll_ns() / 32;
        }
        let filling = (!self.builder.is_empty()).then_some(self.filling_since_ns);
        let oldest = self.flights.front().map(|flight| flight.since_ns);
        // What is due already waits for a completion, which is a call of its own.
        filling
            .into_iter()
            .chain(oldest)
            .map(|since_ns| since_ns + self.hold_ns())
            .filter(|at| *at > now.monotonic_ns)
            .fold(poll_at, u64::min)
    }

    /// The writer polls: nobody wakes it. A quarter of the bound, so that waiting to be seen and
    /// waiting for company take at most half of it.
    fn poll_ns(&self) -> u64 {
        (self.start.durable_within_ns / 4).clamp(200_000, 25_000_000)
    }

    /// How long a block may wait for more records: less when the device needs the time.
    fn hold_ns(&self) -> u64 {
        let within = self.start.durable_within_ns;
        (within / 2).saturating_sub(self.io_ns).min(within / 4)
    }

    fn due(&self) -> bool {
        self.hurry() || self.now.monotonic_ns >= self.filling_since_ns + self.hold_ns()
    }

    /// Space in the rings matters more now than full blocks and few syncs.
    fn hurry(&self) -> bool {
        self.closing || self.rings.iter().any(RingReader::filling_up)
    }

    /// Takes records into the block being filled; true if it is full.
    fn fill(&mut self) -> bool {
        if self.filling.is_none() {
            if self.rings.iter_mut().all(|ring| ring.next() == Next::Empty) {
                return false;
            }
            self.filling = self.free.pop();
        }
        let Some(mut buffer) = self.filling.take() else { return false };
        if self.builder.is_empty() {
            self.filling_since_ns = self.now.monotonic_ns;
        }
        let mut full = !self.note_clock(&mut buffer);
        let count = self.rings.len();
        for offset in 0..count {
            if full {
                break;
            }
            let at = (self.first_ring + offset) % count;
            if let Some(ring) = self.rings.get_mut(at) {
                let now_ns = self.now.realtime_ns;
                full = !take_all(ring, &mut self.builder, &mut buffer, now_ns, &mut self.status);
                if full {
                    // The others come first next time.
                    self.first_ring = (at + 1) % count;
                }
            }
        }
        self.filling = Some(buffer);
        full
    }

    /// Records a step of the realtime clock. False if the block is full.
    fn note_clock(&mut self, buffer: &mut AlignedBuffer) -> bool {
        let offset_ns = self.now.realtime_ns - self.now.boottime_ns;
        let before_ns = *self.clock_ns.get_or_insert(offset_ns);
        if (offset_ns - before_ns).abs() < CLOCK_STEP_NS {
            return true;
        }
        let mut payload = [0; 16];
        payload[..8].copy_from_slice(&before_ns.to_le_bytes());
        payload[8..].copy_from_slice(&offset_ns.to_le_bytes());
        let (sequence, time_ns) = (self.own_sequence, self.now.realtime_ns);
        let fill = |to: &mut [u8]| to.copy_from_slice(&payload);
        let taken =
            self.builder.push(buffer, 0, Kind::Clock, 0, sequence, time_ns, payload.len(), fill);
        if taken {
            self.own_sequence += 1;
            self.clock_ns = Some(offset_ns);
        }
        taken
    }

    /// Hands the block being filled to the device. False if that has to wait.
    fn seal(&mut self, device: &mut impl Device) -> bool {
        if self.flights.len() >= FLIGHTS_MAX || self.builder.is_empty() {
            return false;
        }
        let bytes = baro_ondisk::limits::round_up_to_unit(self.builder.used_bytes()) as u64;
        let room = |segment: &Segment| segment.offset + bytes <= self.segment_bytes;
        if !self.segment.as_ref().is_some_and(room) && !self.start_segment(device) {
            return false;
        }
        let Some(segment) = self.segment.as_mut().filter(|segment| segment.ready) else {
            return false;
        };
        let Some(mut buffer) = self.filling.take() else { return false };
        let header = BlockHeader {
            store: self.store,
            session: self.start.session,
            epoch: segment.epoch,
            sequence: self.next_block,
            durable: self.durable_block,
            realtime_ns: self.now.realtime_ns,
            boottime_ns: self.now.boottime_ns,
            previous_crc: self.previous_crc,
            padding_bytes: self.padding_bytes,
            ..BlockHeader::default()
        };
        let header = self.builder.finish(&mut buffer, header);
        let (offset, bytes) = (segment.offset, header.block_bytes());
        let index = segment.index;
        segment.offset += bytes as u64;
        self.status.blocks += 1;
        self.status.records += u64::from(header.records);
        self.status.padding_bytes += header.padding_bytes - self.padding_bytes;
        self.padding_bytes = header.padding_bytes;
        self.next_block += 1;
        self.previous_crc = header.crc;
        let mut positions = self.flights.positions();
        positions.extend(self.rings.iter().map(RingReader::position));
        let since_ns = self.filling_since_ns;
        self.launch(device, (index, offset, bytes), buffer, Some(positions), since_ns);
        true
    }

    /// Starts the next segment. False if there is none, or what must be durable first is not:
    /// everything before the current segment, so that recovery finds the tail in two, and the
    /// current one's header, so that a segment without a predecessor is one whose predecessor has
    /// been recycled, and never one whose predecessor a crash has lost.
    fn start_segment(&mut self, device: &mut impl Device) -> bool {
        let current = self.segment.as_ref().map(|segment| segment.index);
        let waits = |f: &Flight| f.header || Some(f.segment) != current;
        self.wants_segment = current.is_some() && self.flights.front().is_some_and(waits);
        if self.wants_segment || self.free_units.is_empty() {
            return false;
        }
        // What is not durable may only be in the current segment now.
        let busy: Vec<u32> = current.into_iter().chain(self.durable_segment).collect();
        let Some(NextSegment { index, untouched }) = self.choice.next(&busy) else {
            if self.flights.is_empty() && self.status.trouble == Trouble::None {
                self.status.trouble = Trouble::LogFull;
            }
            return false;
        };
        let Some(mut unit) = self.free_units.pop() else { return false };
        self.epoch += 1;
        let header = SegmentHeader {
            kind: SegmentKind::Log,
            store: self.store,
            session: self.start.session,
            epoch: self.epoch,
            index,
            previous_crc: self.previous_crc,
            segment_bytes: self.segment_bytes,
            first_block: self.next_block,
            realtime_ns: self.now.realtime_ns,
            boottime_ns: self.now.boottime_ns,
            boot_id: self.start.boot_id,
        };
        let (bytes, crc) = header.encode_with(&self.dead);
        unit.copy_from_slice(&bytes);
        self.previous_crc = crc;
        let (epoch, first_block, offset) = (self.epoch, self.next_block, UNIT_BYTES as u64);
        let ready = untouched;
        self.segment = Some(Segment { index, epoch, first_block, offset, ready });
        self.status.segments_started += 1;
        self.launch(device, (index, 0, UNIT_BYTES), unit, None, self.now.monotonic_ns);
        true
    }

    /// Hands a write to the device; a header has no positions.
    fn launch(
        &mut self,
        device: &mut impl Device,
        (segment, offset, bytes): (u32, u64, usize),
        buffer: AlignedBuffer,
        positions: Option<Vec<Position>>,
        since_ns: u64,
    ) {
        self.ticket += 1;
        let (ticket, logged) = (self.ticket, self.logged());
        self.flights.push(Flight {
            ticket,
            segment,
            // Nothing goes to a segment but the newest.
            epoch: self.epoch,
            next_block: self.next_block,
            crc: self.previous_crc,
            header: positions.is_none(),
            positions: positions.unwrap_or_default(),
            own_sequence: self.own_sequence,
            own_clock_ns: self.clock_ns.unwrap_or(0),
            logged,
            since_ns,
            submitted_ns: self.now.monotonic_ns,
            done: false,
        });
        self.writes += 1;
        self.status.device_bytes += bytes as u64;
        device.submit(Operation::Write { ticket, segment, offset, bytes, buffer });
    }

    /// Starts a sync if one is due and none is under way.
    fn sync(&mut self, device: &mut impl Device) {
        let flights = self.flights.syncable();
        let Some(first) = self.flights.front().filter(|_| flights > 0) else { return };
        let (segment, since_ns) = (first.segment, first.since_ns);
        let full = self.wants_segment
            || self.segment.as_ref().is_some_and(|current| !current.ready)
            || self.segment.as_ref().is_none_or(|current| current.index != segment);
        // While more is on its way and the oldest has time, one sync later serves for more.
        let waits = self.writes > 0 || !self.builder.is_empty();
        let due = self.now.monotonic_ns >= since_ns + self.hold_ns();
        if self.syncing.is_some() || self.failing || (waits && !due && !full && !self.hurry()) {
            return;
        }
        self.ticket += 1;
        let ticket = self.ticket;
        let since_ns = self.now.monotonic_ns;
        self.syncing = Some(Syncing { ticket, flights, since_ns });
        device.submit(Operation::Sync { ticket, segment });
    }
}

/// Takes what a ring has into the block; false if the block is full.
fn take_all(
    ring: &mut RingReader,
    builder: &mut BlockBuilder,
    buffer: &mut AlignedBuffer,
    now_ns: i64,
    status: &mut Status,
) -> bool {
    let producer = ring.producer();
    loop {
        match ring.next() {
            Next::Empty => return true,
            Next::Record(head) => {
                let fill = |to: &mut [u8]| ring.copy_payload(to);
                let (stream, sequence, time_ns) = (head.stream, head.sequence, head.time_ns);
                if !builder.push(
                    buffer,
                    producer,
                    head.kind,
                    stream,
                    sequence,
                    time_ns,
                    head.length,
                    fill,
                ) {
                    return false;
                }
                ring.take_record(&head);
                status.payload_bytes += head.length as u64;
            }
            Next::Gap(gap) => {
                let fill = |to: &mut [u8]| to.copy_from_slice(&gap.encode());
                let sequence = ring.sequence();
                if !builder.push(buffer, producer, Kind::Gap, 0, sequence, now_ns, Gap::BYTES, fill)
                {
                    return false;
                }
                ring.take_gap(&gap);
                status.lost += gap.lost();
            }
        }
    }
}
