//! Charts over the time of the trace: bars in rows, and columns of numbers.
//!
//! A chart is an SVG that holds another one with the drawing: the inner one counts time from 0 to
//! [`TIME_UNITS`] and is stretched to the width, so that to zoom is to change what it shows. Labels
//! stand outside and are never stretched.
//!
//! Invariant: no coordinate is outside of the drawing or no number, whatever the data. Held by
//! `any_timeline_is_drawn`.

use super::columns::Columns;
use super::page::Page;
use crate::render::View;
use std::io;

/// The whole trace, in the coordinates of a drawing.
pub(super) const TIME_UNITS: f64 = 1_000_000.0;
const WIDTH: f64 = 1_200.0;
/// Where the drawing begins; labels of values stand to its left.
const LEFT: f64 = 110.0;
const TOP: f64 = 8.0;
/// Room for labels of time.
const BELOW: f64 = 24.0;
/// Ticks of time, beside the one at 0.
const TICKS: u64 = 6;
/// Columns of a series, at most.
const COLUMNS_MAX: u64 = 600;
const LABEL_CHARS: usize = 100;

/// The time that charts show.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis {
    begin_ns: u64,
    duration_ns: u64,
    /// Width of a column.
    pub(super) column_ns: u64,
}

impl Axis {
    pub(super) fn of(view: &View<'_>) -> Self {
        let duration_ns = view.line.duration_ns().max(1);
        // A millisecond, and ten times more until there are few enough of them.
        let mut column_ns = 1_000_000_u64;
        while duration_ns / column_ns > COLUMNS_MAX {
            column_ns = column_ns.saturating_mul(10);
        }
        Self { begin_ns: view.line.begin_ns, duration_ns, column_ns }
    }

    /// A time in the coordinates of a drawing.
    fn x(&self, time_ns: u64) -> f64 {
        let part = time_ns.saturating_sub(self.begin_ns) as f64 / self.duration_ns as f64;
        (part * TIME_UNITS).clamp(0.0, TIME_UNITS).round()
    }

    /// How wide a column is, in the coordinates of a drawing.
    pub(super) fn column_width(&self) -> f64 {
        self.column_ns as f64 / self.duration_ns as f64 * TIME_UNITS
    }

    pub(super) fn columns(&self) -> usize {
        (self.duration_ns / self.column_ns) as usize + 1
    }

    /// The column of a time; times outside of the trace are in the first or last.
    pub(super) fn column(&self, time_ns: u64) -> usize {
        let column = time_ns.saturating_sub(self.begin_ns) / self.column_ns;
        usize::try_from(column).unwrap_or(usize::MAX).min(self.columns() - 1)
    }
}

/// A bar in one of the rows of a chart.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    pub(super) row: usize,
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
    /// Its class in the style sheet.
    pub(super) class: &'static str,
    /// What the reader is told who points at it.
    pub(super) label: String,
}

/// Writes a chart of bars in so many rows.
pub(super) fn bars(
    axis: &Axis,
    title: &str,
    rows: usize,
    bars: &[Bar],
    page: &mut Page<'_>,
) -> io::Result<()> {
    let row_height = 22.0;
    let height = row_height * rows.max(1) as f64;
    open(axis, title, height, page)?;
    for bar in bars {
        let (x, end_x) = (axis.x(bar.begin_ns), axis.x(bar.end_ns));
        // A thousandth of the width stays visible.
        let width = (end_x - x).max(TIME_UNITS / 1_500.0);
        let y = row_height * bar.row.min(rows) as f64 + 2.0;
        page.raw(&format!(
            "<rect class=\"{}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{width:.0}\" height=\"18\"><title>",
            bar.class,
        ))?;
        page.text(&bar.label, LABEL_CHARS)?;
        page.raw("</title></rect>\n")?;
    }
    page.raw("</svg>\n</svg>\n")
}

/// Writes a chart of series, drawn over each other, the scale from 0 to the largest value.
pub(super) fn columns(
    axis: &Axis,
    title: &str,
    series: &[Columns],
    unit: impl Fn(u64) -> String,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let height = 110.0;
    let max = series.iter().map(Columns::max).max().unwrap_or(0);
    open(axis, title, height, page)?;
    for one in series {
        page.raw(&format!(
            "<path class=\"{}\" d=\"{}\"><title>",
            one.class,
            one.path(max, height)
        ))?;
        page.text(one.name, LABEL_CHARS)?;
        page.raw("</title></path>\n")?;
    }
    page.raw("</svg>\n")?;
    for (value, y) in [(max, TOP + 10.0), (max / 2, TOP + height / 2.0 + 4.0), (0, TOP + height)] {
        page.raw(&format!("<text class=\"value\" x=\"{:.0}\" y=\"{y:.0}\">", LEFT - 8.0))?;
        page.text(&unit(value), 30)?;
        page.raw("</text>\n")?;
    }
    page.raw("</svg>\n")?;
    legend(&series.iter().map(|one| (one.class, one.name)).collect::<Vec<_>>(), page)
}

