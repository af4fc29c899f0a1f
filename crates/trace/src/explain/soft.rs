//! Sleeps that signals may end, stops, and freezes: what ended them says what they were for.
//!
//! Most of these sleeps are no delay: a program waits for its next order. In a call that asks for a
//! lock of a file, or for I/O that was given to the kernel before, they are; what the call is, is
//! an event, and so is who ended the sleep.
//!
//! Invariant: a sleep without a stack is told by its call and its waker only, and no disk is looked for
//! where the call asks for none. Held by `sleeps_that_signals_end_are_told_by_call_and_waker`.

use super::chain::{Span, Walk, add, node};
use super::place::Place;
use super::{Cause, Evidence, Knowledge, Node};
use crate::timeline::{Context, Wait, Waker};

/// Numbers of `ioctl` that freeze and thaw (include/uapi/linux/fs.h).
pub(super) const FREEZES: u64 = 0xc004_5877;
pub(super) const THAWS: u64 = 0xc004_5878;

/// Calls that wait for what was given to the kernel before.
pub(crate) const ASYNCHRONOUS: &[&str] =
    &["io_uring_enter", "io_getevents", "io_pgetevents", "io_pgetevents_time64"];
/// Calls that wait for a lock of a file.
pub(crate) const FILE_LOCKS: &[&str] = &["flock", "fcntl", "fcntl64"];
/// Calls that wait for another to give up his lease of a file.
pub(super) const LEASED: &[&str] = &["open", "openat", "openat2", "creat", "truncate"];
/// Calls by which a lease is given up. Who waits for the other end of a pipe is woken by its open.
const GIVES_UP: &[&str] = &["fcntl", "fcntl64", "close", "close_range", "exit_group"];
/// Workers of io_uring: threads of the program that they work for, and until Linux 5.11 of the kernel
/// (commit 3bfe6106693b).
const URING_WORKERS: [&[u8]; 2] = [b"iou-wrk", b"io_wqe_worker"];
/// Calls that wait for a time.
const SLEEPS: &[&str] = &["nanosleep", "clock_nanosleep", "clock_nanosleep_time64"];

impl Knowledge {
    /// Whether a task is a worker of io_uring.
    pub(super) fn is_uring_worker(&self, pid: i32) -> bool {
        let is_one = |name: &[u8]| URING_WORKERS.iter().any(|begin| name.starts_with(begin));
        self.line.task_name(pid).is_some_and(|name| is_one(name.as_bytes()))
    }
}

