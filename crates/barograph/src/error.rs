//! What can go wrong, with what it came from.

use std::fmt;

/// Why a call did not do what was asked. Its text is one sentence: what, where, what was expected and
/// found. [`source`](std::error::Error::source) is the error of the part below.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The log or its catalog: no store, damaged, or the device refuses.
    Log(baro_log::Error),
    /// Recording: another process records, a setting is outside its limits, memory is short.
    Recorder(baro_recorder::Error),
    /// Reading: no store, damage that nothing can be read behind, a selector that is none.
    Store(baro_store::Error),
    /// The operating system.
    System(baro_sys::Error),
    /// A text that says something is not understood.
    Text {
        /// What it is.
        what: &'static str,
        /// The text.
        text: String,
        /// Why not.
        why: String,
    },
    /// Rows are missing from what a query has handed out: comes behind its last column.
    Missing {
        /// Why, in a sentence.
        why: String,
    },
    /// Not all was durable in the time given.
    NotDurable {
        /// Sequence number of the next push.
        pushed: u64,
        /// All below is durable.
        durable: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Log(error) => error.fmt(f),
            Error::Recorder(error) => error.fmt(f),
            Error::Store(error) => error.fmt(f),
            Error::System(error) => error.fmt(f),
            Error::Text { what, text, why } => write!(f, "{what} {text:?}: {why}"),
            Error::Missing { why } => write!(f, "rows are missing: {why}"),
            Error::NotDurable { pushed, durable } => write!(
                f,
                "of {pushed} records pushed, those below {durable} are durable in the time given"
            ),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Log(error) => Some(error),
            Error::Recorder(error) => Some(error),
            Error::Store(error) => Some(error),
            Error::System(error) => Some(error),
            Error::Text { .. } | Error::Missing { .. } | Error::NotDurable { .. } => None,
        }
    }
}

macro_rules! from {
    ($of:ty, $name:ident) => {
        impl From<$of> for Error {
            fn from(error: $of) -> Error {
                Error::$name(error)
            }
        }
    };
}
from!(baro_log::Error, Log);
from!(baro_recorder::Error, Recorder);
from!(baro_store::Error, Store);
from!(baro_sys::Error, System);
