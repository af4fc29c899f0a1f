//! A moment, as the clock on the wall says it.

use baro_sys::clock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment: nanoseconds since the Unix epoch, before 1970 negative. From 1677 to 2262.
///
/// ```
/// use barograph::Time;
/// use std::time::SystemTime;
/// assert_eq!(Time::from(1_700_000_000_000_000_000).ns(), 1_700_000_000_000_000_000);
/// assert!(Time::from(SystemTime::UNIX_EPOCH).ns() == 0 && Time::now() > Time::from(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The earliest moment.
    pub const MIN: Time = Time(i64::MIN);
    /// The latest moment.
    pub const MAX: Time = Time(i64::MAX);

    /// Now, by CLOCK_REALTIME. Enters no kernel where the clock is read without it.
    #[must_use]
    #[inline]
    pub fn now() -> Time {
        Time(clock::realtime_ns())
    }

    /// Nanoseconds since the Unix epoch.
    #[must_use]
    #[inline]
    pub fn ns(self) -> i64 {
        self.0
    }

    /// This moment less a duration, or the earliest moment.
    #[must_use]
    pub fn before(self, duration: Duration) -> Time {
        Time(self.0.saturating_sub(nanoseconds(duration)))
    }
}

/// Of a duration, at most 292 years.
pub(crate) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

impl From<i64> for Time {
    /// Nanoseconds since the Unix epoch.
    #[inline]
    fn from(ns: i64) -> Time {
        Time(ns)
    }
}

impl From<SystemTime> for Time {
    /// Moments outside of the years 1677 to 2262 become the nearest one inside.
    #[inline]
    fn from(time: SystemTime) -> Time {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Time(nanoseconds(since)),
            Err(error) => Time(nanoseconds(error.duration()).saturating_neg()),
        }
    }
}

impl From<Time> for SystemTime {
    fn from(time: Time) -> SystemTime {
        let distance = Duration::from_nanos(time.0.unsigned_abs());
        if time.0 < 0 { UNIX_EPOCH - distance } else { UNIX_EPOCH + distance }
    }
}
