//! `baro share hold`, and what `run` does: groups are held while their commands run, or until told
//! to end; who comes first controls the groups of all, and when it ends the next one does.
//!
//! Signals are watched for before anything is changed, so that one that comes at any moment ends in
//! putting back. Invariant: the machine is as it was found when the last one has ended; killed ones
//! are cleaned up by the next. Held by `tests/share.rs`.

use super::Folders;
use super::profile;
use crate::commands::tune::tell_before;
use crate::commands::{Format, print_json};
use crate::failure::{Failure, NotStarted, Outcome, Result};
use baro_share::Done;
use baro_share::member::{INTERPOSER, find_interposer};
use baro_share::{Asked, Controller, Cut, Member, MemberSpec, Policy, Registry, ShareError};
use baro_sys::{clock, termination};
use baro_tune::{Journal, Outcome as Set, is_disk};
use clap::Args;
use serde_json::json;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

/// How often groups are looked at.
const TICK_NS: u64 = 50_000_000;
/// How long another one may take to set a new disk up.
const READY_TICKS: u32 = 200;
/// Asks a process to end.
const SIGTERM: i32 = 15;
/// A command that does not end when told is left to itself after this.
const GRACE_TICKS: u32 = 200;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro share hold share.toml")]
pub(crate) struct Arguments {
    /// The profile: a file with a table for each group
    ///
    /// See docs/share.md.
    profile: PathBuf,
    /// One request at a time on the disks
    ///
    /// For programs that cannot be cut; costs throughput.
    #[arg(long)]
    strict: bool,
    #[command(flatten)]
    folders: Folders,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    let groups = profile::read(&arguments.profile)?;
    let policy = Policy { strict: arguments.strict, ..Policy::default() };
    hold(&groups, policy, &arguments.folders, arguments.format)
}

/// A group to be held.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) asked: Asked,
    /// Empty: none.
    pub(super) command: Vec<OsString>,
    /// Running processes that are put into it.
    pub(super) pids: Vec<u32>,
}

/// A command in its group.
struct Running {
    child: Child,
    ended: Option<ExitStatus>,
}

/// Holds groups while their commands run; without any, until a signal comes.
pub(super) fn hold(
    groups: &[Held],
    policy: Policy,
    folders: &Folders,
    format: Format,
) -> Result<Outcome> {
    for program in groups.iter().filter_map(|held| held.command.first()) {
        NotStarted::look_for(program)?;
    }
    termination::watch()?;
    let registry = folders.registry()?;
    let interposer = find_interposer();
    let cuts = |held: &Held| held.asked.cut != Some(Cut::Off);
    if interposer.is_none() && groups.iter().any(|held| cuts(held) && !held.command.is_empty()) {
        say!(
            "baro: {INTERPOSER} is not there (expected beside baro or in /usr/lib/barograph): large \
             I/O is not cut; `cargo build --release -p baro-preload` makes it"
        );
    }
    let mut members = Vec::new();
    for held in groups {
        let interposer = interposer.clone().filter(|_| cuts(held));
        members
            .push(Member::enter(&registry, MemberSpec { asked: held.asked.clone(), interposer })?);
    }
    let mut control = Control { registry, folders: folders.clone(), policy, now: None };
    control.take()?;
    if control.now.is_none() && control.policy.strict {
        say!(
            "baro: another process controls the groups now, with its own settings: --strict counts \
             when this one takes over"
        );
    }
    let mut running = Vec::new();
    let during = during(groups, &mut members, &mut control, &mut running, format);
    if during.is_err() {
        end(&mut running);
    }
    // Programs leave their groups before settings go.
    let mut left = Vec::new();
    let counters: Vec<_> = members.iter().map(Member::counters).collect();
    for member in members.into_iter().rev() {
        left.extend(member.leave().err());
    }
    control.give_back();
    left.iter().for_each(|error| say!("baro: {error}"));
    let ended = during?;
    if format == Format::Json {
        let groups: Vec<_> = groups
            .iter()
            .zip(&counters)
            .map(|(held, counters)| {
                let counters: serde_json::Map<_, _> = counters
                    .iter()
                    .map(|(name, count)| ((*name).to_owned(), json!(count)))
                    .collect();
                json!({
                    "name": held.asked.name,
                    "weight": held.asked.weight.get(),
                    "disks": held.asked.disks,
                    "counters": counters,
                })
            })
            .collect();
        let codes: Vec<_> = ended.iter().map(ExitStatus::code).collect();
        print_json(
            &json!({ "groups": groups, "command_status": codes, "clean": left.is_empty() }),
        )?;
    }
    let bad = ended.iter().find(|status| !status.success());
    if let Some(status) = bad {
        say!("baro: the command ended with {status}");
    }
    match bad.or(ended.first()) {
        // With several the first that went wrong.
        Some(status) => Ok(Outcome::of_command(*status)),
        None => Ok(Outcome::lost_if(!left.is_empty())),
    }
}

