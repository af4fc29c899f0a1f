//! Paper C: portions into F files, on ext4, f2fs and into Barograph's store.

use super::page::{Section, Table};
use super::{Found, Goal, figure, span};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const PLACES: [&str; 4] = ["6.12/hdd", "6.12/ssd", "5.10/hdd", "5.10/ssd"];
const KINDS: [&str; 3] = ["matrix", "f2fs", "store"];
const BLOCK: &str = "B=4K";
/// The store's slowest rate over its fastest, to be called flat.
const FLAT: f64 = 0.5;
/// Files are slow when their rate has fallen so far.
const FALLEN: f64 = 0.5;

/// Rate and write amplification by (kind, F).
type Rates = BTreeMap<(&'static str, u64), (f64, Option<f64>)>;

fn rates(lines: &[Value]) -> Rates {
    let mut rates = Rates::new();
    for line in lines {
        let Some(name) = line["cell"].as_str() else { continue };
        let kind = KINDS.iter().find(|kind| name.starts_with(&format!("{kind}/")));
        let files = name.split('/').find_map(|part| part.strip_prefix("F=")?.parse().ok());
        let data = &line["data"];
        let rate = data["steady"]["bytes_per_s"].as_f64();
        let (Some(kind), Some(files), Some(rate)) = (kind, files, rate) else { continue };
        if name.ends_with(BLOCK) {
            let bytes = |value: &Value| value.as_f64().filter(|bytes| *bytes > 0.0);
            let kwa = bytes(&data["synced"]["written_bytes"])
                .zip(bytes(&data["application_synced_bytes"]))
                .map(|(device, application)| device / application);
            rates.insert((kind, files), (rate / 1e6, kwa));
        }
    }
    rates
}

/// The slowest rate of a kind over its rate at the fewest files.
fn fallen_to(rates: &Rates, kind: &str) -> Option<f64> {
    let all: Vec<f64> =
        rates.iter().filter(|((known, _), _)| *known == kind).map(|(_, (rate, _))| *rate).collect();
    let first = *all.first()?;
    (all.len() > 1).then(|| all.iter().copied().fold(f64::INFINITY, f64::min) / first)
}

pub(super) fn section(found: &Found) -> (Section, Vec<Goal>) {
    let mut tables = Vec::new();
    let (mut files_fell, mut store_flat, mut f2fs) = (0, 0, 0);
    let (mut parts_of_files, mut parts_of_store) = (Vec::new(), Vec::new());
    for place in PLACES {
        let Some(lines) = found.get(&format!("c/{place}")) else { continue };
        let rates = rates(lines);
        let mut table = Table::new(
            format!(
                "{place}, portions of 4 KiB: MB/s, and bytes to the device for each byte (Kwa)"
            ),
            &["F", "ext4", "Kwa", "f2fs", "Kwa", "Barograph's store", "Kwa"],
        );
        let all: BTreeSet<u64> = rates.keys().map(|(_, files)| *files).collect();
        for files in all {
            let mut row = vec![files.to_string()];
            for kind in KINDS {
                let of = rates.get(&(kind, files));
                row.push(figure(of.map(|of| of.0), 1));
                row.push(figure(of.and_then(|of| of.1), 2));
            }
            table.rows.push(row);
        }
        let (files, store) = (fallen_to(&rates, "matrix"), fallen_to(&rates, "store"));
        parts_of_files.extend(files.map(|part| 100.0 * part));
        parts_of_store.extend(store.map(|part| 100.0 * part));
        files_fell += usize::from(files.is_some_and(|part| part <= FALLEN));
        store_flat += usize::from(store.is_some_and(|part| part >= FLAT));
        f2fs += usize::from(rates.keys().any(|(kind, _)| *kind == "f2fs"));
        tables.push(table);
    }
    let all = PLACES.len();
    let goals = vec![
        Goal {
            what: "C: the more files the slower, on ext4; with f2fs beside it",
            goal: "the shape of the paper on HDD and SSD",
            measured: format!("{files_fell} of {all} places fall to half or less; f2fs in {f2fs}"),
            is_met: files_fell == all && f2fs == all,
        },
        Goal {
            what: "C: Barograph's store over as many sensors",
            goal: "flat: the slowest at least half of the rate of one sensor",
            measured: format!("{store_flat} of {all} places"),
            is_met: store_flat == all,
        },
    ];
    let says = vec![
        "The paper (100 GB, portions of 4 KiB): one file for each of a million sensors instead of one for all brings an \
         HDD from 124 to 0.57 MB/s and an SSD from 197 to 16, and 2.5 bytes are written for each."
            .to_owned(),
        format!(
            "Today, at a hundredth of its sizes and with its cache for each file: at the slowest {} % of the rate of one \
             file on ext4. Its claims, one by one, are in files.html beside this page.",
            span(&parts_of_files, 0)
        ),
        format!(
            "Barograph: one log for all, sorted into runs by sensor later: over as many sensors at the slowest {} % \
             of the rate of one.",
            span(&parts_of_store, 0)
        ),
    ];
    let section = Section {
        title: "C: a file for each sensor",
        says,
        command: "cargo xtask lab papers --out FOLDER --only c/",
        tables,
    };
    (section, goals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rates_are_by_kind_and_files() {
        let line = |cell: &str, rate: f64| {
            json!({"cell": cell, "data": {"steady": {"bytes_per_s": rate},
                   "synced": {"written_bytes": 30}, "application_synced_bytes": 20}})
        };
        let lines = [
            json!({"barograph_measurement": 1}),
            line("matrix/F=1/B=4K", 100e6),
            line("matrix/F=1000000/B=4K", 5e6),
            line("matrix/F=1/B=32K", 1e6),
            line("store/F=1/B=4K", 50e6),
            line("store/F=1000000/B=4K", 40e6),
        ];
        let rates = rates(&lines);
        assert_eq!(rates.len(), 4);
        assert_eq!(rates[&("matrix", 1)], (100.0, Some(1.5)));
        assert_eq!(fallen_to(&rates, "matrix"), Some(0.05));
        assert_eq!(fallen_to(&rates, "store"), Some(0.8));
        assert_eq!(fallen_to(&rates, "f2fs"), None);
    }
}
