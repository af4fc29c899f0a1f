//! Zones of times that have none: an offset, or the rules of a place as the system has them in
//! `/usr/share/zoneinfo` (TZif, RFC 9636). The caller reads the file; here its bytes become rules.
//!
//! A time of a clock is one moment, or none (clocks were set forward over it), or two (they were set
//! back). Only the first is taken: nothing says which of two is meant.
//!
//! By hand, since a library brings calendars and formats that nothing here needs.
//! Invariant: any bytes are rules or none, and a time of a clock has the moment that the system's own
//! rules give it. Held by the tests below and `a_zone_by_its_name_is_that_of_the_system` (command line).

use crate::time::{TimeFault, days_since_epoch, month_days};
use std::fmt;

pub(crate) const DAY_S: i64 = 86_400;
const SECOND_NS: i64 = 1_000_000_000;
/// More than any zone has; what is sized by a count is bounded by the bytes too.
const ZONE_BYTES_MAX: usize = 1 << 20;

/// The zone of times that have none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Always so many seconds ahead of UTC.
    Ahead(i64),
    /// By the rules of a place. They live as long as the program: it is given one zone.
    Of(&'static Rules),
}

impl Zone {
    /// Seconds that clocks are ahead of UTC at a moment.
    #[must_use]
    pub fn ahead_s(self, moment_s: i64) -> i64 {
        match self {
            Zone::Ahead(seconds) => seconds,
            Zone::Of(rules) => rules.offset_at(moment_s).into(),
        }
    }

    /// Seconds that clocks are ahead of UTC which show this.
    pub(crate) fn ahead_of_clock_s(self, clock_s: i64) -> Result<i64, TimeFault> {
        match self {
            Zone::Ahead(seconds) => Ok(seconds),
            Zone::Of(rules) => rules.offset_of_clock(clock_s).map_err(|no| match no {
                NoMoment::Skipped => TimeFault::Skipped,
                NoMoment::Twice => TimeFault::Twice,
            }),
        }
    }

    /// The moment at which clocks show so many nanoseconds since 1970.
    ///
    /// # Errors
    /// There is none, there are two, or it is beyond what 64 bits hold.
    pub fn moment_ns(self, clock_ns: i64) -> Result<i64, TimeFault> {
        let ahead_s = self.ahead_of_clock_s(clock_ns.div_euclid(SECOND_NS))?;
        clock_ns.checked_sub(ahead_s * SECOND_NS).ok_or(TimeFault::Range)
    }

    /// The first moment at which clocks show this, or more where they were set forward over it.
    pub(crate) fn first_moment_s(self, clock_s: i64) -> i64 {
        match self {
            Zone::Ahead(seconds) => clock_s - seconds,
            Zone::Of(rules) => rules.first_moment_s(clock_s),
        }
    }
}

/// Why a time of a clock is no moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoMoment {
    /// Clocks were set forward over it.
    Skipped,
    /// Clocks were set back: there are two.
    Twice,
}

/// The rules of a place.
#[derive(Clone, PartialEq, Eq)]
pub struct Rules {
    /// From which moment on clocks were how many seconds ahead of UTC.
    steps: Vec<(i64, i32)>,
    /// Before the first of these.
    first: i32,
    /// Behind the last of these.
    yearly: Option<Yearly>,
    /// All offsets there are.
    offsets: Vec<i32>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rules({} steps)", self.steps.len())
    }
}

/// Rules that come again each year, as POSIX writes them: `CET-1CEST,M3.5.0,M10.5.0/3`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Yearly {
    standard: i32,
    /// Offset in summer, and when it begins and ends.
    summer: Option<(i32, Day, Day)>,
}

/// A day of a year, and seconds behind its begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Day {
    kind: DayKind,
    time_s: i64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DayKind {
    /// Weekday (Sunday is 0) of week 1 to 5 (the last) of a month.
    Week(i64, i64, i64),
    /// From 1 on; 29 February is none.
    Julian(i64),
    /// From 0 on.
    Zero(i64),
}

