//! Values of one series, one for each step.

use crate::error::{Result, execution};
use crate::labels::Labels;
use std::collections::HashMap;

/// Stands where a series has no value: the marker of Prometheus for a series that has ended, which
/// no result can have.
pub const ABSENT: f64 = f64::from_bits(0x7ff0_0000_0000_0002);

/// Whether there is no value.
#[must_use]
#[inline]
pub fn is_absent(value: f64) -> bool {
    value.to_bits() == ABSENT.to_bits()
}

/// A series of a result.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) labels: Labels,
    /// One for each step.
    pub(crate) values: Vec<f64>,
}

/// What a part of a query comes to.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// One for each step.
    Scalar(Vec<f64>),
    Vector(Vec<Series>),
    Text(String),
}

/// Calls `of` with each value that is there.
pub(crate) fn map(values: &mut [f64], mut of: impl FnMut(f64) -> f64) {
    for value in values {
        if !is_absent(*value) {
            *value = of(*value);
        }
    }
}

/// Series that lost their names: those with equal labels become one, which is an error where both
/// have a value.
pub(crate) fn merged(series: Vec<Series>) -> Result<Vec<Series>> {
    let mut places: HashMap<Labels, usize> = HashMap::with_capacity(series.len());
    let mut merged: Vec<Series> = Vec::with_capacity(series.len());
    for one in series {
        if let Some(at) = places.get(&one.labels) {
            let Some(first) = merged.get_mut(*at) else { continue };
            for (to, from) in first.values.iter_mut().zip(one.values) {
                if is_absent(from) {
                    continue;
                }
                if !is_absent(*to) {
                    return execution("vector cannot contain metrics with the same labelset");
                }
                *to = from;
            }
            continue;
        }
        places.insert(one.labels.clone(), merged.len());
        merged.push(one);
    }
    Ok(merged)
}

/// The same after the names are taken away.
pub(crate) fn nameless(mut series: Vec<Series>) -> Result<Vec<Series>> {
    series.iter_mut().for_each(|one| one.labels = one.labels.without_name());
    merged(series)
}
