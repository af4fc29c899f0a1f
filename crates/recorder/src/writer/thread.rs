//! The thread that drives the engine on a real machine.

use super::device::{Completion, FileDevice};
use super::engine::{Engine, Now, PinRefusal, PinStart, Stored};
use super::flush::Flushes;
use super::status::{Status, Trouble};
use crate::keeper::{KeeperCommand, Tell};
use crate::ring::{RingReader, RingReport};
use baro_log::Held;
use baro_sys::queue::{Receiver, RecvTimeoutError, Sender};
use baro_sys::{clock, schedule};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What reaches the writer's thread.
#[derive(Debug)]
pub(crate) enum Command {
    /// An operation has ended.
    Done(Completion),
    /// Read from this ring too.
    AddRing(Box<RingReader>),
    /// Hold a window for a pin, which the keeper is to learn of.
    Hold {
        id: u64,
        moment_ns: i64,
        before_ns: u64,
        after_ns: u64,
        reply: Sender<Result<PinStart, PinRefusal>>,
    },
    /// Hold a window for a pin.
    Pin {
        id: u64,
        moment_ns: i64,
        before_ns: u64,
        after_ns: u64,
        reply: Sender<Result<PinStart, PinRefusal>>,
    },
    /// The keeper has something to tell.
    Tell(Tell),
    /// Make durable what has been pushed, until this time (monotonic); says how much is not.
    Flush(u64, Sender<u64>),
    /// Fails as a mistake of the program would.
    #[cfg(test)]
    Break,
    /// Flush and end.
    Close,
}

/// What the thread publishes.
#[derive(Debug, Default, Clone)]
pub(crate) struct Published {
    pub(crate) status: Status,
    pub(crate) rings: Vec<RingReport>,
    /// What the segments in use hold.
    pub(crate) stored: Vec<Stored>,
    /// What this session has made durable.
    pub(crate) durable: Held,
}

/// How the thread is scheduled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Scheduling {
    pub(crate) cpu: Option<usize>,
    pub(crate) fifo: Option<u8>,
}

impl Scheduling {
    /// Applies to the calling thread what the kernel grants.
    pub(crate) fn apply(self) {
        if let Some(cpu) = self.cpu {
            let _ = schedule::set_cpu(cpu);
        }
        if let Some(priority) = self.fifo {
            let _ = schedule::set_fifo(priority);
        }
    }
}

/// A device that goes on failing when the store is closed is given this long.
const CLOSE_NS: u64 = 5_000_000_000;
/// One that has stopped answering when the store is closed is given this long: longer than a disk
/// takes to try a bad sector again, and than paper D's worst commits on a shared file system.
const SILENT_NS: u64 = 120_000_000_000;

#[derive(Debug)]
pub(crate) struct WriterThread {
    thread: Option<JoinHandle<()>>,
    published: Arc<Mutex<Published>>,
}

pub(crate) fn now() -> Now {
    Now {
        monotonic_ns: clock::monotonic_ns(),
        realtime_ns: clock::realtime_ns(),
        boottime_ns: clock::boottime_ns(),
    }
}

