//! A block as it is read: header, chunk table, bodies. The writer's side is `build`.

use crate::bytes::{array_at, i64_at, put, u16_at, u32_at, u64_at};
use crate::identity::{check_count, expect};
use crate::limits::{BLOCK_BYTES_MAX, CHUNKS_MAX, UNIT_BYTES, round_up_to_unit};
use crate::record::Records;
use crate::{Error, Kind, Link, Samples, Section, StoreId, What, crc32c};

/// Bytes of a block's header.
pub const BLOCK_HEADER_BYTES: usize = 128;
pub(crate) const CHUNK_ENTRY_BYTES: usize = 32;
const MAGIC: u32 = u32::from_le_bytes(*b"BBLK");
const VERSION: u16 = 1;
const CRC_OFFSET: usize = 124;
/// Records in order of arrival.
const PLAIN: u16 = 0;
/// The same, their samples in a section.
const SECTION: u16 = 1;

/// No body holds samples; older writers did not say so.
const NO_SAMPLES: u32 = 1;
/// No body holds a text; older writers did not say so.
const NO_TEXTS: u32 = 2;
/// The block says where the one with samples or texts before it is; older writers did not.
const LINKED: u32 = 4;
/// What a link says of times.
const IN_ORDER: u32 = 8;
/// Above this bit: how far back.
const BACK_SHIFT: u32 = 12;

/// Header of a block. `docs/format.md`, "Block".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct BlockHeader {
    /// The store the block belongs to.
    pub store: StoreId,
    /// Session that wrote it.
    pub session: u64,
    /// Epoch of its segment.
    pub epoch: u64,
    /// Number of the block in the session.
    pub sequence: u64,
    /// Every block of the session below this sequence was durable when this one was made.
    pub durable: u64,
    /// Earliest time of records, and of samples in the section; `i64::MAX` in a block without records.
    pub time_min_ns: i64,
    /// Latest such time; `i64::MIN` in a block without records.
    pub time_max_ns: i64,
    /// Realtime clock when the block was made.
    pub realtime_ns: i64,
    /// Boottime clock when the block was made.
    pub boottime_ns: i64,
    /// Records in all chunks.
    pub records: u32,
    /// Bytes of all bodies.
    pub body_bytes: u32,
    /// Bytes of the sample section; 0 if there is none.
    pub section_bytes: u32,
    /// Entries of the chunk table.
    pub chunks: u32,
    /// CRC of bodies, section and chunk table.
    pub payload_crc: u32,
    /// CRC field of the block before, or of the segment's header.
    pub previous_crc: u32,
    /// Bytes of padding in the session up to and with this block.
    pub padding_bytes: u64,
    /// No body holds samples: the section has them all. False if that is not said.
    pub no_samples: bool,
    /// No body holds a text. False if that is not said.
    pub no_texts: bool,
    /// The block before it in its segment that may have samples or texts. None if that is not said.
    pub link: Option<Link>,
    /// CRC of the header itself; filled when it is encoded and by [`BlockHeader::decode`].
    pub crc: u32,
}

impl BlockHeader {
    /// Writes the header, its CRC included, to the start of `block`; returns the CRC.
    pub(crate) fn encode(&self, block: &mut [u8]) -> u32 {
        put(block, 0, &MAGIC.to_le_bytes());
        put(block, 4, &VERSION.to_le_bytes());
        let encoding = if self.section_bytes == 0 { PLAIN } else { SECTION };
        put(block, 6, &encoding.to_le_bytes());
        put(block, 8, &self.store.0);
        put(block, 24, &self.session.to_le_bytes());
        put(block, 32, &self.epoch.to_le_bytes());
        put(block, 40, &self.sequence.to_le_bytes());
        put(block, 48, &self.durable.to_le_bytes());
        put(block, 56, &self.time_min_ns.to_le_bytes());
        put(block, 64, &self.time_max_ns.to_le_bytes());
        put(block, 72, &self.realtime_ns.to_le_bytes());
        put(block, 80, &self.boottime_ns.to_le_bytes());
        put(block, 88, &self.records.to_le_bytes());
        put(block, 92, &self.body_bytes.to_le_bytes());
        put(block, 96, &self.chunks.to_le_bytes());
        put(block, 100, &self.payload_crc.to_le_bytes());
        put(block, 104, &self.previous_crc.to_le_bytes());
        put(block, 108, &self.section_bytes.to_le_bytes());
        put(block, 112, &self.padding_bytes.to_le_bytes());
        let no_samples = if self.no_samples { NO_SAMPLES } else { 0 };
        let no_texts = if self.no_texts { NO_TEXTS } else { 0 };
        let link = self.link.map_or(0, |link| {
            let in_order = if link.in_order { IN_ORDER } else { 0 };
            LINKED | in_order | link.units_back.min(Link::BACK_MAX) << BACK_SHIFT
        });
        put(block, 120, &(no_samples | no_texts | link).to_le_bytes());
        let crc = crc32c(0, block.get(..CRC_OFFSET).unwrap_or(&[]));
        put(block, CRC_OFFSET, &crc.to_le_bytes());
        crc
    }

