//! Times as people read and write them. In UTC, as a record of a machine has no time zone, unless a zone
//! was said beside them.
//!
//! Invariant: what is shown reads back; a text that could mean two times is refused with how to write
//! either. Held by the tests below.

mod ago;

use baro_command::failure::Mistake;
pub(crate) use baro_show::rfc3339 as show;
use baro_sources::{TimeFault, Times, Zone};
use baro_store::Interval;
use baro_sys::clock;

const SECOND_NS: i64 = 1_000_000_000;
const DAY_NS: i64 = 86_400 * SECOND_NS;

/// What is expected where a time is none.
const EXPECTED: &str = "a time such as 2026-11-21, '2026-11-21 21:03', 21:03 (today), yesterday, 1h \
                        (ago; units are ns, us, ms, s, m, h, d, w, mo and y), 2026-11-21T21:03:49Z, 1700000000.5 (seconds), 1700000000500000000 \
                        (nanoseconds) or now, in UTC";

/// A point in time; see [`EXPECTED`].
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    read(text, clock::realtime_ns(), Zone::Ahead(0))
}

/// 1980.
const PLAUSIBLE_NS: i64 = 315_532_800 * SECOND_NS;

/// As [`parse`], for what cannot be undone: a bare number before 1980 is refused, since `10.30` may be a time
/// of day, and `02.01` a date.
pub(crate) fn parse_certain(text: &str) -> Result<i64, String> {
    let time_ns = parse(text)?;
    let number = text.trim().trim_start_matches('-');
    let is_bare = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_bare && time_ns < PLAUSIBLE_NS {
        let meant = show(time_ns);
        return Err(format!(
            "expected a date, or a number that is a time from 1980 on, found {text}, which would be {meant} \
             (write that if it is right)"
        ));
    }
    Ok(time_ns)
}

/// A point in time of which it is said elsewhere in which zone its clock is.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    text: String,
    read_ns: i64,
    utc_ns: i64,
}

impl Moment {
    /// Reads it as [`parse`] does.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let read_ns = clock::realtime_ns();
        let utc_ns = read(text, read_ns, Zone::Ahead(0))?;
        Ok(Moment { text: text.to_owned(), read_ns, utc_ns })
    }

    /// Nanoseconds since 1970.
    pub(crate) fn ns(&self, zone: Option<Zone>) -> Result<i64, String> {
        match zone {
            None => Ok(self.utc_ns),
            Some(zone) => read(&self.text, self.read_ns, zone),
        }
    }
}

/// From one time up to another, which has to be behind it.
pub(crate) fn interval(from_ns: Option<i64>, to_ns: Option<i64>) -> Result<Interval, Mistake> {
    let (from_ns, to_ns) = (from_ns.unwrap_or(i64::MIN), to_ns.unwrap_or(i64::MAX));
    if from_ns < to_ns {
        return Ok(Interval { from_ns, to_ns });
    }
    let (from, to) = (show(from_ns), show(to_ns));
    Err(Mistake::new(format!("expected --to behind --from, found {from} to {to}")))
}

