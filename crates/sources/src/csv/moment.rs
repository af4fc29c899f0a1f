//! Dates and times of day in forms that nobody reads as a time, since they may mean several: `11/14/2023`,
//! `14-Nov-23 22:13`, `Tue Nov 14 22:13:20 2023`. Where a name or a label should be, such a text is none.
//!
//! Addresses (`10.0.0.1`, `1/2/31`) and codes (`1-0:1.8.0`, `4-20`) are no dates. Held by
//! `super::tests::otherwise::a_date_in_any_form_is_no_name`.

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] =
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];

/// Whether it is one of these, or their begin: `Sept`, `Tue`.
fn is_name(names: &[&str], word: &str) -> bool {
    let begins =
        |name: &&str| name.get(..word.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(word));
    word.len() >= 3 && names.iter().any(begins)
}

/// Whether it may be one: what names begin with costs no more than this.
#[inline]
fn may_be(text: &str) -> bool {
    match text.as_bytes() {
        [b'0'..=b'9', ..] => text.len() >= 6,
        [first, second, third, ..] if b"jfmasondtw".contains(&first.to_ascii_lowercase()) => {
            let begin = [*first, *second, *third].map(|letter| letter.to_ascii_lowercase());
            let is_one = |name: &&str| name.as_bytes().starts_with(&begin);
            text.len() >= 8
                && MONTHS.iter().chain(&DAYS).any(is_one)
                && text.bytes().any(|byte| byte.is_ascii_digit())
        }
        _ => false,
    }
}

/// Whether a text is a date, with a time of day or without.
#[inline]
pub(super) fn is_moment(text: &str) -> bool {
    may_be(text) && is_date(text)
}

/// What a text has of a date.
#[derive(Default)]
struct Parts {
    numbers: usize,
    /// Numbers of one or two digits below 60, and how many have two.
    small: usize,
    two: usize,
    /// Years that stand first or before a time of day.
    years: usize,
    months: usize,
    /// A date in eight digits, with a time of day.
    compact: usize,
}

fn is_date(text: &str) -> bool {
    let is_sign = |letter: char| matches!(letter, '/' | '-' | '.' | ':' | ',' | '_' | ' ' | '+');
    let clock = text.find(':').unwrap_or(text.len());
    let mut parts = Parts::default();
    let mut at = 0;
    for word in text.split(is_sign) {
        let begin = at;
        at += word.len() + 1;
        if word.is_empty() {
            continue;
        }
        if word.bytes().all(|byte| byte.is_ascii_digit()) {
            let number: u32 = word.parse().unwrap_or(u32::MAX);
            let is_small = word.len() <= 2 && number < 60;
            parts.numbers += 1;
            parts.small += usize::from(is_small);
            parts.two += usize::from(is_small && word.len() == 2);
            // `2024.10.1` is a version, and `10.0.0.5:2181` has a port.
            let is_year = word.len() == 4 && (1900..2200).contains(&number) && begin < clock;
            let is_version = begin == 0 && text[word.len()..].starts_with('.');
            parts.years += usize::from(is_year && !is_version);
        } else if is_name(&MONTHS, word) {
            parts.months += 1;
        } else if is_compact(word) {
            parts.compact += 1;
        } else if !is_name(&DAYS, word) && !is_beside(word) {
            return false;
        }
    }
    let Parts { numbers, small, two, years, months, compact } = parts;
    if compact == 1 {
        return months == 0 && numbers <= 1;
    }
    let has_clock = clock < text.len();
    let (all, others) = (numbers + months, numbers - small - years.min(1));
    if all < 3 || years > 1 || others > usize::from(has_clock) {
        return false;
    }
    let is_short = two == 3 && all == 3 && text.matches('/').count() == 2;
    let beside_clock = has_clock && all >= 5 && text.contains([' ', '_']);
    match months {
        0 => small >= 2 && (years == 1 || beside_clock || is_short),
        1 => {
            let begins = text.starts_with(|letter: char| letter.is_ascii_digit());
            small >= 1 && (begins || years == 1 || has_clock)
        }
        _ => false,
    }
}

/// `20231114T221320Z`, `20260102T03`.
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
