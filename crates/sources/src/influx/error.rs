//! What can be wrong with a line of the line protocol, and where. A line is refused on its own and
//! the reading goes on.
//!
//! Invariant: an error quotes little of the input. Held by `super::tests::errors_quote_little`.

use crate::lines::{NOT_UTF8, UTF16, Unread};
use crate::sample::Refused;
use crate::time::TimeFault;
use std::fmt;

/// A line that was skipped because of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InfluxError {
    /// Line of the input in which the point begins, from 1.
    pub line: u64,
    /// Byte of the point, from 1; line breaks in its texts count.
    pub column: usize,
    /// What is wrong there.
    pub problem: InfluxProblem,
}

/// What is wrong with a line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InfluxProblem {
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
    /// Something that must be there is not.
    Expected {
        /// What.
        what: &'static str,
        /// What stands there; empty at the end of the line.
        found: String,
    },
    /// A text has no closing quote in its line.
    QuoteOpen,
    /// A tag or a field that stands there twice.
    Twice {
        /// `tag` or `field`.
        what: &'static str,
        /// Its key.
        key: String,
    },
    /// A time that is none.
    Time {
        /// What it is.
        found: String,
        /// Why it is none.
        fault: TimeFault,
    },
    /// A number that 64 bits do not hold.
    Range {
        /// What was expected.
        what: &'static str,
        /// What it is.
        found: String,
    },
}

impl fmt::Display for InfluxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.problem)
    }
}

impl std::error::Error for InfluxError {}

impl Refused for InfluxError {
    fn lines(&self) -> u64 {
        match self.problem {
            InfluxProblem::Unread { from } => self.line.saturating_sub(from) + 1,
            _ => 1,
        }
    }
}

impl fmt::Display for InfluxProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InfluxProblem::LineTooLong { limit_bytes } => {
                write!(f, "the line is longer than {limit_bytes} bytes and was skipped")
            }
            InfluxProblem::Unread { from } => write!(f, "{}", Unread { from: *from }),
            InfluxProblem::Utf16 => f.write_str(UTF16),
            InfluxProblem::Time { found, fault } => write!(f, "expected {fault}, found {found}"),
            InfluxProblem::NotUtf8 => f.write_str(NOT_UTF8),
            InfluxProblem::Expected { what, found } if found.is_empty() => {
                write!(f, "expected {what}, found the end of the line")
            }
            InfluxProblem::Expected { what, found } => {
                write!(f, "expected {what}, found {found:?}")
            }
            InfluxProblem::QuoteOpen => f.write_str(
                "expected a closing quote in the same line, or within the same record if the text has \
                 line breaks (a quote inside is written \\\")",
            ),
            InfluxProblem::Twice { what, key } => {
                write!(f, "expected each {what} once, found {key:?} twice")
            }
            InfluxProblem::Range { what, found } => write!(f, "expected {what}, found {found}"),
        }
    }
}
