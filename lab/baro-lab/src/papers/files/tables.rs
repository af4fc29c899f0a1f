//! The paper's tables, and what its charts show as tables; then ours.

use super::paper::{self, Printed};
use super::plan::USUAL;
use super::records::{Record, Records};
use super::{Greedy, Scale};
use baro_bench::experiment::{Column, Pair, Row, Table};

/// In the paper's order, then ours.
const CLASSES: [&str; 8] = ["R", "RM", "RS", "RSM", "W", "WM", "WS", "WSM"];

/// All tables.
pub(super) fn all(all: &Records<'_>) -> Vec<Table> {
    let table_3 = ("Table 3", "HDD, ext4", "hdd");
    let table_4 = ("Table 4", "SSD, ext4", "ssd");
    let table_5 = ("Table 5", "SSD, f2fs", "ssd");
    let mut tables = vec![
        classes(table_3, &paper::TABLE_3, all.hdd, "matrix"),
        classes(table_4, &paper::TABLE_4, all.ssd, "matrix"),
        classes(table_5, &paper::TABLE_5, all.ssd, "f2fs"),
    ];
    if let Some(record) = all.hdd {
        tables.push(rates("Figure 4", "HDD, ext4", record, &paper::TABLE_3));
        tables.push(variations(record));
        tables.push(layers(record));
    }
    if let Some(record) = all.ssd {
        tables.push(rates("Figure 7", "SSD, ext4", record, &paper::TABLE_4));
    }
    if let Some(record) = all.first {
        tables.push(store(record));
        tables.push(kept(record));
        tables.push(reads(record));
    }
    tables
}

/// Shares and means by class, v and Kwa: the paper's rows, then the other cells.
fn classes(
    (id, caption, device): (&str, &str, &str),
    printed: &'static [Printed],
    record: Option<Record<'_>>,
    group: &str,
) -> Table {
    let mut rows: Vec<Row> = printed
        .iter()
        .map(|row| {
            let (files, kib) = (row.files, row.block_kib);
            let cell = record.and_then(|record| record.greedy(group, files, kib));
            let missing = record.map_or(
                Some(format!("no {device} was measured: baro-lab files --device {device}")),
                |record| record.missing(group, files, kib),
            );
            class_row(record, files, kib, Some(row), cell.as_ref(), missing)
        })
        .collect();
    for (files, kib) in record.map_or(Vec::new(), |record| record.cells(group)) {
        if paper::find(printed, files, kib).is_none() {
            let cell = record.and_then(|record| record.greedy(group, files, kib));
            rows.push(class_row(record, files, kib, None, cell.as_ref(), None));
        }
    }
    let mut columns = Vec::new();
    for class in CLASSES {
        columns.push(Column::new(format!("{class} %"), 1));
        columns.push(Column::new(format!("{class} KB"), 1));
    }
    columns.extend([Column::new("v MB/s", 2), Column::new("Kwa", 2)]);
    // Classes that nobody has are left out.
    let used: Vec<bool> = (0..columns.len())
        .map(|at| {
            rows.iter()
                .filter_map(|row| row.cells.get(at))
                .any(|pair| pair.paper.is_some() || pair.here.is_some_and(|value| value > 0.0))
        })
        .collect();
    let kept = |index: &usize| used.get(*index) == Some(&true);
    for row in &mut rows {
        let cells = row.cells.iter().enumerate().filter(|(at, _)| kept(at));
        row.cells = cells.map(|(_, pair)| *pair).collect();
    }
    let columns = columns.into_iter().enumerate().filter(|(at, _)| kept(at));
    Table {
        id: id.to_owned(),
        caption: format!(
            "{caption}: share of the volume (%) and mean request (KB) of each class, rate, write \
             amplification"
        ),
        first: "cell".to_owned(),
        columns: columns.map(|(_, column)| column).collect(),
        rows,
    }
}

fn class_row(
    record: Option<Record<'_>>,
    files: u64,
    kib: u64,
    printed: Option<&Printed>,
    cell: Option<&Greedy>,
    missing: Option<String>,
) -> Row {
    let mut cells = Vec::new();
    for class in CLASSES {
        let (paper_share, paper_mean) = printed.map_or((None, None), |row| row.class(class));
        let traffic = cell.and_then(|cell| cell.synced.as_ref());
        let (share, mean) = traffic.map_or((None, None), |traffic| traffic.share_and_mean(class));
        cells.push(Pair::new(paper_share, share));
        cells.push(Pair::new(paper_mean, mean));
    }
    cells.push(Pair::new(printed.map(|row| row.mb_per_s), cell.map(Greedy::mb_per_s)));
    cells.push(Pair::new(printed.map(|row| row.kwa), cell.and_then(Greedy::kwa)));
    Row { name: name(record, files, kib), cells, missing }
}

