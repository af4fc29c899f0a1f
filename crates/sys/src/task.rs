//! What a task waits for, as the kernel says in /proc: its state, its stack, its wait for a
//! processor. For evidence that does not come from a tracer.
//!
//! Invariant: any text of the kernel gives a sample or none; a task that ends meanwhile is no
//! error. Held by `a_waiting_thread_is_seen_where_it_waits`, `what_a_task_comes_from_is_found`.
#![allow(clippy::disallowed_methods, reason = "this crate is the door to the OS")]

use std::fs;
use std::path::Path;

/// The calling thread's id, which the kernel and its tracers call pid.
#[must_use]
pub fn thread_id() -> u32 {
    // SAFETY: cannot fail, touches no memory.
    u32::try_from(unsafe { libc::syscall(libc::SYS_gettid) }).unwrap_or(0)
}

/// A task at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSample {
    /// `R` running or ready, `S` and `D` asleep, others as in proc(5).
    pub state: char,
    /// Functions of the kernel it is in, innermost first; empty in user space, on a processor, and
    /// for those who may not see it (root may).
    pub stack: Vec<String>,
}

/// Ids and names of the threads of a process; none where it has ended.
#[must_use]
pub fn threads(pid: u32) -> Vec<(u32, String)> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks
        .filter_map(|task| {
            let task = task.ok()?;
            let name = fs::read_to_string(task.path().join("comm")).ok()?;
            Some((task.file_name().to_str()?.parse().ok()?, name.trim_end().to_owned()))
        })
        .collect()
}

/// Ids of all processes and kernel threads of this name (the kernel keeps 15 bytes of it).
#[must_use]
pub fn processes(name: &str) -> Vec<u32> {
    let Ok(all) = fs::read_dir("/proc") else { return Vec::new() };
    all.filter_map(|entry| {
        let entry = entry.ok()?;
        let id = entry.file_name().to_str()?.parse().ok()?;
        let found = fs::read_to_string(entry.path().join("comm")).ok()?;
        (found.trim_end() == name).then_some(id)
    })
    .collect()
}

/// Ids of the threads of a process; none where it has ended.
#[must_use]
pub fn thread_ids(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks.filter_map(|task| task.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// Whether a task is one of `pids`, a thread of one, or was started by one whose parents still live.
#[must_use]
pub fn comes_from(tid: i32, pids: &[i32]) -> bool {
    let mut next = tid;
    // As deep as processes are, and an end where two change while they are read.
    for _ in 0..GENERATIONS_MAX {
        if pids.contains(&next) {
            return true;
        }
        let Ok(status) = fs::read_to_string(format!("/proc/{next}/status")) else { return false };
        let field = |name| {
            status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<i32>().ok())
        };
        next = match (field("Tgid:"), field("PPid:")) {
            (Some(process), _) if process != next => process,
            (_, Some(parent)) if parent > 0 => parent,
            _ => return false,
        };
    }
    false
}

const GENERATIONS_MAX: usize = 256;

/// What a thread is at, as to I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtIo {
    /// It sleeps uninterruptibly, or for events of asynchronous I/O.
    Waits,
    /// It has a processor, wants one, or has just been woken.
    Runs,
    /// It sleeps for something else, or has ended.
    Sleeps,
}

/// What the thread `tid` is at now (root sees all of it).
#[must_use]
pub fn at_io(tid: u32) -> AtIo {
    let Ok(stat) = fs::read_to_string(format!("/proc/{tid}/stat")) else { return AtIo::Sleeps };
    match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('D') => AtIo::Waits,
        Some('R') => AtIo::Runs,
        Some('S') => {
            let read = |file: &str| fs::read_to_string(format!("/proc/{tid}/{file}"));
            let place = read("wchan").unwrap_or_default();
            match waits_for_events(place.trim(), || read("stack").unwrap_or_default()) {
                true => AtIo::Waits,
                false => AtIo::Sleeps,
            }
        }
        _ => AtIo::Sleeps,
    }
}

/// Processor time in user space of a process, its ended threads included, in ns; 0 where it has ended.
#[must_use]
pub fn user_ns(pid: u32) -> u64 {
    // SAFETY: takes a number and gives one.
    let ticks = u64::try_from(unsafe { libc::sysconf(libc::_SC_CLK_TCK) }).unwrap_or(0).max(1);
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = text.rsplit_once(") ").map_or("", |(_, rest)| rest);
    // The 14th in all, and the state, the third, is the first here.
    let user: u64 = fields.split(' ').nth(11).and_then(|field| field.parse().ok()).unwrap_or(0);
    user.saturating_mul(1_000_000_000 / ticks)
}

/// Whether a place in the kernel is the wait for asynchronous I/O. Before 5.16 x86 kernels without
/// frame pointers cannot tell the place (`0`); then the stack does.
fn waits_for_events(place: &str, stack: impl FnOnce() -> String) -> bool {
    // The last is where compilers put the second into its only caller.
    const WAITS: [&str; 3] = ["read_events", "io_cqring_wait", "__do_sys_io_uring_enter"];
    // Compilers add to names: read_events.isra.0.
    let is = |name: &str| WAITS.contains(&name.split('.').next().unwrap_or(""));
    match place {
        "" | "0" => functions(&stack()).iter().any(|name| is(name)),
        place => is(place),
    }
}

