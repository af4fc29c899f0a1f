//! What a recording cannot see in events: threads that were there before, tasks that sleep when it begins
//! or ends, and the limits of control groups.
//!
//! All of it goes into the trace as facts, text that [`crate::timeline`] and [`crate::explain`] read. Only
//! tasks that sleep as those do that wait for storage have their stack read.
//!
//! Since when a task sleeps no event of the trace tells if it was so before; the scheduler does: it keeps when
//! each task was on a processor last, in a clock of its own.
//!
//! Invariant: only reads, and all that is read is bounded. Held by `this_machine_has_a_state`,
//! `since_when_a_task_sleeps_is_what_the_scheduler_keeps`.

use crate::calls;
use crate::explain::place::Place;
use baro_sys::{clock, files, schedule, task};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

/// The fact with lines `task process` of all threads but the first of each process.
pub(crate) const THREADS: &str = "threads";
/// The fact with what tasks slept in when the recording began; see `hangs`.
pub(crate) const HANGS: &str = "hangs";
/// The fact with the limits of processors: `quota_ns period_ns throttled_ns path`, and `of task` lines.
pub(crate) const QUOTAS: &str = "quotas";
/// The fact with the tasks of control groups that have a limit of I/O; see `limited`.
pub(crate) const LIMITED: &str = "limited groups";
/// What the facts have behind their name that were read when a ring saw a call that waits.
pub(crate) const AT_TRIGGER: &str = " at the trigger";
/// What facts have behind their name that were read when the recording ended.
pub(crate) const AT_END: &str = " at the end";

const TASKS_MAX: usize = 1 << 16;
/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_TASK: u64 = 0x0020_0000;
/// Room of one fact, with some left for its name.
const TEXT_BYTES_MAX: usize = 24 << 10;
const FILE_BYTES_MAX: u64 = 16 << 10;
/// Room of the tasks of one control group.
const MEMBERS_BYTES_MAX: u64 = 1 << 20;
/// A processor that did not run a thread in this time is busy with something more urgent.
const PATIENCE: Duration = Duration::from_millis(100);
/// Tasks that sleep and are told; all that there is room for.
const HANGS_MAX: usize = 128;
/// Tasks that sleep and are looked at, and that probes are told of.
const SLEEPERS_MAX: usize = 1_024;
/// Folders of control groups that are looked into.
const GROUPS_MAX: usize = 4_096;
const DEPTH_MAX: usize = 8;

fn text(path: &Path) -> Option<String> {
    files::read_text(path, FILE_BYTES_MAX).ok()
}

/// All tasks: `(task, process)`.
fn tasks() -> Vec<(i32, i32)> {
    let mut tasks = Vec::new();
    let proc = Path::new("/proc");
    for process in files::list(proc).unwrap_or_default() {
        let Ok(tgid) = process.parse::<i32>() else { continue };
        for task in files::list(&proc.join(&process).join("task")).unwrap_or_default() {
            if let Some(tid) = task.parse().ok().filter(|_| tasks.len() < TASKS_MAX) {
                tasks.push((tid, tgid));
            }
        }
    }
    tasks
}

