//! Stand-in where syscall user dispatch does not exist: the constructor says so.
//!
//! Invariant: a counter cannot be had, so a count of zero is never claimed without a count.

use std::io;

/// Counts the system calls of one thread; not to be had on this architecture.
#[derive(Debug)]
pub struct SyscallCounter {
    never: std::convert::Infallible,
}

impl SyscallCounter {
    /// Always `ErrorKind::Unsupported` here.
    ///
    /// # Errors
    /// Always.
    pub fn new() -> io::Result<Self> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "syscall user dispatch is used on x86_64 only; count with strace -c instead",
        ))
    }

    /// Unreachable: no counter exists.
    pub fn arm(&self) {
        match self.never {}
    }

    /// Unreachable: no counter exists.
    #[must_use]
    pub fn disarm(&self) -> u64 {
        match self.never {}
    }

    /// Unreachable: no counter exists.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        match self.never {}
    }
}
