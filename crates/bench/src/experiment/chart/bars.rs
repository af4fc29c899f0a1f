//! Bars in groups: for each name on the axis one bar of each series.

use super::frame::{BOTTOM, LEFT, RIGHT, TOP, begin, colour, legend, legend_height};
use crate::experiment::html::escaped;
use baro_show::{Axis, number};
use std::fmt::Write;

/// What is drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct BarChart {
    /// The heading.
    pub title: String,
    /// What is shown, with its unit.
    pub y: String,
    /// The axis has decades.
    pub log: bool,
    /// Names of the series, as in the legend.
    pub series: Vec<String>,
    /// A name below each group, and its values, one for each series; None leaves a gap.
    pub groups: Vec<(String, Vec<Option<f64>>)>,
    /// Digits behind the point of the values above the bars.
    pub digits: usize,
}

impl BarChart {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let values = self.groups.iter().flat_map(|(_, values)| values.iter().flatten().copied());
        let axis = Axis::of(values, self.log, BOTTOM, TOP);
        let mut svg = begin(&self.title, &self.y, &axis, 50.0 + legend_height(self.series.len()));
        let step = (RIGHT - LEFT) / self.groups.len().max(1) as f64;
        let width = (step * 0.8 / self.series.len().max(1) as f64).min(60.0);
        for (index, (name, values)) in self.groups.iter().enumerate() {
            let middle = LEFT + step * (index as f64 + 0.5);
            let left = middle - width * self.series.len() as f64 / 2.0;
            for (at, value) in values.iter().enumerate() {
                let Some(value) = value.filter(|value| value.is_finite()) else { continue };
                let (x, y) = (left + width * at as f64, axis.at(value));
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\
                     <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-size=\"11\">{}</text>",
                    width * 0.92,
                    (BOTTOM - y).max(0.0),
                    colour(at),
                    x + width / 2.0,
                    y - 4.0,
                    number(value, self.digits)
                );
            }
            let _ = writeln!(
                svg,
                "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                BOTTOM + 18.0,
                escaped(name)
            );
        }
        svg.push_str(&legend(self.series.iter().map(String::as_str), BOTTOM + 50.0));
        svg + "</svg>\n"
    }
}
