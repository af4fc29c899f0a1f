//! The tracks of one task: calls, syncs, handles and waits, one in the other.

use super::packet::{Arg, Event, Kind, Packets, Track};
use crate::render::View;
use crate::render::lanes::Nest;
use crate::render::text::wait_kind;
use crate::timeline::{Context, Task, Wait};
use std::cmp::Reverse;
use std::io;

/// Tracks of one task; spans of a task hardly ever cut each other.
const ROWS_MAX: usize = 32;

/// A span of a task, by its index in the list of its kind. Of spans with the same bounds, the kinds
/// further up hold those further down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Call(usize),
    Sync(usize),
    HandleWait(usize),
    Handle(usize),
    Reclaim(usize),
    Wait(usize),
    /// The end of a wait: it was woken, but did not run yet.
    Woken(usize),
}

#[derive(Clone, Copy, Debug)]
struct Span {
    begin_ns: u64,
    /// `OPEN` if it had not ended.
    end_ns: u64,
    what: What,
}

/// The end of what had not ended.
const OPEN: u64 = u64::MAX;

/// What is said of a span.
struct Said {
    name: String,
    category: &'static str,
    args: Vec<(&'static str, Arg)>,
}

fn thread(pid: i32) -> Track {
    Track { kind: Kind::Thread, id: pid.cast_unsigned(), row: 0 }
}

/// Whether a task has tracks.
fn is_shown(task: &Task) -> bool {
    !(task.calls.is_empty()
        && task.waits.is_empty()
        && task.handles.is_empty()
        && task.syncs.is_empty()
        && task.reclaims.is_empty()
        && task.throttles.is_empty())
}

/// Tells the reader of the tracks of a task; arrows of others may come before its own spans.
pub(super) fn describe(
    view: &View<'_>,
    pid: i32,
    task: &Task,
    packets: &mut Packets<'_>,
) -> io::Result<()> {
    if !is_shown(task) {
        return Ok(());
    }
    let process = Track { kind: Kind::Process, ..thread(pid) };
    packets.task(process, thread(pid), &view.task_name(pid))
}

pub(super) fn write(
    view: &View<'_>,
    pid: i32,
    task: &Task,
    packets: &mut Packets<'_>,
) -> io::Result<()> {
    let track = |row: usize| match row {
        0 => thread(pid),
        row => Track { kind: Kind::ThreadRow, id: pid.cast_unsigned(), row: row as u32 },
    };
    let mut nest = Nest::new(ROWS_MAX);
    let mut rows = 1;
    for span in spans(task) {
        let mut closed: Vec<u64> = Vec::new();
        let bounds = (span.begin_ns, span.end_ns);
        let row = nest.place(bounds, |end_ns| closed.push(end_ns));
        let on = track(row.unwrap_or(0));
        if row.is_some_and(|row| row >= rows) {
            packets.track(on, Some(thread(pid)), "spans that cut others")?;
            rows += 1;
        }
        for end_ns in closed {
            packets.end(on, end_ns)?;
        }
        let mut said = say(view, task, span.what);
        let last_flow = match span.what {
            What::Woken(index) => wakes(view, pid, task.waits.get(index), packets)?,
            _ => None,
        };
        if row.is_none() {
            said.args.push(("duration_ns", Arg::Uint(span.end_ns - span.begin_ns)));
        }
        let event = Event {
            name: &said.name,
            category: said.category,
            args: &said.args,
            flows: &[],
            last_flow,
        };
        match row {
            Some(_) => packets.begin(on, span.begin_ns, &event)?,
            None => packets.instant(on, span.begin_ns, &event)?,
        }
    }
    for (row, end_ns) in nest.finish().filter(|(_, end_ns)| *end_ns != OPEN) {
        packets.end(track(row), end_ns)?;
    }
    throttles(pid, task, packets)
}

/// All spans in the order in which they are placed.
fn spans(task: &Task) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut add = |begin_ns: u64, end_ns: Option<u64>, what| {
        // Readers count in int64: a time beyond that is one at its end, but not open.
        let begin_ns = begin_ns.min(i64::MAX as u64);
        let end_ns = end_ns.map_or(OPEN, |end_ns| end_ns.clamp(begin_ns, i64::MAX as u64));
        spans.push(Span { begin_ns, end_ns, what });
    };
    for (index, call) in task.calls.iter().enumerate() {
        add(call.begin_ns, call.end_ns, What::Call(index));
    }
    for (index, sync) in task.syncs.iter().enumerate() {
        add(sync.begin_ns, sync.end_ns, What::Sync(index));
    }
    for (index, handle) in task.handles.iter().enumerate() {
        if let Some(asked_ns) = handle.asked_ns {
            add(asked_ns, Some(handle.begin_ns), What::HandleWait(index));
        }
        add(handle.begin_ns, handle.end_ns, What::Handle(index));
    }
    for (index, (begin_ns, end_ns)) in task.reclaims.iter().enumerate() {
        add(*begin_ns, Some(*end_ns), What::Reclaim(index));
    }
    for (index, wait) in task.waits.iter().enumerate() {
        add(wait.begin_ns, wait.end_ns, What::Wait(index));
        if let Some(woken_ns) = wait.woken_ns {
            let woken_ns =
                woken_ns.clamp(wait.begin_ns, wait.end_ns.unwrap_or(OPEN).max(wait.begin_ns));
            add(woken_ns, wait.end_ns, What::Woken(index));
        }
    }
    spans.sort_by_key(|span| (span.begin_ns, Reverse(span.end_ns), span.what));
    spans
}

