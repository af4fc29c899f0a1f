//! Walks the blocks of a segment without doing I/O: the caller gives bytes, the scan says how many
//! it needs, what it found, or why it ended. Recovery, verification, readers and the simulator all
//! use this one walk, so they cannot disagree on what is valid.

use crate::block::{BLOCK_HEADER_BYTES, Block, BlockHeader};
use crate::identity::expect;
use crate::limits::UNIT_BYTES;
use crate::{CatalogEnd, Error, SegmentHeader, SegmentKind, What};

/// Position of a walk over one segment.
#[derive(Clone, Debug)]
pub struct Scan {
    header: SegmentHeader,
    session: u64,
    offset: u64,
    sequence: u64,
    previous_crc: u32,
    /// Where the last block begins; 0 before the first.
    last_offset: u64,
    durable: u64,
}

/// What the bytes at the scan's offset hold.
#[derive(Debug)]
pub enum Step<'a> {
    /// Call again with at least this many bytes from the same offset.
    Need(usize),
    /// A valid block; the scan has moved behind it.
    Block(Block<'a>),
    /// No valid block follows.
    End(End),
}

/// Why a scan ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The segment is full.
    Full,
    /// What follows is not a block of this chain: never written, of an earlier epoch, or torn.
    /// The error says what was found; whether it is damage is decided by what comes later
    /// (see [`Scan::proves_damage`]).
    Tail(Error),
}

impl Scan {
    /// A walk from the first block of a segment; `crc` is that of the segment's header.
    #[must_use]
    pub fn new(header: SegmentHeader, crc: u32) -> Self {
        Scan {
            session: header.session,
            sequence: header.first_block,
            offset: UNIT_BYTES as u64,
            previous_crc: crc,
            last_offset: 0,
            durable: 0,
            header,
        }
    }

    /// Offset in the segment of the next block.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Sequence that the next block must have.
    #[must_use]
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// CRC that the next block must name as its predecessor's.
    #[must_use]
    pub fn previous_crc(&self) -> u32 {
        self.previous_crc
    }

    /// The last block, of a catalog.
    #[must_use]
    pub fn catalog_end(&self) -> CatalogEnd {
        let unit = (self.last_offset / UNIT_BYTES as u64) as u32;
        CatalogEnd { unit, crc: self.previous_crc }
    }

    /// Session of the last block (of the segment, before the first): rises within a catalog.
    #[must_use]
    pub fn session(&self) -> u64 {
        self.session
    }

    /// Blocks of the session below `sequence` that belong to this segment were durable, as something
    /// outside of it tells: a later segment, a header, the size of a copy.
    pub fn set_durable(&mut self, sequence: u64) {
        self.durable = sequence;
    }

    /// Whether the block that is next was durable by what [`Scan::set_durable`] has said.
    #[must_use]
    pub fn expects_more(&self) -> bool {
        self.sequence < self.durable
    }

    /// The segment has become longer than its header says, as a catalog may.
    pub fn set_segment_bytes(&mut self, bytes: u64) {
        self.header.segment_bytes = bytes;
    }

    /// The segment's header.
    #[must_use]
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Bytes that the block at [`Scan::offset`] takes, if `bytes` start with a block's header.
    #[must_use]
    pub fn block_bytes(&self, bytes: &[u8]) -> Option<usize> {
        BlockHeader::decode(bytes).ok().map(|header| header.block_bytes())
    }

