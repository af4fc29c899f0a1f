//! What can go wrong in a bench: one enum, since all its parts work on files.
//!
//! Invariant: a variant names the place, so that the reader need not guess which of several
//! directories is meant. Held by `names_what_and_where`.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a measurement or a load could not be prepared, run or finished.
#[derive(Debug)]
#[non_exhaustive]
pub enum BenchError {
    /// A file operation failed.
    File {
        /// What was being done, as a verb phrase: "preallocate 100 bytes".
        what: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// A thread could not be started.
    Thread(io::Error),
    /// A background thread ended before its work was done.
    ThreadLost(&'static str),
    /// A number of the specification is of no use.
    Specification {
        /// Its name.
        field: &'static str,
        /// What it is.
        found: u64,
        /// What is asked for.
        expected: &'static str,
    },
    /// Data to be pushed is not to be had.
    Data {
        /// Where it was looked for.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A query was not answered with what was pushed.
    WrongAnswer(String),
    /// Samples were lost though the producer waited.
    Lost(String),
    /// The store could not be read.
    Store(baro_store::Error),
    /// The recorder refused.
    Recorder(baro_recorder::Error),
    /// A measurement's file cannot be read or continued.
    Measurement {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// It was asked to stop.
    Stopped,
    /// A program or the machine refused what a stand or a cause needs; what it said.
    Refused(String),
    /// A setting of the machine could not be changed or undone.
    Settings(baro_tune::Error),
    /// The kernel's tracer cannot be used.
    Tracer(baro_sys::tracefs::TraceError),
    /// The operating system refused.
    System(baro_sys::Error),
    /// The histogram could not be made.
    Histogram(hdrhistogram::CreationError),
}

impl BenchError {
    /// Makes one of what the system answered: `.map_err(BenchError::file("open", path))`.
    pub fn file<E>(what: &'static str, path: &Path) -> impl FnOnce(E) -> Self + use<E>
    where
        io::Error: From<E>,
    {
        let path = path.to_path_buf();
        move |source| Self::File { what, path, source: source.into() }
    }
}

impl From<baro_sys::Error> for BenchError {
    fn from(source: baro_sys::Error) -> Self {
        Self::System(source)
    }
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { what, path, source } => {
                write!(f, "cannot {what} {}: {source}", path.display())?;
                match source.kind() {
                    io::ErrorKind::StorageFull => {
                        write!(f, "; free space or choose a smaller size")
                    }
                    io::ErrorKind::Unsupported => {
                        write!(f, "; this file system cannot do it: use ext4, xfs or f2fs")
                    }
                    _ => Ok(()),
                }
            }
            Self::Thread(source) => write!(f, "cannot start a thread: {source}"),
            Self::ThreadLost(name) => write!(f, "the {name} thread ended early; see its message"),
            Self::Specification { field, found, expected } => {
                write!(f, "{field} is {found}, but must be {expected}")
            }
            Self::Data { path, reason } | Self::Measurement { path, reason } => {
                write!(f, "{}: {reason}", path.display())
            }
            Self::Stopped => f.write_str("stopped"),
            Self::WrongAnswer(what) => write!(f, "wrong answer: {what}"),
            Self::Lost(what) => write!(f, "samples were lost: {what}"),
            Self::Refused(what) => f.write_str(what),
            Self::Settings(source) => source.fmt(f),
            Self::Tracer(source) => source.fmt(f),
            Self::Store(source) => source.fmt(f),
            Self::Recorder(source) => source.fmt(f),
            Self::System(source) => source.fmt(f),
            Self::Histogram(source) => write!(f, "cannot make a histogram: {source}"),
        }
    }
}

impl std::error::Error for BenchError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } | Self::Thread(source) => Some(source),
            Self::Store(source) => Some(source),
            Self::Settings(source) => Some(source),
            Self::Tracer(source) => Some(source),
            Self::Recorder(source) => Some(source),
            Self::System(source) => Some(source),
            Self::Histogram(source) => Some(source),
            Self::ThreadLost(_)
            | Self::Specification { .. }
            | Self::Data { .. }
            | Self::Measurement { .. }
            | Self::Stopped
            | Self::WrongAnswer(_)
            | Self::Lost(_)
            | Self::Refused(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::BenchError;
    use std::io;
    use std::path::Path;

    #[test]
    fn names_what_and_where() {
        let source = io::Error::from(io::ErrorKind::StorageFull);
        let text = BenchError::file("preallocate", Path::new("/data/x"))(source).to_string();
        assert!(text.starts_with("cannot preallocate /data/x: "), "{text}");
        assert!(text.ends_with("choose a smaller size"), "{text}");
    }
}