/// Threads and hangs.
pub(super) fn of_tasks(since: &mut dyn FnMut(i32) -> Option<u64>) -> [(&'static str, String); 2] {
    let tasks = tasks();
    let mut threads = String::new();
    for (tid, tgid) in tasks.iter().filter(|(tid, tgid)| tid != tgid) {
        if threads.len() > TEXT_BYTES_MAX {
            break;
        }
        let _ = writeln!(threads, "{tid} {tgid}");
    }
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut clocks = SchedulerClocks::default();
    let mut since = |tid| since(tid).or_else(|| clocks.left_processor_ns(tid));
    let mut hangs = format!("at {}\n", clock::monotonic_ns());
    let others = asleep(tasks.iter().filter(|(_, tgid)| *tgid != own));
    let looked = others.iter().take(SLEEPERS_MAX);
    let found: Vec<Hang> =
        looked.filter_map(|(tid, state)| hang(*tid, *state, &mut since)).collect();
    let unseen = others.len().saturating_sub(SLEEPERS_MAX);
    write_hangs(&mut hangs, found, unseen);
    [(THREADS, threads), (HANGS, hangs)]
}

/// As many as there is room for: of each wait, which is a state and a stack, the one that has lasted longest,
/// then the next of each. So whoever waits elsewhere than the many is told. Then `left out COUNT`, if any are.
fn write_hangs(told: &mut String, mut found: Vec<Hang>, unseen: usize) {
    // Since when is 0 if it is not known: it may be the longest.
    found.sort_by_key(|one| (one.since_ns, one.tid));
    let mut ranks: BTreeMap<(char, String), usize> = BTreeMap::new();
    let mut ordered: Vec<(usize, Hang)> = found
        .into_iter()
        .map(|one| {
            let rank = ranks.entry((one.state, one.functions.clone())).or_default();
            *rank += 1;
            (*rank, one)
        })
        .collect();
    ordered.sort_by_key(|(rank, _)| *rank);
    let mut left_out = unseen;
    for (count, (_, one)) in ordered.iter().enumerate() {
        if count >= HANGS_MAX || told.len() > TEXT_BYTES_MAX {
            left_out += 1;
            continue;
        }
        let Hang { tid, state, since_ns, call: (number, [a, b, c]), functions } = one;
        let _ = writeln!(told, "task {tid} {state} {since_ns} {number} {a} {b} {c}\n{functions}");
    }
    if left_out > 0 {
        let _ = writeln!(told, "left out {left_out}");
    }
}

/// A task that sleeps; 0 if it is not known since when, -1 for no call; functions a line each.
struct Hang {
    tid: i32,
    state: char,
    since_ns: u64,
    call: (i64, [u64; 3]),
    functions: String,
}

/// Tasks that sleep, or are stopped, in a call that may wait for storage or in one that no signal ends; those
/// first that tell most.
fn asleep<'a>(tasks: impl Iterator<Item = &'a (i32, i32)>) -> Vec<(i32, char)> {
    let order = |state: char| match state {
        'D' => Some(0),
        'S' => Some(1),
        'T' | 't' => Some(2),
        _ => None,
    };
    let state = |(tid, _): &(i32, i32)| {
        let state = state_of(*tid)?;
        Some((order(state)?, *tid, state))
    };
    let hangs = |(order, tid, _): &(i32, i32, char)| *order != 1 || storage_call(*tid).is_some();
    let mut found: Vec<(i32, i32, char)> = tasks.filter_map(state).filter(hangs).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, tid, state)| (tid, state)).collect()
}

/// Whether a task sleeps so that signals end it, and its stack says that it is for storage: a lock of a file, or
/// a program that is a file system.
#[must_use]
pub fn sleeps_for_storage(tid: i32) -> bool {
    state_of(tid) == Some('S')
        && storage_call(tid).is_some()
        && hang(tid, 'S', &mut |_| None).is_some()
}

/// Tasks that sleep now as those do that wait for storage, with their states: D, S, or T.
#[must_use]
pub fn sleepers() -> Vec<(i32, char)> {
    let mut found = asleep(tasks().iter());
    found.truncate(SLEEPERS_MAX);
    found
}

fn hang(tid: i32, state: char, since: &mut dyn FnMut(i32) -> Option<u64>) -> Option<Hang> {
    let call = call_of(tid);
    let stack = text(Path::new(&format!("/proc/{tid}/stack")))?;
    let functions: Vec<&str> = stack.lines().filter_map(function).collect();
    // The kernel's own tasks wait so for work, and a pipe that is empty is no hang.
    let place = Place::of(functions.iter().map(|name| Some(*name)));
    if functions.is_empty() || state == 'S' && place.layers.is_empty() || is_idle(&functions) {
        return None;
    }
    let (call, since_ns) = (call.unwrap_or((-1, [0; 3])), since(tid).unwrap_or(0));
    Some(Hang { tid, state, since_ns, call, functions: functions.join("\n") })
}

/// The scheduler's clocks beside ours: each processor has one, from which time that another guest of the
/// machine had may be taken off. So a wait is told shorter by what was taken off in its time.
#[derive(Debug, Default)]
struct SchedulerClocks {
    /// What is added to times of a processor.
    ahead_ns: BTreeMap<usize, Option<i128>>,
}

