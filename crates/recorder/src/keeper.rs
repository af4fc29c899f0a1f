//! The keeper: what a recorder does beside the write path, on a thread of its own. It adds
//! segments to a log that grows, makes pins durable, copies pinned segments out of the log, and
//! takes requests of other processes.
//!
//! It works in small steps, so that its thread can pace them and the simulator can crash between
//! any two. Invariants, held by `tests/crash/pinning.rs`: a pin is durable before it is granted; a
//! segment is released for recycling only when its copy is durable; neither writer nor producer
//! ever waits for the keeper.

mod asking;
mod growth;
mod guard;
mod holding;
mod mending;
mod pinning;
mod requests;
mod settled;
mod thread;

#[cfg(feature = "inspect")]
pub use asking::{pin_in_store, release_in_store};
pub use growth::Growth;
pub(crate) use guard::{Findings, Guard};
use mending::Mending;
pub use pinning::{Moment, PinRequest};
pub(crate) use requests::{ANSWER, MODE as REQUEST_MODE, REQUEST, Requests, request_name};
pub(crate) use thread::{BROKEN as KEEPER_BROKEN, KeeperCommand, KeeperThread, WriterLink};

use crate::Result;
use crate::writer::{Event, Now, PinStart, Retention, Status, Trigger, Trouble};
use baro_log::{Held, Making, MakingStep, PIECE_BYTES, Pins, Recovery, Taken};
use baro_ondisk::{Identity, Pin, Settled};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::Storage;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What the keeper tells the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Tell {
    /// A pin that an earlier session was granted holds these epochs.
    ResumePin {
        /// The pin.
        id: u64,
        /// Its first epoch.
        first: u64,
        /// Its last one.
        last: u64,
        /// Boottime of its end, if that may still be to come.
        until_ns: Option<i64>,
    },
    /// An open pin ends later, at this boottime.
    ExtendPin {
        /// The pin.
        id: u64,
        /// Its new end.
        until_ns: i64,
    },
    /// A pin is released.
    Unpin(u64),
    /// There is a durable copy of this epoch outside the log.
    CopiedOut(u64),
    /// The copy that was asked for is not needed any more.
    CopyDropped,
    /// The copy of this epoch is about to be removed.
    ForgetCopy(u64),
    /// The copy of this epoch is to be made again, if the log has its segment.
    CopyAgain(u64),
    /// A segment has been added to the log.
    AddSegment(u32),
    /// So many segments are still to be added.
    SetGrowth(usize),
    /// So many bytes were handed to the device.
    OtherBytes(u64),
    /// A series is to be watched.
    Watch(usize, Trigger),
    /// Samples are in runs up to there.
    Settled(Settled),
    /// The newest manifest that is durable has this generation.
    Generation(u64),
    /// Whether unsettled segments yield to new records from now on.
    UnsettledYield(bool),
    /// An earlier session has left so much in this segment.
    Holds {
        /// Its epoch.
        epoch: u64,
        /// Its file.
        index: u32,
        /// What its blocks hold.
        held: Held,
    },
    /// Somebody has taken this segment away, cut it or written over it.
    Lost {
        /// Its file.
        index: u32,
        /// What was found.
        why: String,
    },
    /// Nothing more is to be written, and why.
    Stop(String),
}

/// What growth, and the end of copies, depend on.
#[derive(Clone, Copy, Debug, Default)]
pub struct View {
    /// Segments that can be started without reusing any.
    pub blank: u32,
    /// The oldest segment is older than what is to be kept.
    pub may_reuse: bool,
    /// All samples of lower epochs are in runs; 0 if that is not known.
    pub unsettled_from_epoch: u64,
    /// Records wait for a segment that is still to be added.
    pub waits_for_growth: bool,
}

impl View {
    /// As a status tells it.
    #[must_use]
    pub fn of(status: &Status) -> Self {
        View {
            blank: status.segments_blank,
            may_reuse: status.may_reuse,
            unsettled_from_epoch: status.unsettled_from_epoch,
            waits_for_growth: status.trouble == Trouble::Growing,
        }
    }
}

