//! The list of ways: their names, what they are, and when a block written by one is durable.

use super::{Recording, WaySpec, dont_cache, mapped, mcap, plain, queued, sqlite};
use std::fmt;
use std::io;
use std::path::Path;

/// A way to get blocks to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WayKind {
    /// pwrite(2) past the page cache, into a file whose blocks were written before.
    Direct,
    /// The same into a file that was only preallocated: its first write changes metadata.
    DirectPreallocated,
    /// write(2) at the end of a file opened with O_DSYNC.
    Dsync,
    /// A copy into a mapping of a preallocated file; a background thread writes it back.
    Mmap,
    /// The same into a mapping of a file that was written before.
    MmapWritten,
    /// pwritev2(2) with RWF_DONTCACHE into a preallocated file.
    DontCache,
    /// io_uring, past the page cache, into a file that was written before.
    IoUring,
    /// The same with a thread of the kernel that looks for writes: no system call, and a processor
    /// that is busy all the time.
    IoUringPolled,
    /// aio_write(3) of the C library, past the page cache, into a file that was written before.
    PosixAio,
    /// The MCAP writer, uncompressed.
    Mcap,
    /// SQLite: one row per block, WAL, `synchronous=NORMAL`.
    Sqlite,
}

impl WayKind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Direct,
        Self::DirectPreallocated,
        Self::Dsync,
        Self::Mmap,
        Self::MmapWritten,
        Self::DontCache,
        Self::IoUring,
        Self::IoUringPolled,
        Self::PosixAio,
        Self::Mcap,
        Self::Sqlite,
    ];

    /// Those that are measured without being asked for: the others need a library, or a processor
    /// of their own.
    pub const ORDINARY: [Self; 7] = [
        Self::Direct,
        Self::DirectPreallocated,
        Self::Dsync,
        Self::Mmap,
        Self::MmapWritten,
        Self::DontCache,
        Self::IoUring,
    ];

    /// What a way's files are called beyond its name.
    pub(super) const ENDINGS: [&'static str; 4] = ["", "-wal", "-shm", "-journal"];

    /// The name, as it stands in tables and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Direct => "O_DIRECT",
            Self::DirectPreallocated => "O_DIRECT, preallocated",
            Self::Dsync => "O_DSYNC",
            Self::Mmap => "mmap",
            Self::MmapWritten => "mmap, written file",
            Self::DontCache => "RWF_DONTCACHE",
            Self::IoUring => "io_uring",
            Self::IoUringPolled => "io_uring, polled",
            Self::PosixAio => "POSIX AIO",
            Self::Mcap => "MCAP",
            Self::Sqlite => "SQLite",
        }
    }

    /// The name in one lower-case word, for keys and options.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::DirectPreallocated => "direct_preallocated",
            Self::Dsync => "dsync",
            Self::Mmap => "mmap",
            Self::MmapWritten => "mmap_written",
            Self::DontCache => "dontcache",
            Self::IoUring => "io_uring",
            Self::IoUringPolled => "io_uring_polled",
            Self::PosixAio => "posix_aio",
            Self::Mcap => "mcap",
            Self::Sqlite => "sqlite",
        }
    }

    /// The way with this [`Self::key`].
    #[must_use]
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.key() == key)
    }

    /// When a block is durable while recording goes on, in one sentence. All are at its end.
    #[must_use]
    pub fn durable(self) -> &'static str {
        match self {
            Self::Direct => "at the recording's end: the device's cache is not flushed before",
            Self::DirectPreallocated => {
                "at the recording's end: neither that the blocks are written now nor the device's \
                 cache is flushed before"
            }
            Self::Dsync => "when the call returns",
            Self::Mmap | Self::MmapWritten => {
                "at the recording's end: sync_file_range flushes neither metadata nor the device's \
                 cache"
            }
            Self::DontCache => "at the recording's end: write-back begins at once, no sync follows",
            Self::IoUring | Self::IoUringPolled | Self::PosixAio => {
                "at the recording's end: the device's cache is not flushed before"
            }
            Self::Mcap => "at the recording's end: this writer never syncs",
            Self::Sqlite => "at the next checkpoint, each 1,000 pages of the WAL",
        }
    }

    /// Whether a background thread calls sync_file_range, as in the paper.
    pub(super) fn flushes(self) -> bool {
        matches!(self, Self::Mmap | Self::MmapWritten)
    }

    /// Makes the files of a recording. They must not be there.
    pub(super) fn begin(self, path: &Path, spec: &WaySpec) -> io::Result<Box<dyn Recording>> {
        Ok(match self {
            Self::Direct => Box::new(plain::Direct::begin(path, spec, true)?),
            Self::DirectPreallocated => Box::new(plain::Direct::begin(path, spec, false)?),
            Self::Dsync => Box::new(plain::Dsync::begin(path, spec)?),
            Self::Mmap => Box::new(mapped::Mapped::begin(path, spec, false)?),
            Self::MmapWritten => Box::new(mapped::Mapped::begin(path, spec, true)?),
            Self::DontCache => Box::new(dont_cache::DontCache::begin(path, spec)?),
            Self::IoUring => Box::new(queued::Queued::uring(path, spec, false)?),
            Self::IoUringPolled => Box::new(queued::Queued::uring(path, spec, true)?),
            Self::PosixAio => Box::new(queued::Queued::posix_aio(path, spec)?),
            Self::Mcap => Box::new(mcap::Mcap::begin(path, spec)?),
            Self::Sqlite => Box::new(sqlite::Sqlite::begin(path, spec)?),
        })
    }
}

impl fmt::Display for WayKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::WayKind;
    use std::collections::BTreeSet;

    #[test]
    fn names_and_keys_are_told_apart() {
        let names: BTreeSet<_> = WayKind::ALL.iter().map(|kind| kind.name()).collect();
        let keys: BTreeSet<_> = WayKind::ALL.iter().map(|kind| kind.key()).collect();
        assert_eq!((names.len(), keys.len()), (WayKind::ALL.len(), WayKind::ALL.len()));
        for kind in WayKind::ALL {
            assert_eq!(WayKind::of_key(kind.key()), Some(kind));
        }
        assert_eq!(WayKind::of_key("floppy"), None);
        assert!(WayKind::ORDINARY.iter().all(|kind| WayKind::ALL.contains(kind)));
    }
}
