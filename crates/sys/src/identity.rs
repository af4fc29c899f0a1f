//! Identities: random numbers, the boot id, the file system a folder lies on.

use crate::{Error, Result};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Fills `bytes` with random bytes from the kernel. Blocks only before the kernel's pool is
/// ready, in the first seconds of a boot.
///
/// # Errors
/// The kernel has no source (before 3.17) or a filter forbids it.
pub fn random(bytes: &mut [u8]) -> Result<()> {
    let mut done = 0;
    while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
        // SAFETY: `rest` is writable for its length.
        let count = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        match usize::try_from(count) {
            Ok(count) => done += count,
            Err(_) => return Err(Error::last("read random bytes", "")),
        }
    }
    Ok(())
}

/// A random number.
///
/// # Errors
/// As [`random`].
pub fn random_u64() -> Result<u64> {
    let mut bytes = [0; 8];
    random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// Id of this boot of the kernel; zeros where /proc does not tell.
#[must_use]
pub fn boot_id() -> [u8; 16] {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let mut digits = text.bytes().filter_map(|c| (c as char).to_digit(16));
    let mut id = [0; 16];
    for byte in &mut id {
        let (high, low) = (digits.next().unwrap_or(0), digits.next().unwrap_or(0));
        *byte = (high * 16 + low) as u8;
    }
    id
}

/// Release of the running kernel, as `uname -r` has it.
#[must_use]
pub fn kernel_release() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().to_owned()
}

/// Which file it is, whatever its name: device and inode, as long as its file system stays mounted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileId {
    /// Major and minor number: the lower 20 bits are the minor one.
    pub device: u32,
    /// Its inode; 0 of no file.
    pub inode: u64,
}

impl FileId {
    /// Of what is at `path`; a link counts as what it names.
    ///
    /// # Errors
    /// It is missing, or what leads to it may not be looked at.
    pub fn of(path: &Path) -> Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let meta = std::fs::metadata(path).map_err(|e| Error::new("stat", path, e))?;
        let (major, minor) = (libc::major(meta.dev()), libc::minor(meta.dev()));
        #[allow(clippy::unnecessary_cast, reason = "types differ between C libraries")]
        let device = (major as u32) << 20 | minor as u32 & 0xf_ffff;
        Ok(FileId { device, inode: meta.ino() })
    }

    /// Whether it is known at all.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.inode != 0
    }
}

impl std::fmt::Display for FileId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "device {}:{}, inode {}", self.device >> 20, self.device & 0xf_ffff, self.inode)
    }
}

/// The user to whom the file or folder at `path` belongs.
///
/// # Errors
/// As [`FileId::of`].
pub fn owner(path: &Path) -> Result<u32> {
    use std::os::unix::fs::MetadataExt;
    Ok(std::fs::metadata(path).map_err(|e| Error::new("stat", path, e))?.uid())
}

/// The file system that a path lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Its magic number (statfs(2)).
    pub magic: u64,
    /// Bytes that an ordinary user may still allocate.
    pub available_bytes: u64,
    /// Device number, as `major:minor` in /proc and sysfs.
    pub device: (u32, u32),
}

impl FileSystem {
    /// Of the file or folder at `path`.
    ///
    /// # Errors
    /// The path is missing.
    pub fn of(path: &Path) -> Result<Self> {
        use std::os::unix::fs::MetadataExt;
        let name = CString::new(path.as_os_str().as_bytes())
            .map_err(|e| Error::new("statfs", path, e.into()))?;
        // SAFETY: all-zero bytes are a valid statfs.
        let mut found: libc::statfs64 = unsafe { std::mem::zeroed() };
        // SAFETY: a C string, and a writable statfs.
        if unsafe { libc::statfs64(name.as_ptr(), &raw mut found) } != 0 {
            return Err(Error::last("statfs", path));
        }
        let meta = std::fs::metadata(path).map_err(|e| Error::new("stat", path, e))?;
        let device = (libc::major(meta.dev()), libc::minor(meta.dev()));
        #[allow(clippy::unnecessary_cast, reason = "field types differ between targets")]
        Ok(FileSystem {
            magic: found.f_type as u64 & 0xffff_ffff,
            available_bytes: (found.f_bavail as u64).saturating_mul(found.f_bsize as u64),
            device,
        })
    }

    /// Its usual name, where it is one that Barograph knows.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.magic {
            0xef53 => "ext4",
            0x0102_1994 => "tmpfs",
            0x5846_5342 => "xfs",
            0x9123_683e => "btrfs",
            0xf2f5_2010 => "f2fs",
            0x794c_7630 => "overlayfs",
            0x6969 => "nfs",
            0x2fc1_2fc1 => "zfs",
            0x6573_5546 => "fuse",
            0x8584_58f6 => "ramfs",
            _ => "other",
        }
    }
}

/// Whether the folder at `path` (with what leads to it) is all that its file system holds; `None`
/// if it cannot be told.
#[must_use]
pub fn alone_on_file_system(path: &Path) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    let mut here = std::fs::canonicalize(path).ok()?;
    let device = std::fs::metadata(&here).ok()?.dev();
    loop {
        let Some(parent) = here.parent().map(Path::to_owned) else { return Some(false) };
        if std::fs::metadata(&parent).ok()?.dev() != device {
            return Some(true);
        }
        let others = std::fs::read_dir(&parent)
            .ok()?
            .flatten()
            .any(|entry| entry.path() != here && entry.file_name() != "lost+found");
        if others {
            return Some(false);
        }
        here = parent;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_there_and_differ() {
        assert_ne!(random_u64().unwrap(), random_u64().unwrap());
        assert_eq!(boot_id(), boot_id());
        let found = FileSystem::of(Path::new("/proc")).unwrap();
        assert_eq!(found.magic, 0x9fa0);
        assert!(FileSystem::of(Path::new("/no such path")).unwrap_err().is_missing());
    }
}
