//! Why nothing can be recorded here: the tracer, its texts, or the file.
//!
//! Invariant: each message names the next step, its own or that of the error it wraps. Held by
//! `says_what_is_missing`.

use crate::error::Error;
use baro_sys::tracefs::TraceError;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a recording cannot begin or go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum CollectError {
    /// The kernel's tracer.
    Tracer(TraceError),
    /// A text of the tracer in an unknown form, or the trace file.
    Trace(Error),
    /// The kernel has none of these events.
    NoEvents(Vec<String>),
    /// Another collector, in its own words.
    Beside(Box<dyn std::error::Error + Send + Sync>),
    /// The file that is recorded into.
    Output {
        /// Its path.
        path: PathBuf,
        /// The operating system's reason.
        source: io::Error,
    },
}

impl From<TraceError> for CollectError {
    fn from(error: TraceError) -> Self {
        Self::Tracer(error)
    }
}

impl From<Error> for CollectError {
    fn from(error: Error) -> Self {
        Self::Trace(error)
    }
}

impl fmt::Display for CollectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tracer(error) => error.fmt(f),
            Self::Trace(error) => error.fmt(f),
            Self::Beside(error) => error.fmt(f),
            Self::Output { path, source } if source.kind() == io::ErrorKind::AlreadyExists => {
                let whose = match path.extension() {
                    Some(end) if end == "part" => " (somebody records into it, or was killed)",
                    _ => "",
                };
                let path = path.display();
                write!(f, "{path} is there already{whose}: remove it, or name another")
            }
            Self::Output { path, source } => {
                write!(f, "the trace {}: {source}; name another place", path.display())
            }
            Self::NoEvents(events) => write!(
                f,
                "this kernel has none of the {} chosen events ({}): \
                 see /sys/kernel/tracing/available_events",
                events.len(),
                events.first().map_or("none", String::as_str)
            ),
        }
    }
}

impl std::error::Error for CollectError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Tracer(error) => Some(error),
            Self::Trace(error) => Some(error),
            Self::Beside(error) => Some(&**error),
            Self::Output { source, .. } => Some(source),
            Self::NoEvents(_) => None,
        }
    }
}
