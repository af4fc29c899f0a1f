//! Pins as the engine sees them: epochs that must not be recycled, windows whose end is still to
//! come, and segments that should be copied out of the log. The keeper (`keeper.rs`) does what
//! takes a device; here nothing waits.
//!
//! Invariants, held by the simulator's tests (`tests/crash/pinning.rs`): what was pushed within a
//! granted window lies in epochs that its pin holds; pins never hold more than half the log, so
//! that recording goes on, a pin that an earlier session has left open included (`tests/record.rs`).

use super::Engine;
use crate::keeper::Tell;
use crate::ring::RingReader;
use crate::writer::watch::Watch;
use baro_log::dead_from;
use std::fmt;

/// What the engine tells the keeper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A pin has come to its end: it holds epochs up to this one.
    PinEnded {
        /// The pin.
        id: u64,
        /// Its last epoch.
        last_epoch: u64,
        /// Boottime of its end.
        until_ns: i64,
        /// It ended early, because pins hold half the log.
        cut: bool,
    },
    /// Pins hold more than a quarter of the log: this segment is to be copied out.
    CopyOut {
        /// Its epoch.
        epoch: u64,
        /// Its file.
        index: u32,
        /// Blocks of this sequence and later ones in it are dead.
        dead_from: u64,
    },
    /// The log does not have this segment any more, whose copy was to be made again.
    NotInLog {
        /// Its epoch.
        epoch: u64,
    },
    /// A segment has been started, durably.
    Started {
        /// Its file.
        index: u32,
        /// Its epoch.
        epoch: u64,
    },
    /// A watched series has gone beyond its limit.
    Fired {
        /// Number of the trigger.
        trigger: usize,
        /// Realtime of the sample, or now if that is no time of the last ten seconds.
        realtime_ns: i64,
        /// Boottime at that moment.
        boottime_ns: i64,
    },
}

/// What a pin that was granted begins with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PinStart {
    /// First epoch.
    pub first_epoch: u64,
    /// Part of the time before the moment that the log does not hold any more.
    pub missing_ns: u64,
}

/// Why a pin is not granted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PinRefusal {
    /// It would hold so many segments that recording had no room.
    TooLong {
        /// Segments that pins would hold with it.
        needed: usize,
        /// Most that they may hold.
        most: usize,
    },
    /// The log is full, so nothing after the moment is going to be recorded.
    LogFull,
    /// There are as many pins as a store may have.
    TooMany,
    /// What another process asked for is no valid request.
    Invalid {
        /// What is wrong with it.
        why: String,
    },
}

impl fmt::Display for PinRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PinRefusal::TooLong { needed, most } => write!(
                f,
                "pins would hold {needed} segments, and at most half of the log ({most}) may be \
                 held; ask for a shorter time before, release other pins, or make a larger log"
            ),
            PinRefusal::LogFull => f.write_str(
                "the log is full and never recycles, so nothing from now on is recorded: ask for \
                 no time after",
            ),
            PinRefusal::TooMany => write!(
                f,
                "the store has {} pins already; release some",
                baro_ondisk::limits::PINS_MAX
            ),
            PinRefusal::Invalid { why } => write!(f, "not a valid request: {why}"),
        }
    }
}

impl std::error::Error for PinRefusal {}

#[derive(Debug)]
pub(super) struct OpenPin {
    id: u64,
    first: u64,
    /// Boottime of the window's end.
    until_ns: i64,
    /// Once that is reached: sequences that each ring had offered by then.
    marks: Option<Vec<u64>>,
    missing_ns: u64,
    /// The keeper knows of it: before that nobody would hear of its end.
    known: bool,
    /// It has ended, which the keeper hears of when it asks for it: last epoch, end, whether it was cut.
    ended: Option<(u64, i64, bool)>,
}

impl Engine {
    /// Holds everything pushed from `before_ns` before the moment (boottime) to `after_ns` after
    /// it, as far as it is there.
    ///
    /// # Errors
    /// Pins would hold more than half the log, or it is full.
    pub fn pin(
        &mut self,
        id: u64,
        moment_ns: i64,
        before_ns: u64,
        after_ns: u64,
    ) -> Result<PinStart, PinRefusal> {
        if let Some(at) = self.open_pins.iter().position(|pin| pin.id == id) {
            return Ok(self.note_known(at));
        }
        let held = self.hold(id, moment_ns, before_ns, after_ns);
        match &held {
            Ok(_) => self.open_pins.last_mut().into_iter().for_each(|pin| pin.known = true),
            // What was held for it before.
            Err(_) => self.choice.release(id),
        }
        held
    }

