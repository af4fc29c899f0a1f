//! Whether a catalog is the one that the log was recorded with. A catalog of an earlier time, or of a copy of the
//! store that went on by itself, is whole, and of this store; its ids may stand for other names.
//!
//! Invariant: a catalog that the recorder of the newest segment has written, or one made anew since, is never
//! called another. Held by the simulator's tests, and the store's `tests/damage`.

use super::CATALOG;
use crate::Result;
use baro_ondisk::limits::UNIT_BYTES;
use baro_ondisk::{Beside, BlockHeader, CatalogEnd, SegmentHeader};
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};

/// Whether the catalog still has the block that was its last one when the segment of `epoch` was begun. Yes too where
/// the catalog cannot be read or its header is damaged, which is told elsewhere, and where it was made anew since.
///
/// # Errors
/// There is no memory.
pub fn has_catalog_end<S: Storage>(storage: &S, told: CatalogEnd, epoch: u64) -> Result<bool> {
    let mut unit = AlignedBuffer::unlocked(UNIT_BYTES)?;
    let Ok(file) = storage.open(CATALOG, Access::ReadDirect) else { return Ok(true) };
    let Ok(read) = file.read_at(0, &mut unit) else { return Ok(true) };
    let bytes = unit.get(..read).unwrap_or(&[]);
    let Ok((_, crc)) = SegmentHeader::decode(bytes) else { return Ok(true) };
    if epoch <= Beside::of(bytes).generation {
        return Ok(true);
    }
    if told.unit == 0 {
        return Ok(crc == told.crc);
    }
    let Ok(read) = file.read_at(u64::from(told.unit) * UNIT_BYTES as u64, &mut unit) else {
        return Ok(true);
    };
    let found = BlockHeader::decode(unit.get(..read).unwrap_or(&[]));
    Ok(found.is_ok_and(|found| found.crc == told.crc))
}
