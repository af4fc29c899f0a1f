//! A name below a folder that is held open: found part by part, no link followed, no pipe waited for.
//!
//! A store may be another user's, who puts into it what he likes: a link to a file of the reader, a
//! pipe that nobody writes, a device that acts when it is opened. So the parts of a name are opened
//! one from the other, and what is opened is looked at before it is used. A file with a second name
//! that belongs to another than the folder, or than who writes, is not written: somebody linked it here.
//!
//! Invariant: as in [`super`]; held by the same tests.

use crate::state::{at, plain, refused, waiting};
use crate::{Error, Result};
use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

const AS_PLACE: i32 = libc::O_PATH | libc::O_DIRECTORY;

/// A folder as a place only, by a path of the user's: the one open that follows links.
pub(super) fn place(path: &Path) -> Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = std::fs::OpenOptions::new().read(true).custom_flags(AS_PLACE).open(path);
    opened.map_err(|e| Error::new("open folder", path, e))
}

/// A path that leads to an open folder, whatever it is called now.
pub(super) fn held(folder: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()))
}

/// The folder `name` (`""` is the one above), readable, and its path for messages.
pub(super) fn folder(above: &File, path: &Path, name: &str) -> Result<(File, PathBuf)> {
    let mut so_far = path.to_owned();
    let path = if name.is_empty() { path.to_owned() } else { path.join(name) };
    let mut parts = name.split('/').filter(|part| !part.is_empty()).peekable();
    let flags = libc::O_RDONLY | libc::O_DIRECTORY;
    if parts.peek().is_none() {
        return Ok((at(Some(above), OsStr::new("."), flags, 0, &path)?, path));
    }
    let mut folder = None;
    while let Some(part) = parts.next() {
        plain(OsStr::new(part), &path)?;
        so_far.push(part);
        let flags = if parts.peek().is_none() { flags } else { AS_PLACE };
        folder = Some(at(folder.as_ref().or(Some(above)), OsStr::new(part), flags, 0, &so_far)?);
    }
    folder
        .map(|folder| (folder, path.clone()))
        .ok_or_else(|| refused(&path, "a name", String::new()))
}

/// Rights of a folder whose files have these: who may read them may go through it.
pub(super) fn folder_mode(file_mode: u32) -> u32 {
    file_mode | (file_mode & 0o444) >> 2
}

/// Makes the folder `name` and those above it, for files of these rights; one that is there is no
/// error, a link is. `each` gets those that were made.
pub(super) fn make_folders(
    above: &File,
    path: &Path,
    name: &str,
    mode: u32,
    each: impl Fn(&File),
) -> Result<()> {
    let mode = mode as libc::mode_t;
    let path = path.join(name);
    let mut folder: Option<File> = None;
    for part in name.split('/').filter(|part| !part.is_empty()) {
        let (below, text) = (folder.as_ref().unwrap_or(above), plain(OsStr::new(part), &path)?);
        // SAFETY: an open descriptor and a name that ends with 0.
        let made = unsafe { libc::mkdirat(below.as_raw_fd(), text.as_ptr(), mode) };
        if made != 0 {
            let error = Error::last("make folder", &path);
            if error.errno() != Some(libc::EEXIST) {
                return Err(error);
            }
        }
        // One that was just made is ours to read.
        let flags = if made == 0 { libc::O_RDONLY | libc::O_DIRECTORY } else { AS_PLACE };
        let found = at(Some(below), OsStr::new(part), flags, 0, &path)?;
        if made == 0 {
            each(&found);
        }
        folder = Some(found);
    }
    Ok(())
}

/// A name and the folder in which it lies.
#[derive(Debug)]
pub(super) struct Below {
    folder: File,
    name: String,
    path: PathBuf,
}

impl Below {
    pub(super) fn of(above: &File, path: &Path, name: &str) -> Result<Self> {
        let whole = path.join(name);
        let (parents, name) = name.rsplit_once('/').unwrap_or(("", name));
        plain(OsStr::new(name), &whole)?;
        let (mut folder, mut so_far): (Option<File>, _) = (None, path.to_owned());
        for part in parents.split('/').filter(|part| !part.is_empty()) {
            plain(OsStr::new(part), &whole)?;
            so_far.push(part);
            let above = folder.as_ref().unwrap_or(above);
            folder = Some(at(Some(above), OsStr::new(part), AS_PLACE, 0, &so_far)?);
        }
        let folder = match folder {
            Some(folder) => folder,
            None => above.try_clone().map_err(|e| Error::new("open", &whole, e))?,
        };
        Ok(Below { folder, name: name.to_owned(), path: whole })
    }