    fn note_known(&mut self, at: usize) -> PinStart {
        let Some(pin) = self.open_pins.get_mut(at) else { return PinStart::default() };
        let start = PinStart { first_epoch: pin.first, missing_ns: pin.missing_ns };
        pin.known = true;
        if let Some((last_epoch, until_ns, cut)) = pin.ended {
            self.events.push(Event::PinEnded { id: pin.id, last_epoch, until_ns, cut });
            self.open_pins.remove(at);
        }
        start
    }

    /// The same for one that the keeper is still to learn of, which then asks for it by [`Engine::pin`].
    ///
    /// # Errors
    /// As there.
    pub fn hold(
        &mut self,
        id: u64,
        moment_ns: i64,
        before_ns: u64,
        after_ns: u64,
    ) -> Result<PinStart, PinRefusal> {
        let full = self.status.trouble == super::Trouble::LogFull;
        if full && after_ns > 0 {
            return Err(PinRefusal::LogFull);
        }
        let moment_ns = moment_ns.min(self.now.boottime_ns);
        let from_ns = self.running_base_ns.saturating_add(moment_ns);
        let from_ns = from_ns.saturating_sub_unsigned(before_ns);
        let reach = self.choice.reach(from_ns, self.epoch + 1);
        if let Some(most) = self.choice.held_max() {
            let needed = self.choice.held() + self.choice.held_more(reach.first);
            if needed > most || most < 2 {
                return Err(PinRefusal::TooLong { needed: needed.max(1), most });
            }
        }
        self.choice.hold(id, reach.first, u64::MAX);
        let until_ns = moment_ns.saturating_add_unsigned(after_ns);
        let (first, missing_ns) = (reach.first, reach.missing_ns);
        let (marks, known, ended) = (None, false, None);
        self.open_pins.push(OpenPin { id, first, until_ns, marks, missing_ns, known, ended });
        self.offer_copy();
        Ok(PinStart { first_epoch: first, missing_ns })
    }

    /// The clocks have moved on; for what happens between two steps.
    pub fn look_at_clock(&mut self, now: super::Now) {
        self.now = now;
    }

    /// Takes what the keeper has to tell.
    pub fn tell(&mut self, what: Tell) {
        match what {
            Tell::ResumePin { id, first, last, until_ns } => {
                self.choice.hold(id, first, last);
                let open = |until_ns| OpenPin {
                    id,
                    first,
                    until_ns,
                    marks: None,
                    missing_ns: 0,
                    known: true,
                    ended: None,
                };
                self.open_pins.extend(until_ns.map(open));
                self.limit_resumed();
                self.offer_copy();
            }
            Tell::ExtendPin { id, until_ns } => {
                let pin = self.open_pins.iter_mut().find(|pin| pin.id == id);
                if let Some(pin) = pin.filter(|pin| until_ns > pin.until_ns) {
                    pin.until_ns = until_ns;
                    pin.marks = None;
                }
            }
            Tell::Unpin(id) => {
                self.open_pins.retain(|pin| pin.id != id);
                self.choice.release(id);
            }
            Tell::CopiedOut(epoch) => {
                self.choice.copied(epoch);
                self.note_choice();
                self.copying = None;
                self.offer_copy();
            }
            Tell::CopyAgain(epoch) => {
                if self.choice.copy_again(epoch) {
                    self.offer_copy();
                } else {
                    self.events.push(Event::NotInLog { epoch });
                }
            }
            Tell::CopyDropped => {
                self.copying.take().into_iter().for_each(|epoch| self.choice.not_again(epoch));
                self.offer_copy();
            }
            Tell::ForgetCopy(epoch) => self.choice.forget_copy(epoch),
            Tell::AddSegment(index) => {
                self.choice.add_blank(index);
                self.note_choice();
            }
            Tell::SetGrowth(0) => self.choice.end_growth(),
            Tell::SetGrowth(to_come) => self.choice.resume_growth(to_come),
            Tell::OtherBytes(bytes) => self.status.other_bytes += bytes,
            // More than was ever begun is settled only where somebody has changed the manifest.
            Tell::Settled(through) if through.last_epoch() > self.epoch => {}
            Tell::Settled(through) => {
                self.choice.settled(through);
                self.note_choice();
            }
            Tell::Generation(generation) => {
                self.beside.generation = generation.max(self.beside.generation);
            }
            Tell::UnsettledYield(yields) => {
                self.nobody_settles = yields;
                self.choice.set_unsettled_yield(yields || self.start.retention.unsettled_yield);
            }
            Tell::Holds { epoch, index, held } => {
                // Of an earlier session: what has been recovered of it is durable.
                self.note_stored(epoch, index, held, u64::MAX);
            }
            Tell::Lost { index, why } => {
                self.lose_segment(index, &why);
                let lost = self.choice.again_lost();
                self.events.extend(lost.map(|epoch| Event::NotInLog { epoch }));
            }
            Tell::Stop(why) => self.stop(&why),
            Tell::Watch(number, trigger) => self.watches.push(Watch::new(number, trigger)),
        }
    }

