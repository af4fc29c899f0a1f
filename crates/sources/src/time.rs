//! The ways to write a time, the same in all forms of text: an integer in a unit, seconds with a
//! fraction, a date with a time of day.
//!
//! An integer is nanoseconds unless something says another unit. Who writes seconds or milliseconds
//! and does not say so would find them in 1970, so [`Times::checked`] refuses an integer that is a
//! plausible time in another unit and none in nanoseconds, and names that unit. A date without a zone
//! is refused unless a zone was said.
//!
//! Written by hand because a float cannot hold nanoseconds since 1970 (it is off by some hundred
//! of them) and a date library is a dependency for forty lines. The proleptic Gregorian calendar
//! throughout, as RFC 3339 has it.
//!
//! Invariant: a time is exact or refused: so is one with digits below the nanosecond, and one of a leap
//! second, since Unix time has no number for it. Held by the tests below.

mod foreign;

use crate::zone::Zone;
use std::fmt;

/// 1980-01-01 and 2100-01-01 in seconds: what is outside is hardly meant.
const PLAUSIBLE_S: std::ops::Range<i64> = 315_532_800..4_102_444_800;
/// The same in days as a spreadsheet counts them, from the end of 1899 on.
const SHEET_DAYS: std::ops::Range<i64> = 29_221..73_051;
const SECOND_NS: i64 = 1_000_000_000;
/// The units that an integer may be in, by what an option calls them.
const UNITS: [(&str, i64); 4] = [("s", SECOND_NS), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];

/// How times are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Nanoseconds of one unit of an integer; `None`: nanoseconds, as nobody has said.
    unit_ns: Option<i64>,
    /// That of times without a zone.
    zone: Option<Zone>,
    /// Whether an integer must be plausible where nobody has said its unit.
    checked: bool,
    /// Integers are milliseconds where nobody has said another unit, and must be plausible.
    milliseconds: bool,
    /// The unit of an integer is told by how large it is.
    by_size: bool,
}

impl Times {
    /// Integers are nanoseconds if that is plausible, else refused.
    #[must_use]
    pub fn checked() -> Self {
        Times { checked: true, ..Times::default() }
    }

    /// Integers are in units of `unit_ns` nanoseconds, whatever time that is.
    #[must_use]
    pub fn of_unit(self, unit_ns: i64) -> Self {
        Times { unit_ns: Some(unit_ns), ..self }
    }

    /// Integers are milliseconds if nobody has said their unit, and refused where that is not plausible.
    #[must_use]
    pub(crate) fn of_milliseconds(self) -> Self {
        Times { milliseconds: true, ..self }
    }

    /// The unit of an integer is told by how large it is, as InfluxDB 3 does where nobody says a precision:
    /// seconds below 5e9, milliseconds below 5e12, microseconds below 5e15, else nanoseconds.
    #[must_use]
    pub fn by_size() -> Self {
        Times { by_size: true, ..Times::default() }
    }

    /// Times without a zone are those of a clock in this one.
    #[must_use]
    pub fn in_zone(self, zone: Zone) -> Self {
        Times { zone: Some(zone), ..self }
    }

    /// Nanoseconds since the Unix epoch.
    ///
    /// # Errors
    /// It is no time, none that exists, or may be meant otherwise.
    pub fn read(&self, text: &str) -> Result<i64, TimeFault> {
        match self.read_padded(text) {
            Err(TimeFault::Form) => match foreign::with_two_digits(text) {
                Some(padded) => self.read_padded(&padded),
                None => Err(TimeFault::Form),
            },
            found => found,
        }
    }

