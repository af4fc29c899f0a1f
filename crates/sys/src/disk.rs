//! The real [`Storage`]: a folder of a mounted file system.

use crate::storage::{Access, Storage, StorageFile};
use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// A section of f2fs as `mkfs.f2fs` makes it; with its option `-s` it makes larger ones, which no
/// call tells. Files fixed in place take more room than their size there, which is seen once they
/// are made.
const SECTION_BYTES: u64 = 2 << 20;

/// A folder on disk.
#[derive(Clone, Debug)]
pub struct Disk {
    folder: PathBuf,
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
        let found = std::fs::metadata(folder).map_err(|e| Error::new("open folder", folder, e))?;
        if !found.is_dir() {
            let reason = std::io::Error::from_raw_os_error(libc::ENOTDIR);
            return Err(Error::new("open folder", folder, reason));
        }
        Ok(Disk { folder: folder.to_owned() })
    }

    /// Makes the folder, its parents too, durably, and opens it. Blocks for the device if one had
    /// to be made.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn create(folder: &Path) -> Result<Self> {
        let missing = |part: &&Path| !part.as_os_str().is_empty() && !part.exists();
        let made: Vec<&Path> = folder.ancestors().take_while(missing).collect();
        std::fs::create_dir_all(folder).map_err(|e| Error::new("make folder", folder, e))?;
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

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    fn path(&self, name: &str) -> PathBuf {
        if name.is_empty() { self.folder.clone() } else { self.folder.join(name) }
    }
}

impl Storage for Disk {
    type File = DiskFile;

    fn create(&self, name: &str) -> Result<DiskFile> {
        let path = self.path(name);
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| Error::new("create", &path, e))?;
        Ok(DiskFile::new(file, path))
    }

    fn open(&self, name: &str, access: Access) -> Result<DiskFile> {
        let path = self.path(name);
        let write = matches!(access, Access::Write | Access::WriteDirect);
        let direct = matches!(access, Access::ReadDirect | Access::WriteDirect);
        let open =
            |flags| OpenOptions::new().read(true).write(write).custom_flags(flags).open(&path);
        let file = match open(if direct { libc::O_DIRECT } else { 0 }) {
            // A reader takes the page cache where direct I/O is not to be had (tmpfs before 6.6).
            Err(e) if access == Access::ReadDirect && e.raw_os_error() == Some(libc::EINVAL) => {
                open(0)
            }
            other => other,
        };
        let file = file.map_err(|e| Error::new("open", &path, e))?;
        // Who only reads needs no guard, and is not made to ask what file system it is.
        Ok(if write { DiskFile::new(file, path) } else { DiskFile { file, path, apart: None } })
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let path = self.path(folder);
        let fail = |e| Error::new("list", &path, e);
        let mut names = Vec::new();
        for entry in std::fs::read_dir(&path).map_err(fail)? {
            if let Ok(name) = entry.map_err(fail)?.file_name().into_string() {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn create_folder(&self, name: &str) -> Result<()> {
        let path = self.path(name);
        std::fs::create_dir_all(&path).map_err(|e| Error::new("make folder", &path, e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let path = self.path(from);
        std::fs::rename(&path, self.path(to))
            .map_err(|e| Error::new(format!("rename to {to}"), &path, e))
    }

    fn remove(&self, name: &str) -> Result<()> {
        crate::files::remove(&self.path(name))
    }

    fn available_bytes(&self) -> Result<Option<u64>> {
        Ok(Some(crate::identity::FileSystem::of(&self.folder)?.available_bytes))
    }

    fn fixed_unit_bytes(&self) -> u64 {
        let found = crate::identity::FileSystem::of(&self.folder);
        if found.is_ok_and(|found| found.name() == "f2fs") { SECTION_BYTES } else { 1 }
    }

    fn sync_folder(&self, folder: &str) -> Result<()> {
        let path = self.path(folder);
        File::open(&path)
            .and_then(|folder| folder.sync_all())
            .map_err(|e| Error::new("sync folder", &path, e))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_they_are_kept_apart_a_write_waits_for_the_sync_under_way() {
        let path = std::env::temp_dir().join(format!("baro-apart-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let file = DiskFile { file, path: path.clone(), apart: Some(RwLock::default()) };
        let (ended, end) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let syncing = file.apart.as_ref().unwrap().write().unwrap();
            scope.spawn(|| {
                file.write_at(0, b"later").unwrap();
                ended.send(()).unwrap();
            });
            // Too short a wait would only let a fault pass, not invent one.
            end.recv_timeout(std::time::Duration::from_millis(50)).unwrap_err();
            assert_eq!(file.size_bytes().unwrap(), 0);
            drop(syncing);
            end.recv().unwrap();
        });
        file.sync_data().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"later");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn files_keep_what_is_written_and_errors_name_the_file() {
        let base = std::env::temp_dir().join(format!("baro-disk-{}", std::process::id()));
        let folder = base.join("below/it");
        assert!(Disk::open(&folder).unwrap_err().is_missing());
        let disk = Disk::create(&folder).unwrap();
        assert_eq!(Disk::create(&folder).unwrap().folder(), folder);
        let file = disk.create("a").unwrap();
        file.write_at(10, b"hello").unwrap();
        file.sync_data().unwrap();
        let mut bytes = [1; 20];
        assert_eq!(file.read_at(0, &mut bytes).unwrap(), 15);
        assert_eq!(&bytes[8..15], b"\0\0hello");
        assert!(disk.create("a").is_err());
        disk.rename("a", "b").unwrap();
        disk.sync_folder("").unwrap();
        assert_eq!(disk.list("").unwrap(), ["b"]);
        let error = disk.open("a", Access::Read).unwrap_err();
        assert!(error.is_missing() && error.to_string().contains("/a: open: "));
        std::fs::remove_dir_all(&base).unwrap();
    }
}
