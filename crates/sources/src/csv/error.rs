//! What can be wrong with a line of CSV, and where.
//!
//! A line is refused on its own and the reading goes on: one bad line in a stream of a day must
//! not end the recording. So an error says line, column, what was expected and what stood there,
//! enough to find it in the file without the parser.
//!
//! Invariant: an error quotes little of the input, so that a hostile line does not fill the log.
//! Held by `super::tests::errors_quote_little`.

use crate::form::Kind;
use crate::lines::{NOT_UTF8, UTF16, Unread};
use crate::sample::Refused;
use crate::time::TimeFault;
use std::fmt;

/// A line that was skipped because of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvError {
    /// Line of the input, from 1.
    pub line: u64,
    /// Byte of the line, from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: CsvProblem,
    /// Nothing was understood before, and this line does not say what the input holds: neither a row of
    /// `time,series,value` nor names of columns.
    pub unknown_form: bool,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CsvProblem {
    /// The line is longer than `limit_bytes`; it was skipped up to its newline.
    LineTooLong {
        /// The most bytes a line may have.
        limit_bytes: usize,
    },
    /// The text that begins before this line is too long or cut off: none of its lines is read.
    Unread {
        /// The first of these lines; this one is the last.
        from: u64,
    },
    /// The input is UTF-16: nothing of it is read.
    Utf16,
    /// The bytes from here on are not UTF-8.
    NotUtf8,
    /// A field that starts with a quote has no closing one in its line.
    QuoteOpen,
    /// Something other than a comma or the end of the line follows a closing quote.
    AfterQuote {
        /// What follows.
        found: String,
    },
    /// The line ends before its third field.
    FieldMissing {
        /// `series` or `value`.
        field: &'static str,
    },
    /// There are more than three fields.
    FieldExtra {
        /// The fourth and what follows.
        found: String,
    },
    /// The field of the time is none.
    Time {
        /// What it is.
        found: String,
        /// Why it is none.
        fault: TimeFault,
    },
    /// Names of columns that can be read in several ways, or in none.
    Header {
        /// What was expected and found.
        said: String,
    },
    /// A row behind a header that was refused.
    Columns {
        /// Line of that header.
        header: u64,
    },
    /// The header right behind the header.
    HeaderAgain,
    /// Another number of fields than there are columns.
    FieldCount {
        /// Columns.
        expected: usize,
        /// Fields.
        found: usize,
    },
    /// Where no header names the columns, a number where the series' name stands.
    SeriesNumber {
        /// What it is.
        found: String,
    },
    /// A number or a time in a column that nobody has said to be a label.
    LabelNumber {
        /// The column.
        column: String,
        /// What it is.
        found: String,
    },
    /// A label that the series' name has already.
    LabelTwice {
        /// The label.
        label: String,
    },
    /// A tag `__name__` that is another than the measurement.
    Metric {
        /// What it is.
        found: String,
    },
    /// A type that is none.
    Kind {
        /// What it is.
        found: String,
    },
    /// Something else than a number of a row in the column of these.
    RowNumber {
        /// What it is.
        found: String,
    },
    /// Something in a column without a name.
    Nameless {
        /// What it is.
        found: String,
    },
    /// A word in a column of which nobody has said that it holds texts.
    Cell {
        /// The column.
        column: String,
        /// What it is.
        found: String,
    },
    /// Something in a column that is named.
    Within {
        /// The column.
        column: String,
        /// What is wrong there.
        problem: Box<CsvProblem>,
    },
    /// A name that begins as a formula with a `'` before it, where another has none, or the reverse.
    Guard {
        /// What it is.
        found: String,
        /// The line of the first such name; `None`: it is in an earlier file.
        first_line: Option<u64>,
        /// Whether that one had a `'`.
        first_guarded: bool,
    },
    /// A row of another result of a query than the rows before.
    Result {
        /// That of the rows before.
        first: String,
        /// That of this row.
        found: String,
    },
    /// The series has no name.
    SeriesEmpty,
    /// The value is none of the kind that is said for it.
    OfKind {
        /// The kind.
        kind: Kind,
        /// What it is.
        found: String,
    },
    /// The value is no number and no truth value.
    Value {
        /// What it is.
        found: String,
    },
    /// A number beyond the largest float, or nearer to 0 than any.
    FloatRange {
        /// What it is.
        found: String,
    },
    /// An integer that 64 bits do not hold.
    ValueRange {
        /// What it is.
        found: String,
    },
}

impl fmt::Display for CsvError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for CsvError {}

impl Refused for CsvError {
    fn lines(&self) -> u64 {
        match self.problem {
            CsvProblem::Unread { from } => self.line.saturating_sub(from) + 1,
            _ => 1,
        }
    }
}

fn other_result(formatter: &mut fmt::Formatter<'_>, first: &str, found: &str) -> fmt::Result {
    write!(
        formatter,
        "expected rows of one result, {first:?}, found {found:?}, whose series would have the same names: \
         query it by itself and import it into another store, or give it another _field or _measurement in \
         the query (set, rename)"
    )
}

/// Whether it reads like a number whose decimals are behind a comma.
fn is_decimal_comma(found: &str) -> bool {
    let number = found.strip_prefix(['-', '+']).unwrap_or(found);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    number.split_once(',').is_some_and(|(before, behind)| digits(before) && digits(behind))
}