impl Day {
    /// Seconds from 1970 on, by the clock.
    fn in_year(self, year: i64) -> i64 {
        let first = days_since_epoch(year, 1, 1);
        let day = match self.kind {
            DayKind::Zero(day) => first + day,
            DayKind::Julian(day) => {
                let leap = month_days(year, 2) == 29;
                first + day - 1 + i64::from(leap && day > 59)
            }
            DayKind::Week(month, week, weekday) => {
                let begin = days_since_epoch(year, month, 1);
                // 1970-01-01 was a Thursday.
                let ahead = (weekday - (begin + 4)).rem_euclid(7);
                let day = begin + ahead + 7 * (week - 1);
                if day >= begin + month_days(year, month) { day - 7 } else { day }
            }
        };
        day * DAY_S + self.time_s
    }
}

impl Yearly {
    fn parse(text: &str) -> Option<Self> {
        let (mut rest, standard) = offset(name(text)?)?;
        let standard = i32::try_from(-standard).ok()?;
        if rest.is_empty() {
            return Some(Yearly { standard, summer: None });
        }
        rest = name(rest)?;
        let mut summer = standard + 3_600;
        if !rest.starts_with(',') {
            let (behind, found) = offset(rest)?;
            (rest, summer) = (behind, i32::try_from(-found).ok()?);
        }
        let (begin, end) = rest.strip_prefix(',')?.split_once(',')?;
        Some(Yearly { standard, summer: Some((summer, day(begin)?, day(end)?)) })
    }

    fn offset_at(&self, moment_s: i64) -> i32 {
        let Some((summer, begin, end)) = self.summer else { return self.standard };
        let year = year_of((moment_s + i64::from(self.standard)).div_euclid(DAY_S));
        let begin_s = begin.in_year(year) - i64::from(self.standard);
        let end_s = end.in_year(year) - i64::from(summer);
        let is_summer = match begin_s <= end_s {
            true => (begin_s..end_s).contains(&moment_s),
            false => !(end_s..begin_s).contains(&moment_s),
        };
        if is_summer { summer } else { self.standard }
    }
}

/// The year of a day counted from 1970.
pub(crate) fn year_of(day: i64) -> i64 {
    let mut year = 1970 + day.div_euclid(366).min(day.div_euclid(365));
    while days_since_epoch(year + 1, 1, 1) <= day {
        year += 1;
    }
    year
}

/// What comes behind the name of a zone.
fn name(text: &str) -> Option<&str> {
    let end = match text.strip_prefix('<') {
        Some(rest) => rest.find('>')? + 2,
        None => text.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(text.len()),
    };
    (end >= 3).then(|| text.get(end..))?
}

/// A number of at most three digits, and what comes behind it.
fn number(text: &str) -> Option<(&str, i64)> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let found = text.get(..end).filter(|digits| (1..=3).contains(&digits.len()))?;
    Some((text.get(end..)?, found.parse().ok()?))
}

/// `[+-]hh[:mm[:ss]]` in seconds, and what comes behind it.
fn offset(text: &str) -> Option<(&str, i64)> {
    let negative = text.starts_with('-');
    let (mut rest, hours) = number(text.strip_prefix(['+', '-']).unwrap_or(text))?;
    let mut seconds = hours * 3_600;
    for unit in [60, 1] {
        let Some(more) = rest.strip_prefix(':') else { break };
        let (behind, found) = number(more)?;
        (rest, seconds) = (behind, seconds + found.min(59) * unit);
    }
    Some((rest, if negative { -seconds } else { seconds }))
}

