//! Steps of the calendar: days, weeks, months and years as the clocks of a zone show them. A day has 23 or
//! 25 hours where clocks are set, and begins at the first moment at which they show its date.
//!
//! Steps of several days, weeks, months or years begin at multiples of them: days and weeks counted from
//! those of 1970-01-01, weeks from Monday to Sunday, months and years from January 1970.
//!
//! Invariant: steps follow each other without a gap, and each time is in the one of its date. Held by the
//! tests below and `steps_of_a_zone_are_those_of_its_calendar` (command line).

use crate::time::{days_since_epoch, month_days};
use crate::zone::{DAY_S, Zone, year_of};

const SECOND_NS: i64 = 1_000_000_000;
/// 1970-01-01 was a Thursday.
const MONDAY_DAYS: i64 = 3;

/// What a step is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalendarUnit {
    /// From midnight to midnight.
    Day,
    /// From Monday to Sunday.
    Week,
    /// From the first of a month on.
    Month,
    /// From the first of January on.
    Year,
}

/// A step of time that is as long as the calendar says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CalendarStep {
    count: i64,
    unit: CalendarUnit,
}

impl CalendarStep {
    /// More than there are years.
    const COUNT_MAX: i64 = 100_000;

    /// `1d`, `2w`, `3mo`, `1y`; `None` if it is no such step.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (count, unit) = text.split_at_checked(digits)?;
        let unit = match unit.trim_start() {
            "d" => CalendarUnit::Day,
            "w" => CalendarUnit::Week,
            "mo" => CalendarUnit::Month,
            "y" => CalendarUnit::Year,
            _ => return None,
        };
        let count = count.parse().ok().filter(|count| (1..=Self::COUNT_MAX).contains(count))?;
        Some(CalendarStep { count, unit })
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(self) -> CalendarUnit {
        self.unit
    }

    /// How long it is as a rule.
    #[must_use]
    pub fn usual_ns(self) -> u64 {
        let days = match self.unit {
            CalendarUnit::Day => 1,
            CalendarUnit::Week => 7,
            CalendarUnit::Month => 30,
            CalendarUnit::Year => 365,
        };
        (self.count * days * DAY_S).unsigned_abs().saturating_mul(SECOND_NS.unsigned_abs())
    }

    /// When the step begins that a time is in, and when the next one does. Days begin `later_s` seconds
    /// after midnight.
    #[must_use]
    pub fn around(self, time_ns: i64, zone: Zone, later_s: i64) -> (i64, i64) {
        let time_s = time_ns.div_euclid(SECOND_NS);
        let clock_s = time_s + zone.ahead_s(time_s) - later_s;
        let mut step = self.step_of(clock_s.div_euclid(DAY_S));
        let begin_s = |step| zone.first_moment_s(self.first_day(step) * DAY_S + later_s);
        // Where clocks are set at midnight the date alone may be off by a day.
        while begin_s(step) > time_s {
            step -= 1;
        }
        while begin_s(step + 1) <= time_s {
            step += 1;
        }
        let ns = |moment_s: i64| moment_s.saturating_mul(SECOND_NS);
        (ns(begin_s(step)), ns(begin_s(step + 1)))
    }

    /// The step of a day counted from 1970.
    fn step_of(self, day: i64) -> i64 {
        match self.unit {
            CalendarUnit::Day => day.div_euclid(self.count),
            CalendarUnit::Week => (day + MONDAY_DAYS).div_euclid(7 * self.count),
            CalendarUnit::Month | CalendarUnit::Year => {
                let year = year_of(day);
                let mut month = 1;
                let mut left = day - days_since_epoch(year, 1, 1);
                while left >= month_days(year, month) {
                    left -= month_days(year, month);
                    month += 1;
                }
                ((year - 1970) * 12 + month - 1).div_euclid(self.months())
            }
        }
    }

    fn first_day(self, step: i64) -> i64 {
        match self.unit {
            CalendarUnit::Day => step * self.count,
            CalendarUnit::Week => step * 7 * self.count - MONDAY_DAYS,
            CalendarUnit::Month | CalendarUnit::Year => {
                let months = step * self.months();
                days_since_epoch(1970 + months.div_euclid(12), months.rem_euclid(12) + 1, 1)
            }
        }
    }

