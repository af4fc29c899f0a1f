//! `baro tune`: `check` says what a recorder needs of the machine, `apply` sets what can be set while
//! it runs, `show` writes it down for the next boot, and `undo` gives back what a killed Barograph
//! left changed or `apply --keep` was told to leave.

mod apply;
mod check;
mod here;
mod probe;
mod rows;
mod show;
mod undo;

use crate::failure::{Outcome, Result};
use baro_share::{Controller, Registry};
use baro_tune::{Journal, OnConflict, Options, Report};
use clap::Subcommand;
use std::path::{Path, PathBuf};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what a recorder needs of this machine
    ///
    /// And how to grant it; changes nothing.
    Check(check::Check),
    /// Set it, and put it back at the end
    ///
    /// What can be set while the machine runs.
    Apply(apply::Apply),
    /// Put settings back that are kept or were left
    ///
    /// Those that a killed Barograph left changed, or that are kept.
    Undo(undo::Undo),
    /// Show it as text for each boot
    ///
    /// For sysctl.d, fstab, udev and systemd; writes no file.
    Show(show::Show),
}

pub(crate) fn run(command: &Command) -> Result<Outcome> {
    match command {
        Command::Check(arguments) => check::run(arguments),
        Command::Apply(arguments) => apply::run(arguments),
        Command::Undo(arguments) => undo::run(arguments),
        Command::Show(arguments) => show::run(arguments),
    }
}

/// Says on stderr what is to be known of a journal that an older version left.
pub(super) fn tell_before(report: &Report) {
    if let Some(before) = &report.before {
        say!("baro: {before}");
    }
}

/// Says on stderr what killed owners have left set: a check looks at these settings as if they were the
/// machine's own.
pub(super) fn tell_left(options: &Options) {
    let left = Journal::left(options);
    if !left.is_empty() {
        say!("baro: settings that a killed Barograph left; `baro tune undo` puts them back:");
        left.iter().for_each(|one| say!("{one}"));
    }
}

/// Puts back what a killed `share` left, if none lives: its settings, and its groups and priorities, which
/// no journal of settings has.
pub(super) fn put_back_shares(options: &Options) -> Result<Option<Report>> {
    let run_dir = Registry::default_dir();
    let is_real = options.root == Path::new("/") && baro_sys::schedule::is_root();
    if !is_real || !baro_sys::files::exists(&run_dir) {
        return Ok(None);
    }
    let journal = Journal::shared_dir(&options.state_dir);
    Ok(Controller::put_back(&Registry::at(&run_dir), &journal)?)
}

/// Where the journal is: in `state_dir`, or where this user's is.
pub(super) fn options(state_dir: Option<PathBuf>, on_conflict: OnConflict) -> Options {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (state, home) = (variable("XDG_STATE_HOME"), variable("HOME"));
    let default = || Options::state_dir_default(state.as_deref(), home.as_deref());
    Options { state_dir: state_dir.unwrap_or_else(default), on_conflict, ..Options::default() }
}
