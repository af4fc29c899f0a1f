//! The real [`Storage`]: a folder of a mounted file system.
//!
//! The folder is opened once and held: a store that is moved is gone on with where it is now, and no
//! file of another that was put in its place is touched. What lies below is opened name by name
//! (`below`): whoever may write in a store's folder cannot make a reader follow a link, wait for a
//! pipe or write into somebody else's file. The path that the user gives may be a link.
//!
//! What is recorded is for whom it belongs to: a new store is readable by its owner alone, whatever the
//! umask. Who lets others read it changes the rights of its files once (`chmod -R g+rX`); what is made
//! later, also in a store of an earlier version, has the rights of the file that makes the folder a
//! store. What root makes in a store of another user is that user's: else one command as root would
//! keep the store's own programs from their files.
//!
//! Invariants: every file of a store is a regular file below its folder, or an error says what it is; held
//! by `what_is_no_regular_file_is_refused_and_waited_for_never` and the command line's
//! `a_pipe_in_a_store_is_refused_by_every_verb`. A new file is readable by nobody who cannot read the
//! store's own; held by `what_is_recorded_is_private_until_its_owner_shares_it`.

mod below;
mod locks;
#[cfg(test)]
mod tests;

pub use locks::{PartAttempt, PartLock};

use crate::files::PacedOutput;
use crate::lock::{Holder, LockFile};
use crate::storage::{Access, Storage, StorageFile};
use crate::{Error, Result};
use below::Below;
use std::fs::{File, Permissions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// A section of f2fs as `mkfs.f2fs` makes it; with its option `-s` it makes larger ones, which no
/// call tells. Files fixed in place take more room than their size there, which is seen once they
/// are made.
const SECTION_BYTES: u64 = 2 << 20;

/// The file by whose rights new ones go: a store's identity, by the name that the log gives it.
const OWNER_SAYS: &str = "store";

/// Makes a folder, and those above it, with the rights that go with those of its files.
fn make_folder(path: &Path, file_mode: u32) -> std::io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(below::folder_mode(file_mode)).create(path)
}

/// A folder on disk. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct Disk {
    folder: Arc<File>,
    /// By which it was opened, for messages.
    path: PathBuf,
}

/// What a name in a [`Disk`] is now, or what the folder itself is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Device and inode: another file has another, whatever its name.
    pub identity: (u64, u64),
    /// Bytes of a file.
    pub bytes: u64,
    /// Names that it has; 0 once it was removed.
    pub names: u64,
    /// When its bytes were written last, nanoseconds of realtime.
    pub modified_ns: i64,
    /// Who may do what: the lowest nine bits of its mode, and whether others may not remove names.
    pub rights: u32,
}

/// A file of a [`Disk`].
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    path: PathBuf,
    /// f2fs remembers in one bit that a file was overwritten, and a sync clears it after the flush:
    /// a write that ends during the flush is forgotten, and the next sync does not flush for it
    /// (fs/f2fs/file.c: FI_UPDATE_WRITE in f2fs_do_sync_file; seen on Linux 5.10, 6.1 and 6.12,
    /// docs/durability.md). So there no write is under way while this file is synced. Only of this
    /// handle: whoever writes and syncs a file shares one.
    apart: Option<RwLock<()>>,
}

impl DiskFile {
    fn new(file: File, path: PathBuf) -> Self {
        let apart = crate::place::on_f2fs(&file).unwrap_or(false).then(RwLock::default);
        DiskFile { file, path, apart }
    }
}

