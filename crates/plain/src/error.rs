//! What may fail, and what to do.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    /// There is a file of this name already, or will be in a moment.
    Taken(PathBuf),
    /// A file did not get its name: mostly because somebody made another of this name meanwhile.
    Unnamed {
        /// The name that it should have.
        path: PathBuf,
        /// Where it is.
        left: PathBuf,
        /// Why it was refused.
        said: String,
        /// The reason.
        kind: std::io::ErrorKind,
        /// The kernel's number of it, if it has one.
        errno: Option<i32>,
    },
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

/// The first failure of something that threads of the pool did, until somebody is told.
///
/// A writer asks with each write, so that is a look at a flag: no lock while nothing has failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Failed(Arc<(AtomicBool, Mutex<Option<Error>>)>);

impl Failed {
    /// What has failed, as often as it is asked for.
    pub(crate) fn get(&self) -> Result<()> {
        self.look(|first| first.clone())
    }

    /// The same, once.
    pub(crate) fn take(&self) -> Result<()> {
        self.look(Option::take)
    }

    fn look(&self, found: impl FnOnce(&mut Option<Error>) -> Option<Error>) -> Result<()> {
        let (any, first) = &*self.0;
        if !any.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
        let found = found(&mut first);
        any.store(first.is_some(), Ordering::Release);
        found.map_or(Ok(()), Err)
    }

    pub(crate) fn note<T>(&self, result: Result<T>) {
        if let Err(error) = result {
            let (any, first) = &*self.0;
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            first.get_or_insert(error);
            any.store(true, Ordering::Release);
        }
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
                write!(
                    formatter,
                    "{}: is there already, or was handed out just now; name another file",
                    path.display()
                )
            }
            Self::Unnamed { path, left, said, .. } => write!(
                formatter,
                "{}: expected a name that nobody has, found: {said}; what was written is in {}: rename it",
                path.display(),
                left.display()
            ),
            Self::Name(name) => {
                write!(formatter, "expected the name of a file without a folder, found {name:?}")
            }
            Self::Io { said, .. } => formatter.write_str(said),
            Self::Closed => formatter.write_str("the pool of this file has been closed"),
        }
    }
}

impl std::error::Error for Error {}
