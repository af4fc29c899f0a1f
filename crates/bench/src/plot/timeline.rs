//! Figures over time, one panel below the other: does anything grow while it runs?
//!
//! Each axis starts at zero, so that a small change does not look like a large one. Invariant: no
//! coordinate is NaN or outside its panel, and a panel without points says so. Held by the tests.

use baro_show::{Unseen, markup};
use std::fmt::Write;

/// One figure over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What it shows.
    pub name: &'static str,
    /// Unit of the values; may be empty.
    pub unit: &'static str,
    /// Seconds and values, by rising time.
    pub points: Vec<(f64, f64)>,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Timeline<'a> {
    /// The heading.
    pub title: &'a str,
    /// From top to bottom.
    pub panels: &'a [Panel],
}

const WIDTH: f64 = 760.0;
const LEFT: f64 = 20.0;
const RIGHT: f64 = 740.0;
const TOP: f64 = 64.0;
const HEIGHT: f64 = 70.0;
const STEP: f64 = 112.0;

impl Timeline<'_> {
    /// One SVG file without scripts, fonts or references to anything outside.
    #[must_use]
    pub fn svg(&self) -> String {
        let all = self.panels.iter().flat_map(|panel| &panel.points);
        let end_s = all.map(|(at_s, _)| *at_s).fold(1e-9, f64::max);
        let height = TOP + STEP * self.panels.len() as f64;
        let title = markup(self.title, Unseen::Dropped);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{title}, {end_s:.0} s</text>\n"
        );
        for (at, panel) in self.panels.iter().enumerate() {
            drawn(panel, TOP + STEP * at as f64, end_s, &mut svg);
        }
        svg + "</svg>\n"
    }
}

fn drawn(panel: &Panel, top: f64, end_s: f64, svg: &mut String) {
    let bottom = top + HEIGHT;
    let most = panel.points.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let last = panel.points.last().map(|(_, value)| *value);
    let said = match last {
        Some(last) => format!("at most {most:.1} {}, at the end {last:.1}", panel.unit),
        None => "not measured here".to_owned(),
    };
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\">{}: {said}</text>\
         <line x1=\"{LEFT}\" y1=\"{bottom}\" x2=\"{RIGHT}\" y2=\"{bottom}\" stroke=\"#999\"/>",
        top - 8.0,
        panel.name
    );
    let scale = if most > 0.0 { HEIGHT / most } else { 0.0 };
    let place = |(at_s, value): &(f64, f64)| {
        let x = LEFT + at_s / end_s * (RIGHT - LEFT);
        format!("{x:.1},{:.1}", bottom - value.max(0.0) * scale)
    };
    let line: Vec<_> = panel.points.iter().map(place).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#0072b2\" stroke-width=\"1.5\"/>",
        line.join(" ")
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_start_at_zero_and_say_what_is_not_there() {
        let points = vec![(0.0, 0.0), (5.0, 2.0), (10.0, 4.0)];
        let panels = [
            Panel { name: "memory", unit: "MiB", points },
            Panel { name: "backlog", unit: "MiB", points: Vec::new() },
        ];
        let svg = Timeline { title: "a < b", panels: &panels }.svg();
        assert!(svg.contains("a &lt; b, 10 s"), "{svg}");
        assert!(svg.contains("20.0,134.0 380.0,99.0 740.0,64.0"), "{svg}");
        assert!(svg.contains("memory: at most 4.0 MiB, at the end 4.0"), "{svg}");
        assert!(svg.contains("backlog: not measured here"), "{svg}");
        assert!(!Timeline { title: "", panels: &[] }.svg().contains("NaN"));
    }
}