    fn read_padded(&self, text: &str) -> Result<i64, TimeFault> {
        let bytes = text.as_bytes();
        // What nearly all are.
        if let Some(count) = plain_count(bytes) {
            return self.count(count);
        }
        if let Some(day) = Day::of(bytes) {
            return date(&day?, bytes, self.zone);
        }
        let digits = bytes.strip_prefix(b"-").unwrap_or(bytes);
        let Some(dot) = digits.iter().position(|byte| !byte.is_ascii_digit()) else {
            if digits.is_empty() {
                return Err(TimeFault::Form);
            }
            return self.count(text.parse().map_err(|_| TimeFault::Range)?);
        };
        if let Some(plain) = foreign::without_exponent(text) {
            return self.read_padded(&plain);
        }
        if digits[dot] != b'.' {
            let by_number = foreign::month_by_number(text).ok_or(TimeFault::Form)?;
            return self.read_padded(&by_number);
        }
        let (whole, fraction) = (&digits[..dot], &digits[dot + 1..]);
        if whole.is_empty() {
            return Err(TimeFault::Form);
        }
        let seconds: i128 = str::from_utf8(whole)
            .ok()
            .and_then(|whole| whole.parse().ok())
            .filter(|seconds| *seconds < 1 << 64)
            .ok_or(TimeFault::Range)?;
        let unit_ns = match self.unit_ns {
            // In text of Prometheus it is seconds whatever was said.
            Some(unit_ns) if !self.milliseconds => unit_ns,
            _ => SECOND_NS,
        };
        if self.checked && self.unit_ns.is_none() && !self.milliseconds {
            let days = i128::from(SHEET_DAYS.start)..i128::from(SHEET_DAYS.end);
            if days.contains(&seconds) {
                return Err(TimeFault::SheetDay);
            }
            if i64::try_from(seconds).is_ok_and(is_date) {
                return Err(TimeFault::Digits);
            }
        }
        let part_ns = match fraction_ns(fraction, unit_ns) {
            Err(TimeFault::Finer) if is_float(whole, fraction) => rounded_ns(fraction, unit_ns),
            part_ns => part_ns?.into(),
        };
        let nanoseconds = seconds * i128::from(unit_ns) + part_ns;
        let signed = if digits.len() < bytes.len() { -nanoseconds } else { nanoseconds };
        i64::try_from(signed).map_err(|_| TimeFault::Range)
    }

    /// Looks at the form of a time that was read: a number with a point is seconds, an integer nanoseconds. Both
    /// in one column are early times of one clock, as `%g` prints them (`0.5`, `1`, `1.5`). `early` has the form
    /// of the first such. It does not matter where somebody has said the unit, or where the time is no number, 0,
    /// or late enough that in the other form it would have been refused.
    ///
    /// # Errors
    /// It has the other form.
    pub(crate) fn check_form(
        &self,
        text: &str,
        time_ns: i64,
        early: &mut Option<bool>,
    ) -> Result<(), TimeFault> {
        let is_late = time_ns.div_euclid(SECOND_NS) >= PLAUSIBLE_S.start;
        if time_ns == 0 || is_late || self.unit_ns.is_some() {
            return Ok(());
        }
        let text = text.trim().trim_matches('"');
        if text.replace(',', ".").parse::<f64>().is_err() {
            return Ok(());
        }
        let has_point = text.contains(['.', ',', 'e', 'E']);
        match *early.get_or_insert(has_point) == has_point {
            true => Ok(()),
            false => Err(TimeFault::Mixed),
        }
    }

    /// The time that digits alone say, from 1980 on: [`Times::read`] has the same, and [`Times::check_form`] has
    /// nothing to say of it.
    #[inline]
    pub(crate) fn late_count(&self, text: &[u8]) -> Option<i64> {
        let time_ns = self.count(plain_count(text)?).ok()?;
        (time_ns >= PLAUSIBLE_S.start * SECOND_NS).then_some(time_ns)
    }

    /// The time that an integer says.
    pub(crate) fn count(&self, count: i64) -> Result<i64, TimeFault> {
        match self.unit_ns {
            Some(unit_ns) => count.checked_mul(unit_ns).ok_or(TimeFault::Range),
            None if self.by_size => {
                let below = |end: u64| count.unsigned_abs() < end;
                let unit_ns = match () {
                    () if below(5_000_000_000) => SECOND_NS,
                    () if below(5_000_000_000_000) => 1_000_000,
                    () if below(5_000_000_000_000_000) => 1_000,
                    () => 1,
                };
                count.checked_mul(unit_ns).ok_or(TimeFault::Range)
            }
            None if self.milliseconds => plausible(count, 1_000_000),
            None if self.checked && is_date(count) => Err(TimeFault::Digits),
            None if self.checked => plausible(count, 1),
            None => Ok(count),
        }
    }
}

/// Digits alone that fit; as many as no 64 bits overflow.
fn plain_count(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut count = 0_u64;
    let (eights, rest) = text.as_chunks::<8>();
    for eight in eights {
        count = count * 100_000_000 + eight_digits(u64::from_le_bytes(*eight))?;
    }
    for byte in rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        count = count * 10 + u64::from(digit);
    }
    i64::try_from(count).ok()
}

