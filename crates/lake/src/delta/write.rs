//! What is written to a table's log: the first version, and one for each hand-over.

use super::{READER_VERSION, WRITER_VERSION, schema};
use baro_ondisk::StoreId;
use baro_show::rfc3339;
use serde_json::{Map, Value, json};

/// A file that a version adds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Added {
    /// Its name in the table's folder.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    pub(crate) stats: Stats,
}

/// What a file holds, so that readers can pass over it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stats {
    pub(crate) rows: u64,
    /// First and last name.
    pub(crate) series: Option<(String, String)>,
    /// Earliest and latest time in microseconds.
    pub(crate) time_us: Option<(i64, i64)>,
}

impl Stats {
    /// Takes in rows of one series, which come by time.
    pub(crate) fn take(&mut self, series: &str, rows: u64, first_us: i64, last_us: i64) {
        self.rows += rows;
        match &mut self.series {
            None => self.series = Some((series.to_owned(), series.to_owned())),
            Some((low, _)) if series < low.as_str() => *low = series.to_owned(),
            Some((_, high)) if series > high.as_str() => *high = series.to_owned(),
            Some(_) => {}
        }
        let (low, high) = self.time_us.unwrap_or((first_us, last_us));
        self.time_us = Some((low.min(first_us), high.max(last_us)));
    }

    fn text(&self, store: StoreId) -> String {
        let (mut low, mut high) = (Map::new(), Map::new());
        for bound in [&mut low, &mut high] {
            bound.insert("store".to_owned(), store.to_string().into());
        }
        if let Some((first, last)) = &self.series {
            low.insert("series".to_owned(), first.as_str().into());
            high.insert("series".to_owned(), last.as_str().into());
        }
        if let Some((first, last)) = self.time_us {
            // Readers may know milliseconds alone: the later bound is rounded up.
            let bounds = (time_text(first.div_euclid(1000)), time_text(last.div_euclid(1000) + 1));
            if let (Some(first), Some(last)) = bounds {
                low.insert("time".to_owned(), first.into());
                high.insert("time".to_owned(), last.into());
            }
        }
        json!({"numRecords": self.rows, "minValues": low, "maxValues": high}).to_string()
    }
}

/// As Delta has times in statistics: `2026-01-31T12:00:00.000Z`. `None` at the end of all times.
fn time_text(time_ms: i64) -> Option<String> {
    let text = rfc3339(time_ms.checked_mul(1_000_000)?);
    Some(format!("{}Z", text.get(..text.len().checked_sub(7)?)?))
}

fn lines(actions: &[Value]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for action in actions {
        bytes.extend_from_slice(action.to_string().as_bytes());
        bytes.push(b'\n');
    }
    bytes
}

fn commit_info(operation: &str, parameters: &Value, time_ms: i64, blind: bool) -> Value {
    json!({"commitInfo": {
        "timestamp": time_ms,
        "operation": operation,
        "operationParameters": parameters,
        "isBlindAppend": blind,
        "engineInfo": concat!("barograph/", env!("CARGO_PKG_VERSION")),
    }})
}

/// The id of a table as others write it.
pub(crate) fn uuid(table: [u8; 16]) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(table));
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
    parts.map(|part| digits.get(part).unwrap_or("")).join("-")
}

/// Version 0 of a table with this id.
pub(crate) fn created(table: [u8; 16], time_ms: i64) -> Vec<u8> {
    let id = uuid(table);
    lines(&[
        commit_info("CREATE TABLE", &json!({}), time_ms, true),
        json!({"protocol": {
            "minReaderVersion": READER_VERSION, "minWriterVersion": WRITER_VERSION
        }}),
        json!({"metaData": {
            "id": id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema::text(),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": time_ms,
        }}),
    ])
}

/// A version that adds files, and says that the table has the runs of `app` up to `last_run`.
pub(crate) fn added(
    app: &str,
    last_run: u64,
    files: &[Added],
    store: StoreId,
    time_ms: i64,
) -> Vec<u8> {
    let parameters =
        json!({"mode": "Append", "store": store.to_string(), "lastRun": last_run.to_string()});
    let mut actions = vec![
        commit_info("WRITE", &parameters, time_ms, true),
        json!({"txn": {"appId": app, "version": last_run, "lastUpdated": time_ms}}),
    ];
    actions.extend(files.iter().map(|file| {
        json!({"add": {
            "path": file.name,
            "partitionValues": {},
            "size": file.bytes,
            "modificationTime": time_ms,
            "dataChange": true,
            "stats": file.stats.text(store),
        }})
    }));
    lines(&actions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_hold_what_was_taken_and_bounds_are_rounded_outwards() {
        let (mut stats, store) = (Stats::default(), StoreId([7; 16]));
        stats.take("b", 2, -1, 1_700_000_000_123_456);
        stats.take("a", 3, 0, 0);
        let found: Value = serde_json::from_str(&stats.text(store)).expect("it is JSON");
        let id = store.to_string();
        let (first, last) = ("1969-12-31T23:59:59.999Z", "2023-11-14T22:13:20.124Z");
        assert_eq!(found["numRecords"], 5);
        assert_eq!(found["minValues"], json!({"series": "a", "store": id, "time": first}));
        assert_eq!(found["maxValues"], json!({"series": "b", "store": id, "time": last}));
        // At the end of all times there is no later bound, so none is told.
        stats.take("c", 1, i64::MAX / 1000, i64::MAX / 1000);
        assert!(!stats.text(store).contains("time"));
    }
}
