//! Files of systemd that we write: where, which are ours, and who must be told.
//!
//! What is there and was not written by us stays. What the service manager must be told is done where
//! it runs, and said where it does not (an image that is made for another machine).
//!
//! Invariant: below `--root DIR` nothing outside of `DIR` is written or removed, whatever links an image has. Held
//! by `a_link_in_an_image_leads_nowhere`.

use crate::failure::{Failure, Result};
use baro_sys::state::{self, StateFolder};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Component, Path};
use std::process::{Command, Stdio};

/// The root of this machine.
const HERE: &str = "/";
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
pub(super) fn write(root: &Path, path: &Path, text: &str) -> Result<()> {
    let (folder, name) = parts(path)?;
    let folder = make_folder(root, folder, FOLDER_MODE)?;
    Ok(folder.replace_durable(name, text.as_bytes(), UNIT_MODE)?)
}

/// Removes such a file or link; one that is not there is no error.
pub(super) fn remove(root: &Path, path: &Path) -> Result<()> {
    let (folder, name) = parts(path)?;
    match open_folder(root, folder)? {
        None => Ok(()),
        Some(folder) => Ok(folder.remove_durable(name)?),
    }
}

/// Removes the folder of such files if nothing is left in it.
pub(super) fn remove_if_empty(root: &Path, path: &Path) {
    if let Ok((folder, name)) = parts(path)
        && let Ok(Some(folder)) = open_folder(root, folder)
    {
        let _ = folder.remove_folder(name);
    }
}

/// The folder at `path`, made if it is not there, the last one with these rights. Below a root that is not this
/// machine's no link is followed: `etc -> /etc` of an image is a folder of the image, and here another.
pub(super) fn make_folder(root: &Path, path: &Path, mode: u32) -> Result<StateFolder> {
    let Some(names) = below(root, path)? else {
        if let Some(above) = path.parent() {
            StateFolder::make_all(above, FOLDER_MODE)?;
        }
        return Ok(StateFolder::make(path, mode)?);
    };
    let mut folder = StateFolder::make_all(root, FOLDER_MODE)?;
    for (at, name) in names.iter().enumerate() {
        let mode = if at + 1 == names.len() { mode } else { FOLDER_MODE };
        folder = folder.make_below(name, mode).map_err(|error| advised(root, &error))?;
    }
    Ok(folder)
}

/// The same of one that is there; None if it is not.
fn open_folder(root: &Path, path: &Path) -> Result<Option<StateFolder>> {
    let opened = match below(root, path)? {
        None => StateFolder::open(path),
        Some(names) => StateFolder::open(root)
            .and_then(|first| names.iter().try_fold(first, |folder, name| folder.below(name))),
    };
    match opened {
        Ok(folder) => Ok(Some(folder)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(advised(root, &error)),
    }
}

/// The names on the way from a root that is not this machine's.
fn below<'a>(root: &Path, path: &'a Path) -> Result<Option<Vec<&'a OsStr>>> {
    if root == Path::new(HERE) {
        return Ok(None);
    }
    let name = |part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    };
    let names = path.strip_prefix(root).ok().and_then(|rest| rest.components().map(name).collect());
    let outside = || format!("{}: expected a path below {}", path.display(), root.display());
    Ok(Some(names.ok_or_else(outside)?))
}

fn advised(root: &Path, error: &baro_sys::Error) -> Failure {
    match error.kind() {
        ErrorKind::PermissionDenied if root != Path::new(HERE) => format!(
            "{error}; below --root {} no link is followed, because it may lead out of it: put a folder in \
             its place, or install with the path that it leads to",
            root.display()
        )
        .into(),
        _ => error.to_string().into(),
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
