//! What a recording cannot see in events: threads that were there before, tasks that sleep when it begins or ends,
//! and programs that are file systems.
//!
//! All of it goes into the trace as facts, text that [`crate::timeline`] and [`crate::explain`] read. Only
//! tasks that sleep as those do that wait for storage have their stack read.
//!
//! Since when a task sleeps no event of the trace tells if it was so before; the scheduler does: it keeps when
//! each task was on a processor last, in a clock of its own.
//!
//! Invariant: only reads, and all that is read is bounded. Held by `this_machine_has_a_state`,
//! `since_when_a_task_sleeps_is_what_the_scheduler_keeps`,
//! `of_many_that_sleep_each_wait_is_told_and_the_rest_counted`.

use crate::calls;
use crate::explain::place::Place;
use crate::explain::{FILE_SYSTEMS, KERNEL_TASKS, takes_requests};
use baro_sys::{clock, files, schedule, task};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The fact with lines `task process` of all threads but the first of each process.
pub(crate) const THREADS: &str = "threads";
/// The fact with what tasks slept in when the recording began; see `hangs`.
pub(crate) const HANGS: &str = "hangs";
/// What the facts have behind their name that were read when a ring saw a call that waits.
pub(crate) const AT_TRIGGER: &str = " at the trigger";
/// What facts have behind their name that were read when the recording ended.
pub(crate) const AT_END: &str = " at the end";

const TASKS_MAX: usize = 1 << 16;
/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_TASK: u64 = 0x0020_0000;
/// Room of one fact, with some left for its name.
pub(super) const TEXT_BYTES_MAX: usize = 24 << 10;
const FILE_BYTES_MAX: u64 = 16 << 10;
/// A processor that did not run a thread in this time is busy with something more urgent.
const PATIENCE: Duration = Duration::from_millis(100);
/// Tasks that sleep and are told; all that there is room for.
const HANGS_MAX: usize = 128;
/// Tasks that sleep and are looked at, and that probes are told of.
const SLEEPERS_MAX: usize = 1_024;

pub(super) fn text(path: &Path) -> Option<String> {
    files::read_text(path, FILE_BYTES_MAX).ok()
}

