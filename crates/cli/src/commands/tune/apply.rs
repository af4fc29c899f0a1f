//! `baro tune apply`: sets what the check says, for the time of a command, until Ctrl-C, or until
//! `baro tune undo`.
//!
//! Signals are watched for before the first setting, so that one that comes at any moment ends in
//! putting back. A setting that is refused ends it too: a machine that is half set is nobody's wish.
//! Invariant: without `--keep` the machine is as it was found when this ends; killed, the next owner
//! of the journal sees to it. Held by `tests/tune.rs`.

use super::here::Here;
use super::rows::Row;
use super::{options, put_back_shares, tell_before, tell_left};
use crate::commands::{Format, print_json};
use crate::failure::{Failure, NotStarted, Outcome, Result};
use baro_sys::{clock, termination};
use baro_tune::{Journal, Need, OnConflict, Options, Report, Step, Wish, check, plan};
use clap::Args;
use clap::error::ErrorKind;
use serde_json::json;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// How often a command, or the wish to end, is looked for.
const LOOK_EVERY_NS: u64 = 20_000_000;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro tune apply /data/s -- ./recorder")]
pub(crate) struct Apply {
    #[command(flatten)]
    here: Here,
    /// Only this row of the check, by its key or name
    ///
    /// Also one that is only noted there.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Also settings that concern the whole machine
    ///
    /// Not only the store's device.
    #[arg(long)]
    machine_wide: bool,
    /// Say what would be set, and set nothing
    #[arg(long, conflicts_with_all = ["keep", "command"])]
    dry_run: bool,
    /// Leave it set when this ends
    ///
    /// `baro tune undo` puts it back, and so does a reboot.
    #[arg(long, conflicts_with = "command")]
    keep: bool,
    /// Folder of the journal
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
    /// Set it while this command runs; ends with its exit code
    ///
    /// Without one until Ctrl-C. Own failures are 125, a command that cannot be run 126, one that is not
    /// there 127.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(arguments: &Apply) -> Result<Outcome> {
    let options = options(arguments.state_dir.clone(), OnConflict::Leave);
    let options = Options { root: arguments.here.root.clone(), ..options };
    let mut needs = check(&arguments.here.look()?);
    // A name that no row has is told before anything is done.
    drop(planned(arguments, &needs)?);
    if arguments.dry_run {
        tell_left(&options);
        return finish(arguments, &planned(arguments, &needs)?, None, None);
    }
    termination::watch()?;
    let left = Journal::left(&options);
    let anything = planned(arguments, &needs)?.iter().any(|row| row.step == Step::Apply);
    if left.is_empty() && !anything && arguments.command.is_empty() {
        return finish(arguments, &planned(arguments, &needs)?, None, None);
    }
    let mut shares = None;
    if arguments.state_dir.is_none() && !left.is_empty() {
        shares = put_back_shares(&options)?;
    }
    let (mut journal, mut undone) = Journal::open(&options).map_err(rights_too)?;
    shares.into_iter().for_each(|shares| undone.add(shares));
    tell_before(&undone);
    tell(&undone, "settings that a crash had left were put back");
    if !undone.settings.is_empty() {
        // What the crash had left may have looked as if it were good.
        needs = check(&arguments.here.look()?);
    }
    let mut rows = planned(arguments, &needs)?;
    let anything = rows.iter().any(|row| row.step == Step::Apply);
    if !anything && arguments.command.is_empty() {
        return finish(arguments, &rows, None, None);
    }
    if arguments.keep {
        // Held beside it: one process at a time changes settings.
        let (mut kept, dropped) = Journal::open_kept(&options)?;
        tell_before(&dropped);
        tell(&dropped, "settings were kept before a reboot");
        if let Err(error) = set(&mut kept, &mut rows) {
            let left = "; what is set already is kept: `baro tune undo` puts it back";
            let left = if Journal::has_kept(&options) { left } else { "" };
            return Err(format!("{error}{left}").into());
        }
        return finish(arguments, &rows, None, None);
    }
    let during = set(&mut journal, &mut rows).and_then(|()| {
        if arguments.format == Format::Text {
            rows.iter().for_each(|row| row.print(false));
        }
        hold(arguments)
    });
    let report = journal.undo_all(OnConflict::Leave);
    if during.is_err() {
        tell(&report, "settings were put back");
    }
    let status = during?;
    finish(arguments, &rows, Some(&report), status)
}