/// A cell with the paper's F, and ours where it is another.
fn name(record: Option<Record<'_>>, files: u64, kib: u64) -> String {
    let here = record.map_or(Scale(1), Record::scale).files(files);
    if here == files {
        format!("F={files} B={kib}K")
    } else {
        format!("F={files} ({here}) B={kib}K")
    }
}

/// B of the measured matrix.
pub(super) fn blocks(record: Record<'_>) -> Vec<u64> {
    let mut blocks: Vec<u64> = record.cells("matrix").into_iter().map(|cell| cell.1).collect();
    blocks.sort_unstable();
    blocks.dedup();
    blocks
}

/// F of the measured matrix.
pub(super) fn files(record: Record<'_>) -> Vec<u64> {
    let mut files: Vec<u64> = record.cells("matrix").into_iter().map(|cell| cell.0).collect();
    files.dedup();
    files
}

fn rates(id: &str, caption: &str, record: Record<'_>, printed: &'static [Printed]) -> Table {
    let blocks = blocks(record);
    let row = |files: u64| {
        let pair = |kib: &u64| {
            let paper = paper::find(printed, files, *kib).map(|row| row.mb_per_s);
            Pair::new(paper, record.v(files, *kib))
        };
        let here = record.scale().files(files);
        Row {
            name: format!("{files} ({here})"),
            cells: blocks.iter().map(pair).collect(),
            missing: None,
        }
    };
    Table {
        id: format!("{id} as a table"),
        caption: format!(
            "{caption}: rate (MB/s) by F and B; of the paper what its tables print, the chart has no \
             numbers"
        ),
        first: "F (here)".to_owned(),
        columns: blocks.iter().map(|kib| Column::new(format!("B={kib}K"), 2)).collect(),
        rows: files(record).into_iter().map(row).collect(),
    }
}

fn variations(record: Record<'_>) -> Table {
    let base = record.usual("matrix");
    let row = |(group, paper): (&str, f64)| {
        let cell = if group == "base" { base.clone() } else { record.usual(group) };
        let v = cell.as_ref().map(Greedy::mb_per_s);
        let of_base = v.zip(base.as_ref()).map(|(v, base)| v / base.mb_per_s());
        let paper_base = paper::find(&paper::TABLE_3, USUAL.0, USUAL.1).map(|row| row.mb_per_s);
        let group_of = if group == "base" { "matrix" } else { group };
        Row {
            name: group.to_owned(),
            cells: vec![
                Pair::new(Some(paper), of_base),
                Pair::new(paper_base.map(|base| base * paper), v),
                Pair::here(cell.as_ref().and_then(Greedy::kwa)),
            ],
            missing: record.missing(group_of, USUAL.0, USUAL.1),
        }
    };
    Table {
        id: "Figure 5 as a table".to_owned(),
        caption:
            "F = 100,000, B = 4K varied: flat directory, 16 writers, half and a quarter of the \
                  cache; the paper's rates from its text's percentages"
                .to_owned(),
        first: "variation".to_owned(),
        columns: vec![Column::new("of base", 2), Column::new("v MB/s", 2), Column::new("Kwa", 2)],
        rows: paper::FIGURE_5.into_iter().map(row).collect(),
    }
}

/// Part of the memory that the buffers of a layer take.
pub(super) fn layer_share(record: Record<'_>, kib: u64) -> f64 {
    let bytes = record.scale().files(USUAL.0) * (kib << 10);
    bytes as f64 / record.scale().memory_bytes() as f64
}

fn layers(record: Record<'_>) -> Table {
    let mut blocks: Vec<u64> = vec![4, 16, 32, 48, 64, 128];
    blocks.extend(record.cells("layer").into_iter().map(|cell| cell.1));
    blocks.sort_unstable();
    blocks.dedup();
    let row = |kib: u64| Row {
        name: format!("B={kib}K"),
        cells: vec![
            Pair::here(Some(layer_share(record, kib) * 100.0)),
            Pair::here(record.greedy("layer", USUAL.0, kib).map(|cell| cell.mb_per_s())),
            Pair::here(record.v(USUAL.0, kib)),
        ],
        missing: record.missing("layer", USUAL.0, kib),
    };
    Table {
        id: "Figure 6 as a table".to_owned(),
        caption:
            "a buffer of B for each of 100,000 files and the cache share the paper's 8 GB; beside \
                  it the rate with few buffers and all of the cache (MB/s)"
                .to_owned(),
        first: "B".to_owned(),
        columns: vec![
            Column::new("buffers, % of memory", 0),
            Column::new("v full layer", 2),
            Column::new("v matrix", 2),
        ],
        rows: blocks.into_iter().map(row).collect(),
    }
}

