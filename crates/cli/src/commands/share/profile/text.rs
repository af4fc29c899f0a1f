//! The text of a profile, taken apart: needs no machine, so that it is fuzzed too.
//!
//! Invariant: what is not understood is refused with its place, in steps linear in the text. Held below
//! and by the fuzz target `profile`.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Profile {
    #[serde(default)]
    group: Vec<Group>,
}

/// A group as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Group {
    pub(crate) name: String,
    pub(crate) weight: u16,
    #[serde(default)]
    pub(crate) on: Vec<PathBuf>,
    pub(crate) unit: Option<String>,
    pub(crate) cgroup: Option<String>,
    #[serde(default)]
    pub(crate) command: Vec<String>,
    pub(crate) piece: Option<String>,
}

/// The groups of a profile, or why it is none.
pub(crate) fn parse(text: &str) -> Result<Vec<Group>, String> {
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
    let mut names = BTreeSet::new();
    for group in &profile.group {
        let kinds = [group.unit.is_some(), group.cgroup.is_some(), !group.command.is_empty()];
        if kinds.iter().filter(|kind| **kind).count() > 1 {
            return Err(format!(
                "group {}: expected one of unit, cgroup and command, found more",
                group.name
            ));
        }
        if !names.insert(&group.name) {
            return Err(format!("group {}: is there twice", group.name));
        }
    }
    Ok(profile.group)
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
    /// Each name was compared to all others.
    #[test]
    fn many_groups_are_read_and_a_name_that_is_there_twice_is_found() {
        const GROUPS: usize = 20_000;
        let group = |number: usize| format!("[[group]]\nname=\"g{number}\"\nweight=1\n");
        let text: String = (0..GROUPS).map(group).collect();
        assert_eq!(parse(&text).unwrap().len(), GROUPS);
        let error = parse(&(text + &group(7))).unwrap_err();
        assert_eq!(error, "group g7: is there twice");
    }
}
