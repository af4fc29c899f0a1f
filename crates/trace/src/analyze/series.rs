//! Every event of an analysis as a series: rows for programs, and a picture (figures 6 and 8 to 12 of
//! paper D are drawn of such series).
//!
//! A report is bounded and shows the longest; a series has all that the timeline kept, in the order of
//! time. Times count from the beginning of the trace.
//!
//! Invariant: a row for each event, none left out; what is not known is an empty cell or null. Held by
//! `a_series_has_every_event_and_draws_itself`.

use super::{Analysis, Blocks, Options, Source, Space, handle::kind_name};
use crate::timeline::{Handle, Transaction};
use baro_show::{Axis, Unseen, markup, number};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// A cell of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Cell {
    Text(String),
    Number(u64),
    Unknown,
}

impl From<Option<u64>> for Cell {
    fn from(value: Option<u64>) -> Self {
        value.map_or(Self::Unknown, Self::Number)
    }
}

/// Points of one line or cloud of a picture: time and value.
#[derive(Clone, Debug)]
struct Curve {
    label: String,
    points: Vec<(u64, u64)>,
    /// Each value holds until the next; else a dot for each.
    holds: bool,
}

/// All events of an analysis.
#[derive(Clone, Debug)]
pub struct Series {
    columns: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
    curves: Vec<Curve>,
    value: &'static str,
}

/// The series of an analysis of journals; None of one of tasks.
#[must_use]
pub fn series(analysis: Analysis, source: &Source<'_>, options: &Options) -> Option<Series> {
    match analysis {
        Analysis::Handle => Some(handles(source, options)),
        Analysis::State => Some(states(source, options)),
        Analysis::Blocks => Some(blocks(source, options)),
        Analysis::Space => Some(space(source, options)),
        Analysis::Syscall | Analysis::Waits => None,
    }
}

/// Waits for handles: figure 8.
fn handles(source: &Source<'_>, options: &Options) -> Series {
    let begin_ns = source.line.begin_ns;
    let mut found = Vec::new();
    for (pid, task) in &source.line.tasks {
        for handle in &task.handles {
            if options.device.is_none_or(|device| device == handle.device) {
                found.push((handle.asked_ns.unwrap_or(handle.begin_ns), *pid, *handle));
            }
        }
    }
    found.sort_by_key(|(at_ns, pid, _)| (*at_ns, *pid));
    let row = |(at_ns, pid, handle): &(u64, i32, Handle)| {
        let wait_ns = handle.asked_ns.map(|asked| handle.begin_ns.saturating_sub(asked));
        vec![
            Cell::Text(source.device_name(handle.device)),
            Cell::Number(at_ns.saturating_sub(begin_ns)),
            Cell::Text(pid.to_string()),
            Cell::Text(source.task_name(*pid)),
            Cell::Number(u64::from(handle.tid)),
            kind_name(handle.kind)
                .map_or(Cell::Number(u64::from(handle.kind)), |name| Cell::Text(name.to_owned())),
            wait_ns.into(),
            handle.end_ns.map(|end| end.saturating_sub(handle.begin_ns)).into(),
        ]
    };
    let wait = |(at_ns, _, handle): &(u64, i32, Handle)| {
        Some((at_ns.saturating_sub(begin_ns), handle.begin_ns.saturating_sub(handle.asked_ns?)))
    };
    let points = found.iter().filter_map(wait).collect();
    Series {
        columns: &["journal", "at_ns", "pid", "task", "tid", "kind", "wait_ns", "open_ns"],
        rows: found.iter().map(row).collect(),
        curves: vec![Curve { label: "wait for a handle".to_owned(), points, holds: false }],
        value: "wait, ns",
    }
}

/// The stages of each transaction: figure 9.
fn states(source: &Source<'_>, options: &Options) -> Series {
    let begin_ns = source.line.begin_ns;
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    let mut found = Vec::new();
    for (device, journal) in source.journals(options) {
        for transaction in journal.transactions.values() {
            for (stage, at_ns) in stages(transaction) {
                let at_ns = at_ns.saturating_sub(begin_ns);
                found.push((at_ns, device, u64::from(transaction.tid), stage));
            }
        }
    }
    found.sort_unstable_by_key(|(at_ns, _, tid, _)| (*at_ns, *tid));
    for stage in STAGES {
        let of_stage = found.iter().filter(|(_, _, _, one)| *one == stage);
        let points = of_stage.map(|(at_ns, _, tid, _)| (*at_ns, *tid)).collect();
        curves.push(Curve { label: stage.to_owned(), points, holds: false });
    }
    for (at_ns, device, tid, stage) in found {
        rows.push(vec![
            Cell::Text(source.device_name(device)),
            Cell::Number(at_ns),
            Cell::Number(tid),
            Cell::Text(stage.to_owned()),
        ]);
    }
    Series { columns: &["journal", "at_ns", "tid", "begins"], rows, curves, value: "transaction" }
}

/// What a transaction comes to, in the order of its life.
const STAGES: [&str; 7] =
    ["running", "commit", "locked", "flushing", "logging", "committed", "dropped"];

fn stages(one: &Transaction) -> impl Iterator<Item = (&'static str, u64)> {
    let times = [
        one.begin_ns,
        one.commit_ns,
        one.locking_ns,
        one.flushing_ns,
        one.logging_ns,
        one.end_ns,
        one.dropped_ns,
    ];
    STAGES.into_iter().zip(times).filter_map(|(stage, at_ns)| Some((stage, at_ns?)))
}

