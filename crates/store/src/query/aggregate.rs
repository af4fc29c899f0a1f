//! Steps of time, and what the samples of a step are folded into.

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
    /// 99th percentile: the smallest value that at least 99 % of the samples do not exceed.
    P99,
}

impl Aggregate {
    /// All of them.
    pub const ALL: [Aggregate; 8] = [
        Aggregate::Mean,
        Aggregate::Min,
        Aggregate::Max,
        Aggregate::Sum,
        Aggregate::Count,
        Aggregate::First,
        Aggregate::Last,
        Aggregate::P99,
    ];

    /// Type of what it makes of values of a type, as [`Column::kind`](crate::Column::kind) names them;
    /// `None` if these have none. Of integers what is one of them, or their sum, is exact.
    #[must_use]
    pub fn result(self, kind: &str) -> Option<&'static str> {
        use Aggregate as A;
        match (self, kind) {
            (_, "frame") => None,
            (A::Count, _) => Some("i64"),
            (A::First | A::Last, "text") => Some("text"),
            (_, "text") => None,
            (A::Mean, _) => Some("f64"),
            (_, "i64") => Some("i64"),
            (_, "u64") => Some("u64"),
            _ => Some("f64"),
        }
    }

    /// What two values become, the second later; where it is one of them or their sum.
    #[inline]
    pub(super) fn join(self, first: i128, later: i128) -> i128 {
        match self {
            Aggregate::Min => first.min(later),
            Aggregate::Max => first.max(later),
            Aggregate::Sum => first + later,
            Aggregate::Last => later,
            Aggregate::First | Aggregate::Mean | Aggregate::Count | Aggregate::P99 => first,
        }
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Aggregate::Mean => "mean",
            Aggregate::Min => "min",
            Aggregate::Max => "max",
            Aggregate::Sum => "sum",
            Aggregate::Count => "count",
            Aggregate::First => "first",
            Aggregate::Last => "last",
            Aggregate::P99 => "p99",
        }
    }
}

/// Steps of time that samples are folded into. Steps start at multiples of `step_ns` since the
/// Unix epoch; those without a sample have no row.
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
