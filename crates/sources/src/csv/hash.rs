//! Lines that begin with `#`: comments, but for some that only look so.
//!
//! Held by `super::tests::otherwise::what_only_looks_like_a_comment_is_told`.

use super::fields::split;
use super::header::{Header, header};
use crate::form::TextForm;

/// What spreadsheets write where nothing can be computed.
const ERRORS: [&str; 9] =
    ["#N/A", "#VALUE!", "#REF!", "#NAME?", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!"];

/// Why a file of InfluxDB's annotated CSV for writing is not read.
pub(super) const FOR_WRITING: &str = "expected annotated CSV as a query of InfluxDB answers it, found annotations of \
                                      CSV for writing, which name measurement and tags beside the rows (influx \
                                      write dryrun prints it as line protocol, which is read)";

/// Whether the first cell is none of a comment but what a spreadsheet writes for a date that its column is too
/// narrow for, `####`, or that cannot be computed.
pub(super) fn is_cell(content: &[u8]) -> bool {
    let end = content.iter().position(|byte| matches!(byte, b',' | b';' | b'\t'));
    let Some(Ok(cell)) = end.and_then(|end| content.get(..end)).map(str::from_utf8) else {
        return false;
    };
    let cell = cell.trim();
    cell.len() > 1 && cell.bytes().all(|byte| byte == b'#') || ERRORS.contains(&cell)
}

/// Whether it is an annotation of InfluxDB's CSV for writing: those of answers have a comma there.
pub(super) fn is_for_writing(text: &str) -> bool {
    ["#constant", "#concat", "#datatype "].iter().any(|name| text.starts_with(name))
}

/// How many columns it names, if it is a header but for the `#`, and of other columns than `time,series,value`.
pub(super) fn names(text: &str, form: &TextForm) -> Option<usize> {
    let text = text.trim_start_matches('#').trim();
    match header(text, form) {
        Ok(None | Some(Header::Rows)) => None,
        Ok(Some(Header::Columns(columns))) => Some(columns.count()),
        Err(_) => split(text, ',').ok().map(|fields| fields.len()),
    }
}
