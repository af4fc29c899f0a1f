//! From measurements to the paper's tables and figures, and ours beside them. Pure.

use super::case::{CASES, UNITS_BYTES};
use super::claims::claims;
use super::printed::{self, MinMaxMean};
use super::read::Read;
use crate::experiment::chart::{BarChart, BoxChart, BoxPlot};
use crate::experiment::{Column, Figure, Measurement, Pair, Row, Study, Table};
use crate::papers::latency::Latency;

/// The study of one measurement, and of others (other media, other kernels) for table 2.
#[must_use]
pub fn study(first: &Measurement, others: &[Measurement]) -> Study {
    let read = Read(first);
    let mut tables = vec![table_1(&read), table_2(first, others), table_3(&read)];
    tables.extend([table_own(&read), table_units(&read), table_ways(&read), table_slow(&read)]);
    tables.retain(|table| !table.rows.is_empty());
    Study {
        title: "Recording without waiting: the cases of paper A, here".to_owned(),
        paper: "Latency of write() in real-time recording on ext4, IPSJ Journal 61(8), 1275-1284 \
                (2020). Printed figures: eMMC 5.0, two cores of 1 GHz, Linux 4.4."
            .to_owned(),
        machine: first.head.machine.clone(),
        tables,
        figures: vec![figure_4(&read), figure_5(&read), figure_own(&read)],
        claims: claims(&read, others),
        notes: notes(&read),
        rows: Vec::new(),
    }
}

fn us(ns: u64) -> f64 {
    ns as f64 / 1e3
}

/// Minimum, maximum, mean, 99.9th percentile, the machine's own longest delay meanwhile.
fn columns() -> Vec<Column> {
    let whole = |name: &str| Column::new(name, 0);
    vec![
        whole("min us"),
        whole("max us"),
        whole("mean us"),
        whole("p99.9 us"),
        whole("lost periods"),
        whole("noise max us"),
    ]
}

fn cells(paper: Option<MinMaxMean>, read: &Read<'_>, cell: Option<&str>) -> Vec<Pair> {
    let latency = cell.and_then(|cell| read.latency(cell));
    let of = |pick: fn(&Latency) -> f64| latency.as_ref().map(pick);
    let [min, max, mean] = paper.map_or([None; 3], |row| row.map(Some));
    let number = |key: &str| cell.and_then(|cell| read.0.number(cell, key));
    vec![
        Pair::new(min, of(|found| us(found.min_ns))),
        Pair::new(max, of(|found| us(found.max_ns))),
        Pair::new(mean, of(|found| found.mean_ns / 1e3)),
        Pair::here(of(|found| us(found.quantile_ns(0.999)))),
        Pair::here(number("lost_periods").or_else(|| number("lost"))),
        Pair::here(number("noise.max_ns").map(|ns| ns / 1e3)),
    ]
}

fn table_1(read: &Read<'_>) -> Table {
    let rows = CASES.iter().map(|case| {
        let cell = read.worst_set(case.name);
        Row {
            name: case.name.to_owned(),
            cells: cells(printed::table_1(case.name), read, cell.as_deref()),
            missing: read.why_not(case.name, case.flusher_off),
        }
    });
    Table {
        id: "Table 1".to_owned(),
        caption: format!(
            "latency of write(): {} writes a set, of {} sets the one with the largest maximum",
            read.setting("writes"),
            read.setting("sets")
        ),
        first: "case".to_owned(),
        columns: columns(),
        rows: rows.collect(),
    }
}

fn table_2(first: &Measurement, others: &[Measurement]) -> Table {
    let printed = printed::TABLE_2.iter().map(|(medium, kernel, case, row)| Row {
        name: format!("{case}, {medium}, Linux {kernel} (paper)"),
        cells: cells(Some(*row), &Read(first), None),
        missing: None,
    });
    let mut rows: Vec<Row> = printed.collect();
    for measurement in std::iter::once(first).chain(others) {
        let read = Read(measurement);
        for case in ["NONE", "ALL"] {
            let cell = read.worst_set(case);
            rows.push(Row {
                name: format!("{case}, {}", read.place()),
                cells: cells(None, &read, cell.as_deref()),
                missing: None,
            });
        }
        if let Some(cell) = read.worst_own("idle") {
            rows.push(Row {
                name: format!("Barograph, {}", read.place()),
                cells: cells(None, &read, Some(&cell)),
                missing: None,
            });
        }
    }
    Table {
        id: "Table 2".to_owned(),
        caption:
            "the same on other media and kernels; give several measurements to --study to see \
                  them side by side"
                .to_owned(),
        first: "case, medium, kernel".to_owned(),
        columns: columns(),
        rows,
    }
}

