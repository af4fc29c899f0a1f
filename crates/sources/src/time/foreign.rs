//! Times as some programs print them, in the form that all others have.

/// A number with an exponent as one with a point, digit by digit: `1.7e+09` as Go and R print it. `None` if it
/// has none, or one that no time needs.
pub(super) fn without_exponent(text: &str) -> Option<String> {
    let (number, exponent) = text.split_once(['e', 'E'])?;
    let exponent: i32 = exponent.parse().ok().filter(|exponent| (-30..=30).contains(exponent))?;
    let (sign, number) = number.strip_prefix('-').map_or(("", number), |number| ("-", number));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !are_digits(whole) || !are_digits(fraction) || text.len() > 60 {
        return None;
    }
    let digits = format!("{}{whole}{fraction}{}", "0".repeat(30), "0".repeat(30));
    let point = usize::try_from(30 + whole.len() as i32 + exponent).ok()?;
    let (whole, fraction) = digits.split_at_checked(point)?;
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Some(format!("{sign}{whole}.{fraction}"))
}

/// A date with the name of its month, as MATLAB and Oracle print it: `02-Jan-2026 03:04:05` is
/// `2026-01-02 03:04:05`. `None` if it is none: names are English and have three letters.
pub(super) fn month_by_number(text: &str) -> Option<String> {
    const NAMES: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
    let (day, rest) = text.split_once(['-', ' '])?;
    let (name, rest) = rest.split_at_checked(3)?;
    let (year, rest) = rest.strip_prefix(['-', ' '])?.split_at_checked(4)?;
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !matches!(day.len(), 1 | 2) || !are_digits(day) || !are_digits(year) {
        return None;
    }
    let at = NAMES.find(&name.to_ascii_lowercase()).filter(|at| at % 3 == 0)?;
    Some(format!("{year}-{:02}-{day:0>2}{rest}", at / 3 + 1))
}
