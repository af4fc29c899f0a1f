//! Why a query has no answer.

use std::fmt;

/// Why a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// It is not PromQL: what the parser says.
    Parse(String),
    /// It is PromQL, and not answered here: what of it is not.
    Unsupported(String),
    /// It has no answer for these series, as Prometheus says too.
    Execution(String),
    /// It needs more values than it may have.
    TooMuch {
        /// Most values at once.
        limit: usize,
    },
    /// It has taken the time that it may: see [`Source::goes_on`](crate::Source::goes_on).
    Late,
    /// The source has no answer.
    Source(String),
}

/// A result with an error of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Parse(said) => write!(f, "this is no PromQL: {said}"),
            Error::Unsupported(what) => write!(f, "{what} is not answered here"),
            Error::Execution(said) | Error::Source(said) => f.write_str(said),
            Error::Late => f.write_str("the query takes longer than it may"),
            Error::TooMuch { limit } => write!(
                f,
                "the query needs more than {limit} values at once: ask for fewer series, a shorter \
                 range or longer steps"
            ),
        }
    }
}

impl std::error::Error for Error {}

pub(crate) fn unsupported<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Unsupported(what.into()))
}

pub(crate) fn execution<T>(said: impl Into<String>) -> Result<T> {
    Err(Error::Execution(said.into()))
}