fn table_3(read: &Read<'_>) -> Table {
    let mut rows = Vec::new();
    for case in ["NONE", "ALL"] {
        let row = |reader: &str, printed, cell: Option<String>| Row {
            name: format!("{case}, {reader} reader"),
            cells: cells(printed, read, cell.as_deref()),
            missing: None,
        };
        rows.push(row("without", printed::table_1(case), read.worst_set(case)));
        let printed = printed::TABLE_3_WITH_READER.iter().find(|(name, _)| *name == case);
        rows.push(row("with", printed.map(|(_, row)| *row), Some(format!("reader/{case}"))));
    }
    let cell = "reader/barograph".to_owned();
    rows.push(Row {
        name: "Barograph's push, with reader".to_owned(),
        cells: cells(None, read, Some(&cell)),
        missing: None,
    });
    Table {
        id: "Table 3".to_owned(),
        caption: "latency of write() beside a sequential reader of 2 MiB reads".to_owned(),
        first: "case".to_owned(),
        columns: columns(),
        rows,
    }
}

fn table_own(read: &Read<'_>) -> Table {
    let rows = ["idle", "BGTRUNC", "BGALL"].map(|load| Row {
        name: format!("push, {load}"),
        cells: cells(None, read, read.worst_own(load).as_deref()),
        missing: None,
    });
    let rows = rows.into_iter().filter(|row| row.cells.iter().any(|pair| pair.here.is_some()));
    Table {
        id: "Table B1".to_owned(),
        caption:
            "the same load through Barograph: what the producer waits is push, and writing is \
                  the writer's"
                .to_owned(),
        first: "load".to_owned(),
        columns: columns(),
        rows: rows.collect(),
    }
}

fn table_units(read: &Read<'_>) -> Table {
    let rows = UNITS_BYTES.iter().filter_map(|bytes| {
        let cell = format!("unit/{bytes}");
        let latency = read.latency(&cell)?;
        Some(Row {
            name: format!("{} KiB", bytes >> 10),
            cells: vec![
                Pair::here(Some(us(latency.max_ns))),
                Pair::here(Some(us(latency.quantile_ns(0.999)))),
                Pair::here(read.flushed_bytes_per_s(*bytes).map(|rate| rate / 1e6)),
                Pair::here(read.0.number(&cell, "flush.max_ns").map(|ns| ns / 1e6)),
            ],
            missing: None,
        })
    });
    Table {
        id: "Table B2".to_owned(),
        caption:
            "unit of flushing (case ALL): the paper names the trade, throughput for dirty memory, \
                  without figures"
                .to_owned(),
        first: "unit".to_owned(),
        columns: vec![
            Column::new("write max us", 0),
            Column::new("write p99.9 us", 0),
            Column::new("flushed MB/s", 1),
            Column::new("flush max ms", 1),
        ],
        rows: rows.collect(),
    }
}

fn table_ways(read: &Read<'_>) -> Table {
    let mut columns = columns();
    columns.push(Column::new("refused", 0));
    let rows = read.ways().into_iter().map(|(cell, name)| {
        let mut cells = cells(None, read, Some(&cell));
        cells.push(Pair::here(read.0.number(&cell, "failed_writes")));
        let missing = read.0.unavailable(&cell).map(str::to_owned);
        Row { name, cells, missing }
    });
    Table {
        id: "Table B3".to_owned(),
        caption:
            "other ways to write, which the paper leaves open: what one block costs the producer"
                .to_owned(),
        first: "way, load".to_owned(),
        columns,
        rows: rows.collect(),
    }
}

/// What the slowest calls waited for.
fn table_slow(read: &Read<'_>) -> Table {
    let rows = read.outliers().into_iter().map(|(cell, outlier)| {
        let root = if outlier.root == outlier.cause || outlier.root.is_empty() {
            outlier.cause.clone()
        } else {
            format!("{}, behind it {}", outlier.cause, outlier.root)
        };
        Row {
            name: format!("{}: {}", cell.trim_start_matches("case/"), outlier.call),
            cells: vec![
                Pair::here(Some(us(outlier.wait_ns))),
                Pair::here(Some(us(outlier.unexplained_ns))),
            ],
            missing: Some(root),
        }
    });
    Table {
        id: "Table B4".to_owned(),
        caption: "the longest waits of each case, and what for, by the tracer".to_owned(),
        first: "case".to_owned(),
        columns: vec![Column::new("waited us", 0), Column::new("unexplained us", 0)],
        rows: rows.collect(),
    }
}

