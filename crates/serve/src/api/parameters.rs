//! Parameters of a request, from its address and its form.

use super::answer::Refusal;
use baro_net::Query;
use baro_sys::clock;
use std::net::IpAddr;

const S: f64 = 1e9;
/// Parameters that have one value.
const ONCE: [&str; 14] = [
    "query",
    "time",
    "start",
    "end",
    "step",
    "timeout",
    "lookback_delta",
    "limit",
    "metric",
    "q",
    "from",
    "to",
    "columns",
    "viewer",
];

/// Parameters of a request, from its address and its form.
#[derive(Debug)]
pub(crate) struct Parameters {
    address: Query,
    form: Query,
    from: Option<IpAddr>,
}

impl Parameters {
    pub(crate) fn new(address: Query, form: Query) -> Self {
        Parameters { address, form, from: None }
    }

    /// Of a request of this address.
    pub(super) fn of(self, from: Option<IpAddr>) -> Self {
        Parameters { from, ..self }
    }

    /// Who asks.
    pub(super) fn from(&self) -> Option<IpAddr> {
        self.from
    }

    /// That there is one value of what has one, in the address and the form together.
    pub(super) fn once(&self) -> Result<(), Refusal> {
        match ONCE.iter().find(|name| self.all(name).nth(1).is_some()) {
            Some(name) => Err(Refusal::bad(&format!(
                "invalid parameter {name:?}: expected it once, found it twice"
            ))),
            None => Ok(()),
        }
    }

    /// The value, in the form or in the address.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.form.get(name).or_else(|| self.address.get(name)).filter(|value| !value.is_empty())
    }

    /// All values.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.form.all(name).chain(self.address.all(name))
    }

    pub(crate) fn needed(&self, name: &str) -> Result<&str, Refusal> {
        let none =
            || Refusal::bad(&format!("invalid parameter {name:?}: expected one, found none"));
        self.get(name).ok_or_else(none)
    }

    /// A time: seconds since the epoch, or RFC 3339.
    pub(crate) fn time_ns(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let wrong = || {
            Refusal::bad(&format!(
                "invalid parameter {name:?}: cannot parse {text:?} to a valid timestamp"
            ))
        };
        if let Ok(seconds) = text.parse::<f64>() {
            return whole_ns(seconds).map(Some).ok_or_else(wrong);
        }
        rfc3339_ns(text).map(Some).ok_or_else(wrong)
    }

    /// A time that is now if none is given.
    pub(super) fn time_or_now_ns(&self, name: &str) -> Result<i64, Refusal> {
        Ok(self.time_ns(name)?.unwrap_or_else(clock::realtime_ns))
    }

    /// A length: seconds, or `1m30s`.
    pub(crate) fn length_ns(&self, name: &str) -> Result<Option<i64>, Refusal> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let ns = match text.parse::<f64>() {
            Ok(seconds) => whole_ns(seconds),
            Err(_) => length_ns(text),
        };
        ns.map(Some).ok_or_else(|| {
            Refusal::bad(&format!(
                "invalid parameter {name:?}: cannot parse {text:?} to a valid duration"
            ))
        })
    }

    /// How many entries are wanted at most; none: all.
    pub(crate) fn limit(&self) -> Result<Option<usize>, Refusal> {
        let Some(text) = self.get("limit") else { return Ok(None) };
        let limit: usize = text.parse().map_err(|_| {
            Refusal::bad(&format!("invalid parameter \"limit\": cannot parse {text:?} to a number"))
        })?;
        Ok((limit > 0).then_some(limit))
    }
}

/// Prometheus has milliseconds; what is finer is kept here.
fn whole_ns(seconds: f64) -> Option<i64> {
    let ns = seconds * S;
    if ns.is_nan() || ns.abs() >= 9.2e18 {
        return None;
    }
    // Of large numbers a float keeps no nanoseconds: what it does keep is whole microseconds.
    match ns.abs() > 1e15 {
        true => Some((seconds * 1e6).round() as i64 * 1000),
        false => Some(ns.round() as i64),
    }
}

/// `1h30m`, with the units of Prometheus.
fn length_ns(text: &str) -> Option<i64> {
    const UNITS: [(&str, i64); 7] = [
        ("ms", 1_000_000),
        ("y", 31_536_000_000_000_000),
        ("w", 604_800_000_000_000),
        ("d", 86_400_000_000_000),
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
    ];
    let (mut sum, mut rest) = (0_i64, text);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, behind) = rest.split_at(end);
        let (unit, ns) = UNITS.iter().find(|(unit, _)| behind.starts_with(unit))?;
        sum = sum.checked_add(number.parse::<i64>().ok()?.checked_mul(*ns)?)?;
        rest = behind.get(unit.len()..)?;
    }
    (!text.is_empty()).then_some(sum)
}

/// `2026-11-26T21:03:49.5Z`, or with a distance from UTC.
fn rfc3339_ns(text: &str) -> Option<i64> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let at = |place: usize| text.as_bytes().get(place).copied();
    let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if marks.iter().any(|(place, mark)| at(*place) != Some(*mark))
        || !matches!(at(10), Some(b'T' | b't' | b' '))
    {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if !(1..=12).contains(&month)
        || !(1..=31).contains(&day)
        || hour > 23
        || minute > 59
        || second > 60
    {
        return None;
    }
    let mut rest = text.get(19..)?;
    let mut ns = 0;
    if let Some(places) = rest.strip_prefix('.') {
        let end = places.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(places.len());
        let digits = places.get(..end.min(9))?;
        ns = format!("{digits:0<9}").parse().ok()?;
        rest = places.get(end..)?;
    }
    let behind_utc_s = match rest {
        "Z" | "z" => 0,
        _ => {
            let sign = if rest.starts_with('-') { -1 } else { 1 };
            let (hours, minutes) = rest.strip_prefix(['+', '-'])?.split_once(':')?;
            sign * (hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60)
        }
    };
    // Years that begin in March have their leap day at the end.
    let from_march = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leap_days =
        from_march.div_euclid(4) - from_march.div_euclid(100) + from_march.div_euclid(400);
    let days = from_march * 365 + leap_days + of_year - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - behind_utc_s;
    seconds.checked_mul(1_000_000_000)?.checked_add(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_lengths_are_read_as_prometheus_reads_them() {
        assert_eq!(rfc3339_ns("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(rfc3339_ns("2023-11-14T22:13:20.5Z"), Some(1_700_000_000_500_000_000));
        assert_eq!(rfc3339_ns("2023-11-14T23:13:20+01:00"), Some(1_700_000_000_000_000_000));
        assert_eq!(rfc3339_ns("2024-02-29T00:00:00Z"), Some(1_709_164_800_000_000_000));
        for text in ["", "2023-11-14", "2023-13-14T22:13:20Z", "2023-11-14T22:13:20", "x"] {
            assert_eq!(rfc3339_ns(text), None, "{text}");
        }
        assert_eq!(whole_ns(1_700_000_000.123), Some(1_700_000_000_123_000_000));
        assert_eq!(length_ns("1h30m"), Some(5_400_000_000_000));
        assert_eq!(
            (length_ns("15ms"), length_ns("m"), length_ns("")),
            (Some(15_000_000), None, None)
        );
    }
}
