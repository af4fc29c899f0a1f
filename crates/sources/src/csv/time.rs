//! The three ways to write a time: nanoseconds, seconds with a fraction, RFC 3339.
//!
//! Written by hand because a float cannot hold nanoseconds since 1970 (it is off by some hundred
//! of them) and a date library is a dependency for forty lines. The proleptic Gregorian calendar
//! throughout, as RFC 3339 has it.
//!
//! Invariant: a time is exact or refused; digits below the nanosecond are cut off, never rounded
//! into another second. Held by the tests below.

/// Why a text is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeFault {
    /// None of the three forms.
    Form,
    /// A month, day, hour, minute, second or offset that does not exist.
    Calendar,
    /// Before 1677-09-21 or after 2262-04-11: not in 64 bits of nanoseconds.
    Range,
}

/// Nanoseconds since the Unix epoch.
pub(super) fn parse(text: &str) -> Result<i64, TimeFault> {
    let bytes = text.as_bytes();
    if bytes.get(4) == Some(&b'-') && bytes.get(7) == Some(&b'-') {
        return rfc3339(bytes);
    }
    let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let Some(dot) = digits.iter().position(|byte| *byte == b'.') else {
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(TimeFault::Form);
        }
        return text.parse().map_err(|_| TimeFault::Range);
    };
    let (whole, fraction) = (&digits[..dot], &digits[dot + 1..]);
    if whole.is_empty() || !whole.iter().all(u8::is_ascii_digit) {
        return Err(TimeFault::Form);
    }
    let seconds: i128 = str::from_utf8(whole)
        .ok()
        .and_then(|whole| whole.parse().ok())
        .filter(|seconds| *seconds < 1 << 64)
        .ok_or(TimeFault::Range)?;
    let nanoseconds = seconds * 1_000_000_000 + i128::from(fraction_ns(fraction)?);
    let signed = if digits.len() < bytes.len() { -nanoseconds } else { nanoseconds };
    i64::try_from(signed).map_err(|_| TimeFault::Range)
}

/// Digits behind the point, as nanoseconds.
fn fraction_ns(digits: &[u8]) -> Result<u32, TimeFault> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(TimeFault::Form);
    }
    let digit = |index| digits.get(index).map_or(0, |byte| u32::from(byte - b'0'));
    Ok((0..9).fold(0, |sum, index| sum * 10 + digit(index)))
}

