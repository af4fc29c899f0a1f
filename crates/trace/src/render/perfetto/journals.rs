//! The tracks of one journal: its transactions with their stages, its space.

use super::packet::{Arg, Event, Kind, Packets, Track};
use crate::record::Device;
use crate::render::View;
use crate::render::lanes::Rows;
use crate::render::series::{Space, not_home, space};
use crate::render::stages::{bounds, stages};
use crate::timeline::{Journal, JournalSample, ListLengths, Transaction};
use std::io;

/// Rows of transactions: one runs while one commits; more only if times are missing.
const ROWS_MAX: usize = 16;

/// A counter of samples: name, unit, value.
type OfSample = (&'static str, &'static str, fn(&JournalSample) -> u64);
/// A counter of lists: name, unit, value.
type OfLists = (&'static str, &'static str, fn(&ListLengths) -> u64);

const OF_SAMPLES: [OfSample; 6] = [
    ("reserved credits", "blocks", |one| one.reserved_credits),
    ("running transaction: credits", "blocks", |one| one.running_credits),
    ("running transaction: open handles", "handles", |one| one.running_updates.into()),
    ("committing transaction: credits", "blocks", |one| one.committing_credits),
    ("not home", "blocks", |one| one.checkpoint_blocks),
    ("largest transaction", "blocks", |one| one.max_transaction_blocks),
];

const OF_LISTS: [OfLists; 6] = [
    ("list: files with data", "files", |one| one.data_files),
    ("list: reserved", "blocks", |one| one.reserved),
    ("list: metadata", "blocks", |one| one.metadata),
    ("list: being logged", "blocks", |one| one.shadow),
    ("list: forgotten", "blocks", |one| one.forget),
    ("list: to be brought home", "blocks", |one| one.checkpoint),
];

pub(super) fn write(
    view: &View<'_>,
    device: Device,
    journal: &Journal,
    packets: &mut Packets<'_>,
) -> io::Result<()> {
    let top = Track { kind: Kind::Journal, id: device.0, row: 0 };
    packets.track(top, None, &format!("journal of {}", view.device_name(device)))?;
    transactions(top, journal, packets)?;
    points(view, top, journal, packets)?;
    counters(top, journal, packets)
}

fn transactions(top: Track, journal: &Journal, packets: &mut Packets<'_>) -> io::Result<()> {
    let mut all: Vec<(u64, Option<u64>, &Transaction)> = Vec::new();
    for one in journal.transactions.values() {
        if let Some((begin_ns, end_ns)) = bounds(&stages(one)) {
            all.push((begin_ns, end_ns, one));
        }
    }
    all.sort_by_key(|(begin_ns, end_ns, one)| (*begin_ns, *end_ns, one.tid));
    let mut rows = Rows::new(ROWS_MAX);
    for (begin_ns, end_ns, one) in all {
        let known = rows.rows();
        let name = format!("transaction {}", one.tid);
        let args = args(one);
        let event = Event { name: &name, category: "journal", args: &args, ..Event::default() };
        let Some(row) = rows.place((begin_ns, end_ns.unwrap_or(u64::MAX))) else {
            packets.instant(top, begin_ns, &event)?;
            continue;
        };
        let on = Track { kind: Kind::Transactions, row: row as u32, ..top };
        if row >= known {
            packets.track(on, Some(top), "transactions")?;
        }
        packets.begin(on, begin_ns, &event)?;
        for stage in stages(one) {
            let event = Event { name: &stage.label, category: "stage", ..Event::default() };
            packets.begin(on, stage.begin_ns, &event)?;
            if let Some(end_ns) = stage.end_ns {
                packets.end(on, end_ns)?;
            }
        }
        if let Some(end_ns) = end_ns {
            packets.end(on, end_ns)?;
        }
    }
    Ok(())
}

fn args(one: &Transaction) -> Vec<(&'static str, Arg)> {
    let mut args = vec![
        ("handles_seen", Arg::Uint(one.handles_seen)),
        ("data_files", Arg::Uint(one.data_files)),
        ("data_pages", Arg::Uint(one.data_pages)),
    ];
    args.extend(one.commit_duration_ns().map(|ns| ("commit_ns", Arg::Uint(ns))));
    if let Some(stats) = &one.stats {
        args.push(("handles", Arg::Uint(stats.handles.into())));
        args.push(("blocks", Arg::Uint(stats.blocks.into())));
        args.push(("blocks_logged", Arg::Uint(stats.blocks_logged.into())));
    }
    if let Some(checkpoint) = &one.checkpoint {
        args.push(("checkpoint_written", Arg::Uint(checkpoint.written.into())));
        args.push(("checkpoint_dropped", Arg::Uint(checkpoint.dropped.into())));
        args.push(("checkpoint_forced_to_close", Arg::Uint(checkpoint.forced_to_close.into())));
    }
    args
}

/// What happened to the journal at one time.
fn points(
    view: &View<'_>,
    top: Track,
    journal: &Journal,
    packets: &mut Packets<'_>,
) -> io::Result<()> {
    let by = |pid: i32| ("by", Arg::Text(format!("{} {pid}", view.task_name(pid))));
    for tail in &journal.tails {
        let args = [
            ("freed_blocks", Arg::Uint(tail.freed_blocks)),
            ("oldest_transaction", Arg::Uint(tail.first_tid.into())),
            by(tail.pid),
        ];
        let event =
            Event { name: "tail moved", category: "space", args: &args, ..Event::default() };
        packets.instant(top, tail.time_ns, &event)?;
    }
    for call in &journal.checkpoints {
        let args = [("result", Arg::Int(call.result.into())), by(call.pid)];
        let name = "called for space";
        let event = Event { name, category: "space", args: &args, ..Event::default() };
        packets.instant(top, call.time_ns, &event)?;
    }
    for (time_ns, stall_ms) in &journal.buffer_stalls {
        let args = [("stall_ms", Arg::Uint(*stall_ms))];
        let name = "a block's lock was waited for";
        let event = Event { name, category: "space", args: &args, ..Event::default() };
        packets.instant(top, *time_ns, &event)?;
    }
    Ok(())
}

fn counters(top: Track, journal: &Journal, packets: &mut Packets<'_>) -> io::Result<()> {
    let mut row = 0;
    let mut next = || {
        row += 1;
        Track { kind: Kind::JournalCounter, row, ..top }
    };
    let mut series = |name: &str, unit: &str, values: &mut dyn Iterator<Item = (u64, u64)>| {
        let on = next();
        let mut values = values.peekable();
        if values.peek().is_some() {
            packets.counter_track(on, top, name, unit)?;
        }
        values.try_for_each(|(time_ns, value)| packets.counter(on, time_ns, value))
    };
    match space(journal) {
        Space::Free(values) => series("free", "blocks", &mut values.into_iter())?,
        Space::UsedAtLeast(values) => {
            series("in use, at least (estimated)", "blocks", &mut values.into_iter())?;
        }
        Space::Unknown => {}
    }
    let home = &mut not_home(journal).into_iter();
    series("committed but not home, at least", "transactions", home)?;
    for (name, unit, value) in OF_SAMPLES {
        let samples = journal.samples.iter();
        series(name, unit, &mut samples.map(|one| (one.time_ns, value(one))))?;
    }
    for (name, unit, value) in OF_LISTS {
        let lists = journal.transactions.values().flat_map(|one| &one.lists);
        series(name, unit, &mut lists.map(|one| (one.time_ns, value(one))))?;
    }
    Ok(())
}
