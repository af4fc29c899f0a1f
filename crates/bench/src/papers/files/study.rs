//! From measurements to the result, without the machine.
//!
//! Several measurements may be put together, one for each device: table 3 and figures 2 to 6 are the
//! paper's HDD, tables 4 and 5 and figures 7 and 8 its SSD. Of each the first measurement of that
//! device serves; for a table whose device was not measured every row says so.
//!
//! Invariant: nothing is drawn, printed or judged that is not in a measurement or printed in the
//! paper. Held by `a_committed_measurement_gives_the_expected_text`.

use super::model::{Device, Scale};
use super::plan::USUAL;
use super::{Greedy, NAME, Rate, Reading, claims, figures, tables};
use crate::experiment::{Machine, Measurement, Study};
use serde::de::DeserializeOwned;

/// A measurement, by cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record<'a>(pub(super) &'a Measurement);

impl<'a> Record<'a> {
    fn of<T: DeserializeOwned>(self, cell: &str) -> Option<T> {
        serde_json::from_value(self.0.data(cell)?.clone()).ok()
    }

    /// A greedy cell: `flat`, or `matrix` with F and B.
    pub(super) fn greedy(self, group: &str, files: u64, block_kib: u64) -> Option<Greedy> {
        self.of(&id(group, files, block_kib))
    }

    /// The one of a group that has one, at F = 100,000, B = 4 KiB.
    pub(super) fn usual(self, group: &str) -> Option<Greedy> {
        self.greedy(group, USUAL.0, USUAL.1)
    }

    pub(super) fn rate(self, group: &str) -> Option<Rate> {
        self.of(&id(group, USUAL.0, USUAL.1))
    }

    pub(super) fn reading(self, group: &str) -> Option<Reading> {
        self.of(&id(group, USUAL.0, USUAL.1))
    }

    /// Rate of a cell of the matrix, MB/s.
    pub(super) fn v(self, files: u64, block_kib: u64) -> Option<f64> {
        self.greedy("matrix", files, block_kib).map(|cell| cell.mb_per_s())
    }

    /// Why a cell has no numbers.
    pub(super) fn missing(self, group: &str, files: u64, block_kib: u64) -> Option<String> {
        let id = id(group, files, block_kib);
        if self.0.data(&id).is_some() {
            return None;
        }
        let reason = self.0.unavailable(&id).map(str::to_owned);
        Some(reason.unwrap_or_else(|| format!("not measured in this run ({id})")))
    }

    /// F and B (KiB) of the cells of a group that have numbers, by F, then B.
    pub(super) fn cells(self, group: &str) -> Vec<(u64, u64)> {
        let mut cells: Vec<(u64, u64)> = self
            .0
            .cells
            .keys()
            .filter(|id| self.0.data(id).is_some())
            .filter_map(|id| {
                let rest = id.strip_prefix(group)?.strip_prefix("/F=")?;
                let (files, block) = rest.split_once("/B=")?;
                Some((files.parse().ok()?, block.strip_suffix('K')?.parse().ok()?))
            })
            .collect();
        cells.sort_unstable();
        cells
    }

    pub(super) fn setting(self, name: &str) -> &'a str {
        self.0.head.settings.get(name).and_then(|value| value.as_str()).unwrap_or("-")
    }

    pub(super) fn scale(self) -> Scale {
        let scale = self.0.head.settings.get("scale").and_then(serde_json::Value::as_u64);
        Scale(scale.unwrap_or(1).max(1))
    }
}

fn id(group: &str, files: u64, block_kib: u64) -> String {
    format!("{group}/F={files}/B={block_kib}K")
}

/// What was measured of the paper's two devices.
#[derive(Clone, Copy, Debug)]
pub(super) struct Records<'a> {
    /// As the HDD: a model of one, or whatever is no SSD.
    pub(super) hdd: Option<Record<'a>>,
    /// As the SSD.
    pub(super) ssd: Option<Record<'a>>,
    /// What is ours is told of the first.
    pub(super) first: Option<Record<'a>>,
}

