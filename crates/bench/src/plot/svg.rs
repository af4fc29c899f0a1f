//! The SVG: curves "share of calls that take at least so long", axes, legend with numbers.
//!
//! Invariant: no coordinate is NaN or outside the frame, whatever the data. Held by
//! `coordinates_are_finite` in `tests.rs`.

use super::{Plot, Series, cells, columns};
use baro_show::{Unseen, count, duration, markup};
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 924.0;
const TOP: f64 = 84.0;
const BOTTOM: f64 = 424.0;
/// Where the legend's first row stands, and the distance of its rows.
const LEGEND_TOP: f64 = 526.0;
const ROW: f64 = 24.0;
/// Room that the label of a maximum takes.
const LABEL_WIDTH: f64 = 104.0;
/// Closer points than this cannot be told apart.
const POINT_DISTANCE: f64 = 0.6;

/// Colours that people with colour blindness tell apart (Okabe and Ito), for light and dark
/// ground; the dashes help where a printer has none.
const COLOURS: [(&str, &str); 6] = [
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ff8c42"),
    ("#007a59", "#2fc79a"),
    ("#a34580", "#e39ac4"),
    ("#8a6100", "#f0c242"),
    ("#4d4d4d", "#c8c8c8"),
];
const DASHES: [&str; 3] = ["none", "8 4", "2 4"];

struct Axes {
    decade_first: i32,
    decade_last: i32,
    /// The rarest share shown is one in ten to this power.
    rarest: i32,
}

impl Axes {
    fn of(plot: &Plot<'_>) -> Self {
        let filled = plot.series.iter().filter(|series| !series.latency_ns.is_empty());
        let (mut shortest_ns, mut longest_ns, mut calls) = (u64::MAX, 1, 1);
        for series in filled {
            shortest_ns = shortest_ns.min(series.latency_ns.min());
            longest_ns = longest_ns.max(series.latency_ns_max);
            calls = calls.max(series.latency_ns.len());
        }
        if let Some(period_ns) = plot.period_ns {
            shortest_ns = shortest_ns.min(period_ns);
            longest_ns = longest_ns.max(period_ns);
        }
        let decade_first = decade(shortest_ns.clamp(1, longest_ns)).floor() as i32;
        // Room to the right of the maximum for its label.
        let decade_last = (decade(longest_ns) + 0.3).ceil() as i32;
        Self {
            decade_first,
            decade_last: decade_last.max(decade_first + 1),
            rarest: (decade(calls).ceil() as i32).max(1),
        }
    }

    fn x(&self, ns: u64) -> f64 {
        let span = f64::from(self.decade_last - self.decade_first);
        let part = (decade(ns) - f64::from(self.decade_first)) / span;
        LEFT + (RIGHT - LEFT) * part.clamp(0.0, 1.0)
    }

    fn y(&self, share: f64) -> f64 {
        let part = -share.clamp(1e-18, 1.0).log10() / f64::from(self.rarest);
        TOP + (BOTTOM - TOP) * part.clamp(0.0, 1.0)
    }
}

fn decade(number: u64) -> f64 {
    (number.max(1) as f64).log10()
}

pub(super) fn render(plot: &Plot<'_>) -> String {
    let mut out = String::new();
    let height = LEGEND_TOP + ROW * plot.series.len() as f64 + 12.0;
    // Writing to a String cannot fail; the results are dropped for that reason, here and below.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-labelledby=\"title desc\">\n\
         <title id=\"title\">{}</title>\n<desc id=\"desc\">{}</desc>",
        escaped(plot.title),
        escaped(&description(plot)),
    );
    style(&mut out);
    let _ = writeln!(
        out,
        "<rect class=\"ground\" width=\"{WIDTH}\" height=\"{height}\"/>\n\
         <text class=\"title\" x=\"24\" y=\"34\">{}</text>\n\
         <text class=\"soft\" x=\"24\" y=\"58\">{}</text>",
        escaped(plot.title),
        escaped(plot.subtitle),
    );
    let axes = Axes::of(plot);
    grid(&mut out, &axes);
    if let Some(period_ns) = plot.period_ns {
        period(&mut out, &axes, period_ns);
    }
    for (index, series) in plot.series.iter().enumerate() {
        curve(&mut out, &axes, index, series);
    }
    maxima(&mut out, &axes, plot);
    legend(&mut out, plot);
    out.push_str("</svg>\n");
    out
}

