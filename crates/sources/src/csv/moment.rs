//! Dates and times of day in forms that nobody reads as a time, since they may mean several: `11/14/2023`,
//! `14-Nov-23 22:13`, `Tue Nov 14 22:13:20 2023`. Where a name or a label should be, such a text is none.
//!
//! Addresses (`10.0.0.1`, `1/2/31`) and codes (`1-0:1.8.0`, `4-20`) are no dates. Held by
//! `super::tests::otherwise::a_date_in_any_form_is_no_name`.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
/// Letters of the longest: `wednesday`, `september`.
const NAME_MAX: usize = 9;

/// Whether the text begins as the name of a month or of a day.
fn begins_with_one_of(names: &[&str], text: &str) -> bool {
    let begin = text.get(..3).unwrap_or_default();
    names.iter().any(|name| begin.eq_ignore_ascii_case(name))
}

fn is_name(names: &[&str], word: &str) -> bool {
    word.len() <= NAME_MAX && begins_with_one_of(names, word)
}

/// Whether it may be one: what names begin with costs no more than this.
#[inline]
fn may_be(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'0'..=b'9') => text.len() >= 6,
        Some(b'A'..=b'Z' | b'a'..=b'z') => {
            text.len() >= 8
                && text.bytes().any(|byte| byte.is_ascii_digit())
                && (begins_with_one_of(&MONTHS, text) || begins_with_one_of(&DAYS, text))
        }
        _ => false,
    }
}

/// Whether a text is a date, with a time of day or without.
#[inline]
pub(super) fn is_moment(text: &str) -> bool {
    may_be(text) && is_date(text)
}

fn is_date(text: &str) -> bool {
    let is_sign = |letter: char| matches!(letter, '/' | '-' | '.' | ':' | ',' | '_' | ' ' | '+');
    let (mut numbers, mut years, mut months) = (Vec::new(), 0, 0);
    for word in text.split(is_sign).filter(|word| !word.is_empty()) {
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            let number: u32 = word.parse().unwrap_or(u32::MAX);
            years += usize::from(word.len() == 4 && (1900..2200).contains(&number));
            numbers.push((word.len(), number));
        } else if is_name(&MONTHS, word) {
            months += 1;
        } else if is_compact(word) {
            return numbers.is_empty() && months == 0;
        } else if !is_name(&DAYS, word) && !is_beside(word) {
            return false;
        }
    }
    // A day of a month, the time of a day: all are small, but for the year and parts of a second.
    let small = numbers.iter().filter(|(digits, number)| *digits <= 2 && *number < 60).count();
    let others = numbers.len() - small - years.min(1);
    let has_clock = text.contains(':');
    let parts = numbers.len() + months;
    if parts < 3 || years > 1 || others > usize::from(has_clock) {
        return false;
    }
    let is_short = || {
        let two = numbers.iter().all(|(digits, _)| *digits == 2);
        two && parts == 3 && text.matches('/').count() == 2
    };
    let beside_clock = has_clock && parts >= 5 && text.contains([' ', '_']);
    match months {
        0 => small >= 2 && (years == 1 || beside_clock || is_short()),
        1 => {
            let begins = text.starts_with(|letter: char| letter.is_ascii_digit());
            small >= 1 && (begins || years == 1 || has_clock)
        }
        _ => false,
    }
}

/// `20231114T221320Z`, `2026-01-02T03`.
fn is_compact(word: &str) -> bool {
    let word = word.strip_suffix(['Z', 'z']).unwrap_or(word);
    let Some((day, clock)) = word.split_once(['T', 't']) else { return false };
    let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    are_digits(day) && are_digits(clock) && day.len() == 8 && matches!(clock.len(), 2 | 4 | 6)
}

/// What stands beside a date.
fn is_beside(word: &str) -> bool {
    ["am", "pm", "a", "p", "m", "z", "t", "utc", "gmt"]
        .iter()
        .any(|one| word.eq_ignore_ascii_case(one))
}
