//! Settling beside a recorder, on a thread of its own: what the processors and the device leave.
//!
//! It works when enough samples are there, when they have waited long enough, or when half of the
//! log is unsettled; only then it does not rest. What it cannot do, it says and tries again later.
//! Who records tells it how far the log is ([`Settling::logged`]), so that it reads nothing just to
//! look.
//!
//! Invariant: neither writer nor producer waits for settling. Held by
//! `a_recorder_of_frames_is_not_held_back` and `settling_that_stops_lets_recording_go_on`
//! (`tests/settling.rs`).

use super::pace::Pace;
use super::turns::Turns;
use super::{Dropped, Extent, SettleOptions, Settled, Settler};
use crate::{Damage, Error, Result, handover};
use baro_log::{Holding, Logged, Taken};
use baro_sys::{clock, schedule};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// When the thread settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SettlingOptions {
    /// Between two looks whether there is something to do, nanoseconds.
    pub look_every_ns: u64,
    /// Samples are settled after this time even if they are few, nanoseconds.
    pub wait_ns: u64,
    /// After it could not settle it tries again this much later, nanoseconds.
    pub retry_ns: u64,
}

impl Default for SettlingOptions {
    fn default() -> Self {
        SettlingOptions {
            look_every_ns: 1_000_000_000,
            wait_ns: 600_000_000_000,
            retry_ns: 10_000_000_000,
        }
    }
}

/// What the thread does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SettlingState {
    /// It waits for samples.
    #[default]
    Waiting,
    /// It settles.
    Working,
    /// Another process settles the store.
    Another {
        /// That process, if known.
        pid: Option<u32>,
    },
    /// It waits for another process, which deletes from the store, or settles it in a moment.
    Waits {
        /// Who that is.
        holding: Holding,
    },
    /// It cannot settle, for this reason, and tries again.
    Stopped {
        /// A sentence.
        reason: String,
    },
}

/// What the thread has done and does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettlingStatus {
    /// What it does.
    pub state: SettlingState,
    /// Samples in the runs written from the log.
    pub samples: u64,
    /// Bytes of the runs written from the log.
    pub bytes: u64,
    /// Runs written from the log.
    pub runs: u64,
    /// Runs written by merging.
    pub merged: u64,
    /// Runs dropped because of their age or size.
    pub dropped: Dropped,
    /// Damage met, the first [`SettlingStatus::DAMAGE_MAX`] places.
    pub damage: Vec<Damage>,
}

impl SettlingStatus {
    /// Places of damage that are kept.
    pub const DAMAGE_MAX: usize = 100;

    fn add(&mut self, done: &Settled) {
        self.samples += if done.merged > 0 { 0 } else { done.samples };
        self.bytes += if done.merged > 0 { 0 } else { done.bytes };
        self.runs += u64::from(done.runs);
        self.merged += u64::from(done.merged);
        self.dropped.runs += done.dropped.runs;
        self.dropped.samples += done.dropped.samples;
        self.dropped.bytes += done.dropped.bytes;
        for damage in &done.damage {
            if self.damage.len() < Self::DAMAGE_MAX && !self.damage.contains(damage) {
                self.damage.push(damage.clone());
            }
        }
    }
}

#[derive(Debug, Default)]
struct Shared {
    logged: Mutex<Option<Logged>>,
    status: Mutex<SettlingStatus>,
}

