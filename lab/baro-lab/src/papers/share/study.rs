//! From measurements to the paper's tables and figures, and ours beside them. Pure.

use super::claims::claims;
use super::figures::figures;
use super::read::{Record, Repeats};
use super::tables::tables;
use baro_bench::experiment::{Measurement, Study};
use std::collections::BTreeSet;

/// The study of measurements, which may be parts of one: what is of one case counts as its repeats.
#[must_use]
pub fn study(first: &Measurement, others: &[Measurement]) -> Study {
    let record = Record::of(std::iter::once(first).chain(others));
    Study {
        title: "Bandwidth by weight, whatever the size of I/O: paper B, here".to_owned(),
        paper:
            "Bandwidth by weight with BFQ and large I/O: Linux 5.10.83, eMMC of 64 GB, fio with \
                weights 2:1. Printed figures are MB/s on that eMMC."
                .to_owned(),
        machine: first.head.machine.clone(),
        tables: tables(&record),
        figures: figures(&record),
        claims: claims(&record),
        notes: notes(&record, first, others),
        rows: record.all().map(|repeats| repeats.row()).collect(),
    }
}

fn notes(record: &Record, first: &Measurement, others: &[Measurement]) -> Vec<String> {
    let mut notes = Vec::new();
    let extent = first.head.settings.get("extent").and_then(|extent| extent.as_str());
    let seconds = first.head.settings.get("seconds").and_then(serde_json::Value::as_u64);
    if extent == Some("quick") {
        notes.push(format!(
            "--quick: a few cells of {} s each, without repeats; only longer ones are judged",
            seconds.unwrap_or(0)
        ));
    }
    for other in others {
        let place = |one: &Measurement| {
            let fact = |name| one.head.machine.fact(name).unwrap_or("-").to_owned();
            [fact("kernel"), fact("nr_requests"), fact("max_sectors_kb")]
        };
        if place(other) != place(first) {
            notes.push(
                "the files are of different kernels or queues: what is of one case is counted \
                 together nevertheless"
                    .to_owned(),
            );
        }
    }
    for (reason, case) in record.missing() {
        notes.push(format!("not measured: {case} and the like: skipped: {reason}"));
    }
    // A cut that did not happen would pass for one that does nothing.
    let uncut = |repeats: &Repeats<'_>| {
        let block = repeats.case.load.map_or(0, |load| load.block_bytes());
        let pieces = repeats.piece_bytes().unwrap_or_default();
        let expected = pieces.iter().any(|piece| *piece > 0 && *piece < block);
        expected && repeats.counted("calls_cut") == 0
    };
    for repeats in record.all().filter(uncut) {
        notes.push(format!("{}: no call was cut, though pieces were asked", repeats.case.name()));
    }
    let said: BTreeSet<String> = record
        .all()
        .flat_map(|repeats| {
            let name = repeats.case.name();
            repeats.notes().map(|note| format!("{name}: {note}")).collect::<Vec<_>>()
        })
        .collect();
    notes.extend(said);
    notes
}
