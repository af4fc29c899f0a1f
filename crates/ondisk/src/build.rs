//! Builds a block in a buffer of the caller's: no allocation, one pass over the payload, the CRC
//! taken while the bytes are still in the cache. Format details: `docs/format.md`, "Block".

use crate::block::{BLOCK_HEADER_BYTES, BlockHeader, CHUNK_ENTRY_BYTES};
use crate::bytes::put;
use crate::limits::{
    BLOCK_BYTES_MAX, CHUNKS_MAX, RECORD_BYTES_MAX, RECORD_HEAD_BYTES_MAX, UNIT_BYTES,
    round_up_to_unit,
};
use crate::record::{SAME_LENGTH, SAME_STREAM};
use crate::section::Encoded;
use crate::varint::{put_varint, zigzag};
use crate::{Gap, Kind, crc32c};
use alloc::vec::Vec;

/// Bytes after which the CRC catches up: small enough for the first-level cache.
const CRC_STEP_BYTES: usize = 16 << 10;

#[derive(Clone, Copy, Debug)]
struct Entry {
    producer: u64,
    first_sequence: u64,
    base_time_ns: i64,
    records: u32,
    body_start: usize,
}

/// A block under construction. One builder serves for many blocks: its chunk table is allocated
/// once, for the format's limit.
#[derive(Debug)]
pub struct BlockBuilder {
    entries: Vec<Entry>,
    chunks_max: usize,
    at: usize,
    crc: u32,
    crc_at: usize,
    records: u32,
    /// Kinds of the records in the bodies, a bit each.
    kinds: u32,
    time_min_ns: i64,
    time_max_ns: i64,
    /// What the section of the samples moved so far may take.
    reserved_bytes: usize,
    /// Once the section is there; nothing is added behind it.
    section_bytes: Option<usize>,
    next_sequence: u64,
    time_ns: i64,
    stream: u32,
    length: usize,
}

impl BlockBuilder {
    /// A builder whose blocks hold at most `chunks_max` chunks (capped by the format's limit).
    #[must_use]
    pub fn new(chunks_max: usize) -> Self {
        let chunks_max = chunks_max.clamp(1, CHUNKS_MAX);
        let mut builder = BlockBuilder {
            entries: Vec::with_capacity(chunks_max),
            chunks_max,
            at: 0,
            crc: 0,
            crc_at: 0,
            records: 0,
            kinds: 0,
            time_min_ns: 0,
            time_max_ns: 0,
            reserved_bytes: 0,
            section_bytes: None,
            next_sequence: 0,
            time_ns: 0,
            stream: 0,
            length: 0,
        };
        builder.clear();
        builder
    }

