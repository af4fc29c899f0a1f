//! The undo journal of settings, as root replays it: whatever it says, no file outside the table of
//! settings is written, none is made, and nothing hangs.
//!
//! The machine is a folder with some of the files that the table has, and some by which root's rights
//! would be given away. Checksums are fixed up, so that what they guard is reached.

#![allow(clippy::disallowed_methods, reason = "the machine is a folder made by hand")]

use super::folder::Folder;
use crate::Target;
use baro_ondisk::crc32c;
use baro_tune::{Journal, OnConflict, Options};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

pub(crate) const JOURNAL: Target =
    Target { name: "undo_journal", fuzz_one: journal, seeds, fix_up };

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";
/// What may be written.
const SETTINGS: [(&str, &str); 6] = [
    ("proc/sys/vm/swappiness", "60\n"),
    ("proc/sys/vm/dirty_bytes", "9\n"),
    ("proc/sys/vm/dirty_ratio", "0\n"),
    ("sys/block/a/queue/nr_requests", "512\n"),
    ("sys/fs/cgroup/a/io.max", "8:0 rbps=5 wbps=max\n"),
    ("sys/fs/cgroup/cgroup.subtree_control", "io\n"),
];
/// What must not.
const OTHERS: [(&str, &str); 4] = [
    ("proc/sys/kernel/core_pattern", "core\n"),
    ("proc/sys/kernel/modprobe", "/sbin/modprobe\n"),
    ("sys/kernel/uevent_helper", "\n"),
    ("etc/passwd", "root:x:0:0\n"),
];

thread_local! {
    /// The machine's files and the journal's.
    static FOLDER: Folder = {
        let folder = Folder::new("journal");
        for (name, text) in SETTINGS.iter().chain(&OTHERS) {
            put(&folder.path().join("machine").join(name), text.as_bytes());
        }
        put(&folder.path().join("machine").join(BOOT_ID), b"boot\n");
        folder
    };
}

/// A file with the folders above it, kept from other users as the journal's folder must be.
fn put(path: &Path, text: &[u8]) {
    if let Some(above) = path.parent() {
        let _ = fs::create_dir_all(above);
    }
    let _ = fs::write(path, text);
    let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o600));
}

fn journal(bytes: &[u8]) {
    FOLDER.with(|folder| replay(folder.path(), bytes));
}

fn replay(folder: &Path, bytes: &[u8]) {
    let state = folder.join("state");
    let _ = fs::create_dir_all(&state);
    let _ = fs::set_permissions(&state, fs::Permissions::from_mode(0o700));
    put(&state.join("journal"), bytes);
    let machine = folder.join("machine");
    let options = Options {
        state_dir: state,
        root: machine.clone(),
        // Each setting is put back, whatever it holds now.
        on_conflict: OnConflict::Overwrite,
    };
    let undone = Journal::open(&options).is_ok_and(|(_, report)| !report.settings.is_empty());
    for (name, text) in OTHERS {
        let found = fs::read_to_string(machine.join(name)).unwrap_or_default();
        assert_eq!(found, text, "{name}: no setting of ours");
    }
    if !undone {
        return;
    }
    // Who owns which setting is noted in a folder of our own.
    let owners = machine.join("run/barograph-settings");
    let mut found: Vec<PathBuf> = files_below(&machine);
    found.retain(|path| !path.starts_with(&owners));
    let mut expected: Vec<PathBuf> =
        SETTINGS.iter().chain(&OTHERS).map(|(name, _)| machine.join(name)).collect();
    expected.push(machine.join(BOOT_ID));
    found.sort();
    expected.sort();
    assert_eq!(found, expected, "files of the machine");
    for (name, text) in SETTINGS {
        put(&machine.join(name), text.as_bytes());
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let below = |path: PathBuf| if path.is_dir() { files_below(&path) } else { vec![path] };
    entries.flatten().flat_map(|entry| below(entry.path())).collect()
}

/// Journals of one setting each, and one of all.
fn seeds() -> Vec<Vec<u8>> {
    let lines = [
        "set\t/proc/sys/vm/swappiness\twhole\t1\t60",
        "set\t/proc/sys/vm/dirty_bytes\tpair\tratio 20\tbytes 9",
        "moving\t/sys/fs/cgroup/a/io.max\tline 8:0\t\trbps=5 wbps=max",
        "set\t/sys/fs/cgroup/cgroup.subtree_control\tmember io\t-io\t+io",
        "set\t/sys/block/a/queue/nr_requests\twhole\t128\t512",
    ];
    let mut seeds: Vec<Vec<u8>> = lines.iter().map(|line| written(&[line])).collect();
    seeds.push(written(&lines));
    seeds
}

fn written(lines: &[&str]) -> Vec<u8> {
    let mut text = "barograph-tune\t1\tboot\t00000000\n".to_owned();
    lines.iter().for_each(|line| text += &format!("{line}\t00000000\n"));
    text += &format!("end\t{}\t00000000\n", lines.len());
    let mut bytes = text.into_bytes();
    fix_up(&mut bytes);
    bytes
}

/// The last field of each line becomes the checksum of what is before it: of the line, and at the end
/// of the whole.
fn fix_up(bytes: &mut [u8]) {
    let mut begin = 0;
    while let Some(length) = bytes[begin..].iter().position(|byte| *byte == b'\n') {
        let line = begin..begin + length;
        if let Some(body_bytes) = length.checked_sub(9) {
            let of = if bytes[line.clone()].starts_with(b"end\t") { 0 } else { begin };
            let crc = crc32c(0, &bytes[of..begin + body_bytes]);
            bytes[begin + body_bytes] = b'\t';
            let place = &mut bytes[begin + body_bytes + 1..line.end];
            place.copy_from_slice(format!("{crc:08x}").as_bytes());
        }
        begin = line.end + 1;
    }
}
