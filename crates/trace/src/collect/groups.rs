//! Limits of control groups, of I/O, memory and processors, and the tasks that they hold.
//!
//! All of it goes into the trace as facts; [`crate::explain`] reads them.
//!
//! Invariant: only reads, and all that is read is bounded. Held by `this_machine_has_groups`.

use super::state::{TEXT_BYTES_MAX, tasks, text};
use baro_sys::files;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The fact with the tasks of control groups that have a limit of I/O; see `limited`.
pub(crate) const LIMITED: &str = "limited groups";
/// The fact with the number and folder of each hierarchy whose groups can have a limit of I/O; see `hierarchies`.
pub(crate) const HIERARCHIES: &str = "group hierarchies";
/// The fact with the limits of processors: `quota_ns period_ns throttled_ns path`, and `of task` lines.
pub(crate) const QUOTAS: &str = "quotas";
/// Room of the tasks of one control group.
const MEMBERS_BYTES_MAX: u64 = 1 << 20;
/// Folders of control groups that are looked into.
const GROUPS_MAX: usize = 4_096;
const DEPTH_MAX: usize = 8;

/// Limits of I/O and of memory of all control groups, by their files.
pub(super) fn limits() -> Vec<(String, String)> {
    let mut found = Vec::new();
    limited_groups(&mut |group, file, text| {
        found.push((group.join(file).display().to_string(), text.to_owned()));
    });
    // Those of memory are many where others are few.
    found.sort_by_key(|(path, _)| path.contains("/memory."));
    found.truncate(256);
    found
}

/// Calls for each group that can limit I/O.
pub(super) fn of_io(each: &mut dyn FnMut(&Path)) {
    for root in ROOTS {
        let only_here =
            root == "/sys/fs/cgroup" && files::exists(Path::new("/sys/fs/cgroup/blkio"));
        let root = Path::new(root);
        // Of the second version only if it has the limits, and not the first.
        let controllers = text(&root.join("cgroup.controllers"));
        let has_io = controllers.is_none_or(|all| all.split_whitespace().any(|one| one == "io"));
        if !only_here && has_io && files::exists(root) {
            groups(root, true, each);
        }
    }
}

/// Files that limit I/O.
pub(super) const IO_FILES: [&str; 5] = [
    "io.max",
    "blkio.throttle.read_bps_device",
    "blkio.throttle.write_bps_device",
    "blkio.throttle.read_iops_device",
    "blkio.throttle.write_iops_device",
];
/// Memory of the second version: in the first a group has no limit of dirty data.
const MEMORY_FILES: [&str; 2] = ["memory.max", "memory.high"];

/// Calls for each limit of I/O or memory: group, file, and text.
fn limited_groups(each: &mut dyn FnMut(&Path, &str, &str)) {
    let limits = |text: &String| !matches!(text.trim(), "" | "max");
    for root in ROOTS {
        let only_here =
            root == "/sys/fs/cgroup" && files::exists(Path::new("/sys/fs/cgroup/blkio"));
        groups(Path::new(root), !only_here, &mut |group| {
            for file in IO_FILES.iter().chain(&MEMORY_FILES) {
                if let Some(text) = text(&group.join(file)).filter(limits) {
                    each(group, file, text.trim());
                }
            }
        });
    }
}

/// `NUMBER FOLDER` a line, of hierarchies that can limit I/O: the kernel's events name groups by the number and by
/// the path from the hierarchy's root on. Empty where that path is another than the one that is seen here: in a
/// container.
pub(super) fn hierarchies() -> String {
    let own = files::link_target(Path::new("/proc/self/ns/cgroup"));
    if own.is_none_or(|own| own.as_os_str() != FIRST_NAMESPACE) {
        return String::new();
    }
    let of = |path: &str| text(Path::new(path)).unwrap_or_default();
    hierarchies_of(&of("/proc/self/mountinfo"), &of("/proc/cgroups"))
}