    /// Starts a new block.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.at = BLOCK_HEADER_BYTES;
        self.crc = 0;
        self.crc_at = BLOCK_HEADER_BYTES;
        self.records = 0;
        self.kinds = 0;
        self.time_min_ns = i64::MAX;
        self.time_max_ns = i64::MIN;
        self.reserved_bytes = 0;
        self.section_bytes = None;
    }

    /// Whether no record has been added.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records == 0
    }

    /// Earliest time in it so far.
    #[must_use]
    pub fn time_min_ns(&self) -> i64 {
        self.time_min_ns
    }

    /// Bytes used so far, header and chunk table included, padding not.
    #[must_use]
    pub fn used_bytes(&self) -> usize {
        self.at + self.entries.len() * CHUNK_ENTRY_BYTES
    }

    /// Adds a record of `length` payload bytes, which `fill` copies to the place that it is given.
    /// Returns false, with nothing changed, if the record does not fit into `block` any more.
    #[allow(clippy::too_many_arguments, reason = "the fields of a record, used in one place")]
    #[inline]
    pub fn push(
        &mut self,
        block: &mut [u8],
        producer: u64,
        kind: Kind,
        stream: u32,
        sequence: u64,
        time_ns: i64,
        length: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> bool {
        let same_chunk = matches!(self.entries.last(),
            Some(last) if last.producer == producer && self.next_sequence == sequence);
        let chunks = self.entries.len() + usize::from(!same_chunk);
        let table = chunks * CHUNK_ENTRY_BYTES;
        let needed = self.at + RECORD_HEAD_BYTES_MAX + length + self.reserved_bytes + table;
        if needed > block.len().min(BLOCK_BYTES_MAX)
            || self.section_bytes.is_some()
            || chunks > self.chunks_max
            || length > RECORD_BYTES_MAX
        {
            return false;
        }
        let mut head = kind as u8;
        let base = if same_chunk {
            head |= if stream == self.stream { SAME_STREAM } else { 0 };
            head |= if length == self.length { SAME_LENGTH } else { 0 };
            self.time_ns
        } else {
            time_ns
        };
        let start = self.at;
        let Some(end) = put_head(block, start, head, base, time_ns, stream, length) else {
            return false;
        };
        let Some(place) = block.get_mut(end..end + length) else { return false };
        fill(place);
        let consumed =
            if kind == Kind::Gap { Gap::decode(place).map_or(1, |g| g.lost()) } else { 1 };
        if same_chunk {
            if let Some(last) = self.entries.last_mut() {
                last.records += 1;
            }
        } else {
            let entry = Entry {
                producer,
                first_sequence: sequence,
                base_time_ns: time_ns,
                records: 1,
                body_start: start,
            };
            self.entries.push(entry);
        }
        self.at = end + length;
        self.records += 1;
        self.kinds |= 1 << kind as u32;
        self.next_sequence = sequence.wrapping_add(consumed);
        self.time_ns = time_ns;
        self.stream = stream;
        self.length = length;
        self.time_min_ns = self.time_min_ns.min(time_ns);
        self.time_max_ns = self.time_max_ns.max(time_ns);
        if self.at - self.crc_at >= CRC_STEP_BYTES {
            self.catch_up(block);
        }
        true
    }

    /// Adds a record whose `count` samples go to the block's section, for which `reserve_bytes`
    /// are kept free in all. Returns false, with nothing changed, if it does not fit any more.
    #[allow(clippy::too_many_arguments, reason = "the fields of a record, used in one place")]
    pub fn push_moved(
        &mut self,
        block: &mut [u8],
        producer: u64,
        sequence: u64,
        time_ns: i64,
        count: u32,
        reserve_bytes: usize,
    ) -> bool {
        let mut payload = [0; 10];
        let Some(length) = put_varint(&mut payload, 0, u64::from(count)) else { return false };
        let fill = |to: &mut [u8]| to.copy_from_slice(payload.get(..length).unwrap_or(&[]));
        let before = core::mem::replace(&mut self.reserved_bytes, reserve_bytes);
        let taken = self.push(block, producer, Kind::Moved, 0, sequence, time_ns, length, fill);
        if !taken {
            self.reserved_bytes = before;
        }
        taken
    }

    /// Puts the section of the samples that were moved behind the bodies: `fill` writes it to the
    /// start of the room that it is given, and returns what it has made. Nothing is added to the
    /// block afterwards. False if `fill` has made nothing, or the section is there already.
    pub fn put_section(
        &mut self,
        block: &mut [u8],
        fill: impl FnOnce(&mut [u8]) -> Option<Encoded>,
    ) -> bool {
        let table = self.entries.len() * CHUNK_ENTRY_BYTES;
        let end = block.len().min(BLOCK_BYTES_MAX).saturating_sub(table);
        let Some(room) = block.get_mut(self.at..end) else { return false };
        if self.section_bytes.is_some() {
            return false;
        }
        let Some(made) = fill(room).filter(|made| made.bytes <= room.len()) else { return false };
        self.section_bytes = Some(made.bytes);
        self.reserved_bytes = 0;
        self.at += made.bytes;
        self.time_min_ns = self.time_min_ns.min(made.time_min_ns);
        self.time_max_ns = self.time_max_ns.max(made.time_max_ns);
        true
    }

    /// Whether the section is there.
    #[must_use]
    pub fn has_section(&self) -> bool {
        self.section_bytes.is_some()
    }

    fn catch_up(&mut self, block: &[u8]) {
        self.crc = crc32c(self.crc, block.get(self.crc_at..self.at).unwrap_or(&[]));
        self.crc_at = self.at;
    }

    /// Writes chunk table, header and padding. `header` gives identity, sequence, durable, clocks,
    /// previous CRC and the session's padding so far; the rest is filled in. Returns the finished
    /// header; the block is `block[..header.block_bytes()]`.
    pub fn finish(&mut self, block: &mut [u8], mut header: BlockHeader) -> BlockHeader {
        let section_bytes = self.section_bytes.unwrap_or(0);
        let bodies_end = self.at - section_bytes;
        header.body_bytes = (bodies_end - BLOCK_HEADER_BYTES) as u32;
        header.section_bytes = section_bytes as u32;
        for index in 0..self.entries.len() {
            let Some(entry) = self.entries.get(index).copied() else { break };
            let body_end = self.entries.get(index + 1).map_or(bodies_end, |next| next.body_start);
            let at = self.at;
            put(block, at, &entry.producer.to_le_bytes());
            put(block, at + 8, &entry.first_sequence.to_le_bytes());
            put(block, at + 16, &entry.base_time_ns.to_le_bytes());
            put(block, at + 24, &entry.records.to_le_bytes());
            put(block, at + 28, &((body_end - entry.body_start) as u32).to_le_bytes());
            self.at += CHUNK_ENTRY_BYTES;
        }
        self.catch_up(block);
        header.records = self.records;
        header.no_samples = self.kinds & (1 << Kind::Samples as u32) == 0;
        header.no_texts = self.kinds & (1 << Kind::Text as u32) == 0;
        header.chunks = self.entries.len() as u32;
        header.time_min_ns = self.time_min_ns;
        header.time_max_ns = self.time_max_ns;
        header.payload_crc = self.crc;
        let whole = round_up_to_unit(self.at);
        header.padding_bytes += (whole - self.at) as u64;
        if let Some(padding) = block.get_mut(self.at..whole) {
            padding.fill(0);
        }
        header.crc = header.encode(block);
        self.clear();
        header
    }
}

