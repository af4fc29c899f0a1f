//! Pins asked for by other processes, through small files in the store (`docs/format.md`, "Pins"):
//! they need no socket, work across containers, and survive whoever asks. Both sides are here.
//!
//! A request is a matter of moments: whoever asks does not wait until the device has it. The keeper has
//! the log hold the windows of all that it finds, and makes them durable then. Held by
//! `a_window_is_held_from_the_moment_its_request_is_seen` (`tests/crash`).
//!
//! Requests are hostile until decoded: held by the fuzz target `pin` and
//! `requests_of_other_processes_are_granted_refused_and_survive_garbage` (`tests/crash`).

use super::{Keeper, Log, Moment, PinRequest, Tell, View};
use crate::writer::{Engine, Now, PinRefusal, PinStart, Retention, Start};
use crate::{Error, Result};
use baro_log::{
    PINS, Pins, Recovery, Role, StoreLock, list_folder, numbered, open_folder, pin_name,
    read_identity, read_message, recover, remove_if_there, write_pin, write_request,
};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Pin, PinState};
use baro_sys::disk::Disk;
use baro_sys::storage::Storage;
use baro_sys::{clock, identity};
use std::collections::BTreeMap;
use std::path::Path;

/// Requests taken at once; the rest has to wait for the next look.
const ASKS_MAX: usize = 16;
/// Names remembered that cannot be removed.
const STUCK_MAX: usize = 1024;
/// A recorder looks ten times a second; its device may be busy.
const ANSWER_NS: u64 = 20_000_000_000;

impl<S: Storage> Keeper<S> {
    /// When requests of other processes are looked for next.
    pub(super) fn asks_at_ns(&self) -> u64 {
        self.asks_at_ns
    }

    /// Grants or refuses what other processes ask for, if it is time to look; true if somebody did.
    pub(super) fn look_for_asks(&mut self, now: Now, log: &mut impl Log) -> bool {
        if now.monotonic_ns < self.asks_at_ns {
            return false;
        }
        self.asks_at_ns = now.monotonic_ns + ASKS_NS;
        self.take_asks(now, log)
    }

    fn take_asks(&mut self, now: Now, log: &mut impl Log) -> bool {
        let Ok(names) = list_folder(&self.storage, PINS) else { return false };
        let asked = names.iter().filter_map(|name| numbered(name));
        let asked = asked.filter(|(_, ending)| matches!(*ending, "ask" | "release"));
        // One that cannot be removed, as a folder, is taken once: others want their turn.
        let asked = asked.filter(|(id, ending)| !self.stuck.contains(&pin_name(*id, ending)));
        let asked: Vec<_> = asked.take(ASKS_MAX).collect();
        // All windows are held before the first of them is made durable: the device may be busy.
        let asks = asked.iter().filter(|(_, ending)| *ending == "ask");
        let mut held = BTreeMap::<u64, Asked>::new();
        held.extend(asks.filter_map(|(id, _)| Some((*id, self.hold_asked(*id, now, log)?))));
        for (id, ending) in &asked {
            let (id, ending) = (*id, *ending);
            let done = match ending {
                "ask" => match held.remove(&id) {
                    Some((name, granted)) => self.answer(id, name, granted, log),
                    None => Ok(()),
                },
                // One that is not there is released.
                _ => match self.release(id, log) {
                    Err(Error::NoPin { .. }) | Ok(()) => Ok(()),
                    Err(error) => Err(error),
                },
            };
            let removed =
                done.and_then(|()| Ok(remove_if_there(&self.storage, &pin_name(id, ending))?));
            self.failures += u64::from(removed.is_err());
            if removed.is_err() && self.stuck.len() < STUCK_MAX {
                self.stuck.insert(pin_name(id, ending));
            }
        }
        !asked.is_empty()
    }

