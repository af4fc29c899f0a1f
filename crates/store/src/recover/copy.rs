//! Writes records into a new store, one block after another: no rings, no deadline, one thread.
//! Every few blocks are synced, so that each block's `durable` is true and later damage provable.

use crate::read::RecordRef;
use crate::{Error, Result, Store};
use baro_log::{CATALOG, CatalogWriter, read_catalog_header, segment_name};
use baro_ondisk::limits::{
    BLOCK_BYTES_MAX, CHUNKS_MAX, RECORD_HEAD_BYTES_MAX, UNIT_BYTES, round_up_to_unit,
};
use baro_ondisk::{
    BLOCK_HEADER_BYTES, BlockBuilder, BlockHeader, Declaration, Encoded, Identity, LogPlace, Scan,
    SegmentHeader, SegmentKind, Settled, Type, end_mark,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, AnyFile, AnyStorage, Storage, StorageFile};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

const BLOCK_BYTES: usize = 1 << 20;
/// Blocks from sync to sync: what no later block proves durable is read in full at every open.
const SYNC_BLOCKS: u64 = 16;

struct Segment {
    file: AnyFile,
    offset: u64,
}

/// A log being written.
pub(super) struct Copy<'a> {
    target: &'a AnyStorage,
    identity: Identity,
    builder: BlockBuilder,
    buffer: AlignedBuffer,
    segment: Option<Segment>,
    segments: u32,
    session: u64,
    sequence: u64,
    durable: u64,
    previous_crc: u32,
    padding_bytes: u64,
    clocks: (i64, i64),
}

fn open(target: &AnyStorage, name: &str) -> Result<AnyFile> {
    match target.open(name, Access::WriteDirect) {
        Ok(file) => Ok(file),
        Err(_) => Ok(target.open(name, Access::Write)?),
    }
}

impl<'a> Copy<'a> {
    pub(super) fn new(target: &'a AnyStorage, identity: Identity) -> Result<Self> {
        let bytes = BLOCK_BYTES.min(identity.segment_bytes as usize / 4 / UNIT_BYTES * UNIT_BYTES);
        Ok(Copy {
            target,
            identity,
            builder: BlockBuilder::new(CHUNKS_MAX),
            buffer: AlignedBuffer::unlocked(bytes)?,
            segment: None,
            segments: 0,
            session: 0,
            sequence: 0,
            durable: 0,
            previous_crc: 0,
            padding_bytes: 0,
            clocks: (0, 0),
        })
    }

    /// Begins a block that takes over the section of one with this header: the records that follow
    /// are that block's, until [`Copy::end_block`].
    pub(super) fn start_block(&mut self, source: &BlockHeader) -> Result<()> {
        self.seal()?;
        self.start_session(source.session)?;
        let bytes = source.block_bytes();
        if self.buffer.len() < bytes {
            self.buffer = AlignedBuffer::unlocked(bytes)?;
        }
        self.clocks = (source.realtime_ns, source.boottime_ns);
        if self.left() < bytes as u64 { self.start_segment() } else { Ok(()) }
    }

    /// Puts the section behind the records since [`Copy::start_block`].
    pub(super) fn end_block(
        &mut self,
        section: &[u8],
        time_min_ns: Option<i64>,
        time_max_ns: Option<i64>,
    ) -> Result<()> {
        let (time_min_ns, time_max_ns) =
            (time_min_ns.unwrap_or(i64::MAX), time_max_ns.unwrap_or(i64::MIN));
        let bytes = section.len();
        self.builder.put_section(&mut self.buffer, |room| {
            room.get_mut(..bytes)?.copy_from_slice(section);
            Some(Encoded { bytes, time_min_ns, time_max_ns })
        });
        self.seal()
    }

    /// How far the copy is: what was pushed until now is before it, what follows is not.
    pub(super) fn mark(&mut self) -> Result<Settled> {
        self.seal()?;
        Ok(Settled { epoch: u64::from(self.segments), end: self.sequence })
    }

    /// The same in the order of writing.
    pub(super) fn place(&mut self) -> Result<LogPlace> {
        self.seal()?;
        Ok(LogPlace { session: self.session, sequence: self.sequence })
    }

    fn start_session(&mut self, session: u64) -> Result<()> {
        if self.session != session {
            self.seal()?;
            self.end_session()?;
            self.session = session;
            (self.sequence, self.durable, self.previous_crc, self.padding_bytes) = (0, 0, 0, 0);
        }
        Ok(())
    }

    /// Adds a record, which came in the block of header `source`.
    pub(super) fn push(&mut self, record: &RecordRef<'_>, source: &BlockHeader) -> Result<()> {
        self.start_session(record.session)?;
        self.clocks = (source.realtime_ns, source.boottime_ns);
        let RecordRef { producer, sequence, time_ns, kind, stream, payload, .. } = *record;
        // A full block, then too small a buffer, then a full segment: each can happen once.
        for _ in 0..4 {
            let room = self.buffer.len().min(usize::try_from(self.left()).unwrap_or(usize::MAX));
            let block = self.buffer.get_mut(..room).unwrap_or(&mut []);
            let fill = |to: &mut [u8]| to.copy_from_slice(payload);
            let length = payload.len();
            if self.builder.push(block, producer, kind, stream, sequence, time_ns, length, fill) {
                return Ok(());
            }
            let needed = BLOCK_HEADER_BYTES + RECORD_HEAD_BYTES_MAX + length + UNIT_BYTES;
            if !self.builder.is_empty() {
                self.seal()?;
            } else if self.buffer.len() < needed {
                let bytes = round_up_to_unit(needed).min(BLOCK_BYTES_MAX);
                self.buffer = AlignedBuffer::unlocked(bytes)?;
            } else {
                self.start_segment()?;
            }
        }
        Err(Error::CopyFull { segments: self.identity.segments })
    }

