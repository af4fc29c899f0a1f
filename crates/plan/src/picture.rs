//! The picture of a plan: bytes to the device in a day by how soon data must be durable, beside what one
//! file for each sensor takes. This is the choice that costs most and that nothing else shows.

use crate::inputs::{DAY_S, Inputs};
use crate::numbers::{Numbers, numbers};
use baro_show::{Axis, bytes, duration};
use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 270.0;
/// Of `durable_within`, from the least to the most that a recorder takes.
const WITHIN_S: (f64, f64) = (1e-3, 3_600.0);
const POINTS: u32 = 66;

/// An SVG document.
#[must_use]
pub fn picture(inputs: &Inputs) -> String {
    let now = numbers(inputs);
    let at = |step: u32| {
        let part = f64::from(step) / f64::from(POINTS);
        WITHIN_S.0 * (WITHIN_S.1 / WITHIN_S.0).powf(part)
    };
    let day = |all: &Numbers| all.device_bytes_per_s * DAY_S;
    let curve: Vec<(f64, f64)> = (0..=POINTS)
        .map(|step| {
            let within = at(step);
            (within, day(&numbers(&Inputs { durable_within_s: within, ..*inputs })))
        })
        .collect();
    let files = now.files.wear * now.raw_bytes_per_s * DAY_S;
    let across = Axis::of([WITHIN_S.0, WITHIN_S.1].into_iter(), true, LEFT, RIGHT);
    let heights = curve.iter().map(|point| point.1).chain([files, day(&now)]);
    let up = Axis::of(heights, true, BOTTOM, TOP);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n\
         <text x=\"{LEFT}\" y=\"20\" font-size=\"13\">Bytes to the device in a day, by durable_within</text>"
    );
    for tick in up.ticks() {
        let y = up.at(tick);
        let label = bytes(tick as u64);
        let _ = writeln!(
            out,
            "<path d=\"M{LEFT} {y:.1}H{RIGHT}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 6.0,
            y + 4.0
        );
    }
    for tick in across.ticks() {
        let x = across.at(tick);
        let label = duration((tick * 1e9) as u64);
        let _ = writeln!(
            out,
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            BOTTOM + 18.0
        );
    }
    let line: Vec<String> =
        curve.iter().map(|(x, y)| format!("{:.1} {:.1}", across.at(*x), up.at(*y))).collect();
    let (x, y) = (across.at(inputs.durable_within_s), up.at(day(&now)));
    let files_y = up.at(files);
    let _ = writeln!(
        out,
        "<path d=\"M{}\" fill=\"none\" stroke=\"#1465c0\" stroke-width=\"2\"/>\n\
         <path d=\"M{LEFT} {files_y:.1}H{RIGHT}\" stroke=\"#c0392b\" stroke-dasharray=\"5 4\"/>\n\
         <text x=\"{RIGHT}\" y=\"{:.1}\" text-anchor=\"end\" fill=\"#c0392b\">a file for each sensor: {}</text>\n\
         <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"5\" fill=\"#1465c0\"/>\n\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"#1465c0\">this plan: {}</text>\n</svg>",
        line.join("L"),
        files_y - 5.0,
        bytes(files as u64),
        x + 8.0,
        y - 8.0,
        bytes(day(&now) as u64),
    );
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_picture_of_this_plan() {
        let inputs = Inputs::default();
        let text = picture(&inputs);
        assert!(text.starts_with("<svg ") && text.ends_with("</svg>\n"), "{text}");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        let day = bytes((numbers(&inputs).device_bytes_per_s * DAY_S) as u64);
        assert!(text.contains(&format!("this plan: {day}")), "{text}");
    }
}
