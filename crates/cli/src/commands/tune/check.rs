//! `baro tune check`: what a recorder needs of this machine, found and wanted. Changes nothing; with
//! `--probe` it writes into a file without a name, to count.

use super::here::Here;
use super::probe::{Probed, probe};
use super::{options, tell_left};
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_tune::{Need, OnConflict, Options, Verdict, check};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro tune check /data/s")]
pub(crate) struct Check {
    #[command(flatten)]
    here: Here,
    /// Count the journal handles that write() takes in STORE
    ///
    /// Writes for two seconds into a file of 8 MiB that has no name. Needs root and tracefs.
    #[arg(long, requires = "store")]
    probe: bool,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Check) -> Result<Outcome> {
    let here = arguments.here.look()?;
    let needs = check(&here);
    tell_left(&Options { root: here.root.clone(), ..options(None, OnConflict::Leave) });
    let changes = needs.iter().filter(|need| need.verdict == Verdict::Change).count();
    let dir = arguments.here.store.as_deref().filter(|_| arguments.probe);
    let probed = dir.map(|dir| probe(dir, here.store.as_ref())).transpose()?;
    match arguments.format {
        Format::Text => print_text(&needs, changes, probed.as_ref()),
        Format::Json => print_json(&json!({
            "needs": needs.iter().map(as_json).collect::<Vec<_>>(),
            "to_change": changes,
            "probe": probed.as_ref().map(Probed::json),
        }))?,
    }
    let unknown = probed.is_some_and(|probed| !probed.is_known());
    Ok(Outcome::lost_if(changes > 0 || unknown))
}

fn print_text(needs: &[Need], changes: usize, probed: Option<&Probed>) {
    for need in needs {
        out!("{:<6}  {}: {}", need.verdict.name(), need.name, need.found);
        if need.verdict != Verdict::Good {
            out!("        wanted: {}; {}", need.wanted, need.why);
            out!("        price: {}", need.price);
        }
        if let Some(command) = &need.command {
            out!("        {command}");
        }
    }
    if let Some(probed) = probed {
        out!("probe   {}", probed.said());
    }
    match changes {
        0 => out!("nothing to change"),
        1 => out!("1 setting should be changed"),
        changes => out!("{changes} settings should be changed"),
    }
}

fn as_json(need: &Need) -> serde_json::Value {
    let settings: Vec<_> = need
        .settings()
        .iter()
        .map(|one| json!({ "path": one.path(), "value": one.value() }))
        .collect();
    json!({
        "key": need.key,
        "name": need.name,
        "verdict": need.verdict.name(),
        "found": need.found,
        "wanted": need.wanted,
        "why": need.why,
        "price": need.price,
        "command": need.command,
        "settings": settings,
    })
}
