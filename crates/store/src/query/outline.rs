//! What a picture needs of each step of time: least, greatest, first and last value, in one pass.

use super::emit::Taker;
use super::fold::Step;
use super::{Aggregate, Every, Query, QueryNotes, Target};
use crate::interval::Interval;
use crate::{Result, Selection, Store};
use std::num::NonZeroU64;
use std::ops::ControlFlow;

/// What the samples of a step come to, as floats. NaN counts as a sample: `min` and `max` pass over it and
/// are NaN only where there is nothing else; `first` and `last` are what they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// Number of samples, at least 1.
    pub count: u64,
    /// Least value.
    pub min: f64,
    /// Greatest value.
    pub max: f64,
    /// Value of the earliest sample.
    pub first: f64,
    /// Value of the latest sample.
    pub last: f64,
}

impl From<&Step> for Outline {
    fn from(step: &Step) -> Self {
        let Step { count, min, max, first, last, .. } = *step;
        Outline { count, min, max, first, last }
    }
}

impl Store {
    /// Calls `each` with the start of each step of `step_ns` that has samples, at multiples of that length
    /// since 1970, and with what its samples come to; series by series in the order of
    /// [`Selection::columns`], each by rising time, until it breaks. Texts have none. Of a step with many
    /// samples aggregates are read instead of them.
    ///
    /// # Errors
    /// As [`Store::query`].
    pub fn outline(
        &self,
        selection: &Selection,
        interval: Interval,
        step_ns: NonZeroU64,
        mut each: impl FnMut(Target, i64, &Outline) -> ControlFlow<()>,
    ) -> Result<QueryNotes> {
        // Any that joins, has no texts and needs no integers: its own value is not looked at.
        let every = Every { step_ns: step_ns.get(), aggregate: Aggregate::Min };
        let mut each = |target: Target, start_ns: i64, step: &Step| {
            each(target, start_ns, &Outline::from(step))
        };
        self.in_groups(selection, &Query::every(interval, every), Taker::Steps(&mut each))
    }
}
