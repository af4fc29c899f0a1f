//! Steps of time, and what the samples of a step are folded into.

use crate::ValueType;
use std::borrow::Cow;
use std::fmt;

/// How the samples of a step become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Aggregate {
    /// Arithmetic mean.
    Mean,
    /// Least value.
    Min,
    /// Greatest value.
    Max,
    /// Sum.
    Sum,
    /// Number of samples.
    Count,
    /// Value of the earliest sample.
    First,
    /// Value of the latest sample.
    Last,
    /// The smallest value that at least so many millionths of the samples do not exceed: see
    /// [`Aggregate::P99`].
    Percentile(u32),
    /// The middle one of the values by size; of an even number of values the mean of the middle two.
    Median,
    /// Standard deviation of the values, divided by their number, as in Prometheus.
    Stddev,
    /// How much a counter has risen since the sample before the step. Where it falls it was set back
    /// to zero, and has risen by what it shows then. NaN is passed over, as in the three below.
    Increase,
    /// The same by second, over the time between the samples compared.
    Rate,
    /// The last value without that of the sample before the step.
    Delta,
    /// Mean over the time of the step, where each value holds until the next sample, and that of the
    /// sample before the step until the first.
    TimeMean,
}

/// Millionths in a whole.
const WHOLE: u32 = 1_000_000;

impl Aggregate {
    /// 99th percentile: the smallest value that at least 99 % of the samples do not exceed.
    pub const P99: Aggregate = Aggregate::Percentile(990_000);

    /// All of them, and of percentiles one.
    pub const ALL: [Aggregate; 14] = [
        Aggregate::Mean,
        Aggregate::Min,
        Aggregate::Max,
        Aggregate::Sum,
        Aggregate::Count,
        Aggregate::First,
        Aggregate::Last,
        Aggregate::P99,
        Aggregate::Median,
        Aggregate::Stddev,
        Aggregate::Increase,
        Aggregate::Rate,
        Aggregate::Delta,
        Aggregate::TimeMean,
    ];

    /// The aggregate of a name as [`Aggregate::name`] gives it; percentiles from `p0` to `p100`, with at
    /// most four places, such as `p99.9`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        if let Some(percent) = name.strip_prefix('p') {
            let (whole, places) = percent.split_once('.').unwrap_or((percent, "0"));
            let digits = |text: &str, most| {
                let fits = (1..=most).contains(&text.len());
                fits && text.bytes().all(|letter| letter.is_ascii_digit())
            };
            if !digits(whole, 3) || !digits(places, 4) {
                return None;
            }
            let places: u32 = format!("{places:0<4}").parse().ok()?;
            let millionths = whole.parse::<u32>().ok()? * (WHOLE / 100) + places;
            return (millionths <= WHOLE).then_some(Aggregate::Percentile(millionths));
        }
        Aggregate::ALL.into_iter().find(|aggregate| aggregate.name() == name)
    }

    /// Type of what it makes of values of a type; `None` if these have none. Of integers what is one of
    /// them, or their sum or difference, is exact.
    #[must_use]
    pub fn result(self, kind: ValueType) -> Option<ValueType> {
        use Aggregate as A;
        use ValueType::{F64, I64, Text, U64};
        match (self, kind) {
            (A::Count, _) => Some(I64),
            (A::First | A::Last, Text) => Some(Text),
            (_, Text) => None,
            (A::Mean | A::Median | A::Stddev | A::Rate | A::TimeMean, _) => Some(F64),
            (A::Delta, U64) | (_, I64) => Some(I64),
            (_, U64) => Some(U64),
            _ => Some(F64),
        }
    }

    /// Whether what is known of two parts of a step gives that of both; else each sample is looked at.
    #[must_use]
    pub(super) fn joins(self) -> bool {
        use Aggregate::{Count, First, Last, Max, Mean, Min, Sum};
        matches!(self, Mean | Min | Max | Sum | Count | First | Last)
    }

    /// Whether the sample before a step counts in it.
    #[must_use]
    pub(super) fn looks_back(self) -> bool {
        use Aggregate::{Delta, Increase, Rate, TimeMean};
        matches!(self, Increase | Rate | Delta | TimeMean)
    }

    /// Whether what it makes is a value of the series, so that one that was before may stand for it.
    #[must_use]
    pub(super) fn is_value(self) -> bool {
        use Aggregate::{Count, Delta, Increase, Rate, Stddev, Sum};
        !matches!(self, Count | Sum | Stddev | Increase | Rate | Delta)
    }

    /// Place of the percentile among so many values, sorted; 0 of none.
    pub(super) fn place(self, values: usize) -> usize {
        let Aggregate::Percentile(millionths) = self else { return values / 2 };
        let place = (values as u128 * u128::from(millionths)).div_ceil(u128::from(WHOLE));
        usize::try_from(place).unwrap_or(usize::MAX).clamp(1, values.max(1)) - 1
    }

    /// What two values become, the second later; where it is one of them or their sum, or of a mean the
    /// sum that it is made of.
    #[inline]
    pub(super) fn join(self, first: i128, later: i128) -> i128 {
        match self {
            Aggregate::Min => first.min(later),
            Aggregate::Max => first.max(later),
            Aggregate::Sum | Aggregate::Mean => first + later,
            Aggregate::Last => later,
            _ => first,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Aggregate::Mean => "mean",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::Sum => "sum",
            Aggregate::Count => "count",
            Aggregate::First => "first",
            Aggregate::Last => "last",
            Aggregate::Median => "median",
            Aggregate::Stddev => "stddev",
            Aggregate::Increase => "increase",
            Aggregate::Rate => "rate",
            Aggregate::Delta => "delta",
            Aggregate::TimeMean => "time-mean",
            Aggregate::Percentile(millionths) => {
                let places = format!(".{:04}", millionths % (WHOLE / 100));
                let places = places.trim_end_matches(['0', '.']);
                return Cow::Owned(format!("p{}{places}", millionths / (WHOLE / 100)));
            }
        })
    }
}

