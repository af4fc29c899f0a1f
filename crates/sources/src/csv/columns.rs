//! Rows of CSV whose header names the columns: what [`header`](super::header) has found in them.
//!
//! A row is taken whole or not at all. A label is what somebody has said to be one, or a text: a number or
//! a time there would make a series for good with each value. Held by
//! `tests::a_long_header_may_have_any_order_and_labels`.

use super::fields::{Fault, Field, Values, split};
use super::guards::Guards;
use super::hash;
use super::header::{Holds, Layout, SEPARATORS, time_unit_ns};
use super::is_value;
use super::{CsvProblem, is_time, time_of};
use crate::form::Kind;
use crate::labels::labelled;
use crate::lines::quote;
use crate::number;
use crate::sample::{Mark, Sample, Scalar};
use baro_ondisk::NameParser;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The columns of a header.
#[derive(Debug)]
pub(super) struct Columns {
    /// The header, as it was written.
    header: String,
    separator: char,
    layout: Layout,
    values: Values,
    parser: NameParser,
    /// See [`crate::time::Times::check_form`].
    early: Option<bool>,
}

impl Columns {
    pub(super) fn separator(&self) -> char {
        self.separator
    }

    pub(super) fn new(header: &str, separator: char, values: Values, layout: Layout) -> Self {
        let (header, parser) = (header.to_owned(), NameParser::new());
        Columns { header, separator, layout, values, parser, early: None }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.layout.holds.len()
    }

    /// Which of them is the time.
    pub(super) fn time(&self) -> usize {
        self.layout.time
    }

    /// Whether something says of a column that it holds texts, or may.
    pub(super) fn say_texts(&self) -> bool {
        let says = |holds: &Holds| match holds {
            Holds::Type => true,
            Holds::Value(kind) | Holds::Series(_, kind) => *kind == Some(Kind::Text),
            _ => false,
        };
        self.layout.holds.iter().any(says)
    }

    /// Whether they are what rows without a header have: a time in no unit of its own, a name, a value.
    pub(super) fn are_in_order(&self) -> bool {
        self.time_name().and_then(time_unit_ns) == Some(0)
            && matches!(
                self.layout.holds.as_slice(),
                [Holds::Time, Holds::Name, Holds::Value(None)]
                    | [Holds::Time, Holds::Name, Holds::Value(None), Holds::Type]
            )
    }

    /// What the column of times is called.
    pub(super) fn time_name(&self) -> Option<&str> {
        self.layout.names.get(self.layout.time).map(String::as_str)
    }

    /// Whether these are the same names, in the same order.
    pub(super) fn has_names_of(&self, other: &Columns) -> bool {
        self.layout.names == other.layout.names
    }

    /// Whether a line that begins with `#` is a comment: not where names may.
    pub(super) fn has_comments(&self) -> bool {
        self.layout.time == 0
    }

    /// Whether this is its header once more.
    pub(super) fn is_same(&self, text: &str) -> bool {
        text == self.header
    }

