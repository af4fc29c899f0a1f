//! One error for all decoders: what was read, at which offset, what was expected, what was found.
//! The caller adds the file; `docs/format.md` says what each field means.

use core::fmt;

/// What a decoder was reading when it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The identity of a store.
    Identity,
    /// The header of a segment.
    Segment,
    /// The header of a block.
    Block,
    /// The chunk table of a block.
    ChunkTable,
    /// A record in a chunk.
    Record,
    /// The payload of a samples record.
    Samples,
    /// The sample section of a block.
    Section,
    /// The payload of a text record.
    Text,
    /// The payload of a record whose samples are in the section.
    Moved,
    /// The payload of a gap record.
    Gap,
    /// A declaration in the catalog.
    Declaration,
    /// The field layout in a declaration.
    Layout,
    /// The header of a ring.
    Ring,
    /// A pin.
    Pin,
    /// A request to declare.
    Request,
    /// The answer to one.
    Answer,
    /// The manifest of the runs.
    Manifest,
    /// The header of a dictionary.
    Dictionary,
    /// A page of names of a dictionary.
    NamePage,
    /// A page of ids of a dictionary.
    IdPage,
    /// The index of a dictionary's pages.
    DictionaryIndex,
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            What::Identity => "store identity",
            What::Segment => "segment header",
            What::Block => "block",
            What::ChunkTable => "chunk table",
            What::Record => "record",
            What::Samples => "samples record",
            What::Section => "sample section",
            What::Text => "text record",
            What::Moved => "moved samples record",
            What::Gap => "gap record",
            What::Declaration => "declaration",
            What::Layout => "field layout",
            What::Ring => "ring header",
            What::Pin => "pin",
            What::Request => "request to declare",
            What::Answer => "answer to a request",
            What::Manifest => "manifest of the runs",
            What::Dictionary => "dictionary header",
            What::NamePage => "page of names",
            What::IdPage => "page of ids",
            What::DictionaryIndex => "index of the dictionary",
        })
    }
}

/// Bytes that are not what the format asks for.
///
/// `offset` counts from the start of the bytes given to the decoder; [`Error::at`] moves it to
/// the offset in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Fewer bytes than the structure needs.
    Truncated {
        /// What was being read.
        what: What,
        /// Where the missing bytes would start.
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
        /// The field's name in `docs/format.md`.
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
        /// The field's name in `docs/format.md`.
        field: &'static str,
        /// Where the field is.
        offset: u64,
        /// The largest value allowed.
        limit: u64,
        /// The value that is there.
        found: u64,
    },
    /// A name is not UTF-8.
    NotUtf8 {
        /// What was being read.
        what: What,
        /// Where the text starts.
        offset: u64,
    },
}

impl Error {
    /// The same error with its offset moved by `base`: from a buffer's to a file's.
    #[must_use]
    pub fn at(mut self, base: u64) -> Self {
        match &mut self {
            Error::Truncated { offset, .. }
            | Error::Mismatch { offset, .. }
            | Error::OutOfRange { offset, .. }
            | Error::NotUtf8 { offset, .. } => *offset = offset.saturating_add(base),
        }
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Truncated { what, offset, expected, found } => {
                write!(f, "{what} at offset {offset}: expected {expected} bytes, found {found}")
            }
            Error::Mismatch { what, field, offset, expected, found } => write!(
                f,
                "{what}: {field} at offset {offset}: expected {expected:#x}, found {found:#x}"
            ),
            Error::OutOfRange { what, field, offset, limit, found } => {
                write!(
                    f,
                    "{what}: {field} at offset {offset}: at most {limit} allowed, found {found}"
                )
            }
            Error::NotUtf8 { what, offset } => {
                write!(f, "{what}: text at offset {offset}: expected UTF-8, found other bytes")
            }
        }
    }
}

impl core::error::Error for Error {}