fn say(view: &View<'_>, task: &Task, what: What) -> Said {
    let said = |name: String, category, args| Said { name, category, args };
    let told = match what {
        What::Call(index) => task.calls.get(index).map(|call| {
            let mut args =
                vec![("number", Arg::Int(call.number)), ("returned", Arg::Int(call.ret))];
            // Of calls without events of their own they are not known, and 0.
            if call.args != [0; 6] {
                let given: Vec<String> = call.args.iter().map(|arg| format!("{arg:#x}")).collect();
                args.push(("arguments", Arg::Text(given.join(" "))));
            }
            said(view.call_name(call.number), "call", args)
        }),
        What::Sync(index) => task.syncs.get(index).map(|sync| {
            let name = if sync.data_only { "fdatasync in ext4" } else { "fsync in ext4" };
            let device = Arg::Text(view.device_name(sync.device));
            said(name.to_owned(), "sync", vec![("device", device), ("inode", Arg::Uint(sync.ino))])
        }),
        What::HandleWait(index) => task.handles.get(index).map(|handle| {
            let args = vec![
                ("device", Arg::Text(view.device_name(handle.device))),
                ("blocks", Arg::Int(handle.requested_blocks.into())),
            ];
            said(format!("waits for a handle of transaction {}", handle.tid), "handle", args)
        }),
        What::Handle(index) => task.handles.get(index).map(|handle| {
            let args = vec![
                ("device", Arg::Text(view.device_name(handle.device))),
                ("kind", Arg::Uint(handle.kind.into())),
                ("requested_blocks", Arg::Int(handle.requested_blocks.into())),
                ("dirtied_blocks", Arg::Int(handle.dirtied_blocks.into())),
                ("sync", Arg::from(if handle.sync { "yes" } else { "no" })),
            ];
            said(format!("handle of transaction {}", handle.tid), "handle", args)
        }),
        What::Reclaim(_) => Some(said("looks for free memory".to_owned(), "reclaim", vec![])),
        What::Wait(index) => task.waits.get(index).map(|wait| say_wait(view, wait)),
        What::Woken(index) => task.waits.get(index).map(|wait| {
            let args = wait.waker.map(|waker| vec![("by", Arg::Text(waker_name(view, waker)))]);
            said("woken, waits for a processor".to_owned(), "wait", args.unwrap_or_default())
        }),
    };
    told.unwrap_or_else(|| said(String::new(), "", vec![]))
}

fn say_wait(view: &View<'_>, wait: &Wait) -> Said {
    let kind = wait_kind(wait.kind);
    let place = wait.stack.and_then(|stack| view.names.place(stack));
    let name = match place {
        Some(place) => format!("{kind}: {place}"),
        None => kind.to_owned(),
    };
    let mut args = vec![("kind", Arg::from(kind))];
    if let Some(stack) = wait.stack {
        let addresses = view.line.stacks.get(stack).iter().map(|address| format!("{address:x}"));
        args.push(("stack", Arg::Text(addresses.collect::<Vec<_>>().join(" "))));
    }
    Said { name, category: "wait", args }
}

fn waker_name(view: &View<'_>, waker: crate::timeline::Waker) -> String {
    match waker.context {
        Context::Task => format!("{} {}", view.task_name(waker.pid), waker.pid),
        Context::SoftInterrupt => "a soft interrupt".to_owned(),
        Context::Interrupt => "an interrupt".to_owned(),
    }
}

/// An arrow from the task that woke this one, if a task did that has a track; its number.
fn wakes(
    view: &View<'_>,
    pid: i32,
    wait: Option<&Wait>,
    packets: &mut Packets<'_>,
) -> io::Result<Option<u64>> {
    let Some((waker, woken_ns)) = wait.and_then(|wait| Some((wait.waker?, wait.woken_ns?))) else {
        return Ok(None);
    };
    let of = view.line.tasks.get(&waker.pid);
    if waker.context != Context::Task || waker.pid == pid || !of.is_some_and(is_shown) {
        return Ok(None);
    }
    let flow = packets.flow();
    let name = format!("wakes {} {pid}", view.task_name(pid));
    let event = Event { name: &name, category: "wake", flows: &[flow], ..Event::default() };
    packets.instant(thread(waker.pid), woken_ns, &event)?;
    Ok(Some(flow))
}

/// Sleeps that the kernel ordered; instants, as the sleep itself is among the waits.
fn throttles(pid: i32, task: &Task, packets: &mut Packets<'_>) -> io::Result<()> {
    for throttle in &task.throttles {
        let args = [
            ("bdi", Arg::Text(throttle.bdi.to_string())),
            ("pause_ms", Arg::Uint(throttle.pause_ms)),
            ("dirty_pages", Arg::Uint(throttle.dirty)),
            ("limit_pages", Arg::Uint(throttle.limit)),
            ("setpoint_pages", Arg::Uint(throttle.setpoint)),
            ("device_dirty_pages", Arg::Uint(throttle.device_dirty)),
            ("task_rate_kbs", Arg::Uint(throttle.task_rate_kbs)),
            ("device_rate_kbs", Arg::Uint(throttle.device_rate_kbs)),
        ];
        let name = "must sleep: too much is dirty";
        let event = Event { name, category: "throttle", args: &args, ..Event::default() };
        packets.instant(thread(pid), throttle.begin_ns, &event)?;
    }
    Ok(())
}