    pub(super) fn into_path(self) -> PathBuf {
        self.path
    }

    /// The folder, the name in it, and the path for messages.
    pub(super) fn into_parts(self) -> (File, String, PathBuf) {
        (self.folder, self.name, self.path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A new file, for reading and writing, with these rights less what the umask takes away.
    pub(super) fn create(&self, mode: u32) -> Result<File> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL;
        let named = |e: Error| Error::new("create", e.path, e.source);
        at(Some(&self.folder), OsStr::new(&self.name), flags, mode, &self.path).map_err(named)
    }

    /// A file that is there.
    pub(super) fn open(&self, write: bool, direct: bool) -> Result<File> {
        let flags = if write { libc::O_RDWR } else { libc::O_RDONLY };
        self.open_with(flags, direct, 0)
    }

    /// The same, made if it is not there, for reading and writing.
    pub(super) fn open_or_create(&self, mode: u32) -> Result<File> {
        self.open_with(libc::O_RDWR | libc::O_CREAT, false, mode)
    }

    fn open_with(&self, flags: i32, direct: bool, mode: u32) -> Result<File> {
        let kept = if direct { libc::O_DIRECT } else { 0 };
        let all = flags | kept | libc::O_NONBLOCK;
        let file = match at(Some(&self.folder), OsStr::new(&self.name), all, mode, &self.path) {
            // What a pipe without a reader, a device without a driver and a socket answer.
            Err(error) if error.errno() == Some(libc::ENXIO) => {
                return Err(self.refused("a pipe, socket or device".to_owned()));
            }
            // What a pipe answers that is asked for direct I/O, and a file system that has none.
            Err(error) if error.errno() == Some(libc::EINVAL) => {
                let found = self.metadata()?;
                let other = (!found.is_file()).then(|| self.refused(kind(&found).to_owned()));
                return Err(other.unwrap_or(error));
            }
            opened => opened?,
        };
        let found = file.metadata().map_err(|e| Error::new("stat", &self.path, e))?;
        if !found.is_file() {
            return Err(self.refused(kind(&found).to_owned()));
        }
        if flags & libc::O_RDWR != 0 && found.nlink() > 1 {
            self.check_owner(&found)?;
        }
        waiting(&file, kept, &self.path)?;
        Ok(file)
    }

    /// A file with several names is written only by its owner, in a folder of his.
    fn check_owner(&self, found: &Metadata) -> Result<()> {
        let folder = self.folder.metadata().map_err(|e| Error::new("stat", &self.path, e))?;
        if found.uid() == folder.uid() && found.uid() == crate::schedule::user_id() {
            return Ok(());
        }
        let (names, owner) = (found.nlink(), found.uid());
        let found = format!("one of user {owner} with {names} names (hard links)");
        Err(refused(&self.path, "a file with one name, or your own in a folder of yours", found))
    }

    fn refused(&self, found: String) -> Error {
        refused(&self.path, "a regular file", found)
    }

    pub(super) fn metadata(&self) -> Result<Metadata> {
        let file = at(Some(&self.folder), OsStr::new(&self.name), libc::O_PATH, 0, &self.path)?;
        file.metadata().map_err(|e| Error::new("stat", &self.path, e))
    }

    pub(super) fn rename(&self, to: &Below) -> Result<()> {
        let old = plain(OsStr::new(&self.name), &self.path)?;
        let new = plain(OsStr::new(&to.name), &to.path)?;
        let (from_folder, to_folder) = (self.folder.as_raw_fd(), to.folder.as_raw_fd());
        // SAFETY: open descriptors and names that end with 0.
        let done = unsafe { libc::renameat(from_folder, old.as_ptr(), to_folder, new.as_ptr()) };
        if done == 0 {
            return Ok(());
        }
        Err(Error::last(format!("rename to {}", to.path.display()), &self.path))
    }

    pub(super) fn remove(&self) -> Result<()> {
        let name = plain(OsStr::new(&self.name), &self.path)?;
        // SAFETY: an open descriptor and a name that ends with 0.
        if unsafe { libc::unlinkat(self.folder.as_raw_fd(), name.as_ptr(), 0) } == 0 {
            return Ok(());
        }
        Err(Error::last("remove", &self.path))
    }
}

fn kind(found: &Metadata) -> &'static str {
    let kind = found.file_type();
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a pipe",
        () if kind.is_socket() => "a socket",
        () => "a device",
    }
}
