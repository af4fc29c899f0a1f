//! What can be wrong with a line of CSV, and where.
//!
//! A line is refused on its own and the reading goes on: one bad line in a stream of a day must
//! not end the recording. So an error says line, column, what was expected and what stood there,
//! enough to find it in the file without the parser.
//!
//! Invariant: an error quotes little of the input, so that a hostile line does not fill the log.
//! Held by `super::tests::errors_quote_little`.

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
    /// The first field is no time.
    Time {
        /// What it is.
        found: String,
    },
    /// A date or time of day that does not exist, such as February 30.
    TimeCalendar {
        /// What it is.
        found: String,
    },
    /// A time that 64 bits of nanoseconds do not reach.
    TimeRange {
        /// What it is.
        found: String,
    },
    /// The series has no name.
    SeriesEmpty,
    /// The third field is no number and no truth value.
    Value {
        /// What it is.
        found: String,
    },
    /// A number beyond the largest float.
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

impl fmt::Display for CsvProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LineTooLong { limit_bytes } => {
                write!(formatter, "the line is longer than {limit_bytes} bytes and was skipped")
            }
            Self::NotUtf8 => write!(formatter, "expected UTF-8, found bytes that are not"),
            Self::QuoteOpen => write!(
                formatter,
                "expected a closing quote in the same line (a quote inside is written twice)"
            ),
            Self::AfterQuote { found } => write!(
                formatter,
                "expected a comma or the end of the line after the quote, found {found:?} (a \
                 quote inside is written twice)"
            ),
            Self::FieldMissing { field } => {
                write!(formatter, "expected a comma and the {field}, found the end of the line")
            }
            Self::FieldExtra { found } => write!(
                formatter,
                "expected the end of the line after time,series,value, found {found:?}; a series \
                 name with a comma needs quotes around it"
            ),
            Self::Time { found } => write!(
                formatter,
                "expected a time (nanoseconds since 1970 as an integer, seconds with a point, \
                 RFC 3339 such as 2026-01-02T03:04:05.678Z, or nothing for now), found {found:?}"
            ),
            Self::TimeCalendar { found } => {
                write!(formatter, "expected a date and time that exist, found {found:?}")
            }
            Self::TimeRange { found } => {
                write!(formatter, "expected a time from 1677 to 2262, found {found:?}")
            }
            Self::SeriesEmpty => write!(formatter, "expected the name of a series, found nothing"),
            Self::Value { found } => write!(
                formatter,
                "expected a number, true or false, found {found:?}; a series name with a comma \
                 needs quotes around it"
            ),
            Self::FloatRange { found } => write!(
                formatter,
                "expected a number that a float of 64 bits holds (to 1.8e308), found {found:?}"
            ),
            Self::ValueRange { found } => write!(
                formatter,
                "expected an integer of 64 bits, found {found:?}; write it with a point to record \
                 it as a float"
            ),
        }
    }
}
