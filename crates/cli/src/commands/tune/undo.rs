//! `baro tune undo`: what killed owners left, `share` too, and then what is kept.
//!
//! In this order, since a killed owner changed what it found kept. Held by
//! `what_is_kept_stays_until_undo_also_below_another_that_is_killed`.

use super::{options, put_back_shares, tell_before};
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_tune::{Journal, OnConflict, Options, Owner, Report};
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
    let mut reports = Vec::new();
    let undone = undo(arguments, &options, &mut reports);
    reports.iter().for_each(tell_before);
    // What was undone before the failure.
    if let (Err(_), Format::Text) = (&undone, arguments.format) {
        reports.iter().for_each(|report| print_lines(&report.to_string()));
    }
    undone?;
    let left = reports.iter().any(|report| report.before.is_some());
    let clean = !left && reports.iter().all(Report::is_clean);
    let held: Vec<(String, Owner)> = Journal::owners(&options.root);
    match arguments.format {
        Format::Text => {
            reports.iter().for_each(|report| print_lines(&report.to_string()));
            let nothing = reports.iter().all(|report| report.settings.is_empty());
            for (object, owner) in &held {
                out!("{object}: held by {owner}, which puts its settings back when it ends");
            }
            if nothing && !left {
                out!("nothing to undo in {}", options.state_dir.display());
            }
        }
        Format::Json => {
            let settings = reports.iter().flat_map(|report| &report.settings);
            let settings: Vec<_> = settings.map(ToString::to_string).collect();
            let held = held.iter().map(|(object, owner)| {
                json!({ "of": object, "program": owner.program, "pid": owner.pid,
                        "since_s": owner.since_s })
            });
            print_json(&json!({
                "journal": options.state_dir,
                "settings": settings,
                "held": held.collect::<Vec<_>>(),
                "clean": clean,
            }))?;
        }
    }
    Ok(Outcome::lost_if(!clean))
}

/// What a killed share left goes first, with its groups and priorities, since these are no settings; then
/// what any killed owner left; then, the ordinary journal being held, what is kept.
fn undo(arguments: &Undo, options: &Options, reports: &mut Vec<Report>) -> Result<()> {
    let shared = Journal::shared_dir(&options.state_dir);
    let is_default = arguments.state_dir.is_none();
    if is_default {
        reports.extend(put_back_shares(options)?);
    }
    let (mut journal, report) = Journal::open(options)?;
    reports.push(report);
    if is_default {
        reports.push(journal.undo_left());
    }
    if Journal::has_shared(options) {
        // Also what others have changed meanwhile, if that is asked for.
        match Journal::open(&Options { state_dir: shared, ..options.clone() }) {
            Ok((_shared, report)) => reports.push(report),
            // Its owner lives, and puts it back.
            Err(baro_tune::Error::Held { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    if Journal::has_kept(options) {
        let (mut kept, dropped) = Journal::open_kept(options)?;
        reports.extend([dropped, kept.undo_all(options.on_conflict)]);
    }
    Ok(())
}

fn print_lines(text: &str) {
    text.lines().for_each(|line| out!("{line}"));
}
