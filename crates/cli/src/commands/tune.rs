//! `baro tune`: `check` says what a recorder needs of the machine; `undo` gives back settings that
//! a killed Barograph left changed.

mod check;
mod here;

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_tune::{Journal, OnConflict, Options};
use clap::{Args, Subcommand};
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what a recorder needs of this machine and how to grant it; changes nothing
    Check(check::Check),
    /// Give back settings that a killed Barograph left changed
    Undo(Undo),
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// Also where somebody else has changed a setting since
    #[arg(long)]
    force: bool,
    /// Folder of the journal
    #[arg(long)]
    state_dir: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(command: &Command) -> Result<Outcome> {
    match command {
        Command::Check(arguments) => check::run(arguments),
        Command::Undo(arguments) => undo(arguments),
    }
}

fn undo(arguments: &Undo) -> Result<Outcome> {
    let on_conflict = if arguments.force { OnConflict::Overwrite } else { OnConflict::Leave };
    let options = options(arguments.state_dir.clone(), on_conflict);
    // Opening the journal undoes what a crashed owner left.
    let (_journal, report) = Journal::open(&options)?;
    match arguments.format {
        Format::Text if report.settings.is_empty() => {
            out!("nothing to undo in {}", options.state_dir.display());
        }
        Format::Text => out!("{report}"),
        Format::Json => {
            let settings: Vec<_> = report.settings.iter().map(ToString::to_string).collect();
            print_json(&json!({
                "journal": options.state_dir,
                "settings": settings,
                "clean": report.is_clean(),
            }))?;
        }
    }
    Ok(Outcome::lost_if(!report.is_clean()))
}

/// Where the journal is: in `state_dir`, or where this user's is.
pub(super) fn options(state_dir: Option<PathBuf>, on_conflict: OnConflict) -> Options {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (state, home) = (variable("XDG_STATE_HOME"), variable("HOME"));
    let default = || Options::state_dir_default(state.as_deref(), home.as_deref());
    Options { state_dir: state_dir.unwrap_or_else(default), on_conflict, ..Options::default() }
}
