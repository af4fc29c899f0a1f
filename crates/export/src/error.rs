//! Why an export ended early.

use std::fmt;

/// An error of an export.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The store cannot be read.
    Store(baro_store::Error),
    /// The output cannot be written.
    Output(std::io::Error),
    /// More channels than an MCAP file can have.
    Channels {
        /// What it can have.
        limit: usize,
        /// What was selected.
        found: usize,
    },
    /// The MCAP writer refuses.
    Mcap(mcap::McapError),
}

/// Result of an export.
pub type Result<T> = std::result::Result<T, Error>;

impl From<baro_store::Error> for Error {
    fn from(error: baro_store::Error) -> Self {
        Error::Store(error)
    }
}

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Output(error)
    }
}

impl From<mcap::McapError> for Error {
    fn from(error: mcap::McapError) -> Self {
        match error {
            mcap::McapError::Io(error) => Error::Output(error),
            other => Error::Mcap(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Store(error) => error.fmt(f),
            Error::Output(error) => write!(f, "output: {error}"),
            Error::Channels { limit, found } => write!(
                f,
                "MCAP: expected at most {limit} series and channels in one file, found {found}; \
                 select some, or export to CSV"
            ),
            Error::Mcap(error) => write!(f, "MCAP: {error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Output(error) => Some(error),
            _ => None,
        }
    }
}