/// Puts the paper's tables, figures and claims beside what was measured; of several measurements,
/// one for each device, the first leads.
#[must_use]
pub fn study(first: &Measurement, others: &[Measurement]) -> Study {
    let all = std::iter::once(first).chain(others);
    let records: Vec<Record<'_>> =
        all.filter(|one| one.head.experiment == NAME).map(Record).collect();
    let is_ssd = |record: &Record<'_>| {
        let device = record.setting("device");
        let rotates = record.0.head.machine.fact("rotational") == Some("1");
        device == Device::Ssd.name() || (device == Device::None.name() && !rotates)
    };
    let all = Records {
        hdd: records.iter().copied().find(|record| !is_ssd(record)),
        ssd: records.iter().copied().find(is_ssd),
        first: records.first().copied(),
    };
    let mut machine =
        all.first.map_or_else(Machine::default, |record| record.0.head.machine.clone());
    for name in ["device", "extent", "stand"] {
        let text = all.first.map_or("-", |record| record.setting(name));
        machine = machine.with(&format!("measured as: {name}"), text);
    }
    Study {
        title: "Portions of sensor data into many files".to_owned(),
        paper:
            "Paper C: experiments with the performance of storing sensor data (ext4 and f2fs, HDD \
                and SSD, Linux 3.16; in Russian)"
                .to_owned(),
        machine,
        tables: tables::all(&all),
        figures: figures::all(&all),
        claims: claims::all(&all),
        notes: notes(&all, 1 + others.len()),
        rows: Vec::new(),
    }
}

fn notes(all: &Records<'_>, given: usize) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(first) = all.first else {
        notes.push(format!("none of {given} measurements is of baro bench files"));
        return notes;
    };
    let scale = first.scale();
    notes.push(format!(
        "sizes are the paper's divided by {}: file system {} MB (100 GB), cache {} MB (6 GB); F is the \
         paper's, and F = 100,000 are {} files here; B, request sizes and times are not divided",
        scale.0,
        scale.capacity_bytes() / 1_000_000,
        scale.cache_bytes() / 1_000_000,
        scale.files(100_000)
    ));
    if first.setting("extent") != "full" {
        notes.push(
            "a cell is measured for seconds, until its rate is steady, not for 60 minutes: large F may \
             not have come to their first renaming (--full)"
                .to_owned(),
        );
    }
    match first.setting("device") {
        "none" => {}
        device => notes.push(format!(
            "the device is modelled ({device}): bytes and requests a second, for reads and writes each; \
             not modelled is how far a disk seeks, so neighbouring small requests cost as much as \
             distant ones"
        )),
    }
    if first.setting("stand") == "none" {
        notes.push(
            "measured without root: in the folder itself, no new file system for each cell, cache not \
             limited, requests not counted"
                .to_owned(),
        );
    }
    let mut said: Vec<String> = Vec::new();
    for (files, block_kib) in first.cells("matrix") {
        let cell = first.greedy("matrix", files, block_kib);
        let traffic = cell.as_ref().and_then(|cell| cell.synced.as_ref());
        let missing = traffic.and_then(|traffic| traffic.missing.clone());
        let mut found = cell.as_ref().map_or(Vec::new(), |cell| cell.notes.clone());
        found.extend(
            missing.map(|reason| format!("classes of requests were not counted: {reason}")),
        );
        for note in found.into_iter().filter(|note| !note.contains("events of the tracer")) {
            if !said.contains(&note) {
                said.push(note);
            }
        }
    }
    notes.append(&mut said);
    notes.push(
        "journal blocks are class WS in the paper's kernel and WSM in those since 6.1, which mark them \
         as metadata too"
            .to_owned(),
    );
    notes.push(
        "Kwa and classes are counted from the first write until all that was left in memory is synced, \
         so that a short run is not flattered by its cache; what came during the run alone is in the \
         measurement (`during`)"
            .to_owned(),
    );
    notes.push(
        "the store gets the same portions as samples of 16 bytes, of as many sensors as there were \
         files; values are random, times regular and so nearly free in its log, which is how its Kwa \
         falls below 1; each portion counts when it is durable"
            .to_owned(),
    );
    notes.push("striping over several disks is out of scope".to_owned());
    notes
}
