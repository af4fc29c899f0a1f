//! Files of blktrace: one for each processor, records of fixed size with data behind them.
//!
//! The form is that of `linux/blktrace_api.h`: version 7 (`blk_io_trace`, 48 bytes), which all
//! kernels up to 6.18 write, and version 8 (`blk_io_trace2`, 64 bytes), made after the header alone.
//! Numbers have the byte order of the traced machine, which the magic tells. Requests are in records
//! of issue, completion, requeue and insertion; names of tasks in notes that come before a task's
//! first record; a remap says which partition or volume a piece came from and moves nothing.
//!
//! [`Reader`] reads one file, [`Merged`] those of all processors in the order of time.
//!
//! Invariant: any bytes are read up to the first that are no record, which is told with its place;
//! memory is bounded. Held by `cut_anywhere_what_is_before_is_read` and the fuzz target
//! `blk_blktrace`.

mod merge;
mod record;
#[cfg(test)]
mod tests;

pub use merge::{Merged, NAMES_MAX, TraceCounts};
pub use record::{Note, Record, What};

use record::{ByteOrder, Layout};
use std::fmt;
use std::io::{self, Read};

/// The upper three bytes of a record's first word.
const MAGIC: u32 = 0x6561_7400;
/// The most files of one trace: one for each processor.
pub const FILES_MAX: usize = 8_192;

/// Why a file of blktrace is not read further.
#[derive(Debug)]
#[non_exhaustive]
pub enum BlktraceError {
    /// There is no record where one should begin.
    Magic {
        /// Where, in bytes from the start of the file.
        offset_bytes: u64,
        /// What is there.
        found: u32,
    },
    /// Records of a version that is not known here.
    Version {
        /// Where.
        offset_bytes: u64,
        /// The version.
        found: u8,
    },
    /// The file ends in a record.
    Cut {
        /// Where the record begins.
        offset_bytes: u64,
        /// Its length in bytes.
        expected: usize,
        /// What there is of it, in bytes.
        found: usize,
    },
    /// The file could not be read.
    Io {
        /// Where.
        offset_bytes: u64,
        /// The system's answer.
        source: io::Error,
    },
}

impl fmt::Display for BlktraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Magic { offset_bytes, found } => write!(
                f,
                "blktrace file, magic at offset {offset_bytes}: expected 0x656174 and a version in \
                 either byte order, found {found:#010x}; text of blkparse is read by --blkparse"
            ),
            Self::Version { offset_bytes, found } => write!(
                f,
                "blktrace file, version at offset {offset_bytes}: expected 7 or 8, found {found}; \
                 convert it with that version's blkparse and read the text by --blkparse"
            ),
            Self::Cut { offset_bytes, expected, found } => write!(
                f,
                "blktrace file, record at offset {offset_bytes}: expected {expected} bytes, found \
                 {found}; it was cut off there"
            ),
            Self::Io { offset_bytes, source } => {
                write!(f, "cannot read the blktrace file at offset {offset_bytes}: {source}")
            }
        }
    }
}

impl std::error::Error for BlktraceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// Reads the records of one file, front to back.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    offset_bytes: u64,
    payload: Vec<u8>,
    ended: bool,
}

impl<R: Read> Reader<R> {
    /// A reader at the beginning of `input`, which should be buffered: each record is two or three
    /// small reads.
    pub fn new(input: R) -> Self {
        Self { input, offset_bytes: 0, payload: Vec::new(), ended: false }
    }

    fn step(&mut self) -> Result<Option<Record>, BlktraceError> {
        let begin = self.offset_bytes;
        let mut header = [0; Layout::LONGEST_BYTES];
        let (head, rest) = header.split_at_mut(4);
        let found = self.fill(head)?;
        let cut =
            |expected, found| Err(BlktraceError::Cut { offset_bytes: begin, expected, found });
        match found {
            0 => return Ok(None),
            4 => {}
            _ => return cut(Layout::V1.header_bytes, found),
        }
        let order = ByteOrder::of(head).ok_or(BlktraceError::Magic {
            offset_bytes: begin,
            found: ByteOrder::Little.u32(head, 0),
        })?;
        let version = (order.u32(head, 0) & 0xff) as u8;
        let layout = Layout::of(version)
            .ok_or(BlktraceError::Version { offset_bytes: begin, found: version })?;
        let rest = &mut rest[..layout.header_bytes - 4];
        let found = 4 + self.fill(rest)?;
        if found < layout.header_bytes {
            return cut(layout.header_bytes, found);
        }
        let payload_bytes = layout.payload_bytes(order, &header);
        let mut payload = std::mem::take(&mut self.payload);
        payload.resize(payload_bytes, 0);
        let found = self.fill(&mut payload);
        let record = Record::decode(&layout, order, &header, &payload);
        self.payload = payload;
        let found = found?;
        if found < payload_bytes {
            return cut(layout.header_bytes + payload_bytes, layout.header_bytes + found);
        }
        Ok(Some(record))
    }

    /// Reads as much as there is, at most all of `bytes`.
    fn fill(&mut self, bytes: &mut [u8]) -> Result<usize, BlktraceError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    let offset_bytes = self.offset_bytes + filled as u64;
                    return Err(BlktraceError::Io { offset_bytes, source });
                }
            }
        }
        self.offset_bytes += filled as u64;
        Ok(filled)
    }
}

/// The records, up to the end or what is none. Blocks as the input does.
impl<R: Read> Iterator for Reader<R> {
    type Item = Result<Record, BlktraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let found = self.step().transpose();
        self.ended = !matches!(found, Some(Ok(_)));
        found
    }
}
