//! Points in time for people and programs. Always UTC: a record of a machine has no time zone.
//!
//! Invariant: the calendar is the proleptic Gregorian one for any number of nanoseconds, years
//! before 1970 too. Held by the test below.

/// RFC 3339 with nanoseconds since the Unix epoch: `2026-11-21T21:03:49.000000000Z`.
#[must_use]
pub fn rfc3339(time_ns: i64) -> String {
    let Civil { year, month, day, hour, minute, second, ns } = civil(time_ns.into());
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ns:09}Z")
}

/// The same to the second, for reading: "2026-03-01 12:00:05 UTC".
#[must_use]
pub fn date(time_ns: i128) -> String {
    let Civil { year, month, day, hour, minute, second, .. } = civil(time_ns);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

struct Civil {
    year: i128,
    month: i128,
    day: i128,
    hour: i128,
    minute: i128,
    second: i128,
    ns: i128,
}

/// The calendar repeats every 400 years, 146,097 days; years that begin with March end with the day
/// that some have and some do not (Howard Hinnant, "chrono-compatible low-level date algorithms").
fn civil(time_ns: i128) -> Civil {
    let (seconds, ns) = (time_ns.div_euclid(1_000_000_000), time_ns.rem_euclid(1_000_000_000));
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let shifted = days + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    Civil {
        year: year + era * 400 + carry,
        month,
        day,
        hour: of_day / 3_600,
        minute: of_day / 60 % 60,
        second: of_day % 60,
        ns,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let second = 1_000_000_000;
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(-1), "1969-12-31 23:59:59 UTC");
        // `date -u -d @951782400` and `@1709164799`.
        assert_eq!(date(951_782_400 * second), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_709_164_799 * second), "2024-02-28 23:59:59 UTC");
        assert_eq!(date(4_107_542_400 * second), "2100-03-01 00:00:00 UTC");
        let _ = (date(i128::from(i64::MIN) * 2), date(i128::from(u64::MAX) * 2));
        assert_eq!(rfc3339(951_782_400_000_000_001), "2000-02-29T00:00:00.000000001Z");
        assert_eq!(rfc3339(-1), "1969-12-31T23:59:59.999999999Z");
        assert_eq!(rfc3339(i64::MIN), "1677-09-21T00:12:43.145224192Z");
    }
}
