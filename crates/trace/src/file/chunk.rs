//! Chunks: the frame around everything in a trace file, and its checksum.
//!
//! Invariant: a chunk is taken only as a whole, at the place it was written for; nothing is
//! allocated beyond [`PAYLOAD_BYTES_MAX`]. Held by `every_flipped_bit_is_found`.

use crate::error::{Error, Result};
use std::io::{ErrorKind, Read};

pub(super) const MAGIC: [u8; 8] = *b"BAROTRC1";
pub(super) const VERSION: u16 = 1;
/// Bytes of the file before the first chunk.
pub(super) const HEADER_BYTES: usize = 16;
/// Bytes of a chunk before its payload.
pub(super) const CHUNK_BYTES: usize = 16;
/// The largest payload.
pub(super) const PAYLOAD_BYTES_MAX: usize = 1 << 20;

pub(super) const MACHINE: u8 = 1;
pub(super) const HEADER_PAGE: u8 = 2;
pub(super) const HEADER_EVENT: u8 = 3;
pub(super) const FORMAT: u8 = 4;
pub(super) const PAGE: u8 = 5;
pub(super) const TASKS: u8 = 6;
pub(super) const DEVICES: u8 = 7;
pub(super) const LOSSES: u8 = 8;
pub(super) const END: u8 = 9;
pub(super) const SYMBOLS: u8 = 10;
pub(super) const FACTS: u8 = 11;
/// Kinds from here on are passed over by readers that do not know them.
pub(super) const OPTIONAL_FROM: u8 = 128;

/// The beginning of the file.
pub(super) fn file_header() -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    let crc = crc32c::crc32c(&header[..12]);
    header[12..].copy_from_slice(&crc.to_le_bytes());
    header
}

/// Checks the beginning of the file.
pub(super) fn check_file_header(header: &[u8; HEADER_BYTES]) -> Result<()> {
    let number = |from: usize, to: usize| {
        header[from..to].iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let mismatch = |field, offset_bytes, expected, found| {
        Err(Error::File { field, offset_bytes, expected, found })
    };
    if header[..8] != MAGIC {
        return mismatch("magic", 0, u64::from_le_bytes(MAGIC), number(0, 8));
    }
    let crc = crc32c::crc32c(&header[..12]);
    if number(12, 16) != u64::from(crc) {
        return mismatch("CRC of the header", 12, u64::from(crc), number(12, 16));
    }
    if number(8, 10) != u64::from(VERSION) {
        return mismatch("version", 8, u64::from(VERSION), number(8, 10));
    }
    if number(10, 12) != 0 {
        return mismatch("byte order", 10, 0, number(10, 12));
    }
    Ok(())
}

/// Puts a chunk into `buffer`, which it empties first; `offset` is its place in the file.
pub(super) fn encode(buffer: &mut Vec<u8>, offset: u64, kind: u8, cpu: u32, parts: &[&[u8]]) {
    buffer.clear();
    buffer.extend([kind, 0, 0, 0]);
    buffer.extend(cpu.to_le_bytes());
    let bytes: usize = parts.iter().map(|part| part.len()).sum();
    buffer.extend((bytes as u32).to_le_bytes());
    let crc = crc32c::crc32c_append(crc32c::crc32c(&offset.to_le_bytes()), buffer);
    let crc = parts.iter().fold(crc, |crc, part| crc32c::crc32c_append(crc, part));
    buffer.extend(crc.to_le_bytes());
    parts.iter().for_each(|part| buffer.extend_from_slice(part));
}

/// The frame of a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) kind: u8,
    pub(super) cpu: u32,
    pub(super) payload_bytes: usize,
}

/// What was found where a chunk should be.
#[derive(Debug)]
pub(super) enum Found {
    /// A whole chunk, its payload in the buffer.
    Chunk(Head),
    /// The end of the file.
    Nothing,
    /// Something else.
    Torn(Error),
}

/// Reads the chunk at `offset`, where `input` stands, into `payload`.
///
/// # Errors
/// [`Error::Io`]: those of reading.
pub(super) fn read(input: &mut impl Read, offset: u64, payload: &mut Vec<u8>) -> Result<Found> {
    let mut bytes = [0; CHUNK_BYTES];
    let length = fill(input, &mut bytes, offset)?;
    if length == 0 {
        return Ok(Found::Nothing);
    }
    let torn = |field, at: u64, expected: u64, found: u64| {
        let offset_bytes = offset + at;
        Ok(Found::Torn(Error::File { field, offset_bytes, expected, found }))
    };
    if length < CHUNK_BYTES {
        return torn("chunk", 0, CHUNK_BYTES as u64, length as u64);
    }
    let word = |at: usize| {
        bytes[at..at + 4].iter().rev().fold(0_u32, |value, byte| value << 8 | u32::from(*byte))
    };
    let payload_bytes = word(8) as usize;
    if payload_bytes > PAYLOAD_BYTES_MAX {
        return torn("bytes of the payload", 8, PAYLOAD_BYTES_MAX as u64, payload_bytes as u64);
    }
    payload.resize(payload_bytes, 0);
    let length = fill(input, payload, offset)?;
    if length < payload_bytes {
        return torn("payload", CHUNK_BYTES as u64, payload_bytes as u64, length as u64);
    }
    let crc = crc32c::crc32c_append(crc32c::crc32c(&offset.to_le_bytes()), &bytes[..12]);
    let crc = crc32c::crc32c_append(crc, payload);
    if crc != word(12) {
        return torn("CRC of the chunk", 12, u64::from(crc), u64::from(word(12)));
    }
    if bytes[1..4] != [0; 3] {
        return torn("kind", 0, u64::from(bytes[0]), u64::from(word(0)));
    }
    Ok(Found::Chunk(Head { kind: bytes[0], cpu: word(4), payload_bytes }))
}

/// Reads until `buffer` is full or the input ends; says how much.
fn fill(input: &mut impl Read, buffer: &mut [u8], offset_bytes: u64) -> Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match input.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(bytes) => length += bytes,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(source) => return Err(Error::Io { what: "read", offset_bytes, source }),
        }
    }
    Ok(length)
}