fn style(out: &mut String) {
    out.push_str(
        "<style>\ntext{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:14px;fill:#1a1a1a}\n\
         .title{font-size:20px;font-weight:600}\n.soft{fill:#555}\n.ground{fill:#fff}\n\
         .grid{stroke:#dcdcdc;stroke-width:1}\n.frame{stroke:#777;fill:none}\n\
         .late{fill:#d40000;fill-opacity:.06}\n.period{stroke:#c00000;stroke-width:1.5}\n\
         .periodtext{fill:#c00000}\n.curve{fill:none;stroke-width:2.5;stroke-linejoin:round}\n\
         .number{text-anchor:end;font-variant-numeric:tabular-nums}\n\
         .max{font-weight:600;paint-order:stroke;stroke:#fff;stroke-width:5;stroke-linejoin:round}\n",
    );
    let mut dark = String::from(
        "text{fill:#e8e8e8}.soft{fill:#a8a8a8}.ground{fill:#16181c}.grid{stroke:#33363c}\
         .frame{stroke:#8a8a8a}.late{fill:#ff5050;fill-opacity:.1}.period{stroke:#ff6b6b}\
         .periodtext{fill:#ff8080}.max{stroke:#16181c}",
    );
    for (index, (on_light, on_dark)) in COLOURS.iter().enumerate() {
        let _ = writeln!(out, ".s{index}{{stroke:{on_light}}}.f{index}{{fill:{on_light}}}");
        let _ = write!(dark, ".s{index}{{stroke:{on_dark}}}.f{index}{{fill:{on_dark}}}");
    }
    let _ = writeln!(out, "@media (prefers-color-scheme:dark){{{dark}}}\n</style>");
}

fn grid(out: &mut String, axes: &Axes) {
    for exponent in axes.decade_first..=axes.decade_last {
        let ns = 10_u64.saturating_pow(exponent.unsigned_abs());
        let x = axes.x(ns);
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{x:.1} {TOP}V{BOTTOM}\"/>\
             <text class=\"soft\" text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            BOTTOM + 20.0,
            decade_label(exponent),
        );
    }
    for exponent in 0..=axes.rarest {
        let y = axes.y(10_f64.powi(-exponent));
        let label = if exponent == 0 {
            "every call".to_owned()
        } else {
            format!("1 in {}", count(10_u64.saturating_pow(exponent.unsigned_abs())))
        };
        let _ = writeln!(
            out,
            "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{RIGHT}\"/>\
             <text class=\"soft\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
            LEFT - 8.0,
            y + 5.0,
        );
    }
    let _ = writeln!(
        out,
        "<path class=\"frame\" d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\"/>\n\
         <text class=\"soft\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">\
         a call takes at least this long (right: slower; down: rarer)</text>",
        f64::midpoint(LEFT, RIGHT),
        BOTTOM + 44.0,
    );
}

/// "100 us": a decade is a round number, without the digits of [`duration`].
fn decade_label(exponent: i32) -> String {
    let unit = ["ns", "us", "ms", "s"][(exponent.clamp(0, 11) / 3) as usize];
    let number = 10_u64.saturating_pow((exponent - exponent.clamp(0, 11) / 3 * 3).unsigned_abs());
    format!("{} {unit}", count(number))
}

fn period(out: &mut String, axes: &Axes, period_ns: u64) {
    let x = axes.x(period_ns);
    // Half the label's width: it stays inside the picture.
    let label_x = x.clamp(LEFT + 140.0, RIGHT - 120.0);
    let _ = writeln!(
        out,
        "<rect class=\"late\" x=\"{x:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"/>\
         <path class=\"period\" d=\"M{x:.1} {:.1}V{BOTTOM}\"/>\
         <text class=\"periodtext\" text-anchor=\"middle\" x=\"{label_x:.1}\" y=\"{:.1}\">\
         period {}: slower loses a sample</text>",
        RIGHT - x,
        BOTTOM - TOP,
        TOP - 4.0,
        TOP - 8.0,
        duration(period_ns),
    );
}

