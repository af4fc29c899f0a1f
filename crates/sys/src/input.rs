//! Input that may come later or never: a pipe, a terminal, or a file.

use std::io::{Error, ErrorKind, Result};
use std::os::fd::{AsFd, AsRawFd};

/// Whether something can be read, its end included, waiting at most `timeout_ms` for it: a read does not block then,
/// unless another process is faster.
///
/// # Errors
/// The operating system's reason.
pub fn is_ready(input: impl AsFd, timeout_ms: u16) -> Result<bool> {
    let fd = input.as_fd().as_raw_fd();
    let mut wanted = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one structure, which outlives the call.
    match unsafe { libc::poll(&raw mut wanted, 1, timeout_ms.into()) } {
        found if found >= 0 => Ok(found > 0),
        _ => match Error::last_os_error() {
            error if error.kind() == ErrorKind::Interrupted => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_has_come_and_the_end_are_ready_and_nothing_else_is() {
        let (reader, mut writer) = std::io::pipe().expect("it can be made");
        assert!(!is_ready(&reader, 1).expect("it is open"));
        writer.write_all(b"x").expect("it is open");
        assert!(is_ready(&reader, 1).expect("it is open"));
        let (reader, writer) = std::io::pipe().expect("it can be made");
        drop(writer);
        assert!(is_ready(&reader, 1000).expect("it is open"));
    }
}
