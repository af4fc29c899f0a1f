//! What all charts have: size, axis of values, legend.

use crate::experiment::html::escaped;
use crate::experiment::text::number;
use std::fmt::Write;

pub(super) const WIDTH: f64 = 900.0;
pub(super) const LEFT: f64 = 84.0;
pub(super) const RIGHT: f64 = 880.0;
pub(super) const TOP: f64 = 52.0;
pub(super) const BOTTOM: f64 = 360.0;
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b08900", "#56b4e9", "#7f7f7f", "#8c5a2b"];
/// More decades than any measurement has.
const DECADES_MAX: i32 = 24;

/// Colour of the series with this number.
pub(super) fn colour(index: usize) -> &'static str {
    COLOURS.get(index % COLOURS.len()).copied().unwrap_or("#0072b2")
}

/// The axis of values, or the horizontal one of lines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// For these values, drawn from the coordinate `from` to `to`.
    pub(super) fn of(values: impl Iterator<Item = f64>, log: bool, from: f64, to: f64) -> Self {
        let (mut low, mut high) = (f64::INFINITY, 0.0f64);
        for value in values.filter(|value| value.is_finite() && (!log || *value > 0.0)) {
            low = low.min(value);
            high = high.max(value);
        }
        if !low.is_finite() {
            (low, high) = (1.0, 10.0);
        }
        let (low, high) = if log {
            let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
            let last = last.max(first + 1).min(first + DECADES_MAX);
            (10f64.powi(first), 10f64.powi(last))
        } else {
            (0.0, rounded_up(high))
        };
        Self { log, low, high, from, to }
    }

    /// The coordinate of a value; one outside is at the edge.
    pub(super) fn at(&self, value: f64) -> f64 {
        let part = if self.log {
            (value.max(self.low).log10() - self.low.log10())
                / (self.high.log10() - self.low.log10())
        } else {
            value / self.high
        };
        let part = if part.is_finite() { part.clamp(0.0, 1.0) } else { 0.0 };
        self.from + (self.to - self.from) * part
    }

    /// Values with a line across the picture.
    pub(super) fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return (0..=5).map(|step| self.high * f64::from(step) / 5.0).collect();
        }
        let first = self.low.log10().round() as i32;
        let last = self.high.log10().round() as i32;
        (first..=last).map(|decade| 10f64.powi(decade)).collect()
    }

    pub(super) fn label(value: f64) -> String {
        if value >= 1e6 {
            return format!("{}M", number(value / 1e6, 0));
        }
        if value == 0.0 || value >= 10.0 {
            return number(value, 0);
        }
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// The next of 1, 2, 2.5, 5, 10 times a power of ten.
fn rounded_up(value: f64) -> f64 {
    if value.is_nan() || value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 2.5, 5.0, 10.0];
    steps.into_iter().map(|step| step * power).find(|step| *step >= value).unwrap_or(value)
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
