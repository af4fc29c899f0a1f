//! The same numbers for a terminal: a table, then a histogram of each method.
//!
//! Invariant: every call is in exactly one row of its histogram. Held by
//! `the_rows_add_up_to_all_calls` in `tests.rs`.

use super::{Plot, Series, cells, columns};
use baro_show::{count, duration};
use std::fmt::Write;

/// Length of the longest bar.
const BAR: f64 = 40.0;

pub(super) fn render(plot: &Plot<'_>) -> String {
    let mut out = format!("{}\n{}\n\n", plain(plot.title), plain(plot.subtitle));
    table(&mut out, plot);
    for series in plot.series {
        if !series.latency_ns.is_empty() {
            histogram(&mut out, plot, series);
        }
    }
    out
}

fn table(out: &mut String, plot: &Plot<'_>) {
    let mut rows = vec![
        std::iter::once("method".to_owned())
            .chain(columns(plot).into_iter().map(str::to_owned))
            .collect::<Vec<_>>(),
    ];
    for series in plot.series {
        let name = plain(series.name);
        rows.push(std::iter::once(name).chain(cells(plot, series)).collect());
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            // Writing to a String cannot fail.
            let _ = match column {
                0 => write!(out, "{cell:<width$}"),
                _ => write!(out, "  {cell:>width$}"),
            };
        }
        out.push('\n');
    }
    if let Some(period_ns) = plot.period_ns {
        let _ = writeln!(out, "late: longer than the period of {}", duration(period_ns));
    }
}

fn histogram(out: &mut String, plot: &Plot<'_>, series: &Series<'_>) {
    let rows = rows(series);
    let most = rows.iter().map(|row| row.1).max().unwrap_or(1);
    let _ = writeln!(
        out,
        "\n{} (calls by duration; each further # is the same factor)",
        plain(series.name)
    );
    for (from_ns, calls) in rows {
        let bar = if calls == 0 {
            0.0
        } else {
            1.0 + (BAR - 1.0) * (calls as f64).ln() / (most as f64).ln().max(1e-9)
        };
        let late = plot.period_ns.is_some_and(|period_ns| from_ns >= period_ns && calls > 0);
        let _ = writeln!(
            out,
            "{:>9}+ {:>12} {}{}",
            edge(from_ns),
            count(calls),
            "#".repeat(bar.clamp(0.0, BAR).round() as usize),
            if late { " late" } else { "" },
        );
    }
}

/// Lower edges 1, 2, 5, 10, ... and the calls from each to the next, without empty rows at the
/// ends.
fn rows(series: &Series<'_>) -> Vec<(u64, u64)> {
    let mut rows: Vec<(u64, u64)> = Vec::new();
    let mut edges = std::iter::successors(Some(1_u64), |edge| {
        // 1 -> 2 -> 5 -> 10: the leading digit decides.
        let mut leading = *edge;
        while leading >= 10 {
            leading /= 10;
        }
        if leading == 2 { (edge / 2).checked_mul(5) } else { edge.checked_mul(2) }
    });
    let mut from_ns = 0;
    let mut next_ns = edges.next();
    for step in series.latency_ns.iter_recorded() {
        let value_ns = step.value_iterated_to().min(series.latency_ns_max);
        while next_ns.is_some_and(|next_ns| value_ns >= next_ns) {
            from_ns = next_ns.unwrap_or(from_ns);
            next_ns = edges.next();
            if !rows.is_empty() {
                rows.push((from_ns, 0));
            }
        }
        match rows.last_mut() {
            Some(row) => row.1 += step.count_since_last_iteration(),
            None => rows.push((from_ns, step.count_since_last_iteration())),
        }
    }
    rows
}

/// An edge is a round number: no digits after the point.
fn edge(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} us", ns / 1_000),
        1_000_000..1_000_000_000 => format!("{} ms", ns / 1_000_000),
        _ => format!("{} s", ns / 1_000_000_000),
    }
}

/// Text for a terminal: no control characters, so no escape sequences.
fn plain(text: &str) -> String {
    baro_show::terminal(text, ' ')
}
