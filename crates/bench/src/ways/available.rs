//! Whether a way can be had in a directory, and if not, why.
//!
//! What can be tried is tried, with a small file that is gone at once; nothing is concluded from
//! version numbers.

use super::WayKind;
use baro_bench_sys::queued::{posix_aio, uring};
use baro_bench_sys::{calls, sqlite};
use baro_sys::files;
use baro_sys::place::{self, DirectIo, Place};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Told apart from other probes of this process.
static PROBES: AtomicU64 = AtomicU64::new(0);

impl WayKind {
    /// Whether this way can be had in `dir`. Writes a page or two there and removes them.
    ///
    /// # Errors
    /// In one sentence, why not.
    pub fn available(self, dir: &Path) -> Result<(), String> {
        match self {
            Self::Dsync | Self::Mcap => Ok(()),
            Self::Direct | Self::DirectPreallocated => direct(dir),
            Self::Mmap | Self::MmapWritten => keeps_its_blocks(dir),
            Self::DontCache => preallocates(dir).and_then(|()| uncached(dir)),
            Self::IoUring | Self::IoUringPolled => uring::available().and_then(|()| direct(dir)),
            Self::PosixAio => posix_aio::available().and_then(|()| direct(dir)),
            Self::Sqlite => sqlite::available(),
        }
    }
}

fn direct(dir: &Path) -> Result<(), String> {
    let shown = dir.display();
    match place::try_direct_write(dir) {
        DirectIo::Yes => preallocates(dir),
        DirectIo::PageCache => {
            Err(format!("direct I/O in {shown} goes through the page cache all the same"))
        }
        DirectIo::Refused(why) => Err(format!("no direct I/O in {shown}: {why}")),
        DirectIo::Coarse(bytes) => {
            Err(format!("direct I/O in {shown} needs units of {bytes} bytes, blocks have 4096"))
        }
        DirectIo::Unknown(why) => {
            Err(format!("whether {shown} has direct I/O cannot be found out: {why}"))
        }
    }
}

fn preallocates(dir: &Path) -> Result<(), String> {
    probe(dir, |file| calls::allocate(file, 0, 4096))
        .map_err(|error| format!("no preallocation in {}: {}", dir.display(), error.source))
}

/// A store into a mapping that finds no block left ends the process by a signal. File systems that
/// overwrite in place have the block once it is allocated.
fn keeps_its_blocks(dir: &Path) -> Result<(), String> {
    preallocates(dir)?;
    let place = Place::of(dir).map_err(|error| error.to_string())?;
    match place.kind.as_str() {
        "ext2" | "ext3" | "ext4" | "xfs" | "tmpfs" => Ok(()),
        other => Err(format!(
            "{other} may need a new block for each overwrite, and a store into a mapping that gets \
             none ends the process"
        )),
    }
}

fn uncached(dir: &Path) -> Result<(), String> {
    probe(dir, |file| calls::write_uncached(file, &[0xb5; 4096], 0)).map_err(|error| {
        let shown = dir.display();
        match error.kind() {
            io::ErrorKind::Unsupported => format!(
                "this kernel has no RWF_DONTCACHE for the file system of {shown}: ext4 has it from \
                 Linux 6.17, XFS from 6.15"
            ),
            _ => format!("RWF_DONTCACHE failed in {shown}: {}", error.source),
        }
    })
}

/// Does something to a new file in `dir`, which is gone afterwards.
fn probe(dir: &Path, what: impl FnOnce(&File) -> baro_sys::Result<()>) -> baro_sys::Result<()> {
    let number = PROBES.fetch_add(1, Relaxed);
    let path = dir.join(format!("probe-{}-{number}.tmp", std::process::id()));
    let file = files::create_new(&path)?;
    let found = what(&file);
    drop(file);
    files::remove(&path)?;
    found
}
