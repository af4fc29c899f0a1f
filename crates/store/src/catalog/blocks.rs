//! The blocks of the catalog's file as a reader takes them: every declaration that can be read, and
//! what cannot be. The recorder's own reading refuses a damaged catalog; a reader must not.

use crate::Result;
use crate::damage::{Damage, Loss, Source};
use baro_log::{Blocks, CATALOG, Found, Inserted, SeriesTable, grown_bytes};
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{
    Block, BlockHeader, Declaration, End, Error as Format, SegmentHeader, SegmentKind, StoreId,
    Watermark,
};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{AnyFile, StorageFile};

/// How far behind the tail a proof of damage is looked for when a store is opened: as far as a
/// block of declarations reaches, which is read with it. As far as the file goes when it is
/// verified, and where the catalog is read whole.
pub(super) const NEAR_BYTES: u64 = 256 << 10;

/// Declarations read from a place on, and what was met.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) table: SeriesTable,
    /// Declarations that were met; those that are only counted are not in the table.
    pub(super) met: usize,
    only_counts: bool,
    pub(super) damage: Vec<Damage>,
    /// The last block read, as a watermark would have it.
    pub(super) end: Watermark,
}

impl Read {
    pub(super) fn new(end: Watermark) -> Self {
        let table = SeriesTable::default();
        Read { table, met: 0, only_counts: false, damage: Vec::new(), end }
    }

    /// To know how many there are, and no more.
    pub(super) fn only_counting(end: Watermark) -> Self {
        Read { only_counts: true, ..Read::new(end) }
    }
}

/// How much is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    /// Give up after so many bytes of blocks: it is too much to be read at an open.
    pub(super) bytes_max: u64,
    /// Stop, between blocks, when so many declarations have been met.
    pub(super) names_max: usize,
    /// See [`NEAR_BYTES`].
    pub(super) proof_bytes: u64,
}

impl Extent {
    pub(super) const WHOLE: Extent =
        Extent { bytes_max: u64::MAX, names_max: usize::MAX, proof_bytes: u64::MAX };
}

/// A damage of the catalog.
pub(super) fn damaged(source: Format) -> Damage {
    Damage::format(CATALOG, source, Loss::Declarations)
}

pub(super) fn unreadable(file: &str, error: &baro_sys::Error, loss: Loss) -> Damage {
    let source = Source::Unreadable(error.to_string());
    Damage { file: file.to_owned(), offset: 0, source, loss }
}

/// A header and its CRC.
pub(super) type Header = (SegmentHeader, u32);

/// The catalog's header, or what the first block tells of it; with what is wrong.
pub(super) fn header(file: &AnyFile, store: StoreId) -> Result<(Option<Header>, Option<Damage>)> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let file_bytes = file.size_bytes()?;
    let read = file.read_at(0, &mut unit)?;
    let error = match SegmentHeader::decode(unit.get(..read).unwrap_or(&[])) {
        Ok((mut header, crc)) => {
            header.segment_bytes = grown_bytes(header.segment_bytes, file_bytes);
            if header.store == store && header.kind == SegmentKind::Catalog {
                return Ok((Some((header, crc)), None));
            }
            let half = |id: StoreId| u128::from_le_bytes(id.0) as u64;
            let (field, offset) = ("store id", 16);
            let (expected, found) = (half(store), half(header.store));
            let what = baro_ondisk::What::Segment;
            let error = Format::Mismatch { what, field, offset, expected, found };
            return Ok((None, Some(damaged(error))));
        }
        Err(error) => damaged(error),
    };
    // The first block tells what the header would.
    let read = file.read_at(UNIT_BYTES as u64, &mut unit)?;
    let Ok(first) = BlockHeader::decode(unit.get(..read).unwrap_or(&[])) else {
        return Ok((None, Some(error)));
    };
    let header = SegmentHeader {
        kind: SegmentKind::Catalog,
        store: first.store,
        session: first.session,
        epoch: first.epoch,
        index: 0,
        previous_crc: 0,
        segment_bytes: file_bytes,
        first_block: first.sequence,
        realtime_ns: 0,
        boottime_ns: 0,
        boot_id: [0; 16],
    };
    let header = (first.store == store).then_some((header, first.previous_crc));
    Ok((header, Some(error)))
}

/// The place of the first block.
pub(super) fn beginning(header: &SegmentHeader, crc: u32) -> Watermark {
    Watermark {
        offset: UNIT_BYTES as u64,
        sequence: header.first_block,
        session: header.session,
        last_offset: 0,
        last_crc: crc,
        segment_crc: crc,
    }
}