impl Walk<'_> {
    /// A sleep that signals may end, and whose stack says nothing.
    pub(super) fn soft_sleep(&mut self, pid: i32, wait: &Wait, place: &Place, span: Span) -> Node {
        let call = self.call_of(pid, span.begin_ns);
        let name = call.unwrap_or_default();
        let function = place.innermost.clone().unwrap_or_else(|| name.to_owned());
        let known_by = if wait.stack.is_some() { Evidence::Stack } else { Evidence::Event };
        let mut one = node(pid, Cause::Other, &function, span, String::new());
        one.stack = wait.stack;
        one.known_by = known_by;
        if let Some(daemon) =
            self.known.line.tasks.get(&pid).and_then(|task| task.asked(span.begin_ns))
        {
            (one.cause, one.detail, one.place) = (Cause::Daemon, Some("fuse"), function);
            let by = wait.waker.filter(|by| by.context == Context::Task).map(|by| by.pid);
            if let Some(by) = daemon.answered_by.or(by).filter(|by| *by > 0) {
                add(&mut one.evidence, &format!("answered by {}", self.known.who(by)));
                one.children = self.of_another(by, span);
            }
            return one;
        }
        if ASYNCHRONOUS.contains(&name) {
            one.cause = Cause::DirectIo;
            one.detail = Some(if name == "io_uring_enter" { "io_uring" } else { "aio" });
            self.asynchronous(&mut one, wait, span);
            return one;
        }
        if FILE_LOCKS.contains(&name) {
            (one.cause, one.detail) = (Cause::Lock, Some("file_lock"));
        } else if LEASED.contains(&name) && self.gave_up_lease(wait, span) {
            (one.cause, one.detail) = (Cause::Lock, Some("lease"));
        } else if SLEEPS.contains(&name) {
            one.cause = Cause::Timer;
            return one;
        }
        self.ended_by(&mut one, wait, span);
        one
    }

    /// The call in which a task ended a sleep: as it was recorded, else the last that it is known to have made.
    pub(super) fn call_of_waker(&self, by: Waker, span: Span) -> Option<&'static str> {
        match by.call {
            Some(number) => crate::calls::name(self.known.arch.as_deref(), number),
            None => self.call_of(by.pid, span.end_ns),
        }
    }

    /// Whether the task that ended a sleep did so by giving something up that it had of a file.
    pub(super) fn gave_up_lease(&self, wait: &Wait, span: Span) -> bool {
        let by = wait.waker.filter(|by| by.context == Context::Task && by.pid > 0);
        by.and_then(|by| self.call_of_waker(by, span)).is_some_and(|call| GIVES_UP.contains(&call))
    }

    /// What was given to the kernel before is done by a worker of the task's own, or by a disk.
    pub(super) fn asynchronous(&mut self, one: &mut Node, wait: &Wait, span: Span) {
        let by_task = wait.waker.is_some_and(|by| self.known.is_uring_worker(by.pid));
        if !by_task && let Some(done) = self.io_that_ended(one.pid, span, wait, (one.cause, None)) {
            one.children.push(done);
            return;
        }
        self.ended_by(one, wait, span);
        if one.children.is_empty() {
            one.known_by = Evidence::Absence;
        }
    }

    /// Who ended a sleep had what was waited for.
    fn ended_by(&mut self, one: &mut Node, wait: &Wait, span: Span) {
        match wait.waker {
            Some(by) if by.context == Context::Task && by.pid > 0 => {
                let had = if one.cause.is_lock() { "held by" } else { "ended by" };
                let call = self.call_of_waker(by, span);
                let call = call.map_or(String::new(), |call| format!(" in {call}()"));
                add(&mut one.evidence, &format!("{had} {}{call}", self.known.who(by.pid)));
                one.children = self.of_another(by.pid, span);
            }
            Some(_) => add(&mut one.evidence, "ended by an interrupt: of what was not recorded"),
            None if wait.end_ns.is_none() => add(&mut one.evidence, "it has not ended"),
            None => add(&mut one.evidence, "who ended it was not recorded"),
        }
    }

    /// A task was stopped.
    pub(super) fn stopped(&self, pid: i32, wait: &Wait, span: Span) -> Node {
        let place = self.known.place(wait.stack).cloned().unwrap_or_default();
        let layer = place.layers.iter().find(|layer| layer.cause == Cause::Stopped);
        let function = layer.map_or_else(String::new, |layer| layer.function.clone());
        let mut one = node(pid, Cause::Stopped, &function, span, String::new());
        one.stack = wait.stack;
        one.detail = match function.as_str() {
            "ptrace_stop" => Some("debugger"),
            "__refrigerator" | "do_freezer_trap" | "do_jobctl_trap" => Some("freezer"),
            _ => Some("signal"),
        };
        self.continued(&mut one, wait);
        one
    }

    /// Who let a stopped task go on.
    pub(super) fn continued(&self, one: &mut Node, wait: &Wait) {
        match wait.waker {
            Some(by) if by.context == Context::Task && by.pid > 0 => {
                add(&mut one.evidence, &format!("{} let it go on", self.known.who(by.pid)));
            }
            _ if wait.end_ns.is_none() => add(&mut one.evidence, "it has not gone on"),
            _ => {}
        }
    }

    /// A frozen file system: who froze it, if it can be no other, and who thawed it. What the latter did in
    /// the meantime explains nothing.
    pub(super) fn frozen(&self, one: &mut Node, wait: &Wait, span: Span) {
        match self.known.index.freezer(span.begin_ns) {
            Some((at_ns, pid)) => {
                let before = baro_show::duration(span.begin_ns.saturating_sub(at_ns));
                add(
                    &mut one.evidence,
                    &format!("frozen by {} {before} before", self.known.who(pid)),
                );
            }
            None => add(&mut one.evidence, "who froze it is not known"),
        }
        match wait.waker {
            Some(by) if by.context == Context::Task && by.pid > 0 => {
                add(&mut one.evidence, &format!("thawed by {}", self.known.who(by.pid)));
            }
            _ if wait.end_ns.is_none() => add(&mut one.evidence, "it is frozen still"),
            _ => {}
        }
    }
}
