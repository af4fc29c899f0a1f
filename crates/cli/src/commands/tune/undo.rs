//! `baro tune undo`: what a killed owner left, and then what is kept.
//!
//! In this order, since a killed owner changed what it found kept. Held by
//! `what_is_kept_stays_until_undo_also_below_another_that_is_killed`.

use super::{options, tell_before};
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_tune::{Journal, OnConflict, Options};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro tune undo")]
pub(crate) struct Undo {
    /// Also where somebody else has changed a setting since
    #[arg(long)]
    force: bool,
    /// Folder of the journal
    #[arg(long)]
    state_dir: Option<PathBuf>,
    /// What stands for / before /proc and /sys: a machine made of files, to try things
    #[arg(long, value_name = "DIR", default_value = "/", hide_short_help = true)]
    root: PathBuf,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Undo) -> Result<Outcome> {
    let on_conflict = if arguments.force { OnConflict::Overwrite } else { OnConflict::Leave };
    let options = options(arguments.state_dir.clone(), on_conflict);
    let options = Options { root: arguments.root.clone(), ..options };
    // Opening the journal undoes what a crashed owner left. It is held until what is kept is undone.
    let (_journal, report) = Journal::open(&options)?;
    let mut reports = vec![report];
    if Journal::has_kept(&options) {
        let (mut kept, dropped) = Journal::open_kept(&options)?;
        reports.extend([dropped, kept.undo_all(on_conflict)]);
    }
    reports.iter().for_each(tell_before);
    let clean = reports.iter().all(baro_tune::Report::is_clean);
    match arguments.format {
        Format::Text if reports.iter().all(|report| report.settings.is_empty()) => {
            out!("nothing to undo in {}", options.state_dir.display());
        }
        Format::Text => reports.iter().for_each(|report| print_lines(&report.to_string())),
        Format::Json => {
            let settings = reports.iter().flat_map(|report| &report.settings);
            let settings: Vec<_> = settings.map(ToString::to_string).collect();
            print_json(&json!({
                "journal": options.state_dir,
                "settings": settings,
                "clean": clean,
            }))?;
        }
    }
    Ok(Outcome::lost_if(!clean))
}

fn print_lines(text: &str) {
    text.lines().for_each(|line| out!("{line}"));
}
