//! Sizes and times as people write them: `64M`, `100ms`; how they are shown is `baro_show`'s.

pub use baro_show::{bytes as show_bytes, duration as show_ns};

/// Bytes a second: 0 would never end.
///
/// # Errors
/// 0, or no size.
pub fn rate(text: &str) -> Result<u64, String> {
    match bytes(text)? {
        0 => Err("expected more than 0 bytes a second, found 0; leave it out for no limit".into()),
        rate => Ok(rate),
    }
}

/// A whole number.
///
/// # Errors
/// None, or one that is too large.
pub fn count<N: TryFrom<u64>>(text: &str) -> Result<N, String> {
    let found = text.parse::<u64>().ok().and_then(|number| N::try_from(number).ok());
    let most = u64::MAX >> (64 - 8 * size_of::<N>().min(8) as u32);
    found.ok_or_else(|| format!("expected a whole number from 0 to {most}, found {text}"))
}

/// Bytes: a number with K, M, G, T (powers of 1024, `KiB` and so on too), or kB, MB, GB, TB
/// (powers of 1000).
///
/// # Errors
/// No number, no such unit, or more than 64 bits hold.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text);
    let factor: u64 = match unit {
        "" | "B" => 1,
        "K" | "k" | "KiB" => 1 << 10,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        _ => return Err(format!("expected a size such as 64M or 500MB, found {text:?}")),
    };
    scale(number, factor, text, "a size such as 64M or 500MB")
}

/// Bytes of what is to be kept: a number that has lost its unit would throw away all.
///
/// # Errors
/// No size, or one that nobody means.
pub fn kept(text: &str) -> Result<u64, String> {
    let found = bytes(text)?;
    let expected = show_bytes(KEPT_MIN);
    (found >= KEPT_MIN)
        .then_some(found)
        .ok_or_else(|| format!("expected {expected} or more, such as 20G, found {found} bytes"))
}

/// Bytes that are to stay free: none, or as many as [`kept`] takes.
///
/// # Errors
/// As there.
pub fn left_free(text: &str) -> Result<u64, String> {
    if bytes(text)? == 0 { Ok(0) } else { kept(text) }
}

const KEPT_MIN: u64 = 64 << 10;

/// Nanoseconds: a number with ns, us, ms, s, m, h, d, w, or these as words; or several, the larger unit first: `1h30m`.
///
/// # Errors
/// No number, no such unit, or more than 64 bits hold.
pub fn nanoseconds(text: &str) -> Result<u64, String> {
    let wanted = "a time such as 100ms, 30s or 1h30m";
    let fail = || format!("expected {wanted}, found {text:?}");
    let (mut rest, mut sum, mut before) = (text, 0_u64, u64::MAX);
    loop {
        let (one, behind) = first_of(rest);
        let (ns, unit_ns) = one_duration(one, text, wanted)?;
        let several = before < u64::MAX || !behind.is_empty();
        if unit_ns >= before || several && one.contains('.') {
            return Err(fail());
        }
        sum = sum.checked_add(ns).ok_or_else(fail)?;
        (rest, before) = (behind, unit_ns);
        if rest.is_empty() {
            return Ok(sum);
        }
    }
}

/// The first number with its unit, and what comes behind it.
fn first_of(text: &str) -> (&str, &str) {
    let is_number = |letter: char| letter.is_ascii_digit() || letter == '.';
    let unit = text.find(|letter| !is_number(letter)).unwrap_or(text.len());
    let end = text[unit..].find(is_number).map_or(text.len(), |at| unit + at);
    // What begins with no number is no duration, whatever comes.
    let (one, behind) = if unit == 0 { (text, "") } else { text.split_at(end) };
    (one.trim_end(), behind)
}

/// A number with its unit, and that in nanoseconds.
fn one_duration(one: &str, text: &str, wanted: &str) -> Result<(u64, u64), String> {
    let (number, unit) = split(one);
    let factor: u64 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" | "second" | "seconds" => 1_000_000_000,
        "m" | "min" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => 3_600_000_000_000,
        "d" | "day" | "days" => 86_400_000_000_000,
        "w" | "week" | "weeks" => 604_800_000_000_000,
        "" if number.parse::<f64>().is_ok() => {
            // What is offered is to be taken.
            let such = if number.parse::<f64>() == Ok(0.0) { "10" } else { number };
            return Err(format!("expected a time with its unit, such as {such}s, found {text:?}"));
        }
        _ => return Err(format!("expected {wanted}, found {text:?}")),
    };
    Ok((scale(number, factor, text, wanted)?, factor))
}

/// As [`nanoseconds`], but no time at all is refused.
///
/// # Errors
/// As there; and 0.
pub fn nanoseconds_above_0(text: &str) -> Result<u64, String> {
    match nanoseconds(text)? {
        0 => Err(format!("expected a time above 0, found {text:?}")),
        ns => Ok(ns),
    }
}

fn split(text: &str) -> (&str, &str) {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    (number, unit.trim())
}

fn scale(number: &str, factor: u64, text: &str, wanted: &str) -> Result<u64, String> {
    let fail = || format!("expected {wanted}, found {text:?}");
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(factor).ok_or_else(fail);
    }
    let value = number.parse::<f64>().map_err(|_| fail())? * factor as f64;
    if !(0.0..9.0e18).contains(&value) {
        return Err(fail());
    }
    Ok(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("1.5 GiB"), Ok(3 << 29));
        assert_eq!(bytes("500MB"), Ok(500_000_000));
        assert_eq!(bytes("4096"), Ok(4096));
        assert_eq!(nanoseconds("100ms"), Ok(100_000_000));
        assert_eq!(nanoseconds("0.5s"), Ok(500_000_000));
        for bad in ["", "M", "-1M", "5X", "1e3", "99999999999T", "1.2.3M"] {
            assert!(bytes(bad).is_err(), "{bad}");
        }
        assert_eq!(nanoseconds("1h30m"), Ok(5_400_000_000_000));
        assert_eq!(nanoseconds("1w 2 d 3s"), Ok(777_603_000_000_000));
        assert_eq!(nanoseconds("1.5h"), Ok(5_400_000_000_000));
        for bad in
            ["30m1h", "1h1h", "1.5h30m", "1h0.5m", "1h30", "h30m", "1h 30", "1h,30m", "1mo", "é1h"]
        {
            assert!(nanoseconds(bad).is_err(), "{bad}");
        }
        assert!(nanoseconds("30000w").is_ok() && nanoseconds("40000w1d").is_err());
        assert!(nanoseconds("100").unwrap_err().contains("such as 100s"));
        assert!(nanoseconds("0").unwrap_err().contains("such as 10s"));
        assert!(nanoseconds("").is_err() && nanoseconds("s").is_err());
    }

    #[test]
    fn shows_three_digits() {
        assert_eq!(show_bytes(1536), "1.5 KiB");
        assert_eq!(show_ns(89_400), "89.4 us");
        assert_eq!(show_ns(999), "999 ns");
    }
}