impl fmt::Display for Aggregate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

/// Steps of time that samples are folded into. Steps start at multiples of `step_ns` since the
/// Unix epoch; those without a sample have no row, unless they are [filled](Fill).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    /// Length of a step in nanoseconds; 0: the whole interval is one step, which starts at its
    /// beginning.
    pub step_ns: u64,
    /// What becomes of the samples of a step.
    pub aggregate: Aggregate,
}

impl Every {
    /// Whether there are several steps, and not the interval as one.
    pub(super) fn is_steps(self) -> bool {
        i64::try_from(self.step_ns).is_ok_and(|step_ns| step_ns > 0)
    }
}

/// What a step without a sample has. Steps are filled from the beginning of the interval, or the first
/// sample if it has none, to its end, or the last sample. Texts are not filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// The row before it; before the first row the sample before the interval, if there is one, and if
    /// the aggregate is a value of the series: no count, for instance, is made of it. Of
    /// [`Aggregate::TimeMean`] the sample before it, which holds.
    Previous,
    /// Zero.
    Zero,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for aggregate in Aggregate::ALL {
            assert_eq!(Aggregate::of_name(&aggregate.name()), Some(aggregate));
        }
        for (name, millionths) in
            [("p0", 0), ("p5", 50_000), ("p99.9", 999_000), ("p99.9999", 999_999), ("p100", WHOLE)]
        {
            assert_eq!(Aggregate::of_name(name), Some(Aggregate::Percentile(millionths)));
            assert_eq!(Aggregate::Percentile(millionths).name(), name);
        }
        for name in ["", "p", "p.5", "p101", "p100.1", "p1.00001", "p-1", "p1e1", "P99", "means"] {
            assert_eq!(Aggregate::of_name(name), None, "{name}");
        }
    }

    #[test]
    fn a_percentile_is_the_smallest_value_that_is_not_exceeded_by_so_many() {
        let place = |millionths, values| Aggregate::Percentile(millionths).place(values);
        assert_eq!((place(0, 5), place(200_000, 5), place(200_001, 5)), (0, 0, 1));
        assert_eq!((place(990_000, 100), place(990_000, 101), place(WHOLE, 7)), (98, 99, 6));
        assert_eq!(place(500_000, 0), 0);
    }
}
