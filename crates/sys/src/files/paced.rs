//! A file that is written beside a recorder without keeping it waiting, and that nobody sees half of.
//!
//! Half a file looks like a whole one. So it has another name until it is finished, in the same folder,
//! and that name is gone with it when it is given up.
//!
//! A window goes to the device while the next one is made: who makes it waits for the device only where
//! that is the slower of both.
//!
//! Invariant: beside what one call writes at most two windows are dirty or under way to the device; under
//! its own name the file is whole and durable, or what was there before. Held by `a_file_is_there_whole_or_not_at_all`.

use super::{Result, exists};
use crate::{Error, identity};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A new ordinary file that is written from start to end without making the page cache dirty by
/// more than two windows of 4 MiB: what an export writes must not become the long writeback that a
/// recorder beside it would wait for. It is there once it is finished.
#[derive(Debug)]
pub struct PacedOutput {
    file: File,
    path: PathBuf,
    temporary: PathBuf,
    /// What has its name may be replaced.
    replaces: bool,
    /// Bytes up to here are being written back, and are written but for the last window.
    started: u64,
    /// Furthest byte written.
    end: u64,
}

/// What is handed to the device at once.
const WINDOW_BYTES: u64 = 4 << 20;

impl PacedOutput {
    /// Begins a file, readable by its owner alone: it holds what a store holds.
    ///
    /// # Errors
    /// The name is taken, or the operating system's reason.
    pub fn create(path: &Path) -> Result<Self> {
        match exists(path) {
            true => Err(Error::new("create", path, ErrorKind::AlreadyExists.into())),
            false => Self::begin(path, false),
        }
    }

    /// The same in the place of an ordinary file, which stays as it is until this one is finished.
    ///
    /// # Errors
    /// What has the name is no ordinary file, or the operating system's reason.
    pub fn replace(path: &Path) -> Result<Self> {
        match std::fs::symlink_metadata(path) {
            Ok(found) if !found.is_file() => {
                let why = io::Error::new(ErrorKind::InvalidInput, "it is no ordinary file");
                Err(Error::new("replace", path, why))
            }
            _ => Self::begin(path, true),
        }
    }

    fn begin(path: &Path, replaces: bool) -> Result<Self> {
        let fail = |error| Error::new("create", path, error);
        let number = identity::random_u64().map_err(|error| fail(error.into()))?;
        let temporary = path.with_file_name(format!(".baro-{number:016x}.part"));
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(super::PRIVATE).open(&temporary);
        let (file, path) = (opened.map_err(fail)?, path.to_owned());
        Ok(PacedOutput { file, path, temporary, replaces, started: 0, end: 0 })
    }

    /// Its name until it is finished: whoever ends the process removes it.
    #[must_use]
    pub fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Makes the contents durable, and then the name.
    ///
    /// # Errors
    /// The name was taken meanwhile, or the operating system's reason.
    pub fn finish(self) -> Result<()> {
        self.file.sync_all().map_err(|e| Error::new("sync", &self.path, e))?;
        self.publish().map_err(|e| Error::new("create", &self.path, e))?;
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let synced = File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(|e| Error::new("sync", folder, e))
    }

    fn publish(&self) -> io::Result<()> {
        if self.replaces {
            return std::fs::rename(&self.temporary, &self.path);
        }
        // A second name is refused where somebody has it; what knows no second names takes a rename.
        match std::fs::hard_link(&self.temporary, &self.path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(_) if exists(&self.path) => Err(ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(&self.temporary, &self.path),
            Ok(()) => Ok(()),
        }
    }
}

impl Drop for PacedOutput {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.temporary);
    }
}

impl Write for PacedOutput {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.end = self.end.max(self.file.stream_position()?);
        while self.end - self.started >= WINDOW_BYTES {
            // Only a courtesy: where it is refused the kernel writes back when it likes.
            let _ = super::start_write_back(&self.file, self.started, WINDOW_BYTES);
            if let Some(before) = self.started.checked_sub(WINDOW_BYTES) {
                let _ = super::write_back(&self.file, before, WINDOW_BYTES);
            }
            self.started += WINDOW_BYTES;
        }
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Seek for PacedOutput {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.file.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{list, make_folder, read_text, remove_tree, write};

    #[test]
    fn a_file_is_there_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("baro-paced-{}", std::process::id()));
        make_folder(&folder).expect("it can be made");
        let path = folder.join("x");
        let begun = |output: Result<PacedOutput>| {
            let mut output = output.expect("it can be begun");
            output.write_all(b"new").expect("it can be written");
            output
        };
        // Given up, nothing of it is left.
        drop(begun(PacedOutput::create(&path)));
        assert!(list(&folder).expect("it is there").is_empty());
        let output = begun(PacedOutput::create(&path));
        assert!(!exists(&path) && exists(output.temporary()));
        output.finish().expect("it can be finished");
        assert_eq!(list(&folder).expect("it is there"), ["x"]);
        // A name that is taken, before or meanwhile, stays with what has it.
        assert_eq!(
            PacedOutput::create(&path).map(drop).map_err(|e| e.kind()),
            Err(ErrorKind::AlreadyExists)
        );
        std::fs::remove_file(&path).expect("it is there");
        let late = begun(PacedOutput::create(&path));
        write(&path, b"of another").expect("it can be written");
        assert_eq!(late.finish().map_err(|e| e.kind()), Err(ErrorKind::AlreadyExists));
        assert_eq!(read_text(&path, 100).expect("it is there"), "of another");
        drop(begun(PacedOutput::replace(&path)));
        assert_eq!(read_text(&path, 100).expect("it is there"), "of another");
        begun(PacedOutput::replace(&path)).finish().expect("it can be finished");
        assert_eq!(read_text(&path, 100).expect("it is there"), "new");
        assert_eq!(list(&folder).expect("it is there"), ["x"]);
        // No folder, device or link is replaced.
        assert!(PacedOutput::replace(&folder).is_err());
        assert!(PacedOutput::replace(Path::new("/dev/null")).is_err());
        remove_tree(&folder).expect("it is ours");
    }
}
