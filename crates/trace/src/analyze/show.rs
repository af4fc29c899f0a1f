//! How figures look in texts: tables, shares, times in a trace; and what is said of every trace.
//!
//! Invariant: names come from a trace and may hold anything; what is shown of them are characters
//! that move no cursor. Held by `tables_are_aligned_and_names_are_harmless`.

use crate::timeline::Timeline;
pub(super) use baro_show::{count, duration};
use serde_json::{Value, json};

/// A duration, or `-`.
pub(super) fn known(ns: Option<u64>) -> String {
    ns.map_or_else(|| "-".to_owned(), duration)
}

/// A time since the beginning of the trace: "1.234567 s".
pub(super) fn at(ns: u64) -> String {
    format!("{}.{:06} s", ns / 1_000_000_000, ns % 1_000_000_000 / 1_000)
}

/// A number, or `-`.
pub(super) fn known_count(number: Option<u64>) -> String {
    number.map_or_else(|| "-".to_owned(), count)
}

/// A share of a whole in per cent; `-` of nothing.
pub(super) fn share(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1} %", part as f64 * 100.0 / whole as f64)
}

/// A name with a question mark for each character that is not seen.
pub(super) fn plain(name: &str) -> String {
    baro_show::terminal(name, '?')
}

/// A table: numbers to the right, the last column to the left.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { rows: vec![head.iter().map(|one| (*one).to_owned()).collect()] }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        // The cells of most columns are figures; that the others are names is not left to the caller.
        self.rows.push(cells.iter().map(|cell| plain(cell)).collect());
    }

    /// The lines, indented by two; nothing if there is no row but the head.
    pub(super) fn text(&self) -> String {
        if self.rows.len() < 2 {
            return String::new();
        }
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let widths = self.rows.iter().filter_map(|row| row.get(column));
            widths.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (index, (cell, width)) in row.iter().zip(&widths).enumerate() {
                line.push_str("  ");
                if index + 1 == columns {
                    line.push_str(cell);
                } else {
                    line.push_str(&" ".repeat(width.saturating_sub(cell.chars().count())));
                    line.push_str(cell);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

/// How many rows of a table there would have been.
pub(super) fn not_shown(shown: usize, all: u64, what: &str) -> String {
    let rest = all.saturating_sub(shown as u64);
    if rest == 0 { String::new() } else { format!("  and {} more {what}\n", count(rest)) }
}

/// What every text begins with: the length of the trace, and what is missing in it.
pub(super) fn head(line: &Timeline, what: &str) -> String {
    let mut text = format!(
        "{what}: trace of {}, {} events\n",
        duration(line.duration_ns()),
        count(line.events)
    );
    if line.lost_events > 0 || line.lost_places > 0 || line.damaged_pages > 0 {
        text.push_str(&format!(
            "incomplete: {} events lost, and unknown numbers in {} places; {} damaged pages: \
             figures are too low\n",
            count(line.lost_events),
            count(line.lost_places),
            count(line.damaged_pages)
        ));
    }
    if line.is_cut {
        text.push_str("incomplete: the trace ends before its recording did\n");
    }
    if line.dropped_spans > 0 {
        text.push_str(&format!(
            "incomplete: {} spans did not fit into memory\n",
            count(line.dropped_spans)
        ));
    }
    text
}

/// The same for JSON.
pub(super) fn head_json(line: &Timeline) -> Value {
    json!({
        "begin_ns": line.begin_ns,
        "duration_ns": line.duration_ns(),
        "events": line.events,
        "lost_events": line.lost_events,
        "lost_places": line.lost_places,
        "damaged_pages": line.damaged_pages,
        "dropped_spans": line.dropped_spans,
        "is_cut": line.is_cut,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_aligned_and_names_are_harmless() {
        let mut table = Table::new(&["count", "task"]);
        assert_eq!(table.text(), "");
        table.row(vec![count(1_234_567), plain("a\u{1b}[2Jb\n\u{202e}c")]);
        table.row(vec![count(7), String::new()]);
        assert_eq!(table.text(), "      count  task\n  1,234,567  a?[2Jb??c\n          7\n");
    }

    #[test]
    fn figures_have_three_digits() {
        let shown = [0, 999, 1_000, 99_949, 999_999, 1_500_000, 93_980_000_000].map(duration);
        assert_eq!(shown, ["0 ns", "999 ns", "1.00 us", "99.9 us", "1000 us", "1.50 ms", "94.0 s"]);
        assert_eq!(at(1_234_567_890), "1.234567 s");
        assert_eq!((share(1, 3), share(1, 0)), ("33.3 %".to_owned(), "-".to_owned()));
        assert_eq!(not_shown(2, 2, "rows"), "");
        assert_eq!(not_shown(2, 1_002, "rows"), "  and 1,000 more rows\n");
    }
}
