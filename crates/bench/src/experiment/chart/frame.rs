//! What all charts have: size, axis of values, legend.

use crate::experiment::html::escaped;
use baro_show::Axis;
use std::fmt::Write;

pub(super) const WIDTH: f64 = 900.0;
pub(super) const LEFT: f64 = 84.0;
pub(super) const RIGHT: f64 = 880.0;
pub(super) const TOP: f64 = 52.0;
pub(super) const BOTTOM: f64 = 360.0;
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b08900", "#56b4e9", "#7f7f7f", "#8c5a2b"];

/// Colour of the series with this number.
pub(super) fn colour(index: usize) -> &'static str {
    COLOURS.get(index % COLOURS.len()).copied().unwrap_or("#0072b2")
}

/// Begins a picture with its heading and the lines of its axis of values.
pub(super) fn begin(title: &str, unit: &str, axis: &Axis, below: f64) -> String {
    let height = BOTTOM + below;
    let title = escaped(title);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" aria-label=\"{title}\" font-family=\"system-ui,'DejaVu \
         Sans',sans-serif\" font-size=\"13\" fill=\"#1a1a1a\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"#fff\"/>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"16\">{title}</text>\n\
         <text x=\"{LEFT}\" y=\"42\" fill=\"#555\">{}</text>\n",
        escaped(unit)
    );
    for tick in axis.ticks() {
        let y = axis.at(tick);
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#dcdcdc\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#555\">{}</text>",
            LEFT - 8.0,
            y + 4.0,
            Axis::label(tick)
        );
    }
    svg
}

/// The names of the series, in columns below `top`; how much room they take is [`legend_height`].
pub(super) fn legend<'a>(names: impl Iterator<Item = &'a str>, top: f64) -> String {
    let mut svg = String::new();
    for (index, name) in names.enumerate() {
        let x = LEFT + (index % 4) as f64 * 200.0;
        let y = top + (index / 4) as f64 * 22.0;
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{:.1}\" width=\"14\" height=\"10\" fill=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
            y - 10.0,
            colour(index),
            x + 20.0,
            escaped(name)
        );
    }
    svg
}

pub(super) fn legend_height(names: usize) -> f64 {
    names.div_ceil(4) as f64 * 22.0 + 12.0
}