/// Writes the mark at the end of a session, a block without records, to the first unit of `block`.
/// `header` as for [`BlockBuilder::finish`], all blocks before it durable; returns the finished one.
pub fn end_mark(block: &mut [u8], header: BlockHeader) -> BlockHeader {
    let padding_bytes = (UNIT_BYTES - BLOCK_HEADER_BYTES) as u64;
    let mut header = BlockHeader {
        durable: header.sequence,
        time_min_ns: i64::MAX,
        time_max_ns: i64::MIN,
        padding_bytes: header.padding_bytes + padding_bytes,
        ..header
    };
    if let Some(unit) = block.get_mut(..UNIT_BYTES) {
        unit.fill(0);
    }
    header.payload_crc = crc32c(0, &[]);
    header.crc = header.encode(block);
    header
}

/// Writes the head of a record and returns the offset of its payload.
#[inline]
fn put_head(
    block: &mut [u8],
    at: usize,
    head: u8,
    base_ns: i64,
    time_ns: i64,
    stream: u32,
    length: usize,
) -> Option<usize> {
    *block.get_mut(at)? = head;
    let mut at = put_varint(block, at + 1, zigzag(time_ns.wrapping_sub(base_ns)))?;
    if head & SAME_STREAM == 0 {
        at = put_varint(block, at, u64::from(stream))?;
    }
    if head & SAME_LENGTH == 0 {
        at = put_varint(block, at, length as u64)?;
    }
    Some(at)
}

#[cfg(test)]
mod tests;
