//! The thread that drives the keeper on a real machine, and its link to the writer's thread.
//!
//! Paced: after each step it rests three times as long as the step took, so that it takes at most
//! a quarter of a device's time whatever the device; only when the writer has no segment left to
//! start does growth go at full speed.

use super::{
    Findings, Growth, Guard, Holds, Keeper, Log, Moment, PinRequest, Requests, Tell, View, Work,
};
use crate::writer::{Command, Event, PinStart, Published, Stored, Trigger, now};
use crate::{Error, Result};
use baro_ondisk::Pin;
use baro_sys::clock;
use baro_sys::queue::{Receiver, RecvTimeoutError, Sender, channel};
use baro_sys::state::StateFolder;
use baro_sys::storage::Storage;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What reaches the keeper's thread.
#[derive(Debug)]
pub(crate) enum KeeperCommand {
    /// The engine has something to tell.
    Event(Event),
    /// Grant a pin.
    Pin(u64, PinRequest, Moment, Sender<Result<Pin>>),
    /// Release one.
    Release(u64, Sender<Result<()>>),
    /// Watch a series.
    Watch(Trigger),
    /// Rings for other processes are in this folder: look for what these ask.
    LookIn(StateFolder),
    /// Take no further work; only what the engine tells of pins until it has ended. Answered once it is so.
    Close(Sender<()>),
    /// The engine has ended: end too.
    End,
}

/// What the thread publishes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) growth: Growth,
    pub(crate) pins: Vec<Pin>,
    pub(crate) copy_stopped: Option<String>,
    pub(crate) refused: Option<String>,
    pub(crate) undeclared: Option<String>,
    pub(crate) findings: Findings,
}

/// The engine behind its thread.
#[derive(Debug, Clone)]
pub(crate) struct WriterLink {
    pub(crate) commands: Sender<Command>,
    pub(crate) published: Arc<Mutex<Published>>,
}

impl Log for WriterLink {
    fn pin(&mut self, id: u64, moment_ns: i64, before_ns: u64, after_ns: u64) -> Result<PinStart> {
        let (reply, answer) = channel();
        let command = Command::Pin { id, moment_ns, before_ns, after_ns, reply };
        self.commands.send(command).map_err(|_| Error::WriterGone)?;
        answer.recv().map_err(|_| Error::WriterGone)?.map_err(Error::Pin)
    }

    fn tell(&mut self, what: Tell) {
        // A writer that has ended recycles nothing.
        let _ = self.commands.send(Command::Tell(what));
    }

    fn view(&self) -> View {
        let published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        View::of(&published.status)
    }
}

#[derive(Debug)]
pub(crate) struct KeeperThread {
    thread: Option<JoinHandle<(Guard, Holds)>>,
    commands: Sender<KeeperCommand>,
    kept: Arc<Mutex<Kept>>,
    /// It ended by a mistake of the program.
    broken: bool,
}

/// What is said of that.
pub(crate) const BROKEN: &str = "the keeper's thread has ended by a mistake of the program (its message is above): \
                      since then pins were not granted, the log did not grow, and nobody looked whether the \
                      store is still there";

impl KeeperThread {
    pub(crate) fn start<S: Storage>(
        keeper: Keeper<S>,
        beside: (Guard, Requests),
        (commands, queue): (Sender<KeeperCommand>, Receiver<KeeperCommand>),
        link: WriterLink,
    ) -> baro_sys::Result<Self> {
        let kept = Arc::new(Mutex::new(Kept::default()));
        publish(&keeper, &beside, &kept);
        let shared = Arc::clone(&kept);
        let thread = std::thread::Builder::new()
            .name("baro-keeper".to_owned())
            .stack_size(256 << 10)
            .spawn(move || run(keeper, beside, &queue, link, &shared))
            .map_err(|e| baro_sys::Error::new("start thread", "", e))?;
        Ok(KeeperThread { thread: Some(thread), commands, kept, broken: false })
    }

    pub(crate) fn send(&self, command: KeeperCommand) -> Result<()> {
        self.commands.send(command).map_err(|_| Error::WriterGone)
    }

    pub(crate) fn kept(&self) -> Kept {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How far the log has grown.
    pub(crate) fn growth(&self) -> Growth {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).growth.clone()
    }

    /// Takes no further work, so that the writer can end; what it was making is made anew at the next open.
    /// Waits for one step.
    pub(crate) fn close(&self) {
        let (reply, answer) = channel();
        if self.commands.send(KeeperCommand::Close(reply)).is_ok() {
            let _ = answer.recv();
        }
    }

    /// Whether it has ended before it was told to; known once it was.
    pub(crate) fn has_broken(&self) -> bool {
        self.broken
    }

    /// Ends the thread when the writer has ended. What is returned looks at the store once more.
    pub(crate) fn end(&mut self) -> Option<LastLook> {
        let _ = self.commands.send(KeeperCommand::End);
        let ended = self.thread.take()?.join();
        self.broken = ended.is_err();
        let (guard, holds) = ended.ok()?;
        Some(LastLook { guard, holds, kept: Arc::clone(&self.kept) })
    }
}

/// What is left of a keeper that has ended.
#[derive(Debug)]
pub(crate) struct LastLook {
    guard: Guard,
    holds: Holds,
    kept: Arc<Mutex<Kept>>,
}

impl LastLook {
    /// Looks at the store; for when all is written.
    pub(crate) fn look(mut self, stored: &[Stored]) {
        self.guard.last_look(&self.holds, stored);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.findings.clone_from(self.guard.findings());
    }
}

