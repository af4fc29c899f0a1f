//! What is said of tasks that hang, in English and as JSON.
//!
//! Each task has one sentence with what is known, who is behind it and how that is known, and a line with
//! what cannot be known from a stack.
//!
//! Invariant: one line stays one line, whatever names others gave. Held by
//! `names_of_others_move_no_cursor`.

use super::behind::{self, How, Link, Looked};
use super::log::KernelLog;
use super::{Task, When};
use crate::explain::Cause;
use baro_show::push_line;
use serde_json::{Value, json};
use std::fmt::Write;

/// Links of a chain that are followed.
const LINKS_MAX: usize = 8;

/// The report: the tasks that waited longest, `top` of them.
#[must_use]
pub fn describe(log: &KernelLog, top: usize) -> String {
    let mut text = String::new();
    let out = &mut text;
    let looked: Vec<Looked> = log.tasks.iter().map(Looked::of).collect();
    let order = order(&log.tasks);
    let (hung, all) = (order.iter().filter(|at| is_told(&log.tasks, **at)).count(), order.len());
    let kernel = log.kernel.as_ref().map_or(String::new(), |kernel| format!(" (Linux {kernel})"));
    let longest = if top < all { format!(", {top} of them:") } else { String::new() };
    push_line(
        out,
        format_args!(
            "{all} tasks that hang in {} lines of the kernel's log{kernel}, {hung} told by it as hung{longest}",
            log.lines
        ),
    );
    for at in order.iter().take(top) {
        let Some(task) = log.tasks.get(*at) else { continue };
        push_line(out, format_args!(""));
        push_line(out, format_args!("{}", sentence(&log.tasks, &looked, *at, &long(task))));
        for line in details(&log.tasks, &looked, *at) {
            push_line(out, format_args!("  {line}"));
        }
        push_line(out, format_args!("  stack: {}", stack(task)));
    }
    for note in notes(log) {
        push_line(out, format_args!("note: {note}"));
    }
    text
}

/// The same as JSON.
#[must_use]
pub fn to_json(log: &KernelLog, top: usize) -> Value {
    let looked: Vec<Looked> = log.tasks.iter().map(Looked::of).collect();
    let one = |at: &usize| task_json(&log.tasks, &looked, *at);
    let tasks: Vec<Value> = order(&log.tasks).iter().take(top).filter_map(one).collect();
    json!({
        "kernel": log.kernel,
        "lines": log.lines,
        "hung_tasks": log.tasks.len(),
        "tasks": tasks,
        "left_out": log.left_out,
        "notes": notes(log),
    })
}

/// The tasks, those that waited longest first; those without a time as they were told.
fn order(tasks: &[Task]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(tasks.get(*at).and_then(|task| task.waited_s)));
    order
}

fn is_told(tasks: &[Task], at: usize) -> bool {
    tasks.get(at).is_some_and(|task| task.waited_s.is_some())
}

fn who(task: &Task) -> String {
    let name = if task.who.name.is_empty() { "a task" } else { &task.who.name };
    let work = task.work.as_ref().map_or(String::new(), |work| format!(", a worker at {work}"));
    format!("{name} (pid {}{work})", task.who.pid)
}

/// What a task waits for, by its stack.
fn waits_for(look: &Looked) -> String {
    let place = look.function.as_ref().map_or(String::new(), |name| format!(" ({name})"));
    match look.cause {
        Some(cause) => format!("{}{place}", cause.phrase()),
        None if look.function.is_some() => format!("{}{place}", Cause::Other.phrase()),
        None => "something that its stack does not tell".to_owned(),
    }
}

/// A stack in one line.
pub(super) fn stack(task: &Task) -> String {
    let names: Vec<&str> = task.functions().map(|name| name.unwrap_or("?")).collect();
    names.join(" < ")
}

/// How long a task of the log waits.
fn long(task: &Task) -> String {
    match task.waited_s {
        Some(waited_s) => format!("had waited for at least {waited_s} s and had not ended"),
        None => "was waiting".to_owned(),
    }
}

