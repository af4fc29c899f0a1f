//! Pins of the load: asked for every now and then, held while segments are recycled and copied out,
//! and released.
//!
//! What a pin holds is said as sequences: those whose push began after the window did and returned
//! before it ended. A pin whose window is not whole is said to hold nothing.

use super::Told;
use crate::statement::{PINS_MAX, PinSaid, Span};
use baro_ondisk::PinState;
use baro_recorder::{Error, PinRequest, Recorder};
use baro_sys::clock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};

/// Pins that stand at once; with more than two windows the oldest are copied out of the log.
const STANDING: usize = 5;
const BEFORE_NS: u64 = 200_000_000;
const AFTER_NS: u64 = 150_000_000;
const EVERY_NS: u64 = 250_000_000;

/// Name of a pin.
#[must_use]
pub(crate) fn name(number: u32) -> String {
    format!("window {number}")
}

#[derive(Debug)]
struct Standing {
    said: PinSaid,
    /// Boottime of the window's end, until what was pushed by then is noted.
    until_ns: Option<i64>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Pinning {
    recorder: Arc<Recorder>,
    told: Arc<Told>,
    stop: Arc<AtomicBool>,
    standing: Vec<Standing>,
    asked: u32,
}

impl Pinning {
    pub(super) fn new(recorder: &Arc<Recorder>, told: &Arc<Told>, stop: &Arc<AtomicBool>) -> Self {
        Pinning {
            recorder: Arc::clone(recorder),
            told: Arc::clone(told),
            stop: Arc::clone(stop),
            standing: Vec::new(),
            asked: 0,
        }
    }

    pub(super) fn run(mut self) {
        let mut next_ns = clock::monotonic_ns() + EVERY_NS;
        while !self.stop.load(Ordering::Acquire) {
            clock::sleep_ns(5_000_000);
            self.note_ends();
            if clock::monotonic_ns() < next_ns {
                continue;
            }
            next_ns += EVERY_NS;
            if self.standing.len() >= STANDING {
                self.release();
            }
            self.ask();
        }
    }

    fn ask(&mut self) {
        self.asked += 1;
        let request =
            PinRequest { name: name(self.asked), before_ns: BEFORE_NS, after_ns: AFTER_NS };
        let pin = match self.recorder.pin(&request) {
            Ok(pin) => pin,
            // Pins hold half the log: as it should be.
            Err(Error::Pin(_)) => return self.release(),
            Err(error) => return self.told.complain(format!("pin: {error}")),
        };
        let whole = pin.reason.is_empty();
        let from_ns = pin.boottime_ns - BEFORE_NS as i64;
        let windows = [0, 1].map(|slot| match whole {
            true => self.pushed(slot, from_ns, pin.boottime_ns),
            false => Span::default(),
        });
        let said = PinSaid { id: pin.id, number: self.asked, windows };
        let until_ns = whole.then_some(pin.boottime_ns + AFTER_NS as i64);
        self.standing.push(Standing { said, until_ns });
        self.told.change(|statement| statement.pins.push(said));
    }

    /// What a producer pushed between two moments of boottime.
    fn pushed(&self, slot: usize, from_ns: i64, to_ns: i64) -> Span {
        let history = self.told.history(slot);
        let history = history.lock().unwrap_or_else(PoisonError::into_inner);
        let within = |entry: &&(i64, i64, u64)| entry.0 >= from_ns && entry.1 < to_ns;
        let first = history.iter().find(within).map(|entry| entry.2);
        let last = history.iter().rev().find(within).map(|entry| entry.2);
        match (first, last) {
            // What is refused between them is no loss.
            (Some(from), Some(last)) => Span { from, to: last + 1 },
            _ => Span::default(),
        }
    }

    /// Of windows that have ended: what was pushed until then is held too.
    fn note_ends(&mut self) {
        let now_ns = clock::boottime_ns();
        let pins = self.recorder.pins();
        for at in 0..self.standing.len() {
            let Some(standing) = self.standing.get(at) else { return };
            let Some(until_ns) = standing.until_ns.filter(|until_ns| now_ns > *until_ns) else {
                continue;
            };
            let id = standing.said.id;
            let state = pins.iter().find(|pin| pin.id == id).map(|pin| pin.state);
            let windows = match state {
                Some(PinState::Open) => continue,
                Some(PinState::Whole) => {
                    let from_ns = until_ns - (BEFORE_NS + AFTER_NS) as i64;
                    [0, 1].map(|slot| self.pushed(slot, from_ns, until_ns))
                }
                None => {
                    self.told.complain(format!("pin {id:x} is gone"));
                    continue;
                }
                // It was cut: what was held at its moment is held.
                _ => standing.said.windows,
            };
            if let Some(standing) = self.standing.get_mut(at) {
                standing.until_ns = None;
                standing.said.windows = windows;
            }
            self.told.change(|statement| {
                for pin in statement.pins.iter_mut().filter(|pin| pin.id == id) {
                    pin.windows = windows;
                }
            });
        }
    }

    /// Releases the oldest one that has ended.
    fn release(&mut self) {
        let ended = self.standing.iter().position(|standing| standing.until_ns.is_none());
        let Some(at) = ended else { return };
        let id = self.standing.remove(at).said.id;
        // Not before a statement has been written that does not say it any more.
        if !self.told.take_back(|statement| statement.pins.retain(|pin| pin.id != id)) {
            return;
        }
        match self.recorder.release_pin(id) {
            Ok(()) => self.told.change(|statement| {
                statement.released.push(id);
                // So many are told, and no more.
                if statement.released.len() > PINS_MAX * 2 {
                    statement.released.remove(0);
                }
            }),
            Err(error) => self.told.complain(format!("release {id:x}: {error}")),
        }
    }
}
