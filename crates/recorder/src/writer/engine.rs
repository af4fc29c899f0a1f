//! The writer's state machine.
//!
//! Invariants, held by the simulator's tests:
//! - a ring gets space back only for records that a successful sync has made durable;
//! - a segment is started only when everything before its predecessor is durable;
//! - no block goes to a segment that was in use before its new header is durable, so that a crash
//!   leaves either the old life whole or the new one;
//! - after a failed write or sync nothing more goes to that segment: what was not durable is read
//!   from the rings again and written to another one.

mod end;
mod fill;
mod launch;
mod leftovers;
mod outcome;
mod pins;
mod stored;

pub use pins::{Event, PinRefusal, PinStart};
pub(crate) use stored::Stored;

use super::choose::Choice;
use super::device::Device;
use super::flight::{Flights, Logged};
use super::retention::Retention;
use super::status::{Status, Trouble};
use super::watch::Watch;
use crate::ring::RingReader;
use crate::types::KnownTypes;
use baro_log::{Recovery, Reused, SoFar, Taken};
use baro_ondisk::limits::{CHUNKS_MAX, UNIT_BYTES};
use baro_ondisk::{
    Beside, BlockBuilder, DeadTail, SampleStage, SegmentHeader, StoreId, Summary, Wear,
};
use baro_sys::memory::AlignedBuffer;
use pins::OpenPin;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

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
    /// Boottime now.
    pub boottime_ns: i64,
    /// What is kept of a log that recycles.
    pub retention: Retention,
}

/// Blocks and headers on their way at most; a bound on memory, far above what a device needs.
const FLIGHTS_MAX: usize = 1024;
/// A step of realtime against boottime that is worth a record: above what NTP slews in an hour.
const CLOCK_STEP_NS: i64 = 50_000_000;
/// After a failure with nowhere to go, try again this much later.
const RETRY_NS: u64 = 200_000_000;

/// Most that the section of a block may take: the rest is for records, and at least for one.
fn section_room(block_bytes: usize) -> usize {
    block_bytes - block_bytes / 16
}

#[derive(Debug)]
struct Segment {
    index: u32,
    epoch: u64,
    first_block: u64,
    header: SegmentHeader,
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

/// The writer's state machine: takes records out of rings, puts them into blocks, and gives a ring its
/// space back when they are durable. It does no I/O itself: it hands operations to a device.
#[derive(Debug)]
pub struct Engine {
    start: Start,
    store: StoreId,
    segment_bytes: u64,
    choice: Choice,
    rings: Vec<RingReader>,
    first_ring: usize,
    /// Of rings that an earlier recorder left: what had been offered to them then.
    leftovers: Vec<Option<u64>>,
    /// Why what can wait has to: settling is to make room first.
    held_back: Option<Trouble>,
    /// Nobody settles any more.
    nobody_settles: bool,
    /// Somebody waits for what has been pushed to be durable.
    hurried: bool,
    /// The block being filled holds records that cannot wait.
    filling_live: bool,
    builder: BlockBuilder,
    /// Samples of the block being filled, in order of arrival.
    stage: SampleStage,
    /// Bytes of samples and texts in the bodies of that block.
    loose_bytes: u64,
    filling: Option<AlignedBuffer>,
    filling_since_ns: u64,
    free: Vec<AlignedBuffer>,
    free_units: Vec<AlignedBuffer>,
    segment: Option<Segment>,
    /// What that segment holds, or the one that recovery found; none after a failure, until the next
    /// segment is started.
    told: Option<Summary>,
    /// Segments that have been started, by their files.
    lives: BTreeMap<u32, (u64, u64)>,
    /// Files of which it is not known for certain which segment they hold.
    unsure: BTreeSet<u32>,
    /// Of these, those of which nobody knows what they hold.
    unread: BTreeSet<u32>,
    /// What headers tell of the rest of the store.
    beside: Beside,
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
    /// Epoch of the newest durable block.
    durable_epoch: u64,
    /// What to add to boottime to get running time.
    running_base_ns: i64,
    open_pins: Vec<OpenPin>,
    /// The epoch that is being copied out.
    copying: Option<u64>,
    watches: Vec<Watch>,
    types: KnownTypes,
    events: Vec<Event>,
    /// Wear up to this session.
    wear: Wear,
    stored: Vec<Stored>,
    /// Of segments with records of producers that wait: how far each ring is in them.
    reached: HashMap<u32, Vec<u64>>,
    /// What settling has read of the log.
    taken: Arc<Taken>,
    /// What is lost, as far as settling was told.
    lost: SoFar,
    /// What is not told there yet: almost always nothing.
    reused: Vec<Reused>,
    /// Why nothing is written any more.
    stopped: Option<String>,
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
    /// The session's end is marked, or cannot be.
    marked: bool,
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
        let clock = (start.boot_id, start.boottime_ns);
        let (choice, running_base_ns) = Choice::new(recovery, start.retention, clock);
        let when_full = recovery.identity.when_full;
        let mut wear = recovery.wear;
        if recovery.last_epoch == 0 {
            wear.other_bytes = u64::from(recovery.segments.grown) * recovery.identity.segment_bytes;
        }
        let mut engine = Engine {
            store: recovery.identity.store,
            segment_bytes: recovery.identity.segment_bytes,
            durable_segment: choice.newest(),
            durable_epoch: recovery.last_epoch,
            running_base_ns,
            open_pins: Vec::new(),
            copying: None,
            watches: Vec::new(),
            types: KnownTypes::default(),
            events: Vec::new(),
            wear,
            choice,
            rings: Vec::new(),
            first_ring: 0,
            leftovers: Vec::new(),
            held_back: None,
            nobody_settles: false,
            hurried: false,
            filling_live: false,
            builder: BlockBuilder::new(CHUNKS_MAX),
            stage: SampleStage::new(section_room(start.block_bytes)),
            loose_bytes: 0,
            filling: None,
            filling_since_ns: 0,
            free: buffers(start.buffers.max(2), start.block_bytes)?,
            free_units: buffers(3, UNIT_BYTES)?,
            segment: None,
            told: recovery.summary,
            lives: recovery.segments.lives(),
            unsure: recovery.segments.unsure(),
            unread: recovery.segments.unread(when_full),
            beside: Beside {
                segments: None,
                changed: recovery.changed,
                // The next header does not tell any more which others there were.
                unread: recovery.segments.beside.unread
                    || !recovery.segments.lost(when_full).is_empty(),
                highest_id: recovery.segments.beside.highest_id,
                catalog: None,
                generation: recovery.segments.beside.generation,
                recycled: Some(recovery.recycled),
            },
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
            stored: Vec::with_capacity(recovery.identity.segments as usize),
            reached: HashMap::new(),
            taken: Arc::default(),
            lost: SoFar::default(),
            reused: Vec::with_capacity(16),
            stopped: None,
            own_sequence: 0,
            own_durable: (0, 0),
            logged_durable: Logged::default(),
            clock_ns: None,
            padding_bytes: 0,
            failing: false,
            attempts: 0,
            retry_at_ns: 0,
            closing: false,
            marked: false,
            now: Now { boottime_ns: start.boottime_ns, ..Now::default() },
            io_ns: 0,
            status: Status { session: start.session, ..Status::default() },
            start,
        };
        engine.note_choice();
        Ok(engine)
    }