fn boxed(name: &str, latency: &Latency, paper: Option<MinMaxMean>) -> BoxPlot {
    BoxPlot {
        name: name.to_owned(),
        marks: latency.marks_us(),
        paper_max: paper.map(|[_, max, _]| max),
    }
}

fn figure_4(read: &Read<'_>) -> Figure {
    let boxes = CASES.iter().filter_map(|case| {
        let latency = read.latency(&read.worst_set(case.name)?)?;
        Some(boxed(case.name, &latency, printed::table_1(case.name)))
    });
    let own = ["idle", "BGTRUNC", "BGALL"].into_iter().filter_map(|load| {
        let latency = read.latency(&read.worst_own(load)?)?;
        Some(boxed(&format!("Barograph-{load}"), &latency, None))
    });
    let chart = BoxChart {
        title: "Latency of write(), and of Barograph's push".to_owned(),
        y: "us, logarithmic; red: the period of 5 ms".to_owned(),
        limit: Some(5_000.0),
        boxes: boxes.chain(own).collect(),
    };
    Figure {
        id: "Figure 4".to_owned(),
        caption: "distribution of the latency in each case of table 1".to_owned(),
        svg: chart.svg(),
    }
}

fn figure_5(read: &Read<'_>) -> Figure {
    let group = |name: &str| {
        let printed = printed::FIGURE_5.iter().find(|(known, _)| *known == name);
        let printed = printed.map(|(_, share)| share * 100.0);
        (name.to_owned(), vec![printed, read.reader_share(name).map(|share| share * 100.0)])
    };
    let chart = BarChart {
        title: "Throughput of a sequential reader beside the recorder".to_owned(),
        y: "% of its throughput alone".to_owned(),
        log: false,
        series: vec!["paper".to_owned(), "here".to_owned()],
        groups: vec![group("NONE"), group("ALL"), group("barograph")],
        digits: 0,
    };
    Figure {
        id: "Figure 5".to_owned(),
        caption: "a reader's throughput beside NONE, ALL and Barograph".to_owned(),
        svg: chart.svg(),
    }
}

fn figure_own(read: &Read<'_>) -> Figure {
    let boxes = read
        .ways()
        .into_iter()
        .filter_map(|(cell, name)| Some(boxed(&name, &read.latency(&cell)?, None)));
    let own = ["idle", "BGALL"].into_iter().filter_map(|load| {
        let latency = read.latency(&read.worst_own(load)?)?;
        Some(boxed(&format!("Barograph push {load}"), &latency, None))
    });
    let chart = BoxChart {
        title: "Other ways to write, and Barograph".to_owned(),
        y: "us, logarithmic; red: the period of 5 ms".to_owned(),
        limit: Some(5_000.0),
        boxes: own.chain(boxes).collect(),
    };
    Figure {
        id: "Figure B1".to_owned(),
        caption: "what the producer waits for a block of 16 KiB".to_owned(),
        svg: chart.svg(),
    }
}

fn notes(read: &Read<'_>) -> Vec<String> {
    let mut notes = vec![
        "Figures 1 to 3 of the paper are drawings (ext4's layers, the two designs, pseudocode): \
         nothing in them is measured."
            .to_owned(),
        "A maximum no longer than the noise beside it says nothing about writing: a thread that only \
         slept was as late."
            .to_owned(),
    ];
    if !read.machine_wide() {
        notes.push(
            "The kernel's flusher was left as found in the cases with FOFF: --machine-wide turns it \
             off for the whole machine while they run."
                .to_owned(),
        );
    }
    if let Some(reason) = read.unwatched() {
        notes.push(format!("The longest waits were not explained: {reason}"));
    }
    if read.setting("writes") != "10000" {
        notes.push(
            "The paper has 10,000 writes a set and 5 sets; --full measures as many. Fewer writes find \
             smaller maxima."
                .to_owned(),
        );
    }
    notes
}