fn day(text: &str) -> Option<Day> {
    let (day, time) = text.split_once('/').map_or((text, None), |(day, time)| (day, Some(time)));
    let time_s = match time.map(offset) {
        None => 2 * 3_600,
        Some(found) => found.filter(|(rest, _)| rest.is_empty())?.1,
    };
    let whole = |text: &str| number(text).filter(|(rest, _)| rest.is_empty()).map(|(_, n)| n);
    let kind = match (day.strip_prefix('M'), day.strip_prefix('J')) {
        (Some(day), _) => {
            let mut parts = day.split('.').map(whole);
            let (month, week, weekday) = (parts.next()??, parts.next()??, parts.next()??);
            let fits = (1..=12).contains(&month) && (1..=5).contains(&week) && weekday <= 6;
            DayKind::Week(month, week, weekday).only_if(fits && parts.next().is_none())?
        }
        (None, Some(day)) => {
            let day = whole(day)?;
            DayKind::Julian(day).only_if((1..=365).contains(&day))?
        }
        (None, None) => {
            let day = whole(day)?;
            DayKind::Zero(day).only_if(day <= 365)?
        }
    };
    Some(Day { kind, time_s })
}

impl DayKind {
    fn only_if(self, fits: bool) -> Option<Self> {
        fits.then_some(self)
    }
}

/// Counts in the head of a part of a TZif file.
struct Counts {
    is_ut: usize,
    is_standard: usize,
    leaps: usize,
    times: usize,
    types: usize,
    letters: usize,
}

const HEAD_BYTES: usize = 44;

