//! A profile: groups in a file, for a service.
//!
//! ```toml
//! [[group]]
//! name = "player"
//! weight = 200
//! on = ["/data"]
//! unit = "player.service"      # or command = ["player", "film.mp4"], or cgroup = "some/path"
//! ```
//!
//! Invariant: what is not understood is refused with its place; nothing is guessed. Held by `text.rs`.

mod text;

use super::disks;
use super::hold::Held;
use super::run::cut;
use crate::failure::Result;
use baro_share::{Asked, Weight};
use baro_sys::state::StateFolder;
use baro_sys::{files, schedule};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;
pub(super) use text::Group;

/// Far more than anybody writes by hand. A file of mistakes alone takes four hundred times its bytes while it is
/// read, which is to be less than what any input may take (docs/limits.md).
const PROFILE_BYTES_MAX: u64 = 64 << 10;

/// The groups of a profile, ready to be held. Root takes no profile that somebody else can write: its commands
/// are started as root.
pub(super) fn read(path: &Path) -> Result<Vec<Held>> {
    let text =
        if schedule::is_root() { roots(path)? } else { files::read_text(path, PROFILE_BYTES_MAX)? };
    parse(path, &text)?
        .into_iter()
        .map(|group| held(group).map_err(|error| in_file(path, &error)))
        .collect()
}

/// The groups of a profile as they are written.
pub(super) fn groups(path: &Path) -> Result<Vec<Group>> {
    parse(path, &files::read_text(path, PROFILE_BYTES_MAX)?)
}

fn parse(path: &Path, text: &str) -> Result<Vec<Group>> {
    text::parse(text).map_err(|error| in_file(path, &error))
}

/// The text of a profile that nobody but root has written, and nobody can exchange while it is read. A link is
/// followed once: what is checked and read is where it leads.
fn roots(path: &Path) -> Result<String> {
    // Of one that is not there, the sentence is that of reading.
    let Ok(real) = path.canonicalize() else {
        return Ok(files::read_text(path, PROFILE_BYTES_MAX)?);
    };
    let (Some(above), Some(name)) =
        (real.parent(), real.file_name().and_then(|name| name.to_str()))
    else {
        return Err(in_file(path, &"expected the path of a file"));
    };
    let text =
        StateFolder::open(above).and_then(|folder| folder.read_text(name, PROFILE_BYTES_MAX));
    match text {
        Ok(Some(text)) => Ok(text),
        Ok(None) => Err(in_file(path, &"expected a file that stays, found it removed meanwhile")),
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(format!(
            "{error}; its commands would be root's: expected a profile that only root can write or \
             replace; look at it and copy it there: install -D -m 644 {} /etc/barograph/share.toml",
            path.display()
        )
        .into()),
        Err(error) => Err(error.into()),
    }
}

fn in_file(path: &Path, error: &dyn std::fmt::Display) -> crate::failure::Failure {
    format!("{}: {error}", path.display()).into()
}

fn held(group: Group) -> Result<Held> {
    let weight = Weight::new(group.weight).ok_or_else(|| {
        format!("group {}: expected a weight from 1 to 1000, found {}", group.name, group.weight)
    })?;
    let cut = group.piece.as_deref().map(cut).transpose()?;
    // Where systemd puts a service for which nothing else was said.
    let of_unit = |unit: &String| format!("system.slice/{unit}");
    let asked = Asked {
        disks: disks(&group.on)?,
        weight,
        adopted: group.cgroup.or_else(|| group.unit.as_ref().map(of_unit)),
        cut,
        name: group.name,
    };
    let command = group.command.into_iter().map(OsString::from).collect();
    Ok(Held { asked, command, pids: Vec::new() })
}