/// Where the thread `tid` is; none where it has ended. Does not wait for it.
#[must_use]
pub fn sample(tid: u32) -> Option<TaskSample> {
    let dir = format!("/proc/{tid}");
    let stat = fs::read_to_string(Path::new(&dir).join("stat")).ok()?;
    // The name before it may hold brackets of its own.
    let state = stat.rsplit_once(") ")?.1.chars().next()?;
    let stack = fs::read_to_string(Path::new(&dir).join("stack")).unwrap_or_default();
    Some(TaskSample { state, stack: functions(&stack) })
}

/// `[<0>] name+0x12/0x34` -> `name`.
fn functions(stack: &str) -> Vec<String> {
    let name = |line: &str| {
        let name = line.split_once("] ")?.1.split(['+', ' ']).next()?;
        (!name.is_empty() && !name.starts_with("0x")).then(|| name.to_owned())
    };
    stack.lines().filter_map(name).collect()
}

/// How long the calling thread has been ready to run without a processor, in ns, since it began; 0
/// where the kernel does not count it.
#[must_use]
pub fn own_run_delay_ns() -> u64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|ns| ns.parse().ok()).unwrap_or(0)
}

/// Processor time that all living threads of a process have used, in ns; 0 where it has ended.
#[must_use]
pub fn cpu_ns(pid: u32) -> u64 {
    let of_thread = |(tid, _): (u32, String)| -> Option<u64> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok()
    };
    threads(pid).into_iter().filter_map(of_thread).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn a_waiting_thread_is_seen_where_it_waits() {
        let (told, id) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let thread = std::thread::Builder::new().name("waits-here".to_owned());
        let thread = thread
            .spawn(move || {
                let _ = told.send(thread_id());
                let _ = wait.recv();
            })
            .unwrap();
        let id = id.recv().unwrap();
        assert!(threads(std::process::id()).contains(&(id, "waits-here".to_owned())));
        let asleep = (0..1_000).find_map(|_| {
            crate::clock::sleep_ns(1_000_000);
            sample(id).filter(|sample| sample.state == 'S')
        });
        let asleep = asleep.expect("it waits");
        if crate::schedule::is_root() && Path::new("/proc/self/stack").exists() {
            assert!(asleep.stack.iter().any(|name| name.contains("futex")), "{asleep:?}");
        } else {
            println!("skipped: only root sees stacks, and not on every kernel");
        }
        drop(go);
        thread.join().unwrap();
        // A thread is joined as soon as it has left its memory; /proc may show it for a moment after.
        let gone = (0..1_000).any(|_| {
            crate::clock::sleep_ns(1_000_000);
            sample(id).is_none()
        });
        assert!(gone, "{:?}", sample(id));
        // Never less than before, and nothing of nobody.
        let before_ns = cpu_ns(std::process::id());
        assert!(cpu_ns(std::process::id()) >= before_ns);
        assert_eq!((cpu_ns(0), user_ns(0)), (0, 0));
        assert!(processes("no such process").is_empty());
    }

    /// Of a child, as an emulator of another processor answers for its own process, with zeros.
    #[test]
    fn work_in_user_space_is_counted() {
        let mut busy =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        // A tick or more of work.
        let counted = (0..30_000).any(|_| {
            crate::clock::sleep_ns(1_000_000);
            user_ns(busy.id()) > 0
        });
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert!(counted);
        assert_eq!(user_ns(busy.id()), 0, "it has ended");
    }

    #[test]
    fn a_wait_for_events_is_told_by_its_place_or_by_the_stack() {
        let stack = "[<0>] read_events+0x1/0x2\n[<0>] do_io_getevents+0x1/0x2\n";
        let none = || unreachable!("the place says it");
        assert!(waits_for_events("read_events", none));
        assert!(waits_for_events("io_cqring_wait.constprop.0", none));
        assert!(!waits_for_events("hrtimer_nanosleep", none));
        for place in ["0", ""] {
            assert!(waits_for_events(place, || stack.to_owned()));
            assert!(!waits_for_events(place, || "[<0>] ep_poll+0x1/0x2\n".to_owned()));
            assert!(!waits_for_events(place, String::new));
        }
    }

    #[test]
    fn any_text_gives_functions_or_none() {
        let text = "[<0>] folio_wait_bit_common+0x1/0x2\n[<0>] 0xffffffff\n\n[<0>] \nx\n[<0>] a b";
        assert_eq!(functions(text), ["folio_wait_bit_common", "a"]);
    }

    #[test]
    fn what_a_task_comes_from_is_found() {
        let own = i32::try_from(std::process::id()).unwrap();
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let of_child = i32::try_from(child.id()).unwrap();
        let thread = std::thread::spawn(|| i32::try_from(thread_id()).unwrap()).join().unwrap();
        let this = i32::try_from(thread_id()).unwrap();
        assert!(comes_from(this, &[own]) && comes_from(of_child, &[1, own]));
        assert!(comes_from(of_child, &[of_child]) && !comes_from(own, &[of_child]));
        // Of one that has ended nothing is known.
        assert!(!comes_from(thread, &[of_child]) && !comes_from(own, &[]));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
