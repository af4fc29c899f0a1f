//! `baro du`: bytes and samples of each series, and of the parts of a store.

use super::{Format, damaged, selection};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use crate::time;
use baro_command::Lines;
use baro_ondisk::written_name;
use baro_store::{Catalog, Notes, Parts, SeriesUsage, Store};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro du /data/s")]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// Only these series and channels; without any all
    selectors: Vec<String>,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let ids = match arguments.selectors.as_slice() {
        [] => None,
        selectors => Some(selection::of(&store, selectors)?.ids()),
    };
    let parts = store.parts()?;
    let mut series: Vec<SeriesUsage> = Vec::new();
    let notes = store.usage(ids.as_deref(), |one| series.push(one))?;
    match arguments.format {
        Format::Text => text(&store, &series, &parts)?,
        Format::Json => json(&store, &series, &parts)?,
    }
    Ok(met(&store, &notes))
}

/// Names the damage that was met.
pub(super) fn met(store: &Store, notes: &Notes) -> Outcome {
    let damage = damaged::all(store, &notes.damage);
    damage.iter().for_each(|damage| say!("damage: {damage}"));
    let recycled = recycled(notes);
    Outcome::lost_if(damage.iter().any(baro_store::Damage::is_loss) || recycled)
}

/// Says what a recorder took from under the count.
pub(super) fn recycled(notes: &Notes) -> bool {
    if notes.blocks_recycled > 0 {
        let count = notes.blocks_recycled;
        say!("note: {count} blocks were recycled by the recorder before they were read");
    }
    notes.blocks_recycled > 0
}

/// Name and type of an id.
pub(super) fn known(catalog: &Catalog, id: u32) -> (String, Option<&'static str>) {
    match catalog.get(id) {
        Ok(Some(declared)) => {
            (written_name(&declared.name).into_owned(), Some(declared.kind.name()))
        }
        _ => (format!("(undeclared {id})"), None),
    }
}

/// The parts and their names; those that a store does not have are 0.
fn named(parts: &Parts) -> [(&'static str, u64); 6] {
    [
        ("log_bytes", parts.log_bytes),
        ("log_used_bytes", parts.log_used_bytes),
        ("runs_bytes", parts.runs_bytes),
        ("catalog_bytes", parts.catalog_bytes),
        ("pins_bytes", parts.pins_bytes),
        ("kept_bytes", parts.kept_bytes),
    ]
}

fn text(store: &Store, series: &[SeriesUsage], parts: &Parts) -> Result<()> {
    let mut out = Lines::printed();
    row!(out, "     bytes~     samples  B/sample~  series")?;
    for one in series {
        let each = one.bytes as f64 / one.samples as f64;
        let (name, _) = known(store.catalog(), one.id);
        row!(out, "{:>11} {:>11} {each:>10.2}  {name}", show_bytes(one.bytes), one.samples)?;
    }
    let bytes: u64 = series.iter().map(|one| one.bytes).sum();
    let samples: u64 = series.iter().map(|one| one.samples).sum();
    row!(out, "{:>11} {samples:>11}             {} series", show_bytes(bytes), series.len())?;
    row!(out, "~ estimated: a record's payload divided among its samples")?;
    for (part, bytes) in named(parts) {
        let part = part.trim_end_matches("_bytes").replace('_', " ");
        row!(out, "{part:>9} {:>11}", show_bytes(bytes))?;
    }
    if let Some(line) = super::info::deleted_line(&store.deleted_room()) {
        row!(out, "  deleted  {line}")?;
    }
    Ok(out.flush()?)
}

fn json(store: &Store, series: &[SeriesUsage], parts: &Parts) -> Result<()> {
    let mut document: serde_json::Map<String, Value> =
        named(parts).into_iter().map(|(part, bytes)| (part.to_owned(), bytes.into())).collect();
    let series: Vec<Value> = series.iter().map(|one| entry(store.catalog(), one)).collect();
    document.insert("series".to_owned(), series.into());
    let deleted = store.deleted_room().runs_bytes;
    document.insert("deleted_runs_bytes_estimated".to_owned(), deleted.into());
    super::print_json(&document.into())
}

/// A series as JSON.
pub(super) fn entry(catalog: &Catalog, one: &SeriesUsage) -> Value {
    let (name, kind) = known(catalog, one.id);
    json!({
        "id": one.id,
        "name": name,
        "type": kind,
        "samples": one.samples,
        "bytes_estimated": one.bytes,
        "first_ns": one.first_ns,
        "last_ns": one.last_ns,
        "samples_per_s": rate(one),
    })
}

/// Samples a second from the first to the last; `None` where there is no span.
pub(super) fn rate(one: &SeriesUsage) -> Option<f64> {
    let span_ns = i128::from(one.last_ns) - i128::from(one.first_ns);
    (span_ns > 0).then(|| one.samples.saturating_sub(1) as f64 / (span_ns as f64 / 1e9))
}

/// Times of a series, for people.
pub(super) fn times(one: &SeriesUsage) -> String {
    format!("{} to {}", time::show(one.first_ns), time::show(one.last_ns))
}
