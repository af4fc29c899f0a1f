//! Whole files: settings below /proc and /sys, and small texts.
//!
//! A setting is written as a shell does it (`echo value > file`): open for writing with truncate,
//! which kernel files ignore and a plain file under a fake root needs, never with create, so that
//! a mistyped name is an error and not a new file; then exactly one write, because each write to a
//! kernel file is a command of its own. Held by the tests below and those of baro-tune. Files of a state
//! are replaced by [`crate::state::StateFolder`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use super::PacedOutput;
use crate::{Error, Result};

/// Reads a whole text file of at most `limit_bytes`; a longer one, or one that is not UTF-8, is an
/// error. Blocks as long as the file system does.
///
/// # Errors
/// The operating system's reason.
pub fn read_text(path: &Path, limit_bytes: u64) -> Result<String> {
    String::from_utf8(read_bytes(path, limit_bytes)?).map_err(|error| {
        Error::new("read", path, io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
    })
}

/// As [`read_text`], with U+FFFD in place of what is not UTF-8: for texts of the kernel in which anybody's
/// names are, as those of tasks and of folders where something is mounted.
///
/// # Errors
/// The operating system's reason.
pub fn read_lossy(path: &Path, limit_bytes: u64) -> Result<String> {
    Ok(String::from_utf8_lossy(&read_bytes(path, limit_bytes)?).into_owned())
}

fn read_bytes(path: &Path, limit_bytes: u64) -> Result<Vec<u8>> {
    let failed = |source| Error::new("read", path, source);
    let file = File::open(path).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(limit_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > limit_bytes {
        let found = format!("expected at most {limit_bytes} bytes, found more");
        return Err(failed(io::Error::new(io::ErrorKind::FileTooLarge, found)));
    }
    Ok(bytes)
}

/// Makes a small file, or writes over what its path names; not durable.
///
/// # Errors
/// The operating system's reason.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).map_err(|source| Error::new("write", path, source))
}

/// Makes a file that its user asked for, or replaces an ordinary one, durably. No link is followed: the
/// name may be in a folder of somebody else.
///
/// # Errors
/// What has the name is no ordinary file, or the operating system's reason; then it is as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut output = PacedOutput::replace(path)?;
    output.write_all(bytes).map_err(|source| Error::new("write", path, source))?;
    output.finish()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::{is_gone, list, make_folders};
    use std::path::PathBuf;

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
        // What the link names stays.
        std::os::unix::fs::symlink(&path, directory.join("link")).unwrap();
        assert!(replace(&directory.join("link"), b"1").is_err());
        replace(&directory.join("new"), b"1").unwrap();
        replace(&directory.join("new"), b"2").unwrap();
        assert_eq!(read_text(&directory.join("new"), 3).unwrap(), "2");
        assert!(crate::files::open_append(&directory.join("link")).is_err());
        assert_eq!(read_text(&path, 3).unwrap(), "64\n");
        let long = read_text(&path, 2).unwrap_err().to_string();
        assert!(long.contains("expected at most 2 bytes"), "{long}");
        fs::write(&path, b"a \xff b\n").unwrap();
        assert!(read_text(&path, 9).is_err());
        assert_eq!(read_lossy(&path, 9).unwrap(), "a \u{fffd} b\n");
        fs::remove_dir_all(&directory).unwrap();
    }
}
