//! Changes in folders, as the kernel tells them (inotify): which file was written, which folder came or went.
//!
//! It costs nothing while nothing changes: no file is read to see whether it is as before. Writes that come by
//! another mount of the same files, as those of a container, are not told.
//!
//! Invariant: reading does not wait; a change that found no room is told as such. Held by
//! `writes_and_folders_of_a_folder_are_told`.
#![allow(clippy::disallowed_methods, reason = "this crate is the door to the OS")]

use crate::{Error, Result};
use std::ffi::CString;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Room of one read: some hundred changes.
const READ_BYTES: usize = 16 << 10;
/// Reads of one [`Inotify::changes`]: it ends even if changes come as fast as they are read.
const READS_MAX: usize = 64;
/// `struct inotify_event` before the name.
const HEAD_BYTES: usize = 16;

/// Folders that are watched.
#[derive(Debug)]
pub struct Inotify {
    file: File,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A file was written: number of the folder, and name.
    Written(i32, String),
    /// A folder came: number of the folder that it is in, and name.
    Made(i32, String),
    /// A folder that was watched is gone.
    Gone(i32),
    /// Changes found no room in the kernel, and are not told.
    Lost,
}

impl Inotify {
    /// Watches nothing yet.
    ///
    /// # Errors
    /// The operating system's reason: most often that the user has as many as are allowed.
    pub fn new() -> Result<Self> {
        // SAFETY: touches no memory.
        let fd = unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) };
        if fd < 0 {
            return Err(Error::last("watch", Path::new("")));
        }
        // SAFETY: the descriptor is new, and nobody else's.
        Ok(Self { file: unsafe { File::from_raw_fd(fd) } })
    }

    /// Watches a folder; gives its number.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn add(&self, folder: &Path) -> Result<i32> {
        let error = |source| Error::new("watch", folder, source);
        let path = CString::new(folder.as_os_str().as_bytes());
        let path = path.map_err(|_| error(ErrorKind::InvalidInput.into()))?;
        let mask = libc::IN_MODIFY | libc::IN_CREATE | libc::IN_ONLYDIR;
        // SAFETY: the path ends with a zero and lives as long as the call.
        let number = unsafe { libc::inotify_add_watch(self.file.as_raw_fd(), path.as_ptr(), mask) };
        if number < 0 { Err(error(std::io::Error::last_os_error())) } else { Ok(number) }
    }

    /// What has happened since the last time. Does not wait.
    ///
    /// # Errors
    /// The operating system's reason.
    pub fn changes(&mut self) -> Result<Vec<Change>> {
        let (mut changes, mut bytes) = (Vec::new(), [0; READ_BYTES]);
        for _ in 0..READS_MAX {
            match self.file.read(&mut bytes) {
                Ok(count) => read_changes(bytes.get(..count).unwrap_or_default(), &mut changes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::new("read changes", Path::new(""), error)),
            }
        }
        Ok(changes)
    }
}

/// `struct inotify_event` of include/uapi/linux/inotify.h: number, mask, cookie, length of the name, name.
fn read_changes(mut bytes: &[u8], changes: &mut Vec<Change>) {
    while let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() {
        let [n0, n1, n2, n3, m0, m1, m2, m3, _, _, _, _, l0, l1, l2, l3] = *head;
        let number = i32::from_ne_bytes([n0, n1, n2, n3]);
        let mask = u32::from_ne_bytes([m0, m1, m2, m3]);
        let length = u32::from_ne_bytes([l0, l1, l2, l3]) as usize;
        let (name, rest) = rest.split_at(length.min(rest.len()));
        bytes = rest;
        let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
        let name = String::from_utf8_lossy(name).into_owned();
        let is = |flag: u32| mask & flag != 0;
        match number {
            _ if is(libc::IN_Q_OVERFLOW) => changes.push(Change::Lost),
            _ if is(libc::IN_IGNORED) => changes.push(Change::Gone(number)),
            _ if is(libc::IN_CREATE) && is(libc::IN_ISDIR) => {
                changes.push(Change::Made(number, name));
            }
            _ if is(libc::IN_MODIFY) && !is(libc::IN_ISDIR) => {
                changes.push(Change::Written(number, name));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_folders_of_a_folder_are_told() {
        let folder = std::env::temp_dir().join(format!("baro-inotify-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("below")).unwrap();
        std::fs::write(folder.join("file"), "1").unwrap();
        let mut inotify = Inotify::new().unwrap();
        let number = inotify.add(&folder).unwrap();
        let below = inotify.add(&folder.join("below")).unwrap();
        assert!(inotify.add(&folder.join("file")).is_err());
        assert_eq!(inotify.changes().unwrap(), []);
        // That a file is read, or comes, is nothing.
        std::fs::read(folder.join("file")).unwrap();
        std::fs::File::create(folder.join("other")).unwrap();
        assert_eq!(inotify.changes().unwrap(), []);
        std::fs::write(folder.join("other"), "2").unwrap();
        std::fs::create_dir(folder.join("new")).unwrap();
        std::fs::remove_dir(folder.join("below")).unwrap();
        let told = [
            Change::Written(number, "other".to_owned()),
            Change::Made(number, "new".to_owned()),
            Change::Gone(below),
        ];
        assert_eq!(inotify.changes().unwrap(), told);
        std::fs::remove_dir_all(&folder).unwrap();
        let mut changes = Vec::new();
        read_changes(&[0; 15], &mut changes);
        read_changes(&[0xff; 40], &mut changes);
        assert_eq!(changes, [Change::Lost]);
    }
}