    /// Has the log hold what is asked for; `None` if nothing is to be answered.
    fn hold_asked(&self, id: u64, now: Now, log: &mut impl Log) -> Option<Asked> {
        let asked = read_message(&self.storage, id, "ask")?;
        // Granted, and then the recorder was killed.
        if self.pins.pins.contains_key(&id) {
            return None;
        }
        let invalid = |why: &str| Error::Pin(PinRefusal::Invalid { why: why.to_owned() });
        Some(match asked {
            Ok(asked) if asked.id != id || asked.store != self.identity.store => {
                (asked.name, Err(invalid("of another store, or under another name")))
            }
            Ok(asked) => {
                let same_boot = asked.boot_id == self.boot_id;
                let ago_ns = now.boottime_ns.saturating_sub(asked.boottime_ns).max(0);
                let (realtime_ns, boottime_ns) = (asked.realtime_ns, asked.boottime_ns);
                let moment = if same_boot && ago_ns < ASKED_AGO_NS {
                    Moment { realtime_ns, boottime_ns: boottime_ns.min(now.boottime_ns) }
                } else {
                    Moment { realtime_ns: now.realtime_ns, boottime_ns: now.boottime_ns }
                };
                let request = PinRequest {
                    name: asked.name.clone(),
                    before_ns: asked.before_ns,
                    after_ns: asked.after_ns,
                };
                (asked.name, self.hold(id, &request, moment, log))
            }
            Err(why) => (String::new(), Err(invalid(&why))),
        })
    }

    /// Makes what was held durable, or says why it was refused.
    fn answer(
        &mut self,
        id: u64,
        name: String,
        held: Result<Pin>,
        log: &mut impl Log,
    ) -> Result<()> {
        let Err(refused) = held.and_then(|pin| self.make_durable(pin, log)) else { return Ok(()) };
        let (store, state, reason) = (self.identity.store, PinState::Refused, refused.to_string());
        let answer = Pin { store, id: id.max(1), state, name, reason, ..Pin::default() };
        Ok(write_pin(&self.storage, &answer, "no")?)
    }
}

/// What a request calls its pin, and what is held for it or why nothing is.
type Asked = (String, Result<Pin>);

/// Between two looks for requests.
const ASKS_NS: u64 = 100_000_000;
/// A request that has waited longer (for a recorder to be started) is of now.
const ASKED_AGO_NS: i64 = 3_600_000_000_000;

/// Pins a window of the store at `path`, whether another process records into it or none does; in
/// the latter case the moment is the end of what was recorded. Blocks until the pin is durable, or
/// for 20 s if the recorder does not answer.
///
/// # Errors
/// It is no store, the pin is refused, or the recorder does not answer.
pub fn pin_in_store(path: &Path, request: &PinRequest) -> Result<Pin> {
    request.check()?;
    let (disk, store) = open(path)?;
    let id = identity::random_u64()?.max(1);
    let asked = Pin {
        store,
        id,
        state: PinState::Asked,
        realtime_ns: clock::realtime_ns(),
        boottime_ns: clock::boottime_ns(),
        boot_id: identity::boot_id(),
        before_ns: request.before_ns,
        after_ns: request.after_ns,
        name: request.name.clone(),
        ..Pin::default()
    };
    let holder = match StoreLock::take(&disk, Role::Recording)? {
        Ok(_lock) => return pin_at_rest(&disk, path, id, request),
        Err(holder) => holder,
    };
    write_request(&disk, &asked)?;
    let give_up_ns = clock::monotonic_ns() + ANSWER_NS;
    loop {
        if let Some(Ok(pin)) = read_message(&disk, id, "pin") {
            return Ok(pin);
        }
        if let Some(answer) = read_message(&disk, id, "no") {
            remove_if_there(&disk, &pin_name(id, "no"))?;
            let why = answer.map_or_else(|why| why, |pin| pin.reason);
            return Err(Error::PinDenied { why });
        }
        // Who had the lock has ended, and may have been no recorder: a pin at rest takes it too.
        if StoreLock::holder_at(path, Role::Recording)?.is_none()
            && let Ok(_lock) = StoreLock::take(&disk, Role::Recording)?
        {
            if let Some(Ok(pin)) = read_message(&disk, id, "pin") {
                return Ok(pin);
            }
            remove_if_there(&disk, &pin_name(id, "ask"))?;
            return pin_at_rest(&disk, path, id, request);
        }
        if clock::monotonic_ns() > give_up_ns {
            remove_if_there(&disk, &pin_name(id, "ask"))?;
            return Err(Error::NoAnswer { path: path.to_owned(), pid: holder.pid });
        }
        clock::sleep_ns(5_000_000);
    }
}

