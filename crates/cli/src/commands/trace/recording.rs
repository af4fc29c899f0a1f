//! One recording, from its beginning to a trace that is whole: what `baro trace` and the analyses
//! that record for themselves have in common.
//!
//! The command is started when the recording is under way, so nothing of it is missing. A recording
//! that breaks off lets the command go on to its end: it is the user's work, and not ours to stop.
//!
//! Invariant: however it ends, no instance of the tracer is left, and a `.part` only where something
//! was recorded that cannot be had again. Held by `a_command_that_is_not_there_leaves_nothing` and
//! `a_full_disk_ends_a_recording_and_nothing_else`.

use super::slow::{is_asleep, tell_of, tell_of_memory, who};
use crate::failure::{Failure, NotStarted, Outcome, Result};
use baro_command::BEGUN;
use baro_probes::{ProbeOptions, Probes};
use baro_sys::{clock, schedule, termination};
use baro_trace::collect::{
    Beside, CollectError, Options, STACKS_OF_ALL, Session, Summary, known_events, names_are_hidden,
    rare_events,
};
use baro_trace::watch::Seen;
use clap::ValueEnum;
use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// Memory of the kernel for each processor: what comes in a fifth of a second at a rate of 300,000
/// events a second.
pub(super) const BUFFER: &str = "8MiB";
/// What goes on after a slow call, so that what ended it is in the trace as well.
const AFTER_NS: u64 = 1_000_000_000;
/// How often a command is looked at whose recording has broken off.
const LOOK_EVERY_NS: u64 = 20_000_000;
/// So often one after the other a task must be found awake to be taken for one that waits no more.
const LOOKS_AWAKE: u32 = 4;
/// A ring that is told to end is written for a call that has waited for this part of what makes it slow.
const PART_OF_OVER: u64 = 5;
/// What a service manager ends a service with.
const SIGTERM: i32 = 15;

/// How events are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Collector {
    /// Probes where the kernel has what they need, else the tracer alone
    #[default]
    Auto,
    /// The kernel's tracer alone: any kernel with tracefs; every event, and so the dearer
    Tracefs,
    /// Programs at BTF tracepoints that compare and count in the kernel, beside the tracer for what is
    /// rare: Linux 5.18 on
    Btf,
}

/// What is kept in memory until a call was slow.
#[derive(Clone, Copy, Debug)]
pub(super) struct RingOptions {
    /// Nothing older is kept.
    pub(super) keep_ns: u64,
    /// Memory for it.
    pub(super) bytes_max: u64,
    /// A call is slow if it waited this long.
    pub(super) over_ns: u64,
    /// For so long after its beginning it notes slow calls and does not write.
    pub(super) quiet_ns: u64,
}

/// A ring that has written writes again no sooner than after this time.
const QUIET_NS: u64 = 10_000_000_000;

impl RingOptions {
    /// The ring after one that has written. What is slow while it is quiet must be in it still when it writes.
    pub(super) fn later(self) -> Self {
        Self { quiet_ns: QUIET_NS.min(self.keep_ns / 4), ..self }
    }
}

/// What is recorded, and until when.
#[derive(Debug)]
pub(super) struct Recording<'a> {
    /// The program and its arguments; the recording ends with it. Empty: none.
    pub(super) command: &'a [OsString],
    /// The command's output goes to stderr: ours is one document.
    pub(super) quiet: bool,
    /// The longest time to record.
    pub(super) for_ns: Option<u64>,
    /// Processes that the trace is about, beside the command.
    pub(super) pids: &'a [i32],
    /// The trace is about all processes.
    pub(super) system: bool,
    pub(super) collector: Collector,
    /// Memory of the kernel for each processor.
    pub(super) buffer_bytes: u64,
    pub(super) ring: Option<RingOptions>,
    /// A ring ends when this task waits no longer, whatever else is slow.
    pub(super) until_ends: Option<i32>,
    /// The trace is in the folder for temporary files and goes with whoever reads it.
    pub(super) temporary: bool,
}

/// What came of it.
#[derive(Debug)]
pub(super) struct Recorded {
    /// None: a ring was ended without a slow call, and nothing was written.
    pub(super) summary: Option<Summary>,
    /// How the command ended, if it has.
    pub(super) status: Option<ExitStatus>,
}

impl Recorded {
    /// Says on stderr how the command ended, unless it went well.
    pub(super) fn tell_of_command(&self) {
        if let Some(status) = self.status.filter(|status| !status.success()) {
            say!("baro: the command ended with {status}");
        }
    }

    /// With a command its end, and what was lost is said beside; else whether anything was.
    pub(super) fn outcome(status: Option<ExitStatus>, lost: bool) -> Outcome {
        let Some(status) = status else { return Outcome::lost_if(lost) };
        if lost {
            say!("baro: the trace is not whole: events were lost (more --buffer)");
        }
        Outcome::of_command(status)
    }
}