/// Between two looks for requests when there is nothing else to do.
const IDLE_NS: u64 = 100_000_000;
/// Between two looks whether the writer waits for the log to grow while it writes its last.
const CLOSING_NS: u64 = 5_000_000;
/// Longest rest between two steps.
const REST_MAX_NS: u64 = 1_000_000_000;

fn run<S: Storage>(
    mut keeper: Keeper<S>,
    mut beside: (Guard, Requests),
    queue: &Receiver<KeeperCommand>,
    mut link: WriterLink,
    shared: &Mutex<Kept>,
) -> (Guard, Holds) {
    let mut due_ns = 0;
    loop {
        let (tells, found) = beside.0.look(clock::monotonic_ns(), || keeper.holds());
        if tells.iter().any(|what| matches!(what, Tell::Stop(_))) {
            beside.1.stop_declaring();
        }
        tells.into_iter().for_each(|what| link.tell(what));
        beside.0.take_doubted().into_iter().for_each(|epoch| keeper.doubt_copy(epoch));
        if found {
            publish(&keeper, &beside, shared);
        }
        // Also while it rests between two steps.
        if keeper.look_for_asks(now(), &mut link) {
            publish(&keeper, &beside, shared);
        }
        if clock::monotonic_ns() >= due_ns {
            let begun_ns = clock::monotonic_ns();
            let growth = keeper.growth().clone();
            let work = keeper.work(now(), &mut link);
            let took_ns = clock::monotonic_ns() - begun_ns;
            // Before the next look, which would take what was made anew for another's file.
            beside.0.take_mended(keeper.take_remade(), keeper.take_said());
            let hurry = !keeper.growth().complete() && link.view().blank == 0;
            due_ns = clock::monotonic_ns()
                + match work {
                    Work::More if hurry => 0,
                    Work::More => (3 * took_ns).clamp(1_000_000, REST_MAX_NS),
                    Work::Idle => IDLE_NS,
                };
            if work == Work::Idle || growth != *keeper.growth() {
                beside.0.grown(keeper.growth().grown);
                publish(&keeper, &beside, shared);
            }
        }
        if beside.1.look(clock::monotonic_ns()) {
            publish(&keeper, &beside, shared);
        }
        let looks_ns = beside.0.due_ns().min(beside.1.due_ns()).min(keeper.asks_at_ns());
        let due_next_ns = due_ns.min(looks_ns);
        let wait_ns = due_next_ns.saturating_sub(clock::monotonic_ns());
        match queue.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(KeeperCommand::Event(event)) => {
                if let Event::Started { index, epoch } = event {
                    beside.0.started(index, epoch);
                }
                keeper.event(event, &mut link);
            }
            Ok(KeeperCommand::Pin(id, request, moment, reply)) => {
                let granted = keeper.pin(id, &request, moment, &mut link);
                publish(&keeper, &beside, shared);
                let _ = reply.send(granted);
                continue;
            }
            Ok(KeeperCommand::Release(id, reply)) => {
                let released = keeper.release(id, &mut link);
                publish(&keeper, &beside, shared);
                let _ = reply.send(released);
                continue;
            }
            Ok(KeeperCommand::Watch(trigger)) => keeper.watch(trigger, &mut link),
            Ok(KeeperCommand::LookIn(folder)) => beside.1.look_in(folder),
            Err(RecvTimeoutError::Timeout) => continue,
            Ok(KeeperCommand::Close(reply)) => {
                beside.1.end();
                let _ = reply.send(());
                close(&mut keeper, &mut beside.0, queue, &mut link);
                break;
            }
            Ok(KeeperCommand::End) | Err(RecvTimeoutError::Disconnected) => {
                beside.1.end();
                break;
            }
        }
        publish(&keeper, &beside, shared);
    }
    let holds = keeper.holds();
    (beside.0, holds)
}

/// While the writer writes its last: pins that end then are told their end, since one that stays open would
/// go on at the next open; and a log that the last records wait for goes on growing.
fn close<S: Storage>(
    keeper: &mut Keeper<S>,
    guard: &mut Guard,
    queue: &Receiver<KeeperCommand>,
    link: &mut WriterLink,
) {
    loop {
        let grows = link.view().waits_for_growth && !keeper.growth().complete();
        let wait_ns = if grows { 0 } else { CLOSING_NS };
        match queue.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(KeeperCommand::Event(event @ Event::PinEnded { .. })) => keeper.event(event, link),
            Ok(KeeperCommand::Event(Event::Started { index, epoch })) => {
                guard.started(index, epoch);
            }
            Ok(KeeperCommand::End) | Err(RecvTimeoutError::Disconnected) => return,
            // Who asks for something now is told by the reply that is dropped.
            Ok(_) => {}
            Err(RecvTimeoutError::Timeout) if grows => {
                keeper.grow(now(), link);
                guard.grown(keeper.growth().grown);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn publish<S: Storage>(
    keeper: &Keeper<S>,
    (guard, requests): &(Guard, Requests),
    shared: &Mutex<Kept>,
) {
    let kept = Kept {
        growth: keeper.growth().clone(),
        pins: keeper.pins().cloned().collect(),
        copy_stopped: keeper.copy_stopped().map(str::to_owned),
        refused: keeper.refused().map(str::to_owned),
        undeclared: requests.refused().map(str::to_owned),
        findings: guard.findings().clone(),
    };
    *shared.lock().unwrap_or_else(PoisonError::into_inner) = kept;
}