fn hierarchies_of(mounts: &str, controllers: &str) -> String {
    let number = controllers.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        words.next().filter(|name| *name == "blkio")?;
        words.next()?.parse::<i32>().ok()
    });
    let mut told = String::new();
    for line in mounts.lines() {
        let Some((before, behind)) = line.split_once(" - ") else { continue };
        let mut before = before.split(' ').skip(3);
        let (Some("/"), Some(folder)) = (before.next(), before.next()) else { continue };
        let kind = behind.split(' ').next();
        let is_for_io =
            behind.rsplit(' ').next().is_some_and(|of| of.split(',').any(|of| of == "blkio"));
        let number = match kind {
            Some("cgroup2") => Some(0),
            Some("cgroup") if is_for_io => number,
            _ => None,
        };
        if let Some(number) = number.filter(|_| ROOTS.contains(&folder)) {
            let _ = writeln!(told, "{number} {folder}");
        }
    }
    told
}

/// The first namespace of control groups (`PROC_CGROUP_INIT_INO` of include/linux/proc_ns.h).
const FIRST_NAMESPACE: &str = "cgroup:[4026531835]";
const ROOTS: [&str; 3] = ["/sys/fs/cgroup", "/sys/fs/cgroup/blkio", "/sys/fs/cgroup/unified"];

/// Tasks that such limits hold: `group FOLDER` and `of TASK TASK ..` for each group that has one, then
/// `others TASK TASK ..`. Empty if no group has a limit. Of a task that had no room nothing is known.
pub(super) fn limited() -> String {
    let mut found: Vec<(PathBuf, bool)> = Vec::new();
    limited_groups(&mut |group, file, _| {
        if found.last().is_none_or(|(last, _)| last != group) {
            found.push((group.to_owned(), !file.starts_with("blkio")));
        }
    });
    if found.is_empty() {
        return String::new();
    }
    let (mut told, mut held) = (String::new(), BTreeSet::new());
    for (group, is_v2) in found {
        let mut tasks = BTreeSet::new();
        // In the second version a limit holds the groups below as well.
        groups(&group, is_v2, &mut |group| {
            let mut files = ["cgroup.threads", "tasks", "cgroup.procs"].iter();
            let text =
                files.find_map(|file| files::read_text(&group.join(file), MEMBERS_BYTES_MAX).ok());
            let all = text.unwrap_or_default();
            tasks.extend(all.lines().filter_map(|task| task.parse::<i32>().ok()));
        });
        let _ = writeln!(told, "group {}", group.display());
        write_tasks(&mut told, "of", tasks.iter());
        held.extend(tasks);
    }
    let others: BTreeSet<i32> = tasks().into_iter().map(|(tid, _)| tid).collect();
    write_tasks(&mut told, "others", others.difference(&held));
    told
}

/// A line of them, as far as there is room.
fn write_tasks<'a>(told: &mut String, word: &str, tasks: impl Iterator<Item = &'a i32>) {
    told.push_str(word);
    for task in tasks {
        if told.len() > TEXT_BYTES_MAX {
            break;
        }
        let _ = write!(told, " {task}");
    }
    told.push('\n');
}

/// Tasks of a group whose share of processors is limited.
const HELD_TASKS_MAX: usize = 1_024;

/// Limits of processors of all control groups that have one, and the tasks that they hold.
pub(super) fn quotas() -> String {
    let mut told = String::new();
    for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"] {
        let only_here = root == "/sys/fs/cgroup" && files::exists(Path::new("/sys/fs/cgroup/cpu"));
        groups(Path::new(root), !only_here, &mut |group| {
            if told.len() < TEXT_BYTES_MAX
                && let Some((quota_ns, period_ns)) = quota(group)
            {
                let stat = text(&group.join("cpu.stat")).unwrap_or_default();
                let count = |key: &str| {
                    let line = stat.lines().find_map(|line| line.strip_prefix(key))?;
                    line.trim().parse::<u64>().ok()
                };
                let throttled_ns = count("throttled_time ")
                    .or_else(|| count("throttled_usec ").map(|us| us.saturating_mul(1_000)));
                let throttled_ns = throttled_ns.unwrap_or(0);
                let _ = writeln!(told, "{quota_ns} {period_ns} {throttled_ns} {}", group.display());
                // It holds the groups below as well, of which a slice or a pod has all its tasks.
                let mut tasks = BTreeSet::new();
                groups(group, true, &mut |below| {
                    let all =
                        ["cgroup.threads", "tasks"].iter().find_map(|file| text(&below.join(file)));
                    let all = all.unwrap_or_default();
                    tasks.extend(all.lines().filter_map(|task| task.parse::<i32>().ok()));
                });
                for task in tasks.iter().take(HELD_TASKS_MAX) {
                    let _ = writeln!(told, "of {task}");
                }
            }
        });
    }
    told
}

