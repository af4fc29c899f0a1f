//! What a caller says of a file that the file does not say: what columns are for, the unit of integers, and the
//! clock of times without a zone.

use std::fmt;
use std::sync::Arc;

/// Unit of times that are integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    #[default]
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    /// Nanoseconds of one.
    #[must_use]
    pub fn ns(self) -> i64 {
        match self {
            TimeUnit::Nanoseconds => 1,
            TimeUnit::Microseconds => 1_000,
            TimeUnit::Milliseconds => 1_000_000,
            TimeUnit::Seconds => 1_000_000_000,
        }
    }
}

/// What a column is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Times of the rows.
    Time,
    /// Names of their series.
    Series,
    /// A label of these.
    Label,
    /// Long: the value of the row. Wide: a series of the column's name.
    Value,
    /// Long: a series beside that of the row, named as it with `_` and the column's name.
    Field,
    /// Nothing: it is left out.
    Skip,
}

impl std::str::FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        Ok(match text {
            "time" => Role::Time,
            "series" => Role::Series,
            "label" => Role::Label,
            "value" => Role::Value,
            "field" => Role::Field,
            "skip" => Role::Skip,
            other => {
                let known = "time, series, label, value, field or skip";
                return Err(format!("expected {known}, found {other}"));
            }
        })
    }
}

/// When a clock shows so many nanoseconds since 1970, or why that is no time.
pub type Moment = dyn Fn(i64) -> std::result::Result<i64, String> + Send + Sync;

/// A clock whose times are moments.
#[derive(Clone)]
pub struct Clock(pub Arc<Moment>);

impl Clock {
    /// One that shows UTC.
    #[must_use]
    pub fn utc() -> Self {
        Clock(Arc::new(Ok))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// The time that a text says, or why it says none.
pub type Reading = dyn Fn(&str) -> std::result::Result<i64, String> + Send + Sync;

/// How texts are times.
#[derive(Clone)]
pub struct Texts(pub Arc<Reading>);

impl fmt::Debug for Texts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Texts")
    }
}

/// What the caller says of a file.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Of times that are integers; without it they are nanoseconds, and such as mean a year before
    /// 1980 or after 2100 are refused.
    pub unit: Option<TimeUnit>,
    /// What columns are for, by their names.
    pub columns: Vec<(String, Role)>,
    /// Of times that have no zone: timestamps that are not adjusted to UTC, and dates. Without it they are
    /// taken as UTC, which is told ([`Imported::TakenAsUtc`](super::Imported)), but for those of INT96: the
    /// format says nothing of them, and most writers mean UTC.
    pub clock: Option<Clock>,
    /// Of times that are texts, which are refused without it. It knows their zone too.
    pub texts: Option<Texts>,
}

impl From<TimeUnit> for Choice {
    fn from(unit: TimeUnit) -> Self {
        Choice { unit: Some(unit), ..Choice::default() }
    }
}
