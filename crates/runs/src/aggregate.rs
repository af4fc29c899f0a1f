//! Count, sum, least, most, first and last of a series' samples.
//!
//! Integers and decimals are summed as integers, exactly, and become a float once, at the end.
//! Other floats are summed in the order of their times. As in Prometheus, NaN makes a sum NaN and
//! is ignored by min and max unless there is nothing else; every sample counts.

use crate::domain::Domain;
use baro_ondisk::Type;

/// What is known of some samples of a series without them. Of no samples there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aggregate {
    /// Samples, NaN included.
    pub count: u64,
    /// Sum; NaN if one of them is.
    pub sum: f64,
    /// Least value, NaN ignored.
    pub min: f64,
    /// Largest value, NaN ignored.
    pub max: f64,
    /// Time in nanoseconds and value of the first sample.
    pub first: (i64, f64),
    /// Time in nanoseconds and value of the last sample.
    pub last: (i64, f64),
    /// The same as integers for i64 and bool series, where a float may not be exact.
    pub integers: Option<Integers>,
}

/// Exact aggregates of an i64 or bool series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integers {
    /// Sum.
    pub sum: i128,
    /// Least value.
    pub min: i64,
    /// Largest value.
    pub max: i64,
    /// Value of the first sample.
    pub first: i64,
    /// Value of the last sample.
    pub last: i64,
}

impl Aggregate {
    /// Of samples in the order of their times, values as in the catalog's type; of numbers only.
    #[must_use]
    pub fn of(kind: Type, times_ns: &[i64], bits: &[u64]) -> Option<Self> {
        let first = (*times_ns.first()?, *bits.first()?);
        let last = (*times_ns.last()?, *bits.last()?);
        if kind == Type::F64 {
            let values = || bits.iter().map(|bits| f64::from_bits(*bits));
            return Some(Aggregate {
                count: bits.len() as u64,
                sum: values().sum(),
                min: values().fold(f64::NAN, f64::min),
                max: values().fold(f64::NAN, f64::max),
                first: (first.0, f64::from_bits(first.1)),
                last: (last.0, f64::from_bits(last.1)),
                integers: None,
            });
        }
        let values = || bits.iter().map(|bits| *bits as i64);
        let mut sum = Sum::new(values().min()?, values().max()?, first.1 as i64, last.1 as i64);
        sum.count = bits.len() as u64;
        sum.sum = values().map(i128::from).sum();
        Some(sum.finish(kind, Domain::Integer, first.0, last.0))
    }

    /// Adds what is known of later samples of the same series.
    pub fn append(&mut self, later: &Aggregate) {
        self.count += later.count;
        self.sum += later.sum;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.last = later.last;
        self.integers = match (self.integers, later.integers) {
            (Some(a), Some(b)) => Some(Integers {
                sum: a.sum.saturating_add(b.sum),
                min: a.min.min(b.min),
                max: a.max.max(b.max),
                first: a.first,
                last: b.last,
            }),
            _ => None,
        };
        if let Some(integers) = self.integers {
            self.sum = integers.sum as f64;
        }
    }

    /// Sum by count.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }
}

