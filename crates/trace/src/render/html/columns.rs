//! A series of numbers as columns of one width, and its outline.
//!
//! Invariant: a column has the largest value that held at any time in it, however many there were. Held
//! by `a_column_has_the_largest_value_that_held_in_it`.

use super::chart::{Axis, TIME_UNITS};
use std::fmt::Write;

/// A series of numbers: one for each column of the axis, None where there is none.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    pub(super) class: &'static str,
    pub(super) name: &'static str,
    /// Of a column, in the coordinates of a drawing; the last may be cut by its edge.
    pub(super) width: f64,
    pub(super) values: Vec<Option<u64>>,
}

impl Columns {
    pub(super) fn new(axis: &Axis, class: &'static str, name: &'static str) -> Self {
        Self { class, name, width: axis.column_width(), values: vec![None; axis.columns()] }
    }

    /// The largest.
    pub(super) fn max(&self) -> u64 {
        self.values.iter().flatten().copied().max().unwrap_or(0)
    }

    /// The largest value of each column, of a series that keeps its value until the next.
    pub(super) fn hold(mut self, axis: &Axis, series: &[(u64, u64)]) -> Self {
        let mut last: Option<(usize, u64)> = None;
        for (time_ns, value) in series {
            let column = axis.column(*time_ns);
            self.fill(last, column);
            self.raise(column, *value);
            last = Some((column, *value));
        }
        self.fill(last, axis.columns());
        self
    }

    /// Goes on with the last value after its column, up to and with the next one's.
    fn fill(&mut self, last: Option<(usize, u64)>, to: usize) {
        let Some((from, value)) = last else { return };
        for column in from + 1..=to.min(self.values.len().saturating_sub(1)) {
            self.raise(column, value);
        }
    }

    fn raise(&mut self, column: usize, value: u64) {
        if let Some(place) = self.values.get_mut(column) {
            *place = Some(place.unwrap_or(0).max(value));
        }
    }

    /// Adds to a column.
    pub(super) fn add(&mut self, column: usize, value: u64) {
        if let Some(place) = self.values.get_mut(column) {
            *place = Some(place.unwrap_or(0).saturating_add(value));
        }
    }

    /// The outline of a series: one step for each column, down to 0 at its ends.
    pub(super) fn path(&self, max: u64, height: f64) -> String {
        let mut path = String::new();
        let mut before: Option<u64> = None;
        for (index, value) in self.values.iter().enumerate() {
            let x = (self.width * index as f64).round().min(TIME_UNITS);
            if *value == before {
                continue;
            }
            // Results of writing to a String are dropped, here and below: it cannot fail.
            let _ = match (before, value) {
                (None, Some(value)) => write!(path, "M{x} {height}V{:.1}", y(*value, max, height)),
                (Some(_), Some(value)) => write!(path, "H{x}V{:.1}", y(*value, max, height)),
                _ => write!(path, "H{x}V{height}"),
            };
            before = *value;
        }
        if before.is_some() {
            let _ = write!(path, "H{TIME_UNITS}V{height}");
        }
        path
    }
}

fn y(value: u64, max: u64, height: f64) -> f64 {
    let part = value as f64 / max.max(1) as f64;
    // Room above the largest, so that its line is not cut.
    (height - part.clamp(0.0, 1.0) * (height - 4.0)).clamp(0.0, height)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::html::chart::tests::AXIS;

    #[test]
    fn a_column_has_the_largest_value_that_held_in_it() {
        let series = [(112, 7), (115, 9), (118, 2), (141, 5), (199, 1)];
        let columns = Columns::new(&AXIS, "", "").hold(&AXIS, &series);
        let none = None;
        let values = [none, Some(9), Some(2), Some(2), Some(5), Some(5), Some(5), Some(5), Some(5)];
        assert_eq!(columns.values, [&values[..], &[Some(5)]].concat());
        // One step for each change; before the first value nothing is drawn.
        assert_eq!(columns.path(9, 104.0), "M101010 104V4.0H202020V81.8H404040V48.4H1000000V104");
    }

    #[test]
    fn a_value_that_ends_within_a_column_counts_there() {
        let columns = Columns::new(&AXIS, "", "").hold(&AXIS, &[(100, 8), (155, 3)]);
        assert_eq!(columns.values[4..7], [Some(8), Some(8), Some(3)]);
    }
}
