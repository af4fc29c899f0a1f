//! Pins: granted by the engine, made durable here, copied out of the log when they hold too much
//! of it, released.

use super::{CopyJob, Keeper, Log, RETRY_NS, Tell};
use crate::writer::PinRefusal;
use crate::{Error, Result};
use baro_log::{
    Blocks, Making, PINS, copy_may_hold_samples, kept_name, pin_name, remove_if_there, write_pin,
};
use baro_ondisk::limits::{PIN_NAME_BYTES_MAX, PIN_SPAN_NS_MAX, PINS_MAX};
use baro_ondisk::{Copies, Pin, PinState};
use baro_sys::storage::{Access, Storage, StorageFile};
use std::ops::RangeInclusive;

/// A moment, by both clocks. Nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// CLOCK_REALTIME: decides which records the window shows.
    pub realtime_ns: i64,
    /// CLOCK_BOOTTIME: decides which segments are held.
    pub boottime_ns: i64,
}

impl Moment {
    /// Now.
    pub(crate) fn now() -> Self {
        let (realtime_ns, boottime_ns) =
            (baro_sys::clock::realtime_ns(), baro_sys::clock::boottime_ns());
        Moment { realtime_ns, boottime_ns }
    }
}

/// A pin that is asked for, about now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PinRequest {
    /// What people call it; may be empty; at most 256 bytes.
    pub name: String,
    /// How far it reaches back, nanoseconds.
    pub before_ns: u64,
    /// How far it goes on.
    pub after_ns: u64,
}

impl PinRequest {
    pub(crate) fn check(&self) -> Result<()> {
        let bad =
            |name, expected: String, found: String| Err(Error::Setting { name, expected, found });
        if self.name.len() > PIN_NAME_BYTES_MAX {
            let found = format!("{} bytes", self.name.len());
            return bad("name of a pin", format!("at most {PIN_NAME_BYTES_MAX} bytes"), found);
        }
        let longest = self.before_ns.max(self.after_ns);
        if longest > PIN_SPAN_NS_MAX {
            return bad("span of a pin", "at most ten years".to_owned(), format!("{longest} ns"));
        }
        Ok(())
    }
}

/// Why a window is short within which a recorder ended and another one began.
const LEFT: &str = "a recorder ended within it, and for a while nobody recorded";

impl<S: Storage> Keeper<S> {
    /// Holds again what earlier sessions were granted.
    pub(super) fn resume(&mut self, last_epoch: u64, log: &mut impl Log) {
        for epoch in &self.pins.kept {
            log.tell(Tell::CopiedOut(*epoch));
        }
        let ids: Vec<u64> = self.pins.pins.keys().copied().collect();
        for id in ids {
            let Some(pin) = self.pins.pins.get_mut(&id) else { continue };
            let open = pin.last_epoch == u64::MAX;
            let until_ns = (open && pin.boot_id == self.boot_id)
                .then(|| pin.boottime_ns.saturating_add_unsigned(pin.after_ns));
            if open && until_ns.is_none() {
                pin.last_epoch = last_epoch.max(pin.first_epoch);
                add_reason(pin, "the machine was restarted before its end");
                end(pin);
                // If this fails it is ended anew at the next open.
                self.failures += u64::from(write_pin(&self.storage, pin, "pin").is_err());
            }
            // What came is held; what did not come is told too, or the window would be called whole.
            if until_ns.is_some() && !pin.reason.contains(LEFT) {
                add_reason(pin, LEFT);
                self.failures += u64::from(write_pin(&self.storage, pin, "pin").is_err());
            }
            let (first, last) = (pin.first_epoch, pin.last_epoch);
            log.tell(Tell::ResumePin { id, first, last, until_ns });
        }
        self.drop_copies(log);
    }

    /// Grants a pin: durable when this returns.
    ///
    /// # Errors
    /// It is refused, or cannot be made durable; then nothing is held.
    pub fn pin(
        &mut self,
        id: u64,
        request: &PinRequest,
        moment: Moment,
        log: &mut impl Log,
    ) -> Result<Pin> {
        let pin = self.hold(id, request, moment, log)?;
        self.make_durable(pin, log)
    }

    /// Has the log hold what a pin asks for, without a look at the device. From now on nothing of it is
    /// recycled; but a crash ends that.
    pub(super) fn hold(
        &self,
        id: u64,
        request: &PinRequest,
        moment: Moment,
        log: &mut impl Log,
    ) -> Result<Pin> {
        request.check()?;
        let start = log.pin(id, moment.boottime_ns, request.before_ns, request.after_ns)?;
        let mut pin = Pin {
            store: self.identity.store,
            id,
            state: PinState::Open,
            realtime_ns: moment.realtime_ns,
            boottime_ns: moment.boottime_ns,
            boot_id: self.boot_id,
            before_ns: request.before_ns,
            after_ns: request.after_ns,
            first_epoch: start.first_epoch,
            last_epoch: u64::MAX,
            name: request.name.clone(),
            reason: String::new(),
            copies: self.copies_in(start.first_epoch..=u64::MAX),
        };
        if start.missing_ns > 0 {
            add_reason(&mut pin, &missing(start.missing_ns));
        }
        Ok(pin)
    }

