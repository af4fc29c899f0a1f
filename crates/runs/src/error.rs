//! One error for all decoders of a run: what was read, at which offset, what was expected, what was
//! found. The caller adds the file; `docs/format-runs.md` says what each field means.

use std::fmt;

/// What a decoder was reading when it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The header of a run.
    Header,
    /// The index of a run.
    Index,
    /// The footer of a run.
    Footer,
    /// A page of a run.
    Page,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Header => "run header",
            What::Index => "run index",
            What::Footer => "run footer",
            What::Page => "run page",
        })
    }
}

/// Bytes that are not what the format asks for, or samples that do not fit it.
///
/// Offsets count from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Fewer bytes than the structure needs.
    Truncated {
        /// What was being read.
        what: What,
        /// The field's name in `docs/format-runs.md`.
        field: &'static str,
        /// Where the bytes should start.
        offset: u64,
        /// Bytes needed.
        expected: u64,
        /// Bytes there.
        found: u64,
    },
    /// A field that must have one value has another.
    Mismatch {
        /// What was being read.
        what: What,
        /// The field's name in `docs/format-runs.md`.
        field: &'static str,
        /// Where the field is.
        offset: u64,
        /// The value that must be there.
        expected: u64,
        /// The value that is there.
        found: u64,
    },
    /// A field is outside the format's limits.
    OutOfRange {
        /// What was being read.
        what: What,
        /// The field's name in `docs/format-runs.md`.
        field: &'static str,
        /// Where the field is.
        offset: u64,
        /// The largest value allowed.
        limit: u64,
        /// The value that is there.
        found: u64,
    },
    /// The number codec cannot read its bytes.
    Codec {
        /// What was being read.
        what: What,
        /// The section of the page.
        field: &'static str,
        /// Where it starts.
        offset: u64,
        /// What the codec says.
        reason: String,
    },
    /// A text is not UTF-8.
    NotUtf8 {
        /// What was being read.
        what: What,
        /// Where the text starts.
        offset: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { what, field, offset, expected, found } => write!(
                f,
                "{what}: {field} at offset {offset}: expected {expected} bytes, found {found}"
            ),
            Error::Mismatch { what, field, offset, expected, found } => write!(
                f,
                "{what}: {field} at offset {offset}: expected {expected:#x}, found {found:#x}"
            ),
            Error::OutOfRange { what, field, offset, limit, found } => write!(
                f,
                "{what}: {field} at offset {offset}: at most {limit} allowed, found {found}"
            ),
            Error::Codec { what, field, offset, reason } => {
                write!(f, "{what}: {field} at offset {offset}: {reason}")
            }
            Error::NotUtf8 { what, offset } => {
                write!(f, "{what}: text at offset {offset}: expected UTF-8, found other bytes")
            }
        }
    }
}

impl std::error::Error for Error {}