    /// Whether a line that is no row may be another header: some cell of it is called as times are, or as the
    /// time is here. Cells of values would be read as such, but beside that name in the place of the time.
    pub(super) fn is_header(&self, text: &str) -> bool {
        let named = self.layout.names.get(self.layout.time);
        let is_time = |field: &Field<'_>| {
            time_unit_ns(&field.text).is_some() || named.is_some_and(|named| *named == field.text)
        };
        SEPARATORS.into_iter().filter_map(|separator| split(text, separator).ok()).any(|fields| {
            fields.len() > 1
                && fields.iter().any(is_time)
                && (fields.get(self.layout.time).is_some_and(is_time)
                    || !fields.iter().any(|field| is_value(&field.text)))
        })
    }

    /// Whether a line that is no row, and no header either, looks like names of as many columns: then nobody
    /// knows whether the rows behind it are still of these. `sure`: some of the names are those of these columns.
    /// Names may also stand behind a last row whose line was not ended.
    pub(super) fn are_names(&self, text: &str, sure: bool) -> bool {
        let Ok(fields) = split(text, self.separator) else { return false };
        let count = self.layout.holds.len();
        let tail = match fields.len().checked_sub(count) {
            Some(0) => fields.get(..),
            Some(more) if more + 1 == count && !text.ends_with(&self.header) => fields.get(count..),
            _ => None,
        };
        // Of a table with numbers of rows the first is empty, and so are those that spreadsheets write behind.
        let mut cells: Vec<&str> =
            tail.unwrap_or_default().iter().map(|field| &*field.text).collect();
        while cells.last().is_some_and(|last| last.is_empty()) {
            cells.pop();
        }
        let cells = cells.strip_prefix(&[""]).unwrap_or(&cells);
        let known = |text: &&str| self.layout.names.iter().any(|name| name == text);
        let is_name = |text: &&str| {
            known(text)
                || !hash::is_error(text)
                    && text.contains(char::is_alphabetic)
                    && !is_value(text)
                    && !is_time(text)
        };
        // A word that is everywhere is what a logger writes where it has no row.
        let differ = cells.iter().any(|cell| Some(cell) != cells.first());
        differ && cells.iter().all(is_name) && (!sure || cells.iter().any(known))
    }

    /// Hands on the samples of a row, all or none.
    /// Whether a text would be a row; nothing comes of it.
    pub(super) fn is_row(&mut self, text: &str, guards: &mut Guards) -> bool {
        let early = self.early;
        let is_row = self.row(1, text, guards, &mut |_| ()).is_ok();
        self.early = early;
        is_row
    }

    pub(super) fn row<'a>(
        &mut self,
        line: u64,
        text: &'a str,
        guards: &mut Guards,
        each: &mut impl FnMut(Sample<'a>),
    ) -> Result<(), Fault>
    where
        Self: 'a,
    {
        let fields = split(text, self.separator)?;
        if fields.len() != self.layout.holds.len() {
            let (expected, found) = (self.layout.holds.len(), fields.len());
            let problem = CsvProblem::FieldCount { expected, found };
            return Err(Fault { offset: text.len(), problem });
        }
        let all_quoted = fields.iter().all(|field| field.quoted);
        let (mut name, mut value, mut kind) = (None, None, None);
        let (mut time_ns, mut labels) = (None, BTreeMap::new());
        let mut wide = Vec::new();
        for (at, (field, holds)) in fields.into_iter().zip(&self.layout.holds).enumerate() {
            let offset = field.offset;
            match holds {
                Holds::Nothing => {}
                Holds::RowNumber if is_number_of_row(&field.text) => {}
                Holds::RowNumber => {
                    let problem = CsvProblem::RowNumber { found: quote(&field.text) };
                    return Err(Fault { offset, problem });
                }
                Holds::Blank if field.text.is_empty() => {}
                Holds::Blank => {
                    let problem = CsvProblem::Nameless { found: quote(&field.text) };
                    return Err(Fault { offset, problem });
                }
                Holds::Time => {
                    let times = &self.layout.times;
                    time_ns = time_of(&field, times, &self.values, &mut self.early)?;
                }
                Holds::Name if field.text.is_empty() => {
                    return Err(Fault { offset, problem: CsvProblem::SeriesEmpty });
                }
                Holds::Name => name = Some((offset, field.text)),
                Holds::Value(said) => value = Some((field, *said)),
                Holds::Type => {
                    let Some(found) = Kind::of_name(&field.text) else {
                        let problem = CsvProblem::Kind { found: quote(&field.text) };
                        return Err(Fault { offset, problem });
                    };
                    kind = Some(found);
                }
                Holds::Label { .. } if field.text.is_empty() => {}
                Holds::Label { sure } => {
                    let column = self.layout.names.get(at).map(String::as_str).unwrap_or_default();
                    if !sure && is_value(&field.text) {
                        let (column, found) = (quote(column), quote(&field.text));
                        let problem = CsvProblem::LabelNumber { column, found };
                        return Err(Fault { offset, problem });
                    }
                    labels.insert(column.to_owned(), field.text.into_owned());
                }
                Holds::Series(_, kind) if is_blank(&field, *kind, all_quoted) => {}
                Holds::Series(series, kind) => {
                    let read = match nothing(&field, *kind, all_quoted) {
                        Some(nothing) => Ok((nothing, Mark::None)),
                        None => self.values.read(field, *kind, all_quoted),
                    };
                    let (value, mark) = read.map_err(|fault| match fault.problem {
                        CsvProblem::Value { found } if kind.is_none() => {
                            let problem = CsvProblem::Cell { column: quote(series), found };
                            Fault { offset, problem }
                        }
                        problem => within(Fault { offset: fault.offset, problem }, series),
                    })?;
                    let value = guards.value(line, offset, value)?;
                    wide.push((series.clone(), value, mark));
                }
            }
        }
        if let (Some((offset, name)), Some((field, said))) = (name, value) {
            let at = field.offset;
            let (value, mark) = self.values.read(field, kind.or(said), all_quoted)?;
            let value = guards.value(line, at, value)?;
            let name = guards.name(line, offset, name)?;
            let series = self.labelled_name(offset, name, &mut labels)?;
            each(Sample { line, time_ns, series, joint: None, value, mark });
            return Ok(());
        }
        let mut named: Vec<(Cow<'a, str>, Scalar<'a>, Mark)> = Vec::with_capacity(wide.len());
        for (series, value, mark) in wide {
            let mut labels = labels.clone();
            named.push((self.labelled_name(0, series.into(), &mut labels)?, value, mark));
        }
        for (series, value, mark) in named {
            each(Sample { line, time_ns, series, joint: None, value, mark });
        }
        Ok(())
    }

    /// A name with the labels of the row beside those that it has.
    fn labelled_name<'n>(
        &mut self,
        offset: usize,
        name: Cow<'n, str>,
        labels: &mut BTreeMap<String, String>,
    ) -> Result<Cow<'n, str>, Fault> {
        labelled(&mut self.parser, name, labels).map_err(|label| {
            let problem = CsvProblem::LabelTwice { label: quote(&label) };
            Fault { offset, problem }
        })
    }
}