    /// Makes a pin durable whose window is held; if that fails it is not held any more.
    pub(super) fn make_durable(&mut self, pin: Pin, log: &mut impl Log) -> Result<Pin> {
        let id = pin.id;
        let written = if self.pins.pins.len() >= PINS_MAX {
            Err(Error::Pin(PinRefusal::TooMany))
        } else {
            write_pin(&self.storage, &pin, "pin").map_err(Error::from)
        };
        if let Err(error) = written {
            self.failures += 1;
            log.tell(Tell::Unpin(id));
            // A rename whose sync failed may have left it.
            let _ = remove_if_there(&self.storage, &pin_name(id, "pin"));
            return Err(error);
        }
        self.pins.pins.insert(id, pin.clone());
        Ok(pin)
    }

    pub(super) fn pin_ended(&mut self, id: u64, last_epoch: u64, until_ns: i64, cut: bool) {
        // One that could not be made durable, or was released a moment ago.
        let Some(pin) = self.pins.pins.get(&id) else { return };
        // Counted anew only if some are not its own any more: one that somebody has removed stays counted.
        let first_epoch = pin.first_epoch;
        let shrinks = pin.copies.last_epoch > last_epoch;
        let copies = shrinks.then(|| self.copies_in(first_epoch..=last_epoch));
        let Some(pin) = self.pins.pins.get_mut(&id) else { return };
        pin.last_epoch = last_epoch;
        pin.copies = copies.unwrap_or(pin.copies);
        let after_ns = until_ns.saturating_sub(pin.boottime_ns);
        pin.after_ns = u64::try_from(after_ns).unwrap_or(0);
        if cut {
            add_reason(pin, "pins hold half the log, so it ended before its time");
        }
        end(pin);
        // If this fails the file says that it is open, and it is ended anew at the next open.
        self.failures += u64::from(write_pin(&self.storage, pin, "pin").is_err());
    }

    /// A watched series went beyond its limit.
    pub(super) fn fired(&mut self, trigger: usize, moment: Moment, log: &mut impl Log) {
        let Some((asked, last)) = self.triggers.get(trigger).cloned() else { return };
        // One window for a value that swings about its limit.
        let open = last.and_then(|id| self.pins.pins.get_mut(&id));
        if let Some(pin) = open.filter(|pin| pin.state == PinState::Open) {
            let until_ns = moment.boottime_ns.saturating_add_unsigned(asked.after_ns);
            let after_ns = until_ns.saturating_sub(pin.boottime_ns);
            pin.after_ns = pin.after_ns.max(u64::try_from(after_ns).unwrap_or(0));
            log.tell(Tell::ExtendPin { id: pin.id, until_ns });
            self.failures += u64::from(write_pin(&self.storage, pin, "pin").is_err());
            return;
        }
        let Ok(id) = baro_sys::identity::random_u64() else { return };
        let (name, before_ns, after_ns) = (asked.name, asked.before_ns, asked.after_ns);
        let request = PinRequest { name, before_ns, after_ns };
        match self.pin(id.max(1), &request, moment, log) {
            Ok(pin) => {
                if let Some((_, last)) = self.triggers.get_mut(trigger) {
                    *last = Some(pin.id);
                }
            }
            Err(error) => self.refused = Some(format!("{}: {error}", request.name)),
        }
    }

    /// Releases a pin; what it alone had copied out of the log is removed.
    ///
    /// # Errors
    /// There is no such pin, or the device fails; then it may still be there after a crash.
    pub fn release(&mut self, id: u64, log: &mut impl Log) -> Result<()> {
        if !self.pins.pins.contains_key(&id) {
            return Err(Error::NoPin { id });
        }
        remove_if_there(&self.storage, &pin_name(id, "pin"))?;
        self.storage.sync_folder(PINS)?;
        self.pins.pins.remove(&id);
        log.tell(Tell::Unpin(id));
        self.drop_copies(log);
        Ok(())
    }

