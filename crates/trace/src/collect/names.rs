//! Names of the tasks and devices that events have only numbers of.
//!
//! A task may have ended before anyone asks for its name, so they are asked for when a recording
//! begins and when it ends, and the kernel for those it remembers; events of the scheduler bring
//! names of their own.
//!
//! Invariant: lines in another form are passed over; the number of names is bounded. Held by
//! `names_are_read_and_other_lines_passed_over`.

use crate::record::{Device, Name};
use baro_sys::files;
use std::collections::BTreeMap;
use std::path::Path;

/// Tasks that are looked at; a machine with more has its others unnamed.
const TASKS_MAX: usize = 1 << 16;
const COMM_BYTES_MAX: u64 = 64;
const PARTITIONS_BYTES_MAX: u64 = 1 << 20;

/// All tasks that there are, with their names.
pub(super) fn tasks() -> BTreeMap<i32, Name> {
    let mut names = BTreeMap::new();
    let proc = Path::new("/proc");
    let numbers = |path: &Path| files::list(path).unwrap_or_default();
    for process in numbers(proc).iter().filter(|name| name.parse::<i32>().is_ok()) {
        let folder = proc.join(process).join("task");
        for task in numbers(&folder) {
            if names.len() == TASKS_MAX {
                return names;
            }
            let comm = files::read_text(&folder.join(&task).join("comm"), COMM_BYTES_MAX);
            if let (Ok(pid), Ok(comm)) = (task.parse(), comm) {
                names.insert(pid, Name::new(comm.trim_end_matches('\n').as_bytes()));
            }
        }
    }
    names
}

/// The tasks in the kernel's `saved_cmdlines`: lines `pid name`.
pub(super) fn saved(text: &[u8]) -> BTreeMap<i32, Name> {
    let name = |line: &[u8]| {
        let space = line.iter().position(|byte| *byte == b' ')?;
        let pid = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
        let name = Name::new(&line[space + 1..]);
        // What the kernel says of a task that it has forgotten.
        (name.as_bytes() != b"<...>").then_some((pid, name))
    };
    text.split(|byte| *byte == b'\n').filter_map(name).take(TASKS_MAX).collect()
}

/// All block devices.
pub(super) fn devices() -> BTreeMap<Device, Name> {
    files::read_text(Path::new("/proc/partitions"), PARTITIONS_BYTES_MAX)
        .map(|text| partitions(&text))
        .unwrap_or_default()
}

/// The lines `major minor #blocks name` of `/proc/partitions`.
fn partitions(text: &str) -> BTreeMap<Device, Name> {
    let device = |line: &str| {
        let mut words = line.split_whitespace();
        let (major, minor) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some((Device::new(major, minor), Name::new(words.nth(1)?.as_bytes())))
    };
    text.lines().filter_map(device).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_other_lines_passed_over() {
        let names = saved(b"1 init\n7 a b\n-\n9 <...>\nx y\n\n12");
        let expected = [(1, Name::new(b"init")), (7, Name::new(b"a b"))];
        assert_eq!(names.into_iter().collect::<Vec<_>>(), expected);
        let text = "major minor  #blocks  name\n\n 254       16    2097152 vdb\n 8 1 5\n";
        let expected = [(Device::new(254, 16), Name::new(b"vdb"))];
        assert_eq!(partitions(text).into_iter().collect::<Vec<_>>(), expected);
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(!tasks()[&own].as_bytes().is_empty());
    }
}
