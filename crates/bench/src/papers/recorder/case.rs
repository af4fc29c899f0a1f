//! The twelve cases of the paper's table 1, and its sizes.

use crate::load::{AllocateTruncate, LoadSpec};
use crate::methods::{Allocation, Flush, Spec};

/// Time from one write to the next.
pub const PERIOD_NS: u64 = 5_000_000;
/// Bytes of a write.
pub const BLOCK_BYTES: u64 = 16 << 10;
/// Bytes after which the background thread flushes, in the paper's cases.
pub const UNIT_BYTES: u64 = 2 << 20;
/// Units of flushing that are compared; the paper says only that they trade throughput for memory.
pub const UNITS_BYTES: [u64; 6] = [256 << 10, 512 << 10, 1 << 20, 2 << 20, 4 << 20, 8 << 20];

/// The load beside a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// None.
    Idle,
    /// BGTRUNC: another file is cut by 256 KB each 5 ms.
    Truncate,
    /// BGALL: and 100 MB are allocated each 5 ms.
    TruncateAllocate,
}

impl Background {
    /// The one of this name: `idle`, `BGTRUNC`, `BGALL`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "idle" => Self::Idle,
            "BGTRUNC" => Self::Truncate,
            "BGALL" => Self::TruncateAllocate,
            _ => return None,
        })
    }

    /// The load with files of this size.
    #[must_use]
    pub fn load(self, file_bytes: u64) -> Option<LoadSpec> {
        let spec = AllocateTruncate { file_bytes, ..AllocateTruncate::default() };
        match self {
            Self::Idle => None,
            Self::Truncate => {
                Some(LoadSpec::AllocateTruncate(AllocateTruncate { allocate: false, ..spec }))
            }
            Self::TruncateAllocate => Some(LoadSpec::AllocateTruncate(spec)),
        }
    }
}

/// A case of table 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// As the paper calls it.
    pub name: &'static str,
    /// WPRE or WAPPEND.
    pub allocation: Allocation,
    /// SDATA or SALL.
    pub flush: Flush,
    /// FOFF: the kernel's flusher does not start.
    pub flusher_off: bool,
    /// BGTRUNC, BGALL or nothing.
    pub background: Background,
}

impl Case {
    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// What is recorded, with a flush each `unit_bytes` and files of `file_bytes`.
    #[must_use]
    pub fn spec(&self, unit_bytes: u64, file_bytes: u64) -> Spec {
        Spec {
            allocation: self.allocation,
            flush: self.flush,
            block_bytes: BLOCK_BYTES,
            period_ns: PERIOD_NS,
            flush_bytes: unit_bytes,
            file_bytes,
        }
    }
}

const fn case(
    name: &'static str,
    allocation: Allocation,
    flush: Flush,
    flusher_off: bool,
    background: Background,
) -> Case {
    Case { name, allocation, flush, flusher_off, background }
}

use Allocation::{Append, Preallocate};
use Background::{Idle, Truncate, TruncateAllocate};
use Flush::{Fdatasync, SyncFileRange};

/// In the paper's order.
pub const CASES: [Case; 12] = [
    case("NONE", Append, Fdatasync, false, Idle),
    case("ALL", Preallocate, SyncFileRange, true, Idle),
    case("ALL-BGTRUNC", Preallocate, SyncFileRange, true, Truncate),
    case("ALL-BGALL", Preallocate, SyncFileRange, true, TruncateAllocate),
    case("WAPPEND-SDATA-FOFF", Append, SyncFileRange, true, Idle),
    case("WAPPEND-SALL-FOFF", Append, Fdatasync, true, Idle),
    case("WPRE-SALL-FOFF", Preallocate, Fdatasync, true, Idle),
    case("WPRE-SALL-FOFF-BGTRUNC", Preallocate, Fdatasync, true, Truncate),
    case("WPRE-SALL-FOFF-BGALL", Preallocate, Fdatasync, true, TruncateAllocate),
    case("WPRE-SDATA-FON", Preallocate, SyncFileRange, false, Idle),
    case("WPRE-SDATA-FON-BGTRUNC", Preallocate, SyncFileRange, false, Truncate),
    case("WPRE-SDATA-FON-BGALL", Preallocate, SyncFileRange, false, TruncateAllocate),
];