/// What the colours mean.
pub(super) fn legend(entries: &[(&str, &str)], page: &mut Page<'_>) -> io::Result<()> {
    page.raw("<p class=\"legend\">")?;
    for (class, name) in entries {
        page.raw(&format!("<span><i class=\"{class}\"></i>"))?;
        page.text(name, LABEL_CHARS)?;
        page.raw("</span> ")?;
    }
    page.raw("</p>\n")
}

/// The distance of ticks: 1, 2 or 5 and zeros, so that no more than [`TICKS`] are needed.
fn step(duration_ns: u64) -> u64 {
    let mut decade_ns = 1_u64;
    loop {
        for part in [1, 2, 5] {
            let step_ns = decade_ns.saturating_mul(part);
            if step_ns >= duration_ns.div_ceil(TICKS) {
                return step_ns;
            }
        }
        decade_ns = decade_ns.saturating_mul(10);
    }
}

/// A time in the unit that fits the whole, with the digits that tell ticks apart.
fn tick_label(at_ns: u64, step_ns: u64, whole_ns: u64) -> String {
    let (unit_ns, unit, decades) = match whole_ns {
        1_000_000_000.. => (1e9, "s", 9),
        1_000_000.. => (1e6, "ms", 6),
        1_000.. => (1e3, "us", 3),
        _ => (1.0, "ns", 0),
    };
    let digits = decades - step_ns.ilog10().min(decades);
    format!("{:.*} {unit}", digits as usize, at_ns as f64 / unit_ns)
}

/// The outer SVG with labels of time, and the beginning of the inner one.
fn open(axis: &Axis, title: &str, height: f64, page: &mut Page<'_>) -> io::Result<()> {
    let width = WIDTH - LEFT - 10.0;
    page.element("h3", title, LABEL_CHARS)?;
    page.raw(&format!(
        "\n<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\"><title>",
        TOP + height + BELOW
    ))?;
    page.text(title, LABEL_CHARS)?;
    page.raw("</title>\n")?;
    let step_ns = step(axis.duration_ns);
    for tick in 0..=TICKS {
        let at_ns = step_ns.saturating_mul(tick);
        let x = LEFT + width * (at_ns as f64 / axis.duration_ns as f64).min(1.0);
        // Those that are not needed now may be when the reader looks closer.
        let hidden = if at_ns > axis.duration_ns { " visibility=\"hidden\"" } else { "" };
        page.raw(&format!(
            "<g class=\"tick\" transform=\"translate({x:.1} 0)\"{hidden}>\
             <path class=\"grid\" d=\"M0 {TOP}v{height:.0}\"/><text y=\"{:.0}\">{}</text></g>\n",
            TOP + height + 17.0,
            tick_label(at_ns, step_ns, axis.duration_ns),
        ))?;
    }
    page.raw(&format!(
        "<rect class=\"frame\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n\
         <svg class=\"plot\" x=\"{LEFT}\" y=\"{TOP}\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {TIME_UNITS} {height:.0}\" preserveAspectRatio=\"none\">\n\
         <rect class=\"ground\" width=\"{TIME_UNITS}\" height=\"{height:.0}\"/>\n"
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Ten columns of 10 ns, from 100 on.
    pub(in crate::render::html) const AXIS: Axis =
        Axis { begin_ns: 100, duration_ns: 99, column_ns: 10 };

    #[test]
    fn ticks_are_round_and_few() {
        for duration_ns in [1, 7, 60, 61, 462_000_000, 8_041_854_827, 3_600_000_000_000, u64::MAX] {
            let step_ns = step(duration_ns);
            assert!(
                u128::from(step_ns) * u128::from(TICKS + 1) > duration_ns.into(),
                "{duration_ns}: {step_ns}"
            );
            let first = step_ns.to_string();
            let (digit, zeros) = first.split_at(1);
            assert!(["1", "2", "5"].contains(&digit) && zeros.bytes().all(|one| one == b'0'));
        }
        let labels = [0, 2_000_000_000, 8_000_000_000]
            .map(|at| tick_label(at, 2_000_000_000, 8_100_000_000));
        assert_eq!(labels, ["0 s", "2 s", "8 s"]);
        assert_eq!(tick_label(1_500_000_000, 500_000_000, 2_900_000_000), "1.5 s");
        assert_eq!(tick_label(150_000, 50_000, 1_000_000), "0.15 ms");
    }

    #[test]
    fn times_outside_of_the_trace_are_at_its_ends() {
        assert_eq!([0, 100, 199, u64::MAX].map(|at| AXIS.column(at)), [0, 0, 9, 9]);
        assert_eq!([0, 100, 199, u64::MAX].map(|at| AXIS.x(at)), [0.0, 0.0, 1e6, 1e6]);
    }
}
