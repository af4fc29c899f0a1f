//! The stall as pictures: gaps and commits over time, before and after, for a terminal and as SVG.
//!
//! Invariant: both show the same points, and both halves have the same scale. Held by the test
//! below.

use super::{Half, StallReport};
use baro_bench::plot::timeline::{Panel, Timeline};
use std::fmt::Write;

const COLUMNS: usize = 72;
const ROWS: usize = 6;
/// Between two points of a commit that goes on, s.
const POINT_S: f64 = 0.1;

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Gaps, each at the time of its end.
fn gaps(half: &Half) -> Vec<(f64, f64)> {
    let at = |at_ns: u64| seconds(at_ns.saturating_sub(half.begin_ns));
    half.stamps.iter().map(|stamp| (at(stamp.at_ns), seconds(stamp.gap_ns))).collect()
}

/// Commits: their length while they last, 0 between them.
fn commits(half: &Half) -> Vec<(f64, f64)> {
    let mut points = vec![(0.0, 0.0)];
    for commit in half.commits.iter().flatten() {
        let begin = seconds(commit.begin_ns.saturating_sub(half.begin_ns));
        let length = seconds(commit.length_ns);
        points.push((begin, 0.0));
        // Close enough that no column of characters between the ends stays empty.
        let steps = (length / POINT_S).ceil().clamp(1.0, 10_000.0);
        points
            .extend((0..=steps as u32).map(|at| (begin + length * f64::from(at) / steps, length)));
        points.push((begin + length, 0.0));
    }
    points
}

impl StallReport {
    /// One SVG file without scripts, fonts or references to anything outside.
    #[must_use]
    pub fn svg(&self) -> String {
        let [before, after] = &self.halves;
        let panels = [
            Panel { name: "before: gap between stamps", unit: "s", points: gaps(before) },
            Panel { name: "before: length of commits", unit: "s", points: commits(before) },
            Panel { name: "after: gap between stamps", unit: "s", points: gaps(after) },
            Panel { name: "after: length of commits", unit: "s", points: commits(after) },
        ];
        Timeline { title: "A script beside large writes", panels: &panels }.svg()
    }

    /// Four pictures of characters; equal scales before and after.
    #[must_use]
    pub fn text(&self) -> String {
        let [before, after] = &self.halves;
        let length = seconds(self.spec.length_ns);
        let mut out = String::new();
        for (name, one, other) in [
            ("gap between stamps", gaps(before), gaps(after)),
            ("length of commits", commits(before), commits(after)),
        ] {
            let most = one.iter().chain(&other).map(|(_, value)| *value).fold(0.0, f64::max);
            for (half, points) in [("before", &one), ("after", &other)] {
                bars(&mut out, &format!("{name}, {half}"), points, most, length);
            }
        }
        out
    }
}

/// The largest value of each piece of time, as a bar.
fn bars(out: &mut String, name: &str, points: &[(f64, f64)], most: f64, length: f64) {
    let mut columns = [0.0_f64; COLUMNS];
    for (at, value) in points {
        let column = (at / length.max(1e-9) * COLUMNS as f64) as usize;
        if let Some(column) = columns.get_mut(column.min(COLUMNS - 1)) {
            *column = column.max(*value);
        }
    }
    let own = points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(out, "{name}: at most {own:.2} s");
    for row in (0..ROWS).rev() {
        let from = most * row as f64 / ROWS as f64;
        let line: String = columns.iter().map(|v| if *v > from { '#' } else { ' ' }).collect();
        let _ = writeln!(out, "{:6.2} |{}", from, line.trim_end());
    }
    let _ = writeln!(out, "     s +{} {length:.0} s\n", "-".repeat(COLUMNS));
}

#[cfg(test)]
mod tests {
    use super::super::{Commit, StallSpec, Stamp};
    use super::*;

    #[test]
    fn both_halves_have_one_scale() {
        let half = |gap_ns: u64| Half {
            begin_ns: 5,
            stamps: vec![Stamp { at_ns: 30_000_000_005, gap_ns }],
            commits: Some(vec![Commit {
                begin_ns: 10_000_000_005,
                length_ns: 2 * gap_ns,
                ..Commit::default()
            }]),
            ..Half::default()
        };
        let halves = [half(6_000_000_000), half(1_000_000_000)];
        let report = StallReport { spec: StallSpec::default(), halves };
        assert_eq!(report.commit_ratio(), Some(6.0));
        let text = report.text();
        let bars: Vec<usize> = text
            .split("\n\n")
            .filter(|picture| picture.contains('|'))
            .map(|picture| picture.lines().filter(|line| line.contains('#')).count())
            .collect();
        assert_eq!(bars, [6, 1, 6, 1], "{text}");
        assert!(text.contains("gap between stamps, before: at most 6.00 s"), "{text}");
        let svg = report.svg();
        assert!(svg.contains("after: length of commits: at most 2.0 s"), "{svg}");
    }
}