    /// Writes and syncs what is left; returns the last session.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.seal()?;
        self.end_session()?;
        Ok(self.session)
    }

    fn seal(&mut self) -> Result<()> {
        let start = self.block_header();
        let Some(segment) = self.segment.as_mut().filter(|_| !self.builder.is_empty()) else {
            return Ok(());
        };
        let header = self.builder.finish(&mut self.buffer, start);
        let bytes = header.block_bytes();
        segment.file.write_at(segment.offset, self.buffer.get(..bytes).unwrap_or(&self.buffer))?;
        segment.offset += bytes as u64;
        self.sequence += 1;
        self.previous_crc = header.crc;
        self.padding_bytes = header.padding_bytes;
        if self.sequence - self.durable >= SYNC_BLOCKS {
            segment.file.sync_data()?;
            self.durable = self.sequence;
        }
        Ok(())
    }

    fn end_segment(&mut self) -> Result<()> {
        if let Some(segment) = self.segment.take() {
            segment.file.sync_data()?;
            self.durable = self.sequence;
        }
        Ok(())
    }

    /// Ends the segment and marks the end of its session, as a recorder does that is closed.
    fn end_session(&mut self) -> Result<()> {
        let Some(segment) = &self.segment else { return Ok(()) };
        segment.file.sync_data()?;
        self.durable = self.sequence;
        if self.durable > 0 && segment.offset + UNIT_BYTES as u64 <= self.identity.segment_bytes {
            let start = self.block_header();
            let header = end_mark(&mut self.buffer, start);
            let unit = self.buffer.get(..UNIT_BYTES).unwrap_or(&self.buffer);
            segment.file.write_at(segment.offset, unit)?;
            self.sequence += 1;
            self.previous_crc = header.crc;
            self.padding_bytes = header.padding_bytes;
        }
        self.end_segment()
    }

    fn block_header(&self) -> BlockHeader {
        BlockHeader {
            store: self.identity.store,
            session: self.session,
            epoch: u64::from(self.segments),
            sequence: self.sequence,
            durable: self.durable,
            realtime_ns: self.clocks.0,
            boottime_ns: self.clocks.1,
            previous_crc: self.previous_crc,
            padding_bytes: self.padding_bytes,
            ..BlockHeader::default()
        }
    }

    /// Bytes of the segment that are left for blocks: a unit is kept for the mark.
    fn left(&self) -> u64 {
        let left = |segment: &Segment| self.identity.segment_bytes - segment.offset;
        self.segment.as_ref().map_or(0, left).saturating_sub(UNIT_BYTES as u64)
    }

    fn start_segment(&mut self) -> Result<()> {
        self.end_segment()?;
        if self.segments == self.identity.segments {
            return Err(Error::CopyFull { segments: self.segments });
        }
        let index = self.segments;
        self.segments += 1;
        let header = SegmentHeader {
            kind: SegmentKind::Log,
            store: self.identity.store,
            session: self.session,
            epoch: u64::from(self.segments),
            index,
            previous_crc: self.previous_crc,
            segment_bytes: self.identity.segment_bytes,
            first_block: self.sequence,
            realtime_ns: self.clocks.0,
            boottime_ns: self.clocks.1,
            boot_id: [0; 16],
        };
        let file = open(self.target, &segment_name(index))?;
        let (bytes, crc) = header.encode();
        let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
        unit.copy_from_slice(&bytes);
        file.write_at(0, &unit)?;
        self.previous_crc = crc;
        self.segment = Some(Segment { file, offset: UNIT_BYTES as u64 });
        Ok(())
    }
}

/// Writes the declarations of a store, with the ids that they have, into the blank catalog of a new
/// one; and placeholders for ids whose declaration is lost.
pub(super) fn declare(
    store: &Store,
    target: &AnyStorage,
    session: u64,
    strange: &BTreeMap<u32, Type>,
) -> Result<()> {
    let (header, crc) = read_catalog_header(&open(target, CATALOG)?)?;
    let scan = Scan::new(header, crc);
    let mut writer = CatalogWriter::open(target, session.max(1), scan, 0)?;
    let mut failed = None;
    store.catalog().scan_by_id(|found| {
        failed = writer.add(found).err();
        if failed.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(error) = failed {
        return Err(error.into());
    }
    // Id 0 is no id that a declaration can have.
    for (id, kind) in strange.iter().filter(|(id, _)| **id != 0) {
        let name = format!("unknown-{id}");
        let (id, kind, unit) = (*id, *kind, "");
        writer.add(&Declaration { id, kind, name: &name, unit, joint: None, layout: None })?;
    }
    let (scan, padding_bytes) = writer.finish()?;
    CatalogWriter::open(target, session.max(1), scan, padding_bytes)?.mark_end()?;
    open(target, CATALOG)?.sync_data()?;
    Ok(())
}