fn field_extra(formatter: &mut fmt::Formatter<'_>, found: &str) -> fmt::Result {
    formatter.write_str("expected the end of the line after time,series,value, found ")?;
    if found.is_empty() {
        return formatter.write_str("a comma and nothing behind it");
    }
    write!(
        formatter,
        "{found:?}; a series name with a comma needs quotes around it; numbers as 21,5 need --decimal-comma, \
         ; between columns, and a header such as time;series;value"
    )
}

fn cell(formatter: &mut fmt::Formatter<'_>, column: &str, found: &str) -> fmt::Result {
    write!(
        formatter,
        "column {column:?}: expected a number, true or false, or text in quotes, found {found:?} ("
    )?;
    if is_decimal_comma(found) {
        return formatter.write_str("--decimal-comma takes 21,5 as a number)");
    }
    write!(
        formatter,
        "--columns {column}=label if it tells series apart, {column}=text if it holds texts)"
    )
}

impl fmt::Display for CsvProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong { limit_bytes } => {
                write!(formatter, "the line is longer than {limit_bytes} bytes and was skipped")
            }
            Self::Unread { from } => write!(formatter, "{}", Unread { from: *from }),
            Self::Utf16 => formatter.write_str(UTF16),
            Self::NotUtf8 => formatter.write_str(NOT_UTF8),
            Self::QuoteOpen => write!(
                formatter,
                "expected a closing quote in the same line, or within the same record if the text \
                 has line breaks (a quote inside is written twice)"
            ),
            Self::AfterQuote { found } => write!(
                formatter,
                "expected a comma or the end of the line after the quote, found {found:?} (a \
                 quote inside is written twice)"
            ),
            Self::FieldMissing { field } => {
                write!(formatter, "expected a comma and the {field}, found the end of the line")
            }
            Self::FieldExtra { found } => field_extra(formatter, found),
            Self::Time { found, fault } => {
                write!(formatter, "expected {fault}, found {found:?}")
            }
            Self::Header { said } => write!(formatter, "header: {said}"),
            Self::Columns { header } => {
                write!(formatter, "the columns of this row are refused: line {header} says why")
            }
            Self::HeaderAgain => {
                formatter.write_str("expected a row behind the header, found the header once more")
            }
            Self::FieldCount { expected, found } => {
                write!(formatter, "expected {expected} fields as the header has, found {found}")
            }
            Self::SeriesNumber { found } => write!(
                formatter,
                "expected the name of a series, found {found:?} (a name that is a number, or reads like \
                 one, needs quotes around it, or the header time,series,value; a file with a column for \
                 each series needs their names in its first line)"
            ),
            Self::LabelNumber { column, found } => write!(
                formatter,
                "column {column:?}: expected a text that is a label of the series, found {found:?} \
                 (--columns {column}=label takes it as one, --columns {column}=skip leaves it out)"
            ),
            Self::LabelTwice { label } => write!(
                formatter,
                "expected each label once, found {label:?} in the name of the series and in a column"
            ),
            Self::Metric { found } => write!(
                formatter,
                "expected a tag __name__ that is the measurement, as Prometheus writes it (the name of a \
                 metric is no label), found {found:?}"
            ),
            Self::Kind { found } => {
                write!(formatter, "expected f64, i64, u64, bool or text, found {found:?}")
            }
            Self::RowNumber { found } => write!(
                formatter,
                "expected the number of the row in the column without a name, found {found:?} (--columns \
                 =skip leaves the column out, =time takes it as the time)"
            ),
            Self::Nameless { found } => write!(
                formatter,
                "expected nothing in a column without a name, found {found:?} (give it a name)"
            ),
            Self::Cell { column, found } => cell(formatter, column, found),
            Self::Within { column, problem } => write!(formatter, "column {column:?}: {problem}"),
            Self::Guard { found, first_line, first_guarded } => {
                formatter.write_str(&guard(found, *first_line, *first_guarded))
            }
            Self::Result { first, found } => other_result(formatter, first, found),
            Self::SeriesEmpty => write!(formatter, "expected the name of a series, found nothing"),
            Self::OfKind { kind, found } => {
                write!(formatter, "expected {}, found {found:?}", kind.expected())
            }
            Self::Value { found } => write!(
                formatter,
                "expected a number, true or false, or text in quotes, found {found:?}"
            ),
            Self::FloatRange { found } => write!(
                formatter,
                "expected a number that a float of 64 bits holds (to 1.8e308, and 0 or from 4.9e-324 on), \
                 found {found:?}"
            ),
            Self::ValueRange { found } => write!(
                formatter,
                "expected an integer of 64 bits, or in a column of floats one up to 2^53, found {found:?}; write it with a point to record \
                 it as a float"
            ),
        }
    }
}

/// Of a name that begins as a formula: what the first such one was.
fn guard(found: &str, first_line: Option<u64>, first_guarded: bool) -> String {
    let (first, this) = if first_guarded { ("a", "none") } else { ("no", "one") };
    let place = first_line.map_or("an earlier file".to_owned(), |line| format!("line {line}"));
    format!(
        "expected a ' before all names and texts that begin as a formula, as an export has it, or before \
         none: {place} has {first} ', found {this} before {found:?}; change one, so that both do not become \
         the same"
    )
}
