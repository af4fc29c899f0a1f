//! The door for files that keep a state and belong to somebody: journals, locks, registries, rings.
//!
//! Whoever may write in a folder decides what a name in it means: a link to another file, a pipe that
//! never opens, somebody else's text. A [`StateFolder`] is therefore opened part by part from the root
//! of the file system and checked: each part belongs to root or to this user, and nobody else may write
//! in it (in a folder with the sticky bit others may, but only its owner replaces what he made there).
//! Files are then opened below that descriptor, never by a path again; no link is followed, only
//! regular files of a trusted owner with one name are taken, and a temporary file has a name that
//! nobody guesses. Nothing removes a tree.
//!
//! Invariant: no file outside the folder, and none of another user, is read, written, locked or removed
//! through this door, whatever anyone else does meanwhile. Held by the tests in `state/tests.rs`, which
//! use a second user where root allows it.

mod file;
#[cfg(test)]
mod tests;

use crate::{Error, Result};
use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// Error number of what this user may not even look into.
pub const NO_ACCESS: i32 = libc::EACCES;

const ROOT: u32 = 0;
/// Who else than the owner may write.
const OTHERS_WRITE: u32 = 0o022;
/// Who else may do anything.
const OTHERS: u32 = 0o077;
const STICKY: u32 = 0o1000;
const PERMISSIONS: u32 = 0o7777;

/// A folder in which only root and one user can have put anything. Clones share the descriptor.
#[derive(Clone, Debug)]
pub struct StateFolder {
    folder: std::sync::Arc<File>,
    path: PathBuf,
    /// Whose files are taken, beside root's.
    user: u32,
}

impl StateFolder {
    /// Opens a folder of root or of this user. Links on the way are followed once, before anything is
    /// checked: what is checked is where they lead.
    ///
    /// # Errors
    /// It is not there, or somebody else could replace it or what is in it: the error names the part
    /// of the path, what was expected and what was found.
    pub fn open(path: &Path) -> Result<Self> {
        Self::open_of(path, crate::schedule::user_id())
    }