/// `2026-01-02T03:04:05[.678]Z`, with an offset instead of the Z, or a blank instead of the T.
fn rfc3339(text: &[u8]) -> Result<i64, TimeFault> {
    let field = |start: usize, length: usize| number(text.get(start..start + length));
    let mark = |place: usize, allowed: &[u8]| {
        let found = text.get(place).is_some_and(|byte| allowed.contains(byte));
        if found { Ok(()) } else { Err(TimeFault::Form) }
    };
    mark(10, b"Tt ")?;
    mark(13, b":")?;
    mark(16, b":")?;
    let (year, month, day) = (field(0, 4)?, field(5, 2)?, field(8, 2)?);
    let (hour, minute, second) = (field(11, 2)?, field(14, 2)?, field(17, 2)?);
    let mut rest = text.get(19..).unwrap_or_default();
    let mut nanoseconds = 0;
    if let [b'.', tail @ ..] = rest {
        let length = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
        nanoseconds = fraction_ns(&tail[..length])?;
        rest = &tail[length..];
    }
    let offset_minutes = match rest {
        [b'Z' | b'z'] => 0,
        [sign @ (b'+' | b'-'), _, _, b':', _, _] => {
            let (hours, minutes) = (number(rest.get(1..3))?, number(rest.get(4..6))?);
            if hours > 23 || minutes > 59 {
                return Err(TimeFault::Calendar);
            }
            let offset = hours * 60 + minutes;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return Err(TimeFault::Form),
    };
    // A leap second is the first second of the next minute, as in Unix time.
    let leap = second == 60 && (minute - offset_minutes).rem_euclid(60) == 59;
    let exists = (1..=12).contains(&month)
        && (1..=month_days(year, month)).contains(&day)
        && hour <= 23
        && minute <= 59
        && (second <= 59 || leap);
    if !exists {
        return Err(TimeFault::Calendar);
    }
    let minutes = days_since_epoch(year, month, day) * 1440 + hour * 60 + minute - offset_minutes;
    let total = i128::from(minutes * 60 + second) * 1_000_000_000 + i128::from(nanoseconds);
    i64::try_from(total).map_err(|_| TimeFault::Range)
}

fn number(digits: Option<&[u8]>) -> Result<i64, TimeFault> {
    let digits = digits.ok_or(TimeFault::Form)?;
    digits.iter().try_fold(0, |sum, byte| match byte {
        b'0'..=b'9' => Ok(sum * 10 + i64::from(byte - b'0')),
        _ => Err(TimeFault::Form),
    })
}

fn month_days(year: i64, month: i64) -> i64 {
    let leap_year = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap_year => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01. Years are counted from March, so that the leap day is the last one, in
/// eras of 400 years, which are all alike.
fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn integers_are_nanoseconds_and_fractions_seconds() {
        assert_eq!(parse("1700000000123456789"), Ok(1_700_000_000_123_456_789));
        assert_eq!(parse("0"), Ok(0));
        assert_eq!(parse("-5"), Ok(-5));
        assert_eq!(parse("1700000000.123456789"), Ok(1_700_000_000_123_456_789));
        assert_eq!(parse("1.5"), Ok(1_500_000_000));
        assert_eq!(parse("-0.000000001"), Ok(-1));
        assert_eq!(parse("0.9999999999"), Ok(999_999_999));
        assert_eq!(parse("9223372036.854775807"), Ok(i64::MAX));
        assert_eq!(parse("-9223372036.854775808"), Ok(i64::MIN));
        assert_eq!(parse("9223372036.854775808"), Err(TimeFault::Range));
        assert_eq!(parse("9223372036854775808"), Err(TimeFault::Range));
        assert_eq!(parse(&format!("{}.0", "9".repeat(500))), Err(TimeFault::Range));
        for text in ["", "-", "+1", "1.", ".5", "-.5", "1e9", "1.5e3", "1.2.3", "0x10", " 1", "١"]
        {
            assert_eq!(parse(text), Err(TimeFault::Form), "{text:?}");
        }
    }

    #[test]
    fn dates_are_read_with_and_without_offset() {
        assert_eq!(parse("1970-01-01T00:00:00Z"), Ok(0));
        assert_eq!(parse("2000-02-29T12:34:56Z"), Ok(951_827_696 * SECOND));
        assert_eq!(parse("2026-11-21t21:13:24.5z"), Ok(1_795_295_604 * SECOND + SECOND / 2));
        assert_eq!(parse("2026-11-21 23:13:24+02:00"), Ok(1_795_295_604 * SECOND));
        assert_eq!(parse("2026-11-21T15:43:24-05:30"), Ok(1_795_295_604 * SECOND));
        assert_eq!(parse("1969-12-31T23:59:59.999999999Z"), Ok(-1));
        assert_eq!(parse("2016-12-31T23:59:60Z"), parse("2017-01-01T00:00:00Z"));
        assert_eq!(parse("2017-01-01T05:29:60+05:30"), parse("2017-01-01T00:00:00Z"));
        assert_eq!(parse("2262-04-11T23:47:16.854775807Z"), Ok(i64::MAX));
        assert_eq!(parse("1677-09-21T00:12:43.145224192Z"), Ok(i64::MIN));
        assert_eq!(parse("2262-04-11T23:47:16.854775808Z"), Err(TimeFault::Range));
        assert_eq!(parse("0000-01-01T00:00:00Z"), Err(TimeFault::Range));
        assert_eq!(parse("9999-12-31T23:59:59Z"), Err(TimeFault::Range));
    }

    #[test]
    fn dates_that_do_not_exist_are_refused() {
        for text in [
            "2026-00-01T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-01-00T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:60:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:59:61Z",
            "2026-01-01T00:00:00+24:00",
        ] {
            assert_eq!(parse(text), Err(TimeFault::Calendar), "{text}");
        }
        for text in [
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+0100",
            "2026-01-01T00:00:00Zx",
            "2026-01-01_00:00:00Z",
            "2026-0a-01T00:00:00Z",
            "2026-01-01T-1:00:00Z",
        ] {
            assert_eq!(parse(text), Err(TimeFault::Form), "{text}");
        }
    }

    #[test]
    fn every_day_follows_the_day_before() {
        let mut expected = days_since_epoch(1600, 1, 1);
        assert_eq!(expected, -135_140);
        for year in 1600..2401 {
            for month in 1..=12 {
                for day in 1..=month_days(year, month) {
                    assert_eq!(days_since_epoch(year, month, day), expected);
                    expected += 1;
                }
            }
        }
    }
}
