//! What becomes of a file: whether direct I/O is really direct, its flags, where its blocks are.
//!
//! An open that takes O_DIRECT proves nothing: data=journal, encryption, inline data, btrfs with
//! checksums and tmpfs take it and go through the page cache. `statx` tells on some file systems
//! (Linux 6.1); everywhere else the page cache is asked whether the page is in it afterwards.
//! Invariant: reading leaves the file as it is; writing goes to a file without a name. Tests:
//! below, and baro-recorder's `tests/real/places.rs` on each file system.

use crate::identity::FileSystem;
use crate::memory::AlignedBuffer;
use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// A page, and the unit of direct I/O on all file systems that Barograph knows.
const PAGE: usize = 4096;
/// Extents looked at in one file; a segment that was written once has a few.
const EXTENTS_MAX: usize = 64;
/// The unit of places on disks in /sys.
const SECTOR: u64 = 512;

/// Whether I/O with O_DIRECT goes past the page cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectIo {
    /// It does.
    Yes,
    /// O_DIRECT is accepted, and the page cache used nevertheless.
    PageCache,
    /// O_DIRECT is refused, with the kernel's reason.
    Refused(String),
    /// It needs a larger alignment than a page.
    Coarse(u32),
    /// It could not be found out, and why.
    Unknown(String),
}

/// Where a file's blocks are, of its first extents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extents {
    /// Extents looked at.
    pub seen: u32,
    /// Shared with another file or a snapshot: the next write allocates.
    pub shared: u32,
    /// Allocated but never written: the next write changes metadata.
    pub unwritten: u32,
    /// Inside the inode, compressed or encrypted.
    pub encoded: u32,
}

/// Flags of a file, as `lsattr` shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlaceFile {
    /// `j`: its data go through the journal.
    pub journalled: bool,
    /// `c`: it is compressed.
    pub compressed: bool,
    /// `C`: no copy on write (btrfs), or a pinned file (f2fs).
    pub no_cow: bool,
    /// `E`: it is encrypted (fscrypt).
    pub encrypted: bool,
    /// `N`: its data lie in the inode.
    pub inline: bool,
    /// `i` or `a`: it cannot be written, or only appended to.
    pub immutable: bool,
}

impl PlaceFile {
    fn of_flags(flags: libc::c_long) -> Self {
        let has = |bits: libc::c_long| flags & bits != 0;
        PlaceFile {
            journalled: has(0x4000),
            compressed: has(0x4),
            no_cow: has(0x0080_0000),
            encrypted: has(0x800),
            inline: has(0x1000_0000),
            immutable: has(0x10 | 0x20),
        }
    }
}

/// Opens a file or folder that may be anything: a link is not followed, a pipe not waited for.
pub(super) fn open_to_look(path: &Path, flags: i32) -> std::io::Result<File> {
    let flags = flags | libc::O_NONBLOCK | libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() {
        return Ok(file);
    }
    let said = "expected a file or folder, found a pipe, socket or device";
    Err(std::io::Error::new(std::io::ErrorKind::PermissionDenied, said))
}

/// Flags and extents of the file at `path`; `None` each where the file system has no such thing.
///
/// # Errors
/// The file cannot be opened.
pub fn file_flags(path: &Path) -> Result<(Option<PlaceFile>, Option<Extents>)> {
    let file = open_to_look(path, 0).map_err(|e| Error::new("open", path, e))?;
    let mut flags: libc::c_long = 0;
    // SAFETY: the descriptor is open, the kernel writes at most a long.
    let rc = unsafe { libc::ioctl(file.as_raw_fd(), libc::FS_IOC_GETFLAGS, &raw mut flags) };
    let flags = (rc == 0).then(|| PlaceFile::of_flags(flags));
    Ok((flags, extents(&file)))
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct FiemapExtent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
#[derive(Debug)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [FiemapExtent; EXTENTS_MAX],
}

/// `_IOWR('f', 11, struct fiemap)`: the size in it is that of the head.
const FS_IOC_FIEMAP: u64 = 0xc020_660b;

/// The last extent of the file.
const LAST: u32 = 0x1;
/// Not on the disk yet, or not known where.
const NOWHERE: u32 = 0x2 | 0x4;
/// Encoded, encrypted, inside other data, inline, packed tail: what is there is not the file's bytes.
const ENCODED: u32 = 0x8 | 0x80 | 0x200 | 0x400;
const UNWRITTEN: u32 = 0x800;
const SHARED: u32 = 0x2000;