/// The engine as the keeper sees it.
pub trait Log {
    /// As [`Engine::pin`](crate::writer::Engine::pin).
    ///
    /// # Errors
    /// The pin is refused, or the writer has ended.
    fn pin(&mut self, id: u64, moment_ns: i64, before_ns: u64, after_ns: u64) -> Result<PinStart>;
    /// As [`Engine::tell`](crate::writer::Engine::tell).
    fn tell(&mut self, what: Tell);
    /// What growth depends on.
    fn view(&self) -> View;
}

/// What a step of the keeper was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It worked on a file; there is more to do.
    More,
    /// Nothing is to be done now.
    Idle,
}

/// After something failed, it is tried again this much later.
const RETRY_NS: u64 = 10_000_000_000;

#[derive(Clone, Copy, Debug)]
struct CopyJob {
    epoch: u64,
    index: u32,
    dead_from: u64,
}

/// What a recorder does beside the write path, in small steps: it adds segments to a log that grows,
/// makes pins durable, copies pinned segments out of the log, and takes requests of other processes.
#[derive(Debug)]
pub struct Keeper<S: Storage> {
    storage: S,
    identity: Identity,
    boot_id: [u8; 16],
    retention: Retention,
    pins: Pins,
    triggers: Vec<(Trigger, Option<u64>)>,
    making: Option<Making<S::File>>,
    /// What the engine wants copied out: it asks for the next copy when it is told of this one.
    copy: Option<CopyJob>,
    /// Bytes of the copies that were made in this session, by epoch.
    copied: BTreeMap<u64, u64>,
    copy_retry_ns: u64,
    copy_stopped: Option<String>,
    growth: Growth,
    growth_retry_ns: u64,
    piece: Option<AlignedBuffer>,
    asks_at_ns: u64,
    /// Requests that could not be removed.
    stuck: BTreeSet<String>,
    /// How far the log is settled, as far as the engine knows.
    settled: Settled,
    /// The same as this session found it.
    settled_before: Settled,
    /// Where settling in this process tells what it reads.
    taken: Arc<Taken>,
    settled_at_ns: u64,
    failures: u64,
    /// Segments of earlier sessions whose records are not counted yet.
    uncounted: Vec<holding::Uncounted>,
    /// The last pin of a trigger that was refused, and why.
    refused: Option<String>,
    mending: Mending<S::File>,
}

/// Names in the store that are there because of pins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holds {
    /// Ids of the pins.
    pub(crate) pins: Vec<u64>,
    /// Epochs of the copies, rising, and their bytes as they were made; 0 if that was before this session.
    pub(crate) kept: Vec<(u64, u64)>,
}

impl<S: Storage> Keeper<S> {
    /// Reads the pins of the store that `recovery` has found and tells the engine of them; ends
    /// those whose end a restart of the machine has cut off.
    ///
    /// # Errors
    /// The pins cannot be read.
    pub fn open(
        storage: S,
        recovery: &Recovery,
        retention: Retention,
        boot_id: [u8; 16],
        log: &mut impl Log,
    ) -> Result<Self> {
        let identity = recovery.identity;
        let pins = Pins::read(&storage, identity.store)?;
        let growth = Growth::new(recovery, &retention);
        let mending = Mending::new(recovery, &pins.kept);
        let mut keeper = Keeper {
            storage,
            identity,
            boot_id,
            retention,
            pins,
            triggers: Vec::new(),
            making: None,
            copy: None,
            copied: BTreeMap::new(),
            copy_retry_ns: 0,
            copy_stopped: None,
            growth,
            growth_retry_ns: 0,
            piece: None,
            asks_at_ns: 0,
            stuck: BTreeSet::new(),
            settled: Settled::default(),
            settled_before: Settled::default(),
            taken: Arc::default(),
            settled_at_ns: 0,
            failures: 0,
            uncounted: Self::to_count(recovery, retention.keep_unsettled),
            refused: None,
            mending,
        };
        keeper.resume(recovery.last_epoch, log);
        keeper.look_for_settled(0, log);
        keeper.settled_before = keeper.settled;
        Ok(keeper)
    }