fn during(
    groups: &[Held],
    members: &mut [Member],
    control: &mut Control,
    running: &mut Vec<Running>,
    format: Format,
) -> Result<Vec<ExitStatus>> {
    for member in &mut *members {
        let mut ticks = 0;
        control.refusal(&member.asked().disks)?;
        while !member.is_ready() {
            control.refusal(&member.asked().disks)?;
            if termination::requested().is_some() || ticks > READY_TICKS {
                return Err(format!(
                    "group {}: its disk has no BFQ yet; who controls groups should have set it: \
                     `baro share status`",
                    member.asked().name
                )
                .into());
            }
            ticks += 1;
            control.tick()?;
            clock::sleep_ns(TICK_NS);
        }
        member.make()?;
    }
    for (held, member) in groups.iter().zip(members) {
        member.take(&held.pids)?;
        if !held.pids.is_empty() {
            say!(
                "baro: processes that run already are not cut: nothing can be loaded into them; \
                 start them with `baro share run` for that"
            );
        }
        let Some((program, rest)) = held.command.split_first() else { continue };
        let mut command = Command::new(program);
        command.args(rest);
        if format == Format::Json {
            // Ours is one document.
            command.stdout(Stdio::from(std::io::stderr()));
        }
        let (child, why_not) = member.start(&mut command).map_err(|error| match error {
            ShareError::NotStarted { program, why } => NotStarted::new(&program, why).into(),
            other => Failure::from(other),
        })?;
        if let Some(why) = why_not.filter(|_| held.asked.cut != Some(Cut::Off)) {
            say!(
                "baro: {}: its I/O is not cut: {why}; the queue's settings hold for it, and --strict \
                 if its I/O is larger than they can bear",
                program.to_string_lossy()
            );
        }
        running.push(Running { child, ended: None });
    }
    if running.is_empty() {
        say!("baro: groups are held; Ctrl-C ends it");
    }
    wait(running, control)
}

/// What was started does not outlive what it was started for: a service that is started again would start
/// it once more.
fn end(running: &mut [Running]) {
    let mut signalled = false;
    for _ in 0..GRACE_TICKS {
        let mut open = false;
        for one in running.iter_mut().filter(|one| one.ended.is_none()) {
            one.ended = one.child.try_wait().unwrap_or_default();
            if !signalled && one.ended.is_none() {
                let _ = termination::send(one.child.id(), SIGTERM);
            }
            open |= one.ended.is_none();
        }
        if !open {
            return;
        }
        signalled = true;
        clock::sleep_ns(TICK_NS);
    }
    for one in running.iter().filter(|one| one.ended.is_none()) {
        say!("baro: process {} goes on after the signal: it is left to itself", one.child.id());
    }
}

