//! What the controller and the interposer share, byte by byte: a file of sizes and a segment of counters.
//! Pure, and needs nothing else of this crate, so that the controller can include this file by path.
//!
//! The controller makes the file in a directory and names that in `BARO_SHARE`; the file names the
//! segment. Programs of any user write the counters, so they are no file: who may write a file may
//! shorten it, and that would end whoever has it mapped. All numbers have the machine's byte order.
//! Offsets are held by `test offsets_stay_where_they_are`.

/// The environment variable that names the directory of the file.
pub const DIRECTORY_VARIABLE: &str = "BARO_SHARE";
/// Sizes of pieces, written by the controller, mapped read-only by every program.
pub const PIECES_FILE: &str = "pieces";
/// What programs counted until 0.1: read still, made and mapped no more.
pub const COUNTERS_FILE: &str = "counters";
/// The size of the file and of the segment. The file's folder and the file are its maker's alone, so that
/// it does not shrink while a program lives.
pub const FILE_BYTES: usize = 4096;
/// The first bytes of [`PIECES_FILE`].
pub const PIECES_MAGIC: [u8; 8] = *b"baropcs1";
/// The first bytes of the counters.
pub const COUNTERS_MAGIC: [u8; 8] = *b"baroctr1";
/// A file of another version is not used.
pub const VERSION: u32 = 1;
/// Where the version is, a `u32`.
pub const VERSION_AT: usize = 8;
/// Where the size of a piece of a read is, a `u64` in bytes; 0: do not cut.
pub const READ_PIECE_AT: usize = 64;
/// Where the size of a piece of a write is, a `u64` in bytes; 0: do not cut.
pub const WRITE_PIECE_AT: usize = 72;
/// Where the weight is that the group has while it is trimmed, and above it by
/// [`WEIGHT_BEFORE_SHIFT`] bits the one before; 0: what was asked. A `u64`, not for programs.
pub const WEIGHT_AT: usize = 80;
/// Who is killed while a weight is given leaves two that differ, of which the group has one.
pub const WEIGHT_BEFORE_SHIFT: u32 = 16;
/// Where the number of the segment of counters is, a `u64`, and 1 more than it; 0: nothing is counted.
pub const SEGMENT_AT: usize = 88;
/// Where a random `u64` is that the segment has too, at [`SEGMENT_TOKEN_AT`]: by the number alone a program
/// that sees other segments, as in a container, could take another's.
pub const TOKEN_AT: usize = 96;
/// Where it is in the segment.
pub const SEGMENT_TOKEN_AT: usize = 16;
/// Where the first counter is; each is a `u64`, in the order of [`Counter::ALL`].
pub const COUNTERS_AT: usize = 64;
/// No piece is smaller, whatever the controller asks for.
pub const PIECE_BYTES_MIN: u64 = 64 * 1024;

/// What is counted, since the file was made, over all programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Counter {
    /// Programs that found the counters; one that becomes another by exec counts again.
    Processes,
    /// Calls and requests that were cut.
    CallsCut,
    /// The pieces that they were cut into.
    Pieces,
    /// The bytes that these moved.
    BytesCut,
    /// Left alone: opened without `O_DIRECT`.
    Buffered,
    /// Left alone: a write with `O_APPEND`.
    Append,
    /// Left alone: a write with `O_SYNC`, `O_DSYNC` or their flags of one call.
    Sync,
    /// Left alone: `RWF_ATOMIC` or another flag of one call.
    Flags,
    /// Left alone: neither a regular file nor a block device.
    NotAFile,
    /// Left alone: buffer, offset or length is not aligned, so the kernel has to answer.
    Unaligned,
    /// Left alone: nothing was yet reaped through `io_getevents` on this context.
    AioNotReaped,
    /// Left alone: too many requests are being cut, or a vector is too long to be kept.
    AioFull,
    /// Left alone: completion is told through an eventfd, which counts requests.
    AioEventfd,
    /// io_uring rings that were set up; what goes through them is never seen.
    IoUring,
    /// Large calls through `syscall()`, left alone.
    Raw,
    /// Left alone for other reasons: a file size limit, a position that cannot be moved.
    Other,
}