    /// The same with the files of another user taken, and not those of this one: for root, who looks
    /// at what a service keeps.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub fn open_of(path: &Path, user: u32) -> Result<Self> {
        let real = std::fs::canonicalize(path).map_err(|e| Error::new("open folder", path, e))?;
        let folder = walk(&real, |folder, so_far| check_folder(folder, so_far, user))?;
        let folder = readable(&folder, path)?;
        Ok(StateFolder { folder: folder.into(), path: path.to_owned(), user })
    }

    /// Opens the folder, and makes it first, with these rights and whatever the umask says, if it is
    /// not there. The one above it must exist and pass the same checks.
    ///
    /// # Errors
    /// As [`StateFolder::open`], or the folder cannot be made.
    pub fn make(path: &Path, mode: u32) -> Result<Self> {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Self::open(path);
        };
        let above = if above.as_os_str().is_empty() { Path::new(".") } else { above };
        Self::open(above)?.make_below(name, mode)
    }

    /// As [`StateFolder::make`], with the folders above it that are missing.
    ///
    /// # Errors
    /// As there.
    pub fn make_all(path: &Path, mode: u32) -> Result<Self> {
        match Self::make(path, mode) {
            Err(error) if error.is_missing() => {
                let above = path.parent().filter(|above| !above.as_os_str().is_empty());
                let Some(above) = above else { return Err(error) };
                Self::make_all(above, mode)?;
                Self::make(path, mode)
            }
            done => done,
        }
    }

    /// The folder `name` in this one, made with these rights if it is not there.
    ///
    /// # Errors
    /// As [`StateFolder::make`]; `name` is no plain name.
    pub fn make_below(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<Self> {
        match self.make_new(name.as_ref(), mode) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.below(name),
            made => made,
        }
    }

    /// The same of a folder that is not there: takes none of this name, whose ever it is.
    ///
    /// # Errors
    /// `AlreadyExists`, or as [`StateFolder::make_below`].
    pub fn make_new(&self, name: impl AsRef<OsStr>, mode: u32) -> Result<Self> {
        let (name, path) = (name.as_ref(), self.path.join(name.as_ref()));
        let text = plain(name, &path)?;
        let mode = mode as libc::mode_t;
        // SAFETY: an open descriptor and a name that ends with 0.
        if unsafe { libc::mkdirat(self.folder.as_raw_fd(), text.as_ptr(), mode) } != 0 {
            return Err(Error::last("make folder", &path));
        }
        let below = self.below(name)?;
        // What the umask has taken away.
        // SAFETY: an open descriptor.
        if unsafe { libc::fchmod(below.folder.as_raw_fd(), mode) } != 0 {
            return Err(Error::last("set the mode of", &path));
        }
        Ok(below)
    }

    /// The folder `name` in this one.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub fn below(&self, name: impl AsRef<OsStr>) -> Result<Self> {
        let path = self.path.join(name.as_ref());
        plain(name.as_ref(), &path)?;
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let folder = at(Some(&self.folder), name.as_ref(), flags, 0, &path)?;
        check_folder(&folder, &path, self.user)?;
        Ok(StateFolder { folder: folder.into(), path, user: self.user })
    }

    /// The folder that is there now by its path, with the same checks: for one that is removed and made
    /// again while this is held.
    ///
    /// # Errors
    /// As [`StateFolder::open`].
    pub fn reopen(&self) -> Result<Self> {
        Self::open_of(&self.path, self.user)
    }

    /// The path by which it was opened, for messages.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where it is, without links, for programs that take a path only. Each part was checked when it was
    /// opened, so nobody but root and its user puts something else there.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn place(&self) -> Result<PathBuf> {
        let own = format!("/proc/self/fd/{}", self.folder.as_raw_fd());
        std::fs::read_link(own).map_err(|e| Error::new("find", &self.path, e))
    }

    /// Who owns it.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn owner(&self) -> Result<u32> {
        Ok(self.folder.metadata().map_err(|e| Error::new("stat", &self.path, e))?.uid())
    }

    /// The names in it, sorted; names that are not UTF-8 are left out.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn list(&self) -> Result<Vec<String>> {
        // By a descriptor of its own: positions of a list are shared otherwise.
        let own = PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()));
        match crate::files::list(&own) {
            Ok(names) => Ok(names),
            Err(error) => Err(Error::new("list", &self.path, error.source)),
        }
    }

    /// Removes an empty folder of this one; one that is not there is no error.
    ///
    /// # Errors
    /// It is not empty, or the operating system's reason.
    pub fn remove_folder(&self, name: &str) -> Result<()> {
        self.unlink(name, libc::AT_REMOVEDIR)
    }

    /// Removes a name that is no folder, whatever it is: a link goes, not what it names. One that is
    /// not there is no error.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn remove(&self, name: &str) -> Result<()> {
        self.unlink(name, 0)
    }

    /// As [`StateFolder::remove`], durably. Blocks for one sync.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn remove_durable(&self, name: &str) -> Result<()> {
        self.remove(name)?;
        self.sync()
    }

    fn unlink(&self, name: &str, flags: libc::c_int) -> Result<()> {
        let path = self.path.join(name);
        let text = plain(OsStr::new(name), &path)?;
        // SAFETY: an open descriptor and a name that ends with 0.
        if unsafe { libc::unlinkat(self.folder.as_raw_fd(), text.as_ptr(), flags) } == 0 {
            return Ok(());
        }
        match Error::last("remove", &path) {
            error if error.is_missing() => Ok(()),
            error => Err(error),
        }
    }

    /// Whether `name` in it is this very file.
    #[must_use]
    pub fn names(&self, name: &str, file: &File) -> bool {
        let path = self.path.join(name);
        let there = at(Some(&self.folder), OsStr::new(name), libc::O_PATH, 0, &path);
        let found = there.ok().and_then(|there| there.metadata().ok());
        found.zip(file.metadata().ok()).is_some_and(|(there, file)| same(&there, &file))
    }

    /// Removes the folder itself if nothing is in it: the name in the one above that is this folder.
    pub fn remove_if_empty(&self) {
        let _ = self.remove_own_name();
    }

    fn remove_own_name(&self) -> Result<()> {
        let real = std::fs::canonicalize(&self.path);
        let real = real.map_err(|e| Error::new("find", &self.path, e))?;
        let Some(name) = real.file_name() else { return Ok(()) };
        let flags = libc::O_RDONLY | libc::O_DIRECTORY;
        let folder = at(Some(&self.folder), OsStr::new(".."), flags, 0, &real)?;
        check_folder(&folder, &real, self.user)?;
        let above = StateFolder { folder: folder.into(), path: real.clone(), user: self.user };
        let name = name.to_string_lossy();
        if above.names(&name, &self.folder) { above.remove_folder(&name) } else { Ok(()) }
    }

    /// Makes the names in it durable. Waits for the journal.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn sync(&self) -> Result<()> {
        self.folder.sync_all().map_err(|e| Error::new("sync folder", &self.path, e))
    }
}

/// One component of a path, as the kernel takes it.
pub(crate) fn plain(name: &OsStr, path: &Path) -> Result<CString> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes == b"." || bytes == b".." || bytes.contains(&b'/') {
        return Err(refused(path, "one plain name", format!("{}", name.display())));
    }
    CString::new(bytes).map_err(|_| refused(path, "a name", "one with a zero byte".to_owned()))
}

