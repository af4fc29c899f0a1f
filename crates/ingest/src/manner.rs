//! What a source says of its samples: each is a row, and all of them are taken in one manner.

use crate::types::Types;
use crate::value::Value;
use baro_sources::{Joint, Key};

/// A sample by name.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Line of the input, or row, from 1.
    pub line: u64,
    /// Name of the series.
    pub series: &'a str,
    /// Nanoseconds since the Unix epoch.
    pub time_ns: i64,
    /// The value.
    pub value: Value<'a>,
    /// What it makes of a series that is new.
    pub types: Types,
    /// Where the metric was put together from two names, if the input has two: a series is then of those
    /// that came first, and of no others.
    pub joint: Option<Joint>,
    /// The key of how the series was written, where the input makes one; two names that are joined have
    /// keys of their own.
    pub written: Option<Key>,
}

/// How samples are gathered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gather {
    /// All that one read has brought is pushed together, in records of one time each.
    AsTheyCome,
    /// Many are held back, until [`Intake::push_if_much`](crate::Intake::push_if_much).
    Together,
}

/// What a source wants of its samples.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How samples are gathered.
    pub gather: Gather,
    /// Series that it may declare at most.
    pub new_max: usize,
    /// Take nothing more after the first refusal.
    pub strict: bool,
    /// Count samples that replace each other. Not where whoever sends them tries again, and only one of the
    /// tries counts anyhow.
    pub counts_replaced: bool,
    /// Samples before this time are refused: whoever records would drop them.
    pub kept_from_ns: i64,
}

impl Manner {
    /// Samples as they come, pushed by [`Intake::flush`](crate::Intake::flush) after each read; at most `new_max` new series.
    #[must_use]
    pub fn as_they_come(new_max: usize) -> Self {
        Manner {
            gather: Gather::AsTheyCome,
            new_max,
            strict: false,
            counts_replaced: true,
            kept_from_ns: i64::MIN,
        }
    }

    /// Samples together.
    #[must_use]
    pub fn together() -> Self {
        Manner {
            gather: Gather::Together,
            new_max: usize::MAX,
            strict: false,
            counts_replaced: true,
            kept_from_ns: i64::MIN,
        }
    }
}
