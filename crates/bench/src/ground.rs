//! In which folder something is measured, and when root measures in none.
//!
//! Whoever may rename what is in a folder decides what a path below it names a moment later: a file that
//! is emptied, a folder that something is mounted on. So root measures only where each part of the path
//! belongs to root and nobody else takes names away (others may make some, as in `/tmp`). Below, each
//! measurement makes a folder of its own, which must not be there; that and all in it is root's, and its
//! path means the same as long as root likes. What another user does is done with that user's rights, where it
//! is asked for.
//!
//! Invariant: root makes, opens, locks and removes nothing where another user decides what a name means.
//! Held by `tests/hostile.rs`.

use crate::error::BenchError;
use baro_sys::state::StateFolder;
use baro_sys::{Error, files, schedule};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The folder, held, for root; what it refuses is said with what to do.
///
/// # Errors
/// It is not there, or somebody else could replace it or what is in it.
pub fn held(dir: &Path) -> Result<StateFolder, BenchError> {
    let dir = if dir.as_os_str().is_empty() { Path::new(".") } else { dir };
    StateFolder::open(dir).map_err(refused)
}

/// Why a folder is refused, with what to do about it.
#[must_use]
pub fn refused(error: Error) -> BenchError {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return BenchError::System(error);
    }
    BenchError::Refused(format!(
        "{error}; root works only where nobody else decides what a name means: name another folder with \
         --dir, such as /var/tmp/baro, or run it as the user whose folder this is"
    ))
}

/// The folder's path, below which something new may be made by its name: for root without links, each part
/// checked.
///
/// # Errors
/// As [`held`], for root.
pub fn place(dir: &Path) -> Result<PathBuf, BenchError> {
    if schedule::is_root() { Ok(held(dir)?.place()?) } else { Ok(dir.to_owned()) }
}

/// Whether what a killed run left in `dir` may go: root takes away what is root's alone.
#[must_use]
pub fn may_clear(dir: &Path, name: &str) -> bool {
    let is_roots = || StateFolder::open(dir).and_then(|above| above.below(name)).is_ok();
    !schedule::is_root() || is_roots()
}

/// Makes a folder of a measurement's own, whose name must be free, and returns its path: below the
/// folder, or, for root, below where that is.
///
/// # Errors
/// As [`held`], for root; the name is taken, or the operating system's reason.
pub fn make_own(dir: &Path, name: impl AsRef<OsStr>) -> Result<PathBuf, BenchError> {
    if schedule::is_root() {
        return Ok(held(dir)?.make_new(name, MODE)?.place()?);
    }
    let own = dir.join(name.as_ref());
    files::make_folder(&own).map_err(BenchError::file("make the folder", &own))?;
    Ok(own)
}

/// Who looks at a measurement may look into its folders.
pub const MODE: u32 = 0o755;
