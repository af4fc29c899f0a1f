//! An axis of a picture: from values to coordinates, linear or in decades, with its ticks.
//!
//! Invariant: no coordinate is NaN or beyond the ends, whatever the values. Held by
//! `any_value_has_a_place`.

use crate::figure::number;

/// More decades than any measurement has.
const DECADES_MAX: i32 = 24;

/// Where values lie between two coordinates.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    log: bool,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// For these values, drawn from the coordinate `from` to `to`: from zero on, or in decades.
    pub fn of(values: impl Iterator<Item = f64>, log: bool, from: f64, to: f64) -> Self {
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
    #[must_use]
    pub fn at(&self, value: f64) -> f64 {
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
    #[must_use]
    pub fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return (0..=5).map(|step| self.high * f64::from(step) / 5.0).collect();
        }
        let first = self.low.log10().round() as i32;
        let last = self.high.log10().round() as i32;
        (first..=last).map(|decade| 10f64.powi(decade)).collect()
    }

    /// What stands beside a tick.
    #[must_use]
    pub fn label(value: f64) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_value_has_a_place() {
        let odd = [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e-300, 3.0, 1e300, f64::MAX];
        for log in [false, true] {
            for end in 0..=odd.len() {
                let axis = Axis::of(odd.iter().take(end).copied(), log, 400.0, 20.0);
                for value in odd {
                    assert!((20.0..=400.0).contains(&axis.at(value)), "{log} {end} {value}");
                }
            }
        }
        let axis = Axis::of([3.0, 700.0].into_iter(), true, 0.0, 90.0);
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1_000.0]);
        assert_eq!([0.5, 10.0, 1_500.0, 2e6].map(Axis::label), ["0.5", "10", "1,500", "2M"]);
    }
}
