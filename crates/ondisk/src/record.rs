//! Records in the body of a chunk, as they are read: a few bytes of head, then the payload.

use crate::bytes::u64_at;
use crate::limits::{RECORD_BYTES_MAX, SECTION_SAMPLES_MAX, TEXT_BYTES_MAX};
use crate::varint::{unzigzag, varint_at};
use crate::{Error, What};
use core::fmt;

/// What a record carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Bytes of a channel.
    Frame = 1,
    /// A batch of samples.
    Samples = 2,
    /// Records that were lost.
    Gap = 3,
    /// The realtime clock was stepped.
    Clock = 4,
    /// A series or channel, in the catalog.
    Declare = 5,
    /// A batch of samples that lies in the block's section; the payload is their number.
    Moved = 6,
    /// A sample of a text series; the stream is the series.
    Text = 7,
}

impl Kind {
    /// The kind with this number in `docs/format.md`.
    #[must_use]
    #[inline]
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            1 => Kind::Frame,
            2 => Kind::Samples,
            3 => Kind::Gap,
            4 => Kind::Clock,
            5 => Kind::Declare,
            6 => Kind::Moved,
            7 => Kind::Text,
            _ => return None,
        })
    }
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// What it carries.
    pub kind: Kind,
    /// Channel of a frame, else 0.
    pub stream: u32,
    /// Number of the record among those of its producer.
    pub sequence: u64,
    /// Time given by the producer.
    pub time_ns: i64,
    /// The bytes.
    pub payload: &'a [u8],
}

impl Record<'_> {
    /// How many samples of this record lie in the block's section.
    ///
    /// # Errors
    /// It is of another kind, or its payload is no number from 1 to the samples of a section.
    pub fn moved(&self) -> Result<u32, Error> {
        let found = varint_at(self.payload, 0)
            .filter(|(_, end)| self.kind == Kind::Moved && *end == self.payload.len());
        let (count, _) = found.ok_or(Error::Truncated {
            what: What::Moved,
            offset: 0,
            expected: 1,
            found: self.payload.len() as u64,
        })?;
        let limit = SECTION_SAMPLES_MAX as u64;
        if !(1..=limit).contains(&count) {
            let (what, field, found) = (What::Moved, "samples", count);
            return Err(Error::OutOfRange { what, field, offset: 0, limit, found });
        }
        Ok(count as u32)
    }

    /// Sequence of the record after this one: a gap consumes as many as it stands for.
    #[must_use]
    #[inline]
    pub fn next_sequence(&self) -> u64 {
        let consumed = match self.kind {
            Kind::Gap => Gap::decode(self.payload).map_or(1, |gap| gap.lost()),
            _ => 1,
        };
        self.sequence.wrapping_add(consumed)
    }
}

/// Records lost, by cause: the payload of a gap record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    /// Refused because the ring was full.
    pub ring_full: u64,
    /// Refused because they were larger than the ring takes.
    pub too_large: u64,
    /// Discarded by the writer: the ring's contents were not valid, or of another type than their series.
    pub damaged: u64,
    /// Missing without a cause that was counted.
    pub unknown: u64,
}

/// The counts that are not 0, each with its cause.
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut comma = "";
        for (count, cause) in [
            (self.ring_full, "while the ring was full"),
            (self.too_large, "too large"),
            (self.damaged, "damaged in the ring or of another type than their series"),
            (self.unknown, "for a reason that was not counted"),
        ] {
            if count > 0 {
                write!(f, "{comma}{count} {cause}")?;
                comma = ", ";
            }
        }
        Ok(())
    }
}

impl Gap {
    /// Bytes of the encoded form.
    pub const BYTES: usize = 32;

    /// Records lost in all; saturating, since the counts may come from a hostile file.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.ring_full
            .saturating_add(self.too_large)
            .saturating_add(self.damaged)
            .saturating_add(self.unknown)
    }

    /// The payload of the gap record.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let counts = [self.ring_full, self.too_large, self.damaged, self.unknown];
        for (place, count) in bytes.chunks_exact_mut(8).zip(counts) {
            place.copy_from_slice(&count.to_le_bytes());
        }
        bytes
    }

    /// Reads the payload of a gap record.
    ///
    /// # Errors
    /// The length is not [`Gap::BYTES`].
    pub fn decode(payload: &[u8]) -> Result<Self, Error> {
        if payload.len() != Self::BYTES {
            return Err(Error::Truncated {
                what: What::Gap,
                offset: 0,
                expected: Self::BYTES as u64,
                found: payload.len() as u64,
            });
        }
        Ok(Gap {
            ring_full: u64_at(payload, 0),
            too_large: u64_at(payload, 8),
            damaged: u64_at(payload, 16),
            unknown: u64_at(payload, 24),
        })
    }
}