/// What a page knows of some samples of a series: floats are made of it only where they are asked
/// for, since over a million series five divisions each are most of what a mean costs.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a>(Form<'a>);

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Exact { sum: &'a Sum, kind: Type, domain: Domain, ends_ns: (i64, i64) },
    Floats(&'a Aggregate),
}

impl<'a> Known<'a> {
    #[inline]
    pub(crate) fn exact(sum: &'a Sum, kind: Type, domain: Domain, ends_ns: (i64, i64)) -> Self {
        Known(Form::Exact { sum, kind, domain, ends_ns })
    }

    /// Of an aggregate that is worked out already.
    #[inline]
    #[must_use]
    pub fn floats(aggregate: &'a Aggregate) -> Self {
        Known(Form::Floats(aggregate))
    }

    /// Samples, NaN included.
    #[must_use]
    #[inline]
    pub fn count(&self) -> u64 {
        match self.0 {
            Form::Exact { sum, .. } => sum.count,
            Form::Floats(aggregate) => aggregate.count,
        }
    }

    /// Sum; NaN if one of them is.
    #[must_use]
    #[inline]
    pub fn sum(&self) -> f64 {
        match self.0 {
            Form::Exact { sum, domain, .. } => sum.float(domain),
            Form::Floats(aggregate) => aggregate.sum,
        }
    }

    /// Exact sum of an i64 or bool series; none of another.
    #[must_use]
    #[inline]
    pub fn integer_sum(&self) -> Option<i128> {
        match self.0 {
            Form::Exact { sum, kind, .. } => (kind != Type::F64).then_some(sum.sum),
            Form::Floats(aggregate) => aggregate.integers.map(|integers| integers.sum),
        }
    }

    /// Whether it is of an i64 or bool series, whose aggregates are integers.
    #[must_use]
    #[inline]
    pub fn is_of_integers(&self) -> bool {
        match self.0 {
            Form::Exact { kind, .. } => kind != Type::F64,
            Form::Floats(aggregate) => aggregate.integers.is_some(),
        }
    }

    /// All of it.
    #[must_use]
    #[inline]
    pub fn aggregate(&self) -> Aggregate {
        match self.0 {
            Form::Exact { sum, kind, domain, ends_ns } => {
                sum.finish(kind, domain, ends_ns.0, ends_ns.1)
            }
            Form::Floats(aggregate) => *aggregate,
        }
    }
}

/// An aggregate in the making, in the integers of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) count: u64,
    pub(crate) sum: i128,
    pub(crate) min: i64,
    pub(crate) max: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
}

impl Sum {
    pub(crate) fn new(min: i64, max: i64, first: i64, last: i64) -> Self {
        Sum { count: 0, sum: 0, min, max, first, last }
    }

    /// Of integers in the order of time; none of none.
    #[inline]
    pub(crate) fn of(values: &[i64]) -> Option<Self> {
        let (first, last) = (*values.first()?, *values.last()?);
        let (mut min, mut max) = (first, first);
        for value in values {
            min = min.min(*value);
            max = max.max(*value);
        }
        // A page has at most 2^16 samples, so below 2^46 their sum fits.
        let small = min > -(1 << 46) && max < 1 << 46;
        let sum = if small {
            i128::from(values.iter().sum::<i64>())
        } else {
            values.iter().copied().map(i128::from).sum()
        };
        Some(Sum { count: values.len() as u64, sum, min, max, first, last })
    }

    pub(crate) fn append(&mut self, later: &Sum) {
        self.count += later.count;
        self.sum += later.sum;
        self.min = self.min.min(later.min);
        self.max = self.max.max(later.max);
        self.last = later.last;
    }

    /// The sum of the values.
    #[inline]
    fn float(&self, domain: Domain) -> f64 {
        // The conversion of 128 bits is a call; most sums are shorter.
        match i64::try_from(self.sum) {
            Ok(sum) => sum as f64 / domain.divisor(),
            Err(_) => domain.float(self.sum),
        }
    }

    #[inline(always)]
    pub(crate) fn finish(
        &self,
        kind: Type,
        domain: Domain,
        first_ns: i64,
        last_ns: i64,
    ) -> Aggregate {
        let divisor = domain.divisor();
        let float = |integer: i64| integer as f64 / divisor;
        let sum = self.float(domain);
        let integers = (kind != Type::F64).then_some(Integers {
            sum: self.sum,
            min: self.min,
            max: self.max,
            first: self.first,
            last: self.last,
        });
        Aggregate {
            count: self.count,
            sum,
            min: float(self.min),
            max: float(self.max),
            first: (first_ns, float(self.first)),
            last: (last_ns, float(self.last)),
            integers,
        }
    }
}