/// Eight digits, the first in the lowest byte: pairs are put together, then pairs of these, then all.
fn eight_digits(text: u64) -> Option<u64> {
    const ZEROS: u64 = u64::from_ne_bytes(*b"00000000");
    let digits = text.wrapping_sub(ZEROS);
    // A byte below "0" has borrowed, or has its highest bit; one above "9" has a bit more with 0x76.
    let beyond = digits | digits.wrapping_add(0x7676_7676_7676_7676);
    if (beyond | text) & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

/// Whether an integer is a date as digits, `20260102`, `202601020304` or `20260102030405`: as nanoseconds it
/// would be 1970.
fn is_date(count: i64) -> bool {
    let (date, clock) = match count {
        19_800_101..=20_991_231 => (count, 0),
        198_001_010_000..=209_912_312_359 => (count / 10_000, count % 10_000 * 100),
        19_800_101_000_000..=20_991_231_235_959 => (count / 1_000_000, count % 1_000_000),
        _ => return false,
    };
    let (year, month, day) = (date / 10_000, date / 100 % 100, date % 100);
    let (hour, minute, second) = (clock / 10_000, clock / 100 % 100, clock % 100);
    (1..=12).contains(&month)
        && (1..=month_days(year, month)).contains(&day)
        && (hour <= 23 && minute <= 59 && second <= 59)
}

/// An integer in units of `unit_ns`, unless it can only be meant otherwise. One that is no plausible time
/// in any unit, such as 5, is in this one: it was counted by hand.
fn plausible(count: i64, unit_ns: i64) -> Result<i64, TimeFault> {
    let seconds = |unit_ns: i64| count.div_euclid(SECOND_NS / unit_ns);
    if !PLAUSIBLE_S.contains(&seconds(unit_ns)) {
        let other = UNITS.into_iter().find(|(_, other)| PLAUSIBLE_S.contains(&seconds(*other)));
        if let Some((unit, _)) = other {
            return Err(TimeFault::Unit { unit });
        }
        if seconds(unit_ns) >= PLAUSIBLE_S.end {
            return Err(TimeFault::Far);
        }
    }
    count.checked_mul(unit_ns).ok_or(TimeFault::Range)
}

/// Why a text is no time; shown as what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeFault {
    /// None of the forms.
    Form,
    /// A month, day, hour, minute, second or offset that does not exist.
    Calendar,
    /// Before 1677-09-21 or after 2262-04-11: not in 64 bits of nanoseconds.
    Range,
    /// An integer that in the unit it is taken in is before 1980 or after 2100, and not in this one.
    Unit {
        /// As `--precision` calls it.
        unit: &'static str,
    },
    /// An integer that is after 2100.
    Far,
    /// A small number with a point, or without, in a column that had one of the other kind.
    Mixed,
    /// An integer that is a date written as digits.
    Digits,
    /// A number with a point that is a day as spreadsheets count them.
    SheetDay,
    /// A date without a zone.
    Zone,
    /// A date such as 02/01/2026.
    DayOrMonth,
    /// Digits below the nanosecond.
    Finer,
    /// A second 60.
    LeapSecond,
    /// A time that no clock of the zone showed.
    Skipped,
    /// A time that clocks of the zone showed twice.
    Twice,
}

impl fmt::Display for TimeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeFault::Form => {
                "a time (an integer, nanoseconds since 1970 unless --precision says otherwise, \
                 seconds with a point, or such as 2026-01-02T03:04:05.678Z)"
            }
            TimeFault::Calendar => "a date and time that exist",
            TimeFault::Range => "a time from 1677 to 2262 (is --precision right?)",
            TimeFault::Unit { unit } => {
                return write!(
                    f,
                    "a time in nanoseconds from 1980 on (--precision {unit} if it is in {unit}, \
                     --precision ns if it is right)"
                );
            }
            TimeFault::Mixed => {
                "times that all have a point or none (with one they are seconds, without nanoseconds; \
                 --precision s if all are seconds)"
            }
            TimeFault::Far => "a time in nanoseconds before 2100 (--precision ns if it is right)",
            TimeFault::Digits => {
                "a date such as 2026-01-02T03:04:05Z, not in digits alone (--precision says the unit if it \
                 is a number since 1970)"
            }
            TimeFault::SheetDay => {
                "a date such as 2026-01-02 03:04:05, not a spreadsheet's number of a day (--precision s \
                 if it is seconds since 1970)"
            }
            TimeFault::Zone => {
                "a time with Z or an offset such as +01:00 (--zone says that of times without)"
            }
            TimeFault::DayOrMonth => {
                "a date such as 2026-01-02, 2026/01/02 or 02.01.2026 (of one such as 02/01/2026 it is not \
                 known which is the day)"
            }
            TimeFault::Finer => {
                "no digits below the nanosecond (what is finer would be lost)"
            }
            TimeFault::LeapSecond => {
                "a second from 00 to 59 (a leap second, 60, has no number of its own in Unix time: it \
                 would become the next second)"
            }
            TimeFault::Skipped => {
                "a time that clocks of the zone show (they were set forward over this one)"
            }
            TimeFault::Twice => {
                "a time that clocks of the zone show once, or an offset such as +01:00 (they were set \
                 back, so this one is two)"
            }
        })
    }
}

