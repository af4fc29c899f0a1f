//! The paper's tables 3 to 8 with the figures from here beside, then ours.

use super::printed::{Printed, TABLE_3, TABLES, WEIGHTS};
use super::read::{Record, Repeats, Spread};
use super::row::{Case, Direction, Load, Task};
use super::setting::Setting;
use baro_bench::experiment::{Column, Pair, Row, Table};
use std::collections::BTreeSet;

const TWO_TO_ONE: &[u16] = &[2, 1];

pub(super) fn tables(record: &Record) -> Vec<Table> {
    let mut tables = vec![table_3(record)];
    tables.extend(TABLES.iter().map(|printed| by_size(record, printed)));
    tables.extend([
        ours(record),
        weights(record),
        alone(record),
        change(record),
        deadlines(record),
    ]);
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn median(spread: Option<Spread>) -> Option<f64> {
    spread.map(|spread| spread.median)
}

fn count(number: Option<u64>) -> Option<f64> {
    number.map(|number| number as f64)
}

fn flag(late: bool) -> f64 {
    f64::from(u8::from(late))
}

fn table(id: &str, caption: &str, first: &str, columns: Vec<Column>, rows: Vec<Row>) -> Table {
    Table { id: id.to_owned(), caption: caption.to_owned(), first: first.to_owned(), columns, rows }
}

/// A player's cell.
fn player(record: &Record, setting: Setting, load: Option<Load>) -> Option<Repeats<'_>> {
    record.find(&Case { task: Task::Player, weights: TWO_TO_ONE.to_vec(), setting, load })
}

fn table_3(record: &Record) -> Table {
    let mut rows = Vec::new();
    let mut row = |name: String, late: Option<bool>, load: Option<Load>| {
        let found = |setting| player(record, setting, load);
        let frames = |setting| count(found(setting).and_then(|one| one.late_frames()));
        let any = found(Setting::Default).or(found(Setting::Auto));
        rows.push(Row {
            name,
            cells: vec![
                Pair::new(late.map(flag), frames(Setting::Default)),
                Pair::here(frames(Setting::Auto)),
                Pair::here(frames(Setting::Fixed)),
                Pair::here(count(any.and_then(|one| one.frames()))),
                Pair::here(any.and_then(|one| one.part_read()).map(|part| part * 100.0)),
            ],
            missing: None,
        });
    };
    for (block_mb, direct, direction, late) in TABLE_3 {
        let kind = if direct { "direct" } else { "buffered" };
        let load = Load { direct, ..Load::direct(direction, block_mb) };
        row(format!("{block_mb} MB, {kind} {}", direction.name()), Some(late), Some(load));
    }
    if player(record, Setting::Default, None).or(player(record, Setting::Auto, None)).is_some() {
        row("no load".to_owned(), None, None);
    }
    let columns = vec![
        Column::new("default: late", 0),
        Column::new("auto: late", 0),
        Column::new("fixed: late", 0),
        Column::new("frames", 0),
        Column::new("from device %", 0),
    ];
    let caption = "frames of the video that were late beside a load (paper: 1 is late, 0 is not); of \
                   several repeats the worst";
    table("Table 3", caption, "load", columns, rows)
}

/// Tables 4 to 8, with the sizes that were measured here besides.
fn by_size(record: &Record, printed: &Printed) -> Table {
    let Printed { setting, direction, .. } = *printed;
    let measured = record.all().filter_map(|repeats| {
        let load = repeats.case.load?;
        let fits = repeats.case.task == Task::Pair
            && repeats.case.weights == TWO_TO_ONE
            && repeats.case.setting == setting
            && load == Load::direct(direction, load.block_mb);
        fits.then_some(load.block_mb)
    });
    let sizes: BTreeSet<u64> =
        printed.rows.iter().map(|(block_mb, ..)| *block_mb).chain(measured).collect();
    let rows = sizes.into_iter().map(|block_mb| {
        let paper = printed.rows.iter().find(|row| row.0 == block_mb);
        let here = record.pair(TWO_TO_ONE, setting, direction, block_mb);
        let late = player(record, setting, Some(Load::direct(direction, block_mb)));
        let mut cells = figures(paper.map(|row| [row.1, row.2, row.3]), here);
        cells.push(Pair::new(
            paper.map(|row| flag(row.4)),
            count(late.and_then(|late| late.late_frames())),
        ));
        Row { name: block_mb.to_string(), cells, missing: None }
    });
    let mut columns = columns();
    columns.push(Column::new("late", 0));
    let caption = format!(
        "{}, direct {}s of fio, weights 2:1: by size of I/O in MB; late: of a player beside it (paper: 1 \
         is late)",
        setting.name(),
        direction.name()
    );
    table(printed.id, &caption, "MB", columns, rows.collect())
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("A MB/s", 1),
        Column::new("B MB/s", 1),
        Column::new("A:B", 2),
        Column::new("least", 2),
        Column::new("most", 2),
        Column::new("total MB/s", 1),
    ]
}

