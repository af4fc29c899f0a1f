//! Times as people read and write them. Always UTC: a record of a machine has no time zone.

use baro_sys::clock;

/// RFC 3339 with nanoseconds: `2026-11-21T21:03:49.000000000Z`.
pub(crate) fn show(time_ns: i64) -> String {
    const NS_PER_DAY: i64 = 86_400_000_000_000;
    let (day, ns) = (time_ns.div_euclid(NS_PER_DAY), time_ns.rem_euclid(NS_PER_DAY));
    let (year, month, date) = civil(day);
    let (seconds, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{ns:09}Z")
}

/// Year, month and day of a day since the epoch, in the proleptic Gregorian calendar: eras of 400
/// years that start in March, so that the leap day is the last of its year.
fn civil(day: i64) -> (i64, i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let of_era = day.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let date = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year + era * 400 + i64::from(month <= 2), month, date)
}

/// A point in time: RFC 3339, nanoseconds since the epoch, seconds with a point, `now`, or `-30s`
/// for a time before now.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    if text == "now" {
        return Ok(clock::realtime_ns());
    }
    if let Some(ago_ns) = text.strip_prefix('-').and_then(|ago| crate::size::nanoseconds(ago).ok())
    {
        return Ok(clock::realtime_ns().saturating_sub_unsigned(ago_ns));
    }
    baro_sources::csv::parse_time(text).ok_or_else(|| {
        format!(
            "expected a time such as 2026-11-21T21:03:49Z, 1700000000.5 (seconds), \
             1700000000500000000 (nanoseconds), now, or -30s (before now), found {text:?}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_reads_back() {
        for time_ns in [0, -1, 1, 1_700_000_000_123_456_789, 951_782_400_000_000_000, i64::MAX] {
            assert_eq!(parse(&show(time_ns)), Ok(time_ns), "{}", show(time_ns));
        }
        assert_eq!(show(951_782_400_000_000_000), "2000-02-29T00:00:00.000000000Z");
        assert!(parse("-30s").unwrap() < clock::realtime_ns());
        let (before, now) = (clock::realtime_ns(), parse("now").unwrap());
        assert!((before..=clock::realtime_ns()).contains(&now));
        assert!(parse("yesterday").is_err());
    }
}
