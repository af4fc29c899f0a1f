//! The header of a segment as its own blocks tell, where the one in its first unit is damaged: each
//! block carries store, session, epoch and sequence. So a damaged header is told from that of a
//! segment which was never used, and hides no blocks; for recovery and readers alike.
//!
//! A crash too leaves headers that are not valid: of a segment started anew, with the earlier life
//! whole behind it, or of one never used before, whose first blocks were not durable yet. These
//! blocks do not count unless something proves them: a later block of the segment, a later segment
//! of the session (a segment is started once its predecessor's header is durable), or what a later
//! header says of its end ([`known_end`]).
//!
//! Held by `tests/hostile.rs` and `tests/rot.rs` of the store, and the simulator of crashes.

use super::session::known_end;
use super::walk::{Blocks, FoundHeader};
use baro_ondisk::limits::UNIT_BYTES;
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
    /// Blocks of the segment prove that the first one was durable.
    pub proven: bool,
}

impl Rebuilt {
    /// Whether the segment counts, given the valid headers of the log and the ends that these tell.
    pub fn counts<'a>(
        &self,
        mut started: impl Iterator<Item = &'a SegmentHeader>,
        ends: &[DeadTail],
    ) -> bool {
        let SegmentHeader { session, epoch, first_block, .. } = self.header;
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
/// `None` if there is no block of this store where the first one should be.
///
/// # Errors
/// The file cannot be read.
pub fn rebuild<F: StorageFile>(
    file: &F,
    blocks: &mut Blocks,
    store: StoreId,
    (index, segment_bytes): (u32, u64),
) -> Result<Option<Rebuilt>> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let Ok(read) = file.read_at(UNIT_BYTES as u64, &mut unit) else { return Ok(None) };
    let Ok(first) = BlockHeader::decode(unit.get(..read).unwrap_or(&[])) else { return Ok(None) };
    if first.store != store || first.epoch == 0 || first.session == 0 {
        return Ok(None);
    }
    let header = SegmentHeader {
        kind: SegmentKind::Log,
        store,
        session: first.session,
        epoch: first.epoch,
        index,
        previous_crc: 0,
        segment_bytes,
        first_block: first.sequence,
        realtime_ns: first.realtime_ns,
        boottime_ns: first.boottime_ns,
        boot_id: [0; 16],
    };
    let crc = first.previous_crc;
    let mut walk = blocks.walk(file, header, crc);
    let mut proven = false;
    while let FoundHeader::Block(block) = walk.next_header()? {
        if block.durable > first.sequence {
            proven = true;
            break;
        }
    }
    Ok(Some(Rebuilt { index, header, crc, proven }))
}
