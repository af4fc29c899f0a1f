//! Lines that begin with `#`: comments, but for some that only look so.
//!
//! Held by `super::tests::otherwise::what_only_looks_like_a_comment_is_told`.

use super::fields::split;
use super::header::{Header, header};
use crate::form::TextForm;

/// What an annotation of InfluxDB's CSV for writing says of a column or constant.
const ROLES: [&str; 12] = [
    "measurement",
    "tag",
    "field",
    "time",
    "dateTime",
    "double",
    "long",
    "unsignedLong",
    "boolean",
    "string",
    "duration",
    "ignored",
];

/// Why a file of InfluxDB's annotated CSV for writing is not read.
pub(super) const FOR_WRITING: &str = "expected annotated CSV as a query of InfluxDB answers it, found annotations of \
                                      CSV for writing, which name measurement and tags beside the rows (influx \
                                      write dryrun prints it as line protocol, which is read); nothing of it is taken";

/// Whether the first cell is none of a comment but what a spreadsheet writes for a date that its column is too
/// narrow for, `####`, or that cannot be computed.
pub(super) fn is_cell(content: &[u8]) -> bool {
    let end = content.iter().position(|byte| matches!(byte, b',' | b';' | b'\t'));
    let Some(Ok(cell)) = end.and_then(|end| content.get(..end)).map(str::from_utf8) else {
        return false;
    };
    let cell = cell.trim();
    cell.len() > 1 && cell.bytes().all(|byte| byte == b'#') || is_error(cell)
}

/// Whether a spreadsheet writes this where nothing can be computed, in whatever language: `#VALUE!`, `#NV`.
pub(super) fn is_error(cell: &str) -> bool {
    let Some(word) = cell.strip_prefix('#') else { return false };
    let is_word = |word: &str| {
        word.len() > 1 && !word.contains(|letter: char| letter.is_lowercase() || letter == ' ')
    };
    matches!(word, "N/A" | "NV" | "N/D") || word.strip_suffix(['!', '?']).is_some_and(is_word)
}

/// Whether it is an annotation of InfluxDB's CSV for writing: those of answers have a comma behind the first
/// word, and no measurement.
pub(super) fn is_for_writing(text: &str) -> bool {
    let is_role = |rest: &str| {
        let rest = rest.trim_start();
        ROLES.iter().any(|role| {
            let behind = rest.strip_prefix(role).map(|behind| behind.chars().next());
            behind.is_some_and(|next| matches!(next, None | Some(',' | ':' | '|')))
        })
    };
    let behind = |name: &str| text.strip_prefix(name);
    text.starts_with("#concat,")
        || behind("#constant ")
            .or(behind("#constant,"))
            .or(behind("#datatype "))
            .is_some_and(is_role)
}

/// How many columns it names, if it is a header but for the `#`, and of other columns than `time,series,value`.
pub(super) fn names(text: &str, form: &TextForm) -> Option<usize> {
    let text = text.trim_start_matches('#').trim();
    match header(text, form) {
        Ok(None | Some(Header::Rows)) => None,
        Ok(Some(Header::Columns(columns))) if columns.are_in_order() => None,
        Ok(Some(Header::Columns(columns))) => Some(columns.count()),
        Err(_) => split(text, ',').ok().map(|fields| fields.len()),
    }
}