/// Nanoseconds since the Unix epoch, integers being nanoseconds.
#[cfg(test)]
fn parse(text: &str) -> Result<i64, TimeFault> {
    Times::default().read(text)
}

/// Seconds that a zone is ahead of UTC: `UTC`, `Z`, `+01:00`, `-0530`, `+01`.
#[must_use]
pub fn zone_s(text: &str) -> Option<i64> {
    if matches!(text, "UTC" | "utc" | "Z" | "z") {
        return Some(0);
    }
    offset_minutes(text.as_bytes()).ok().map(|minutes| minutes * 60)
}

/// `Z`, `+01:00`, `+0100` or `+01`, in minutes.
fn offset_minutes(text: &[u8]) -> Result<i64, TimeFault> {
    let (sign, hours, minutes) = match text {
        [b'Z' | b'z'] => return Ok(0),
        [sign, h1, h2] => (sign, [*h1, *h2], [b'0', b'0']),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => (sign, [*h1, *h2], [*m1, *m2]),
        _ => return Err(TimeFault::Form),
    };
    if !matches!(sign, b'+' | b'-') {
        return Err(TimeFault::Form);
    }
    let (hours, minutes) = (number(Some(&hours))?, number(Some(&minutes))?);
    if hours > 23 || minutes > 59 {
        return Err(TimeFault::Calendar);
    }
    let offset = hours * 60 + minutes;
    Ok(if *sign == b'-' { -offset } else { offset })
}

/// Digits behind the point of a number in a unit of a power of ten, as nanoseconds; more are no matter where
/// they are 0.
fn fraction_ns(digits: &[u8], unit_ns: i64) -> Result<u32, TimeFault> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(TimeFault::Form);
    }
    let places = unit_ns.ilog10() as usize;
    if digits.iter().skip(places).any(|digit| *digit != b'0') {
        return Err(TimeFault::Finer);
    }
    let digit = |index| digits.get(index).map_or(0, |byte| u32::from(byte - b'0'));
    Ok((0..places).fold(0, |sum, index| sum * 10 + digit(index)))
}

/// The first ten bytes of a date.
struct Day {
    year: i64,
    month: i64,
    day: i64,
}

impl Day {
    /// `2026-01-02`, `2026/01/02`, and `02.01.2026`, which has the day first wherever points are written;
    /// `None` if it is no date. Of `02/01/2026` nobody knows which is the day.
    fn of(text: &[u8]) -> Option<Result<Self, TimeFault>> {
        let field = |start: usize, length: usize| number(text.get(start..start + length));
        let is = |place: usize, mark: u8| text.get(place) == Some(&mark);
        let (year, month, day) = if is(4, b'-') && is(7, b'-') || is(4, b'/') && is(7, b'/') {
            (field(0, 4), field(5, 2), field(8, 2))
        } else if is(2, b'.') && is(5, b'.') {
            (field(6, 4), field(3, 2), field(0, 2))
        } else if (is(1, b'/') || is(2, b'/')) && is_day_or_month(text) {
            return Some(Err(TimeFault::DayOrMonth));
        } else {
            return None;
        };
        let all = || Ok(Day { year: year?, month: month?, day: day? });
        Some(all())
    }
}

fn is_utc(name: &[u8]) -> bool {
    [&b"UTC"[..], b"GMT", b"+0000 UTC"].iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Whether a date has two numbers of which each may be the day, and then a year.
fn is_day_or_month(text: &[u8]) -> bool {
    let mut parts = text.splitn(3, |byte| *byte == b'/');
    let mut is_short = || {
        let part = parts.next().unwrap_or_default();
        matches!(part, [a] | [a, _] if a.is_ascii_digit()) && part.iter().all(u8::is_ascii_digit)
    };
    is_short()
        && is_short()
        && parts.next().is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit))
}

