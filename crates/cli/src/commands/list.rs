//! `baro list`: series and channels.

use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use crate::time;
use baro_recorder::log::Declared;
use baro_store::Store;
use clap::Args;
use serde_json::{Value, json};
use std::io::Write;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The store
    store: PathBuf,
    /// Also count rows and bytes, which reads the whole log
    #[arg(long)]
    counts: bool,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    if arguments.counts {
        return counted(arguments, &store);
    }
    let entries = store.catalog().entries();
    if arguments.format == Format::Json {
        let list: Vec<Value> = entries
            .iter()
            .map(|e| {
                json!({"id": e.id, "type": e.kind.name(), "name": e.name, "unit": e.unit,
                       "fields": fields(e)})
            })
            .collect();
        print_json(&Value::Array(list))?;
        return Ok(Outcome::Done);
    }
    let mut out = std::io::stdout().lock();
    for entry in entries {
        writeln!(out, "{:>6} {:8} {} {}", entry.id, entry.kind.name(), entry.name, entry.unit)?;
        for field in entry.layout.iter().flat_map(|layout| layout.fields()) {
            let array = field.elements.map_or(String::new(), |n| format!("[0..{n}]"));
            let (channel, name, unit) = (&entry.name, &field.name, &field.unit);
            writeln!(out, "{:>6} {:8} {channel}.{name}{array} {unit}", "", field.kind.name())?;
        }
    }
    Ok(Outcome::Done)
}

/// The layout of a channel; null of one that has none, and of a series.
fn fields(entry: &Declared) -> Value {
    let Some(layout) = &entry.layout else { return Value::Null };
    let field = |field: &baro_ondisk::Field| {
        json!({
            "name": field.name,
            "type": field.kind.name(),
            "big_endian": field.big_endian,
            "elements": field.elements,
            "offset_bytes": field.offset_bytes,
            "scale": field.scale,
            "bias": field.bias,
            "unit": field.unit,
        })
    };
    layout.fields().iter().map(field).collect()
}

fn counted(arguments: &Arguments, store: &Store) -> Result<Outcome> {
    let (listed, _) = store.counts()?;
    let name = |id: u32, declared: &Option<Declared>| {
        declared.as_ref().map_or_else(|| format!("(undeclared {id})"), |found| found.name.clone())
    };
    if arguments.format == Format::Json {
        let list: Vec<Value> = listed
            .iter()
            .map(|entry| {
                json!({
                    "id": entry.id,
                    "type": entry.declared.as_ref().map(|found| found.kind.name()),
                    "name": name(entry.id, &entry.declared),
                    "unit": entry.declared.as_ref().map(|found| found.unit.clone()),
                    "rows": entry.rows,
                    "bytes": entry.bytes,
                    "time_min_ns": entry.times_ns.map(|times| times.0),
                    "time_max_ns": entry.times_ns.map(|times| times.1),
                })
            })
            .collect();
        print_json(&Value::Array(list))?;
        return Ok(Outcome::Done);
    }
    let mut out = std::io::stdout().lock();
    for entry in &listed {
        let times = entry.times_ns.map_or(String::new(), |(from_ns, to_ns)| {
            format!("{} to {}", time::show(from_ns), time::show(to_ns))
        });
        writeln!(
            out,
            "{:>6} {:>10} rows {:>10}  {}  {times}",
            entry.id,
            entry.rows,
            show_bytes(entry.bytes),
            name(entry.id, &entry.declared)
        )?;
    }
    Ok(Outcome::Done)
}
