//! Why a data point is refused, in words.

use std::fmt;

/// How much of a metric's name is shown.
const SHOWN_CHARS_MAX: usize = 100;

/// A data point that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault<'m> {
    /// Its metric, as it was sent.
    pub metric: &'m str,
    /// Why.
    pub wrong: Wrong,
}

/// Why a data point is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Wrong {
    /// It is one of an exponential histogram.
    Exponential,
    /// It says what has changed, or not whether it does.
    Delta,
    /// The metric has no name of which anything is left.
    NoName,
    /// The metric's name is too long.
    LongName,
    /// The unit is too long.
    LongUnit,
    /// The attributes are too long, or an attribute is.
    LongAttributes,
    /// The name with all labels is too long.
    LongSeries,
    /// What identifies the resource is too long.
    LongResource,
    /// What identifies the resource is there twice.
    TwiceResource,
    /// There are too many attributes.
    ManyAttributes,
    /// An attribute has no name of which anything is left.
    NoKey,
    /// An attribute comes twice.
    TwiceKey,
    /// There is no value.
    NoValue,
    /// There are two values.
    TwoValues,
    /// There is no time.
    NoTime,
    /// It is none in nanoseconds.
    Time {
        /// What is there.
        found: u64,
        /// In which unit it would be one.
        unit: Option<&'static str>,
    },
    /// There are not as many counts as bounds, and one.
    Buckets {
        /// Counts.
        counts: usize,
        /// Bounds.
        bounds: usize,
    },
    /// There are too many buckets, or quantiles.
    ManyBuckets,
    /// Bounds of buckets do not rise.
    Bounds,
    /// Counts of buckets are more than an integer holds.
    Overflow,
    /// Counts of buckets are not the count of the point.
    Count {
        /// All buckets together.
        buckets: u64,
        /// What is said to be all.
        count: u64,
    },
}

impl fmt::Display for Fault<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: String = self.metric.chars().take(SHOWN_CHARS_MAX).collect();
        write!(f, "metric {shown:?}: {}", self.wrong)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wrong::Exponential => {
                "expected a histogram with bounds, found an exponential one, for which a store has no place: \
                 choose explicit buckets in the SDK (a view, or \
                 OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION=explicit_bucket_histogram)"
            }
            Wrong::Delta => {
                "expected cumulative values, found delta ones or none of both, for which a store has no \
                 place: set OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE=cumulative"
            }
            Wrong::NoName => "expected a name with ASCII letters or digits, found none",
            Wrong::LongName => "expected a name of at most 1024 bytes, found a longer one",
            Wrong::LongUnit => "expected a unit of at most 64 bytes, found a longer one",
            Wrong::LongAttributes => {
                "expected attributes of at most 4096 bytes together, found longer ones"
            }
            Wrong::LongSeries => {
                "expected a name of at most 1024 bytes with all attributes, found a longer one"
            }
            Wrong::LongResource => {
                "expected service.name, service.namespace and service.instance.id of at most 4096 bytes \
                 together, found longer ones"
            }
            Wrong::TwiceResource => {
                "expected service.name, service.namespace and service.instance.id of a resource once each, \
                 found one of them twice"
            }
            Wrong::ManyAttributes => "expected at most 256 attributes, found more",
            Wrong::NoKey => {
                "expected attributes whose names have ASCII letters or digits, found one without"
            }
            Wrong::TwiceKey => "expected each attribute once, found one of them twice",
            Wrong::NoValue => "expected a value in asDouble or asInt, found none",
            Wrong::TwoValues => "expected a value in asDouble or asInt, found both",
            Wrong::NoTime => "expected a time in timeUnixNano, found none",
            Wrong::Time { found, unit: Some(unit) } => {
                return write!(
                    f,
                    "expected a time in nanoseconds, found {found}, which would be before 1980 or after \
                     2100: it is one in {unit}, and the sender has to send nanoseconds"
                );
            }
            Wrong::Time { found, unit: None } => {
                return write!(f, "expected a time until 2262, found {found} nanoseconds");
            }
            Wrong::Buckets { counts, bounds } => {
                return write!(
                    f,
                    "expected one count more than bounds, found {counts} counts and {bounds} bounds"
                );
            }
            Wrong::Count { buckets, count } => {
                return write!(
                    f,
                    "expected buckets that add up to the count {count}, found {buckets} in them"
                );
            }
            Wrong::ManyBuckets => "expected at most 1024 buckets or quantiles, found more",
            Wrong::Bounds => "expected bounds that rise, found others",
            Wrong::Overflow => "expected counts of at most 64 bits together, found more",
        })
    }
}