/// Digits of a number of 64 bits with a point: as many as it takes to tell it from its neighbours.
const FLOAT_DIGITS: std::ops::RangeInclusive<usize> = 16..=17;

/// Whether these are digits of a number of 64 bits with a point, the last of which mean nothing, as in
/// `0.30000000000000004`.
fn is_float(whole: &[u8], fraction: &[u8]) -> bool {
    let digits = || whole.iter().chain(fraction);
    let zeros = digits().take_while(|digit| **digit == b'0').count();
    let behind = fraction.iter().rev().take_while(|digit| **digit == b'0').count();
    FLOAT_DIGITS.contains(&digits().count().saturating_sub(zeros + behind))
}

/// Digits behind the point, to the nearest nanosecond.
fn rounded_ns(digits: &[u8], unit_ns: i64) -> i128 {
    let places = unit_ns.ilog10() as usize;
    let digit = |index| digits.get(index).map_or(0, |byte| i128::from(byte - b'0'));
    (0..places).fold(0, |sum, index| sum * 10 + digit(index)) + i128::from(digit(places) >= 5)
}

/// `2026-01-02T03:04:05[.678]Z`, with an offset instead of the Z, a blank instead of the T, a comma instead of
/// the point, or without seconds; without an offset, or a date alone, in the zone given.
fn date(day: &Day, text: &[u8], zone: Option<Zone>) -> Result<i64, TimeFault> {
    let field = |start: usize, length: usize| number(text.get(start..start + length));
    let Day { year, month, day } = *day;
    let (mut hour, mut minute, mut second, mut nanoseconds) = (0, 0, 0, 0);
    let mut rest = text.get(10..).unwrap_or_default();
    if !rest.is_empty() {
        let mark = |place: usize, allowed: &[u8]| {
            let found = text.get(place).is_some_and(|byte| allowed.contains(byte));
            if found { Ok(()) } else { Err(TimeFault::Form) }
        };
        mark(10, b"Tt ")?;
        mark(13, b":")?;
        (hour, minute) = (field(11, 2)?, field(14, 2)?);
        rest = text.get(16..).unwrap_or_default();
        if rest.first() == Some(&b':') {
            second = field(17, 2)?;
            rest = text.get(19..).unwrap_or_default();
        }
        if let ([b'.' | b',', tail @ ..], true) = (rest, text.get(16) == Some(&b':')) {
            let length = tail.iter().take_while(|byte| byte.is_ascii_digit()).count();
            nanoseconds = fraction_ns(&tail[..length], SECOND_NS)?;
            rest = &tail[length..];
        }
    }
    let offset_s = match (rest, zone) {
        ([], Some(_)) => None,
        ([], None) => return Err(TimeFault::Zone),
        // As several programs print it.
        ([b' ', name @ ..], _) if is_utc(name) => Some(0),
        ([b' ', rest @ ..] | rest, _) => Some(60 * offset_minutes(rest)?),
    };
    let exists = (1..=12).contains(&month)
        && (1..=month_days(year, month)).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 60;
    if !exists {
        return Err(TimeFault::Calendar);
    }
    // As the next second it would take the place of that one's sample.
    if second == 60 {
        return Err(TimeFault::LeapSecond);
    }
    let minutes = days_since_epoch(year, month, day) * 1440 + hour * 60 + minute;
    let clock_s = minutes * 60 + second;
    let offset_s = match (offset_s, zone) {
        (None, Some(zone)) => zone.ahead_of_clock_s(clock_s)?,
        (offset_s, _) => offset_s.unwrap_or(0),
    };
    let total = i128::from(clock_s - offset_s) * 1_000_000_000 + i128::from(nanoseconds);
    i64::try_from(total).map_err(|_| TimeFault::Range)
}

fn number(digits: Option<&[u8]>) -> Result<i64, TimeFault> {
    let digits = digits.ok_or(TimeFault::Form)?;
    digits.iter().try_fold(0, |sum, byte| match byte {
        b'0'..=b'9' => Ok(sum * 10 + i64::from(byte - b'0')),
        _ => Err(TimeFault::Form),
    })
}

pub(crate) fn month_days(year: i64, month: i64) -> i64 {
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
pub(crate) fn days_since_epoch(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests;