/// Quota and period of a group, in nanoseconds.
fn quota(group: &Path) -> Option<(u64, u64)> {
    if let Some(max) = text(&group.join("cpu.max")) {
        let (quota, period) = max.trim().split_once(' ')?;
        return Some((quota.parse::<u64>().ok()? * 1_000, period.parse::<u64>().ok()? * 1_000));
    }
    let number = |file: &str| text(&group.join(file))?.trim().parse::<i64>().ok();
    let quota_us = u64::try_from(number("cpu.cfs_quota_us")?).ok()?;
    Some((quota_us * 1_000, u64::try_from(number("cpu.cfs_period_us")?).ok()? * 1_000))
}

/// Calls for a folder of control groups, and for all below it.
pub(super) fn groups(root: &Path, below: bool, each: &mut dyn FnMut(&Path)) {
    let mut next: Vec<(PathBuf, usize)> = vec![(root.to_owned(), 0)];
    let mut seen = 0;
    while let Some((group, depth)) = next.pop() {
        each(&group);
        seen += 1;
        if !below || depth == DEPTH_MAX || seen == GROUPS_MAX {
            continue;
        }
        for name in files::list(&group).unwrap_or_default() {
            // Files of groups have a dot or an underline in their names, or are these.
            let is_file = name.split_once('.').is_some_and(|(of, _)| FILE_KINDS.contains(&of))
                || matches!(name.as_str(), "tasks" | "notify_on_release" | "release_agent");
            if !is_file {
                next.push((group.join(name), depth + 1));
            }
        }
    }
}

const FILE_KINDS: [&str; 16] = [
    "cgroup",
    "cpu",
    "cpuacct",
    "cpuset",
    "io",
    "memory",
    "pids",
    "blkio",
    "hugetlb",
    "rdma",
    "misc",
    "freezer",
    "devices",
    "perf_event",
    "irq",
    "net_cls",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_those_that_limit_io() {
        let controllers = "#subsys_name\thierarchy\tnum\tenabled\ncpu\t1\t1\t1\nblkio\t7\t1\t1\n";
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      38 31 0:35 / /sys/fs/cgroup/blkio rw shared:9 - cgroup cgroup rw,blkio\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            hierarchies_of(mounts, controllers),
            "7 /sys/fs/cgroup/blkio\n0 /sys/fs/cgroup/unified\n"
        );
        // What is mounted is a part of it, or a whole elsewhere.
        let part = "38 31 0:35 /a /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\nx\n";
        assert_eq!(hierarchies_of(part, controllers), "");
        assert_eq!(hierarchies_of("41 31 0:38 / /mnt rw - cgroup2 none rw", ""), "");
    }

    #[test]
    fn this_machine_has_groups() {
        assert!(
            limits()
                .iter()
                .all(|(path, text)| path.starts_with("/sys/fs/cgroup") && !text.is_empty())
        );
        assert!(
            quotas().lines().all(|line| line.starts_with("of ") || line.split(' ').count() >= 4)
        );
        let limited = limited();
        assert!(limited.len() < 2 * TEXT_BYTES_MAX);
        let is_known =
            |line: &str| ["group", "of", "others"].contains(&line.split(' ').next().unwrap_or(""));
        assert!(limited.lines().all(is_known), "{limited}");
    }
}
