//! Times as some programs print them, in the form that all others have.

use std::borrow::Cow;

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
    Some(format!("{year}-{:02}-{day:0>2}{}", at / 3 + 1, with_hour(rest)))
}

/// A date with one digit for a month, a day or an hour, as spreadsheets print it, with two: `2026-1-2 3:04` is
/// `2026-01-02 03:04`, and `2.1.2026` is `02.01.2026`. `None` if it is no such date.
pub(super) fn with_two_digits(text: &str) -> Option<String> {
    let (date, rest) = text.split_at(text.find([' ', 'T', 't']).unwrap_or(text.len()));
    let mark = ['-', '/', '.'].into_iter().find(|mark| date.contains(*mark))?;
    let mut parts = date.split(mark);
    let (first, month, last) = (parts.next()?, parts.next()?, parts.next()?);
    let is = |text: &str, most: usize| {
        (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (first_most, last_most) = if mark == '.' { (2, 4) } else { (4, 2) };
    let is_date = is(first, first_most) && is(month, 2) && is(last, last_most);
    let year = if mark == '.' { last } else { first };
    if parts.next().is_some() || !is_date || year.len() != 4 {
        return None;
    }
    let padded = format!("{first:0>2}{mark}{month:0>2}{mark}{last:0>2}{}", with_hour(rest));
    (padded.len() > text.len()).then_some(padded)
}

/// What stands behind a date, its hour with two digits: one before the first colon is an hour.
fn with_hour(rest: &str) -> Cow<'_, str> {
    match (rest.as_bytes(), rest.split_at_checked(1)) {
        ([_, hour, b':', ..], Some((mark, clock))) if hour.is_ascii_digit() => {
            format!("{mark}0{clock}").into()
        }
        _ => rest.into(),
    }
}
