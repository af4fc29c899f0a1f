//! What the operating system refused: the operation, the file, its reason.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A failed call to the operating system.
#[derive(Debug)]
pub struct Error {
    /// What was tried, as a verb phrase: "open", "write 4096 bytes at 8192".
    pub operation: String,
    /// The file or folder; empty if the call concerns none.
    pub path: PathBuf,
    /// The kernel's reason.
    pub source: io::Error,
}

/// Result of a call to the operating system.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of `operation` on `path`.
    pub fn new(operation: impl Into<String>, path: impl AsRef<Path>, source: io::Error) -> Self {
        Error { operation: operation.into(), path: path.as_ref().to_owned(), source }
    }

    /// The last failed libc call.
    pub(crate) fn last(operation: impl Into<String>, path: impl AsRef<Path>) -> Self {
        Self::new(operation, path, io::Error::last_os_error())
    }

    /// The kind of the kernel's reason.
    #[must_use]
    pub fn kind(&self) -> io::ErrorKind {
        self.source.kind()
    }

    /// The kernel's error number, if it is one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        self.source.raw_os_error()
    }

    /// Whether the device or quota is full.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
    }

    /// Whether the rights of a file or folder do not let this user do that.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        // Not what we refuse ourselves, a link or a pipe, which has no number.
        matches!(self.errno(), Some(libc::EACCES | libc::EPERM))
    }

    /// Whether the file or folder is not there.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.source.kind() == io::ErrorKind::NotFound
    }
}

/// The bare reason, for callers that name the operation and the file themselves.
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        error.source
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.as_os_str().is_empty() {
            write!(f, "{}: ", self.path.display())?;
        }
        write!(f, "{}: {}", self.operation, self.source)?;
        // Nobody waits for whoever holds a lease on a file, and the kernel's words name nothing.
        if self.operation.starts_with("open") && self.errno() == Some(libc::EAGAIN) {
            f.write_str(": another process has a lease on it (fcntl F_SETLEASE); try again")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