fn read(text: &str, now_ns: i64, zone: Zone) -> Result<i64, String> {
    let text = text.trim();
    if text == "now" {
        return Ok(now_ns);
    }
    let ago = text.strip_prefix('-').or(text.strip_suffix(" ago")).unwrap_or(text);
    if let Ok(ago_ns) = crate::size::nanoseconds(ago) {
        return Ok(now_ns.saturating_sub_unsigned(ago_ns));
    }
    if let Some(ago_ns) = ago::ago(ago, now_ns, zone) {
        return Ok(ago_ns);
    }
    if let Some(year) = year(text) {
        let number = match Times::default().read(text) {
            Ok(ns) => format!("; that much since 1970 is {}", show(ns)),
            Err(_) => String::new(),
        };
        return Err(format!(
            "expected a date or a time of day, found {text}, which may be a year: {year}-01-01{number}"
        ));
    }
    let now_s = now_ns.div_euclid(SECOND_NS);
    let clock_ns = now_ns.saturating_add(zone.ahead_s(now_s).saturating_mul(SECOND_NS));
    let date = |days_before: i64| {
        let day_ns = clock_ns.saturating_sub(days_before * DAY_NS);
        show(day_ns).chars().take(10).collect::<String>()
    };
    let (day, of_day) = text.split_once(' ').unwrap_or((text, "00:00"));
    let days_before = ["today", "yesterday"].iter().position(|name| *name == day);
    let days_before = days_before.and_then(|days| i64::try_from(days).ok());
    let text = match days_before {
        _ if is_time_of_day(text) => format!("{} {text}", date(0)),
        Some(days) if is_time_of_day(of_day) => format!("{} {of_day}", date(days)),
        _ => text.to_owned(),
    };
    // A date without a time of day begins then.
    let of_day = text.split_once([' ', 'T']).map_or(&*text, |(_, of_day)| of_day);
    Times::checked().in_zone(zone).read(&text).map_err(|fault| match fault {
        TimeFault::Range => {
            format!("expected a time from 1677-09-21 to 2262-04-11, found {text:?}")
        }
        TimeFault::Form if has_digits_of_time(of_day) => of_day_expected(&text),
        TimeFault::Calendar if has_digits_of_time(of_day) && !is_time_of_day(of_day) => {
            of_day_expected(&text)
        }
        TimeFault::Unit { unit } => {
            let hint = if unit == "s" { format!("; of seconds: {text}.0") } else { String::new() };
            let date = as_date(&text);
            format!(
                "expected nanoseconds from 1980 on, found {text}, which may be {unit}{hint}{date}"
            )
        }
        TimeFault::Far => {
            format!("expected nanoseconds before 2100, or a date, found {text}{}", as_date(&text))
        }
        TimeFault::Digits => {
            let meant = "a date such as 2026-11-21, not in digits alone";
            format!("expected {meant}, found {text}{}", as_date(&text))
        }
        TimeFault::SheetDay => {
            let meant = "a date such as 2026-11-21, not a spreadsheet's number of a day";
            format!("expected {meant}, found {text}{}", as_date(&text))
        }
        TimeFault::Calendar => format!("expected a date and time that exist, found {text:?}"),
        TimeFault::Skipped
        | TimeFault::Twice
        | TimeFault::Finer
        | TimeFault::LeapSecond
        | TimeFault::DayOrMonth => {
            format!("expected {fault}, found {text:?}")
        }
        _ => format!("expected {EXPECTED}, found {text:?}"),
    })
}

fn of_day_expected(found: &str) -> String {
    format!("expected a time of day from 00:00 to 23:59:59, found {found:?}")
}

/// How to ask for the time that a number says whatever it may mean.
fn as_date(number: &str) -> String {
    let read = Times::default().read(number);
    read.map_or(String::new(), |ns| format!("; if it is right, write {}", show(ns)))
}

/// A bare number that is rather a year than that many nanoseconds or seconds since 1970.
fn year(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(['-', '+']);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (whole.len() == 4 && !whole.starts_with('0') && digits(whole) && digits(fraction))
        .then_some(whole)
}

/// Whether it is written as a time of day is, whether there is such a time or not.
fn has_digits_of_time(text: &str) -> bool {
    let is_part = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    (2..=3).contains(&text.split(':').count()) && text.split(':').all(is_part)
}