impl SchedulerClocks {
    /// When a task that sleeps left its processor; None where the kernel does not tell (`CONFIG_SCHED_DEBUG`).
    fn left_processor_ns(&mut self, tid: i32) -> Option<u64> {
        let own = last_on_processor_ns(Path::new(&format!("/proc/{tid}/sched")))?;
        let stat = text(Path::new(&format!("/proc/{tid}/stat")))?;
        let cpu = stat.rsplit_once(") ")?.1.split(' ').nth(36)?.parse().ok()?;
        let ahead_ns = (*self.ahead_ns.entry(cpu).or_insert_with(|| ahead_ns(cpu)))?;
        let since_ns = u64::try_from(i128::from(own) + ahead_ns).ok()?;
        Some(since_ns).filter(|since_ns| *since_ns <= clock::monotonic_ns())
    }
}

/// How far our clock is ahead of a processor's: a thread that comes back from a sleep was put on it just now.
fn ahead_ns(cpu: usize) -> Option<i128> {
    let look = move || {
        schedule::set_cpu(cpu).ok()?;
        clock::sleep_ns(100_000);
        let now_ns = clock::monotonic_ns();
        let path = format!("/proc/self/task/{}/sched", task::thread_id());
        Some(i128::from(now_ns) - i128::from(last_on_processor_ns(Path::new(&path))?))
    };
    // A thread of its own, as it stays on that processor; another may have that for as long as it likes.
    let (send, receive) = channel();
    let looks = move || {
        // Nobody may wait for it any more.
        let _ = send.send(look());
    };
    std::thread::Builder::new().name("baro-clock".to_owned()).spawn(looks).ok()?;
    receive.recv_timeout(PATIENCE).ok()?
}

/// `se.exec_start : 62668280.936849`, in milliseconds with six digits behind the point.
fn last_on_processor_ns(path: &Path) -> Option<u64> {
    let text = text(path)?;
    let line = text.lines().find_map(|line| line.strip_prefix("se.exec_start"))?;
    let (ms, ns) = line.trim_start_matches([' ', ':']).trim().split_once('.')?;
    let ns = ns.parse::<u64>().ok().filter(|_| ns.len() == 6)?;
    ms.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(ns).filter(|ns| *ns != 0)
}

fn is_idle(functions: &[&str]) -> bool {
    let waits = [
        "worker_thread",
        "rcu_gp_kthread",
        "kthread_worker_fn",
        "rescuer_thread",
        "smpboot_thread_fn",
    ];
    functions.first().is_some_and(|name| waits.contains(name))
}

/// `[<0>] folio_wait_bit+0x1/0x2 [module]`
fn function(line: &str) -> Option<&str> {
    let name = line.split_once("] ")?.1.split(['+', ' ']).next()?;
    (!name.is_empty() && !name.starts_with("0x")).then_some(name)
}

fn state_of(tid: i32) -> Option<char> {
    let stat = text(Path::new(&format!("/proc/{tid}/stat")))?;
    // The name stands in brackets and may hold any.
    let mut words = stat.rsplit_once(") ")?.1.split(' ');
    let state = words.next()?.chars().next()?;
    // The kernel's own tasks wait for work in sleeps that signals end.
    let flags: u64 = words.nth(5)?.parse().ok()?;
    (state == 'D' || flags & KERNEL_TASK == 0).then_some(state)
}

/// Number and first arguments of the call that a task is in.
fn call_of(tid: i32) -> Option<(i64, [u64; 3])> {
    let line = text(Path::new(&format!("/proc/{tid}/syscall")))?;
    let mut words = line.split_whitespace();
    let number = words.next()?.parse().ok().filter(|number| *number >= 0)?;
    let mut args = [0; 3];
    for arg in &mut args {
        *arg = u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok()?;
    }
    Some((number, args))
}

/// The same if it is a call that may wait for storage.
fn storage_call(tid: i32) -> Option<(i64, [u64; 3])> {
    let call = call_of(tid)?;
    let name = calls::name(Some(std::env::consts::ARCH), call.0)?;
    calls::is_storage(name).then_some(call)
}

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

