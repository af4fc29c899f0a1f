//! One error for all decoders of a trace: what was read, where, what was expected, what was found.
//!
//! Invariant: a message names the place (line, offset or field) and never quotes more than
//! [`QUOTED_CHARS`] of what it found. Held by `errors_are_short_and_name_their_place`.

use std::fmt;
use std::io;

/// What is quoted of a text at most.
const QUOTED_CHARS: usize = 60;

/// Why bytes are not what the kernel or the recorder writes.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A text of tracefs (a `format`, `header_page` or `header_event`) is in an unknown form.
    Text {
        /// Which text.
        what: &'static str,
        /// The line, from 1.
        line: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there, shortened.
        found: String,
    },
    /// The events that a trace has do not go together.
    Formats {
        /// What is wrong with them.
        expected: &'static str,
        /// The event at which it was found.
        event: String,
    },
    /// A page of the kernel's ring buffer is not one.
    Page {
        /// The part of the page, as named in `kernel/trace/ring_buffer.c`.
        field: &'static str,
        /// Where it is, in bytes from the start of the page.
        offset_bytes: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: u64,
    },
    /// An event lacks a field that is needed, or has it in another form.
    Field {
        /// The event.
        event: String,
        /// The names under which the field was looked for.
        field: String,
        /// The form that was expected.
        expected: &'static str,
        /// What was found instead: the declaration, or the fields that there are.
        found: String,
    },
    /// A recorded event is shorter than its format says, or a value in it is out of range.
    Record {
        /// Where the field is, in bytes from the start of the event.
        offset_bytes: usize,
        /// What should be there.
        expected: &'static str,
        /// What is there: a length in bytes, or the value.
        found: u64,
    },
    /// The file is no recorded trace, or is damaged.
    File {
        /// The field's name in `docs/format-trace.md`.
        field: &'static str,
        /// Where it is, in bytes from the start of the file.
        offset_bytes: u64,
        /// What should be there.
        expected: u64,
        /// What is there.
        found: u64,
    },
    /// The file could not be read or written.
    Io {
        /// What was being done.
        what: &'static str,
        /// Where in the file, in bytes.
        offset_bytes: u64,
        /// The system's answer.
        source: io::Error,
    },
}

/// The result of a decoder.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error about a line of text, quoting it.
    pub(crate) fn text(
        what: &'static str,
        line: usize,
        expected: &'static str,
        found: &str,
    ) -> Self {
        Self::Text { what, line, expected, found: quoted(found) }
    }
}

/// The beginning of `text`, for a message.
pub(crate) fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(QUOTED_CHARS).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text { what, line, expected, found } => write!(
                f,
                "{what}, line {line}: expected {expected}, found {found:?}; \
                 a kernel of another kind?"
            ),
            Self::Formats { expected, event } => {
                write!(f, "formats of events: expected {expected}; not so at {event}")
            }
            Self::Page { field, offset_bytes, expected, found } => {
                write!(
                    f,
                    "page, {field} at offset {offset_bytes}: expected {expected}, found {found:#x}"
                )
            }
            Self::Field { event, field, expected, found } => write!(
                f,
                "event {event}, field {field}: expected {expected}, found {found}; \
                 leave this event out to go on without it"
            ),
            Self::Record { offset_bytes, expected, found } => {
                write!(f, "event, offset {offset_bytes}: expected {expected}, found {found}")
            }
            Self::File { field: "magic", .. } => f.write_str(
                "expected a trace that baro trace has recorded, found a file with another magic number",
            ),
            Self::File { field: "header", offset_bytes: 0, found, .. } => write!(
                f,
                "expected a trace that baro trace has recorded, found a file of {found} bytes"
            ),
            Self::File { field, offset_bytes, expected, found } => write!(
                f,
                "trace file, {field} at offset {offset_bytes}: expected {expected:#x}, \
                 found {found:#x}"
            ),
            Self::Io { what, offset_bytes, source } => {
                write!(f, "cannot {what} the trace file at offset {offset_bytes}: {source}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_short_and_name_their_place() {
        let error = Error::text("format", 7, "a field", &"\u{e4}".repeat(10_000));
        let message = error.to_string();
        assert!(message.contains("line 7") && message.contains("a field"), "{message}");
        assert!(message.len() < 300, "{}", message.len());
        assert_eq!(quoted("short"), "short");
    }
}
