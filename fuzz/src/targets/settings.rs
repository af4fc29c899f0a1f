//! What people write by hand for `baro record --config` and `baro share hold`: TOML. The parsers are parts
//! of the command line, which is no library, so their files are taken in here.

use crate::Target;

#[allow(dead_code, reason = "the command line uses all of it")]
#[path = "../../../crates/cli/src/settings/file.rs"]
mod file;
#[allow(dead_code, reason = "the command line uses all of it")]
#[path = "../../../crates/cli/src/commands/share/profile/text.rs"]
mod profile;

pub(crate) const SETTINGS: Target = Target {
    name: "settings",
    fuzz_one: settings,
    seeds: || SETTINGS_SEEDS.map(bytes).to_vec(),
    fix_up: |_| {},
};

pub(crate) const PROFILE: Target = Target {
    name: "profile",
    fuzz_one: profile,
    seeds: || PROFILE_SEEDS.map(bytes).to_vec(),
    fix_up: |_| {},
};

const SETTINGS_SEEDS: [&str; 3] = [
    "# a comment\n[record]\nstore = \"/s\"\nring = \"4M\"\nproc = true\nfifo = 50\n",
    "[record]\r\n\"b\" = 0.5\nd = [\"u\", 1, '''x''']\ne = false\nf = { a = [[1]] }\n",
    "[record]\na.b = 1979-05-27T07:32:00Z\n[record.c]\nd = 0xff\n[[other]]\nx = inf",
];

const PROFILE_SEEDS: [&str; 2] = [
    "[[group]]\nname = \"a\"\nweight = 200\non = [\"/data\"]\nunit = \"a.service\"\n",
    "[[group]]\nname = 'b'\nweight = 1\ncommand = [\"x\", \"y\"]\npiece = \"64K\"\n\n\
     [[group]]\nname = \"c\"\nweight = 1000\ncgroup = \"some/path\"\n",
];

fn bytes(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

/// Each entry and fault has a line that the text has, and entries come by rising line.
fn settings(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.matches('\n').count() + 1;
    let (entries, faults) = file::read("record", &text);
    assert!(entries.len() <= text.len(), "more entries than bytes");
    assert!(entries.is_sorted_by_key(|entry| entry.line));
    assert!(entries.iter().all(|entry| (1..=lines).contains(&entry.line)));
    assert!(faults.iter().all(|(line, said)| (1..=lines).contains(line) && !said.is_empty()));
    assert!(entries.iter().all(|entry| !entry.value.to_string().is_empty()));
}

/// What is taken has groups of different names, each of one kind.
fn profile(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match profile::parse(&text) {
        Ok(groups) => {
            assert!((1..=text.len()).contains(&groups.len()));
            let mut names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] < pair[1]), "a name is there twice");
            for group in &groups {
                let kinds =
                    [group.unit.is_some(), group.cgroup.is_some(), !group.command.is_empty()];
                assert!(kinds.iter().filter(|kind| **kind).count() <= 1);
            }
        }
        Err(error) => assert!(!error.is_empty()),
    }
}