impl WriterThread {
    pub(crate) fn start(
        engine: Engine,
        device: FileDevice,
        commands: Receiver<Command>,
        scheduling: Scheduling,
        published: Arc<Mutex<Published>>,
        keeper: Sender<KeeperCommand>,
    ) -> baro_sys::Result<Self> {
        let shared = Arc::clone(&published);
        let thread = std::thread::Builder::new()
            .name("baro-writer".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                scheduling.apply();
                run(engine, device, &commands, &shared, &keeper);
            })
            .map_err(|e| baro_sys::Error::new("start thread", "", e))?;
        Ok(WriterThread { thread: Some(thread), published })
    }

    pub(crate) fn published(&self) -> Published {
        self.published.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the thread's end.
    pub(crate) fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is said where the thread ended by a mistake of its own: the sources must not go on as if all was well.
pub(crate) const BROKEN: &str = "the writer's thread has ended by a mistake of the program (its message is above): nothing \
                      more becomes durable; what is in the rings is there for the next recorder";

fn run(
    mut engine: Engine,
    device: FileDevice,
    commands: &Receiver<Command>,
    shared: &Mutex<Published>,
    keeper: &Sender<KeeperCommand>,
) {
    // Programs for boards end by a panic; others would lose what their sources push from then on.
    let work = || drive(&mut engine, device, commands, shared, keeper);
    let broken = catch_unwind(AssertUnwindSafe(work)).is_err();
    let last = || {
        if broken {
            engine.stop(BROKEN);
            engine.say_stopped();
            publish(&engine, shared);
            // Sources push until they are told to stop: what is left in the rings is known after that.
            while let Ok(command) = commands.recv() {
                match command {
                    Command::AddRing(ring) => engine.add_ring(*ring),
                    Command::Close => break,
                    // Who asks is told that nobody answers.
                    _ => {}
                }
            }
        }
        finish(&mut engine, shared);
    };
    if catch_unwind(AssertUnwindSafe(last)).is_err() {
        // What was published last stands.
        shared.lock().unwrap_or_else(PoisonError::into_inner).status.stopped = true;
    }
}

fn drive(
    engine: &mut Engine,
    mut device: FileDevice,
    commands: &Receiver<Command>,
    shared: &Mutex<Published>,
    keeper: &Sender<KeeperCommand>,
) {
    let mut closing_since = None;
    let mut heard_ns = clock::monotonic_ns();
    let mut flushes = Flushes::default();
    // What the keeper has told already: nothing is reused before pins and their copies are known.
    let mut command = commands.try_recv();
    loop {
        while let Some(this) = command {
            match this {
                Command::Done(completion) => {
                    heard_ns = clock::monotonic_ns();
                    engine.complete(now(), completion);
                }
                Command::AddRing(ring) => engine.add_ring(*ring),
                Command::Pin { id, moment_ns, before_ns, after_ns, reply } => {
                    engine.look_at_clock(now());
                    let _ = reply.send(engine.pin(id, moment_ns, before_ns, after_ns));
                }
                Command::Hold { id, moment_ns, before_ns, after_ns, reply } => {
                    engine.look_at_clock(now());
                    let _ = reply.send(engine.hold(id, moment_ns, before_ns, after_ns));
                }
                Command::Tell(what) => engine.tell(what),
                Command::Flush(until_ns, reply) => flushes.ask(engine, until_ns, reply),
                #[cfg(test)]
                Command::Break => panic!("on purpose"),
                Command::Close => {
                    engine.close();
                    closing_since = Some(clock::monotonic_ns());
                }
            }
            command = commands.try_recv();
        }
        let wake_ns = engine.step(now(), &mut device);
        publish(engine, shared);
        let wake_ns = flushes.answer(engine).min(wake_ns);
        for event in engine.take_events() {
            let _ = keeper.send(KeeperCommand::Event(event));
        }
        if let Some(since_ns) = closing_since {
            let trouble = &engine.status().trouble;
            let full = matches!(trouble, Trouble::LogFull | Trouble::Held { .. });
            // As long as the log grows the keeper is at work; it says when it cannot.
            let grows = *trouble == Trouble::Growing;
            let close_ns = if grows { SILENT_NS } else { CLOSE_NS };
            let late = clock::monotonic_ns() > since_ns + close_ns;
            let ended = full || late || engine.has_stopped();
            if engine.idle() || (engine.stuck() && ended) {
                drop(device);
                break;
            }
            if clock::monotonic_ns() > heard_ns.max(since_ns) + SILENT_NS {
                device.abandon();
                break;
            }
        }
        let wait_ns = wake_ns.saturating_sub(clock::monotonic_ns());
        command = match commands.recv_timeout(Duration::from_nanos(wait_ns)) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
    }
}

fn publish(engine: &Engine, shared: &Mutex<Published>) {
    let mut published = shared.lock().unwrap_or_else(PoisonError::into_inner);
    published.status.clone_from(engine.status());
    published.status.given_up = engine.given_up();
    published.rings.clear();
    published.rings.extend(engine.rings().iter().map(RingReader::report));
    if published.durable != engine.durable_held() || published.stored.len() != engine.stored().len()
    {
        published.durable = engine.durable_held();
        published.stored.clear();
        published.stored.extend_from_slice(engine.stored());
    }
}

/// Removes rings that are empty and have no producer; others wait for the next writer.
fn finish(engine: &mut Engine, shared: &Mutex<Published>) {
    engine.note_lost_at_end();
    let mut left = Vec::new();
    let earlier = engine.left_before().to_vec();
    for (at, ring) in engine.rings_mut().iter_mut().enumerate() {
        let report = ring.report();
        let from = earlier.get(at).copied().flatten().unwrap_or(0);
        // What was refused has a sequence too, but is not there.
        left.push((report.waiting(), ring.samples_left(from)));
        if !ring.path().as_os_str().is_empty() && ring.finished() {
            ring.remove_file();
        }
    }
    publish(engine, shared);
    let mut published = shared.lock().unwrap_or_else(PoisonError::into_inner);
    for (ring, left) in published.rings.iter_mut().zip(left) {
        (ring.left, ring.left_samples) = left;
    }
}