/// `13:00` or `13:00:05`.
fn is_time_of_day(text: &str) -> bool {
    let parts = text.split(':').map(|part| {
        let digits = part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse::<i64>().ok().filter(|_| digits)
    });
    let parts: Option<Vec<i64>> = parts.collect();
    match parts.as_deref() {
        Some([hour, minute]) => *hour < 24 && *minute < 60,
        Some([hour, minute, second]) => *hour < 24 && *minute < 60 && *second < 60,
        _ => false,
    }
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
            ("1h30m", "2026-11-25T12:00:15.500000000Z"),
            ("1w", "2026-11-18T13:30:15.500000000Z"),
            ("1y", "2025-11-25T13:30:15.500000000Z"),
            ("1mo ago", "2026-10-25T13:30:15.500000000Z"),
            ("-1h", "2026-11-25T12:30:15.500000000Z"),
            ("90m ago", "2026-11-25T12:00:15.500000000Z"),
            ("2 d ago", "2026-11-23T13:30:15.500000000Z"),
            ("1700000000.5", "2023-11-14T22:13:20.500000000Z"),
            ("1700000000500000000", "2023-11-14T22:13:20.500000000Z"),
            ("5", "1970-01-01T00:00:00.000000005Z"),
        ] {
            assert_eq!(
                read(text, now_ns, Zone::Ahead(0)).map(show),
                Ok(means.to_owned()),
                "{text}"
            );
        }
    }

    #[test]
    fn a_zone_that_is_said_is_that_of_dates_and_clocks() {
        let now_ns = parse("2026-11-25T23:30:15.5Z").unwrap();
        for (text, means) in [
            ("2026-11-25", "2026-11-24T23:00:00.000000000Z"),
            ("2026-11-25 13:00", "2026-11-25T12:00:00.000000000Z"),
            ("2026-11-25 13:00:01Z", "2026-11-25T13:00:01.000000000Z"),
            // It is the 26th there.
            ("00:10", "2026-11-25T23:10:00.000000000Z"),
            ("today", "2026-11-25T23:00:00.000000000Z"),
            ("yesterday 23:59:01", "2026-11-25T22:59:01.000000000Z"),
            ("1h", "2026-11-25T22:30:15.500000000Z"),
            ("now", "2026-11-25T23:30:15.500000000Z"),
            ("5", "1970-01-01T00:00:00.000000005Z"),
        ] {
            let moment = Moment { text: text.to_owned(), read_ns: now_ns, utc_ns: 7 };
            assert_eq!(
                moment.ns(Some(Zone::Ahead(3_600))).map(show),
                Ok(means.to_owned()),
                "{text}"
            );
            assert_eq!(moment.ns(None), Ok(7));
        }
    }

    #[test]
    fn what_may_mean_two_times_or_none_is_refused_with_how_to_write_it() {
        for (text, said) in [
            ("1700000000", "which may be s; of seconds: 1700000000.0"),
            (
                "1700000000000",
                "which may be ms; if it is right, write 1970-01-01T00:28:20.000000000Z",
            ),
            (
                "5000000000000000001",
                "nanoseconds before 2100, or a date, found 5000000000000000001; if it is right, write \
                 2128-06-11T08:53:20.000000001Z",
            ),
            (
                "20260102",
                "in digits alone, found 20260102; if it is right, write 1970-01-01T00:00:00.0202",
            ),
            (
                "46023.5",
                "number of a day, found 46023.5; if it is right, write 1970-01-01T12:47:03.5",
            ),
            ("1700000000.1234567891", "no digits below the nanosecond"),
            ("2016-12-31T23:59:60Z", "no number of its own in Unix time"),
            ("25:00", "from 00:00 to 23:59:59, found \"25:00\""),
            ("24:00:00", "from 00:00 to 23:59:59, found \"24:00:00\""),
            ("13:60", "from 00:00 to 23:59:59"),
            ("9:15", "from 00:00 to 23:59:59, found \"9:15\""),
            ("yesterday 25:00", "from 00:00 to 23:59:59"),
            ("2026", "2026-01-01; that much since 1970 is 1970-01-01T00:00:00.000002026Z"),
            ("2026.0", "2026-01-01; that much since 1970 is 1970-01-01T00:33:46.000000000Z"),
            ("1700", "may be a year: 1700-01-01"),
            ("-2026", "may be a year: 2026-01-01"),
            ("9999-12-31", "from 1677-09-21 to 2262-04-11, found \"9999-12-31\""),
            ("0001-01-01", "from 1677-09-21 to 2262-04-11"),
            ("2262-04-12", "from 1677-09-21 to 2262-04-11"),
            ("2026-02-30", "that exist, found \"2026-02-30\""),
            ("2026-11-25 25:00", "from 00:00 to 23:59:59, found \"2026-11-25 25:00\""),
            ("tomorrow", "such as 2026-11-21"),
            ("", "such as 2026-11-21"),
            ("1é:00", "such as 2026-11-21"),
            ("2026-11-25é13:00", "2026-11-25é13:00"),
        ] {
            let error = read(text, 0, Zone::Ahead(0)).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
