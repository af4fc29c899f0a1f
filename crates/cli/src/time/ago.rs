//! Months and years before now, which are of no fixed length: the same day and time of day then, or the
//! last day of a month that has no such day. Held by the test below.

use super::{SECOND_NS, show};
use baro_sources::{Times, Zone};

/// More than can be written as a time.
const MONTHS_MAX: i64 = 12_000;

/// `3mo` or `1y` before now; `None` if it is no such text, or no time that can be written.
pub(super) fn ago(text: &str, now_ns: i64, zone: Zone) -> Option<i64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (count, unit) = text.split_at_checked(digits)?;
    let unit = match unit.trim_start() {
        "mo" => 1,
        "y" => 12,
        _ => return None,
    };
    let months = count.parse::<i64>().ok()?.checked_mul(unit)?;
    if !(1..=MONTHS_MAX).contains(&months) {
        return None;
    }
    let ahead_ns = zone.ahead_s(now_ns.div_euclid(SECOND_NS)).saturating_mul(SECOND_NS);
    let clock = show(now_ns.saturating_add(ahead_ns));
    let (date, of_day) = clock.trim_end_matches('Z').split_once('T')?;
    let mut parts = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    let total = year * 12 + month - 1 - months;
    let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
    let times = Times::checked().in_zone(zone);
    (1..=day)
        .rev()
        .find_map(|day| times.read(&format!("{year:04}-{month:02}-{day:02}T{of_day}")).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_and_years_are_those_of_the_calendar() {
        let read = |text: &str| Times::checked().read(text).ok();
        let now_ns = read("2026-03-31T13:30:15Z").unwrap();
        for (text, means) in [
            ("1mo", Some("2026-02-28T13:30:15Z")),
            ("3 mo", Some("2025-12-31T13:30:15Z")),
            ("1y", Some("2025-03-31T13:30:15Z")),
            ("0y", None),
            ("900y", None),
            ("y", None),
            ("1d", None),
        ] {
            let means = means.and_then(read);
            assert_eq!(ago(text, now_ns, Zone::Ahead(0)), means, "{text}");
        }
    }
}