/// Calls for each limit of I/O or memory: group, file, and text.
fn limited_groups(each: &mut dyn FnMut(&Path, &str, &str)) {
    // Memory of the second version: in the first a group has no limit of dirty data.
    const FILES: [&str; 7] = [
        "io.max",
        "blkio.throttle.read_bps_device",
        "blkio.throttle.write_bps_device",
        "blkio.throttle.read_iops_device",
        "blkio.throttle.write_iops_device",
        "memory.max",
        "memory.high",
    ];
    let limits = |text: &String| !matches!(text.trim(), "" | "max");
    for root in ["/sys/fs/cgroup", "/sys/fs/cgroup/blkio", "/sys/fs/cgroup/unified"] {
        let only_here =
            root == "/sys/fs/cgroup" && files::exists(Path::new("/sys/fs/cgroup/blkio"));
        groups(Path::new(root), !only_here, &mut |group| {
            for file in FILES {
                if let Some(text) = text(&group.join(file)).filter(limits) {
                    each(group, file, text.trim());
                }
            }
        });
    }
}

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

/// Limits of processors of all control groups that have one.
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
                let tasks =
                    ["cgroup.threads", "tasks"].iter().find_map(|file| text(&group.join(file)));
                for task in tasks.unwrap_or_default().lines().take(256) {
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
fn groups(root: &Path, below: bool, each: &mut dyn FnMut(&Path)) {
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
    fn this_machine_has_a_state() {
        let [(_, threads), (_, hangs)] = of_tasks(&mut |_| None);
        let numbers = |line: &str| line.split(' ').all(|word| word.parse::<i32>().is_ok());
        assert!(threads.lines().all(numbers), "{threads}");
        assert!(hangs.starts_with("at "), "{hangs}");
        assert!(hangs.len() < 2 * TEXT_BYTES_MAX);
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

    #[test]
    fn of_many_that_sleep_each_wait_is_told_and_the_rest_counted() {
        let hang = |tid: i32, state, since_ns, functions: &str| Hang {
            tid,
            state,
            since_ns,
            call: (1, [3, 0, 0]),
            functions: functions.to_owned(),
        };
        let stack = "nfs_wait_bit_killable\nrpc_wait_bit_killable\n".repeat(4);
        let mut found: Vec<Hang> =
            (0..600).map(|tid| hang(tid, 'D', 5_000 - tid as u64, &stack)).collect();
        // The one that holds what they wait for, last of all.
        found.push(hang(30_000, 'D', 4_900, "rpc_execute\nnfs_commit_inode"));
        let mut told = String::new();
        write_hangs(&mut told, found, 7);
        assert!(told.contains("task 30000 D 4900 1 3 0 0\nrpc_execute\nnfs_commit_inode\n"));
        // Those who wait longest are told before the others.
        assert!(told.starts_with("task 599 D 4401 "), "{told}");
        let count = told.lines().filter(|line| line.starts_with("task ")).count();
        assert!(count > 50 && told.len() < TEXT_BYTES_MAX + 1_024, "{count} in {}", told.len());
        assert_eq!(told.lines().last(), Some(&*format!("left out {}", 601 + 7 - count)));
    }

    #[test]
    fn since_when_a_task_sleeps_is_what_the_scheduler_keeps() {
        if last_on_processor_ns(Path::new("/proc/self/sched")).is_none() {
            println!("skipped: this kernel does not tell /proc/self/sched");
            return;
        }
        let (send, receive) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let before_ns = clock::monotonic_ns();
        let sleeper = std::thread::spawn(move || {
            send.send(baro_sys::task::thread_id()).unwrap();
            ended.recv().unwrap_or_default();
        });
        let tid = i32::try_from(receive.recv().unwrap()).unwrap();
        while state_of(tid) != Some('S') {
            clock::sleep_ns(1_000_000);
        }
        let asleep_ns = clock::monotonic_ns();
        clock::sleep_ns(50_000_000);
        let since_ns = SchedulerClocks::default().left_processor_ns(tid).unwrap();
        // The clock that is read a moment late makes all times later by that.
        let late_ns = clock::monotonic_ns() - asleep_ns;
        assert!((before_ns..asleep_ns + late_ns).contains(&since_ns), "{since_ns} {before_ns}");
        drop(end);
        sleeper.join().unwrap();
    }

    #[test]
    fn functions_are_read_and_other_lines_passed_over() {
        let names = ["[<0>] a_b+0x1/0x2 [mod]", "[<0>] 0xffff", "", "nothing", "[<0>] c+0x0/0x1"];
        assert_eq!(names.map(function), [Some("a_b"), None, None, None, Some("c")]);
    }
}
