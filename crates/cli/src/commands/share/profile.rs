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
//! Invariant: what is not understood is refused with its place; nothing is guessed. Held below.

use super::disks;
use super::hold::Held;
use super::run::cut;
use crate::failure::Result;
use baro_share::{Asked, Weight};
use baro_sys::files;
use serde::Deserialize;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const PROFILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    #[serde(default)]
    group: Vec<Group>,
}

/// A group as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) weight: u16,
    #[serde(default)]
    pub(super) on: Vec<PathBuf>,
    pub(super) unit: Option<String>,
    cgroup: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    piece: Option<String>,
}

/// The groups of a profile, ready to be held.
pub(super) fn read(path: &Path) -> Result<Vec<Held>> {
    groups(path)?
        .into_iter()
        .map(|group| held(group).map_err(|error| in_file(path, &error)))
        .collect()
}

/// The groups of a profile as they are written.
pub(super) fn groups(path: &Path) -> Result<Vec<Group>> {
    let text = files::read_text(path, PROFILE_BYTES_MAX)?;
    parse(&text).map_err(|error| in_file(path, &error))
}

fn in_file(path: &Path, error: &dyn std::fmt::Display) -> crate::failure::Failure {
    format!("{}: {error}", path.display()).into()
}

fn parse(text: &str) -> std::result::Result<Vec<Group>, String> {
    let profile: Profile = toml::from_str(text).map_err(|error| {
        // Its own text has the place in its first line, and shows the file in the next ones.
        let told = error.to_string();
        let at = error.span().map_or(0, |span| span.start);
        let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |end| end + 1);
        let line: String =
            text.get(start..).unwrap_or("").lines().next().unwrap_or("").chars().take(60).collect();
        format!("{} ({line}): {}", told.lines().next().unwrap_or("TOML"), error.message())
    })?;
    if profile.group.is_empty() {
        return Err("expected a table [[group]] for each group, found none".to_owned());
    }
    for (index, group) in profile.group.iter().enumerate() {
        let kinds = [group.unit.is_some(), group.cgroup.is_some(), !group.command.is_empty()];
        if kinds.iter().filter(|kind| **kind).count() > 1 {
            return Err(format!(
                "group {}: expected one of unit, cgroup and command, found more",
                group.name
            ));
        }
        if profile.group.iter().skip(index + 1).any(|other| other.name == group.name) {
            return Err(format!("group {}: is there twice", group.name));
        }
    }
    Ok(profile.group)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_is_refused() {
        let good = "[[group]]\nname = \"a\"\nweight = 200\nunit = \"a.service\"\n";
        assert_eq!(parse(good).unwrap()[0].unit.as_deref(), Some("a.service"));
        for (bad, why) in [
            ("", "[[group]]"),
            ("[[group]]\nname = \"a\"\n", "weight"),
            ("[[group]]\nname = \"a\"\nweight = 70000\n", "weight"),
            ("[[group]]\nname = \"a\"\nweight = 2\nwieght = 3\n", "wieght"),
            ("[[group]]\nname = \"a\"\nweight = 2\nunit = \"x\"\ncgroup = \"y\"\n", "one of"),
            (&format!("{good}{good}"), "twice"),
            ("\u{0}", "TOML"),
        ] {
            let error = parse(bad).unwrap_err();
            assert!(error.contains(why), "{bad}: {error}");
        }
    }
}
