//! A column of a picture: what its samples come to.

use baro_store::Outline;
use std::fmt::Write;

/// The least, greatest, first and last value of the samples of a column.
///
/// As in the store's aggregates, least and greatest pass over NaN, and first and last are what they are: NaN is
/// told as `null` there. A column with an infinite value cannot be drawn and is told as an empty one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Column {
    has_samples: bool,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) first: f64,
    pub(super) last: f64,
}

impl Column {
    /// Without a sample.
    pub(super) const EMPTY: Column = Column {
        has_samples: false,
        min: f64::NAN,
        max: f64::NAN,
        first: f64::NAN,
        last: f64::NAN,
    };

    pub(super) fn of(outline: &Outline) -> Self {
        let Outline { min, max, first, last, .. } = *outline;
        Column { has_samples: true, min, max, first, last }
    }

    /// Adds a later sample.
    #[inline]
    pub(super) fn add(&mut self, value: f64) {
        if !self.has_samples {
            (self.has_samples, self.first) = (true, value);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.last = value;
    }

    /// Whether it has an infinite value, with which it cannot be drawn.
    pub(super) fn is_infinite(&self) -> bool {
        self.min.is_infinite() || self.max.is_infinite()
    }

    /// As JSON: `null`, the value if there is one alone and no NaN at an end, or `[min,max,first,last]`.
    pub(super) fn write(&self, to: &mut String) {
        let Column { min, max, first, last, .. } = *self;
        if !min.is_finite() || !max.is_finite() {
            to.push_str("null");
        } else if min.to_bits() == max.to_bits() && !first.is_nan() && !last.is_nan() {
            number(to, min);
        } else {
            for (mark, value) in [('[', min), (',', max), (',', first), (',', last)] {
                to.push(mark);
                if value.is_nan() { to.push_str("null") } else { number(to, value) }
            }
            to.push(']');
        }
    }
}

/// A finite number with the digits that it has.
fn number(to: &mut String, value: f64) {
    let size = value.abs();
    // Without an exponent, 1e300 has 301 digits.
    let _ = match value == 0.0 || (1e-5..1e15).contains(&size) {
        true => write!(to, "{value}"),
        false => write!(to, "{value:e}"),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_written_in_as_few_digits_as_they_have() {
        let of = |values: &[f64]| {
            let mut column = Column::EMPTY;
            values.iter().for_each(|value| column.add(*value));
            let mut text = String::new();
            column.write(&mut text);
            text
        };
        assert_eq!(of(&[]), "null");
        assert_eq!(of(&[f64::NAN]), "null");
        assert_eq!(of(&[1.0, f64::INFINITY]), "null");
        assert_eq!(of(&[2.5]), "2.5");
        assert_eq!(of(&[2.0, 2.0]), "2");
        assert_eq!(of(&[2.0, f64::NAN, -1.0, 7.0, 3.5]), "[-1,7,2,3.5]");
        assert_eq!(of(&[f64::NAN, -1.0, 7.0]), "[-1,7,null,7]");
        assert_eq!(of(&[5.0, f64::NAN]), "[5,5,5,null]");
        assert_eq!(of(&[5.0, 1.0, 9.0, 7.0, f64::NAN]), "[1,9,5,null]");
        assert_eq!(of(&[1e300, -1e-300]), "[-1e-300,1e300,1e300,-1e-300]");
    }
}