/// Records into the new file `path`. Blocks until the command has ended, the time is over, a signal
/// came, or a ring saw a slow call.
pub(super) fn record_to(path: &Path, recording: &Recording<'_>) -> Result<Recorded> {
    termination::watch()?;
    let mut session = start(recording, path)?;
    let mut target = match spawn(recording) {
        Ok(target) => target,
        Err(error) => {
            session.discard()?;
            return Err(error.into());
        }
    };
    if recording.command.is_empty() {
        say!("{BEGUN} {}; Ctrl-C ends", path.display());
    }
    let ended = (|| {
        focus(recording, &mut session, target.as_ref())?;
        watch(recording, &mut session, target.as_mut(), &|| false)
    })();
    let result = ended.and_then(|ended| match ended {
        End::Nothing => session.discard().map(|()| Recorded { summary: None, status: None }),
        End::Whole { status, .. } => {
            session.finish().map(|summary| Recorded { summary: Some(summary), status })
        }
    });
    match (result, target) {
        (Ok(recorded), target) => {
            if target.is_some() && recorded.status.is_none() {
                say!("baro: the time is over; the command goes on");
            }
            Ok(recorded)
        }
        (Err(error), target) => {
            if let Some(mut child) = target {
                wait_for(&mut child);
            }
            Err(broken_off(path, recording.temporary, &error).into())
        }
    }
}

/// Begins a recording without a command.
pub(super) fn begin(path: &Path, recording: &Recording<'_>) -> Result<Session> {
    let mut session = start(recording, path)?;
    if let Err(error) = focus(recording, &mut session, None) {
        session.discard()?;
        return Err(error.into());
    }
    say!("{BEGUN} {}; Ctrl-C ends", path.display());
    Ok(session)
}

/// Starts the collector that was asked for.
fn start(recording: &Recording<'_>, path: &Path) -> Result<Session> {
    let own_pid = std::process::id();
    // A ring watches calls begin and end, which only the tracer tells.
    let wants_probes = match recording.collector {
        Collector::Auto => recording.ring.is_none(),
        Collector::Tracefs => false,
        Collector::Btf => true,
    };
    let mut alone = None;
    let probes = match wants_probes.then(|| Probes::start(&ProbeOptions::default())) {
        Some(Err(error)) if recording.collector == Collector::Btf => return Err(error.into()),
        Some(Err(error)) => {
            alone = Some(error);
            None
        }
        other => other.and_then(std::result::Result::ok),
    };
    let options = Options {
        name: "baro-trace".to_owned(),
        buffer_kib: recording.buffer_bytes >> 10,
        events: match probes {
            Some(_) => rare_events(own_pid),
            None => known_events(None, own_pid),
        },
        surroundings: true,
        stacks: probes.is_none().then(|| STACKS_OF_ALL.to_owned()),
    };
    let beside = probes.map(|probes| Box::new(probes) as Box<dyn Beside>);
    let mut session = Session::start(&options, beside, path).map_err(|error| match error {
        // It says where in the file, and not which.
        CollectError::Trace(error) => {
            Failure::from(format!("the trace {}: {error}; name another place", path.display()))
        }
        // The reason to be told first: in another place it would fail for want of rights next.
        CollectError::Output { path, source }
            if source.kind() == std::io::ErrorKind::PermissionDenied && !schedule::is_root() =>
        {
            Failure::from(format!(
                "run it as root, which recording the kernel needs (this user cannot make the trace {} either: \
                 {source}; name another place for it)",
                path.display()
            ))
        }
        other => other.into(),
    })?;
    if names_are_hidden() {
        say!(
            "baro: the kernel hides its functions (kernel.kptr_restrict), so none will have a name and causes \
             stay unknown: sysctl kernel.kptr_restrict=1, and as root; then record anew"
        );
    }
    // Where the tracer does not record either, its reason is the one to do something about.
    if let Some(error) = alone {
        say!("baro: the tracer records alone: {error}");
    }
    if session.recorder().missing_events().iter().any(|event| event == "ftrace/kernel_stack") {
        say!("baro: this kernel adds no stacks to events: what a sleep is for stays unknown");
    }
    if let Some(ring) = &recording.ring
        && let Err(error) = session.ring(ring.keep_ns, ring.bytes_max, ring.over_ns)
    {
        session.discard()?;
        return Err(error.into());
    }
    Ok(session)
}

fn spawn(recording: &Recording<'_>) -> std::result::Result<Option<Child>, NotStarted> {
    let Some((program, rest)) = recording.command.split_first() else { return Ok(None) };
    let mut command = Command::new(program);
    command.args(rest);
    if recording.quiet {
        command.stdout(Stdio::from(std::io::stderr()));
    }
    command.spawn().map(Some).map_err(|error| NotStarted::new(program, error))
}