/// Releases a pin of the store at `path`, likewise.
///
/// # Errors
/// It is no store, there is no such pin, or the recorder does not answer.
pub fn release_in_store(path: &Path, id: u64) -> Result<()> {
    let (disk, store) = open(path)?;
    if !Pins::read(&disk, store)?.pins.contains_key(&id) {
        return Err(Error::NoPin { id });
    }
    let holder = match StoreLock::take(&disk, Role::Recording)? {
        Ok(_lock) => {
            let recovery = recover(&disk, path)?;
            let (mut keeper, mut engine) = at_rest(&disk, &recovery)?;
            return keeper.release(id, &mut engine);
        }
        Err(holder) => holder,
    };
    let name = pin_name(id, "release");
    match disk.create(&name) {
        Err(error) if disk.found(&name).is_err() => return Err(error.into()),
        _ => {}
    }
    let give_up_ns = clock::monotonic_ns() + ANSWER_NS;
    while disk.found(&name).is_ok() {
        if clock::monotonic_ns() > give_up_ns {
            remove_if_there(&disk, &name)?;
            return Err(Error::NoAnswer { path: path.to_owned(), pid: holder.pid });
        }
        clock::sleep_ns(5_000_000);
    }
    Ok(())
}

fn open(path: &Path) -> Result<(Disk, baro_ondisk::StoreId)> {
    let disk = open_folder(path)?;
    let store = read_identity(&disk, path)?.store;
    Ok((disk, store))
}

/// An engine that writes nothing, for a store that nobody records into.
struct AtRest(Engine);

/// Whether the next recorder settles is not known: what is in no run is left as it is.
const AT_REST: Retention = Retention {
    keep_bytes: None,
    keep_ns: None,
    keep_unsettled: true,
    unsettled_yield: false,
    min_free_bytes: 0,
};

impl AtRest {
    fn new(recovery: &Recovery) -> Result<Self> {
        let (_, boottime_ns) = recovery.last_block_ns.unwrap_or_default();
        let start = Start {
            durable_within_ns: 100_000_000,
            block_bytes: UNIT_BYTES,
            buffers: 2,
            session: 0,
            boot_id: last_boot(recovery),
            boottime_ns,
            retention: AT_REST,
        };
        Ok(AtRest(Engine::new(start, recovery)?))
    }
}

impl Log for AtRest {
    fn pin(&mut self, id: u64, moment_ns: i64, before_ns: u64, after_ns: u64) -> Result<PinStart> {
        self.0.pin(id, moment_ns, before_ns, after_ns).map_err(Error::Pin)
    }

    fn tell(&mut self, what: Tell) {
        self.0.tell(what);
    }

    fn view(&self) -> View {
        View::of(self.0.status())
    }
}

/// The moment of a store at rest is in the boot of its last session.
fn last_boot(recovery: &Recovery) -> [u8; 16] {
    recovery.segments.started.last().map_or([0; 16], |(header, _)| header.boot_id)
}

fn at_rest(disk: &Disk, recovery: &Recovery) -> Result<(Keeper<Disk>, AtRest)> {
    let mut engine = AtRest::new(recovery)?;
    let boot_id = last_boot(recovery);
    let keeper = Keeper::open(disk.clone(), recovery, AT_REST, boot_id, &mut engine)?;
    Ok((keeper, engine))
}

/// Pins the end of what was recorded. Nothing is to come, so the pin ends at once.
fn pin_at_rest(disk: &Disk, path: &Path, id: u64, request: &PinRequest) -> Result<Pin> {
    let recovery = recover(disk, path)?;
    let Some((realtime_ns, boottime_ns)) = recovery.last_block_ns else {
        return Err(Error::PinDenied { why: "nothing was recorded last".to_owned() });
    };
    let (mut keeper, mut engine) = at_rest(disk, &recovery)?;
    // Behind the last block, so that its records are in the window.
    let moment = Moment { realtime_ns: realtime_ns.saturating_add(1), boottime_ns };
    let request = PinRequest { after_ns: 0, ..request.clone() };
    keeper.pin(id, &request, moment, &mut engine)?;
    keeper.pin_ended(id, recovery.last_epoch, boottime_ns, false);
    let pin = keeper.pins().find(|pin| pin.id == id).cloned();
    pin.ok_or(Error::NoPin { id })
}