/// Until all commands have ended, or without any until a signal comes.
fn wait(running: &mut Vec<Running>, control: &mut Control) -> Result<Vec<ExitStatus>> {
    let mut ticks_since_signal = None;
    loop {
        for one in running.iter_mut().filter(|one| one.ended.is_none()) {
            one.ended = one.child.try_wait()?;
        }
        let all_ended = running.iter().all(|one| one.ended.is_some());
        let signal = termination::requested();
        if all_ended && (signal.is_some() || !running.is_empty()) {
            return Ok(running.iter().filter_map(|one| one.ended).collect());
        }
        if let Some(signal) = signal {
            let ticks = ticks_since_signal.unwrap_or(0);
            if ticks == 0 {
                for one in running.iter().filter(|one| one.ended.is_none()) {
                    // One from the terminal has reached it already; a second does no harm.
                    let _ = termination::send(one.child.id(), signal);
                }
            }
            if ticks > GRACE_TICKS {
                running.clear();
                return Err("the command goes on after the signal: it is left to itself".into());
            }
            ticks_since_signal = Some(ticks + 1);
        }
        control.tick()?;
        clock::sleep_ns(TICK_NS);
    }
}

/// Control of all groups, if nobody else has it.
struct Control {
    registry: Registry,
    folders: Folders,
    policy: Policy,
    now: Option<Controller>,
}

impl Control {
    /// Takes it if it can be had.
    fn take(&mut self) -> Result<()> {
        let opened =
            Controller::open(&self.registry, &self.folders.state_dir, self.policy.clone())?;
        let Some((mut controller, report)) = opened else { return Ok(()) };
        tell_before(&report);
        let text = report.to_string();
        if !text.is_empty() {
            say!("baro: settings that a crash had left were put back:");
            baro_command::say_lines(text.trim_end());
        }
        tell(&controller.take_done(), &controller.take_raised());
        self.now = Some(controller);
        Ok(())
    }

    /// Another owner of the disks' settings, or why they cannot be set.
    fn refusal(&self, disks: &[String]) -> Result<()> {
        let Some(controller) = &self.now else {
            let controller = Journal::holder(&self.folders.state_dir);
            let other = Journal::owners(Path::new("/")).into_iter().find(|(object, owner)| {
                Some(owner.pid) != controller && disks.iter().any(|disk| is_disk(object, disk))
            });
            return match other {
                Some((object, owner)) => Err(baro_tune::Error::Claimed { object, owner }.into()),
                None => Ok(()),
            };
        };
        match disks.iter().find_map(|disk| controller.refusal(disk)) {
            Some(error) => Err(error.to_string().into()),
            None => Ok(()),
        }
    }

    fn tick(&mut self) -> Result<()> {
        let Some(controller) = &mut self.now else { return self.take() };
        controller.tick()?;
        let late = controller.take_undone().to_string();
        if !late.is_empty() {
            say!("baro: settings that a crash had left were put back:");
            baro_command::say_lines(late.trim_end());
        }
        tell(&controller.take_done(), &controller.take_raised());
        Ok(())
    }

    /// Puts settings back.
    fn give_back(&mut self) {
        if let Some(controller) = self.now.take() {
            let report = controller.close();
            if !report.is_clean() {
                baro_command::say_lines(&format!("baro: {}", report.to_string().trim_end()));
            }
        }
    }
}

/// What was set, and what could not be.
fn tell(done: &[Done], raised: &[std::result::Result<String, String>]) {
    for journal in raised {
        match journal {
            Ok(thread) => say!(
                "baro: {thread} goes first at the disk: writers wait for its commits (costs: others wait for \
                 its few small writes)"
            ),
            Err(why) => say!("baro: {why}"),
        }
    }
    for Done { disk, remedy, applied } in done {
        let setting = &remedy.setting;
        match applied {
            Ok(applied) if applied.outcome == Set::Ignored => {
                say!("baro: {disk}: {} took no {}", setting.path(), setting.value());
            }
            Ok(applied) => say!(
                "baro: {disk}: {} {} -> {}: {} (costs: {})",
                remedy.key,
                applied.before,
                applied.now,
                remedy.why,
                remedy.price
            ),
            Err(error) => say!("baro: {disk}: {}: {error}", remedy.key),
        }
    }
}
