//! The paper's figures 6 to 9: shares after cutting, by size of I/O and for other weights.

use super::printed::{Printed, TABLES, WEIGHTS};
use super::read::Record;
use super::row::{Direction, Load, Task};
use super::setting::Setting;
use baro_bench::experiment::Figure;
use baro_bench::experiment::chart::{BarChart, Line, LineChart};

const TWO_TO_ONE: &[u16] = &[2, 1];

pub(super) fn figures(record: &Record) -> Vec<Figure> {
    vec![
        by_size(record, "Figure 6", Direction::Read),
        by_size(record, "Figure 7", Direction::Write),
        by_weights(record, "Figure 8", &[3, 2]),
        by_weights(record, "Figure 9", &[3, 2, 2, 1]),
    ]
}

fn by_size(record: &Record, id: &str, direction: Direction) -> Figure {
    let of_paper = TABLES
        .iter()
        .filter(|one: &&Printed| one.setting == Setting::Default && one.direction == direction);
    let mut lines: Vec<Line> = of_paper
        .map(|printed| Line {
            name: "default (paper)".to_owned(),
            points: printed.rows.iter().map(|row| (row.0 as f64, row.3)).collect(),
            dashed: true,
        })
        .collect();
    for setting in Setting::ALL {
        let points: Vec<(f64, f64)> = record
            .all()
            .filter_map(|repeats| {
                let load = repeats.case.load?;
                let fits = repeats.case.task == Task::Pair
                    && repeats.case.weights == TWO_TO_ONE
                    && repeats.case.setting == setting
                    && load == Load::direct(direction, load.block_mb);
                Some((load.block_mb as f64, repeats.ratio().filter(|_| fits)?.median))
            })
            .collect();
        if !points.is_empty() {
            lines.push(Line { name: setting.name().to_owned(), points, dashed: false });
        }
    }
    let chart = LineChart {
        title: format!("{}s with weights 2:1", direction.name()),
        x: "size of an I/O, MB".to_owned(),
        y: "A:B".to_owned(),
        log_x: true,
        log_y: false,
        lines,
    };
    Figure {
        id: id.to_owned(),
        caption: "asked is 2; the paper draws its method (fixed) only, here are all settings"
            .to_owned(),
        svg: chart.svg(),
    }
}

/// Each group's rate in parts of the lightest group's, as the paper gives them in its text.
fn by_weights(record: &Record, id: &str, weights: &[u16]) -> Figure {
    let mut groups: Vec<(String, Vec<Option<f64>>)> = WEIGHTS
        .iter()
        .filter(|one| one.0 == weights)
        .map(|(_, setting, mb, rates)| {
            let parts = rates.iter().map(|part| Some(*part)).collect();
            (format!("{} {mb} MB (paper)", setting.name()), parts)
        })
        .collect();
    for repeats in record.all() {
        let case = repeats.case;
        let load = case.load.filter(|load| *load == Load::direct(Direction::Read, load.block_mb));
        let (Task::Pair, Some(load)) = (case.task, load) else { continue };
        if case.weights != weights {
            continue;
        }
        let rate = |group: usize| repeats.rate(group).map(|rate| rate.median);
        let last = weights.len().saturating_sub(1);
        let unit = rate(last).zip(weights.last()).map(|(rate, weight)| rate / f64::from(*weight));
        let part = |group: usize| {
            rate(group).zip(unit.filter(|unit| *unit > 0.0)).map(|(rate, unit)| rate / unit)
        };
        let parts = (0..weights.len()).map(part).collect();
        groups.push((format!("{} {} MB", case.setting.name(), load.block_mb), parts));
    }
    let asked: Vec<String> = weights.iter().map(u16::to_string).collect();
    let names = ["A", "B", "C", "D"].iter().zip(&asked);
    let chart = BarChart {
        title: format!("weights {}", asked.join(":")),
        y: "parts of the lightest group's rate, times its weight".to_owned(),
        log: false,
        series: names.map(|(name, weight)| format!("{name}, weight {weight}")).collect(),
        groups,
        digits: 2,
    };
    Figure { id: id.to_owned(), caption: format!("asked is {}", asked.join(":")), svg: chart.svg() }
}
