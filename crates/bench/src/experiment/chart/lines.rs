//! Lines: a value over another, as throughput over the number of files.

use super::frame::{BOTTOM, LEFT, RIGHT, TOP, begin, colour, legend, legend_height};
use crate::experiment::html::escaped;
use baro_show::Axis;
use std::fmt::Write;

/// One line of a chart.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// In the legend.
    pub name: String,
    /// Points by rising first number; one that is no number is left out.
    pub points: Vec<(f64, f64)>,
    /// Drawn with dashes: what the paper has.
    pub dashed: bool,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct LineChart {
    /// The heading.
    pub title: String,
    /// What the horizontal axis shows, with its unit.
    pub x: String,
    /// What the vertical axis shows, with its unit.
    pub y: String,
    /// The horizontal axis has decades.
    pub log_x: bool,
    /// The vertical axis has decades.
    pub log_y: bool,
    /// In the order of the legend.
    pub lines: Vec<Line>,
}

impl LineChart {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = || self.lines.iter().flat_map(|line| &line.points).copied();
        let across = Axis::of(all().map(|point| point.0), self.log_x, LEFT, RIGHT);
        let up = Axis::of(all().map(|point| point.1), self.log_y, BOTTOM, TOP);
        let mut svg = begin(&self.title, &self.y, &up, 56.0 + legend_height(self.lines.len()));
        for tick in across.ticks() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#555\">{}</text>",
                across.at(tick),
                BOTTOM + 18.0,
                Axis::label(tick)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
            BOTTOM + 36.0,
            escaped(&self.x)
        );
        for (index, line) in self.lines.iter().enumerate() {
            let usable = |point: &&(f64, f64)| {
                let fit = |value: f64, log: bool| value.is_finite() && (!log || value > 0.0);
                fit(point.0, self.log_x) && fit(point.1, self.log_y)
            };
            let points: Vec<(f64, f64)> = line
                .points
                .iter()
                .filter(usable)
                .map(|point| (across.at(point.0), up.at(point.1)))
                .collect();
            let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let dashes = if line.dashed { " stroke-dasharray=\"6 4\"" } else { "" };
            let colour = colour(index);
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>",
                path.join(" ")
            );
            // Many points are a curve of their own.
            for (x, y) in points.iter().filter(|_| points.len() <= 30) {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>"
                );
            }
        }
        svg.push_str(&legend(self.lines.iter().map(|line| line.name.as_str()), BOTTOM + 62.0));
        svg + "</svg>\n"
    }
}
