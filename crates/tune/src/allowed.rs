//! The settings that Barograph sets, by place, form and kind of value: nothing else is written, whoever
//! asks for it.
//!
//! Root puts back what a journal names. Below /proc/sys and /sys are files by which root's rights are
//! given away (`kernel/core_pattern`, `kernel/modprobe`, `uevent_helper`), so being below them is not
//! enough: a setting is taken, when it is applied and when a journal is read, if its file is in the table
//! below and the value that would be written has the form of that file. A setting that a new verb sets
//! gets its line here. Invariant: no file of the machine outside this table is ever written, also for a
//! journal whose checksums fit. Held by the tests below and by `tests/forged.rs`.

use crate::form::{Form, PAIRS, Target};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A whole number, with a sign or without.
    Number,
    /// One name of letters, digits, `-` and `_`.
    Word,
    /// `Y` or `N`, `0` or `1`.
    Switch,
    /// Either of two files, `bytes N` or `ratio N`.
    Pair,
    /// A controller that is handed on: `+io`.
    Member,
    /// A weight or limits, of the whole group or one line of a device.
    Limits,
    /// The tracer of blocks, or none.
    Tracer,
    /// A share of the processors: microseconds, or `max`, of a period in microseconds.
    Share,
}

/// Files of the whole machine.
const MACHINE: [(&str, Kind); 18] = [
    ("/proc/sys/vm/dirty_bytes", Kind::Pair),
    ("/proc/sys/vm/dirty_background_bytes", Kind::Pair),
    ("/proc/sys/vm/dirty_expire_centisecs", Kind::Number),
    ("/proc/sys/vm/dirty_writeback_centisecs", Kind::Number),
    ("/proc/sys/vm/swappiness", Kind::Number),
    ("/proc/sys/vm/compact_unevictable_allowed", Kind::Number),
    ("/proc/sys/vm/min_free_kbytes", Kind::Number),
    ("/proc/sys/kernel/numa_balancing", Kind::Number),
    ("/proc/sys/kernel/sched_rt_runtime_us", Kind::Number),
    ("/sys/module/zswap/parameters/enabled", Kind::Switch),
    ("/sys/kernel/mm/transparent_hugepage/shmem_enabled", Kind::Word),
    ("/sys/devices/system/clocksource/clocksource0/current_clocksource", Kind::Word),
    ("/sys/kernel/tracing/current_tracer", Kind::Tracer),
    ("/sys/kernel/tracing/trace_clock", Kind::Word),
    ("/sys/kernel/tracing/buffer_size_kb", Kind::Number),
    ("/sys/kernel/debug/tracing/current_tracer", Kind::Tracer),
    ("/sys/kernel/debug/tracing/trace_clock", Kind::Word),
    ("/sys/kernel/debug/tracing/buffer_size_kb", Kind::Number),
];
/// Files of a control group.
const GROUP: [(&str, Kind); 13] = [
    ("cpu.cfs_quota_us", Kind::Number),
    ("cpu.max", Kind::Share),
    ("cgroup.subtree_control", Kind::Member),
    ("io.weight", Kind::Limits),
    ("io.bfq.weight", Kind::Limits),
    ("io.max", Kind::Limits),
    ("blkio.weight", Kind::Limits),
    ("blkio.bfq.weight", Kind::Limits),
    ("blkio.throttle.read_bps_device", Kind::Limits),
    ("blkio.throttle.write_bps_device", Kind::Limits),
    ("blkio.throttle.read_iops_device", Kind::Limits),
    ("blkio.throttle.write_iops_device", Kind::Limits),
    ("memory.max", Kind::Word),
];
/// What a setting must be, for errors.
pub(crate) const EXPECTED: &str =
    "a setting that Barograph sets, with a value of its kind (docs/settings.md)";

