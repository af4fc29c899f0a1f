//! From measurements to the result, without the machine.
//!
//! Several measurements may be put together, one for each device: table 3 and figures 2 to 6 are the
//! paper's HDD, tables 4 and 5 and figures 7 and 8 its SSD. Of each the first measurement of that
//! device serves; for a table whose device was not measured every row says so.
//!
//! Invariant: nothing is drawn, printed or judged that is not in a measurement or printed in the
//! paper. Held by `a_committed_measurement_gives_the_expected_text`.

use super::model::Device;
use super::records::{Record, Records};
use super::{NAME, claims, figures, tables};
use baro_bench::experiment::{Machine, Measurement, Study};

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
        notes.push(format!("none of {given} measurements is of baro-lab files"));
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
    notes.push(format!(
        "that an SSD for {} TB lasts {} days at 100 MB/s (section 4.3.1) is arithmetic on printed numbers, \
         and no claim to be judged; baro plan makes it with yours",
        super::paper::ENDURANCE_TB,
        super::paper::LIFETIME_DAYS
    ));
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