impl Shared {
    fn logged(&self) -> Option<Logged> {
        *self.logged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another process has the manifest, or has it no more; a stop is told until something has gone well.
    fn wait_for(&self, holding: Option<&Holding>) {
        self.update(|status| match (holding, &status.state) {
            (_, SettlingState::Stopped { .. }) => {}
            (Some(holding), _) => {
                status.state = SettlingState::Waits { holding: holding.clone() };
            }
            (None, SettlingState::Waits { .. }) => status.state = SettlingState::Working,
            (None, _) => {}
        });
    }

    fn update(&self, change: impl FnOnce(&mut SettlingStatus)) {
        change(&mut self.status.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Settles a store beside its recorder, on a thread of its own. Dropping it ends the thread.
#[derive(Debug)]
pub struct Settling {
    thread: Option<JoinHandle<()>>,
    end: Option<Sender<()>>,
    pace: Arc<Pace>,
    shared: Arc<Shared>,
}

impl Settling {
    /// Starts the thread. `options.rest` is its pace as long as it keeps up. What is damaged that tells which
    /// runs a table has is in the status at once.
    ///
    /// # Errors
    /// The operating system starts no thread. What else is wrong is in the status.
    pub fn start(path: &Path, options: SettleOptions, settling: SettlingOptions) -> Result<Self> {
        Settling::beside(path, options, settling, Arc::default())
    }

    /// The same beside a recorder of this process, whose `taken` is told what is read: so the recorder
    /// counts none of that as lost when it reuses a segment.
    ///
    /// # Errors
    /// As [`Settling::start`].
    pub fn beside(
        path: &Path,
        options: SettleOptions,
        settling: SettlingOptions,
        taken: Arc<Taken>,
    ) -> Result<Self> {
        let pace = Arc::new(Pace::beside(options.rest, taken));
        let shared = Arc::new(Shared::default());
        shared.update(|status| status.damage.extend(handover::damage_at(path)));
        let (end, ended) = channel();
        let mut work = Work {
            path: path.to_owned(),
            options,
            settling,
            pace: Arc::clone(&pace),
            shared: Arc::clone(&shared),
            settler: None,
            taken_bytes: 0,
            settled_at_ns: clock::monotonic_ns(),
            was_behind: false,
            first: true,
            all: false,
        };
        let thread = std::thread::Builder::new()
            .name("baro-settle".to_owned())
            .spawn(move || work.run(&ended))
            .map_err(|e| baro_sys::Error::new("start thread", "", e))?;
        Ok(Settling { thread: Some(thread), end: Some(end), pace, shared })
    }

    /// Tells the thread how far the log is; costs nothing. Without it the thread looks for itself.
    pub fn logged(&self, logged: Logged) {
        if logged.is_behind() {
            // At once, whatever it is at.
            self.pace.set(0);
        }
        *self.shared.logged.lock().unwrap_or_else(PoisonError::into_inner) = Some(logged);
    }

    /// What it has done and does.
    #[must_use]
    pub fn status(&self) -> SettlingStatus {
        self.shared.status.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends the thread; what it was at is given up and begun anew by the next one. If the recorder has reused
    /// what was read for it, it becomes a run first, unless another process has the manifest. Waits for one
    /// piece of work, or for that run.
    #[must_use]
    pub fn end(mut self) -> SettlingStatus {
        self.stop();
        self.status()
    }

    fn stop(&mut self) {
        self.pace.end();
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
            // What was read for a run that did not come.
            self.pace.taken().give_up();
        }
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        self.stop();
    }
}

/// While half of the log is unsettled it looks so often.
const BEHIND_NS: u64 = 100_000_000;
/// Longest rest then after a look for nothing.
const BEHIND_REST_MAX_NS: u64 = 1_000_000_000;
/// A look that was not needed may take this part of the time.
const LOOKS: u64 = 20;

/// A step on a thread of the lowest priority, which cannot be taken back from a thread later.
fn in_background(settler: &mut Settler, extent: Extent) -> Result<Settled> {
    std::thread::scope(|scope| {
        let step =
            std::thread::Builder::new().name("baro-settle".to_owned()).spawn_scoped(scope, || {
                // Without it settling is paced all the same.
                let _ = schedule::set_background();
                settler.step(extent)
            });
        let step = step.map_err(|e| baro_sys::Error::new("start thread", "", e))?;
        step.join().unwrap_or(Err(Error::Thread { name: "settling" }))
    })
}

struct Work {
    path: PathBuf,
    options: SettleOptions,
    settling: SettlingOptions,
    pace: Arc<Pace>,
    shared: Arc<Shared>,
    settler: Option<Settler>,
    /// Of [`Logged::sample_bytes`], those that were there at the last settling.
    taken_bytes: u64,
    settled_at_ns: u64,
    /// More than half of the log was unsettled when the last look began.
    was_behind: bool,
    /// What earlier sessions have left has not been looked at.
    first: bool,
    /// Everything is to be settled, and is not yet.
    all: bool,
}

impl Work {
    fn run(&mut self, ended: &Receiver<()>) {
        // Who records has told how far the log is by then.
        let mut wait_ns = self.settling.look_every_ns / 4;
        while self.rest(ended, wait_ns) {
            wait_ns = match self.look_whole() {
                Ok(wait_ns) => {
                    self.state(SettlingState::Waiting);
                    wait_ns
                }
                Err(Error::Ended) => break,
                Err(Error::Settling { pid, .. }) => {
                    self.state(SettlingState::Another { pid });
                    self.settling.look_every_ns
                }
                Err(error) => {
                    self.state(SettlingState::Stopped { reason: error.to_string() });
                    self.settling.retry_ns
                }
            };
        }
        // What the log holds without samples need not be read by the next one.
        if let (Some(settler), Some(logged)) = (&mut self.settler, self.shared.logged()) {
            let _ = settler.pass_over(logged.unsettled_from_epoch);
        }
    }

    /// Waits; but no longer once half of the log is unsettled, if it was not at the last look. False at the
    /// end.
    fn rest(&self, ended: &Receiver<()>, wait_ns: u64) -> bool {
        let behind = || self.shared.logged().is_some_and(|logged| logged.is_behind());
        let (since_ns, was_behind) = (clock::monotonic_ns(), self.was_behind);
        loop {
            let left_ns = wait_ns.saturating_sub(clock::monotonic_ns().saturating_sub(since_ns));
            let slice = Duration::from_nanos(left_ns.min(BEHIND_NS));
            if ended.recv_timeout(slice) != Err(RecvTimeoutError::Timeout) {
                return false;
            }
            if left_ns <= BEHIND_NS || (behind() && !was_behind) {
                return true;
            }
        }
    }

    fn state(&self, state: SettlingState) {
        let said = match &state {
            SettlingState::Stopped { reason } => reason.as_str(),
            _ => "",
        };
        let before =
            self.shared.status.lock().unwrap_or_else(PoisonError::into_inner).state.clone();
        let news = |state: &SettlingState| matches!(state, SettlingState::Stopped { .. });
        if let Some(settler) = &self.settler
            && before != state
            && (news(&before) || news(&state))
            && state != SettlingState::Working
        {
            settler.say(said);
        }
        // A stop is told until something has gone well again.
        if !(news(&before) && state == SettlingState::Working) {
            self.shared.update(|status| status.state = state);
        }
    }

    /// The same, where a mistake of ours is an error like any other: what was at work is given up.
    fn look_whole(&mut self) -> Result<u64> {
        let looked = catch_unwind(AssertUnwindSafe(|| self.look()));
        let looked = looked.unwrap_or(Err(Error::Thread { name: "settling" }));
        if matches!(looked, Err(Error::Thread { .. })) {
            self.settler = None;
        }
        looked
    }

    /// Settles if there is a reason; returns when to look again, nanoseconds from now.
    fn look(&mut self) -> Result<u64> {
        let every_ns = self.settling.look_every_ns;
        let logged = self.shared.logged();
        let now_ns = clock::monotonic_ns();
        let sample_bytes = logged.map_or(0, |logged| logged.sample_bytes);
        let fresh = sample_bytes.saturating_sub(self.taken_bytes);
        let waited = now_ns.saturating_sub(self.settled_at_ns) >= self.settling.wait_ns;
        let behind = logged.is_some_and(|logged| logged.is_behind());
        self.was_behind = behind;
        // Whatever was taken last: what was not certain then, and is now, is not fresh; and where all
        // waits for room nothing fresh comes. A look for nothing is followed by a long rest.
        let pressing = behind;
        let stopped = matches!(self.stopped(), SettlingState::Stopped { .. });
        let reason = self.first
            || self.all
            || stopped
            || logged.is_none()
            || pressing
            || fresh >= self.options.least_bytes
            || (waited && fresh > 0);
        if waited && fresh == 0 && !self.first {
            // Whoever comes next need not read what holds no samples.
            self.settled_at_ns = now_ns;
            if let (Some(settler), Some(logged)) = (&mut self.settler, logged) {
                settler.pass_over(logged.unsettled_from_epoch)?;
                // What was deleted is to give its room back.
                self.first = settler.has_news()?;
            }
        }
        let next_ns = if behind { BEHIND_NS.min(every_ns) } else { every_ns };
        if !reason {
            return Ok(next_ns);
        }
        self.all |= pressing || waited;
        self.pace.set(if behind { 0 } else { self.options.rest });
        if self.settler.is_none() {
            let pace = Arc::clone(&self.pace);
            let (shared, asked) = (Arc::clone(&self.shared), Arc::clone(&pace));
            let turns = Turns::new(move |holding| {
                shared.wait_for(holding);
                !asked.ended()
            });
            self.settler = Some(Settler::open_at(&self.path, self.options, pace, turns)?);
        }
        self.state(SettlingState::Working);
        let Some(settler) = &mut self.settler else { return Ok(every_ns) };
        let waited_ns = settler.turns.waited_ns();
        let extent = if self.all { Extent::All } else { Extent::Enough };
        // Half of the log is unsettled: what is left over may be too little then.
        let done = if behind { settler.step(extent)? } else { in_background(settler, extent)? };
        self.first = false;
        let worked = done.runs > 0 || done.merged > 0 || done.dropped.runs > 0 || done.cleaned > 0;
        self.shared.update(|status| status.add(&done));
        // That somebody else had the manifest for long is no reason to rest for long.
        let waited_ns = settler.turns.waited_ns() - waited_ns;
        let took_ns = (clock::monotonic_ns() - now_ns).saturating_sub(waited_ns);
        if !done.more {
            settler.write_dictionary_if_room()?;
            self.taken_bytes = sample_bytes;
            if self.all || done.runs > 0 {
                self.settled_at_ns = clock::monotonic_ns();
            }
            self.all = false;
        }
        let rest = if behind { 0 } else { u64::from(self.options.rest) };
        Ok(match (done.more, worked) {
            (true, _) => (took_ns * rest).min(every_ns),
            (false, true) => next_ns,
            // It was for nothing: not too often. But what was not certain then may be so soon, and
            // somebody may wait for it.
            (false, false) if behind => {
                next_ns.max(took_ns.saturating_mul(LOOKS).min(BEHIND_REST_MAX_NS))
            }
            (false, false) => next_ns.max(took_ns.saturating_mul(LOOKS)),
        })
    }

    fn stopped(&self) -> SettlingState {
        self.shared.status.lock().unwrap_or_else(PoisonError::into_inner).state.clone()
    }
}
