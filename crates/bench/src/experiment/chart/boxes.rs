//! Box plots: quartiles, whiskers, the mean and the maximum of each case; paper A's figure 4.

use super::frame::{BOTTOM, LEFT, RIGHT, TOP, begin, colour};
use crate::experiment::html::escaped;
use baro_show::Axis;
use std::fmt::Write;

/// One case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BoxPlot {
    /// Below its box.
    pub name: String,
    /// Minimum, first quartile, median, third quartile, 99.9th percentile, maximum.
    pub marks: [f64; 6],
    /// What the paper has as maximum: a mark of its own.
    pub paper_max: Option<f64>,
}

/// What is drawn, logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxChart {
    /// The heading.
    pub title: String,
    /// What is shown, with its unit.
    pub y: String,
    /// A line across: a limit that should not be reached.
    pub limit: Option<f64>,
    /// From left to right.
    pub boxes: Vec<BoxPlot>,
}

impl BoxChart {
    /// The picture.
    #[must_use]
    pub fn svg(&self) -> String {
        let marks = self.boxes.iter().flat_map(|one| one.marks.into_iter().chain(one.paper_max));
        let axis = Axis::of(marks.chain(self.limit), true, BOTTOM, TOP);
        let mut svg = begin(&self.title, &self.y, &axis, 210.0);
        let step = (RIGHT - LEFT) / self.boxes.len().max(1) as f64;
        if let Some(limit) = self.limit {
            let y = axis.at(limit);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#c00000\" \
                 stroke-dasharray=\"6 4\"/>"
            );
        }
        for (index, one) in self.boxes.iter().enumerate() {
            let x = LEFT + step * (index as f64 + 0.5);
            svg.push_str(&drawn(one, x, (step * 0.5).min(44.0), &axis));
            let y = BOTTOM + 14.0;
            let _ = writeln!(
                svg,
                "<text x=\"{x:.1}\" y=\"{y:.1}\" transform=\"rotate(-40 {x:.1} {y:.1})\" \
                 text-anchor=\"end\" font-size=\"11\">{}</text>",
                escaped(&one.name)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{LEFT}\" y=\"{:.1}\" fill=\"#555\">box: quartiles and median; whiskers: minimum \
             and 99.9 %; dot: maximum; cross: the paper's maximum</text>",
            BOTTOM + 200.0
        );
        svg + "</svg>\n"
    }
}

fn drawn(one: &BoxPlot, x: f64, width: f64, axis: &Axis) -> String {
    let [min, low, median, high, whisker, max] = one.marks.map(|mark| axis.at(mark));
    let (left, right) = (x - width / 2.0, x + width / 2.0);
    let blue = colour(0);
    let mut svg = format!(
        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{min:.1}\" y2=\"{whisker:.1}\" stroke=\"{blue}\"/>\n\
         <rect x=\"{left:.1}\" y=\"{high:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"#cfe4f3\" \
         stroke=\"{blue}\"/>\n<line x1=\"{left:.1}\" x2=\"{right:.1}\" y1=\"{median:.1}\" \
         y2=\"{median:.1}\" stroke=\"{blue}\" stroke-width=\"2\"/>\n<circle cx=\"{x:.1}\" \
         cy=\"{max:.1}\" r=\"4\" fill=\"{}\"/>\n",
        (low - high).max(0.0),
        colour(1)
    );
    if let Some(paper) = one.paper_max {
        let y = axis.at(paper);
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {:.1}l8 8m0 -8l-8 8\" stroke=\"#555\" stroke-width=\"1.5\"/>",
            x - 4.0,
            y - 4.0
        );
    }
    svg
}
