//! Why bandwidth cannot be shared: what, where, and what to do.

use std::fmt;

/// An error of sharing.
#[derive(Debug)]
#[non_exhaustive]
pub enum ShareError {
    /// The operating system refused.
    System(baro_sys::Error),
    /// A setting, or the journal of settings.
    Settings(baro_tune::Error),
    /// This machine or this request is not fit; nothing was changed for it.
    Refused(String),
    /// A command that was to run in a group cannot be started.
    NotStarted {
        /// Which.
        program: std::ffi::OsString,
        /// Why.
        why: std::io::Error,
    },
}

impl ShareError {
    /// Whether another owner has the settings, who will end.
    #[must_use]
    pub fn is_claimed(&self) -> bool {
        matches!(self, Self::Settings(baro_tune::Error::Claimed { .. }))
    }
}

impl fmt::Display for ShareError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => error.fmt(out),
            Self::Settings(error) => error.fmt(out),
            Self::Refused(reason) => out.write_str(reason),
            Self::NotStarted { program, why } => {
                write!(out, "cannot start {}: {why}", program.to_string_lossy())
            }
        }
    }
}

impl std::error::Error for ShareError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::System(error) => Some(error),
            Self::Settings(error) => Some(error),
            Self::Refused(_) => None,
            Self::NotStarted { why, .. } => Some(why),
        }
    }
}

impl From<baro_sys::Error> for ShareError {
    fn from(error: baro_sys::Error) -> Self {
        Self::System(error)
    }
}

impl From<baro_tune::Error> for ShareError {
    fn from(error: baro_tune::Error) -> Self {
        Self::Settings(error)
    }
}