    /// What the keeper has to know; empty afterwards.
    pub fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Ends pins whose window is over and durable.
    pub(super) fn end_pins(&mut self) {
        let now_ns = self.now.boottime_ns;
        let Engine { open_pins, rings, choice, events, durable_epoch, .. } = self;
        open_pins.retain_mut(|pin| {
            if now_ns < pin.until_ns || pin.ended.is_some() {
                return true;
            }
            let offered = |ring: &RingReader| ring.report().offered;
            let marks = pin.marks.get_or_insert_with(|| rings.iter().map(offered).collect());
            let reached =
                |(ring, mark): (&RingReader, &u64)| ring.broken() || ring.report().durable >= *mark;
            if !rings.iter().zip(marks.iter()).all(reached) {
                return true;
            }
            let last_epoch = (*durable_epoch).max(pin.first);
            choice.hold(pin.id, pin.first, last_epoch);
            let until_ns = pin.until_ns;
            if !pin.known {
                pin.ended = Some((last_epoch, until_ns, false));
                return true;
            }
            events.push(Event::PinEnded { id: pin.id, last_epoch, until_ns, cut: false });
            false
        });
    }

    /// Before a segment is started: if it would make pins hold too much, open ones end here.
    pub(super) fn limit_pins(&mut self) {
        if self.open_pins.is_empty() {
            return;
        }
        let Some(most) = self.choice.held_max() else { return };
        if self.choice.held() < most {
            return;
        }
        let last_epoch = self.epoch;
        for mut pin in std::mem::take(&mut self.open_pins) {
            if pin.ended.is_some() {
                self.open_pins.push(pin);
                continue;
            }
            let last_epoch = last_epoch.max(pin.first);
            self.choice.hold(pin.id, pin.first, last_epoch);
            let until_ns = self.now.boottime_ns.min(pin.until_ns);
            if !pin.known {
                pin.ended = Some((last_epoch, until_ns, true));
                self.open_pins.push(pin);
                continue;
            }
            self.events.push(Event::PinEnded { id: pin.id, last_epoch, until_ns, cut: true });
        }
    }

    /// A pin that a session before has left open covers all that was recorded since, which may be all of
    /// the log: then nothing could be reused, and so nothing be recorded. It ends where pins hold half.
    fn limit_resumed(&mut self) {
        let Some(most) = self.choice.held_max() else { return };
        let Some(pin) = self.open_pins.last().filter(|_| self.choice.held() > most) else { return };
        let OpenPin { id, first, until_ns, .. } = *pin;
        self.open_pins.pop();
        self.choice.release(id);
        let last_epoch = self.choice.last_to_hold(first, most);
        self.choice.hold(id, first, last_epoch);
        let until_ns = self.now.boottime_ns.min(until_ns);
        self.events.push(Event::PinEnded { id, last_epoch, until_ns, cut: true });
    }

    /// Asks for a copy of the oldest held segment if pins hold too much.
    pub(super) fn offer_copy(&mut self) {
        if self.copying.is_some() {
            return;
        }
        let on_its_way = self.flights.front().map_or(u64::MAX, |flight| flight.epoch);
        // What recovery found is complete even if it is the newest.
        let complete_below =
            self.segment.as_ref().map_or(self.epoch.saturating_add(1), |s| s.epoch);
        let Some((epoch, index)) = self.choice.to_copy(complete_below.min(on_its_way)) else {
            return;
        };
        self.copying = Some(epoch);
        let dead_from = dead_from(&self.dead, epoch);
        self.events.push(Event::CopyOut { epoch, index, dead_from });
    }

    /// What settling is told, where no segment is started that would say it: the newest one holds samples
    /// too, and in a log of two that is all.
    pub(super) fn note_unsettled(&mut self) {
        let may_reuse = self.status.may_reuse;
        self.note_choice();
        self.status.may_reuse = may_reuse;
    }

    /// Publishes what growth depends on.
    pub(super) fn note_choice(&mut self) {
        let running_ns = self.running_base_ns.saturating_add(self.now.boottime_ns);
        self.status.segments_blank = self.choice.blank() as u32;
        self.status.segments_held = self.choice.held() as u32;
        self.status.may_reuse = self.choice.may_reuse(running_ns);
        let (unsettled, first) = self.choice.unsettled();
        self.status.segments_unsettled = unsettled as u32;
        self.status.segments_usable = self.choice.usable() as u32;
        // Where nobody keeps what is not settled, nobody knows of it.
        let known = self.start.retention.keep_unsettled;
        let from = first.map_or(self.durable_epoch, |first| first.min(self.durable_epoch));
        self.status.unsettled_from_epoch = if known { from } else { 0 };
        self.note_lost();
    }
}