/// Whether the last block that `mark` covers is where and what it says; else what is there.
pub(super) fn check(
    file: &AnyFile,
    header: &SegmentHeader,
    mark: &Watermark,
) -> Result<std::result::Result<(), Format>> {
    let what = baro_ondisk::What::Block;
    let offset = mark.last_offset;
    if offset == 0 {
        let (field, expected, found) = ("offset", UNIT_BYTES as u64, mark.offset);
        let error = Format::Mismatch { what, field, offset, expected, found };
        return Ok(if expected == found { Ok(()) } else { Err(error) });
    }
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    if !offset.is_multiple_of(UNIT_BYTES as u64) {
        let (field, limit) = ("offset", header.segment_bytes);
        return Ok(Err(Format::OutOfRange { what, field, offset, limit, found: offset }));
    }
    let read = file.read_at(offset, &mut unit)?;
    let block = match BlockHeader::decode(unit.get(..read).unwrap_or(&[])) {
        Ok(block) => block,
        Err(error) => return Ok(Err(error.at(offset))),
    };
    let differs = |field, at: u64, expected, found| {
        let offset = offset + at;
        (expected != found).then_some(Format::Mismatch { what, field, offset, expected, found })
    };
    let error = differs("CRC", 124, u64::from(mark.last_crc), u64::from(block.crc))
        .or_else(|| differs("epoch", 32, header.epoch, block.epoch))
        .or_else(|| differs("sequence", 40, mark.sequence, block.sequence.saturating_add(1)))
        .or_else(|| differs("bytes", 92, mark.offset, offset + block.block_bytes() as u64));
    Ok(error.map_or(Ok(()), Err))
}

/// Reads blocks behind `from` into `to`. Returns whether that is all there is; if it is not,
/// another call goes on at `to.end`.
pub(super) fn read(
    file: &AnyFile,
    header: &SegmentHeader,
    from: &Watermark,
    extent: Extent,
    to: &mut Read,
) -> baro_sys::Result<bool> {
    let mut buffer = Blocks::new()?;
    let mut walk = buffer.walk(file, *header, from.last_crc);
    let first = BlockHeader {
        sequence: from.sequence,
        previous_crc: from.last_crc,
        session: from.session,
        ..BlockHeader::default()
    };
    walk.resume(from.offset, &first);
    if extent.proof_bytes == NEAR_BYTES {
        walk.read_at_once(NEAR_BYTES as usize);
    }
    let mut tried_at = 0;
    loop {
        let offset = walk.scan().offset();
        to.end.offset = offset;
        if offset - from.offset > extent.bytes_max || to.met >= extent.names_max {
            return Ok(false);
        }
        match walk.next_block()? {
            Found::Block(block) => {
                let (sequence, session) = (block.header.sequence + 1, block.header.session);
                let (last_offset, last_crc) = (offset, block.header.crc);
                take(&block, offset, to);
                let segment_crc = to.end.segment_crc;
                let next = walk.scan().offset();
                to.end = Watermark {
                    offset: next,
                    sequence,
                    session,
                    last_offset,
                    last_crc,
                    segment_crc,
                };
            }
            Found::End(End::Full) => return Ok(true),
            Found::End(End::Tail(source)) => match walk.find_proof_within(extent.proof_bytes)? {
                None => return Ok(true),
                // A writer may have written it since: looked at once more before it counts.
                Some(_) if tried_at != offset => tried_at = offset,
                Some((at, block)) => {
                    to.damage.push(damaged(source));
                    walk.resume(at, &block);
                }
            },
        }
    }
}

fn take(block: &Block<'_>, offset: u64, to: &mut Read) {
    for chunk in block.chunks() {
        let records = match chunk {
            Ok(chunk) => chunk.records(),
            Err(error) => return to.damage.push(damaged(error.at(offset))),
        };
        for record in records {
            let Read { table, damage, met, only_counts, .. } = &mut *to;
            let taken = record.and_then(|record| {
                Declaration::decode_each(record.payload, |found| {
                    *met += 1;
                    if !*only_counts && put(table, found).is_none() {
                        let (what, field) = (baro_ondisk::What::Declaration, "names");
                        let limit = table.memory_bytes() as u64;
                        let error = Format::OutOfRange { what, field, offset, limit, found: limit };
                        damage.push(damaged(error));
                    }
                })
            });
            if let Err(error) = taken {
                to.damage.push(damaged(error.at(offset)));
            }
        }
    }
}

/// Adds a declaration unless its name or id is there; `None` if there is no room.
pub(super) fn put(table: &mut SeriesTable, found: Declaration<'_>) -> Option<Inserted> {
    table.insert(&found).ok()
}
