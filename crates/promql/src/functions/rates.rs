//! What changes over a range: as Prometheus has it, extended to the edges of the range.

use super::over_time::Window;
use crate::sum::Sum;

/// Nanoseconds as seconds.
fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// How much a series has changed over the range. Where the samples come close to an edge of the range,
/// the change goes on to the edge; else half of the usual distance of two samples. A counter does not go
/// on to before it was zero.
pub(super) fn extrapolated(window: &Window<'_>, is_counter: bool, by_second: bool) -> Option<f64> {
    let (first, last) = (*window.values.first()?, *window.values.last()?);
    let (first_ns, last_ns) = (*window.times_ns.first()?, *window.times_ns.last()?);
    let between = window.values.len().checked_sub(1).filter(|between| *between > 0)?;
    let mut change = last - first;
    if is_counter {
        for pair in window.values.windows(2) {
            if let [before, value] = pair
                && value < before
            {
                change += before;
            }
        }
    }
    let sampled = seconds(last_ns - first_ns);
    let usual = sampled / between as f64;
    let edge = |distance: f64| if distance >= usual * 1.1 { usual / 2.0 } else { distance };
    let mut to_start = edge(seconds(first_ns - window.start_ns));
    if is_counter && change > 0.0 && first >= 0.0 {
        to_start = to_start.min(sampled * (first / change));
    }
    let to_end = edge(seconds(window.end_ns - last_ns));
    // In this order, for the same last digit.
    let mut factor = (sampled + to_start + to_end) / sampled;
    if by_second {
        factor /= seconds(window.end_ns - window.start_ns);
    }
    Some(change * factor)
}

/// The change between the last two samples.
pub(super) fn instant(window: &Window<'_>, is_rate: bool) -> Option<f64> {
    let at = window.values.len().checked_sub(2)?;
    let (before, last) = (*window.values.get(at)?, *window.values.last()?);
    let over = seconds(*window.times_ns.last()? - *window.times_ns.get(at)?);
    if over <= 0.0 {
        return None;
    }
    let change = if is_rate && last < before { last } else { last - before };
    Some(if is_rate { change / over } else { change })
}

/// The line through the samples by least squares: how much it rises in a second, and where it is at
/// `origin_ns`.
fn line(window: &Window<'_>, origin_ns: i64) -> Option<(f64, f64)> {
    let first = *window.values.first()?;
    if window.values.len() < 2 {
        return None;
    }
    if window.values.iter().all(|value| *value == first) {
        return Some(if first.is_infinite() { (f64::NAN, f64::NAN) } else { (0.0, first) });
    }
    let (mut x, mut y, mut xy, mut xx) = <(Sum, Sum, Sum, Sum)>::default();
    for (time_ns, value) in window.times_ns.iter().zip(window.values) {
        let at = seconds(time_ns - origin_ns);
        x.add(at);
        y.add(*value);
        xy.add(at * value);
        xx.add(at * at);
    }
    let count = window.values.len() as f64;
    let (x, y) = (x.value(), y.value());
    let slope = (xy.value() - x * y / count) / (xx.value() - x * x / count);
    Some((slope, y / count - slope * x / count))
}

pub(super) fn slope(window: &Window<'_>) -> Option<f64> {
    line(window, *window.times_ns.first()?).map(|(slope, _)| slope)
}

/// Where the line through the samples is `ahead` seconds behind `now_ns`.
pub(super) fn predicted(window: &Window<'_>, now_ns: i64, ahead: f64) -> Option<f64> {
    line(window, now_ns).map(|(slope, here)| slope * ahead + here)
}
