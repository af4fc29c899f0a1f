//! The paper's figures 2 to 8 from the measurement; dashed is what the paper prints. Then ours.
//!
//! Figure 1 is a drawing of the model and has no data.

use super::paper::{self, Printed};
use super::plan::USUAL;
use super::records::{Record, Records};
use super::tables::{blocks, files};
use crate::files::Point;
use baro_bench::experiment::Figure;
use baro_bench::experiment::chart::{Line, LineChart};

/// All figures.
pub(super) fn all(all: &Records<'_>) -> Vec<Figure> {
    let hdd = "Rate of writing to an HDD (ext4)";
    let ssd = "Rate of writing to an SSD";
    let mut figures = vec![
        over_time("Figure 2", all.hdd, 10_000),
        over_time("Figure 3", all.hdd, 100_000),
        over_files("Figure 4", hdd, all.hdd, "matrix", &paper::TABLE_3),
        variations(all.hdd),
        layers(all.hdd),
        over_files("Figure 7", &format!("{ssd} (ext4)"), all.ssd, "matrix", &paper::TABLE_4),
        over_files("Figure 8", &format!("{ssd} (f2fs)"), all.ssd, "f2fs", &paper::TABLE_5),
    ];
    figures.extend(all.first.map(store));
    figures
}

fn figure(id: &str, caption: String, chart: &LineChart) -> Figure {
    let empty = chart.lines.iter().all(|line| line.dashed);
    let caption = if empty { format!("{caption}; not measured") } else { caption };
    Figure { id: id.to_owned(), caption, svg: chart.svg() }
}

fn line(name: String, points: Vec<(f64, f64)>, dashed: bool) -> Line {
    Line { name, points, dashed }
}

/// Rate at each point since the one before, MB/s over seconds.
pub(super) fn rates(points: &[Point]) -> Vec<(f64, f64)> {
    points
        .iter()
        .zip(points.iter().skip(1))
        .filter(|(from, to)| to.at_ns > from.at_ns)
        .map(|(from, to)| {
            let bytes = to.bytes.saturating_sub(from.bytes) as f64;
            (to.at_ns as f64 / 1e9, bytes * 1e3 / (to.at_ns - from.at_ns) as f64)
        })
        .collect()
}

fn time_chart(title: String, lines: Vec<Line>) -> LineChart {
    LineChart {
        title,
        x: "s since the first write".to_owned(),
        y: "MB/s".to_owned(),
        log_x: false,
        log_y: false,
        lines,
    }
}

fn over_time(id: &str, record: Option<Record<'_>>, files: u64) -> Figure {
    let lines = record.map_or(Vec::new(), |record| {
        let of = |kib: u64| {
            let cell = record.greedy("matrix", files, kib)?;
            Some(line(format!("B={kib}K"), rates(&cell.points), false))
        };
        blocks(record).into_iter().filter_map(of).collect()
    });
    let caption = format!("Progress of the tests of writing to an HDD, F = {files}, by B");
    figure(id, caption.clone(), &time_chart(caption, lines))
}

fn over_files(
    id: &str,
    title: &str,
    record: Option<Record<'_>>,
    group: &str,
    printed: &'static [Printed],
) -> Figure {
    let mut lines = Vec::new();
    let measured = record.map_or(Vec::new(), |record| record.cells(group));
    let mut kibs: Vec<u64> = measured.iter().map(|cell| cell.1).collect();
    kibs.extend(printed.iter().map(|row| row.block_kib));
    kibs.sort_unstable();
    kibs.dedup();
    for kib in kibs {
        let here = |files: u64| {
            let cell = record?.greedy(group, files, kib)?;
            Some((files as f64, cell.mb_per_s()))
        };
        let of_kib = measured.iter().filter(|cell| cell.1 == kib);
        let points: Vec<(f64, f64)> = of_kib.filter_map(|cell| here(cell.0)).collect();
        if !points.is_empty() {
            lines.push(line(format!("B={kib}K"), points, false));
        }
        let mut points: Vec<(f64, f64)> = printed
            .iter()
            .filter(|row| row.block_kib == kib)
            .map(|row| (row.files as f64, row.mb_per_s))
            .collect();
        points.sort_by(|one, two| one.0.total_cmp(&two.0));
        // The paper prints rows of a few B only; one row is no line.
        if points.len() > 1 {
            lines.push(line(format!("B={kib}K, paper"), points, true));
        }
    }
    let chart = LineChart {
        title: format!("{title} by the number of files"),
        x: "F, as in the paper".to_owned(),
        y: "MB/s".to_owned(),
        log_x: true,
        log_y: true,
        lines,
    };
    let caption = format!("{title} by the number of files F, for each size of the buffer B");
    figure(id, caption, &chart)
}

fn variations(record: Option<Record<'_>>) -> Figure {
    let lines = record.map_or(Vec::new(), |record| {
        let of = |(group, _): (&str, f64)| {
            let cell = record.usual(if group == "base" { "matrix" } else { group })?;
            Some(line(group.to_owned(), rates(&cell.points), false))
        };
        paper::FIGURE_5.into_iter().filter_map(of).collect()
    });
    let caption = "Variations of the test F = 100,000, B = 4K on an HDD".to_owned();
    figure("Figure 5", caption.clone(), &time_chart(caption, lines))
}

fn layers(record: Option<Record<'_>>) -> Figure {
    let of = |name: &str, group: &str| {
        let record = record?;
        let cells = record.cells(group).into_iter().filter(|cell| cell.0 == USUAL.0);
        let point = |(files, kib): (u64, u64)| {
            Some((kib as f64, record.greedy(group, files, kib)?.mb_per_s()))
        };
        let points: Vec<(f64, f64)> = cells.filter_map(point).collect();
        (!points.is_empty()).then(|| line(name.to_owned(), points, false))
    };
    let lines = [of("full buffer layer", "layer"), of("few buffers", "matrix")];
    let chart = LineChart {
        title: "Full buffer layer and cache in the same memory, F = 100,000".to_owned(),
        x: "B, KiB".to_owned(),
        y: "MB/s".to_owned(),
        log_x: false,
        log_y: false,
        lines: lines.into_iter().flatten().collect(),
    };
    let caption = "Rate by the size of the buffer B with a full buffer layer in user space";
    figure("Figure 6", caption.to_owned(), &chart)
}

fn store(record: Record<'_>) -> Figure {
    let of = |name: &str, group: &str| {
        let point =
            |files: u64| Some((files as f64, record.greedy(group, files, USUAL.1)?.mb_per_s()));
        let points = files(record).into_iter().filter_map(point).collect();
        line(name.to_owned(), points, false)
    };
    let chart = LineChart {
        title: "Files and Barograph's store, B = 4K".to_owned(),
        x: "F files or sensors, as in the paper".to_owned(),
        y: "MB/s".to_owned(),
        log_x: true,
        log_y: true,
        lines: vec![of("files", "matrix"), of("store", "store")],
    };
    let caption = "ours: rate of the files' writer and of the store by the number of sensors";
    figure("Figure 9", caption.to_owned(), &chart)
}
