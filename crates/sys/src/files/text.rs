//! Whole files: settings below /proc and /sys, and small state files kept durably.
//!
//! A setting is written as a shell does it (`echo value > file`): open for writing with truncate,
//! which kernel files ignore and a plain file under a fake root needs, never with create, so that
//! a mistyped name is an error and not a new file; then exactly one write, because each write to a
//! kernel file is a command of its own. Invariant: a file written with [`write_durable`] holds
//! either all of its old or all of its new bytes after a kill or a power cut. The tests below and
//! those of baro-tune hold it.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// Reads a whole text file of at most `limit_bytes`; a longer one, or one that is not UTF-8, is an
/// error. Blocks as long as the file system does.
///
/// # Errors
/// The operating system's reason.
pub fn read_text(path: &Path, limit_bytes: u64) -> Result<String> {
    let failed = |source| Error::new("read", path, source);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit_bytes {
        let found = format!("expected at most {limit_bytes} bytes, found more");
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, found)));
    }
    String::from_utf8(bytes)
        .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error.utf8_error())))
}

/// Makes or replaces a small file; not durable.
///
/// # Errors
/// The operating system's reason.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|source| Error::new("write", path, source))
}

/// Writes `text` and a newline to an existing file in one write.
///
/// # Errors
/// The kernel's reason: EINVAL for a value it does not take.
pub fn write_setting(path: &Path, text: &str) -> Result<()> {
    let failed = |source| Error::new("write", path, source);
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).map_err(failed)?;
    let line = format!("{text}\n");
    let written = file.write(line.as_bytes()).map_err(failed)?;
    if written == line.len() {
        return Ok(());
    }
    let found = format!("expected {} bytes to be taken, found {written}", line.len());
    Err(failed(io::Error::new(io::ErrorKind::WriteZero, found)))
}

/// Replaces the file by `bytes`, durably and at once: a file beside it with `.tmp` appended to the
/// name is written and synced, then renamed over it, then the directory is synced. The caller must
/// be the only writer of this path. Blocks for two syncs.
///
/// # Errors
/// The operating system's reason; the file holds its old bytes, or its new ones if only the last
/// sync failed.
pub fn write_durable(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut name = OsString::from(path);
    name.push(".tmp");
    let temporary = PathBuf::from(name);
    let failed = |source| Error::new("write", &temporary, source);
    let mut file = File::create(&temporary).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.sync_all().map_err(|source| Error::new("sync", &temporary, source))?;
    fs::rename(&temporary, path).map_err(|source| Error::new("rename to", path, source))?;
    sync_parent(path)
}

/// Removes a file durably; one that is not there is no error. Blocks for one sync.
///
/// # Errors
/// The operating system's reason.
pub fn remove_durable(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(source) if source.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Error::new("remove", path, source)),
        Ok(()) => sync_parent(path),
    }
}

fn sync_parent(path: &Path) -> Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    let synced = File::open(parent).and_then(|directory| directory.sync_all());
    synced.map_err(|source| Error::new("sync", parent, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{is_gone, list, make_folders};

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("baro-host-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        make_folders(&path).unwrap();
        path
    }

    #[test]
    fn a_setting_is_never_created_and_replaces_longer_text() {
        let directory = directory("setting");
        let missing = write_setting(&directory.join("nr_missing"), "1").unwrap_err();
        assert!(is_gone(&missing));
        assert!(missing.to_string().contains("nr_missing: write: "), "{missing}");
        assert_eq!(list(&directory).unwrap(), Vec::<String>::new());
        let path = directory.join("nr_requests");
        fs::write(&path, "1024\n").unwrap();
        write_setting(&path, "64").unwrap();
        assert_eq!(read_text(&path, 3).unwrap(), "64\n");
        let long = read_text(&path, 2).unwrap_err().to_string();
        assert!(long.contains("expected at most 2 bytes"), "{long}");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_durable_file_is_replaced_whole_and_removed_twice() {
        let directory = directory("durable");
        let path = directory.join("journal");
        fs::write(directory.join("journal.tmp"), "left by a crash, longer than what follows")
            .unwrap();
        write_durable(&path, b"one").unwrap();
        write_durable(&path, b"2").unwrap();
        assert_eq!(read_text(&path, 100).unwrap(), "2");
        assert_eq!(list(&directory).unwrap(), ["journal"]);
        remove_durable(&path).unwrap();
        remove_durable(&path).unwrap();
        assert_eq!(list(&directory).unwrap(), Vec::<String>::new());
        fs::remove_dir_all(&directory).unwrap();
    }
}
