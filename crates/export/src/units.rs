//! Units of series in a Parquet file, as metadata that any reader sees: `barograph:units`, a JSON
//! object of names and units. A column has one unit at most, which is not that of each series in it.
//!
//! Invariant: what is written here is read back; a text that is something else tells no unit and is no
//! error, since the samples beside it are right. Held by
//! `units_come_back_from_parquet` (`crates/cli/tests/outs.rs`).

use baro_ondisk::limits::{NAME_BYTES_MAX, UNIT_NAME_BYTES_MAX};
use baro_store::{Aggregate, Column, Every};
use serde_json::{Map, Value};

/// Key of a file's metadata.
pub const UNITS_KEY: &str = "barograph:units";
/// Series that metadata tells about: beyond it would be the larger part of small files, and
/// all of it is held in memory.
pub(crate) const SERIES_TOLD_MAX: usize = 4096;
/// Bytes of a text of units that is read: an entry of six bytes takes a hundred in memory.
const TEXT_BYTES_MAX: usize = SERIES_TOLD_MAX * 256;

/// The unit of what is handed out of a column; empty if it has none. A count has none, a rate is by second.
#[must_use]
pub fn unit_of(column: &Column, every: Option<Every>) -> String {
    match every.map(|every| every.aggregate) {
        Some(Aggregate::Count) => String::new(),
        Some(Aggregate::Rate) if !column.unit.is_empty() => format!("{}/s", column.unit),
        _ => column.unit.clone(),
    }
}

/// The units of columns that have one; `None` if none has.
pub(crate) fn told(columns: &[Column], every: Option<Every>) -> Option<String> {
    let units = columns.iter().map(|column| (column.name.clone(), unit_of(column, every)));
    let units = units.filter(|(_, unit)| !unit.is_empty()).take(SERIES_TOLD_MAX);
    let units: Map<String, Value> = units.map(|(name, unit)| (name, unit.into())).collect();
    let text = (!units.is_empty()).then(|| Value::Object(units).to_string());
    text.filter(|text| text.len() <= TEXT_BYTES_MAX)
}

/// Names and units of such a text.
pub(crate) fn read(text: &str) -> impl Iterator<Item = (String, String)> {
    let short = (text.len() <= TEXT_BYTES_MAX).then_some(text);
    let units: Option<Map<String, Value>> = short.and_then(|text| serde_json::from_str(text).ok());
    let units = units.into_iter().flatten().filter_map(|(name, unit)| match unit {
        Value::String(unit) => Some((name, unit)),
        _ => None,
    });
    units.filter(|(name, unit)| {
        let name_fits = (1..=NAME_BYTES_MAX).contains(&name.len());
        name_fits && (1..=UNIT_NAME_BYTES_MAX).contains(&unit.len())
    })
}