/// Lengths of lists: figure 10.
fn blocks(source: &Source<'_>, options: &Options) -> Series {
    let begin_ns = source.line.begin_ns;
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for journal in Blocks::of(source, options).journals {
        let lanes = [
            ("data", &journal.data),
            ("metadata", &journal.metadata),
            ("checkpoint", &journal.checkpoint),
        ];
        for (list, lane) in lanes {
            let points: Vec<(u64, u64)> = lane
                .points
                .iter()
                .map(|(at_ns, length)| (at_ns.saturating_sub(begin_ns), *length))
                .collect();
            rows.extend(points.iter().map(|(at_ns, length)| {
                vec![
                    Cell::Text(journal.device.clone()),
                    Cell::Number(*at_ns),
                    Cell::Text(list.to_owned()),
                    Cell::Number(*length),
                    Cell::Text(lane.unit.to_owned()),
                    Cell::Number(u64::from(lane.estimated)),
                ]
            }));
            curves.push(Curve { label: format!("{} {list}", journal.device), points, holds: true });
        }
    }
    let columns = &["journal", "at_ns", "list", "length", "unit", "is_estimated"];
    Series { columns, rows, curves, value: "length" }
}

/// Used, free and reserved blocks.
fn space(source: &Source<'_>, options: &Options) -> Series {
    let begin_ns = source.line.begin_ns;
    let (mut rows, mut curves) = (Vec::new(), Vec::new());
    for journal in Space::of(source, options).journals {
        let free = |used: u64| journal.total_blocks.map(|total| total.saturating_sub(used));
        rows.extend(journal.levels.iter().map(|level| {
            vec![
                Cell::Text(journal.device.clone()),
                Cell::Number(level.time_ns.saturating_sub(begin_ns)),
                Cell::Number(level.used_blocks),
                free(level.used_blocks).into(),
                level.reserved_credits.into(),
                Cell::Number(u64::from(journal.estimated)),
            ]
        }));
        let shown = |used: u64| free(used).unwrap_or(used);
        let points = journal
            .levels
            .iter()
            .map(|one| (one.time_ns.saturating_sub(begin_ns), shown(one.used_blocks)));
        let what = if journal.total_blocks.is_some() { "free" } else { "used" };
        let label = format!("{} {what}", journal.device);
        curves.push(Curve { label, points: points.collect(), holds: true });
    }
    let columns =
        &["journal", "at_ns", "used_blocks", "free_blocks", "reserved_credits", "is_estimated"];
    Series { columns, rows, curves, value: "blocks" }
}

const COLOURS: [&str; 7] =
    ["#1465c0", "#c0392b", "#2e8b57", "#8e44ad", "#d68910", "#16a0a0", "#555555"];
const WIDTH: f64 = 900.0;
const LEFT: f64 = 80.0;
const RIGHT: f64 = 880.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 320.0;

impl Series {
    /// Rows of CSV below a line with the names of the columns. Texts stand in quotes.
    #[must_use]
    pub fn csv(&self) -> String {
        let mut out = self.columns.join(",");
        out.push('\n');
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                match cell {
                    Cell::Text(text) => {
                        let _ = write!(out, "\"{}\"", text.replace('"', "\"\""));
                    }
                    Cell::Number(number) => {
                        let _ = write!(out, "{number}");
                    }
                    Cell::Unknown => {}
                }
            }
            out.push('\n');
        }
        out
    }

    /// An object for each row.
    #[must_use]
    pub fn json(&self) -> Value {
        let value = |cell: &Cell| match cell {
            Cell::Text(text) => json!(text),
            Cell::Number(number) => json!(number),
            Cell::Unknown => Value::Null,
        };
        let object = |row: &Vec<Cell>| -> Value {
            let members = self.columns.iter().zip(row);
            members
                .map(|(name, cell)| ((*name).to_owned(), value(cell)))
                .collect::<Map<_, _>>()
                .into()
        };
        json!({ "series": self.rows.iter().map(object).collect::<Vec<_>>() })
    }

    /// A picture of it over time.
    #[must_use]
    pub fn svg(&self) -> String {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let across = Axis::of(points().map(|point| point.0 as f64 / 1e9), false, LEFT, RIGHT);
        let up = Axis::of(points().map(|point| point.1 as f64), false, BOTTOM, TOP);
        let height = BOTTOM + 60.0 + 16.0 * (self.curves.len() as f64 / 4.0).ceil();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             font-family=\"sans-serif\" font-size=\"11\">\n<text x=\"{LEFT}\" y=\"18\">{}, by seconds</text>\n",
            self.value
        );
        for tick in up.ticks() {
            let y = up.at(tick);
            let label = number(tick, 0);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{label}</text>",
                LEFT - 5.0,
                y + 4.0
            );
        }
        for tick in across.ticks() {
            let label = number(tick, 1);
            let _ = writeln!(
                out,
                "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                across.at(tick),
                BOTTOM + 16.0
            );
        }
        for (at, (curve, colour)) in self.curves.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let place =
                |point: &(u64, u64)| (across.at(point.0 as f64 / 1e9), up.at(point.1 as f64));
            let mut path = String::new();
            for (index, point) in curve.points.iter().enumerate() {
                let (x, y) = place(point);
                let _ = match (curve.holds, index) {
                    (true, 0) => write!(path, "M{x:.1} {y:.1}"),
                    (true, _) => write!(path, "H{x:.1}V{y:.1}"),
                    (false, _) => write!(path, "M{x:.1} {y:.1}h2"),
                };
            }
            let width = if curve.holds { 1.5 } else { 3.0 };
            if !path.is_empty() {
                let _ = writeln!(
                    out,
                    "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
                );
            }
            let (x, y) = (LEFT + (at % 4) as f64 * 200.0, BOTTOM + 40.0 + (at / 4) as f64 * 16.0);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" fill=\"{colour}\">{}</text>",
                markup(&curve.label, Unseen::Dropped)
            );
        }
        out.push_str("</svg>\n");
        out
    }
}
