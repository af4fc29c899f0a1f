//! Places where nothing can be made, and why.

use baro_sys::files;
use std::path::Path;

/// A file system that nobody may write to.
pub(super) const READ_ONLY: &str =
    "; its file system is mounted read-only: name another place, or mount it to be written";

pub(super) const FULL: &str = "; make room on its file system, then come again";

/// Rings are as large as they were asked for.
pub(super) const NO_MEMORY: &str = "; a smaller --ring takes less";

/// Why no folder can be made: one on the way is not there and could not be made either.
pub(super) fn unmakable(path: &Path) -> String {
    let mut folders = path.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty());
    let there = folders.find(|folder| files::exists(folder)).unwrap_or(Path::new("."));
    let there = there.display();
    format!("; the file system of {there} lets nobody make a folder there: name another place")
}

/// A file where a folder is needed.
pub(super) fn in_the_way(path: &Path) -> String {
    let there = path.ancestors().find(|path| files::exists(path));
    match there.filter(|there| !there.is_dir()) {
        Some(file) if files::is_regular(file) => {
            format!("; {} is a file: name a folder", file.display())
        }
        Some(other) => format!("; {} is no folder: name one", other.display()),
        None => String::new(),
    }
}