impl Disk {
    /// The folder at `folder`, which must exist.
    ///
    /// # Errors
    /// It is missing or no folder.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.to_owned();
        // A place, not a reader: who may go through the folder need not be able to list it.
        let folder = below::place(folder)?;
        Ok(Disk { folder: folder.into(), path })
    }

    /// Makes the folder, its parents too, durably, and opens it. Blocks for the device if one had
    /// to be made.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn create(folder: &Path) -> Result<Self> {
        let missing = |part: &&Path| !part.as_os_str().is_empty() && !part.exists();
        let made: Vec<&Path> = folder.ancestors().take_while(missing).collect();
        make_folder(folder, crate::files::PRIVATE)
            .map_err(|e| Error::new("make folder", folder, e))?;
        // A folder's name is durable when the one above is synced, from the outermost on.
        for new in made.iter().rev() {
            let above = new.parent().filter(|above| !above.as_os_str().is_empty());
            let above = above.unwrap_or(Path::new("."));
            match File::open(above).and_then(|above| above.sync_all()) {
                // Who may make a folder there but not look into it has no way to sync it.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
                done => done.map_err(|e| Error::new("sync folder", above, e))?,
            }
        }
        Self::open(folder)
    }

    /// The path by which it was opened.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.path
    }

    /// What the folder itself is now: it has no name any more once it was removed.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn found_here(&self) -> Result<Found> {
        let found = self.folder.metadata().map_err(|e| Error::new("stat", &self.path, e))?;
        Ok(Found::of(&found))
    }

    /// What `name` is now; a link is not followed.
    ///
    /// # Errors
    /// The operating system's reason; `is_missing` if there is no such name.
    pub fn found(&self, name: &str) -> Result<Found> {
        Ok(Found::of(&self.below(name)?.metadata()?))
    }

    /// Whether the path by which it was opened leads to another folder by now, or to none.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn is_elsewhere(&self) -> Result<bool> {
        use std::io::ErrorKind::{NotADirectory, NotFound};
        match std::fs::metadata(&self.path) {
            Ok(found) => Ok(Found::of(&found).identity != self.found_here()?.identity),
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(true),
            Err(error) => Err(Error::new("stat", &self.path, error)),
        }
    }

    /// Begins a file that is there once it is finished, with these rights whatever the umask. Where the
    /// file system cannot refuse a name that is taken, it is not made.
    ///
    /// # Errors
    /// The name is taken, or the operating system's reason.
    pub fn create_paced(&self, name: &str, rights: u32) -> Result<PacedOutput> {
        let (folder, name, path) = self.below(name)?.into_parts();
        PacedOutput::create_surely(folder, &name, path, rights)
    }

    /// Makes the folder `name` with these rights whatever the umask; one that is there is no error.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn create_folder_with(&self, name: &str, rights: u32) -> Result<()> {
        // What is made in it may have a group by the folder above: that stays.
        let give = |folder: &File| {
            let inherited = folder.metadata().map_or(0, |found| found.mode() & 0o2000);
            // Where rights are not kept the mount says who may read.
            let _ = folder.set_permissions(Permissions::from_mode(rights | inherited));
        };
        below::make_folders(&self.folder, &self.path, name, rights, give)
    }

    /// Whether somebody [holds](crate::files::hold) a file.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn is_held(&self, name: &str) -> Result<bool> {
        let file = self.below(name)?.open(false, false)?;
        Ok(matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
    }

    /// Gives what was just made to the owner of the store, if root has made it. Where that is refused it
    /// stays as it is: then whoever cannot open it says so.
    fn give(&self, made: &File) {
        if crate::schedule::user_id() != 0 {
            return;
        }
        if let Ok(says) = self.below(OWNER_SAYS).and_then(|below| below.metadata())
            && says.uid() != 0
        {
            let _ = std::os::unix::fs::fchown(made, Some(says.uid()), Some(says.gid()));
        }
    }

    /// Rights of a new file.
    fn new_mode(&self) -> u32 {
        let says = self.below(OWNER_SAYS).and_then(|below| below.metadata());
        crate::files::PRIVATE | says.map_or(0, |found| found.mode() & 0o444)
    }

    /// The folder in which `name` lies, and what it is called there.
    fn below(&self, name: &str) -> Result<Below> {
        Below::of(&self.folder, &self.path, name)
    }

    /// For calls that take a path: the folder that is held, wherever it is now.
    fn held(&self) -> PathBuf {
        below::held(&self.folder)
    }
}

impl Found {
    fn of(found: &std::fs::Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        let modified_ns = found.mtime().saturating_mul(1_000_000_000) + found.mtime_nsec();
        let identity = (found.dev(), found.ino());
        let rights = found.mode() & 0o1777;
        Found { identity, bytes: found.len(), names: found.nlink(), modified_ns, rights }
    }
}

impl Storage for Disk {
    type File = DiskFile;

    fn create(&self, name: &str) -> Result<DiskFile> {
        let below = self.below(name)?;
        let file = below.create(self.new_mode())?;
        self.give(&file);
        Ok(DiskFile::new(file, below.into_path()))
    }

    fn open(&self, name: &str, access: Access) -> Result<DiskFile> {
        let below = self.below(name)?;
        let write = matches!(access, Access::Write | Access::WriteDirect);
        let direct = matches!(access, Access::ReadDirect | Access::WriteDirect);
        let file = match below.open(write, direct) {
            // A reader takes the page cache where direct I/O is not to be had (tmpfs before 6.6).
            Err(e) if access == Access::ReadDirect && e.errno() == Some(libc::EINVAL) => {
                below.open(false, false)
            }
            other => other,
        };
        let (file, path) = (file?, below.into_path());
        // Who only reads needs no guard, and is not made to ask what file system it is.
        Ok(if write { DiskFile::new(file, path) } else { DiskFile { file, path, apart: None } })
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let (folder, path) = below::folder(&self.folder, &self.path, folder)?;
        crate::files::list(&below::held(&folder)).map_err(|e| Error::new("list", path, e.source))
    }