/// The rows that are meant, none applied yet.
fn planned<'a>(arguments: &Apply, needs: &'a [Need]) -> Result<Vec<Row<'a>>> {
    let wish = Wish { only: &arguments.only, machine_wide: arguments.machine_wide };
    let planned = plan(needs, &wish).map_err(|unknown| {
        let keys: Vec<&str> = needs.iter().map(|need| need.key).collect();
        let more = match arguments.here.store {
            None => "; those of a file system and its device need its folder as an argument",
            Some(_) => "",
        };
        let said = format!(
            "--only {}: no such row here; there are {}{more}\n",
            unknown.join(", "),
            keys.join(", ")
        );
        clap::Error::raw(ErrorKind::InvalidValue, said)
    })?;
    let row = |(need, step)| Row { need, step, applied: Vec::new() };
    Ok(planned.into_iter().map(row).collect())
}

/// Who is not root may have root's HOME, and be refused there already.
fn rights_too(error: impl Into<Failure> + std::fmt::Display) -> Failure {
    if baro_sys::schedule::is_root() {
        return error.into();
    }
    format!("{error}; settings of the machine need root").into()
}

/// Applies the rows in their order.
fn set<'a>(journal: &mut Journal, rows: &mut [Row<'a>]) -> Result<()> {
    for row in rows.iter_mut().filter(|row| row.step == Step::Apply) {
        let need = row.need;
        for setting in need.settings() {
            if termination::requested().is_some() {
                return Err("told to end before all was set".into());
            }
            let applied = journal.apply(setting).map_err(|error| {
                let rights = if baro_sys::schedule::is_root() { "" } else { "; it needs root" };
                format!("{}: {error}{rights}", need.key)
            })?;
            row.applied.push((setting, applied));
        }
    }
    Ok(())
}

/// Waits for the command or, without one, for a signal.
fn hold(arguments: &Apply) -> Result<Option<ExitStatus>> {
    let Some((program, rest)) = arguments.command.split_first() else {
        say!("baro: set, and put back when this ends; Ctrl-C ends it (--keep leaves it set)");
        while termination::requested().is_none() {
            clock::sleep_ns(LOOK_EVERY_NS);
        }
        return Ok(None);
    };
    let mut command = Command::new(program);
    command.args(rest);
    if arguments.format == Format::Json {
        // Ours is one document.
        command.stdout(Stdio::from(std::io::stderr()));
    }
    let mut child = command.spawn().map_err(|error| NotStarted::new(program, error))?;
    let mut passed_on = false;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if let Some(signal) = termination::requested().filter(|_| !passed_on) {
            passed_on = true;
            // One from the terminal has reached it already; a second does no harm.
            let _ = termination::send(child.id(), signal);
        }
        clock::sleep_ns(LOOK_EVERY_NS);
    }
}

/// Says what is to be said on stderr of settings that were undone on the way.
fn tell(report: &Report, what: &str) {
    let text = report.to_string();
    if !text.is_empty() {
        say!("baro: {what}:");
        baro_command::say_lines(text.trim_end());
    }
}

fn finish(
    arguments: &Apply,
    rows: &[Row<'_>],
    undone: Option<&Report>,
    status: Option<ExitStatus>,
) -> Result<Outcome> {
    let short = rows.iter().filter(|row| row.falls_short()).count();
    let clean = undone.is_none_or(Report::is_clean);
    let kept = arguments.keep && rows.iter().any(|row| !row.applied.is_empty());
    match arguments.format {
        Format::Json => {
            let settings = |report: &Report| {
                report.settings.iter().map(ToString::to_string).collect::<Vec<_>>()
            };
            print_json(&json!({
                "rows": rows.iter().map(Row::json).collect::<Vec<_>>(),
                "skipped_or_ignored": short,
                "dry_run": arguments.dry_run,
                "kept": kept,
                "undone": undone.map(settings),
                "clean": clean,
                "command_status": status.and_then(|status| status.code()),
            }))?;
        }
        Format::Text => {
            match undone {
                // What was set has been said before the command.
                Some(report) => report.to_string().lines().for_each(|line| out!("{line}")),
                None => rows.iter().for_each(|row| row.print(arguments.dry_run)),
            }
            match () {
                () if rows.is_empty() => out!("nothing to change"),
                () if kept => out!("kept until `baro tune undo` or a reboot"),
                () => {}
            }
        }
    }
    let Some(status) = status else { return Ok(Outcome::lost_if(short > 0 || !clean)) };
    if short > 0 || !clean {
        say!("baro: not all was set, or not all put back: see above");
    }
    if !status.success() {
        say!("baro: the command ended with {status}");
    }
    Ok(Outcome::of_command(status))
}
