//! Where samples come from.

use crate::labels::Labels;
use promql_parser::label::Matcher;

/// Samples of one series, by rising time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Its labels.
    pub labels: Labels,
    /// Nanoseconds since the Unix epoch.
    pub times_ns: Vec<i64>,
    /// Their values; [`ABSENT`](crate::ABSENT) where the series ends.
    pub values: Vec<f64>,
}

/// What the labels of a series count as, in values of eight bytes: names and texts in memory of their own.
pub const SERIES_VALUES: usize = 48;

/// Hands out samples.
pub trait Source {
    /// Samples of all series that match, with `from_ns < time <= to_ns`, at most `samples_max` of them in
    /// all, where each series counts as [`SERIES_VALUES`] too. A series without samples there may be left out.
    ///
    /// # Errors
    /// It cannot be read, or has more: a sentence.
    fn select(
        &self,
        matchers: &[Matcher],
        from_ns: i64,
        to_ns: i64,
        samples_max: usize,
    ) -> Result<Vec<Samples>, crate::Error>;

    /// Asked now and then while a query is worked off: whether it may still take time. If not, it ends
    /// with [`Error::Late`](crate::Error::Late).
    fn goes_on(&self) -> bool {
        true
    }
}