pub(crate) const SAME_STREAM: u8 = 1 << 3;
pub(crate) const SAME_LENGTH: u8 = 1 << 4;

/// Iterator over the records of a chunk; ends after the first error. A chunk that holds fewer or
/// more bytes than its count of records takes is an error too.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    body: &'a [u8],
    at: usize,
    left: u32,
    sequence: u64,
    time_ns: i64,
    stream: u32,
    length: Option<usize>,
    offset: u64,
    failed: bool,
}

impl<'a> Records<'a> {
    pub(crate) fn new(body: &'a [u8], left: u32, sequence: u64, time_ns: i64, offset: u64) -> Self {
        let (at, stream, length, failed) = (0, 0, None, false);
        Records { body, at, left, sequence, time_ns, stream, length, offset, failed }
    }

    #[inline]
    fn read(&mut self) -> Result<Record<'a>, Error> {
        let error = |field, at: usize, limit, found| Error::OutOfRange {
            what: What::Record,
            field,
            offset: self.offset + at as u64,
            limit,
            found,
        };
        let short = |at: usize| Error::Truncated {
            what: What::Record,
            offset: self.offset + at as u64,
            expected: 1,
            found: 0,
        };
        let start = self.at;
        let head = *self.body.get(start).ok_or_else(|| short(start))?;
        let kind = Kind::from_number(head & 7)
            .filter(|_| head >> 5 == 0)
            .ok_or_else(|| error("head", start, 0x1f, u64::from(head)))?;
        let (delta, mut at) =
            varint_at(self.body, start + 1).ok_or_else(|| error("time", start + 1, 0, 0))?;
        let mut stream = self.stream;
        if head & SAME_STREAM == 0 {
            let (value, next) =
                varint_at(self.body, at).ok_or_else(|| error("stream", at, 0, 0))?;
            stream = u32::try_from(value)
                .map_err(|_| error("stream", at, u64::from(u32::MAX), value))?;
            at = next;
        }
        let length = match self.length {
            Some(length) if head & SAME_LENGTH != 0 => length,
            None if head & (SAME_LENGTH | SAME_STREAM) != 0 => {
                return Err(error("head of the first record", start, 7, u64::from(head)));
            }
            _ => {
                let (value, next) =
                    varint_at(self.body, at).ok_or_else(|| error("length", at, 0, 0))?;
                at = next;
                usize::try_from(value)
                    .ok()
                    .filter(|length| *length <= RECORD_BYTES_MAX)
                    .ok_or_else(|| error("length", at, RECORD_BYTES_MAX as u64, value))?
            }
        };
        let payload = self.body.get(at..at + length).ok_or_else(|| {
            error("length", at, (self.body.len() - at.min(self.body.len())) as u64, length as u64)
        })?;
        self.at = at + length;
        self.time_ns = self.time_ns.wrapping_add(unzigzag(delta));
        self.stream = stream;
        self.length = Some(length);
        let record =
            Record { kind, stream, sequence: self.sequence, time_ns: self.time_ns, payload };
        if kind == Kind::Gap {
            Gap::decode(payload)?;
        }
        self.sequence = record.next_sequence();
        Ok(record)
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        if self.left == 0 {
            if self.at == self.body.len() {
                return None;
            }
            self.failed = true;
            return Some(Err(Error::Mismatch {
                what: What::Record,
                field: "body bytes",
                offset: self.offset + self.at as u64,
                expected: self.at as u64,
                found: self.body.len() as u64,
            }));
        }
        self.left -= 1;
        let record = self.read();
        self.failed = record.is_err();
        Some(record)
    }
}

/// The text of a text record.
///
/// # Errors
/// It is longer than a text may be, or not UTF-8.
pub fn text(payload: &[u8]) -> Result<&str, Error> {
    if payload.len() > TEXT_BYTES_MAX {
        let (what, field, found) = (What::Text, "length", payload.len() as u64);
        let limit = TEXT_BYTES_MAX as u64;
        return Err(Error::OutOfRange { what, field, offset: 0, limit, found });
    }
    core::str::from_utf8(payload)
        .map_err(|error| Error::NotUtf8 { what: What::Text, offset: error.valid_up_to() as u64 })
}
