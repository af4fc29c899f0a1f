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
use baro_tune::{OnConflict, Options, Report};
use clap::Subcommand;
use std::path::PathBuf;

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

/// Where the journal is: in `state_dir`, or where this user's is.
pub(super) fn options(state_dir: Option<PathBuf>, on_conflict: OnConflict) -> Options {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (state, home) = (variable("XDG_STATE_HOME"), variable("HOME"));
    let default = || Options::state_dir_default(state.as_deref(), home.as_deref());
    Options { state_dir: state_dir.unwrap_or_else(default), on_conflict, ..Options::default() }
}