    /// Looks at the block at [`Scan::offset`]; `bytes` start there and may go on beyond it.
    pub fn step<'a>(&mut self, bytes: &'a [u8]) -> Step<'a> {
        let left = self.header.segment_bytes.saturating_sub(self.offset);
        if left < UNIT_BYTES as u64 {
            return Step::End(End::Full);
        }
        if bytes.len() < BLOCK_HEADER_BYTES {
            return Step::Need(UNIT_BYTES);
        }
        let header = match BlockHeader::decode(bytes).and_then(|header| self.check(header, left)) {
            Ok(header) => header,
            Err(error) => return Step::End(End::Tail(error.at(self.offset))),
        };
        if bytes.len() < header.block_bytes() {
            return Step::Need(header.block_bytes());
        }
        match Block::new(header, bytes) {
            Ok(block) => {
                self.pass(&header);
                Step::Block(block)
            }
            Err(error) => Step::End(End::Tail(error.at(self.offset))),
        }
    }

    /// Like [`Scan::step`] with a whole block, but takes the payload on trust: for those who want
    /// to know what a segment holds without reading all of it. `bytes` hold at least the header.
    ///
    /// # Errors
    /// Why no block of this chain starts here.
    pub fn step_header(&mut self, bytes: &[u8]) -> Result<BlockHeader, End> {
        let left = self.header.segment_bytes.saturating_sub(self.offset);
        if left < UNIT_BYTES as u64 {
            return Err(End::Full);
        }
        let header = BlockHeader::decode(bytes)
            .and_then(|header| self.check(header, left))
            .map_err(|error| End::Tail(error.at(self.offset)))?;
        self.pass(&header);
        Ok(header)
    }

    fn pass(&mut self, header: &BlockHeader) {
        self.last_offset = self.offset;
        self.offset += header.block_bytes() as u64;
        self.sequence = header.sequence + 1;
        self.previous_crc = header.crc;
        self.session = header.session;
    }

    fn check(&self, found: BlockHeader, left: u64) -> Result<BlockHeader, Error> {
        self.belongs(&found)?;
        let what = What::Block;
        expect(what, "sequence", 40, self.sequence, found.sequence)?;
        let (expected, crc) = (u64::from(self.previous_crc), u64::from(found.previous_crc));
        expect(what, "previous CRC", 104, expected, crc)?;
        let bytes = found.block_bytes() as u64;
        if bytes > left {
            let (field, offset, limit) = ("body bytes", 92, left);
            return Err(Error::OutOfRange { what, field, offset, limit, found: bytes });
        }
        Ok(found)
    }

    /// Store, session and epoch are those of this segment.
    fn belongs(&self, found: &BlockHeader) -> Result<(), Error> {
        let what = What::Block;
        let half = |id: &crate::StoreId, at| crate::bytes::u64_at(&id.0, at);
        for at in [0, 8] {
            let (expected, here) = (half(&self.header.store, at), half(&found.store, at));
            expect(what, "store id", 8 + at as u64, expected, here)?;
        }
        expect(what, "epoch", 32, self.header.epoch, found.epoch)?;
        if self.header.kind == SegmentKind::Catalog && found.session > self.session {
            return Ok(());
        }
        expect(what, "session", 24, self.session, found.session)
    }

    /// Whether a block found in a later unit of the same segment (its first bytes in `bytes`)
    /// proves that blocks from [`Scan::sequence`] on were once durable: then what ended the scan
    /// is damage and no crash's tail. Returns that block's header. Any later block is proof where
    /// [`Scan::expects_more`].
    #[must_use]
    pub fn proves_damage(&self, bytes: &[u8]) -> Option<BlockHeader> {
        self.follows(bytes).filter(|header| header.durable.max(self.durable) > self.sequence)
    }

    /// The header of a later block of the same session and epoch, if `bytes` start with one.
    #[must_use]
    pub fn follows(&self, bytes: &[u8]) -> Option<BlockHeader> {
        let header = BlockHeader::decode(bytes).ok()?;
        self.belongs(&header).ok()?;
        (header.sequence > self.sequence).then_some(header)
    }

    /// Whether `bytes`, with which the scan ended, look like the torn or damaged block of this very
    /// place: most of its fields are right. What an earlier use of the file left there shares no
    /// more than magic and session.
    #[must_use]
    pub fn looks_torn(&self, bytes: &[u8]) -> bool {
        let holds = |at: usize, field: &[u8]| bytes.get(at..at + field.len()) == Some(field);
        let fields = [
            holds(0, b"BBLK"),
            holds(24, &self.session.to_le_bytes()),
            holds(32, &self.header.epoch.to_le_bytes()),
            holds(40, &self.sequence.to_le_bytes()),
            holds(104, &self.previous_crc.to_le_bytes()),
        ];
        fields.into_iter().filter(|holds| *holds).count() >= 3
    }

    /// Goes on at `offset` behind damage, with a block that [`Scan::follows`] found.
    pub fn resume(&mut self, offset: u64, header: &BlockHeader) {
        self.offset = offset;
        self.sequence = header.sequence;
        self.previous_crc = header.previous_crc;
        self.session = header.session;
    }
}

#[cfg(test)]
mod tests;