fn is_number_of_row(text: &str) -> bool {
    // R writes 1e+05, pandas 0.0. What has a fraction or a sign is no number of a row.
    number::float(text).is_ok_and(|row| row >= 0.0 && row.fract() == 0.0)
}

/// What programs write into a cell that has no value, where nothing else is meant by it.
const NOTHING: [&str; 5] = ["NA", "N/A", "NULL", "None", "\\N"];

/// Whether a cell is empty; blanks alone may be a text. Where quotes stand around everything, empty ones are
/// none of a number, and whether they are one of a text is known where the series is.
fn is_blank(field: &Field<'_>, kind: Option<Kind>, all_quoted: bool) -> bool {
    match kind {
        Some(Kind::Text) => !field.quoted && field.written.is_empty(),
        Some(_) => field.text.is_empty() && (!field.quoted || all_quoted),
        None => field.text.is_empty() && !field.quoted,
    }
}

/// What a cell says that has no value and says so, or is empty where quotes stand around everything; whether
/// what is in quotes is a text is known where the series is. `None`: it has a value.
fn nothing<'a>(field: &Field<'a>, kind: Option<Kind>, all_quoted: bool) -> Option<Scalar<'a>> {
    let text = &*field.text;
    let says_so = || NOTHING.iter().any(|one| one.eq_ignore_ascii_case(text));
    match kind {
        Some(Kind::Text) => None,
        _ if field.quoted && !all_quoted => None,
        _ if !text.is_empty() && !says_so() => None,
        None if field.quoted => Some(Scalar::QuotedNothing(field.text.clone())),
        _ => Some(Scalar::Nothing),
    }
}

/// A fault of a cell, with the name of its column.
fn within(fault: Fault, column: &str) -> Fault {
    let (column, problem) = (quote(column), Box::new(fault.problem));
    Fault { offset: fault.offset, problem: CsvProblem::Within { column, problem } }
}
