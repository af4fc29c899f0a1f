//! Numbers and names as a reader wants them: durations, dates, texts that are cut.

use crate::timeline::WaitKind;

/// "1.25 s": three digits and the unit that fits.
pub(super) fn duration(ns: u64) -> String {
    let (unit, name) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (1e3, "us"),
        1_000_000..1_000_000_000 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let value = ns as f64 / unit;
    match value {
        ..10.0 => format!("{value:.2} {name}"),
        10.0..100.0 => format!("{value:.1} {name}"),
        _ => format!("{value:.0} {name}"),
    }
}

/// "1,234,567".
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "12.5 MiB".
pub(super) fn bytes(number: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = number as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 100.0);
    format!("{value:.digits$} {}", units.get(unit).unwrap_or(&"B"))
}

/// "2026-03-01 12:00:05 UTC" of nanoseconds since the Unix epoch; years before it too.
pub(super) fn date(ns: i128) -> String {
    let seconds = ns.div_euclid(1_000_000_000);
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // The calendar repeats every 400 years, 146,097 days; years that begin with March end with the
    // day that some have and some do not (Howard Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!(
        "{:04}-{month:02}-{of_month:02} {:02}:{:02}:{:02} UTC",
        year + era * 400 + carry,
        of_day / 3_600,
        of_day / 60 % 60,
        of_day % 60,
    )
}

/// The text up to `chars_max` characters; what is longer ends with an ellipsis.
pub(super) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or(text).trim_end()),
    }
}

/// What a wait is called.
pub(super) fn wait_kind(kind: WaitKind) -> &'static str {
    match kind {
        WaitKind::Sleep => "sleeps (D)",
        WaitKind::Interruptible => "sleeps (S)",
        WaitKind::Runnable => "waits for a processor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let durations = [0, 999, 1_250, 99_900_000, 2_315_000_000, u64::MAX].map(duration);
        assert_eq!(durations[..5], ["0 ns", "999 ns", "1.25 us", "99.9 ms", "2.31 s"]);
        assert_eq!(durations[5], "18446744074 s");
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([7, 2_048, 200 << 20].map(bytes), ["7 B", "2.0 KiB", "200 MiB"]);
        assert_eq!(cut("äöü", 3), "äöü");
        assert_eq!(cut("äöü", 2), "äö…");
    }

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
    }
}
