//! Declarations written behind the last block of a catalog: many in a record, blocks of bounded
//! size, and a longer file where it is full. Nothing counts before [`CatalogWriter::finish`].
//!
//! Invariant: what is declared is durable, and what is not is not there after the next block.
//! Held by `what_is_declared_stays_declared_whatever_crashes_or_fails` (the recorder's
//! `tests/crash`).

use crate::CATALOG;
use crate::{Error, Result};
use baro_ondisk::limits::{SEGMENT_BYTES_MAX, SEGMENT_BYTES_MIN, UNIT_BYTES, round_up_to_unit};
use baro_ondisk::{
    BlockBuilder, BlockHeader, Declaration, DeclarationBatch, End, Joint, Kind, Scan,
    SegmentHeader, Step, Type, end_mark,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};

/// Bytes of a block of declarations; one with the longest layout fits.
const BLOCK_BYTES: usize = 256 << 10;
/// Bytes of a record with many declarations, about.
const RECORD_BYTES: usize = 48 << 10;
/// A full catalog becomes longer by half, at most by this: what is written is zeros.
const GROWTH_BYTES_MAX: u64 = 16 << 20;

/// Writes declarations behind the last block of a catalog; they count once it has finished.
#[derive(Debug)]
pub struct CatalogWriter<F> {
    file: F,
    scan: Scan,
    session: u64,
    /// Blocks below it were durable before.
    durable: u64,
    padding_bytes: u64,
    buffer: AlignedBuffer,
    builder: BlockBuilder,
    records: u64,
    batch: DeclarationBatch,
    /// Type and unit of the batch.
    kind: Type,
    unit: String,
    joint: Option<Joint>,
}

fn bad(source: baro_ondisk::Error) -> Error {
    Error::Format { file: CATALOG.to_owned(), source }
}

/// The header of a catalog and its CRC, with the size that the file has if it has grown.
///
/// # Errors
/// The file cannot be read, or its header is damaged.
pub fn read_catalog_header<F: StorageFile>(file: &F) -> Result<(SegmentHeader, u32)> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let read = file.read_at(0, &mut unit)?;
    let (mut header, crc) = SegmentHeader::decode(unit.get(..read).unwrap_or(&[])).map_err(bad)?;
    header.segment_bytes = grown_bytes(header.segment_bytes, file.size_bytes()?);
    Ok((header, crc))
}

/// Bytes of a catalog whose header says `segment_bytes`, in a file of `file_bytes`.
#[must_use]
pub fn grown_bytes(segment_bytes: u64, file_bytes: u64) -> u64 {
    let whole = file_bytes / UNIT_BYTES as u64 * UNIT_BYTES as u64;
    segment_bytes.max(whole.min(SEGMENT_BYTES_MAX))
}

impl<F: StorageFile> CatalogWriter<F> {
    /// Opens the catalog for a session that declares behind what `scan` has passed, with
    /// `padding_bytes` of padding in it.
    ///
    /// # Errors
    /// The file cannot be opened, or there is no memory.
    pub fn open<S: Storage<File = F>>(
        storage: &S,
        session: u64,
        scan: Scan,
        padding_bytes: u64,
    ) -> Result<Self> {
        let file = match storage.open(CATALOG, Access::WriteDirect) {
            Ok(file) => file,
            Err(_) => storage.open(CATALOG, Access::Write)?,
        };
        Self::of(file, session, scan, padding_bytes)
    }

    /// The same in an open file, which may have another name yet.
    ///
    /// # Errors
    /// There is no memory.
    pub fn of(file: F, session: u64, scan: Scan, padding_bytes: u64) -> Result<Self> {
        Ok(CatalogWriter {
            file,
            session,
            durable: scan.sequence(),
            scan,
            padding_bytes,
            buffer: AlignedBuffer::unlocked(BLOCK_BYTES)?,
            builder: BlockBuilder::new(1),
            records: 0,
            batch: DeclarationBatch::default(),
            kind: Type::F64,
            unit: String::new(),
            joint: None,
        })
    }

    /// Adds a declaration; ids that rise by one make it shortest.
    ///
    /// # Errors
    /// It is longer than the format allows, the catalog or the device is full, or the device fails.
    pub fn add(&mut self, declaration: &Declaration<'_>) -> Result<()> {
        let Declaration { id, kind, name, unit, joint, layout } = declaration;
        if layout.is_some() {
            self.end_batch()?;
            let payload = declaration.encode().map_err(bad)?;
            return self.record(&payload);
        }
        let same = *kind == self.kind && *unit == self.unit && *joint == self.joint;
        let same = same && *id == self.batch.next_id();
        if !self.batch.is_empty() && same && self.batch.push(name, RECORD_BYTES).map_err(bad)? {
            return Ok(());
        }
        self.end_batch()?;
        (self.kind, self.joint) = (*kind, *joint);
        self.unit.clear();
        self.unit.push_str(unit);
        self.batch.start(*id, *kind, unit, *joint).map_err(bad)?;
        self.batch.push(name, RECORD_BYTES).map_err(bad)?;
        Ok(())
    }