fn store(record: Record<'_>) -> Table {
    let mut all: Vec<u64> = record.cells("store").into_iter().map(|cell| cell.0).collect();
    all.dedup();
    let row = |files: u64| {
        let (cell, store) =
            (record.greedy("matrix", files, USUAL.1), record.greedy("store", files, USUAL.1));
        let v = |cell: &Option<Greedy>| cell.as_ref().map(Greedy::mb_per_s);
        let share = |class| {
            let traffic = store.as_ref()?.synced.as_ref()?;
            traffic.share_and_mean(class).0
        };
        Row {
            name: name(Some(record), files, USUAL.1),
            cells: vec![
                Pair::here(v(&cell)),
                Pair::here(v(&store)),
                Pair::here(cell.as_ref().and_then(Greedy::kwa)),
                Pair::here(store.as_ref().and_then(Greedy::kwa)),
                Pair::here(share("W").zip(share("WS")).map(|(w, ws)| w + ws)),
                Pair::here(share("WM").zip(share("WSM")).map(|(wm, wsm)| wm + wsm)),
            ],
            missing: record.missing("store", files, USUAL.1),
        }
    };
    Table {
        id: "Table 6".to_owned(),
        caption: "ours: the same portions from F sensors into Barograph's store, beside the files"
            .to_owned(),
        first: "cell".to_owned(),
        columns: vec![
            Column::new("files MB/s", 2),
            Column::new("store MB/s", 2),
            Column::new("files Kwa", 2),
            Column::new("store Kwa", 2),
            Column::new("store W+WS %", 1),
            Column::new("store WM+WSM %", 1),
        ],
        rows: all.into_iter().map(row).collect(),
    }
}

fn kept(record: Record<'_>) -> Table {
    let row = |(group, name): (&str, &str)| {
        let rate = record.rate(group);
        let found = rate.as_ref().map(|rate| &rate.found);
        let mb = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e6);
        Row {
            name: name.to_owned(),
            cells: vec![
                Pair::here(found.and_then(|found| mb(found.kept_bytes_per_s))),
                Pair::here(found.and_then(|found| mb(found.failed_bytes_per_s))),
                Pair::here(found.map(|found| found.trials.len() as f64)),
            ],
            missing: record.missing(group, USUAL.0, USUAL.1),
        }
    };
    Table {
        id: "Table 7".to_owned(),
        caption:
            "ours: the highest given rate that is kept up with, F = 100,000, B = 4K, by bisection"
                .to_owned(),
        first: "written by".to_owned(),
        columns: vec![
            Column::new("kept up with MB/s", 2),
            Column::new("not kept up with MB/s", 2),
            Column::new("rates tried", 0),
        ],
        rows: [("rate-files", "files"), ("rate-store", "store")].into_iter().map(row).collect(),
    }
}

/// Median of a few.
pub(super) fn median(values: &[u64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values.get(values.len() / 2).map(|value| *value as f64)
}

fn reads(record: Record<'_>) -> Table {
    let mut rows = Vec::new();
    for (group, text) in [
        ("read-log", "F=1: one log, read whole"),
        ("read-files", "F=S: the sensor's file"),
        ("read-store", "store, as recorded"),
    ] {
        let reading = record.reading(group);
        let Some(reading) = reading else {
            rows.push(Row {
                name: text.to_owned(),
                cells: vec![Pair::default(); 4],
                missing: record.missing(group, USUAL.0, USUAL.1),
            });
            continue;
        };
        for way in &reading.ways {
            let mb = |bytes: f64| bytes / 1e6;
            let name = if way.name == "store settled" { "store, settled" } else { text };
            rows.push(Row {
                name: name.to_owned(),
                cells: vec![
                    Pair::here(median(&way.took_ns).map(|ns| ns / 1e6)),
                    Pair::here(median(&way.read_bytes).map(mb)),
                    Pair::here(Some(mb(reading.bytes as f64))),
                    Pair::here(Some(mb(reading.wanted_bytes as f64))),
                ],
                missing: None,
            });
        }
    }
    Table {
        id: "Table 8".to_owned(),
        caption:
            "ours: one sensor over a quarter of the time, nothing in memory; medians of three \
                  sensors"
                .to_owned(),
        first: "read from".to_owned(),
        columns: vec![
            Column::new("ms", 1),
            Column::new("device read MB", 3),
            Column::new("all samples MB", 1),
            Column::new("wanted MB", 3),
        ],
        rows,
    }
}
