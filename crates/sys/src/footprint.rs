//! What files cost: blocks on the device, pages in memory, sectors that a device was given.
//!
//! For measuring, not for recording. Invariant: what the kernel does not tell is `None`, never
//! zero. Held by the tests below.

use crate::identity::FileSystem;
use crate::{Error, Result};
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of the kernel's sectors, whatever those of the device are.
const SECTOR_BYTES: u64 = 512;

/// Bytes of the blocks that are allocated to the file at `path`, or to all files below the folder.
/// A folder's own blocks count too.
///
/// # Errors
/// The path is missing or may not be read.
pub fn allocated_bytes(path: &Path) -> Result<u64> {
    let mut bytes = 0;
    each_file(path, &mut |_, meta| {
        bytes += meta.blocks() * SECTOR_BYTES;
        Ok(())
    })?;
    Ok(bytes)
}

/// Drops the file at `path`, or all files below the folder, from the page cache, so that the next
/// reader finds them as cold as after a boot. Pages that are dirty or in use stay: sync first.
///
/// # Errors
/// The path is missing or may not be read.
pub fn drop_cached(path: &Path) -> Result<()> {
    each_file(path, &mut |path, meta| {
        if !meta.is_file() {
            return Ok(());
        }
        let file = File::open(path).map_err(|e| Error::new("open", path, e))?;
        // SAFETY: plain call on an open descriptor; length 0 means to the end.
        match unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) } {
            0 => Ok(()),
            errno => {
                let reason = std::io::Error::from_raw_os_error(errno);
                Err(Error::new("drop from the page cache", path, reason))
            }
        }
    })
}

/// Reads the file at `path`, or all files directly in the folder, into the page cache.
///
/// # Errors
/// The path is missing or may not be read.
pub fn read_cached(path: &Path) -> Result<()> {
    let mut piece = vec![0; 1 << 20];
    each_file(path, &mut |path, meta| {
        if !meta.is_file() {
            return Ok(());
        }
        let mut file = File::open(path).map_err(|e| Error::new("open", path, e))?;
        while file.read(&mut piece).map_err(|e| Error::new("read", path, e))? > 0 {}
        Ok(())
    })
}

/// Writes all that is dirty in the file system of `path` to its device. Blocks for the device.
///
/// # Errors
/// The path is missing, or the device fails.
pub fn sync_file_system(path: &Path) -> Result<()> {
    let file = File::open(path).map_err(|e| Error::new("open", path, e))?;
    // SAFETY: plain call on an open descriptor.
    if unsafe { libc::syncfs(file.as_raw_fd()) } != 0 {
        return Err(Error::last("sync the file system of", path));
    }
    Ok(())
}

/// Bytes that the block device below `path` was given to write since it was attached, whoever
/// wrote them; `None` where there is no such device (tmpfs, overlayfs, btrfs, network).
///
/// # Errors
/// The path is missing.
pub fn device_written_bytes(path: &Path) -> Result<Option<u64>> {
    let (major, minor) = FileSystem::of(path)?.device;
    let stat = format!("/sys/dev/block/{major}:{minor}/stat");
    Ok(std::fs::read_to_string(stat).ok().and_then(|text| written_bytes(&text)))
}

/// The seventh number is sectors written (Documentation/block/stat.rst).
fn written_bytes(stat: &str) -> Option<u64> {
    let sectors: u64 = stat.split_whitespace().nth(6)?.parse().ok()?;
    sectors.checked_mul(SECTOR_BYTES)
}

fn each_file(
    path: &Path,
    each: &mut impl FnMut(&Path, &std::fs::Metadata) -> Result<()>,
) -> Result<()> {
    let meta = std::fs::symlink_metadata(path).map_err(|e| Error::new("stat", path, e))?;
    each(path, &meta)?;
    if meta.is_dir() {
        let fail = |e| Error::new("list", path, e);
        for entry in std::fs::read_dir(path).map_err(fail)? {
            each_file(&entry.map_err(fail)?.path(), each)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_folder_are_those_of_its_files() {
        let folder = std::env::temp_dir().join(format!("baro-footprint-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("in")).unwrap();
        let empty_bytes = allocated_bytes(&folder).unwrap();
        std::fs::write(folder.join("in/a"), vec![1; 100_000]).unwrap();
        sync_file_system(&folder).unwrap();
        drop_cached(&folder).unwrap();
        let bytes = allocated_bytes(&folder).unwrap() - empty_bytes;
        assert!((100_000..200_000).contains(&bytes), "{bytes}");
        assert_eq!(std::fs::read(folder.join("in/a")).unwrap(), [1; 100_000]);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(allocated_bytes(&folder).unwrap_err().is_missing());
    }

    #[test]
    fn sectors_written_are_the_seventh_number_and_memory_has_none() {
        let stat = "   16416        0  2117594    25180    57205        1  9313410   100 0 1 2";
        assert_eq!(written_bytes(stat), Some(9_313_410 * 512));
        assert_eq!(written_bytes("1 2 3"), None);
        assert_eq!(device_written_bytes(Path::new("/proc")).unwrap(), None);
    }
}