/// The chain in one sentence: what it is in, how long, for what, and who is behind that.
pub(super) fn sentence(tasks: &[Task], looked: &[Looked], at: usize, long: &str) -> String {
    let (Some(task), Some(look)) = (tasks.get(at), looked.get(at)) else { return String::new() };
    let call = look.call.as_deref().map_or(String::new(), |call| match call {
        "page fault" | "io_uring" => format!("{call} of "),
        _ => format!("{call}() of "),
    });
    let mut text = format!("{call}{} {long}: for {}", who(task), waits_for(look));
    let mut seen = vec![at];
    let mut now = at;
    while seen.len() < LINKS_MAX {
        let links = behind::of(tasks, looked, now);
        // Where several may be meant, the sentence ends.
        let [Link { index, how, .. }] = links.as_slice() else { break };
        if seen.contains(index) || *how == How::Possible {
            break;
        }
        let (Some(task), Some(look)) = (tasks.get(*index), looked.get(*index)) else { break };
        let glue = if *how == How::Told { "behind it" } else { "behind it, it seems," };
        let _ = write!(text, "; {glue} {}, which waits for {}", who(task), waits_for(look));
        seen.push(*index);
        now = *index;
    }
    text
}

/// When it was told, since when it waits at least, who is behind it and how that is known, and what is not.
fn details(tasks: &[Task], looked: &[Looked], at: usize) -> Vec<String> {
    let (Some(task), Some(look)) = (tasks.get(at), looked.get(at)) else { return Vec::new() };
    let mut lines = Vec::new();
    let mut when = format!("told {}", at_time(&task.first));
    if task.times > 1 {
        let _ = write!(when, ", {} times, the last {}", task.times, at_time(&task.last));
    }
    if let Some(since_us) = since_us(task) {
        let _ = write!(when, "; so it waits since {} after the start or before", seconds(since_us));
    }
    lines.push(when);
    if look.layers.len() > 1 {
        let layers: Vec<String> = look
            .layers
            .iter()
            .map(|(cause, name)| format!("{} ({name})", cause.phrase()))
            .collect();
        lines.push(format!("by its stack: for {}", layers.join(", that is for ")));
    }
    lines.extend(behind_lines(tasks, looked, at));
    lines
}

/// Who is behind a task and how that is known, and what is not.
pub(super) fn behind_lines(tasks: &[Task], looked: &[Looked], at: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for link in behind::of(tasks, looked, at) {
        let Some(other) = tasks.get(link.index) else { continue };
        let how = match link.how {
            How::Told => "behind it",
            How::OnlyOne => "behind it, as the only one listed",
            How::Possible => "possibly behind it",
        };
        lines.push(format!("{how}: {}: {}", who(other), link.because));
    }
    lines.push(format!("not known: {}", unknown(tasks, looked, at).join("; ")));
    lines
}

/// What cannot be said of a task from what was told.
fn unknown(tasks: &[Task], looked: &[Looked], at: usize) -> Vec<String> {
    let (Some(task), Some(look)) = (tasks.get(at), looked.get(at)) else { return Vec::new() };
    let mut unknown = vec!["when it ended".to_owned()];
    if task.waited_s.is_none() {
        unknown.push("since when it waits".to_owned());
    }
    if task.frames.is_empty() {
        unknown.push("what it waits for: no stack was told of it".to_owned());
        return unknown;
    }
    let links = behind::of(tasks, looked, at);
    let is_known = links.iter().any(|link| link.how != How::Possible);
    match look.cause {
        None => {
            unknown.push("what it waits for: no function of its stack is in the table".to_owned())
        }
        Some(Cause::Freeze) => unknown.push("who froze the file system".to_owned()),
        Some(cause) if cause.is_lock() && !is_known => match &task.owner {
            Some(owner) => match &owner.who {
                Some(who) => unknown.push(format!(
                    "what the lock's likely owner, {} (pid {}), does: it is not listed",
                    who.name, who.pid
                )),
                None => {
                    unknown.push(format!("who holds the {}: the kernel found no owner", owner.lock))
                }
            },
            None => unknown.push("who holds the lock".to_owned()),
        },
        Some(cause) if cause.is_io() => {
            unknown.push("which device and whether it answers".to_owned())
        }
        Some(_) if !is_known => unknown.push("who is behind it".to_owned()),
        Some(_) => {}
    }
    if look.call.is_some() {
        unknown.push("which file".to_owned());
    }
    unknown
}

