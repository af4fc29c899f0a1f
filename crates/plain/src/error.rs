//! What may fail, and what to do.

use std::fmt;
use std::path::PathBuf;

/// As in the standard library.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a file could not be made, written or finished.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// A size of no use.
    Size {
        /// The field of [`Sizes`](crate::Sizes).
        name: &'static str,
        /// What it may be.
        expected: &'static str,
        /// What it was.
        found: u64,
    },
    /// More than the file was reserved for. Nothing of it is written.
    Full {
        /// Bytes that still have room.
        free_bytes: u64,
        /// Bytes that were to be written.
        found_bytes: u64,
    },
    /// There is a file of this name already.
    Taken(PathBuf),
    /// A name with a folder in it, or none.
    Name(String),
    /// The operating system's reason. Of a write some bytes may be in the file; they count as not
    /// written, and the next write replaces them.
    Io {
        /// What was tried, on which file, and why it was refused.
        said: String,
        /// The reason.
        kind: std::io::ErrorKind,
        /// The kernel's number of it, if it has one.
        errno: Option<i32>,
    },
    /// The pool's threads are gone.
    Closed,
}

impl Error {
    /// A reason of the operating system, with what was tried on which file.
    pub(crate) fn io(said: String, reason: &std::io::Error) -> Self {
        Self::Io { said, kind: reason.kind(), errno: reason.raw_os_error() }
    }
}

impl From<baro_sys::Error> for Error {
    fn from(error: baro_sys::Error) -> Self {
        Self::io(error.to_string(), &error.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { name, expected, found } => {
                write!(formatter, "{name}: expected {expected}, found {found}")
            }
            Self::Full { free_bytes, found_bytes } => write!(
                formatter,
                "expected at most {free_bytes} more bytes, found {found_bytes}: finish this file and take the next"
            ),
            Self::Taken(path) => {
                write!(formatter, "{}: is there already; name another file", path.display())
            }
            Self::Name(name) => {
                write!(formatter, "expected the name of a file without a folder, found {name:?}")
            }
            Self::Io { said, .. } => formatter.write_str(said),
            Self::Closed => formatter.write_str("the pool of this file has been closed"),
        }
    }
}

impl std::error::Error for Error {}