    /// From now on looks at the types of what is pushed.
    pub(crate) fn know(&mut self, types: KnownTypes) {
        self.types = types;
    }

    /// Reads from this ring too.
    pub(crate) fn add_ring(&mut self, ring: RingReader) {
        self.rings.push(ring);
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

    /// Whether blocks go out and are synced at once from now on.
    pub(crate) fn hurry_up(&mut self, hurried: bool) {
        self.hurried = hurried;
    }

    /// Whether nothing is on its way, and nothing is left that could be.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.flights.is_empty()
            && self.builder.is_empty()
            && self.writes == 0
            && self.syncing.is_none()
            && self.rings.iter().all(RingReader::drained)
            && !self.wants_mark()
    }

    /// Whether a stop would leave records in the rings: the log is full or the device fails.
    #[must_use]
    pub fn stuck(&self) -> bool {
        let waits = self.writes > 0 || self.syncing.is_some() || self.wants_mark();
        !waits && self.status.trouble != Trouble::None
    }

    /// Does what can be done now; returns when to call again at the latest (monotonic). A
    /// completion is a reason to call earlier.
    pub fn step(&mut self, now: Now, device: &mut impl Device) -> u64 {
        let wake_ns = self.advance(now, device);
        self.tell_producers();
        wake_ns
    }

    fn advance(&mut self, now: Now, device: &mut impl Device) -> u64 {
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
        if self.has_stopped() {
            self.say_stopped();
            return poll_at;
        }
        if !self.open_pins.is_empty() {
            self.end_pins();
        }
        if now.monotonic_ns < self.retry_at_ns {
            return self.retry_at_ns.min(poll_at);
        }
        let mut blocks = 0;
        loop {
            self.look_at_patient();
            let full = self.fill();
            if self.rings.iter().any(RingReader::cut) {
                self.abandon_filling();
                return now.monotonic_ns + self.poll_ns() / 32;
            }
            if !full || !self.seal(device) {
                break;
            }
            blocks += 1;
        }
        if !self.builder.is_empty() && self.due() && self.writes == 0 {
            blocks += u64::from(self.seal(device));
        }
        self.mark_end(device);
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
        self.closing || self.hurried || self.rings.iter().any(RingReader::filling_up)
    }
}