fn curve(out: &mut String, axes: &Axes, index: usize, series: &Series<'_>) {
    let points = series.slower_than();
    let Some((first, rest)) = points.split_first() else { return };
    let (mut x, mut y) = (axes.x(first.0), axes.y(first.1));
    let mut path = format!("M{x:.1} {y:.1}");
    for (position, point) in rest.iter().enumerate() {
        let (next_x, next_y) = (axes.x(point.0), axes.y(point.1));
        let is_last = position + 1 == rest.len();
        if is_last || next_x - x >= POINT_DISTANCE || next_y - y >= POINT_DISTANCE {
            // Between two durations that occurred the share is the later one's.
            let _ = write!(path, "V{next_y:.1}H{next_x:.1}");
            (x, y) = (next_x, next_y);
        }
    }
    let dash = DASHES[index / COLOURS.len() % DASHES.len()];
    let _ = writeln!(
        out,
        "<path class=\"curve s{}\" stroke-dasharray=\"{dash}\" d=\"{path}\"/>",
        index % COLOURS.len(),
    );
}

/// Marks each maximum; labels that would cover each other, or a mark, are moved up. They are drawn last.
fn maxima(out: &mut String, axes: &Axes, plot: &Plot<'_>) {
    let drawn = plot.series.iter().enumerate().filter(|(_, series)| !series.latency_ns.is_empty());
    let mark = |(index, series): (usize, &Series)| {
        let y = axes.y(1.0 / series.latency_ns.len() as f64);
        (index % COLOURS.len(), axes.x(series.latency_ns_max), y, series.latency_ns_max)
    };
    let marks: Vec<_> = drawn.map(mark).collect();
    for (colour, x, y, _) in &marks {
        let _ = writeln!(out, "<circle class=\"f{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\"/>");
    }
    // Left edge and base line of each label so far.
    let mut labels: Vec<(f64, f64)> = Vec::new();
    for (at, (colour, x, y, max_ns)) in marks.iter().enumerate() {
        // Near the right edge the label ends at the mark instead of beginning there.
        let (anchor, label_x, from_x) = if *x > RIGHT - LABEL_WIDTH {
            ("end", x + 4.0, x + 4.0 - LABEL_WIDTH)
        } else {
            ("start", x - 4.0, x - 4.0)
        };
        let is_covered = |label_y: f64| {
            let is_near = |other_y: f64| (other_y - label_y).abs() < 17.0;
            let others = marks.iter().enumerate().filter(|(other, _)| *other != at);
            let mut others = others.map(|(_, (_, x, y, _))| (*x, *y));
            labels.iter().any(|(x, y)| (x - from_x).abs() < LABEL_WIDTH && is_near(*y))
                || others.any(|(x, y)| (from_x..from_x + LABEL_WIDTH).contains(&x) && is_near(y))
        };
        let mut label_y = y - 10.0;
        while label_y > TOP + 20.0 && is_covered(label_y) {
            label_y -= 1.0;
        }
        labels.push((from_x, label_y));
        let _ = writeln!(
            out,
            "<text class=\"f{colour} max\" text-anchor=\"{anchor}\" \
             x=\"{label_x:.1}\" y=\"{label_y:.1}\">max {}</text>",
            duration(*max_ns),
        );
    }
}

fn legend(out: &mut String, plot: &Plot<'_>) {
    // Numbers end at the right edge, a fixed width each.
    let columns = columns(plot);
    let column_x = |index: usize| RIGHT - 110.0 * (columns.len() - 1 - index) as f64;
    let head_y = LEGEND_TOP - ROW;
    for (index, column) in columns.iter().enumerate() {
        let x = column_x(index);
        let _ = writeln!(
            out,
            "<text class=\"soft number\" x=\"{x:.1}\" y=\"{head_y:.1}\">{column}</text>"
        );
    }
    for (row, series) in plot.series.iter().enumerate() {
        let y = LEGEND_TOP + ROW * row as f64;
        let dash = DASHES[row / COLOURS.len() % DASHES.len()];
        let _ = writeln!(
            out,
            "<path class=\"curve s{}\" stroke-dasharray=\"{dash}\" d=\"M24 {:.1}h36\"/>\
             <text x=\"70\" y=\"{y:.1}\">{}</text>",
            row % COLOURS.len(),
            y - 5.0,
            escaped(series.name),
        );
        for (index, cell) in cells(plot, series).iter().enumerate() {
            let x = column_x(index);
            let _ = writeln!(out, "<text class=\"number\" x=\"{x:.1}\" y=\"{y:.1}\">{cell}</text>");
        }
    }
}

fn description(plot: &Plot<'_>) -> String {
    let mut text = format!("{}. Longest calls:", plot.subtitle);
    for series in plot.series {
        let _ = write!(text, " {} {};", series.name, duration(series.latency_ns_max));
    }
    text
}

fn escaped(text: &str) -> String {
    markup(text, Unseen::Dropped)
}
