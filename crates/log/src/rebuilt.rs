//! The header of a segment as its own blocks tell, where the one in its first unit is damaged: each
//! block carries store, session, epoch and sequence. So a damaged header is told from that of a
//! segment which was never used, and hides no blocks; for recovery and readers alike.
//!
//! A crash too leaves headers that are not valid: of a segment started anew, with the earlier life
//! whole behind it, or of one never used before, whose first blocks were not durable yet. These
//! blocks do not count unless something proves them: a later block of the segment, a later segment
//! of the session (a segment is started once its predecessor's header is durable), what a later
//! header says of its end ([`known_end`]), or the segment's last unit ([`closed`]).
//!
//! The first block may be damaged too. Then the next one tells the same, but for the sequence, and
//! the blocks behind it are not hidden. This can only be rot: a crash that tears the header leaves the
//! first block whole, of the new life or of the earlier one, or zeros (recovery sees to that where an
//! earlier life was written over). The exception is a segment that failed before its first block
//! was durable and is started again: there headers name the life that failed, and an earlier one
//! whose first block is damaged was given up.
//!
//! Held by `tests/hostile.rs` and `tests/rot.rs` of the store, and the simulator of crashes.

use super::closed::closed;
use super::session::known_end;
use super::walk::{Blocks, Found};
use baro_ondisk::limits::{BLOCK_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{BlockHeader, DeadTail, SegmentHeader, SegmentKind, StoreId};
use baro_sys::Result;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::StorageFile;

/// The header of a segment as its own blocks tell it, where the first unit is damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rebuilt {
    /// Number of the file.
    pub index: u32,
    /// What the header said, as far as blocks tell.
    pub header: SegmentHeader,
    /// CRC to which the first block refers.
    pub crc: u32,
    /// The segment proves that its first block was durable.
    pub proven: bool,
    /// The first block is there.
    pub whole: bool,
}

/// A block whose successors are not found within so many bytes proves nothing: more are not on their
/// way at once.
const PROOF_BYTES: u64 = 8 * BLOCK_BYTES_MAX as u64;
/// Bytes read at once where a block is looked for.
const SEARCH_BYTES: usize = 256 << 10;

impl Rebuilt {
    /// Whether the segment counts, given the valid headers of the log and the ends that these tell.
    pub fn counts<'a>(
        &self,
        mut started: impl Iterator<Item = &'a SegmentHeader>,
        ends: &[DeadTail],
    ) -> bool {
        let SegmentHeader { session, epoch, first_block, .. } = self.header;
        let later_life = |tail: &DeadTail| tail.index == self.index && tail.epoch > epoch;
        if !self.whole && ends.iter().any(later_life) {
            return false;
        }
        let ended = known_end(ends, epoch, first_block) > 0;
        ended || self.proven || started.any(|h| h.session == session && h.epoch > epoch)
    }

    /// With the boot of its neighbours, by which running time is strung together: that of another
    /// segment of the session, else of the one before.
    #[must_use]
    pub fn among(&self, started: &[(SegmentHeader, u32)]) -> (SegmentHeader, u32) {
        let mut header = self.header;
        let all = || started.iter().map(|(other, _)| other);
        let same = all().find(|other| other.session == header.session);
        let before = all().filter(|other| other.epoch < header.epoch).max_by_key(|h| h.epoch);
        header.boot_id = same.or(before).map_or([0; 16], |other| other.boot_id);
        (header, self.crc)
    }
}

/// The header of the segment in `file`, number `index` of the log of `store`, as its blocks tell;
/// `None` if there is no block of this store where the first one should be, nor behind a damaged one. What
/// the device does not read is damaged.
///
/// # Errors
/// There is no memory.
pub fn rebuild<F: StorageFile>(
    file: &F,
    blocks: &mut Blocks,
    store: StoreId,
    (index, segment_bytes): (u32, u64),
) -> Result<Option<Rebuilt>> {
    let ours = |found: &BlockHeader| found.store == store && found.epoch > 0 && found.session > 0;
    let Some((first, sequence, crc)) = first_block(file, segment_bytes, ours)? else {
        return Ok(None);
    };
    let header = SegmentHeader {
        kind: SegmentKind::Log,
        store,
        session: first.session,
        epoch: first.epoch,
        index,
        previous_crc: 0,
        segment_bytes,
        first_block: sequence,
        realtime_ns: first.realtime_ns,
        boottime_ns: first.boottime_ns,
        boot_id: [0; 16],
    };
    let same = |found: &SegmentHeader| {
        let of = |h: &SegmentHeader| (h.store, h.session, h.epoch, h.index, h.segment_bytes);
        of(found) == of(&header)
    };
    let closed = closed(file, segment_bytes)?.filter(|found| same(&found.header));
    let header = closed.map_or(header, |found| found.header);
    let mut walk = blocks.walk(file, header, crc);
    walk.pass_unreadable();
    // What cannot be read proves nothing.
    let whole = matches!(walk.next_block(), Ok(Found::Block(_)));
    walk.rewind();
    let proven = closed.is_some() || matches!(walk.find_proof_within(PROOF_BYTES), Ok(Some(_)));
    Ok(Some(Rebuilt { index, header, crc, proven, whole }))
}

/// The header of the segment's first block, its sequence and the CRC that it names. Where it is
/// damaged, that of the first one behind it: then the sequence is one less, and no CRC is known.
fn first_block<F: StorageFile>(
    file: &F,
    segment_bytes: u64,
    ours: impl Fn(&BlockHeader) -> bool,
) -> Result<Option<(BlockHeader, u64, u32)>> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    if let Ok(read) = file.read_at(UNIT_BYTES as u64, &mut unit) {
        let bytes = unit.get(..read).unwrap_or(&[]);
        if let Ok(first) = BlockHeader::decode(bytes) {
            return Ok(Some((first, first.sequence, first.previous_crc)).filter(|_| ours(&first)));
        }
        // Nothing was ever there.
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
    }
    let end = segment_bytes.min((2 * UNIT_BYTES + BLOCK_BYTES_MAX) as u64);
    let mut room = AlignedBuffer::unlocked(SEARCH_BYTES)?;
    let mut at = 2 * UNIT_BYTES as u64;
    while at < end {
        let bytes = SEARCH_BYTES.min(usize::try_from(end - at).unwrap_or(SEARCH_BYTES));
        let Some(part) = room.get_mut(..bytes) else { break };
        let Some(read) = read_what_can_be(file, at, part) else { break };
        let units = part.get(..read).unwrap_or(&[]).chunks_exact(UNIT_BYTES);
        let mut found = units.filter_map(|unit| BlockHeader::decode(unit).ok());
        if let Some(next) = found.find(|next| ours(next)) {
            return Ok(next.sequence.checked_sub(1).map(|first| (next, first, 0)));
        }
        if read < bytes {
            break;
        }
        at += bytes as u64;
    }
    Ok(None)
}

/// Reads as far as the file goes; units that cannot be read are zeros. `None` if all of them are such.
fn read_what_can_be<F: StorageFile>(file: &F, at: u64, part: &mut [u8]) -> Option<usize> {
    if let Ok(read) = file.read_at(at, part) {
        return Some(read);
    }
    let (mut read, mut any) = (0, false);
    for unit in part.chunks_mut(UNIT_BYTES) {
        match file.read_at(at + read as u64, unit) {
            Ok(0) => return any.then_some(read),
            Ok(_) => any = true,
            Err(_) => unit.fill(0),
        }
        read += unit.len();
    }
    any.then_some(read)
}
