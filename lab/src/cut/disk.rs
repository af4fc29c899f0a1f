//! The disk of a recording: a partition for the file system, and one for statements, so that what
//! is promised and what is written stand in one log, in one order.

use std::ops::Range;

const MIB: u64 = 1 << 20;
const FS_AT: u64 = MIB;
const FS_BYTES: u64 = 112 * MIB;
const ACKS_AT: u64 = FS_AT + FS_BYTES;
const ACKS_BYTES: u64 = MIB;
/// What of the disk is used.
pub(crate) const DISK_BYTES: u64 = ACKS_AT + ACKS_BYTES;

/// The bytes of the disk that statements are in.
pub(crate) fn statements() -> Range<usize> {
    let at = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX);
    at(ACKS_AT)..at(ACKS_AT + ACKS_BYTES)
}

/// The disk's first sector: a table of the two partitions.
pub(crate) fn table() -> [u8; 512] {
    let mut sector = [0; 512];
    for (number, (at, bytes)) in [(FS_AT, FS_BYTES), (ACKS_AT, ACKS_BYTES)].into_iter().enumerate()
    {
        let entry = &mut sector[446 + 16 * number..][..16];
        entry[4] = 0x83;
        let sectors = |bytes: u64| u32::try_from(bytes / 512).unwrap_or(u32::MAX).to_le_bytes();
        entry[8..12].copy_from_slice(&sectors(at));
        entry[12..16].copy_from_slice(&sectors(bytes));
    }
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    sector
}
