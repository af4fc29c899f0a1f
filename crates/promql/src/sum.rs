//! Sums that keep what rounding takes away (Neumaier, 1974): with a plain sum, a mean of small and large
//! values differs from that of Prometheus, which sums so too.

/// A sum in the making.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    sum: f64,
    rest: f64,
}

impl Sum {
    #[inline]
    pub(crate) fn add(&mut self, value: f64) {
        let sum = self.sum + value;
        self.rest = if sum.is_infinite() {
            0.0
        } else if self.sum.abs() >= value.abs() {
            self.rest + ((self.sum - sum) + value)
        } else {
            self.rest + ((value - sum) + self.sum)
        };
        self.sum = sum;
    }

    pub(crate) fn value(self) -> f64 {
        self.sum + self.rest
    }

    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> f64 {
        let mut sum = Sum::default();
        values.into_iter().for_each(|value| sum.add(value));
        sum.value()
    }
}

/// Mean of some values: by their sum, or, where that is too large, value by value.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let sum = Sum::of(values.iter().copied());
    if sum.is_finite() || values.iter().any(|value| !value.is_finite()) {
        return sum / count;
    }
    let mut mean = Sum::default();
    values.iter().for_each(|value| mean.add(value / count));
    mean.value()
}

/// Sum of the squares of what values are off their mean, divided by their number.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let (mut mean, mut squares) = (Sum::default(), Sum::default());
    for (at, value) in values.iter().enumerate() {
        let off = value - mean.value();
        mean.add(off / (at + 1) as f64);
        squares.add(off * (value - mean.value()));
    }
    squares.value() / values.len() as f64
}

/// The value that a share `q` of the sorted values does not exceed, between two of them in proportion.
pub(crate) fn quantile(q: f64, values: &mut [f64]) -> f64 {
    if values.is_empty() || q.is_nan() {
        return f64::NAN;
    }
    if q < 0.0 {
        return f64::NEG_INFINITY;
    }
    if q > 1.0 {
        return f64::INFINITY;
    }
    // NaN is the smallest.
    values.sort_by(|a, b| match (a.is_nan(), b.is_nan()) {
        (true, true) => std::cmp::Ordering::Equal,
        (true, false) => std::cmp::Ordering::Less,
        (false, true) => std::cmp::Ordering::Greater,
        _ => a.total_cmp(b),
    });
    let rank = q * (values.len() - 1) as f64;
    let lower = rank.floor().max(0.0);
    let at = |place: f64| values.get(place as usize).copied().unwrap_or(f64::NAN);
    let upper = (lower + 1.0).min((values.len() - 1) as f64);
    let weight = rank - rank.floor();
    // Nothing of an infinite neighbour.
    if weight == 0.0 { at(lower) } else { at(lower) * (1.0 - weight) + at(upper) * weight }
}