/// Up to [`EXTENTS_MAX`] extents from a byte of the file on; `None` where the file system cannot tell.
fn fiemap(file: &File, start: u64) -> Option<Vec<FiemapExtent>> {
    let mut map = Fiemap {
        start,
        length: u64::MAX - start,
        flags: 0,
        mapped: 0,
        count: EXTENTS_MAX as u32,
        reserved: 0,
        extents: [FiemapExtent::default(); EXTENTS_MAX],
    };
    // SAFETY: the descriptor is open; the kernel writes the head and at most `count` extents.
    if unsafe { libc::ioctl(file.as_raw_fd(), FS_IOC_FIEMAP as _, &raw mut map) } != 0 {
        return None;
    }
    Some(map.extents.into_iter().take(map.mapped as usize).collect())
}

fn extents(file: &File) -> Option<Extents> {
    let mut found = Extents::default();
    for extent in fiemap(file, 0)? {
        found.seen += 1;
        found.shared += u32::from(extent.flags & SHARED != 0);
        found.unwritten += u32::from(extent.flags & UNWRITTEN != 0);
        found.encoded += u32::from(extent.flags & ENCODED != 0);
    }
    Some(found)
}

/// Where the bytes of the file at `path` are on the disk that holds its file system, in bytes from the
/// begin of the whole disk, as events of the block layer tell places. `None` where the file system cannot
/// tell: bytes that are not on the disk yet, encoded, or one of more than `most` extents.
///
/// # Errors
/// The file cannot be opened.
pub fn bytes_on_disk(path: &Path, most: usize) -> Result<Option<Vec<Range<u64>>>> {
    let file = File::open(path).map_err(|e| Error::new("open", path, e))?;
    let (major, minor) = FileSystem::of(path)?.device;
    // A whole disk has no such file.
    let start = format!("/sys/dev/block/{major}:{minor}/start");
    let start = std::fs::read_to_string(start).ok().and_then(|text| text.trim().parse().ok());
    let begin = start.unwrap_or(0_u64).saturating_mul(SECTOR);
    let mut places = Vec::new();
    let mut from = 0;
    loop {
        let Some(extents) = fiemap(&file, from) else { return Ok(None) };
        let Some(last) = extents.last() else { return Ok(Some(places)) };
        from = last.logical.saturating_add(last.length);
        if extents.iter().any(|extent| extent.flags & (NOWHERE | ENCODED) != 0) {
            return Ok(None);
        }
        let is_last = last.flags & LAST != 0;
        places.extend(extents.iter().map(|extent| {
            let at = begin.saturating_add(extent.physical);
            at..at.saturating_add(extent.length)
        }));
        if is_last {
            return Ok((places.len() <= most).then_some(places));
        }
        if places.len() > most {
            return Ok(None);
        }
    }
}

impl DirectIo {
    /// Of reads of the file at `path`, by reading its first page. A file may be read past the
    /// page cache and be written through it (btrfs with checksums); see [`try_direct_write`].
    #[must_use]
    pub fn of_reads(path: &Path) -> Self {
        let file = match open_to_look(path, libc::O_DIRECT) {
            Err(error) => return Self::not_opened(&error),
            Ok(file) => file,
        };
        if let Some(told) = Self::of_statx(&file) {
            return told;
        }
        let Ok(mut buffer) = AlignedBuffer::unlocked(PAGE) else { return Self::no_memory() };
        // btrfs reads through the page cache what it cannot put into memory without a fault.
        buffer.fill(1);
        // SAFETY: plain call on an open descriptor.
        unsafe {
            libc::posix_fadvise(file.as_raw_fd(), 0, PAGE as libc::off_t, libc::POSIX_FADV_DONTNEED)
        };
        if Mapped::first_page_of(&file).and_then(|page| page.cached()) != Some(false) {
            return DirectIo::Unknown("the file's first page is in use".to_owned());
        }
        match file.read_at(&mut buffer, 0) {
            Ok(PAGE) => Self::by_mapping(Mapped::first_page_of(&file).as_ref()),
            Ok(_) => DirectIo::Unknown("the file is shorter than a page".to_owned()),
            Err(error) => DirectIo::Refused(error.to_string()),
        }
    }

    fn of_statx(file: &File) -> Option<Self> {
        // SAFETY: all-zero bytes are a valid statx.
        let mut found: libc::statx = unsafe { std::mem::zeroed() };
        let flags = libc::AT_EMPTY_PATH;
        let wanted = libc::STATX_DIOALIGN;
        let name = c"".as_ptr();
        // SAFETY: the descriptor is open, the path a C string, `found` writable.
        let rc = unsafe { libc::statx(file.as_raw_fd(), name, flags, wanted, &raw mut found) };
        if rc != 0 || found.stx_mask & wanted == 0 {
            return None;
        }
        match found.stx_dio_offset_align {
            0 => Some(DirectIo::PageCache),
            align if align as usize > PAGE => Some(DirectIo::Coarse(align)),
            // That it is possible does not say that it is done.
            _ => None,
        }
    }

    fn by_mapping(page: Option<&Mapped>) -> Self {
        match page.and_then(Mapped::cached) {
            Some(true) => DirectIo::PageCache,
            Some(false) => DirectIo::Yes,
            None => DirectIo::Unknown("the page cache cannot be asked".to_owned()),
        }
    }