fn figures(paper: Option<[f64; 3]>, here: Option<Repeats<'_>>) -> Vec<Pair> {
    let [a, b, ratio] = paper.map_or([None; 3], |row| row.map(Some));
    let of = here.and_then(|here| here.ratio());
    vec![
        Pair::new(a, median(here.and_then(|here| here.rate(0)))),
        Pair::new(b, median(here.and_then(|here| here.rate(1)))),
        Pair::new(ratio, median(of)),
        Pair::here(of.map(|ratio| ratio.low)),
        Pair::here(of.map(|ratio| ratio.high)),
        Pair::new(a.zip(b).map(|(a, b)| a + b), median(here.and_then(|here| here.total()))),
    ]
}

/// All pairs at 2:1 of settings that the paper has no table of, and psync.
fn ours(record: &Record) -> Table {
    let in_the_paper = |case: &Case| {
        let printed = |one: &Printed| {
            one.setting == case.setting
                && case.load.is_some_and(|load| {
                    !load.psync && load.direct && load.direction == one.direction
                })
        };
        TABLES.iter().any(printed)
    };
    let fits = |repeats: &Repeats<'_>| {
        let case = repeats.case;
        case.task == Task::Pair && case.weights == TWO_TO_ONE && !in_the_paper(case)
    };
    let rows = record.all().filter(fits).filter_map(|repeats| {
        let load = repeats.case.load?;
        let mut cells = figures(None, Some(repeats));
        let pieces = repeats.piece_bytes().unwrap_or_default();
        for group in 0..2 {
            let mb = pieces.get(group).map(|bytes| *bytes as f64 / f64::from(1 << 20));
            cells.push(Pair::here(mb));
        }
        cells.push(Pair::here(Some(repeats.counted("calls_cut") as f64)));
        cells.push(Pair::here(Some(repeats.count() as f64)));
        let (setting, direction) = (repeats.case.setting.name(), load.direction.name());
        let name = format!("{setting}, {direction} {} MB, {}", load.block_mb, load.engine());
        Some(Row { name, cells, missing: None })
    });
    let mut columns = columns();
    columns.extend([
        Column::new("piece A MB", 1),
        Column::new("piece B MB", 1),
        Column::new("calls cut", 0),
        Column::new("repeats", 0),
    ]);
    let caption = "ours: weights 2:1 with what the library sets and with pieces; fixed is the paper's \
                   method (30 MB read, 10 MB written) without changing fio";
    table("Table B1", caption, "setting, load, engine", columns, rows.collect())
}

/// Figures 8 and 9 as numbers: each group's rate in parts of what the lightest got for its weight.
fn weights(record: &Record) -> Table {
    let mut cases: BTreeSet<(Task, Vec<u16>, Setting, u64)> = WEIGHTS
        .iter()
        .map(|(weights, setting, mb, _)| (Task::Pair, weights.to_vec(), *setting, *mb))
        .collect();
    cases.extend(record.all().filter_map(|repeats| {
        let case = repeats.case;
        let load =
            case.load.filter(|load| *load == Load::direct(Direction::Read, load.block_mb))?;
        let fits = matches!(case.task, Task::Pair | Task::Nested) && case.weights != TWO_TO_ONE;
        fits.then(|| (case.task, case.weights.clone(), case.setting, load.block_mb))
    }));
    let rows = cases.iter().map(|(task, weights, setting, block_mb)| {
        let load = Load::direct(Direction::Read, *block_mb);
        let here = record.task(*task, weights, *setting, load);
        let printed = WEIGHTS
            .iter()
            .filter(|_| *task == Task::Pair)
            .find(|one| one.0 == weights && one.1 == *setting && one.2 == *block_mb)
            .map(|one| one.3);
        let last = weights.len().saturating_sub(1);
        let unit = here
            .and_then(|here| here.rate(last))
            .zip(weights.last())
            .map(|(rate, weight)| rate.median / f64::from(*weight));
        let mut cells: Vec<Pair> = (0..4)
            .map(|group| {
                let rate = median(here.and_then(|here| here.rate(group)));
                let part =
                    rate.zip(unit.filter(|unit| *unit > 0.0)).map(|(rate, unit)| rate / unit);
                Pair::new(printed.and_then(|row| row.get(group).copied()), part)
            })
            .collect();
        cells.push(Pair::here(median(here.and_then(|here| here.total()))));
        let asked: Vec<String> = weights.iter().map(u16::to_string).collect();
        let within = if *task == Task::Nested { ", B and C within one group" } else { "" };
        let name = format!("{}{within}, {}, {block_mb} MB", asked.join(":"), setting.name());
        Row { name, cells, missing: None }
    });
    let group = |name: &str| Column::new(name, 2);
    let columns =
        vec![group("A"), group("B"), group("C"), group("D"), Column::new("total MB/s", 1)];
    let caption =
        "other weights, direct reads: rates in parts of the lightest group's, times its weight";
    table("Table B2", caption, "weights, setting, size", columns, rows.collect())
}

