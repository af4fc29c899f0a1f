//! Times as people read and write them. Always UTC: a record of a machine has no time zone.
//!
//! Invariant: what is shown reads back; a text that could mean two times is refused with how to write
//! either. Held by the tests below.

pub(crate) use baro_show::rfc3339 as show;
use baro_sources::{TimeFault, Times, Zone};
use baro_sys::clock;

const DAY_NS: i64 = 86_400_000_000_000;

/// What is expected where a time is none.
const EXPECTED: &str = "a time such as 2026-11-21, '2026-11-21 21:03', 21:03 (today), yesterday, 1h \
                        (ago), 2026-11-21T21:03:49Z, 1700000000.5 (seconds), 1700000000500000000 \
                        (nanoseconds) or now, in UTC";

/// A point in time; see [`EXPECTED`].
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    read(text, clock::realtime_ns())
}

fn read(text: &str, now_ns: i64) -> Result<i64, String> {
    let text = text.trim();
    if text == "now" {
        return Ok(now_ns);
    }
    let ago = text.strip_prefix('-').or(text.strip_suffix(" ago")).unwrap_or(text);
    if let Ok(ago_ns) = crate::size::nanoseconds(ago) {
        return Ok(now_ns.saturating_sub_unsigned(ago_ns));
    }
    let midnight_ns = now_ns - now_ns.rem_euclid(DAY_NS);
    if let Some(of_day_ns) = time_of_day(text) {
        return Ok(midnight_ns.saturating_add(of_day_ns));
    }
    let (day, of_day) = text.split_once(' ').unwrap_or((text, "00:00"));
    let days_before = ["today", "yesterday"].iter().position(|name| *name == day);
    if let Some((days, of_day_ns)) = days_before.zip(time_of_day(of_day)) {
        let days_ns = i64::try_from(days).unwrap_or(0) * DAY_NS;
        return Ok(midnight_ns - days_ns + of_day_ns);
    }
    // A date without a time of day begins then; seconds may be left out.
    let minutes = text.len() == 16 && text.get(11..).and_then(time_of_day).is_some();
    let whole = if minutes { format!("{text}:00") } else { text.to_owned() };
    Times::checked().in_zone(Zone::Ahead(0)).read(&whole).map_err(|fault| match fault {
        TimeFault::Unit { unit } => {
            let hint = if unit == "s" { format!("; of seconds: {text}.0") } else { String::new() };
            format!("expected nanoseconds from 1980 on, found {text}, which may be {unit}{hint}")
        }
        TimeFault::Far => format!("expected nanoseconds before 2100, found {text}"),
        TimeFault::Calendar => format!("expected a date and time that exist, found {text:?}"),
        _ => format!("expected {EXPECTED}, found {text:?}"),
    })
}

/// `13:00` or `13:00:05`, as time since midnight.
fn time_of_day(text: &str) -> Option<i64> {
    if !matches!(text.len(), 5 | 8) {
        return None;
    }
    let parts = text.split(':').map(|part| {
        let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i64>().ok().filter(|_| digits)
    });
    let parts: Vec<i64> = parts.collect::<Option<_>>()?;
    let (hour, minute, second) = (parts.first()?, parts.get(1)?, parts.get(2).unwrap_or(&0));
    let exists = *hour < 24 && *minute < 60 && *second < 60;
    exists.then_some((hour * 3_600 + minute * 60 + second) * 1_000_000_000)
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
        assert!(parse("last week").is_err());
    }

    #[test]
    fn times_are_as_people_write_them() {
        let now_ns = parse("2026-11-25T13:30:15.5Z").unwrap();
        for (text, means) in [
            ("2026-11-25", "2026-11-25T00:00:00.000000000Z"),
            ("2026-11-25 13:00", "2026-11-25T13:00:00.000000000Z"),
            ("2026-11-25T13:00", "2026-11-25T13:00:00.000000000Z"),
            ("2026-11-25 13:00:01.5", "2026-11-25T13:00:01.500000000Z"),
            ("2026-11-25 13:00:01+01:00", "2026-11-25T12:00:01.000000000Z"),
            ("13:00", "2026-11-25T13:00:00.000000000Z"),
            ("00:00:07", "2026-11-25T00:00:07.000000000Z"),
            ("today", "2026-11-25T00:00:00.000000000Z"),
            ("yesterday", "2026-11-24T00:00:00.000000000Z"),
            ("yesterday 23:59", "2026-11-24T23:59:00.000000000Z"),
            ("1h", "2026-11-25T12:30:15.500000000Z"),
            ("-1h", "2026-11-25T12:30:15.500000000Z"),
            ("90m ago", "2026-11-25T12:00:15.500000000Z"),
            ("2 d ago", "2026-11-23T13:30:15.500000000Z"),
            ("1700000000.5", "2023-11-14T22:13:20.500000000Z"),
            ("1700000000500000000", "2023-11-14T22:13:20.500000000Z"),
            ("5", "1970-01-01T00:00:00.000000005Z"),
        ] {
            assert_eq!(read(text, now_ns).map(show), Ok(means.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_may_mean_two_times_or_none_is_refused_with_how_to_write_it() {
        for (text, said) in [
            ("1700000000", "which may be s; of seconds: 1700000000.0"),
            ("1700000000000", "which may be ms"),
            ("25:00", "found \"25:00\""),
            ("24:00:00", "found \"24:00:00\""),
            ("2026-02-30", "that exist, found \"2026-02-30\""),
            ("2026-11-25 25:00", "2026-11-25 25:00"),
            ("tomorrow", "such as 2026-11-21"),
            ("", "such as 2026-11-21"),
            ("1é:00", "such as 2026-11-21"),
            ("2026-11-25é13:00", "2026-11-25é13:00"),
        ] {
            let error = read(text, 0).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
