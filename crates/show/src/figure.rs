//! Figures for people: durations and sizes with three digits, numbers in groups of three.
//!
//! Invariant: a figure is rounded to its digits, never cut, and the unit fits it. Held by the tests
//! below.

/// A duration with three digits and its unit: "309 us".
#[must_use]
pub fn duration(ns: u64) -> String {
    let value = ns as f64;
    let (value, unit) = match ns {
        0..1_000 => return format!("{ns} ns"),
        1_000..1_000_000 => (value / 1e3, "us"),
        1_000_000..1_000_000_000 => (value / 1e6, "ms"),
        _ => (value / 1e9, "s"),
    };
    // Rounded to three digits; 999.9 us shows as 1000 us, which is what it is.
    let digits = if value < 9.995 { 2 } else { usize::from(value < 99.95) };
    format!("{value:.digits$} {unit}")
}

/// A size with three digits and a binary unit: "12.5 MiB".
#[must_use]
pub fn bytes(number: u64) -> String {
    let mut value = number as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB"] {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let digits = usize::from(unit != "B" && value < 100.0);
    format!("{value:.digits$} {unit}")
}

/// So many of something whose name is regular: "1 run", "3 runs"; a word in s stays: "1 series".
#[must_use]
pub fn plural(number: impl Into<u64>, one: &str) -> String {
    let number = number.into();
    let more = if number == 1 || one.ends_with('s') { "" } else { "s" };
    format!("{number} {one}{more}")
}

/// A count with separators: "1,234,567".
#[must_use]
pub fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// A number with so many digits after the point and separators before it; one too small for them
/// keeps two that count.
#[must_use]
pub fn number(value: f64, digits: usize) -> String {
    if value != 0.0 && value.abs() < 0.5 * 10f64.powi(-(digits as i32)) {
        let more = (1.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
        return format!("{value:.more$}");
    }
    let text = format!("{value:.digits$}");
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let (sign, whole) = whole.strip_prefix('-').map_or(("", whole), |whole| ("-", whole));
    let whole = grouped(whole);
    rest.map_or(format!("{sign}{whole}"), |rest| format!("{sign}{whole}.{rest}"))
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Bytes in hexadecimal, two digits each.
///
/// By a table: a formatter for each byte took half of the time of printing frames.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut digits = Vec::with_capacity(2 * bytes.len());
    for byte in bytes {
        digits.push(DIGITS[usize::from(byte >> 4)]);
        digits.push(DIGITS[usize::from(byte & 15)]);
    }
    String::from_utf8(digits).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_two_digits_each() {
        assert_eq!((hex(&[0, 0x0f, 0xa5, 0xff]), hex(&[])), ("000fa5ff".into(), String::new()));
    }

    #[test]
    fn figures_have_three_digits() {
        let shown = [0, 999, 1_000, 9_996, 99_949, 99_960, 999_999, 1_500_000].map(duration);
        let expected =
            ["0 ns", "999 ns", "1.00 us", "10.0 us", "99.9 us", "100 us", "1000 us", "1.50 ms"];
        assert_eq!(shown, expected);
        assert_eq!([2_315_000_000, u64::MAX].map(duration), ["2.31 s", "18446744074 s"]);
        let shown = [7, 1_536, 2_048, 200 << 20, u64::MAX].map(bytes);
        assert_eq!(shown, ["7 B", "1.5 KiB", "2.0 KiB", "200 MiB", "16777216 TiB"]);
    }

    #[test]
    fn one_is_no_more() {
        let shown = [(0_u64, "run"), (1, "run"), (2, "run"), (1, "series"), (2, "series")];
        let shown = shown.map(|(number, one)| plural(number, one));
        assert_eq!(shown, ["0 runs", "1 run", "2 runs", "1 series", "2 series"]);
    }

    #[test]
    fn thousands_are_read_in_threes() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(number(-1_234.56, 1), "-1,234.6");
        assert_eq!((number(0.0012, 1), number(0.0, 1)), ("0.0012".to_owned(), "0.0".to_owned()));
    }
}
