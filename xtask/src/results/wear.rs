//! The trade of `durable_within` against wear, drawn: small records that must be durable soon fill
//! a 4 KiB unit each; those that may wait share one.
//!
//! Invariant: nothing is drawn that was not measured. Held by the test below.

use super::judge::most_to_device;
use super::runs::Runs;
use std::fmt::Write as _;

/// Rows, and the bound on durability of each, in ms.
const ROWS: [(&str, f64); 4] = [
    ("wear-100-10ms", 10.0),
    ("wear-100-100ms", 100.0),
    ("wear-100-1s", 1_000.0),
    ("wear-100-10s", 10_000.0),
];
const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 310.0;
const DECADE_X: f64 = 170.0;
const DECADE_Y: f64 = 120.0;

/// The picture; None if a row is missing.
pub(super) fn svg(runs: &Runs) -> Option<String> {
    let measured = ROWS.map(|(row, within_ms)| {
        let ratio = most_to_device(&runs.results(row));
        ratio.map(|ratio| (within_ms, ratio))
    });
    let points = measured.into_iter().collect::<Option<Vec<_>>>()?;
    Some(drawn(&points))
}

fn drawn(points: &[(f64, f64)]) -> String {
    let x = |ms: f64| LEFT + 20.0 + (ms / 10.0).log10() * DECADE_X;
    let y = |ratio: f64| BOTTOM - ratio.max(1.0).log10() * DECADE_Y;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">100 B each 10 ms: bytes to the device for \
         each byte pushed</text>\n"
    );
    for ratio in [1.0, 10.0, 100.0] {
        let at = y(ratio);
        let end = WIDTH - 30.0;
        let _ = writeln!(
            svg,
            "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{end}\" y2=\"{at:.1}\" stroke=\"#ccc\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{ratio}</text>",
            LEFT - 8.0,
            at + 4.0
        );
    }
    let line: Vec<_> =
        points.iter().map(|(ms, ratio)| format!("{:.1},{:.1}", x(*ms), y(*ratio))).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f5fa8\" stroke-width=\"2\"/>",
        line.join(" ")
    );
    for (ms, ratio) in points {
        let name = if *ms < 1_000.0 { format!("{ms} ms") } else { format!("{} s", ms / 1_000.0) };
        let (cx, cy) = (x(*ms), y(*ratio));
        let _ = writeln!(
            svg,
            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"#1f5fa8\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{ratio:.2}</text>\
             <text x=\"{cx:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
            cx + 8.0,
            cy - 8.0,
            BOTTOM + 20.0
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">--durable-within</text>\n</svg>",
        WIDTH / 2.0,
        HEIGHT - 12.0
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_point_is_labelled_and_lies_where_its_ratio_says() {
        let svg = drawn(&[(10.0, 40.9), (10_000.0, 1.0)]);
        assert!(svg.contains(">40.90<") && svg.contains(">10 s<"), "{svg}");
        assert!(svg.contains("cy=\"310.0\""), "a ratio of 1 lies on the axis: {svg}");
    }
}