    /// Reads a header and checks it by itself; whether it belongs here is for [`crate::Scan`].
    ///
    /// # Errors
    /// Truncated, no block, of another version, damaged, or with counts outside the limits.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let what = What::Block;
        let Some(h) = array_at::<BLOCK_HEADER_BYTES>(bytes, 0) else {
            return Err(Error::Truncated {
                what,
                offset: bytes.len() as u64,
                expected: BLOCK_HEADER_BYTES as u64,
                found: bytes.len() as u64,
            });
        };
        expect(what, "magic", 0, u64::from(MAGIC), u64::from(u32_at(&h, 0)))?;
        expect(what, "version", 4, u64::from(VERSION), u64::from(u16_at(&h, 4)))?;
        let crc = crc32c(0, h.get(..CRC_OFFSET).unwrap_or(&[]));
        expect(what, "header CRC", 124, u64::from(crc), u64::from(u32_at(&h, CRC_OFFSET)))?;
        let encoding = u16_at(&h, 6);
        if encoding > SECTION {
            let (limit, found) = (u64::from(SECTION), u64::from(encoding));
            return Err(Error::OutOfRange { what, field: "encoding", offset: 6, limit, found });
        }
        let header = BlockHeader {
            store: StoreId(array_at(&h, 8).unwrap_or_default()),
            session: u64_at(&h, 24),
            epoch: u64_at(&h, 32),
            sequence: u64_at(&h, 40),
            durable: u64_at(&h, 48),
            time_min_ns: i64_at(&h, 56),
            time_max_ns: i64_at(&h, 64),
            realtime_ns: i64_at(&h, 72),
            boottime_ns: i64_at(&h, 80),
            records: u32_at(&h, 88),
            body_bytes: u32_at(&h, 92),
            section_bytes: if encoding == SECTION { u32_at(&h, 108) } else { 0 },
            chunks: u32_at(&h, 96),
            payload_crc: u32_at(&h, 100),
            previous_crc: u32_at(&h, 104),
            padding_bytes: u64_at(&h, 112),
            no_samples: u32_at(&h, 120) & NO_SAMPLES != 0,
            no_texts: u32_at(&h, 120) & NO_TEXTS != 0,
            link: (u32_at(&h, 120) & LINKED != 0).then(|| Link {
                units_back: u32_at(&h, 120) >> BACK_SHIFT,
                in_order: u32_at(&h, 120) & IN_ORDER != 0,
            }),
            crc,
        };
        let range = |field, offset, limit, found: u32| {
            let found = u64::from(found);
            if found <= limit {
                Ok(())
            } else {
                Err(Error::OutOfRange { what, field, offset, limit, found })
            }
        };
        range("chunks", 96, CHUNKS_MAX as u64, header.chunks)?;
        let room = BLOCK_BYTES_MAX - BLOCK_HEADER_BYTES - CHUNKS_MAX * CHUNK_ENTRY_BYTES;
        range("body bytes", 92, room as u64, header.body_bytes)?;
        let room = room as u64 - u64::from(header.body_bytes);
        range("section bytes", 108, room, header.section_bytes)?;
        // A record takes at least two bytes, so a count cannot make a reader size anything large.
        range("records", 88, u64::from(header.body_bytes / 2), header.records)?;
        // The block after it must have a sequence too (fuzz/corpus/segment/last-sequence).
        for (field, offset, found) in [
            ("session", 24, header.session),
            ("epoch", 32, header.epoch),
            ("sequence", 40, header.sequence),
            ("durable", 48, header.durable),
            ("bytes of padding", 112, header.padding_bytes),
        ] {
            check_count(what, field, offset, found)?;
        }
        Ok(header)
    }

    /// Whether it is the mark at the end of a session that was closed in order: no records, and all
    /// before it was durable.
    #[must_use]
    pub fn is_end_mark(&self) -> bool {
        self.records == 0 && self.chunks == 0 && self.durable == self.sequence
    }

    /// Whether a body may hold samples, which may be of any time.
    #[must_use]
    pub fn may_be_loose(&self) -> bool {
        self.records > 0 && !self.no_samples
    }

    /// Whether it may have samples of numbers.
    #[must_use]
    pub fn may_have_numbers(&self) -> bool {
        self.may_be_loose() || self.section_bytes > 0
    }

    /// Whether it may have texts.
    #[must_use]
    pub fn may_have_texts(&self) -> bool {
        self.records > 0 && !self.no_texts
    }

    /// Earliest and latest time of the samples and texts that it may have.
    #[must_use]
    pub fn sample_times_ns(&self) -> (i64, i64) {
        match self.may_be_loose() {
            true => (i64::MIN, i64::MAX),
            false => (self.time_min_ns, self.time_max_ns),
        }
    }

    /// Bytes of bodies, section and chunk table.
    #[must_use]
    pub fn payload_bytes(&self) -> usize {
        self.body_bytes as usize
            + self.section_bytes as usize
            + self.chunks as usize * CHUNK_ENTRY_BYTES
    }

    /// Bytes that the block takes in its segment, padding included.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        round_up_to_unit(BLOCK_HEADER_BYTES + self.payload_bytes())
    }
}