    fn not_opened(error: &std::io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EINVAL) => DirectIo::Refused("O_DIRECT is not supported".to_owned()),
            _ => DirectIo::Unknown(error.to_string()),
        }
    }

    fn no_memory() -> Self {
        DirectIo::Unknown("no memory".to_owned())
    }
}

/// Whether writes of a new file in `folder` go past the page cache, by writing one page to a file
/// without a name (where that is not possible, one whose name is removed at once). It has the
/// flags that the folder hands down, as every file made there. Blocks for one write.
#[must_use]
pub fn try_direct_write(folder: &Path) -> DirectIo {
    let open = |flags: i32, path: &Path| {
        let new = flags & libc::O_TMPFILE != libc::O_TMPFILE;
        let flags = flags | libc::O_DIRECT;
        OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(new)
            .mode(0o600)
            .custom_flags(flags)
            .open(path)
    };
    let unsupported = |error: &std::io::Error| {
        matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT))
    };
    let file = match open(libc::O_TMPFILE, folder) {
        Err(error) if unsupported(&error) => {
            let path = folder.join(format!("direct-{}.tmp", std::process::id()));
            let file = open(0, &path);
            // One that was there already is another's.
            if file.is_ok() {
                let _ = std::fs::remove_file(&path);
            }
            file
        }
        other => other,
    };
    let file = match file {
        Err(error) => return DirectIo::not_opened(&error),
        Ok(file) => file,
    };
    if let Some(told) = DirectIo::of_statx(&file) {
        return told;
    }
    let Ok(mut buffer) = AlignedBuffer::unlocked(PAGE) else { return DirectIo::no_memory() };
    // Not zeros, which a file system may treat in its own way.
    buffer.fill(0xb5);
    // A write that goes through the page cache may drop its pages at once (btrfs), but not one
    // that is mapped and was touched; a direct write drops it.
    let written = file.write_at(&buffer, 0).and_then(|_| {
        let page = Mapped::first_page_of(&file);
        page.as_ref().map(Mapped::touch);
        file.write_at(&buffer, 0).map(|bytes| (bytes, page))
    });
    match written {
        Ok((PAGE, Some(page))) => DirectIo::by_mapping(Some(&page)),
        Ok((_, _)) => DirectIo::Unknown("a page was written in part".to_owned()),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            DirectIo::Refused(error.to_string())
        }
        Err(error) => DirectIo::Unknown(error.to_string()),
    }
}

/// The first page of a file, mapped for reading.
struct Mapped(*mut libc::c_void);

impl Mapped {
    fn first_page_of(file: &File) -> Option<Self> {
        let (protection, sharing) = (libc::PROT_READ, libc::MAP_SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), PAGE, protection, sharing, file.as_raw_fd(), 0)
        };
        (start != libc::MAP_FAILED).then_some(Mapped(start))
    }

    /// Brings the page in. Only for a file that nobody can cut short meanwhile.
    fn touch(&self) {
        // SAFETY: the mapping is readable, and the file without a name is as long as it was made.
        unsafe { std::ptr::read_volatile(self.0.cast::<u8>()) };
    }

    /// Whether the page is in the page cache.
    fn cached(&self) -> Option<bool> {
        let mut state = [0_u8; 16];
        // SAFETY: the range is the mapping, one page (of 4 KiB or more), for which one byte is set.
        let rc = unsafe { libc::mincore(self.0, PAGE, state.as_mut_ptr().cast()) };
        (rc == 0).then_some(state[0] & 1 == 1)
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: the range is the mapping, and nothing borrows from it.
        unsafe { libc::munmap(self.0, PAGE) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tmpfs_never_writes_past_the_page_cache_and_leaves_nothing() {
        let folder = Path::new("/dev/shm").join(format!("baro-direct-{}", std::process::id()));
        if std::fs::create_dir_all(&folder).is_err() {
            println!("skipped: no /dev/shm");
            return;
        }
        let found = try_direct_write(&folder);
        let buffered = matches!(found, DirectIo::PageCache | DirectIo::Refused(_));
        assert!(buffered, "{found:?}");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        std::fs::write(folder.join("a"), [1; PAGE]).unwrap();
        assert_ne!(DirectIo::of_reads(&folder.join("a")), DirectIo::Yes);
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(matches!(try_direct_write(&folder), DirectIo::Unknown(_)));
        assert!(file_flags(&folder).unwrap_err().is_missing());
    }

    #[test]
    fn flags_have_names() {
        assert_eq!(PlaceFile::of_flags(0x8_0000), PlaceFile::default());
        assert!(PlaceFile::of_flags(0x4000).journalled);
        assert!(PlaceFile::of_flags(0x20).immutable);
        assert_eq!(size_of::<Fiemap>(), 32 + EXTENTS_MAX * 56);
    }
}