impl Counter {
    /// All, in the order of the file.
    pub const ALL: [Counter; 16] = [
        Counter::Processes,
        Counter::CallsCut,
        Counter::Pieces,
        Counter::BytesCut,
        Counter::Buffered,
        Counter::Append,
        Counter::Sync,
        Counter::Flags,
        Counter::NotAFile,
        Counter::Unaligned,
        Counter::AioNotReaped,
        Counter::AioFull,
        Counter::AioEventfd,
        Counter::IoUring,
        Counter::Raw,
        Counter::Other,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Counter::Processes => "processes",
            Counter::CallsCut => "calls_cut",
            Counter::Pieces => "pieces",
            Counter::BytesCut => "bytes_cut",
            Counter::Buffered => "buffered",
            Counter::Append => "append",
            Counter::Sync => "sync",
            Counter::Flags => "flags",
            Counter::NotAFile => "not_a_file",
            Counter::Unaligned => "unaligned",
            Counter::AioNotReaped => "aio_not_reaped",
            Counter::AioFull => "aio_full",
            Counter::AioEventfd => "aio_eventfd",
            Counter::IoUring => "io_uring",
            Counter::Raw => "raw",
            Counter::Other => "other",
        }
    }

    /// Where it is among the counters, in bytes.
    pub const fn offset(self) -> usize {
        COUNTERS_AT + 8 * self as usize
    }
}

/// A new file of either kind: magic, version, the rest 0.
pub fn fresh(magic: [u8; 8]) -> [u8; FILE_BYTES] {
    let mut bytes = [0; FILE_BYTES];
    bytes[..8].copy_from_slice(&magic);
    bytes[VERSION_AT..VERSION_AT + 4].copy_from_slice(&VERSION.to_ne_bytes());
    bytes
}

/// Whether the first 12 bytes of a file are those of this kind and version.
pub fn is_valid(head: [u8; 12], magic: [u8; 8]) -> bool {
    let [.., a, b, c, d] = head;
    head.starts_with(&magic) && u32::from_ne_bytes([a, b, c, d]) == VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_stay_where_they_are() {
        assert_eq!((VERSION_AT, READ_PIECE_AT, WRITE_PIECE_AT, FILE_BYTES), (8, 64, 72, 4096));
        assert_eq!((WEIGHT_AT, SEGMENT_AT, TOKEN_AT, SEGMENT_TOKEN_AT), (80, 88, 96, 16));
        for (index, counter) in Counter::ALL.iter().enumerate() {
            assert_eq!(counter.offset(), 64 + 8 * index, "{}", counter.name());
        }
        let places = [
            ("processes", 64),
            ("calls_cut", 72),
            ("pieces", 80),
            ("bytes_cut", 88),
            ("buffered", 96),
            ("append", 104),
            ("sync", 112),
            ("flags", 120),
            ("not_a_file", 128),
            ("unaligned", 136),
            ("aio_not_reaped", 144),
            ("aio_full", 152),
            ("aio_eventfd", 160),
            ("io_uring", 168),
            ("raw", 176),
            ("other", 184),
        ];
        assert_eq!(Counter::ALL.map(|c| (c.name(), c.offset())), places);
    }

    #[test]
    fn a_file_of_another_kind_or_version_is_not_used() {
        let head = |bytes: [u8; FILE_BYTES]| -> [u8; 12] { bytes[..12].try_into().unwrap() };
        let good = head(fresh(PIECES_MAGIC));
        assert!(is_valid(good, PIECES_MAGIC) && !is_valid(good, COUNTERS_MAGIC));
        for at in 0..12 {
            let mut bad = good;
            bad[at] ^= 1;
            assert!(!is_valid(bad, PIECES_MAGIC), "byte {at}");
        }
    }
}