    fn months(self) -> i64 {
        if self.unit == CalendarUnit::Year { 12 * self.count } else { self.count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Times;
    use crate::zone::tests::{place, tzif};
    use proptest::prelude::*;

    fn ns(text: &str) -> i64 {
        Times::default().read(text).unwrap()
    }

    #[test]
    fn steps_are_those_of_the_calendar() {
        let berlin = place(&tzif(&[], 3_600, "CET-1CEST,M3.5.0,M10.5.0/3"));
        // Clocks are set at midnight: forward over it, and back into the day before.
        let havana = place(&tzif(&[], -18_000, "CST5CDT,M3.2.0/0,M11.1.0/1"));
        let utc = Zone::Ahead(0);
        for (step, zone, time, begin, end) in [
            ("1d", utc, "2026-03-29T12:00:00Z", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"),
            // 23 and 25 hours.
            ("1d", berlin, "2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"),
            ("1d", berlin, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            ("1d", berlin, "2026-10-25T23:00:00Z", "2026-10-25T23:00:00Z", "2026-10-26T23:00:00Z"),
            ("1d", berlin, "2026-10-25T22:59:59Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"),
            ("1w", berlin, "2026-03-29T12:00:00Z", "2026-03-22T23:00:00Z", "2026-03-29T22:00:00Z"),
            ("1w", utc, "1970-01-01T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"),
            ("2w", utc, "1970-01-06T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-12T00:00:00Z"),
            ("1mo", berlin, "2026-03-31T22:00:00Z", "2026-03-31T22:00:00Z", "2026-04-30T22:00:00Z"),
            ("1mo", utc, "2024-02-29T23:59:59Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"),
            ("3mo", utc, "2026-05-05T00:00:00Z", "2026-04-01T00:00:00Z", "2026-07-01T00:00:00Z"),
            ("1y", berlin, "2026-05-05T00:00:00Z", "2025-12-31T23:00:00Z", "2026-12-31T23:00:00Z"),
            ("10y", utc, "1969-12-31T00:00:00Z", "1960-01-01T00:00:00Z", "1970-01-01T00:00:00Z"),
            // 2026-03-08 begins at one o'clock; 2026-11-01 has two midnights, and begins at the first.
            ("1d", havana, "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"),
            ("1d", havana, "2026-11-01T12:00:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"),
        ] {
            let around = CalendarStep::parse(step).unwrap().around(ns(time), zone, 0);
            assert_eq!(around, (ns(begin), ns(end)), "{step} around {time}");
        }
        // Days from six o'clock.
        let day = CalendarStep::parse("1d").unwrap();
        let around = day.around(ns("2026-03-29T03:59:59Z"), berlin, 6 * 3_600);
        assert_eq!(around, (ns("2026-03-28T05:00:00Z"), ns("2026-03-29T04:00:00Z")));
        // Nothing before the first time that there is, and nothing behind the last.
        let century = CalendarStep::parse("1000y").unwrap();
        assert_eq!(century.around(i64::MIN, utc, 0).0, i64::MIN);
        assert_eq!(century.around(i64::MAX, utc, 0).1, i64::MAX);
        for none in ["", "d", "0d", "1m", "1.5d", "-1d", "1d2w", "1M", "999999999999y", "1é"] {
            assert_eq!(CalendarStep::parse(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn steps_follow_each_other_and_have_the_dates_they_should(
            time_ns: i64,
            count in 1..40_i64,
            kind in 0..4_usize,
            zone in 0..4_usize,
            later_s in 0..DAY_S,
        ) {
            use CalendarUnit::{Day, Month, Week, Year};
            let unit = [Day, Week, Month, Year][kind];
            let steps = [(0, 3_600), (1_000_000_000, -7_200)];
            let zones = [
                Zone::Ahead(-12_345),
                place(&tzif(&[], 3_600, "CET-1CEST,M3.5.0,M10.5.0/3")),
                place(&tzif(&[], -18_000, "CST5CDT,M3.2.0/0,M11.1.0/1")),
                place(&tzif(&steps, -60, "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0")),
            ];
            let (zone, step) = (zones[zone], CalendarStep { count, unit });
            let (begin_ns, end_ns) = step.around(time_ns, zone, later_s);
            prop_assert!(begin_ns <= time_ns && (time_ns < end_ns || end_ns == i64::MAX));
            // The same of all times of the step, and of its neighbours'.
            for time_ns in [begin_ns, begin_ns / 2 + end_ns / 2, end_ns - 1] {
                prop_assert_eq!(step.around(time_ns, zone, later_s), (begin_ns, end_ns));
            }
            if end_ns < i64::MAX {
                prop_assert_eq!(step.around(end_ns, zone, later_s).0, end_ns);
            }
            if begin_ns > i64::MIN {
                prop_assert_eq!(step.around(begin_ns - 1, zone, later_s).1, begin_ns);
                // A clock shows its begin then, or has just been set forward over it.
                let moment_s = begin_ns / SECOND_NS;
                let clock_s = moment_s + zone.ahead_s(moment_s) - later_s;
                let before_s = moment_s - 1 + zone.ahead_s(moment_s - 1) - later_s;
                let first_s = step.first_day(step.step_of(clock_s.div_euclid(DAY_S))) * DAY_S;
                prop_assert!(before_s < first_s && first_s <= clock_s);
            }
        }
    }
}