    fn end_batch(&mut self) -> Result<()> {
        if self.batch.is_empty() {
            return Ok(());
        }
        let mut batch = std::mem::take(&mut self.batch);
        self.record(batch.finish())?;
        Ok(())
    }

    fn record(&mut self, payload: &[u8]) -> Result<()> {
        for _ in 0..2 {
            let fill = |to: &mut [u8]| to.copy_from_slice(payload);
            let (length, sequence) = (payload.len(), self.records);
            let buffer = &mut self.buffer;
            if self.builder.push(buffer, 0, Kind::Declare, 0, sequence, 0, length, fill) {
                self.records += 1;
                return Ok(());
            }
            self.write_block()?;
        }
        Err(Error::CatalogFull { bytes: BLOCK_BYTES as u64 })
    }

    fn write_block(&mut self) -> Result<()> {
        if self.builder.is_empty() {
            return Ok(());
        }
        self.records = 0;
        let start = self.block_header();
        let header = self.builder.finish(&mut self.buffer, start);
        self.put(&header)
    }

    fn block_header(&self) -> BlockHeader {
        BlockHeader {
            store: self.scan.header().store,
            session: self.session,
            epoch: self.scan.header().epoch,
            sequence: self.scan.sequence(),
            durable: self.durable,
            previous_crc: self.scan.previous_crc(),
            padding_bytes: self.padding_bytes,
            ..BlockHeader::default()
        }
    }

    /// Writes the block of this header, which is in the buffer.
    fn put(&mut self, header: &BlockHeader) -> Result<()> {
        self.padding_bytes = header.padding_bytes;
        let (offset, bytes) = (self.scan.offset(), round_up_to_unit(header.block_bytes()));
        if offset + bytes as u64 > self.scan.header().segment_bytes {
            self.grow(offset + bytes as u64)?;
        }
        // What a reader would not take must not be taken for declared.
        match self.scan.step(&self.buffer) {
            Step::Block(_) => {}
            Step::End(End::Tail(source)) => return Err(bad(source)),
            Step::End(End::Full) | Step::Need(_) => {
                let bytes = self.scan.header().segment_bytes;
                return Err(Error::CatalogFull { bytes });
            }
        }
        Ok(self.file.write_at(offset, self.buffer.get(..bytes).unwrap_or(&self.buffer))?)
    }

    /// Makes the file longer: zeros, durable before a block is written over them.
    fn grow(&mut self, needed: u64) -> Result<()> {
        let old = self.scan.header().segment_bytes;
        let step = (old / 2).clamp(SEGMENT_BYTES_MIN, GROWTH_BYTES_MAX);
        let new = needed.max(old + step / UNIT_BYTES as u64 * UNIT_BYTES as u64);
        if needed > SEGMENT_BYTES_MAX {
            return Err(Error::CatalogFull { bytes: old });
        }
        let new = new.min(SEGMENT_BYTES_MAX);
        self.file.reserve(new)?;
        let mut zeros = AlignedBuffer::unlocked(SEGMENT_BYTES_MIN as usize)?;
        zeros.fill(0);
        let mut at = old;
        while at < new {
            let bytes = (new - at).min(zeros.len() as u64);
            self.file.write_at(at, zeros.get(..bytes as usize).unwrap_or(&zeros))?;
            at += bytes;
        }
        self.file.sync_data()?;
        self.scan.set_segment_bytes(new);
        Ok(())
    }

    /// Writes the mark of an end in order behind what is durable. Returns as [`CatalogWriter::finish`],
    /// without a sync.
    ///
    /// # Errors
    /// As [`CatalogWriter::add`]; then there is no mark.
    pub fn mark_end(mut self) -> Result<(Scan, u64)> {
        let start = self.block_header();
        let header = end_mark(&mut self.buffer, start);
        self.put(&header)?;
        Ok((self.scan, self.padding_bytes))
    }

    /// Writes what is left and makes all durable. Returns where the next block goes, and the
    /// padding so far.
    ///
    /// # Errors
    /// As [`CatalogWriter::add`]; then nothing of this writer counts.
    pub fn finish(mut self) -> Result<(Scan, u64)> {
        self.end_batch()?;
        self.write_block()?;
        self.file.sync_data()?;
        Ok((self.scan, self.padding_bytes))
    }
}
