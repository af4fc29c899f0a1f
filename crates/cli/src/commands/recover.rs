//! `baro recover`: copies what is readable of a damaged store into a new one.

use super::{Format, print_json, verify};
use crate::failure::{Outcome, Result};
use baro_store::{Store, recover};
use clap::Args;
use serde_json::json;
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro recover /data/s /data/rescued")]
pub(crate) struct Arguments {
    /// The damaged store; only read
    store: PathBuf,
    /// Folder of the new store, missing or empty
    new: PathBuf,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    if baro_sys::files::exists(&arguments.new.join(baro_log::IDENTITY)) {
        let new = arguments.new.display();
        return Err(format!(
            "{new}: expected the name of a folder that is to be made, found a store"
        )
        .into());
    }
    let recovered = recover(&arguments.store, &arguments.new, |_, _| {})?;
    let pins = Store::open(&arguments.store).map_or(0, |store| store.pins().count());
    if pins > 0 {
        say!(
            "note: {} not copied: what pins held is in the copy, and is recycled and dropped there as all else is",
            if pins == 1 { "the pin is".to_owned() } else { format!("the {pins} pins are") }
        );
    }
    let damage: Vec<String> = recovered.damage.iter().map(ToString::to_string).collect();
    match arguments.format {
        Format::Json => print_json(&json!({
            "records": recovered.records,
            "blocks": recovered.blocks,
            "runs": recovered.runs,
            "runs_samples": recovered.runs_samples,
            "damage": damage,
            "ids_without_name": recovered.placeholders,
            "lost": recovered.lost(),
            "copy": verify::as_json(&recovered.copy, 0),
        }))?,
        Format::Text => {
            out!(
                "copied {} records of {} blocks to {}",
                recovered.records,
                recovered.blocks,
                arguments.new.display()
            );
            if recovered.runs > 0 {
                out!("copied {} runs with {} samples", recovered.runs, recovered.runs_samples);
            }
            damage.iter().for_each(|damage| out!("damage in the old store: {damage}"));
            for id in &recovered.placeholders {
                out!("the name of series {id} is lost; it is now called unknown-{id}");
            }
            out!(
                "the copy is {}",
                if recovered.copy.is_whole() {
                    "whole"
                } else {
                    "NOT WHOLE: baro verify tells more"
                }
            );
        }
    }
    Ok(Outcome::lost_if(recovered.lost() || !recovered.copy.is_whole()))
}
