//! How a command ends: the exit codes of the contract, and failures with their sentence.

use std::fmt;
use std::process::ExitCode;

/// A command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it.
    Done,
    /// But data was lost, or a stated claim was not met.
    Lost,
}

impl Outcome {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Outcome::Done => 0,
            Outcome::Lost => 3,
        })
    }

    /// [`Outcome::Lost`] if `lost`.
    #[must_use]
    pub fn lost_if(lost: bool) -> Self {
        if lost { Outcome::Lost } else { Outcome::Done }
    }
}

/// A command that could not do its work.
#[derive(Debug)]
pub struct Failure(Box<dyn std::error::Error + Send + Sync>);

/// What a command returns.
pub type Result<T> = std::result::Result<T, Failure>;

impl<E: Into<Box<dyn std::error::Error + Send + Sync>>> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure(error.into())
    }
}

impl Failure {
    /// The library's error behind it, if it is of this kind.
    #[must_use]
    pub fn cause<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }

    /// The reader of our output has gone: nothing to say, and nobody to say it to.
    #[must_use]
    pub fn is_broken_pipe(&self) -> bool {
        if let Some(error) = self.cause::<serde_json::Error>() {
            return error.io_error_kind() == Some(std::io::ErrorKind::BrokenPipe);
        }
        let found = self.cause::<std::io::Error>();
        found.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
