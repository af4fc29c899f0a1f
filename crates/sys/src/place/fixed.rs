//! Files whose blocks stay where they are on a file system that else writes elsewhere: f2fs, where
//! they are called pinned files.
//!
//! A pin is set on an empty file, whose blocks are allocated afterwards in whole sections (2 MiB or
//! more) that are its own. It is refused to a file that has blocks (EFBIG; Linux 6.12, not 6.1), in
//! log mode (EINVAL), and where compression cannot be switched off (EOPNOTSUPP). The cleaner counts
//! each time that it meets such a file, and takes the pin away when that was too often. Writes to
//! what was not allocated before fail (EIO; Linux 6.12). (fs/f2fs/file.c: f2fs_ioc_set_pin_file,
//! expand_inode_data, f2fs_pin_file_control, f2fs_file_write_iter.)
//!
//! Invariant: nothing is asked of a file system that is not f2fs, where the numbers of these calls
//! mean nothing or something else. Tests: below; on a real f2fs baro-recorder's
//! `tests/real/places/f2fs.rs`.

use super::file_flags;
use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// `_IOW(0xf5, 13, __u32)`.
const F2FS_IOC_SET_PIN_FILE: u32 = 0x4004_f50d;
/// `_IOR(0xf5, 14, __u32)`.
const F2FS_IOC_GET_PIN_FILE: u32 = 0x8004_f50e;
const F2FS_MAGIC: u64 = 0xf2f5_2010;

/// How a file of f2fs is held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedFile {
    /// It is pinned: overwritten where it is, left alone by the cleaner.
    pub fixed: bool,
    /// How often the cleaner wanted its sections.
    pub met_by_cleaner: u32,
    /// Its size.
    pub size_bytes: u64,
    /// What it takes of the device: whole sections, if it is pinned, and the blocks that say where
    /// the others are.
    pub allocated_bytes: u64,
}

impl FixedFile {
    /// Whether so many bytes for a file of that size are more than the file and the blocks that say
    /// where it is, one for each thousand.
    #[must_use]
    pub fn takes_more(allocated_bytes: u64, size_bytes: u64) -> bool {
        allocated_bytes > size_bytes.saturating_add(size_bytes / 64)
    }

    /// Of the file at `path`, which lies on f2fs.
    ///
    /// # Errors
    /// It cannot be opened, or does not lie on f2fs.
    pub fn of(path: &Path) -> Result<Self> {
        let fail = |e| Error::new("ask for the pin", path, e);
        let file = super::file::open_to_look(path, 0).map_err(fail)?;
        if !on_f2fs(&file).map_err(fail)? {
            return Err(fail(io::Error::from_raw_os_error(libc::ENOTTY)));
        }
        let meta = file.metadata().map_err(fail)?;
        let mut met_by_cleaner: u32 = 0;
        // SAFETY: the descriptor is open, the kernel writes one number.
        let rc = unsafe {
            libc::ioctl(file.as_raw_fd(), F2FS_IOC_GET_PIN_FILE as _, &raw mut met_by_cleaner)
        };
        // The count alone is 0 of a file that is not pinned as well: the flag tells.
        let (flags, _) = file_flags(path)?;
        Ok(FixedFile {
            fixed: rc == 0 && flags.is_some_and(|flags| flags.no_cow),
            met_by_cleaner: if rc == 0 { met_by_cleaner } else { 0 },
            size_bytes: meta.len(),
            allocated_bytes: meta.blocks().saturating_mul(512),
        })
    }
}

pub(crate) fn on_f2fs(file: &File) -> io::Result<bool> {
    // SAFETY: all-zero bytes are a valid statfs.
    let mut found: libc::statfs64 = unsafe { std::mem::zeroed() };
    // SAFETY: an open descriptor, and a writable statfs.
    if unsafe { libc::fstatfs64(file.as_raw_fd(), &raw mut found) } != 0 {
        return Err(io::Error::last_os_error());
    }
    #[allow(clippy::unnecessary_cast, reason = "field types differ between targets")]
    Ok(found.f_type as u64 & 0xffff_ffff == F2FS_MAGIC)
}

/// Pins an empty file on f2fs; `false` on any other file system.
pub(crate) fn fix_in_place(file: &File) -> io::Result<bool> {
    if !on_f2fs(file)? {
        return Ok(false);
    }
    let wanted: u32 = 1;
    // SAFETY: the descriptor is open, the kernel reads one number. What it returns is an error or
    // the cleaner's count.
    let rc =
        unsafe { libc::ioctl(file.as_raw_fd(), F2FS_IOC_SET_PIN_FILE as _, &raw const wanted) };
    if rc < 0 { Err(io::Error::last_os_error()) } else { Ok(true) }
}

/// Whether a file made now in `folder` would be pinned, by asking for it for an empty one without a
/// name; `None` where that does not lie on f2fs. The reason is the kernel's.
#[must_use]
pub fn try_fix_in_place(folder: &Path) -> Option<std::result::Result<(), String>> {
    let mut open = OpenOptions::new();
    let open = open.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE).open(folder);
    match open.and_then(|file| fix_in_place(&file)) {
        Ok(true) => Some(Ok(())),
        Ok(false) => None,
        Err(error) => Some(Err(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_taken_in_part_are_told_from_indices() {
        for (allocated, size, more) in [
            (2 << 20, 2 << 20, false),
            ((4 << 20) + 8192, 4 << 20, false),
            (8 << 20, 2 << 20, true),
        ] {
            assert_eq!(FixedFile::takes_more(allocated, size), more, "{allocated} for {size}");
        }
    }

    #[test]
    fn other_file_systems_are_not_asked() {
        let folder = std::env::temp_dir().join(format!("baro-fixed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a");
        let file = File::create(&path).unwrap();
        if on_f2fs(&file).unwrap() {
            println!("skipped: {} is f2fs", folder.display());
        } else {
            assert!(!fix_in_place(&file).unwrap());
            assert_eq!(FixedFile::of(&path).unwrap_err().errno(), Some(libc::ENOTTY));
        }
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(FixedFile::of(&path).unwrap_err().is_missing());
    }
}