fn focus(
    recording: &Recording<'_>,
    session: &mut Session,
    target: Option<&Child>,
) -> std::result::Result<(), CollectError> {
    let mut pids = recording.pids.to_vec();
    pids.extend(target.and_then(|child| i32::try_from(child.id()).ok()));
    if recording.system { Ok(()) } else { session.focus(&pids) }
}

/// How a recording ends.
pub(super) enum End {
    /// With a trace; which task waits still, of a ring that was written for one.
    Whole { status: Option<ExitStatus>, waits: Option<i32> },
    /// A ring whose calls were all fast.
    Nothing,
}

/// Records until the command has ended, the time is over, or a signal came. While `is_busy` says so slow calls
/// are noted, and a ring goes on.
pub(super) fn watch(
    recording: &Recording<'_>,
    session: &mut Session,
    mut target: Option<&mut Child>,
    is_busy: &dyn Fn() -> bool,
) -> std::result::Result<End, CollectError> {
    let begin_ns = clock::monotonic_ns();
    let quiet_ns = recording.ring.as_ref().map_or(0, |ring| ring.quiet_ns);
    let mut slow_ns: Option<u64> = None;
    let mut noted: Option<Seen> = None;
    let mut waits = None;
    let mut passed_on = false;
    let mut looks_awake = 0;
    let whole = |status, waits| Ok(End::Whole { status, waits });
    loop {
        let seen = session.turn()?;
        if let Some(shortfall) = session.shortfall() {
            tell_of_memory(recording, &shortfall);
        }
        if slow_ns.is_none() && recording.until_ends.is_none() {
            // Of two the later: what it waits for is to be had still.
            noted = seen.or(noted);
            let is_quiet = clock::monotonic_ns().saturating_sub(begin_ns) < quiet_ns || is_busy();
            if let Some(seen) = noted.take_if(|_| !is_quiet) {
                session.note_trigger()?;
                tell_of(&seen);
                waits = Some(seen.pid).filter(|pid| !seen.has_ended && is_asleep(*pid));
                slow_ns = Some(clock::monotonic_ns());
            }
        }
        if let Some(pid) = recording.until_ends.filter(|_| slow_ns.is_none()) {
            looks_awake = if is_asleep(pid) { 0 } else { looks_awake + 1 };
            // It may wait again and again in one call.
            if looks_awake == LOOKS_AWAKE {
                say!("baro: {} waits no more", who(pid));
                slow_ns = Some(clock::monotonic_ns());
            }
        }
        if slow_ns.is_some_and(|at| clock::monotonic_ns() >= at + AFTER_NS) {
            return whole(None, waits.filter(|pid| is_asleep(*pid)));
        }
        if let Some(child) = &mut target {
            if let Ok(Some(status)) = child.try_wait() {
                return whole(Some(status), None);
            }
            pass_on(child, &mut passed_on);
        }
        let age_ns = clock::monotonic_ns().saturating_sub(begin_ns);
        if recording.for_ns.is_some_and(|for_ns| age_ns >= for_ns) {
            return whole(None, None);
        }
        match termination::requested() {
            // A ring is ended by its service manager at each shutdown: that is no reason to write, unless
            // something was slow while it was quiet, or hangs: perhaps it is what the shutdown is for.
            Some(SIGTERM)
                if recording.ring.is_some()
                    && slow_ns.is_none()
                    && recording.until_ends.is_none()
                    && target.is_none() =>
            {
                let over_ns = recording.ring.as_ref().map_or(u64::MAX, |ring| ring.over_ns);
                let hangs = || session.waiting_over(over_ns / PART_OF_OVER);
                let Some(seen) = noted.or_else(hangs) else { return Ok(End::Nothing) };
                session.note_trigger()?;
                tell_of(&seen);
                return whole(None, None);
            }
            // With a command its end is the recording's.
            Some(_) if target.is_none() => return whole(None, None),
            _ => {}
        }
    }
}

/// Passes the signal on that asked us to end. One from the terminal has reached the command already;
/// a second does no harm, as it is ending.
fn pass_on(child: &Child, done: &mut bool) {
    if let Some(signal) = termination::requested().filter(|_| !*done) {
        *done = true;
        let _ = termination::send(child.id(), signal);
    }
}

/// Waits for a command whose recording has broken off.
fn wait_for(child: &mut Child) {
    let mut passed_on = false;
    if let Ok(None) = child.try_wait() {
        say!("baro: the recording has broken off; the command goes on to its end");
    }
    while let Ok(None) = child.try_wait() {
        pass_on(child, &mut passed_on);
        clock::sleep_ns(LOOK_EVERY_NS);
    }
}

/// What is to be said of a recording that could not go on.
pub(super) fn broken_off(path: &Path, temporary: bool, error: &CollectError) -> String {
    let path = path.display();
    let next = match temporary {
        true => "TMPDIR names another place for it".to_owned(),
        false => format!(
            "what came before is in {path}.part, which can be read as a trace: remove it, and record \
             where there is room"
        ),
    };
    format!("the recording to {path} broke off: {error}; {next}")
}
