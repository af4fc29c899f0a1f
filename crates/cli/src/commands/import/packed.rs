//! What gzip has packed. Several members one after another are one file, as gzip has it; memory is that of
//! its window.
//!
//! Whether bytes are those that were packed is known at the end of a member alone. So a file is read once before
//! anything of it is taken ([`check`]).
//!
//! Invariant: what stands behind the last member is never passed over, unless it is zeros, with which tapes
//! and disks fill up. Held by `what_gzip_has_packed_is_read_and_a_torn_one_is_told` (`tests/text_forms.rs`).

use baro_sys::{files, termination};
use flate2::bufread::GzDecoder;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result};
use std::path::Path;

/// With what a member begins.
const MAGIC: u8 = 0x1f;

#[derive(Debug)]
pub(super) struct Members<R> {
    /// None at the end.
    member: Option<GzDecoder<BufReader<R>>>,
    /// Members that were read whole.
    read: u64,
}

impl<R: Read> Members<R> {
    pub(super) fn new(input: R) -> Self {
        Members { member: Some(GzDecoder::new(BufReader::new(input))), read: 0 }
    }

    /// What comes behind a member: the next one, or nothing.
    fn next(&self, input: &mut BufReader<R>) -> Result<bool> {
        loop {
            let behind = input.fill_buf()?;
            match behind.iter().find(|byte| **byte != 0) {
                // Behind zeros there is no member: each begins where the one before ends.
                Some(&MAGIC) if behind.first() == Some(&MAGIC) => return Ok(true),
                None if behind.is_empty() => return Ok(false),
                None => {
                    let zeros = behind.len();
                    input.consume(zeros);
                }
                Some(other) => {
                    let read = self.read;
                    let said = format!(
                        "expected the end or another part packed by gzip behind {read} of them, found a \
                         byte {other:#04x}: what follows is not read (it was damaged, or written behind it \
                         without gzip); all before it was"
                    );
                    return Err(Error::new(ErrorKind::InvalidData, said));
                }
            }
        }
    }
}

fn cut_off(error: Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => {
            let said = "expected the rest of what gzip has packed, found the end: it was cut off";
            Error::new(ErrorKind::UnexpectedEof, said)
        }
        _ => error,
    }
}

/// Fails if the file is damaged: its checksum comes behind what it is of. One that is cut off, or has something
/// else behind it, is told where it is read. What comes out of a pipe comes once, and is not looked at.
pub(super) fn check(path: &Path) -> Result<()> {
    if !files::is_regular(path) {
        return Ok(());
    }
    let mut input = Members::new(files::open(path)?);
    let mut piece = vec![0; 256 << 10];
    loop {
        match input.read(&mut piece) {
            Ok(read) if read > 0 && termination::requested().is_none() => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if is_damage(&error) => return Err(error),
            Ok(_) | Err(_) => return Ok(()),
        }
    }
}

/// Whether this is what the library says of bytes that were not packed so.
pub(super) fn is_damage(error: &Error) -> bool {
    error.kind() == ErrorKind::InvalidInput
}

impl<R: Read> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(into).map_err(cut_off)?;
            if read > 0 || into.is_empty() {
                return Ok(read);
            }
            self.read += 1;
            let Some(member) = self.member.take() else { break };
            let mut input = member.into_inner();
            if self.next(&mut input)? {
                self.member = Some(GzDecoder::new(input));
            }
        }
        Ok(0)
    }
}
