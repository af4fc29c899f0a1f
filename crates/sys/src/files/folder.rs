//! Folders: made, listed, removed.
//!
//! Two ways to make one and two to remove one differ in what they take for granted; the names say it.
//! Invariant: only [`remove_tree`] removes what is in a folder. Held by
//! `a_file_is_made_cut_renamed_and_removed` and the tests of `text`, which work in folders.

use crate::{Error, Result};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

/// Makes the folder `path`; its parent must exist.
///
/// # Errors
/// The operating system's reason; `AlreadyExists` too.
pub fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir(path).map_err(|source| Error::new("create directory", path, source))
}

/// Makes the folder `path` with these rights, less what the process's umask takes away; its parent
/// must exist.
///
/// # Errors
/// The operating system's reason; `AlreadyExists` too.
pub fn make_folder_with(path: &Path, mode: u32) -> Result<()> {
    let made = fs::DirBuilder::new().mode(mode).create(path);
    made.map_err(|source| Error::new("create directory", path, source))
}

/// Makes a folder and those above it; one that is there already is no error.
///
/// # Errors
/// The operating system's reason.
pub fn make_folders(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(|source| Error::new("create directory", path, source))
}

/// The names in a folder, sorted; names that are not UTF-8 are left out.
///
/// # Errors
/// The operating system's reason.
pub fn list(path: &Path) -> Result<Vec<String>> {
    let failed = |source| Error::new("list", path, source);
    let mut names = Vec::new();
    for entry in fs::read_dir(path).map_err(failed)? {
        names.extend(entry.map_err(failed)?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// Removes the empty folder `path`.
///
/// # Errors
/// The operating system's reason; `DirectoryNotEmpty` too.
pub fn remove_empty_folder(path: &Path) -> Result<()> {
    fs::remove_dir(path).map_err(|source| Error::new("remove directory", path, source))
}

/// Removes a folder if nothing is in it.
pub fn remove_if_empty(path: &Path) {
    let _ = fs::remove_dir(path);
}

/// Removes a folder and all that is in it.
///
/// # Errors
/// The operating system's reason.
pub fn remove_tree(path: &Path) -> Result<()> {
    fs::remove_dir_all(path).map_err(|source| Error::new("remove folder", path, source))
}