/// What makes the answer less certain.
fn notes(log: &KernelLog) -> Vec<String> {
    let mut notes = Vec::new();
    if log.left_out > 0 {
        notes.push(format!("{} more tasks hang than are kept", log.left_out));
    }
    if log.tasks.is_empty() {
        notes.push(
            "no report of a hung task and no dump of tasks is in it: the kernel reports what waits 120 s \
             (kernel.hung_task_timeout_secs); echo w > /proc/sysrq-trigger dumps what hangs now"
                .to_owned(),
        );
    }
    if log.is_cut {
        notes.push(
            "the kernel has stopped telling of hung tasks (kernel.hung_task_warnings): later ones are missing"
                .to_owned(),
        );
    }
    if log.tasks.iter().any(|task| task.frames.iter().all(|frame| !frame.is_sure)) {
        notes.push("of some stacks the kernel was sure of no function".to_owned());
    }
    notes
}

/// Since when a task waits at least, in microseconds after the machine's start.
fn since_us(task: &Task) -> Option<u64> {
    task.last.boot_us?.checked_sub(task.waited_s?.checked_mul(1_000_000)?)
}

fn at_time(when: &When) -> String {
    match (when.boot_us, &when.wall) {
        (Some(us), None) => format!("{} after the start", seconds(us)),
        (Some(us), Some(wall)) => format!("{wall} ({} after the start)", seconds(us)),
        (None, Some(wall)) => wall.clone(),
        (None, None) => "at a time that is not in it".to_owned(),
    }
}

fn seconds(us: u64) -> String {
    format!("{}.{:03} s", us / 1_000_000, us / 1_000 % 1_000)
}

fn task_json(tasks: &[Task], looked: &[Looked], at: usize) -> Option<Value> {
    let task = tasks.get(at)?;
    let mut found = known_json(tasks, looked, at, &long(task));
    let more = json!({
        "waited_s": task.waited_s,
        "since_boot_us_max": since_us(task),
        "told_boot_us": task.first.boot_us,
        "told_at": task.first.wall,
        "told_last_boot_us": task.last.boot_us,
        "told_last_at": task.last.wall,
        "times": task.times,
        "start": task.start,
    });
    if let (Some(found), Value::Object(more)) = (found.as_object_mut(), more) {
        found.extend(more);
    }
    Some(found)
}

/// What is known of a task beside times; `long` is how long it waits, for the sentence.
pub(super) fn known_json(tasks: &[Task], looked: &[Looked], at: usize, long: &str) -> Value {
    let (Some(task), Some(look)) = (tasks.get(at), looked.get(at)) else { return Value::Null };
    let behind: Vec<Value> = behind::of(tasks, looked, at)
        .iter()
        .filter_map(|link| {
            let other = tasks.get(link.index)?;
            Some(json!({
                "pid": other.who.pid,
                "comm": other.who.name,
                "how": link.how.name(),
                "because": link.because,
            }))
        })
        .collect();
    let layers: Vec<Value> = look
        .layers
        .iter()
        .map(|(cause, name)| json!({"cause": cause.name(), "waits_for": cause.phrase(), "where": name}))
        .collect();
    let stack: Vec<Value> = task
        .frames
        .iter()
        .map(|frame| json!({"function": frame.function, "is_sure": frame.is_sure}))
        .collect();
    let owner = task.owner.as_ref().map(|owner| {
        json!({
            "lock": owner.lock,
            "pid": owner.who.as_ref().map(|who| who.pid),
            "comm": owner.who.as_ref().map(|who| &who.name),
        })
    });
    json!({
        "pid": task.who.pid,
        "comm": task.who.name,
        "state": task.state.map(String::from),
        "call": look.call,
        "work": task.work,
        "cause": look.cause.unwrap_or(Cause::Unknown).name(),
        "where": look.function,
        "layers": layers,
        "owner": owner,
        "behind": behind,
        "unknown": unknown(tasks, looked, at),
        "sentence": sentence(tasks, looked, at, long),
        "stack": stack,
    })
}
