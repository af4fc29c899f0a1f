//! What is wrong with a layout: which field, at which offset, what was expected and found.

use alloc::string::String;
use core::fmt;

/// A layout that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LayoutError {
    /// No field, or too many.
    Count {
        /// Fields allowed.
        limit: usize,
        /// Fields given.
        found: usize,
    },
    /// Too many values in a frame, elements of arrays counted.
    Values {
        /// Values allowed.
        limit: usize,
        /// Values of all fields.
        found: usize,
    },
    /// A part of a field is not what it must be.
    Field {
        /// The field's name, as far as it has one.
        field: String,
        /// Its offset in the frame.
        offset_bytes: u32,
        /// What is wanted.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// A field's text cannot be read.
    Text {
        /// The field's name, or its text if it has none.
        field: String,
        /// Where in the text, in bytes from its start.
        at: usize,
        /// What is wanted there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A field ends behind the frame.
    OutOfFrame {
        /// The field's name.
        field: String,
        /// Its offset.
        offset_bytes: u32,
        /// Bytes of a frame.
        frame_bytes: u64,
        /// First byte behind the field.
        end_bytes: u64,
    },
    /// Two fields overlap.
    Overlap {
        /// The later one.
        field: String,
        /// Its offset.
        offset_bytes: u32,
        /// The one that it overlaps.
        with: String,
        /// First byte behind that one.
        end_bytes: u64,
    },
    /// Two fields have one name.
    Twice {
        /// The name.
        field: String,
        /// Offset of the second.
        offset_bytes: u32,
        /// Offset of the first.
        first_bytes: u32,
    },
}

impl LayoutError {
    /// For an error of the format: what is wrong, the most that is allowed, and what is there.
    pub(super) fn as_numbers(&self) -> (&'static str, u64, u64) {
        match self {
            LayoutError::Count { limit, found } => ("fields", *limit as u64, *found as u64),
            LayoutError::Values { limit, found } => ("values", *limit as u64, *found as u64),
            LayoutError::Field { expected, offset_bytes, .. } => {
                (expected, 0, u64::from(*offset_bytes))
            }
            LayoutError::Text { expected, at, .. } => (expected, 0, *at as u64),
            LayoutError::OutOfFrame { frame_bytes, end_bytes, .. } => {
                ("end of a field", *frame_bytes, *end_bytes)
            }
            LayoutError::Overlap { offset_bytes, end_bytes, .. } => {
                ("end of a field before the next", u64::from(*offset_bytes), *end_bytes)
            }
            LayoutError::Twice { offset_bytes, .. } => {
                ("fields of one name", 1, u64::from(*offset_bytes))
            }
        }
    }
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LayoutError::Count { limit, found } => {
                write!(f, "layout: expected 1 to {limit} fields, found {found}")
            }
            LayoutError::Values { limit, found } => {
                write!(f, "layout: expected at most {limit} values, found {found}")
            }
            LayoutError::Field { field, offset_bytes, expected, found } => write!(
                f,
                "layout: field {field:?} at offset {offset_bytes}: expected {expected}, found \
                 {found:?}"
            ),
            LayoutError::Text { field, at, expected, found } => write!(
                f,
                "layout: field {field:?}, character {} of the text: expected {expected}, found \
                 {found:?}",
                at + 1
            ),
            LayoutError::OutOfFrame { field, offset_bytes, frame_bytes, end_bytes } => write!(
                f,
                "layout: field {field:?} at offset {offset_bytes}: expected to end within \
                 {frame_bytes} bytes of frame, found its end at {end_bytes}"
            ),
            LayoutError::Overlap { field, offset_bytes, with, end_bytes } => write!(
                f,
                "layout: field {field:?} at offset {offset_bytes}: expected an offset of \
                 {end_bytes} or more behind {with:?}, found an overlap"
            ),
            LayoutError::Twice { field, offset_bytes, first_bytes } => write!(
                f,
                "layout: field {field:?} at offset {offset_bytes}: expected a name of its own, \
                 found the one of the field at offset {first_bytes}"
            ),
        }
    }
}

impl core::error::Error for LayoutError {}
