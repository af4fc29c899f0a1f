//! Tasks as the recorder found them: threads of processes that were there before, and groups whose share of
//! the processors is limited.
//!
//! Invariant: a thread that was there before belongs to its process, as one that was made within the trace.
//! Held by `threads_that_were_there_before_are_of_their_process`.

use super::Knowledge;
use crate::timeline::{StackId, Symbols, Task, Timeline, named_addresses};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The fact with tasks that are file systems.
pub(crate) const FILE_SYSTEMS: &str = "file systems";

/// The fact with the kernel's own tasks.
pub(crate) const KERNEL_TASKS: &str = "kernel tasks";

/// Where groups of processors are in the first version. A group of the second may be called `cpu-x.slice`.
const V1: [&str; 2] = ["/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct"];

/// A limit of processors that a control group had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupQuota {
    pub(super) quota_ns: u64,
    pub(super) period_ns: u64,
    pub(super) throttled_ns: u64,
    pub(super) path: String,
    /// Whether its files are those of the second version of control groups.
    pub(super) is_v2: bool,
    /// Its tasks, as far as they were seen.
    tasks: Vec<i32>,
}

/// Gives threads to their processes, and tells which tasks are the kernel's own.
pub(super) fn add_parents(line: &mut Timeline, facts: &BTreeMap<String, String>) {
    for name in ["threads", "threads at the end"] {
        for pair in facts.get(name).map_or("", String::as_str).lines() {
            let Some((task, process)) = pair.split_once(' ') else { continue };
            if let (Ok(task), Ok(process)) = (task.parse::<i32>(), process.trim().parse()) {
                line.tasks.entry(task).or_default().parent.get_or_insert(process);
            }
        }
    }
    for name in [KERNEL_TASKS, "kernel tasks at the end", "kernel tasks at the trigger"] {
        for pid in facts.get(name).map_or("", String::as_str).lines() {
            if let Some(task) =
                pid.trim().parse().ok().and_then(|pid: i32| line.tasks.get_mut(&pid))
            {
                task.is_kernels = true;
            }
        }
    }
    // The kernel's workers of io_uring are called after the task that they work for.
    for (pid, task) in &mut line.tasks {
        let of = std::str::from_utf8(task.name.as_bytes()).ok().and_then(|name| {
            name.strip_prefix("iou-wrk-")
                .or_else(|| name.strip_prefix("iou-sqp-"))?
                .parse::<i32>()
                .ok()
        });
        if let Some(of) = of.filter(|of| of != pid) {
            task.parent.get_or_insert(of);
        }
    }
}

/// Names the functions of stacks that were told by name.
pub(super) fn add_hangs(line: &Timeline, symbols: &mut Symbols) {
    for (address, name) in named_addresses(&line.named_functions) {
        symbols.add(address, address + 1, name);
    }
}

/// Tasks that waited for a request as a program that is a file system does.
pub(super) fn file_systems(
    line: &Timeline,
    symbols: &Symbols,
    facts: &BTreeMap<String, String>,
) -> BTreeSet<i32> {
    let is_one = |address: &u64| symbols.name(*address).is_some_and(takes_requests);
    let stacks: BTreeSet<StackId> = line
        .stacks
        .iter()
        .filter(|(_, addresses)| addresses.iter().any(is_one))
        .map(|(stack, _)| stack)
        .collect();
    let slept_so = |task: &Task| {
        task.waits.iter().any(|wait| wait.stack.is_some_and(|one| stacks.contains(&one)))
    };
    let by_stack = line.tasks.iter().filter(|(_, task)| !stacks.is_empty() && slept_so(task));
    let mut found: BTreeSet<i32> = by_stack.map(|(pid, _)| *pid).collect();
    for (_, text) in facts.iter().filter(|(name, _)| name.starts_with(FILE_SYSTEMS)) {
        found.extend(text.lines().filter_map(|line| line.trim().parse::<i32>().ok()));
    }
    found
}

/// Whether a function is where a program that is a file system waits for its next request.
pub(crate) fn takes_requests(function: &str) -> bool {
    function == "fuse_dev_do_read"
}

fn quotas(text: &str) -> Vec<GroupQuota> {
    let mut groups: Vec<GroupQuota> = Vec::new();
    for line in text.lines() {
        if let Some(task) = line.strip_prefix("of ") {
            if let (Some(last), Ok(task)) = (groups.last_mut(), task.trim().parse()) {
                last.tasks.push(task);
            }
            continue;
        }
        let mut words = line.splitn(4, ' ');
        let mut number = || words.next()?.parse::<u64>().ok();
        let (Some(quota_ns), Some(period_ns), Some(throttled_ns)) = (number(), number(), number())
        else {
            continue;
        };
        let path = words.next().unwrap_or("").to_owned();
        let is_v2 = !V1.iter().any(|root| Path::new(&path).starts_with(root));
        groups.push(GroupQuota {
            quota_ns,
            period_ns,
            throttled_ns,
            path,
            is_v2,
            tasks: Vec::new(),
        });
    }
    groups
}

/// Groups that were held within the trace, and how long in it.
pub(super) fn held_groups(facts: &BTreeMap<String, String>) -> Vec<GroupQuota> {
    let text = |name: &str| facts.get(name).map_or("", String::as_str);
    let mut before: BTreeMap<String, GroupQuota> = BTreeMap::new();
    before.extend(quotas(text("quotas")).into_iter().map(|one| (one.path.clone(), one)));
    let mut held = quotas(text("quotas at the end"));
    for one in &mut held {
        if let Some(same) = before.get(&one.path) {
            one.throttled_ns = one.throttled_ns.saturating_sub(same.throttled_ns);
            one.tasks.extend(&same.tasks);
        }
        one.tasks.sort_unstable();
    }
    held.retain(|one| one.throttled_ns > 0);
    held
}

impl GroupQuota {
    /// Whether a task was seen in it.
    pub(super) fn has(&self, pid: i32) -> bool {
        self.tasks.binary_search(&pid).is_ok()
    }
}

impl Knowledge {
    /// The group that a task is in, if its share of processors is limited and it was held for that within
    /// the trace; of a task that was seen in none the only group that was held, and false.
    pub(super) fn quota_of(&self, pid: i32) -> Option<(&GroupQuota, bool)> {
        // A group holds those of the groups below it too: the one that was held longest counts.
        let own = self.held_groups.iter().filter(|one| one.has(pid));
        let own = own.max_by_key(|one| one.throttled_ns);
        let only = self.held_groups.first().filter(|_| self.held_groups.len() == 1);
        own.or(only).map(|one| (one, own.is_some()))
    }
}