pub(crate) fn refused(path: &Path, expected: &str, found: String) -> Error {
    let text = format!("expected {expected}, found {found}");
    Error::new("open", path, io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// Opens `name` in `folder`, following no link.
pub(crate) fn at(
    folder: Option<&File>,
    name: &OsStr,
    flags: i32,
    mode: u32,
    path: &Path,
) -> Result<File> {
    let text = CString::new(name.as_bytes())
        .map_err(|_| refused(path, "a name", "one with a zero byte".to_owned()))?;
    let below = folder.map_or(libc::AT_FDCWD, AsRawFd::as_raw_fd);
    let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: a name that ends with 0, and a descriptor that is open or none.
    let opened = unsafe { libc::openat(below, text.as_ptr(), flags, mode as libc::c_uint) };
    if opened >= 0 {
        // SAFETY: the descriptor was just opened and is nobody else's.
        return Ok(unsafe { File::from_raw_fd(opened) });
    }
    match Error::last("open", path) {
        error if error.errno() == Some(libc::ELOOP) => {
            Err(refused(path, "a file or folder", "a symbolic link".to_owned()))
        }
        error if error.errno() == Some(libc::ENOTDIR) && flags & libc::O_DIRECTORY != 0 => {
            let found = if is_link(below, &text) { "a symbolic link" } else { "something else" };
            Err(refused(path, "a folder", found.to_owned()))
        }
        error => Err(error),
    }
}

/// Whether a name in an open folder is a link.
fn is_link(folder: libc::c_int, name: &std::ffi::CStr) -> bool {
    let mut to = [0_u8; 1];
    // SAFETY: a name that ends with 0, and one byte to write into.
    let read = unsafe { libc::readlinkat(folder, name.as_ptr(), to.as_mut_ptr().cast(), to.len()) };
    read >= 0
}

/// From now on calls on a file that was opened without waiting wait again; `flags` stay.
pub(crate) fn waiting(file: &File, flags: i32, path: &Path) -> Result<()> {
    // SAFETY: an open descriptor.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, flags) } != 0 {
        return Err(Error::last("set the flags of", path));
    }
    Ok(())
}

/// A descriptor for reading and syncing of a folder that was opened as a place only.
fn readable(folder: &File, path: &Path) -> Result<File> {
    at(Some(folder), OsStr::new("."), libc::O_RDONLY | libc::O_DIRECTORY, 0, path)
}

/// Nobody but root and the user can have put something into this folder, or replace what they put.
fn check_folder(folder: &File, path: &Path, user: u32) -> Result<()> {
    let found = folder.metadata().map_err(|e| Error::new("stat", path, e))?;
    check_owner(&found, path, user)?;
    let mode = found.mode() & PERMISSIONS;
    if mode & OTHERS_WRITE == 0 || mode & STICKY != 0 {
        return Ok(());
    }
    Err(refused(path, "a folder in which only its owner writes", format!("mode {mode:04o}")))
}

/// Where a file is, links followed, if nobody but root can have written it or can replace it, by any part of
/// its path: for what root is to run or to read again later. In a sticky folder, as `/dev/shm`, whatever
/// root has made is safe only while it is there: once it is removed, or after a reboot, the name is
/// anybody's. So such a folder is refused here.
///
/// # Errors
/// It is not there, or somebody else can; the error names the part of the path.
pub fn place_of_roots(path: &Path) -> Result<PathBuf> {
    let place = path.canonicalize().map_err(|e| Error::new("find", path, e))?;
    let (Some(above), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(refused(&place, "a file", "a folder".to_owned()));
    };
    let folder = walk(above, |folder, so_far| {
        check_folder(folder, so_far, ROOT)?;
        only_owner_writes(folder, so_far, "a folder that only its owner writes, sticky or not")
    })?;
    let file = at(Some(&folder), name, libc::O_PATH, 0, &place)?;
    let found = file.metadata().map_err(|e| Error::new("stat", &place, e))?;
    check_owner(&found, &place, ROOT)?;
    only_owner_writes(&file, &place, "a file that only its owner writes")?;
    Ok(place)
}

/// Goes from the root of the file system to a folder whose path has no links, part by part, and looks at
/// each. The descriptor is of a place only.
fn walk(real: &Path, check: impl Fn(&File, &Path) -> Result<()>) -> Result<File> {
    let flags = libc::O_PATH | libc::O_DIRECTORY;
    let mut so_far = PathBuf::from("/");
    let mut folder = at(None, OsStr::new("/"), flags, 0, &so_far)?;
    check(&folder, &so_far)?;
    for part in real.components() {
        let Component::Normal(name) = part else { continue };
        so_far.push(name);
        folder = at(Some(&folder), name, flags, 0, &so_far)?;
        check(&folder, &so_far)?;
    }
    Ok(folder)
}

fn only_owner_writes(open: &File, path: &Path, expected: &str) -> Result<()> {
    let found = open.metadata().map_err(|e| Error::new("stat", path, e))?;
    match found.mode() & PERMISSIONS {
        mode if mode & OTHERS_WRITE == 0 => Ok(()),
        mode => Err(refused(path, expected, format!("mode {mode:04o}"))),
    }
}

fn same(one: &std::fs::Metadata, other: &std::fs::Metadata) -> bool {
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

fn check_owner(found: &std::fs::Metadata, path: &Path, user: u32) -> Result<()> {
    let owner = found.uid();
    if owner == ROOT || owner == user {
        return Ok(());
    }
    let who = if user == ROOT { "root".to_owned() } else { format!("root or user {user}") };
    Err(refused(path, &format!("one that belongs to {who}"), format!("user {owner}'s")))
}