fn alone(record: &Record) -> Table {
    let of = |task: Task| record.all().filter(move |repeats| repeats.case.task == task);
    let rows = [Task::Alone(0), Task::Alone(1)].into_iter().flat_map(of).filter_map(|repeats| {
        let load = repeats.case.load?;
        let device = record.task(Task::Device, &[1], Setting::Default, load);
        let device = median(device.and_then(|device| device.total()));
        let rate = median(repeats.total());
        let part = rate.zip(device.filter(|rate| *rate > 0.0)).map(|(rate, own)| rate / own);
        let (task, mb) = (repeats.case.task.name(), load.block_mb);
        Some(Row {
            name: format!(
                "{task}, {} {mb} MB, {}",
                load.direction.name(),
                repeats.case.setting.name()
            ),
            cells: vec![Pair::here(rate), Pair::here(device), Pair::here(part)],
            missing: None,
        })
    });
    let columns =
        vec![Column::new("MB/s", 1), Column::new("device alone MB/s", 1), Column::new("part", 3)];
    let caption =
        "ours: one of two groups alone, from 5 s on, beside the disk's own rate without sharing";
    table("Table B3", caption, "group, load", columns, rows.collect())
}

fn change(record: &Record) -> Table {
    let fits = |repeats: &Repeats<'_>| repeats.case.task == Task::Change;
    let rows = record.all().filter(fits).filter_map(|repeats| {
        let load = repeats.case.load?;
        let (setting, mb) = (repeats.case.setting.name(), load.block_mb);
        Some(Row {
            name: format!("{} {mb} MB, {setting}", load.direction.name()),
            cells: vec![
                Pair::here(median(repeats.settled_s(|settled| settled.rest_s))),
                Pair::here(median(repeats.settled_s(|settled| settled.one_s))),
                Pair::here(median(repeats.settled_s(|settled| settled.two_s))),
                Pair::here(median(repeats.settled_s(|settled| settled.four_s))),
                Pair::here(median(repeats.settled(|settled| settled.ratio_after_5_s))),
                Pair::here(median(repeats.settled(|settled| settled.back))),
            ],
            missing: None,
        })
    });
    let columns = vec![
        Column::new("all that follows s", 1),
        Column::new("1 s", 1),
        Column::new("2 s", 1),
        Column::new("4 s", 1),
        Column::new("A:B from 5 s", 2),
        Column::new("A again alone", 3),
    ];
    let caption = "ours: B begins after A has run alone for 10 s: seconds until the ratio over each 1, 2, \
                   4 s is within 5 % and stays so; A's part of its rate of before, once B has ended";
    table("Table B4", caption, "load", columns, rows.collect())
}

fn deadlines(record: &Record) -> Table {
    let fits = |repeats: &Repeats<'_>| repeats.case.task == Task::Deadline;
    let rows = record.all().filter(fits).filter_map(|repeats| {
        let load = repeats.case.load?;
        let (setting, mb) = (repeats.case.setting.name(), load.block_mb);
        Some(Row {
            name: format!("{} {mb} MB, {setting}", load.direction.name()),
            cells: vec![
                Pair::here(count(repeats.frames())),
                Pair::here(count(repeats.late_frames())),
                Pair::here(median(repeats.rate(0))),
                Pair::here(median(repeats.rate(1))),
            ],
            missing: None,
        })
    });
    let columns = vec![
        Column::new("reads", 0),
        Column::new("late", 0),
        Column::new("reader MB/s", 1),
        Column::new("load MB/s", 1),
    ];
    let caption = "ours: a reader of 256 KiB each 40 ms at random places (weight 2) beside a load (weight \
                   1): reads that were not there before the next was due";
    table("Table B5", caption, "load", columns, rows.collect())
}