/// All tasks: `(task, process)`.
pub(super) fn tasks() -> Vec<(i32, i32)> {
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

/// Threads, hangs, programs that are file systems, and the kernel's own tasks.
pub(super) fn of_tasks(since: &mut dyn FnMut(i32) -> Option<u64>) -> [(&'static str, String); 4] {
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
    let mut of_kernel = String::new();
    let others = asleep(tasks.iter().filter(|(_, tgid)| *tgid != own), &mut |tid| {
        if of_kernel.len() < TEXT_BYTES_MAX {
            let _ = writeln!(of_kernel, "{tid}");
        }
    });
    let mut file_systems = String::new();
    let mut found: Vec<Hang> = Vec::new();
    for (tid, state) in others.iter().take(SLEEPERS_MAX) {
        let Some(functions) = functions_of(*tid) else { continue };
        if functions.iter().any(|name| takes_requests(name)) && file_systems.len() < TEXT_BYTES_MAX
        {
            let _ = writeln!(file_systems, "{tid}");
        }
        found.extend(hang(*tid, *state, functions, &mut since));
    }
    let unseen = others.len().saturating_sub(SLEEPERS_MAX);
    write_hangs(&mut hangs, found, unseen);
    [(THREADS, threads), (HANGS, hangs), (FILE_SYSTEMS, file_systems), (KERNEL_TASKS, of_kernel)]
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
/// first that tell most. Each of the kernel's own that is seen is handed over.
fn asleep<'a>(
    tasks: impl Iterator<Item = &'a (i32, i32)>,
    of_kernel: &mut dyn FnMut(i32),
) -> Vec<(i32, char)> {
    let order = |state: char| match state {
        'D' => Some(0),
        'S' => Some(1),
        'T' | 't' => Some(2),
        _ => None,
    };
    let state = |(tid, _): &(i32, i32)| {
        let (state, is_kernels) = look(*tid)?;
        if is_kernels {
            of_kernel(*tid);
        }
        Some((order(state).filter(|_| counts(state, is_kernels))?, *tid, state))
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
        && functions_of(tid)
            .is_some_and(|functions| hang(tid, 'S', functions, &mut |_| None).is_some())
}

/// Tasks that sleep now as those do that wait for storage, with their states: D, S, or T.
#[must_use]
pub fn sleepers() -> Vec<(i32, char)> {
    let mut found = asleep(tasks().iter(), &mut |_| {});
    found.truncate(SLEEPERS_MAX);
    found
}

/// The functions that a task is in, the innermost first.
fn functions_of(tid: i32) -> Option<Vec<String>> {
    let stack = text(Path::new(&format!("/proc/{tid}/stack")))?;
    Some(stack.lines().filter_map(function).map(str::to_owned).collect())
}

fn hang(
    tid: i32,
    state: char,
    functions: Vec<String>,
    since: &mut dyn FnMut(i32) -> Option<u64>,
) -> Option<Hang> {
    // A task of the kernel's own has no registers of a call, which reads as `read(0, 0, 0)`.
    let call = call_of(tid).filter(|_| !look(tid).is_some_and(|(_, is_kernels)| is_kernels));
    // The kernel's own tasks wait so for work, and a pipe that is empty is no hang.
    let place = Place::of(functions.iter().map(|name| Some(name.as_str())));
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

fn is_idle(functions: &[String]) -> bool {
    let waits = [
        "worker_thread",
        "rcu_gp_kthread",
        "kthread_worker_fn",
        "rescuer_thread",
        "smpboot_thread_fn",
    ];
    functions.first().is_some_and(|name| waits.contains(&name.as_str()))
}

/// `[<0>] folio_wait_bit+0x1/0x2 [module]`
fn function(line: &str) -> Option<&str> {
    let name = line.split_once("] ")?.1.split(['+', ' ']).next()?;
    (!name.is_empty() && !name.starts_with("0x")).then_some(name)
}

fn state_of(tid: i32) -> Option<char> {
    look(tid).filter(|(state, is_kernels)| counts(*state, *is_kernels)).map(|(state, _)| state)
}

/// The kernel's own tasks wait for work in sleeps that signals end.
fn counts(state: char, is_kernels: bool) -> bool {
    state == 'D' || !is_kernels
}

/// State of a task, and whether it is one of the kernel's own.
fn look(tid: i32) -> Option<(char, bool)> {
    let stat = text(Path::new(&format!("/proc/{tid}/stat")))?;
    // The name stands in brackets and may hold any.
    let mut words = stat.rsplit_once(") ")?.1.split(' ');
    let state = words.next()?.chars().next()?;
    let flags: u64 = words.nth(5)?.parse().ok()?;
    Some((state, flags & KERNEL_TASK != 0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_a_state() {
        let [(_, threads), (_, hangs), (_, file_systems), (_, of_kernel)] = of_tasks(&mut |_| None);
        // Its first task, from which all others come; not seen from a container.
        let kthreadd = Path::new("/proc/2/comm");
        if text(kthreadd).is_some_and(|name| name.trim() == "kthreadd") {
            assert!(of_kernel.lines().any(|line| line == "2"), "{of_kernel}");
        }
        assert!(!of_kernel.lines().any(|line| line == std::process::id().to_string()));
        assert!(file_systems.lines().all(|line| line.parse::<i32>().is_ok()), "{file_systems}");
        let numbers = |line: &str| line.split(' ').all(|word| word.parse::<i32>().is_ok());
        assert!(threads.lines().all(numbers), "{threads}");
        assert!(hangs.starts_with("at "), "{hangs}");
        assert!(hangs.len() < 2 * TEXT_BYTES_MAX);
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
