//! Files of systemd that we write: where, which are ours, and who must be told.
//!
//! What is there and was not written by us stays. What the service manager must be told is done where
//! it runs, and said where it does not (an image that is made for another machine).

use crate::failure::Result;
use baro_sys::state::{self, StateFolder};
use std::path::Path;
use std::process::{Command, Stdio};

/// Where units of the administrator are, below the root.
pub(super) const UNITS: &str = "etc/systemd/system";
/// What enabling makes.
pub(super) const WANTED: &str = "multi-user.target.wants";
/// Units are read by everybody.
const UNIT_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// A unit is a page or two.
const UNIT_BYTES_MAX: u64 = 1 << 20;

/// What is at a file's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Nothing,
    Ours,
    Foreign,
}

/// Who wrote what is there: ours begin with the line `marker`.
pub(super) fn look(path: &Path, marker: &str) -> Result<There> {
    let (folder, name) = parts(path)?;
    let folder = match StateFolder::open(folder) {
        Err(error) if error.is_missing() => return Ok(There::Nothing),
        folder => folder?,
    };
    Ok(match folder.read_text(name, UNIT_BYTES_MAX) {
        Ok(None) => There::Nothing,
        Ok(Some(text)) if text.lines().next() == Some(marker) => There::Ours,
        // A link belongs to whoever made it, wherever it leads: a masked unit is one.
        _ => There::Foreign,
    })
}

/// Refuses a program or file that root is to run or to read at each boot, and that somebody else can
/// replace.
pub(super) fn check_is_roots(path: &Path) -> Result<()> {
    match state::place_of_roots(path) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!(
            "{error}; root is to use {} at each boot: expected a copy where only root writes, as in \
             /usr/bin or /etc/barograph",
            path.display()
        )
        .into()),
    }
}

/// Makes or replaces a file of systemd's, in a folder that nobody else writes: root carries out what is in it.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    let (folder, name) = parts(path)?;
    let folder = StateFolder::make_all(folder, FOLDER_MODE)?;
    Ok(folder.replace_durable(name, text.as_bytes(), UNIT_MODE)?)
}

/// Removes such a file or link; one that is not there is no error.
pub(super) fn remove(path: &Path) -> Result<()> {
    let (folder, name) = parts(path)?;
    match StateFolder::open(folder) {
        Err(error) if error.is_missing() => Ok(()),
        folder => Ok(folder?.remove_durable(name)?),
    }
}

/// Removes the folder of such files if nothing is left in it.
pub(super) fn remove_if_empty(path: &Path) {
    if let Ok((folder, name)) = parts(path)
        && let Ok(folder) = StateFolder::open(folder)
    {
        let _ = folder.remove_folder(name);
    }
}

fn parts(path: &Path) -> Result<(&Path, &str)> {
    match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
        (Some(folder), Some(name)) => Ok((folder, name)),
        _ => Err(format!("{}: expected the path of a file", path.display()).into()),
    }
}

/// Calls `systemctl` with each, about the unit `name`; or says what to call.
pub(super) fn tell(manager: bool, name: &str, calls: &[&[&str]]) -> Result<()> {
    for call in calls {
        let line = format!("systemctl {}", call.join(" "));
        if !manager {
            out!("to do where it is to run: {line}");
            continue;
        }
        let ended = Command::new("systemctl").args(*call).stdin(Stdio::null()).status();
        let ended = ended.map_err(|error| format!("cannot start {line}: {error}"))?;
        if !ended.success() {
            return Err(format!("{line}: {ended}; journalctl -u {name} may say why").into());
        }
    }
    Ok(())
}

/// A path as a unit can have it; `what` names it in the error.
pub(super) fn plain<'a>(what: &str, path: &'a Path) -> std::result::Result<&'a str, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=~".contains(c);
    match path.to_str() {
        Some(text) if path.is_absolute() && text.chars().all(allowed) => Ok(text),
        _ => Err(format!(
            "{what}: expected a path from / on, of letters, digits and /._-+@:,=~, found {}",
            path.display()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_a_unit_reads_otherwise_are_refused() {
        assert_eq!(plain("--folder", Path::new("/a/b-1.c")), Ok("/a/b-1.c"));
        for bad in ["a", "", "/a b", "/a%b", "/a$b", "/a\"b", "/a\nExecStart=/bin/sh", "/\u{e4}"] {
            let error = plain("--folder", Path::new(bad)).unwrap_err();
            assert!(error.starts_with("--folder: expected a path from / on"), "{error}");
        }
    }
}