    /// What settling beside it reads is told there.
    pub(crate) fn share(&mut self, taken: Arc<Taken>) {
        self.taken = taken;
    }

    /// The store's pins.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        self.pins.pins.values()
    }

    /// What must be there as long as nobody takes it away.
    pub(crate) fn holds(&self) -> Holds {
        let pins = self.pins.pins.keys().copied().collect();
        let made = |epoch: &u64| (*epoch, self.copied.get(epoch).copied().unwrap_or(0));
        // What is made anew is another file in a moment.
        let kept = self.pins.kept.iter().filter(|epoch| self.mending.remaking() != Some(**epoch));
        Holds { pins, kept: kept.map(made).collect() }
    }

    /// Pin files that are damaged, and why.
    pub(crate) fn damaged(&self) -> &[(String, String)] {
        &self.pins.damaged
    }

    /// How far the log has grown.
    #[must_use]
    pub fn growth(&self) -> &Growth {
        &self.growth
    }

    /// Why pinned segments are not copied out of the log; `None` if they are, or need not be.
    #[must_use]
    pub fn copy_stopped(&self) -> Option<&str> {
        self.copy_stopped.as_deref()
    }

    /// The last pin of a trigger that was refused, and why.
    #[must_use]
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// Watches a series from now on.
    pub fn watch(&mut self, trigger: Trigger, log: &mut impl Log) {
        log.tell(Tell::Watch(self.triggers.len(), trigger.clone()));
        self.triggers.push((trigger, None));
    }

    /// Failed operations.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failures
    }

    /// Takes what the engine has to tell.
    pub fn event(&mut self, event: Event, log: &mut impl Log) {
        match event {
            Event::PinEnded { id, last_epoch, until_ns, cut } => {
                self.pin_ended(id, last_epoch, until_ns, cut);
            }
            Event::CopyOut { epoch, index, dead_from } => {
                self.copy = Some(CopyJob { epoch, index, dead_from });
            }
            Event::NotInLog { epoch } => self.segment_gone(epoch),
            Event::Started { .. } => {}
            Event::Fired { trigger, realtime_ns, boottime_ns } => {
                self.fired(trigger, Moment { realtime_ns, boottime_ns }, log);
            }
        }
    }

    /// One small step of what is to be done. Blocks for the device.
    pub fn work(&mut self, now: Now, log: &mut impl Log) -> Work {
        self.look_for_asks(now, log);
        self.look_for_settled(now.monotonic_ns, log);
        if self.making.is_none() {
            self.start_copy(now.monotonic_ns, log);
        }
        if self.making.is_none() {
            self.start_growing(now.monotonic_ns, log);
        }
        if self.making.is_none() {
            let more = self.count_one(log) || self.mend(now.monotonic_ns, log);
            return if more { Work::More } else { Work::Idle };
        }
        self.step(now.monotonic_ns, log);
        Work::More
    }

    /// One small step of growth alone, and of what is being made already. Blocks for the device.
    pub(crate) fn grow(&mut self, now: Now, log: &mut impl Log) {
        if self.making.is_none() {
            self.start_growing(now.monotonic_ns, log);
        }
        self.step(now.monotonic_ns, log);
    }

    /// A step of the file in the making.
    fn step(&mut self, now_ns: u64, log: &mut impl Log) {
        if self.piece.is_none() {
            self.piece = AlignedBuffer::unlocked(PIECE_BYTES).ok();
        }
        let (Some(making), Some(piece)) = (&mut self.making, &mut self.piece) else { return };
        let (copy, bytes) = (making.is_copy(), making.bytes());
        match making.step(&self.storage, piece) {
            Ok(MakingStep::Bytes(bytes)) => log.tell(Tell::OtherBytes(bytes)),
            Ok(MakingStep::Done) => {
                self.making = None;
                if copy { self.copy_done(bytes, log) } else { self.grown(log) }
            }
            Err(error) => {
                self.making = None;
                if copy {
                    self.copy_failed(now_ns, error.to_string(), log);
                } else {
                    self.failures += 1;
                    self.growth_failed(now_ns, error.to_string(), log);
                }
            }
        }
    }
}