/// Whether `state` may be written to `target`.
pub(crate) fn is_allowed(target: &Target, state: &str) -> bool {
    let Some(kind) = kind(&target.path) else { return false };
    match (&target.form, kind) {
        (Form::Pair, Kind::Pair) => state
            .split_once(' ')
            .is_some_and(|(word, value)| ["bytes", "ratio"].contains(&word) && is_number(value)),
        (Form::Member { name }, Kind::Member) => {
            is_word(name) && matches!(state.strip_prefix(['+', '-']), Some(rest) if rest == name)
        }
        (Form::Line { key, unset }, Kind::Limits) => {
            let key = key == "default" || is_device_number(key);
            key && are_limits(unset) && (state.is_empty() || are_limits(state))
        }
        (Form::Whole, Kind::Number | Kind::Limits) => is_number(state),
        (Form::Whole, Kind::Word) => is_word(state),
        (Form::Whole, Kind::Switch) => ["Y", "N", "0", "1"].contains(&state),
        (Form::Whole, Kind::Share) => is_share(state),
        (Form::Whole, Kind::Tracer) => ["nop", "blk"].contains(&state),
        _ => false,
    }
}

fn kind(path: &str) -> Option<Kind> {
    if let Some((_, kind)) = MACHINE.iter().find(|(known, _)| *known == path) {
        return Some(*kind);
    }
    debug_assert!(PAIRS.iter().all(|(bytes, _)| MACHINE.contains(&(bytes, Kind::Pair))));
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["", "sys", "block", disk, "queue", "scheduler"] if is_disk(disk) => Some(Kind::Word),
        ["", "sys", "block", disk, "queue", file]
        | ["", "sys", "block", disk, "queue", "iosched", file]
            if is_disk(disk) && is_word(file) =>
        {
            Some(Kind::Number)
        }
        ["", "sys", "block", disk, "trace", "enable"] if is_disk(disk) => Some(Kind::Switch),
        ["", "sys", "class", "bdi", device, file] if is_device_number(device) && is_word(file) => {
            Some(Kind::Number)
        }
        ["", "sys", "fs", "cgroup", groups @ .., file] if groups.iter().all(|one| is_name(one)) => {
            GROUP.iter().find(|(known, _)| known == file).map(|(_, kind)| *kind)
        }
        _ => None,
    }
}

/// A name that leads to no other folder.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".."
}