fn big_endian(bytes: &[u8], at: usize) -> Option<i64> {
    Some(i64::from_be_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

fn big_endian_32(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

impl Counts {
    fn of(bytes: &[u8]) -> Option<Self> {
        let count = |at: usize| {
            let found = usize::try_from(big_endian_32(bytes, at)?).ok()?;
            (found <= ZONE_BYTES_MAX).then_some(found)
        };
        bytes.starts_with(b"TZif").then_some(())?;
        Some(Counts {
            is_ut: count(20)?,
            is_standard: count(24)?,
            leaps: count(28)?,
            times: count(32)?,
            types: count(36)?,
            letters: count(40)?,
        })
    }

    /// Bytes behind the head, with times of so many bytes.
    fn body_bytes(&self, time_bytes: usize) -> usize {
        let times = self.times * (time_bytes + 1) + self.leaps * (time_bytes + 4);
        times + self.types * 6 + self.letters + self.is_ut + self.is_standard
    }
}

impl Rules {
    /// The rules in a TZif file of version 2 or later; `None` if it is none.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        if bytes.len() > ZONE_BYTES_MAX || *bytes.get(4)? < b'2' {
            return None;
        }
        // The part with times of 32 bits is for older readers.
        let second = HEAD_BYTES + Counts::of(bytes)?.body_bytes(4);
        let bytes = bytes.get(second..)?;
        let counts = Counts::of(bytes)?;
        let end = HEAD_BYTES + counts.body_bytes(8);
        let (times, kinds) = (HEAD_BYTES, HEAD_BYTES + counts.times * 8);
        let types = kinds + counts.times;
        let footer = bytes.get(end..)?.strip_prefix(b"\n")?;
        let offset_of = |kind: usize| {
            let found = big_endian_32(bytes, types + kind * 6)?;
            // A day and a bit, as the format has it.
            (kind < counts.types && (-93_599..=93_599).contains(&found)).then_some(found)
        };
        let mut steps = Vec::with_capacity(counts.times);
        for at in 0..counts.times {
            let kind = usize::from(*bytes.get(kinds + at)?);
            steps.push((big_endian(bytes, times + at * 8)?, offset_of(kind)?));
        }
        if !steps.is_sorted_by(|a, b| a.0 < b.0) {
            return None;
        }
        let footer = footer.get(..footer.iter().position(|byte| *byte == b'\n')?)?;
        let yearly = match str::from_utf8(footer).ok()? {
            "" => None,
            text => Some(Yearly::parse(text)?),
        };
        let first = offset_of(0)?;
        let mut offsets: Vec<i32> = steps.iter().map(|(_, offset)| *offset).collect();
        offsets.push(first);
        if let Some(Yearly { standard, summer }) = &yearly {
            offsets.push(*standard);
            offsets.extend(summer.iter().map(|(offset, ..)| *offset));
        }
        offsets.sort_unstable();
        offsets.dedup();
        Some(Rules { steps, first, yearly, offsets })
    }

    fn offset_at(&self, moment_s: i64) -> i32 {
        let behind = self.steps.partition_point(|(from_s, _)| *from_s <= moment_s);
        match (&self.yearly, behind.checked_sub(1)) {
            (Some(yearly), _) if behind == self.steps.len() => yearly.offset_at(moment_s),
            (_, Some(at)) => self.steps.get(at).map_or(self.first, |(_, offset)| *offset),
            (_, None) => self.first,
        }
    }

    fn first_moment_s(&self, clock_s: i64) -> i64 {
        let shows = |moment_s: i64| moment_s + i64::from(self.offset_at(moment_s));
        let moments = self.offsets.iter().map(|offset| clock_s - i64::from(*offset));
        if let Some(first) = moments.clone().filter(|moment| shows(*moment) == clock_s).min() {
            return first;
        }
        // Before by the largest offset, not before by the least: between them clocks were set.
        let mut before = moments.clone().min().unwrap_or(clock_s) - 1;
        let mut behind = moments.max().unwrap_or(clock_s);
        while behind - before > 1 {
            let middle = before + (behind - before) / 2;
            if shows(middle) < clock_s { before = middle } else { behind = middle }
        }
        behind
    }

    /// Seconds that a clock which shows `clock_s` is ahead of UTC.
    pub(crate) fn offset_of_clock(&self, clock_s: i64) -> Result<i64, NoMoment> {
        let is_so = |offset: &&i32| self.offset_at(clock_s - i64::from(**offset)) == **offset;
        let mut found = self.offsets.iter().filter(is_so);
        match (found.next(), found.next()) {
            (Some(offset), None) => Ok(i64::from(*offset)),
            (Some(_), Some(_)) => Err(NoMoment::Twice),
            (None, _) => Err(NoMoment::Skipped),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The zone of a file.
    pub(crate) fn place(bytes: &[u8]) -> Zone {
        Zone::Of(Box::leak(Box::new(Rules::parse(bytes).unwrap())))
    }

    /// A file with these steps (moment, offset) and this footer.
    pub(crate) fn tzif(steps: &[(i64, i32)], first: i32, footer: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        let head = |bytes: &mut Vec<u8>, counts: [u32; 6]| {
            bytes.extend(b"TZif2");
            bytes.extend([0; 15]);
            counts.iter().for_each(|count| bytes.extend(count.to_be_bytes()));
        };
        head(&mut bytes, [0, 0, 0, 0, 1, 1]);
        bytes.extend([0; 7]);
        let types = steps.len() as u32 + 1;
        head(&mut bytes, [0, 0, 0, steps.len() as u32, types, 1]);
        steps.iter().for_each(|(moment, _)| bytes.extend(moment.to_be_bytes()));
        bytes.extend((1..types).map(|kind| kind as u8));
        for offset in std::iter::once(first).chain(steps.iter().map(|(_, offset)| *offset)) {
            bytes.extend(offset.to_be_bytes());
            bytes.extend([0; 2]);
        }
        bytes.push(0);
        bytes.extend(format!("\n{footer}\n").as_bytes());
        bytes
    }

    fn clock(year: i64, month: i64, day: i64, hour: i64, minute: i64) -> i64 {
        days_since_epoch(year, month, day) * DAY_S + hour * 3_600 + minute * 60
    }

    #[test]
    fn clocks_that_are_set_make_an_hour_that_is_none_and_one_that_is_twice() {
        let berlin = Rules::parse(&tzif(&[], 3_600, "CET-1CEST,M3.5.0,M10.5.0/3")).unwrap();
        for (month, day, hour, minute, expected) in [
            (1, 1, 12, 0, Ok(3_600)),
            (3, 29, 1, 59, Ok(3_600)),
            (3, 29, 2, 0, Err(NoMoment::Skipped)),
            (3, 29, 2, 59, Err(NoMoment::Skipped)),
            (3, 29, 3, 0, Ok(7_200)),
            (7, 1, 12, 0, Ok(7_200)),
            (10, 25, 1, 59, Ok(7_200)),
            (10, 25, 2, 0, Err(NoMoment::Twice)),
            (10, 25, 2, 59, Err(NoMoment::Twice)),
            (10, 25, 3, 0, Ok(3_600)),
            (12, 31, 23, 59, Ok(3_600)),
        ] {
            let found = berlin.offset_of_clock(clock(2026, month, day, hour, minute));
            assert_eq!(found, expected, "{month}-{day} {hour}:{minute}");
        }
        // South of the equator, half an hour, and by steps alone.
        let howe = "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0";
        let howe = Rules::parse(&tzif(&[], 37_800, howe)).unwrap();
        assert_eq!(howe.offset_of_clock(clock(2026, 1, 1, 0, 0)), Ok(39_600));
        assert_eq!(howe.offset_of_clock(clock(2026, 7, 1, 0, 0)), Ok(37_800));
        assert_eq!(howe.offset_of_clock(clock(2026, 10, 4, 2, 15)), Err(NoMoment::Skipped));
        assert_eq!(howe.offset_of_clock(clock(2026, 4, 5, 1, 45)), Err(NoMoment::Twice));
        let steps = Rules::parse(&tzif(&[(0, 3_600), (1_000_000, 0)], -60, "")).unwrap();
        assert_eq!(steps.offset_of_clock(-100), Ok(-60));
        assert_eq!(steps.offset_of_clock(0), Err(NoMoment::Skipped));
        assert_eq!(steps.offset_of_clock(500_000), Ok(3_600));
        assert_eq!(steps.offset_of_clock(1_000_100), Err(NoMoment::Twice));
        assert_eq!(steps.offset_of_clock(9_000_000), Ok(0));
    }

    #[test]
    fn a_clock_has_the_moment_of_its_rules() {
        let berlin = place(&tzif(&[], 3_600, "CET-1CEST,M3.5.0,M10.5.0/3"));
        let ns = |clock_s: i64| clock_s * SECOND_NS - 1;
        let shown = ns(clock(2026, 1, 1, 0, 0));
        assert_eq!(berlin.moment_ns(shown), Ok(shown - 3_600 * SECOND_NS));
        assert_eq!(Zone::Ahead(0).moment_ns(-1), Ok(-1));
        assert_eq!(berlin.moment_ns(ns(clock(2026, 3, 29, 3, 0))), Err(TimeFault::Skipped));
        assert_eq!(berlin.moment_ns(ns(clock(2026, 10, 25, 3, 0))), Err(TimeFault::Twice));
        assert_eq!(berlin.moment_ns(i64::MIN), Err(TimeFault::Range));
        assert_eq!(Zone::Ahead(-1).moment_ns(i64::MAX), Err(TimeFault::Range));
    }

    #[test]
    fn any_bytes_are_rules_or_none() {
        let good = tzif(&[(5, 3_600), (9, 7_200)], 0, "CET-1CEST,J60,300/-2:30");
        assert!(Rules::parse(&good).is_some());
        for end in 0..good.len() {
            assert!(Rules::parse(&good[..end]).is_none(), "{end}");
        }
        for at in 0..good.len() {
            for byte in [0, 1, b'9', 0x7f, 0xff] {
                let mut bad = good.clone();
                bad[at] = byte;
                let _ = Rules::parse(&bad).map(|rules| rules.offset_of_clock(1 << 40));
            }
        }
        for footer in ["CET", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M1.1.1", "x", "CET-1 ", "<a-1"]
        {
            assert!(Rules::parse(&tzif(&[], 0, footer)).is_none(), "{footer}");
        }
        assert!(Rules::parse(&tzif(&[(9, 0), (5, 0)], 0, "")).is_none());
        assert!(Rules::parse(b"TZif").is_none() && Rules::parse(b"").is_none());
    }
}
