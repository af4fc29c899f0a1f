//! `baro tune check`: what a recorder needs of this machine, found and wanted. Changes nothing.

use super::here::Here;
use crate::commands::{Format, print_json};
use crate::failure::{Outcome, Result};
use baro_tune::{Need, Verdict, check};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub(crate) struct Check {
    #[command(flatten)]
    here: Here,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Check) -> Result<Outcome> {
    let here = arguments.here.look()?;
    let needs = check(&here);
    let changes = needs.iter().filter(|need| need.verdict == Verdict::Change).count();
    match arguments.format {
        Format::Text => print_text(&needs, changes),
        Format::Json => print_json(&json!({
            "needs": needs.iter().map(as_json).collect::<Vec<_>>(),
            "to_change": changes,
        }))?,
    }
    Ok(Outcome::lost_if(changes > 0))
}

fn print_text(needs: &[Need], changes: usize) {
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