/// A whole block: its header and its payload, whose CRC has been checked.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// The header.
    pub header: BlockHeader,
    bodies: &'a [u8],
    section: &'a [u8],
    table: &'a [u8],
}

/// Consecutive records of one producer.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'a> {
    /// Who pushed them; 0 is the writer.
    pub producer: u64,
    /// Sequence of the first record.
    pub first_sequence: u64,
    base_time_ns: i64,
    /// Number of records.
    pub records: u32,
    body: &'a [u8],
    offset: u64,
}

impl<'a> Block<'a> {
    /// Takes a block whose header has been read from the start of `bytes` and checks its payload.
    ///
    /// # Errors
    /// Truncated, or the payload's CRC differs.
    pub fn new(header: BlockHeader, bytes: &'a [u8]) -> Result<Self, Error> {
        let needed = BLOCK_HEADER_BYTES + header.payload_bytes();
        let Some(payload) = bytes.get(BLOCK_HEADER_BYTES..needed) else {
            return Err(Error::Truncated {
                what: What::Block,
                offset: bytes.len() as u64,
                expected: needed as u64,
                found: bytes.len() as u64,
            });
        };
        let crc = crc32c(0, payload);
        expect(What::Block, "payload CRC", 100, u64::from(crc), u64::from(header.payload_crc))?;
        let (bodies, rest) = payload.split_at(header.body_bytes as usize);
        let (section, table) = rest.split_at(header.section_bytes as usize);
        Ok(Block { header, bodies, section, table })
    }

    /// The samples that were moved out of the block's records; `None` if there are none.
    ///
    /// # Errors
    /// The section's directory is not what the format asks for; offsets are those in the block.
    pub fn section(&self) -> Result<Option<Section<'a>>, Error> {
        if self.section.is_empty() {
            return Ok(None);
        }
        Section::decode(self.section).map(Some).map_err(|error| error.at(self.section_offset()))
    }

    /// The section as it is, for whoever copies a block; empty if there is none.
    #[must_use]
    pub fn section_bytes(&self) -> &'a [u8] {
        self.section
    }

    /// Samples in the block: those of its section, and numbers and texts in its records.
    ///
    /// # Errors
    /// A record or the section is not what the format asks for.
    pub fn samples(&self) -> Result<u64, Error> {
        let mut samples = self.section()?.map_or(0, |section| section.samples() as u64);
        if !self.header.may_be_loose() && !self.header.may_have_texts() {
            return Ok(samples);
        }
        for chunk in self.chunks() {
            for record in chunk?.records() {
                let record = record?;
                samples += match record.kind {
                    Kind::Samples => Samples::decode(record.payload, record.time_ns)?.len() as u64,
                    Kind::Text => 1,
                    _ => 0,
                };
            }
        }
        Ok(samples)
    }

    /// Where the section is in the block.
    #[must_use]
    pub fn section_offset(&self) -> u64 {
        (BLOCK_HEADER_BYTES + self.bodies.len()) as u64
    }

    /// The block's chunks.
    #[must_use]
    pub fn chunks(&self) -> Chunks<'a> {
        Chunks { block: *self, next: 0, body_offset: 0 }
    }
}

/// Iterator over the chunks of a block; ends after the first error.
#[derive(Clone, Debug)]
pub struct Chunks<'a> {
    block: Block<'a>,
    next: usize,
    body_offset: usize,
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.next * CHUNK_ENTRY_BYTES;
        let entry = self.block.table.get(at..at + CHUNK_ENTRY_BYTES)?;
        let start = self.body_offset;
        let body_bytes = u32_at(entry, 28) as usize;
        let before = self.block.bodies.len() + self.block.section.len();
        let table_offset = (BLOCK_HEADER_BYTES + before + at) as u64;
        let Some(body) = self.block.bodies.get(start..start + body_bytes) else {
            self.next = usize::MAX / CHUNK_ENTRY_BYTES - 1;
            return Some(Err(Error::OutOfRange {
                what: What::ChunkTable,
                field: "body bytes",
                offset: table_offset + 28,
                limit: (self.block.bodies.len() - start) as u64,
                found: body_bytes as u64,
            }));
        };
        self.next += 1;
        self.body_offset += body_bytes;
        Some(Ok(Chunk {
            producer: u64_at(entry, 0),
            first_sequence: u64_at(entry, 8),
            base_time_ns: i64_at(entry, 16),
            records: u32_at(entry, 24),
            body,
            offset: (BLOCK_HEADER_BYTES + start) as u64,
        }))
    }
}

impl<'a> Chunk<'a> {
    /// The chunk's records, in the order in which they were pushed.
    #[must_use]
    pub fn records(&self) -> Records<'a> {
        Records::new(self.body, self.records, self.first_sequence, self.base_time_ns, self.offset)
    }
}

const _: () = assert!(BLOCK_HEADER_BYTES < UNIT_BYTES);
