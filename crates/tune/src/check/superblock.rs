//! The journal of an ext4, by its superblock: whether there is one, and how large.
//!
//! The kernel tells a journal's size nowhere but in numbers derived from it that differ by version.
//! The superblock has a copy of the journal's inode, with its size, since e2fsprogs 1.33. Pure over
//! the bytes. Invariant: any bytes give facts or `None`, never a panic. Tests: below, and on what
//! mke2fs makes in `tests/superblock.rs`.

/// Where the first superblock begins on the device.
pub const SUPERBLOCK_OFFSET: u64 = 1024;
/// As much as it has.
pub const SUPERBLOCK_BYTES: usize = 1024;

const MAGIC_AT: usize = 0x38;
const MAGIC: u16 = 0xef53;
const COMPATIBLE_AT: usize = 0x5c;
const HAS_JOURNAL: u32 = 4;
/// The device of an external journal, 0 if it is inside.
const JOURNAL_DEVICE_AT: usize = 0xe4;
/// 1 if what follows is the copy of the inode.
const COPY_AT: usize = 0xfd;
/// The upper and lower half of the inode's size, after its 15 block numbers.
const SIZE_HIGH_AT: usize = 0x10c + 15 * 4;
const SIZE_LOW_AT: usize = 0x10c + 16 * 4;

/// What is known of a journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalFacts {
    /// There is none.
    None,
    /// In the file system, of so many bytes.
    Inside(u64),
    /// On a device of its own.
    Outside,
    /// In the file system, and its size is not noted in the superblock.
    Unknown,
}

/// Reads a superblock: [`SUPERBLOCK_BYTES`] from [`SUPERBLOCK_OFFSET`] of the device. `None` if it is
/// none of ext2, ext3 or ext4.
#[must_use]
pub fn journal_of(superblock: &[u8]) -> Option<JournalFacts> {
    let four = |at: usize| -> Option<u32> {
        Some(u32::from_le_bytes(superblock.get(at..at + 4)?.try_into().ok()?))
    };
    let magic = superblock.get(MAGIC_AT..MAGIC_AT + 2)?;
    if u16::from_le_bytes(magic.try_into().ok()?) != MAGIC {
        return None;
    }
    if four(COMPATIBLE_AT)? & HAS_JOURNAL == 0 {
        return Some(JournalFacts::None);
    }
    if four(JOURNAL_DEVICE_AT)? != 0 {
        return Some(JournalFacts::Outside);
    }
    let bytes = u64::from(four(SIZE_HIGH_AT)?) << 32 | u64::from(four(SIZE_LOW_AT)?);
    let known = *superblock.get(COPY_AT)? == 1 && bytes > 0;
    Some(if known { JournalFacts::Inside(bytes) } else { JournalFacts::Unknown })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn superblock(changes: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; SUPERBLOCK_BYTES];
        bytes[MAGIC_AT..MAGIC_AT + 2].copy_from_slice(&MAGIC.to_le_bytes());
        for (at, part) in changes {
            bytes[*at..*at + part.len()].copy_from_slice(part);
        }
        bytes
    }

    #[test]
    fn tells_journals_apart() {
        let with = (COMPATIBLE_AT, &[0x3c, 0, 0, 0][..]);
        let size = (SIZE_LOW_AT, &[0, 0, 0, 8][..]);
        let copy = (COPY_AT, &[1][..]);
        for (changes, expected) in [
            (vec![], JournalFacts::None),
            (vec![size, copy], JournalFacts::None),
            (vec![with, size, copy], JournalFacts::Inside(128 << 20)),
            (
                vec![with, size, copy, (SIZE_HIGH_AT, &[1])],
                JournalFacts::Inside((128 << 20) + (1 << 32)),
            ),
            (vec![with, size], JournalFacts::Unknown),
            (vec![with, copy], JournalFacts::Unknown),
            (vec![with, size, copy, (JOURNAL_DEVICE_AT, &[1])], JournalFacts::Outside),
        ] {
            assert_eq!(journal_of(&superblock(&changes)), Some(expected), "{changes:?}");
        }
    }

    #[test]
    fn other_bytes_and_short_ones_are_no_superblock() {
        assert_eq!(journal_of(&[0; SUPERBLOCK_BYTES]), None);
        let whole = superblock(&[(COMPATIBLE_AT, &[4])]);
        for length in 0..0x150 {
            assert_eq!(journal_of(&whole[..length]), None, "{length}");
        }
    }
}