    /// Removes copies that no pin covers; none while a pin cannot be read, which may be theirs. One
    /// that is not settled may be all that is left of its segment: it stays until it is.
    pub(super) fn drop_copies(&mut self, log: &mut impl Log) {
        if !self.pins.damaged.is_empty() {
            return;
        }
        let settled = self.settled.epoch.max(log.view().unsettled_from_epoch);
        let waits = |epoch: u64| {
            self.retention.keep_unsettled && epoch >= settled && self.may_hold_samples(epoch)
        };
        let kept = self.pins.kept.iter().copied();
        let unused: Vec<u64> =
            kept.filter(|epoch| !self.pins.covers(*epoch) && !waits(*epoch)).collect();
        for epoch in unused {
            log.tell(Tell::ForgetCopy(epoch));
            self.mending.forget(epoch);
            self.pins.kept.remove(&epoch);
            self.copied.remove(&epoch);
            self.failures += u64::from(remove_if_there(&self.storage, &kept_name(epoch)).is_err());
        }
    }

    /// Whether a copy may; one that cannot be read may.
    fn may_hold_samples(&self, epoch: u64) -> bool {
        let file = self.storage.open(&kept_name(epoch), Access::ReadDirect);
        let (Ok(file), Ok(mut blocks)) = (file, Blocks::new()) else { return true };
        copy_may_hold_samples(&file, &mut blocks).unwrap_or(true)
    }

    /// Starts the copy that the engine wants, if it wants one.
    pub(super) fn start_copy(&mut self, now_ns: u64, log: &mut impl Log) {
        let Some(job) = self.copy.filter(|_| now_ns >= self.copy_retry_ns) else { return };
        if !self.pins.covers(job.epoch) {
            self.copy = None;
            self.mending.forget(job.epoch);
            log.tell(Tell::CopyDropped);
            return;
        }
        let room = self.room(self.identity.segment_bytes);
        let (store, place) = (self.identity.store, (job.epoch, job.index));
        let made = room.and_then(|()| {
            Making::copy(&self.storage, store, place, job.dead_from).map_err(|e| e.to_string())
        });
        match made {
            // Nothing in it counts, so nothing is to be kept.
            Ok(None) => {
                self.copy = None;
                self.mending.forget(job.epoch);
                log.tell(Tell::CopiedOut(job.epoch));
            }
            Ok(making) => {
                self.making = making;
                self.copy_stopped = None;
            }
            Err(why) => self.copy_failed(now_ns, why, log),
        }
    }

    /// The copy in the making is there.
    pub(super) fn copy_done(&mut self, bytes: u64, log: &mut impl Log) {
        let Some(CopyJob { epoch, index, dead_from }) = self.copy.take() else { return };
        self.pins.kept.insert(epoch);
        self.copied.insert(epoch, bytes);
        self.note_copy(epoch, index, dead_from);
        // They are made by rising epoch. One that somebody removed while its segment was in the log is made
        // again, and is counted already.
        let wants = |pin: &&mut Pin| pin.epochs().contains(&epoch) && epoch > pin.copies.last_epoch;
        for pin in self.pins.pins.values_mut().filter(wants) {
            pin.copies = pin.copies.with(epoch, bytes);
            // If this fails the file counts one less, and nobody misses the copy if it is removed.
            self.failures += u64::from(write_pin(&self.storage, pin, "pin").is_err());
        }
        log.tell(Tell::CopiedOut(epoch));
        self.drop_copies(log);
    }

    /// The copies that there are of these epochs.
    fn copies_in(&self, epochs: RangeInclusive<u64>) -> Copies {
        if epochs.is_empty() {
            return Copies::default();
        }
        let kept = self.pins.kept.range(epochs).copied();
        kept.fold(Copies::default(), |copies, epoch| copies.with(epoch, self.copy_bytes(epoch)))
    }

    fn copy_bytes(&self, epoch: u64) -> u64 {
        let size = self.storage.open(&kept_name(epoch), Access::Read).and_then(|f| f.size_bytes());
        size.unwrap_or(0)
    }

    /// The copy is tried again later.
    pub(super) fn copy_failed(&mut self, now_ns: u64, why: String, log: &mut impl Log) {
        self.failures += 1;
        let again = self.copy.take_if(|job| self.mending.remaking() == Some(job.epoch));
        if let Some(job) = again {
            // Recording goes on: the engine need not hold the segment until this works.
            self.not_again(job.epoch, now_ns);
            log.tell(Tell::CopyDropped);
            return;
        }
        self.copy_retry_ns = now_ns + RETRY_NS;
        self.copy_stopped = Some(why);
    }
}

fn missing(missing_ns: u64) -> String {
    let seconds = missing_ns as f64 / 1e9;
    format!("the first {seconds:.3} s of the window are not in the log any more")
}

fn add_reason(pin: &mut Pin, why: &str) {
    if !pin.reason.is_empty() {
        pin.reason.push_str("; ");
    }
    pin.reason.push_str(why);
}

/// Its end has come.
fn end(pin: &mut Pin) {
    pin.state = if pin.reason.is_empty() { PinState::Whole } else { PinState::Short };
}
