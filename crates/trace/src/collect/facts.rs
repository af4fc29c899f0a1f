//! Settings and state of the machine that say how long a wait had to be: limits of dirty data, the
//! journals' sizes, queues of the disks, mounts.
//!
//! Invariant: only reads, and what cannot be read is left out. Held by `this_machine_has_facts`.

use baro_sys::files;
use std::path::Path;

const BYTES_MAX: u64 = 32 << 10;
/// Folders of devices that are looked into; a machine with more has the rest without facts.
const FOLDERS_MAX: usize = 256;

const OF_MACHINE: [&str; 8] = [
    "/proc/self/mountinfo",
    "/proc/meminfo",
    "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_bytes",
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_background_bytes",
    "/proc/sys/vm/dirty_expire_centisecs",
    "/proc/sys/vm/dirty_writeback_centisecs",
];

/// Files in each folder of a folder.
const OF_DEVICES: [(&str, &[&str]); 3] = [
    ("/proc/fs/jbd2", &["info"]),
    ("/sys/class/bdi", &["min_ratio", "max_ratio", "min_bytes", "max_bytes", "strict_limit"]),
    (
        "/sys/block",
        &[
            "queue/scheduler",
            "queue/nr_requests",
            "queue/max_sectors_kb",
            "queue/wbt_lat_usec",
            "queue/rotational",
            "queue/write_cache",
            "size",
            "loop/backing_file",
            "dm/suspended",
        ],
    ),
];

/// Whether a fact is a setting, which stays until somebody changes it; other facts are numbers of the moment.
pub(super) fn is_setting(path: &str) -> bool {
    path != "/proc/meminfo" && !path.starts_with("/proc/fs/")
}

/// Whether it is a limit of a control group.
pub(super) fn is_limit(path: &str) -> bool {
    path.starts_with("/sys/fs/cgroup")
}

/// Path and text of each.
pub(super) fn of_machine() -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut read = |path: String| {
        if let Ok(text) = files::read_text(Path::new(&path), BYTES_MAX) {
            facts.push((path, text.trim_end().to_owned()));
        }
    };
    OF_MACHINE.iter().for_each(|path| read((*path).to_owned()));
    for (folder, files) in OF_DEVICES {
        let devices = files::list(Path::new(folder)).unwrap_or_default();
        for device in devices.iter().take(FOLDERS_MAX) {
            files.iter().for_each(|file| read(format!("{folder}/{device}/{file}")));
        }
    }
    facts.extend(of_disks());
    facts.extend(super::groups::limits());
    facts
}

/// What disks are made of: slaves of composed ones, and numbers of partitions with those of their disks.
fn of_disks() -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut partitions = String::new();
    let number = |path: &Path| files::read_text(&path.join("dev"), 64).ok();
    for disk in files::list(Path::new(DISKS)).unwrap_or_default().iter().take(FOLDERS_MAX) {
        let folder = Path::new(DISKS).join(disk);
        let slaves = files::list(&folder.join("slaves")).unwrap_or_default();
        if !slaves.is_empty() {
            facts.push((format!("{DISKS}/{disk}/slaves"), slaves.join(" ")));
        }
        let Some(whole) = number(&folder) else { continue };
        for part in files::list(&folder).unwrap_or_default() {
            if part.starts_with(disk.as_str())
                && files::exists(&folder.join(&part).join("partition"))
                && let Some(part) = number(&folder.join(&part))
            {
                partitions.push_str(&format!("{} {}\n", part.trim(), whole.trim()));
            }
        }
    }
    facts.push((PARTITIONS.to_owned(), partitions));
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

/// Disks that have requests now: `NAME READS WRITES` a line, as far as there is room.
pub(super) fn in_flight() -> String {
    let mut text = String::new();
    for disk in files::list(Path::new(DISKS)).unwrap_or_default().iter().take(FOLDERS_MAX) {
        let path = Path::new(DISKS).join(disk).join("inflight");
        let counts = files::read_text(&path, 64).unwrap_or_default();
        let counts: Vec<&str> = counts.split_whitespace().collect();
        if counts.iter().any(|count| *count != "0") && text.len() < super::state::TEXT_BYTES_MAX {
            text.push_str(&format!("{disk} {}\n", counts.join(" ")));
        }
    }
    text
}

const DISKS: &str = "/sys/block";
/// The fact with the numbers of each partition and of its disk.
const PARTITIONS: &str = "partitions";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_facts() {
        let facts = of_machine();
        let has = |path: &str| facts.iter().any(|(of, text)| of == path && !text.is_empty());
        assert!(has("/proc/self/mountinfo") && has("/proc/meminfo"));
        assert!(facts.iter().all(|(path, _)| path.starts_with('/') || path == PARTITIONS));
        assert!(facts.iter().all(|(path, _)| !path.contains('\n')));
        assert!(is_setting("/proc/self/mountinfo") && !is_setting("/proc/meminfo"));
        assert!(is_limit("/sys/fs/cgroup/io.max") && !is_limit("/sys/block/sda/queue/scheduler"));
    }
}
