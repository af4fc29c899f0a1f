//! The kernel's log, `/dev/kmsg`: what is in it now, a record for each read.
//!
//! Invariant: it is read to its end and not waited at; a record that was overwritten meanwhile is passed
//! over. Held by `the_log_is_read_to_its_end`.
#![allow(clippy::disallowed_methods, reason = "this crate is the door to the OS")]

use crate::{Error, Result};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Where it is.
pub const PATH: &str = "/dev/kmsg";
/// The kernel's longest record: 1 KiB of text, each byte of which may be written as four, and its head.
const RECORD_BYTES_MAX: usize = 8 << 10;
/// A log has at most some hundred thousand records; who writes as fast as it is read does not keep us.
const RECORDS_MAX: usize = 4 << 20;

/// Hands out the records, the oldest first. Does not wait for new ones.
///
/// # Errors
/// The operating system's reason: most often that only root may read it.
pub fn read_kernel_log(mut take: impl FnMut(&[u8])) -> Result<()> {
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(PATH);
    let mut file = opened.map_err(|error| Error::new("open", Path::new(PATH), error))?;
    let mut record = vec![0; RECORD_BYTES_MAX];
    for _ in 0..RECORDS_MAX {
        match file.read(&mut record) {
            Ok(0) => break,
            Ok(bytes) => take(record.get(..bytes).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            // Records were overwritten before they were read; a signal came.
            Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::new("read", Path::new(PATH), error)),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_read_to_its_end() {
        let mut records = 0;
        match read_kernel_log(|record| {
            records += 1;
            assert!(record.contains(&b';'));
        }) {
            Ok(()) => assert!(records > 0),
            Err(error) => println!("skipped: {error}"),
        }
    }
}
