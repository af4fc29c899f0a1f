//! How a command ends: the exit codes of the contract, and failures with their sentence.

use baro_sys::files;
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};

/// What a verb ends with that could not do its work.
pub const FAILED: u8 = 1;
/// The command line, or a file of settings, is wrong.
pub const USAGE: u8 = 2;
/// What a verb that runs a command ends with where it fails itself, its command not: a code of our own
/// would be taken for the command's. These three are those of env, nice and timeout.
pub const WRAPPER_FAILED: u8 = 125;
const NOT_RUNNABLE: u8 = 126;
const NOT_FOUND: u8 = 127;
/// What shells add to the signal that has ended a program.
const SIGNALLED: i32 = 128;

/// A command that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All of it.
    Done,
    /// But data was lost, or a stated claim was not met.
    Lost,
    /// The command that it was to run ended with this code, which is ours too.
    Command(u8),
}

impl Outcome {
    /// The exit code.
    #[must_use]
    pub fn code(self) -> ExitCode {
        ExitCode::from(match self {
            Outcome::Done => 0,
            Outcome::Lost => 3,
            Outcome::Command(code) => code,
        })
    }

    /// That of a command, as a shell has it: of one that a signal has ended 128 and the signal.
    #[must_use]
    pub fn of_command(status: ExitStatus) -> Self {
        let code = status.code().or(status.signal().map(|signal| SIGNALLED + signal));
        Outcome::Command(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
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

    /// The library's error and what is behind it, one after the other.
    pub fn causes(&self) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
        let first: &(dyn std::error::Error + 'static) = &*self.0;
        std::iter::successors(Some(first), |error| error.source())
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

/// What was typed cannot be meant, whatever is on the disk: the command line is wrong.
#[derive(Debug)]
pub struct Mistake(String);

impl Mistake {
    /// With what is wrong, and what was expected.
    #[must_use]
    pub fn new(said: impl Into<String>) -> Self {
        Mistake(said.into())
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Mistake {}

/// A command that could not be started.
#[derive(Debug)]
pub struct NotStarted {
    program: String,
    why: io::Error,
}

impl NotStarted {
    /// Of the program that was to run, and why it does not.
    #[must_use]
    pub fn new(program: &OsStr, why: io::Error) -> Self {
        NotStarted { program: program.to_string_lossy().into_owned(), why }
    }

    /// Looks for a program where it will be looked for when it is started, so that nothing is changed for one
    /// that is not there.
    ///
    /// # Errors
    /// It is surely not there.
    pub fn look_for(program: &OsStr) -> std::result::Result<(), Self> {
        let path = std::env::var_os("PATH");
        let is_there = match path {
            _ if program.as_bytes().contains(&b'/') => !files::is_absent(Path::new(program)),
            Some(path) => {
                std::env::split_paths(&path).any(|folder| !files::is_absent(&folder.join(program)))
            }
            None => true,
        };
        if is_there { Ok(()) } else { Err(Self::new(program, missing())) }
    }

    /// The exit code that says which of the two it is.
    #[must_use]
    pub fn code(&self) -> u8 {
        if self.why.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { NOT_RUNNABLE }
    }
}

/// What can be done where an address cannot be listened at; empty if that is said already, or unknown.
#[must_use]
pub fn of_address(error: &baro_sys::Error) -> &'static str {
    let address = error.path.to_string_lossy();
    let port = address.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another program listens there (ss -lunpt tells which), or it was given twice"
        }
        io::ErrorKind::AddrNotAvailable => {
            "; this machine has no such address: ip addr tells which it has"
        }
        io::ErrorKind::PermissionDenied if port.is_some_and(|port| port < 1024) => {
            "; ports below 1024 are for root: name one from 1024 on"
        }
        _ => "",
    }
}

/// What the operating system says of a file that is not there.
fn missing() -> io::Error {
    io::Error::from_raw_os_error(2)
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = match self.code() {
            NOT_FOUND => "a program of the PATH, or the path of one",
            _ => "a file that may be run",
        };
        write!(f, "cannot start {}: {}; expected {wanted}", self.program, self.why)
    }
}

impl std::error::Error for NotStarted {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.why)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_ends_us_with_its_own_code() {
        let ended = |raw| Outcome::of_command(ExitStatus::from_raw(raw));
        assert_eq!(ended(0), Outcome::Command(0));
        assert_eq!(ended(7 << 8), Outcome::Command(7));
        assert_eq!(ended(15), Outcome::Command(143));
        let code = |kind: io::ErrorKind| NotStarted::new("x".as_ref(), kind.into()).code();
        assert_eq!(code(io::ErrorKind::NotFound), 127);
        assert_eq!(code(io::ErrorKind::PermissionDenied), 126);
        let found = |program: &str| NotStarted::look_for(program.as_ref()).map_err(|e| e.code());
        assert_eq!((found("sh"), found("/bin/sh"), found("/etc/passwd")), (Ok(()), Ok(()), Ok(())));
        assert_eq!((found("no-such-program"), found("/no/such")), (Err(127), Err(127)));
    }
}