fn is_disk(name: &str) -> bool {
    let fit = |c: char| c.is_ascii_alphanumeric() || "-_.!:".contains(c);
    is_name(name) && name.chars().all(fit)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.len() <= 20 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// `20000 100000`, `max 100000`: both words, as the kernel shows them.
fn is_share(text: &str) -> bool {
    let is_time = |word: &str| is_number(word) && !word.starts_with('-');
    let is_quota = |word: &str| word == "max" || is_time(word);
    text.split_once(' ').is_some_and(|(quota, period)| is_quota(quota) && is_time(period))
}

/// `8:0`.
fn is_device_number(text: &str) -> bool {
    let part = |text: &str| is_number(text) && !text.starts_with('-');
    text.split_once(':').is_some_and(|(major, minor)| part(major) && part(minor))
}

/// `200`, `default`, `rbps=max wbps=5`, and `100 (as it was)`, which is no command of the kernel's and
/// stands where a line is never taken away.
fn are_limits(text: &str) -> bool {
    let fit = |c: char| c.is_ascii_alphanumeric() || " =()".contains(c);
    !text.is_empty() && text.chars().all(fit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(path: &str, form: Form) -> Target {
        Target { path: path.to_owned(), form }
    }

    fn line(path: &str, key: &str, unset: &str) -> Target {
        target(path, Form::Line { key: key.to_owned(), unset: unset.to_owned() })
    }

    fn member(path: &str, name: &str) -> Target {
        target(path, Form::Member { name: name.to_owned() })
    }

    #[test]
    fn what_the_verbs_set_is_allowed() {
        let group = "/sys/fs/cgroup/system.slice/a b@1\\x2d.service";
        for (target, state) in [
            (target("/sys/block/sda/queue/scheduler", Form::Whole), "mq-deadline"),
            (target("/sys/block/cciss!c0d0/queue/nr_requests", Form::Whole), "64"),
            (target("/sys/block/loop3/queue/wbt_lat_usec", Form::Whole), "-1"),
            (target("/sys/block/sda/queue/iosched/slice_idle_us", Form::Whole), "8000"),
            (target("/sys/block/sda/trace/enable", Form::Whole), "1"),
            (target("/sys/class/bdi/8:16/max_ratio_fine", Form::Whole), "1000000"),
            (target("/proc/sys/vm/dirty_bytes", Form::Pair), "ratio 20"),
            (target("/proc/sys/vm/swappiness", Form::Whole), "60"),
            (target("/sys/module/zswap/parameters/enabled", Form::Whole), "N"),
            (
                target("/sys/kernel/mm/transparent_hugepage/shmem_enabled", Form::Whole),
                "within_size",
            ),
            (target("/sys/kernel/tracing/current_tracer", Form::Whole), "nop"),
            (target(&format!("{group}/blkio.bfq.weight"), Form::Whole), "200"),
            (line(&format!("{group}/io.bfq.weight"), "default", "100 (as it was)"), "300"),
            (line(&format!("{group}/io.max"), "8:0", "rbps=max wbps=max"), "wbps=5 riops=max"),
            (line("/sys/fs/cgroup/blkio/blkio.throttle.read_bps_device", "7:1", "0"), ""),
            (member("/sys/fs/cgroup/cgroup.subtree_control", "io"), "+io"),
            (target(&format!("{group}/cpu.max"), Form::Whole), "max 100000"),
            (target(&format!("{group}/cpu.max"), Form::Whole), "20000 100000"),
            (target(&format!("{group}/cpu.cfs_quota_us"), Form::Whole), "-1"),
        ] {
            assert!(is_allowed(&target, state), "{target:?} {state}");
        }
    }

    #[test]
    fn what_gives_roots_rights_away_is_not() {
        let whole = |path: &str| target(path, Form::Whole);
        for (target, state) in [
            (whole("/proc/sys/kernel/core_pattern"), "|/tmp/evil %P"),
            (whole("/proc/sys/kernel/core_pattern"), "1"),
            (whole("/proc/sys/kernel/modprobe"), "/tmp/evil"),
            (whole("/proc/sys/kernel/hotplug"), "1"),
            (whole("/proc/sys/kernel/randomize_va_space"), "0"),
            (whole("/proc/sys/fs/suid_dumpable"), "2"),
            (whole("/proc/sys/vm/mmap_min_addr"), "0"),
            (whole("/proc/sys/vm/../kernel/core_pattern"), "1"),
            (whole("/sys/kernel/uevent_helper"), "/tmp/evil"),
            (whole("/sys/power/state"), "mem"),
            (whole("/sys/block/sda/device/delete"), "1"),
            (whole("/sys/block/sda/uevent"), "1"),
            (whole("/sys/block/../kernel/queue/uevent_helper"), "1"),
            (whole("/sys/block/sda/queue/../uevent"), "1"),
            (whole("/sys/block/sda/queue/"), "1"),
            (whole("/sys/block//queue/nr_requests"), "1"),
            (whole("/sys/class/bdi/x/max_ratio"), "1"),
            (whole("/sys/fs/cgroup/release_agent"), "/tmp/evil"),
            (whole("/sys/fs/cgroup/a/release_agent"), "/tmp/evil"),
            (whole("/sys/fs/cgroup/a/cgroup.procs"), "1"),
            (whole("/sys/fs/cgroup/../../power/io.max"), "1"),
            (whole("/sys/fs/cgroup/a/devices.allow"), "a"),
            // The right file, and not the right value or form.
            (whole("/sys/fs/cgroup/a/cpu.max"), "max /x"),
            (whole("/sys/fs/cgroup/a/cpu.max"), "-1 100000"),
            (whole("/sys/fs/cgroup/a/cpu.max"), "max 1 1"),
            (whole("/sys/fs/cgroup/a/cpu.max"), "max"),
            (whole("/sys/block/sda/queue/scheduler"), "../x"),
            (whole("/sys/block/sda/queue/nr_requests"), "|x"),
            (whole("/sys/block/sda/queue/nr_requests"), ""),
            (whole("/proc/sys/vm/dirty_bytes"), "1"),
            (whole("/sys/kernel/tracing/current_tracer"), "function"),
            (target("/proc/sys/vm/swappiness", Form::Pair), "bytes 1"),
            (line("/proc/sys/vm/swappiness", "8:0", "0"), "1"),
            (line("/sys/fs/cgroup/a/io.max", "|x", "0"), "1"),
            (line("/sys/fs/cgroup/a/io.max", "8:0", "|x"), "1"),
            (line("/sys/fs/cgroup/a/io.max", "8:0", "0"), "/x"),
            (member("/sys/fs/cgroup/a/cgroup.subtree_control", "io"), "+cpu"),
            (member("/sys/fs/cgroup/a/io.max", "io"), "+io"),
        ] {
            assert!(!is_allowed(&target, state), "{target:?} {state}");
        }
    }
}