    fn create_folder(&self, name: &str) -> Result<()> {
        let mode = below::folder_mode(self.new_mode());
        // Nothing is in it yet; whoever has put another folder in its place gets nothing by that.
        let give = |folder: &File| {
            if std::fs::read_dir(below::held(folder)).is_ok_and(|mut names| names.next().is_none())
            {
                self.give(folder);
            }
        };
        below::make_folders(&self.folder, &self.path, name, mode, give)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.below(from)?.rename(&self.below(to)?)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.below(name)?.remove()
    }

    fn available_bytes(&self) -> Result<Option<u64>> {
        let found = crate::identity::FileSystem::of(&self.held());
        let named = |e: Error| Error::new(e.operation, &self.path, e.source);
        Ok(Some(found.map_err(named)?.available_bytes))
    }

    fn fixed_unit_bytes(&self) -> u64 {
        let found = crate::identity::FileSystem::of(&self.held());
        if found.is_ok_and(|found| found.name() == "f2fs") { SECTION_BYTES } else { 1 }
    }

    fn lock_file(&self, name: &str) -> Result<Option<std::result::Result<LockFile, Holder>>> {
        Ok(Some(self.lock(name)?))
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        let (folder, path) = below::folder(&self.folder, &self.path, folder)?;
        folder.sync_all().map_err(|e| Error::new("sync folder", path, e))
    }
}

/// Where data or a hole begins, from `offset` on. Positions of the descriptor are used by nobody else.
fn seek(file: &File, offset: u64, whence: libc::c_int) -> std::io::Result<u64> {
    let invalid = |_| std::io::Error::from_raw_os_error(libc::ENXIO);
    let offset = i64::try_from(offset).map_err(invalid)?;
    // SAFETY: plain call on an open descriptor.
    let found = unsafe { libc::lseek64(file.as_raw_fd(), offset, whence) };
    u64::try_from(found).map_err(|_| std::io::Error::last_os_error())
}

impl StorageFile for DiskFile {
    fn size_bytes(&self) -> Result<u64> {
        let found = self.file.metadata().map_err(|e| Error::new("stat", &self.path, e))?;
        Ok(found.len())
    }

    fn reserve(&self, bytes: u64) -> Result<()> {
        let fail = |e| Error::new(format!("allocate {bytes} bytes"), &self.path, e);
        let length = i64::try_from(bytes)
            .map_err(|_| fail(std::io::Error::from_raw_os_error(libc::EFBIG)))?;
        // SAFETY: plain call on an open descriptor. glibc writes zeros where the file system has
        // no fallocate, so this works everywhere.
        match unsafe { libc::posix_fallocate64(self.file.as_raw_fd(), 0, length) } {
            0 => Ok(()),
            errno => Err(fail(std::io::Error::from_raw_os_error(errno))),
        }
    }

    fn fix_in_place(&self) -> Result<bool> {
        crate::place::fix_in_place(&self.file)
            .map_err(|e| Error::new("pin (F2FS_IOC_SET_PIN_FILE)", &self.path, e))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<usize> {
        let mut done = 0;
        while let Some(rest) = bytes.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.file.read_at(rest, offset + done as u64) {
                Ok(0) => break,
                Ok(count) => done += count,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => {
                    let operation = format!("read {} bytes at {offset}", bytes.len());
                    return Err(Error::new(operation, &self.path, e));
                }
            }
        }
        Ok(done)
    }

    fn next_data(&self, offset: u64) -> Result<Option<u64>> {
        match seek(&self.file, offset, libc::SEEK_DATA) {
            Ok(found) => Ok(Some(found)),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            // No file system in use here is without it since 3.8; others read all.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(Some(offset)),
            Err(error) => Err(Error::new("seek data", &self.path, error)),
        }
    }

    fn is_written(&self, offset: u64, bytes: u64) -> Result<bool> {
        match seek(&self.file, offset, libc::SEEK_HOLE) {
            Ok(found) => Ok(found >= offset.saturating_add(bytes)),
            Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(bytes == 0),
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Ok(true),
            Err(error) => Err(Error::new("seek hole", &self.path, error)),
        }
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let apart = self.apart.as_ref();
        let _beside_writes = apart.map(|lock| lock.read().unwrap_or_else(PoisonError::into_inner));
        self.file.write_all_at(bytes, offset).map_err(|e| {
            Error::new(format!("write {} bytes at {offset}", bytes.len()), &self.path, e)
        })
    }

    fn sync_data(&self) -> Result<()> {
        let apart = self.apart.as_ref();
        let _alone = apart.map(|lock| lock.write().unwrap_or_else(PoisonError::into_inner));
        self.file.sync_data().map_err(|e| Error::new("sync", &self.path, e))
    }
}
