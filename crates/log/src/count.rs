//! How much a segment holds: records, and the samples in them. For whoever has to say what is lost
//! with it.
//!
//! A block's header tells its records and its section's first bytes the samples in that, so of most
//! blocks two units are read, whatever their size. Only blocks with texts, or with samples that stand
//! in their records, are read whole.

use crate::Result;
use crate::walk::{Blocks, FoundHeader};
use baro_ondisk::limits::{BLOCK_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{BLOCK_HEADER_BYTES, Block, BlockHeader, Held, Section, SegmentHeader};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::StorageFile;

/// What the blocks below sequence `end` of the segment in `file` hold, whose header and its CRC have been
/// read. Of a block whose samples cannot be counted the records count. Blocks for the device.
pub fn held_in<F: StorageFile>(
    file: &F,
    header: SegmentHeader,
    crc: u32,
    end: u64,
    blocks: &mut Blocks,
) -> Held {
    let mut walk = blocks.walk(file, header, crc);
    let (mut held, mut buffer) = (Held::default(), None);
    loop {
        let offset = walk.scan().offset();
        let Ok(FoundHeader::Block(block)) = walk.next_header() else { return held };
        if block.sequence >= end {
            return held;
        }
        held.records += u64::from(block.records);
        held.samples += samples_at(file, offset, &block, &mut buffer).unwrap_or(0);
    }
}

/// Whether a copy of a segment that was made for a pin, in `file`, may hold samples; also if not all of
/// it can be read. Reads headers of blocks up to the first that may.
///
/// # Errors
/// The operating system refuses.
pub fn copy_may_hold_samples<F: StorageFile>(file: &F, blocks: &mut Blocks) -> Result<bool> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let read = file.read_at(0, &mut unit)?;
    let Ok((header, crc)) = SegmentHeader::decode(unit.get(..read).unwrap_or(&[])) else {
        return Ok(true);
    };
    let end = file.size_bytes()?;
    let mut walk = blocks.walk(file, header, crc);
    while walk.scan().offset() < end {
        match walk.next_header()? {
            FoundHeader::Block(block) if block.may_have_numbers() || block.may_have_texts() => {
                return Ok(true);
            }
            FoundHeader::Block(_) => {}
            FoundHeader::End(_) => return Ok(true),
        }
    }
    Ok(false)
}

/// Samples of the block at `offset`; `None` if it cannot be read.
fn samples_at<F: StorageFile>(
    file: &F,
    offset: u64,
    header: &BlockHeader,
    buffer: &mut Option<AlignedBuffer>,
) -> Option<u64> {
    if header.may_have_texts() || header.may_be_loose() {
        let bytes = read(file, offset, header.block_bytes(), buffer)?;
        return Block::new(*header, bytes).ok()?.samples().ok();
    }
    if header.section_bytes == 0 {
        return Some(0);
    }
    let section = BLOCK_HEADER_BYTES + header.body_bytes as usize;
    let unit = section / UNIT_BYTES * UNIT_BYTES;
    // What the section begins with may go over the end of a unit.
    let bytes = (2 * UNIT_BYTES).min(header.block_bytes() - unit);
    let head = read(file, offset + unit as u64, bytes, buffer)?.get(section - unit..)?;
    Section::samples_told(head).map(u64::from)
}

fn read<'b, F: StorageFile>(
    file: &F,
    offset: u64,
    bytes: usize,
    buffer: &'b mut Option<AlignedBuffer>,
) -> Option<&'b [u8]> {
    if buffer.as_ref().is_none_or(|buffer| buffer.bytes() < bytes) {
        let room = if bytes <= 2 * UNIT_BYTES { 2 * UNIT_BYTES } else { BLOCK_BYTES_MAX };
        *buffer = Some(AlignedBuffer::unlocked(room).ok()?);
    }
    let buffer = buffer.as_mut()?;
    let read = file.read_at(offset, buffer.get_mut(..bytes)?).ok()?;
    buffer.get(..read.min(bytes))
}
