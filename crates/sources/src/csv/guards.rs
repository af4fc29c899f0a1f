//! The `'` that an export puts before a name or text which a spreadsheet would take for a formula.
//!
//! Invariant: two names, or two texts, that differ in it alone do not become one within an input, nor within
//! the files of one import. Held by
//! `tests::names_with_and_without_what_keeps_them_from_being_formulas_are_not_mixed`.

use super::CsvProblem;
use super::fields::Fault;
use crate::lines::quote;
use crate::sample::Scalar;
use std::borrow::Cow;

/// Whether a spreadsheet would take a cell that begins so for a formula.
fn is_formula(text: &str) -> bool {
    let first = text.trim_start_matches(' ').chars().next();
    matches!(first, Some('=' | '+' | '-' | '@' | '\t' | '\r' | '\n' | '＝' | '＋' | '－' | '＠'))
}

/// A name or text without the `'` that an export puts before one that a spreadsheet would take for a
/// formula: `baro_export::csv` has the other half.
pub(super) fn unguarded(name: Cow<'_, str>) -> Cow<'_, str> {
    if !name.starts_with('\'') || !is_formula(name.trim_start_matches('\'')) {
        return name;
    }
    match name {
        Cow::Borrowed(name) => name.strip_prefix('\'').unwrap_or(name).into(),
        Cow::Owned(mut name) => {
            name.remove(0);
            name.into()
        }
    }
}

/// Names and texts that begin as a formula: an export puts a `'` before each. Where a file has some with it
/// and some without, it is none of ours, so `'=a` may be something else than `=a`. The second kind is refused.
#[derive(Clone, Debug, Default)]
pub(super) struct Guards {
    /// The line of the first such name or text, if it is one of this input, and whether it had one.
    first: Option<(Option<u64>, bool)>,
}

impl Guards {
    /// Another input begins whose names go where those of this one went.
    pub(super) fn begin(&mut self) {
        self.first = self.first.map(|(_, guarded)| (None, guarded));
    }

    /// The name that is meant.
    #[inline]
    pub(super) fn name<'a>(
        &mut self,
        line: u64,
        offset: usize,
        name: Cow<'a, str>,
    ) -> Result<Cow<'a, str>, Fault> {
        // What nearly all begin with.
        if matches!(name.as_bytes().first(), Some(b'a'..=b'z' | b'A'..=b'Z' | b'_')) {
            return Ok(name);
        }
        self.text(line, offset, name)
    }

    /// The value that is meant.
    #[inline]
    pub(super) fn value<'a>(
        &mut self,
        line: u64,
        offset: usize,
        value: Scalar<'a>,
    ) -> Result<Scalar<'a>, Fault> {
        let (text, quoted): (_, fn(Cow<'a, str>) -> Scalar<'a>) = match value {
            Scalar::Quoted(text) => (text, Scalar::Quoted),
            Scalar::QuotedComma(text) => (text, Scalar::QuotedComma),
            Scalar::Text(text) => (text, Scalar::Text),
            value => return Ok(value),
        };
        let written_bytes = text.len();
        let text = self.text(line, offset, text)?;
        // Only texts are guarded: `'-5` is one, and no number.
        Ok(if text.len() < written_bytes { Scalar::Text(text) } else { quoted(text) })
    }

    /// The name or text that is meant.
    fn text<'a>(
        &mut self,
        line: u64,
        offset: usize,
        name: Cow<'a, str>,
    ) -> Result<Cow<'a, str>, Fault> {
        let guarded = name.starts_with('\'');
        if !is_formula(name.trim_start_matches('\'')) {
            return Ok(name);
        }
        match *self.first.get_or_insert((Some(line), guarded)) {
            (_, first) if first == guarded => Ok(unguarded(name)),
            (first_line, first) => {
                let problem =
                    CsvProblem::Guard { found: quote(&name), first_line, first_guarded: first };
                Err(Fault { offset, problem })
            }
        }
    }
}
