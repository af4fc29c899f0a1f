//! `baro top`: the series that take most.

use super::du::{entry, known, met, rate, times};
use super::{Format, print_json};
use crate::failure::{Outcome, Result};
use crate::size::show_bytes;
use baro_command::Lines;
use baro_store::{SeriesUsage, Store};
use clap::{Args, ValueEnum};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;

/// What makes a series large.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// Bytes in the store, estimated
    #[default]
    Bytes,
    /// Samples or frames
    Samples,
    /// Samples a second from its first to its last
    Rate,
}

#[derive(Debug, Args)]
#[command(after_help = "Example: baro top /data/s -n 5")]
pub(crate) struct Arguments {
    /// The store; may be recorded into meanwhile
    store: PathBuf,
    /// How many
    #[arg(short, default_value_t = 20, value_name = "N")]
    number: usize,
    /// What is counted
    #[arg(long, value_enum, default_value_t)]
    by: By,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    format: Format,
}

/// Order of two series: of equal ones the older declaration comes first.
fn key(by: By, one: &SeriesUsage) -> (u64, Reverse<u32>) {
    let size = match by {
        By::Bytes => one.bytes,
        By::Samples => one.samples,
        // Bits of floats that are not negative are in the order of their values.
        By::Rate => rate(one).unwrap_or(0.0).to_bits(),
    };
    (size, Reverse(one.id))
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    let store = Store::open(&arguments.store)?;
    let mut largest = BinaryHeap::new();
    let mut found: std::collections::HashMap<u32, SeriesUsage> = std::collections::HashMap::new();
    let notes = store.usage(None, |one| {
        largest.push(Reverse((key(arguments.by, &one), one.id)));
        found.insert(one.id, one);
        if largest.len() > arguments.number
            && let Some(Reverse((_, least))) = largest.pop()
        {
            found.remove(&least);
        }
    })?;
    let largest = largest.into_sorted_vec().into_iter();
    let rows: Vec<SeriesUsage> =
        largest.filter_map(|Reverse((_, id))| found.get(&id).copied()).collect();
    if arguments.format == Format::Json {
        let rows: Vec<Value> = rows.iter().map(|one| entry(store.catalog(), one)).collect();
        print_json(&Value::Array(rows))?;
        return Ok(met(&store, &notes));
    }
    let mut out = Lines::printed();
    row!(out, "     bytes~     samples  samples/s  series, from its first to its last sample")?;
    for one in &rows {
        let (name, _) = known(store.catalog(), one.id);
        let rate = rate(one).map_or("-".to_owned(), |rate| format!("{rate:.1}"));
        let bytes = show_bytes(one.bytes);
        row!(out, "{bytes:>11} {:>11} {rate:>10}  {name}  {}", one.samples, times(one))?;
    }
    out.flush()?;
    Ok(met(&store, &notes))
}
