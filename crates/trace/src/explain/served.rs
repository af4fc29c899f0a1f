//! I/O that a program or a server does, and no disk of this machine.
//!
//! A wait for the page cache looks alike whatever file system it is of: the kernel leaves the caller of a read out
//! of the stack where its last step is that call. Who ended the wait tells. A disk ends its requests in an interrupt,
//! or in a task of the kernel; a program that is a file system (FUSE) ends them in a call of its own, and so does
//! who held what was waited for.
//!
//! Invariant: I/O that a task of a program ended is told with that task, and not with a disk that others kept busy.
//! Held by `io_that_a_program_ended_is_told_with_it`.

use super::chain::{Span, Walk, add, node};
use super::io::By;
use super::{Cause, Knowledge, Node};
use crate::timeline::{Context, Wait, Waker};

/// Calls that end a sleep of another by a signal: what was waited for did not come.
const SIGNALS: &[&str] = &[
    "kill",
    "tkill",
    "tgkill",
    "pidfd_send_signal",
    "rt_sigqueueinfo",
    "rt_tgsigqueueinfo",
    "exit_group",
];

impl Knowledge {
    /// Whether a task is one of a program, as it has made calls.
    fn makes_calls(&self, by: Waker) -> bool {
        let Some(task) = self.line.tasks.get(&by.pid).filter(|_| !self.is_kernels(by.pid)) else {
            return false;
        };
        by.call.is_some() || !task.calls.is_empty() || !task.call_counts.is_empty()
    }

    /// Whether a task, or the process that it is a thread of, was seen to take requests as a file system.
    fn is_file_system(&self, pid: i32) -> bool {
        let process = self.line.tasks.get(&pid).and_then(|task| task.parent);
        self.file_systems.contains(&pid)
            || process.is_some_and(|one| self.file_systems.contains(&one))
    }
}

impl Walk<'_> {
    /// The task of a program that ended a sleep for I/O, unless a request of the waiter's own ended then.
    pub(super) fn server(&self, one: &Node, wait: &Wait, span: Span) -> Option<Waker> {
        let is_task = |by: &Waker| by.context == Context::Task && by.pid > 0 && by.pid != one.pid;
        let by = wait.waker.filter(is_task).filter(|by| self.known.makes_calls(*by))?;
        // A place in a queue is given back by whoever has not used it.
        let is_signal = || self.call_of_waker(by, span).is_some_and(|call| SIGNALS.contains(&call));
        if one.cause == Cause::Tags || is_signal() {
            return None;
        }
        let found = self.disk(one.pid, span, wait, (one.cause, None));
        let ended = found.and_then(|found| found.work.ended);
        let is_own = ended.is_some_and(|ended| ended.fits && ended.by == By::Waiter);
        (!is_own).then_some(by)
    }

    /// A task of a program ended a sleep for I/O: it is a file system if that was seen, or had what was waited for.
    pub(super) fn ended_by_program(&mut self, one: &mut Node, by: Waker, wait: &Wait, span: Span) {
        let answers = |ask: &crate::timeline::Ask| ask.answered_by == Some(by.pid);
        let task = self.known.line.tasks.get(&one.pid);
        let is_answer = task.and_then(|task| task.asked(span.begin_ns)).is_some_and(answers);
        let evidence = self.told_waker(by, wait, span);
        let children = self.of_another(by.pid, span);
        if !is_answer && !self.known.is_file_system(by.pid) {
            add(&mut one.evidence, &evidence);
            one.children = children;
            return;
        }
        let mut daemon = node(one.pid, Cause::Daemon, "", span, evidence);
        (daemon.detail, daemon.children) = (Some("fuse"), children);
        one.children.push(daemon);
    }

    /// What is waited for is a program's or a server's, as the stack says: who answered is told, and of a program
    /// what it did. Where the server is nothing here tells.
    pub(super) fn served(&mut self, one: &mut Node, wait: &Wait, span: Span) {
        match wait.waker {
            Some(by) if by.context == Context::Task && by.pid > 0 => {
                let evidence = self.told_waker(by, wait, span);
                add(&mut one.evidence, &evidence);
                if !self.is_worker(by.pid) {
                    one.children = self.of_another(by.pid, span);
                }
            }
            Some(_) => add(&mut one.evidence, "ended by an interrupt"),
            None if wait.end_ns.is_none() => add(&mut one.evidence, "it has not been answered"),
            None => add(&mut one.evidence, "who answered was not recorded"),
        }
    }

    /// The last call of a task is told only if it was in it still.
    fn told_waker(&self, by: Waker, wait: &Wait, span: Span) -> String {
        let is_in = |woken_ns: u64| {
            let calls = self.known.line.tasks.get(&by.pid).map_or(&[][..], |task| &task.calls);
            let after = calls.partition_point(|call| call.begin_ns <= woken_ns);
            let last = after.checked_sub(1).and_then(|last| calls.get(last));
            last.is_some_and(|last| last.end_ns.is_none_or(|end_ns| end_ns >= woken_ns))
        };
        let is_known = by.call.is_some() || wait.woken_ns.is_none_or(is_in);
        let call = self.call_of_waker(by, span).filter(|_| is_known);
        let call = call.map_or(String::new(), |call| format!(" in {call}()"));
        format!("ended by {}{call}", self.known.who(by.pid))
    }
}
