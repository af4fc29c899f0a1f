//! When a writer's rate has settled: from its points alone.
//!
//! The paper ran each cell for an hour, left out the first five minutes, and looked at the curve.
//! Here the rate is steady when the mean of a window is within a tenth of that of the window before,
//! two times running. Where the files are renamed all at once the rate goes up and down with the
//! renaming, so one round of it is wanted too if there is time for it. What never settles is averaged
//! over its second half and said to be not steady. Held by the tests below.

use super::Point;
use serde::{Deserialize, Serialize};

/// What counts as steady.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyRule {
    /// Left out at the beginning, ns.
    pub skip_ns: u64,
    /// Length of a window, ns.
    pub window_ns: u64,
    /// How far a window's mean may be from that of the one before, as a part of it.
    pub within: f64,
}

/// The rate a writer came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steady {
    /// Whether it settled.
    pub steady: bool,
    /// Where the mean begins, ns.
    pub from_ns: u64,
    /// Where it ends, ns.
    pub to_ns: u64,
    /// Mean rate in between.
    pub bytes_per_s: f64,
    /// Files renamed by the end.
    pub rotations: u64,
}

/// The first time the rate was steady, or what there is of one that was not; None of fewer than two
/// points that differ in time.
#[must_use]
pub fn steady(points: &[Point], rule: &SteadyRule) -> Option<Steady> {
    let last = points.last()?;
    let mut ends = vec![at_or_after(points, rule.skip_ns)?];
    while let Some(end) = ends.last() {
        match at_or_after(points, end.at_ns.saturating_add(rule.window_ns.max(1))) {
            Some(next) => ends.push(next),
            None => break,
        }
    }
    let rates: Vec<f64> = ends
        .iter()
        .zip(ends.iter().skip(1))
        .map(|(from, to)| rate(from, to).unwrap_or(0.0))
        .collect();
    let near = |one: f64, two: f64| one > 0.0 && (two - one).abs() <= one * rule.within;
    for (index, three) in rates.windows(3).enumerate() {
        let [one, two, last] = three else { continue };
        if near(*one, *two) && near(*two, *last) {
            let (from, to) = (ends.get(index)?, ends.get(index + 3)?);
            return Some(found(true, from, to, rate(from, to)?));
        }
    }
    let from = at_or_after(points, (last.at_ns / 2).max(rule.skip_ns.min(last.at_ns / 2)))?;
    let from = if from.at_ns < last.at_ns { *from } else { Point::default() };
    Some(found(false, &from, last, rate(&from, last)?))
}

fn found(steady: bool, from: &Point, to: &Point, bytes_per_s: f64) -> Steady {
    let (from_ns, to_ns, rotations) = (from.at_ns, to.at_ns, to.rotations);
    Steady { steady, from_ns, to_ns, bytes_per_s, rotations }
}

fn at_or_after(points: &[Point], at_ns: u64) -> Option<&Point> {
    points.iter().find(|point| point.at_ns >= at_ns)
}

fn rate(from: &Point, to: &Point) -> Option<f64> {
    let ns = to.at_ns.checked_sub(from.at_ns).filter(|ns| *ns > 0)?;
    Some(to.bytes.saturating_sub(from.bytes) as f64 * 1e9 / ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;
    const RULE: SteadyRule = SteadyRule { skip_ns: S, window_ns: S, within: 0.1 };

    /// Points four times a second, at these rates in each second.
    fn points(rates: &[u64]) -> Vec<Point> {
        let (mut bytes, mut points) = (0, Vec::new());
        for (second, rate) in rates.iter().enumerate() {
            for quarter in 1..=4 {
                bytes += rate / 4;
                let at_ns = second as u64 * S + quarter * S / 4;
                points.push(Point { at_ns, bytes, rotations: second as u64 });
            }
        }
        points
    }

    #[test]
    fn a_rate_that_falls_and_then_stays_is_steady_from_where_it_stays() {
        let found = steady(&points(&[900, 400, 200, 104, 100, 96, 100]), &RULE).unwrap();
        assert!(found.steady, "{found:?}");
        assert_eq!((found.from_ns, found.to_ns, found.rotations), (3 * S, 6 * S, 5));
        assert!((found.bytes_per_s - 100.0).abs() < 1e-9, "{found:?}");
    }

    #[test]
    fn one_that_goes_on_falling_or_up_and_down_is_not() {
        let falling = steady(&points(&[1_600, 800, 400, 200, 100, 52]), &RULE).unwrap();
        assert!(!falling.steady && falling.from_ns == 3 * S && falling.to_ns == 6 * S);
        assert!((falling.bytes_per_s - 352.0 / 3.0).abs() < 1e-9, "{falling:?}");
        assert!(!steady(&points(&[100, 200, 100, 200, 100, 200, 100]), &RULE).unwrap().steady);
        // A writer that stands still has not settled.
        assert!(!steady(&points(&[0, 0, 0, 0, 0, 0]), &RULE).unwrap().steady);
    }

    #[test]
    fn too_few_points_say_what_they_can_and_none_nothing() {
        assert_eq!(steady(&[], &RULE), None);
        let one = Point { at_ns: S / 2, bytes: 50, rotations: 0 };
        assert_eq!(steady(&[one], &SteadyRule { skip_ns: 0, ..RULE }).unwrap().bytes_per_s, 100.0);
        assert_eq!(steady(&[Point::default()], &SteadyRule { skip_ns: 0, ..RULE }), None);
        let same = [Point { at_ns: 5, bytes: 1, rotations: 0 }; 3];
        assert!(steady(&same, &SteadyRule { skip_ns: 0, window_ns: 0, within: 0.1 }).is_some());
    }
}
