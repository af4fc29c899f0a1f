//! Texts that stand where a name should be and hardly are one: values in the wrong column. A series that is
//! called `21.5 C` would be there for good.

use super::moment;
use crate::number::{self, NumberFault};

/// Whether a text that should be a name is a number, a truth value or a time: then it hardly is one.
/// Asked for each row without a header, so names are told by their first letter or their length.
pub(crate) fn is_value(text: &str) -> bool {
    match text.as_bytes().first() {
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => {
            number::scalar(text) != Err(NumberFault::Form)
                || super::is_time(text)
                || moment::is_moment(text)
        }
        Some(_) if matches!(text.len(), 3 | 4 | 5 | 8) => {
            let words = ["nan", "inf", "true", "false", "infinity"];
            words.iter().any(|word| text.eq_ignore_ascii_case(word)) || moment::is_moment(text)
        }
        _ => moment::is_moment(text),
    }
}

/// The same where no header says that it is a name: also a time of day, a number with its unit, currency or
/// groups, and a word for nothing.
pub(super) fn is_hardly_a_name(text: &str) -> bool {
    let words = ["null", "none", "nil", "na", "n/a", "-", "--", "?", "#n/a"];
    let is_word = || text.len() <= 4 && words.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_value(text) || is_word() {
        return true;
    }
    // What nearly all begin with.
    if matches!(text.as_bytes().first(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_')) {
        return false;
    }
    // Digits and fractions of other scripts; what spreadsheets write where nothing can be computed.
    let is_number = |sign: char| sign.is_numeric() || !sign.is_alphanumeric();
    let begins = text.starts_with(|sign: char| !sign.is_ascii() && sign.is_numeric());
    if begins && text.chars().all(is_number) || text.starts_with('#') && text.ends_with(['!', '?'])
    {
        return true;
    }
    let signs = ['+', '-', '$', '€', '£', '¥', '<', '>', '~', '≈', '≤', '≥', '('];
    let bare = text.trim_start_matches(signs);
    // `>=5`; with an equals sign alone a formula begins, and names that do are guarded.
    let bare = if bare.len() < text.len() { bare.trim_start_matches('=') } else { bare };
    let bare = bare.trim_start();
    let Some(b'0'..=b'9') = bare.as_bytes().first() else { return false };
    if let Some(hex) = bare.strip_prefix("0x").or_else(|| bare.strip_prefix("0X")) {
        return !hex.is_empty() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '_' | '.' | ',' | ':' | '\'');
    let (number, unit) = bare.split_at(bare.find(|c| !is_part(c)).unwrap_or(bare.len()));
    // An address has more points than a number.
    let points = number.bytes().filter(|byte| *byte == b'.').count();
    let is_decimal = points == 1 && !number.ends_with('.') || number.contains([',', ':']);
    match unit.chars().next() {
        None => points < 2,
        Some(first) => {
            let name = unit.trim_start();
            // `5 mg/l`, and what stands in brackets.
            let is_ratio = first == ' ' && name.contains('/') && name.chars().count() <= 6;
            let few = name.chars().count() <= 3 || is_ratio;
            few && points < 2 && (is_decimal || !first.is_ascii_alphabetic() && first != '/')
        }
    }
}
