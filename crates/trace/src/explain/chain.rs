//! From a wait to what is behind it.
//!
//! [`Walk::waits`] takes apart the time of one task; each wait becomes a node for every layer of its
//! stack, and the innermost is followed to another task or to a disk for the same time.

use super::place::Place;
use super::{Cause, Evidence, Knowledge, Node};
use crate::record::Device;
use crate::timeline::{Context, Handle, Stage, Wait, WaitKind};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Links that a chain has at most: longer ones are cut, which costs no time that is counted.
const DEPTH_MAX: usize = 10;
/// Steps of making a node; one looked-at span is one.
const NODE_STEPS: u64 = 16;
/// Times shorter than this are not looked into.
const SHORT_NS: u64 = 20_000;

/// Follows waits of one call.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    pub(super) known: &'a Knowledge,
    /// Tasks on the way, so that none is followed into itself.
    pub(super) path: Vec<i32>,
    steps: &'a Steps,
}

/// What explaining has cost, and may cost: what is behind a wait can be all of the trace, for each of
/// its waits again.
#[derive(Debug)]
pub(super) struct Steps {
    done: Cell<u64>,
    most: u64,
}

impl Steps {
    pub(super) fn new(most: u64) -> Self {
        Self { done: Cell::new(0), most }
    }

    pub(super) fn add(&self, steps: u64) {
        self.done.set(self.done.get().saturating_add(steps));
    }

    pub(super) fn done(&self) -> u64 {
        self.done.get()
    }

    /// Whether no more is to be looked into.
    pub(super) fn over(&self) -> bool {
        self.done.get() > self.most
    }
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) begin_ns: u64,
    pub(super) end_ns: u64,
}

impl Span {
    pub(super) fn ns(self) -> u64 {
        self.end_ns.saturating_sub(self.begin_ns)
    }

    pub(super) fn within(self, other: Span) -> Span {
        let begin_ns = self.begin_ns.clamp(other.begin_ns, other.end_ns.max(other.begin_ns));
        Span { begin_ns, end_ns: self.end_ns.min(other.end_ns).max(begin_ns) }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn new(known: &'a Knowledge, steps: &'a Steps) -> Self {
        Self { known, path: Vec::new(), steps }
    }

    /// One more of a task's own links; false if there are enough.
    pub(super) fn enter(&mut self, pid: i32) -> bool {
        let has_room = self.path.len() < DEPTH_MAX;
        if has_room {
            self.path.push(pid);
        }
        has_room
    }

    pub(super) fn leave(&mut self) {
        self.path.pop();
    }

    /// Counts spans that are looked at.
    pub(super) fn looked(&self, spans: u64) {
        self.steps.add(spans);
    }

    /// What a task waited for within a time, alike waits together, the longest first.
    pub(super) fn waits(&mut self, pid: i32, span: Span) -> Vec<Node> {
        let mut nodes = Vec::new();
        if pid == 0 || self.path.len() >= DEPTH_MAX || self.path.contains(&pid) {
            return nodes;
        }
        let Some(task) = self.known.line.tasks.get(&pid) else { return nodes };
        self.path.push(pid);
        let end_ns = self.known.line.end_ns;
        let is_worker = self.is_worker(pid);
        let from =
            task.waits.partition_point(|wait| wait.end_ns.unwrap_or(end_ns) <= span.begin_ns);
        for wait in task.waits.iter().skip(from).take_while(|wait| wait.begin_ns < span.end_ns) {
            self.looked(1);
            if self.steps.over() {
                break;
            }
            // A worker of the kernel that sleeps so has no work.
            if wait.kind == WaitKind::Interruptible && is_worker {
                continue;
            }
            let ended_ns = wait.end_ns.unwrap_or(end_ns);
            let slept_ns = match wait.kind {
                WaitKind::Runnable => wait.begin_ns,
                _ => wait.woken_ns.unwrap_or(ended_ns).min(ended_ns).max(wait.begin_ns),
            };
            let slept = Span { begin_ns: wait.begin_ns, end_ns: slept_ns }.within(span);
            let ready = Span { begin_ns: slept_ns, end_ns: ended_ns }.within(span);
            if slept.ns() >= SHORT_NS {
                self.looked(NODE_STEPS);
                nodes.push(self.sleep(pid, wait, slept));
            }
            if ready.ns() >= SHORT_NS {
                self.looked(NODE_STEPS);
                nodes.push(self.ready(pid, wait, ready));
            }
        }
        self.path.pop();
        merge(nodes)
    }

    /// A task slept: a node for each layer of its stack, one inside the other.
    fn sleep(&mut self, pid: i32, wait: &Wait, span: Span) -> Node {
        let place = self.known.place(wait.stack).cloned().unwrap_or_default();
        if wait.kind == WaitKind::Stopped {
            return self.stopped(pid, wait, span);
        }
        if wait.kind == WaitKind::Interruptible && place.layers.is_empty() {
            return self.soft_sleep(pid, wait, &place, span);
        }
        let mut layers: Vec<(Cause, String)> =
            place.layers.iter().map(|layer| (layer.cause, layer.function.clone())).collect();
        if place.is_commit {
            layers.retain(|(cause, _)| *cause != Cause::Handle);
            self.refine_commit(pid, span, &mut layers);
        }
        let mut of_dirty = Evidence::Stack;
        for (cause, _) in &mut layers {
            match *cause {
                Cause::DirtyLimitGlobal => (*cause, of_dirty) = self.dirty_limit(pid, span),
                Cause::TransactionLocked => *cause = self.locked_or_full(pid, wait),
                _ => {}
            }
        }
        // Inside of a handle's wait the wait for a commit is its way to get room.
        if layers.is_empty() {
            let function = place.innermost.clone().unwrap_or_default();
            let cause = match (place.is_io, place.is_commit) {
                (true, true) => Cause::JournalWrite,
                (true, false) => Cause::Device,
                (false, _) => Cause::Other,
            };
            layers.push((cause, function));
        }
        let last = layers.len() - 1;
        let mut inner: Option<Node> = None;
        for (index, (cause, function)) in layers.into_iter().enumerate().rev() {
            let mut one = node(pid, cause, &function, span, String::new());
            one.stack = wait.stack;
            one.known_by = if cause.is_dirty_limit() { of_dirty } else { Evidence::Stack };
            one.detail = detail(cause, &place, &one.place);
            if index == last {
                self.follow(&mut one, wait, place.is_io, span);
            } else {
                one.evidence = self.evidence(pid, cause, wait, span);
                one.children.extend(inner.take());
            }
            inner = Some(one);
        }
        inner.unwrap_or_else(|| node(pid, Cause::Unknown, "", span, String::new()))
    }

    /// Looks behind the innermost layer of a sleep.
    fn follow(&mut self, one: &mut Node, wait: &Wait, is_io: bool, span: Span) {
        one.evidence = self.evidence(one.pid, one.cause, wait, span);
        match one.cause {
            Cause::DirtyLimitGlobal | Cause::DirtyLimitDevice | Cause::DirtyLimitGroup => {
                one.children = self.behind_limit(one.pid, span);
            }
            Cause::TransactionLocked
            | Cause::TransactionFull
            | Cause::Commit
            | Cause::JournalBuffer
            | Cause::Handle => match self.journal_of(one.pid, wait, span) {
                Some((_, thread)) => one.children = self.of_another(thread, span),
                None => self.follow_waker(one, wait, span),
            },
            Cause::OpenHandles => self.open_handles(one, wait, span),
            Cause::LogSpace if is_io && wait.waker.is_none_or(|by| by.context != Context::Task) => {
                let about = self.device_of(one.pid, wait, span);
                one.children.extend(self.io(one.pid, span, wait, (one.cause, about)));
            }
            Cause::DirectIo if matches!(one.detail, Some("io_uring" | "aio")) => {
                self.asynchronous(one, wait, span);
            }
            Cause::Freeze => self.frozen(one, wait, span),
            Cause::Daemon => self.served(one, wait, span),
            Cause::Stopped => self.continued(one, wait),
            cause if cause.is_io() || cause == Cause::Device => {
                if let Some(by) = self.server(one, wait, span) {
                    self.ended_by_program(one, by, wait, span);
                    return;
                }
                let about = self.device_of(one.pid, wait, span);
                // The log itself may be on a disk of its own.
                let log = about.filter(|_| cause == Cause::JournalWrite);
                let log = log.and_then(|device| self.known.log_of(device));
                one.children.extend(self.io(one.pid, span, wait, (cause, log.or(about))));
            }
            Cause::Reclaim | Cause::Timer | Cause::SyncBatch | Cause::Cpu => {}
            Cause::Throttle | Cause::WritebackThrottle => {}
            _ => self.follow_waker(one, wait, span),
        }
    }

    /// Who woke it had what was waited for.
    fn follow_waker(&mut self, one: &mut Node, wait: &Wait, span: Span) {
        let known = self.known;
        match wait.waker {
            // A disk's driver ends its requests in a worker of the kernel.
            Some(waker) if !one.cause.is_lock() && self.is_worker(waker.pid) => {
                let about = self.device_of(one.pid, wait, span);
                let done = self.io_that_ended(one.pid, span, wait, (one.cause, about));
                // What only may have been a disk's end is told where nothing else is known of the worker.
                let is_doubted =
                    |done: &Node| one.cause == Cause::Other && done.known_by == Evidence::Absence;
                match done {
                    Some(done) if !is_doubted(&done) => one.children.push(done),
                    done => {
                        one.children = self.of_another(waker.pid, span);
                        let is_known = |child: &Node| child.cause != Cause::Unknown;
                        if let Some(done) = done.filter(|_| !one.children.iter().any(is_known)) {
                            one.children = vec![done];
                        }
                    }
                }
            }
            Some(waker) if waker.context == Context::Task && waker.pid != 0 => {
                let had = if one.cause.is_lock() { "held by" } else { "ended by" };
                let call = self.call_of_waker(waker, span);
                let call = call.map_or(String::new(), |call| format!(" in {call}()"));
                add(&mut one.evidence, &format!("{had} {}{call}", known.who(waker.pid)));
                one.children = self.of_another(waker.pid, span);
            }
            // A stack that says that a time was set tells a timer; a disk ends what its driver began.
            Some(_) if one.cause == Cause::Other => {
                let is_timed = self.known.place(wait.stack).is_some_and(|place| place.is_timed);
                let about = self.device_of(one.pid, wait, span);
                match (is_timed, self.io_that_ended(one.pid, span, wait, (one.cause, about))) {
                    (_, Some(done)) => one.children.push(done),
                    (true, None) => {
                        one.cause = Cause::Timer;
                        add(
                            &mut one.evidence,
                            "ended by an interrupt, and a time was set: a timer",
                        );
                    }
                    (false, None) => {
                        one.known_by = Evidence::Absence;
                        add(
                            &mut one.evidence,
                            "ended by an interrupt, and no disk ended a request then",
                        );
                    }
                }
            }
            Some(_) => {
                let about = self.device_of(one.pid, wait, span);
                one.children.extend(self.io_that_ended(one.pid, span, wait, (one.cause, about)));
            }
            None if one.cause == Cause::Other && one.place.is_empty() => {
                one.cause = Cause::Unknown;
                add(&mut one.evidence, "neither its stack nor who woke it was recorded");
            }
            None if one.cause == Cause::Other && wait.end_ns.is_some() => {
                one.known_by = Evidence::Absence;
                add(&mut one.evidence, "who woke it was not recorded");
            }
            None => {}
        }
    }

    /// The commit waits for handles: of them the one that ended last.
    fn open_handles(&mut self, one: &mut Node, wait: &Wait, span: Span) {
        let known = self.known;
        let device = known.index.journal_of_thread(one.pid);
        let locked = device.and_then(|device| {
            Some((device, known.index.committing(&known.line, device, span.begin_ns)?.tid))
        });
        let open = |handle: &&Handle| {
            locked.is_none_or(|(device, tid)| handle.device == device && handle.tid == tid)
                && handle.begin_ns < span.end_ns
                && handle.end_ns.is_none_or(|end_ns| end_ns + 1_000_000 >= span.end_ns)
                && handle.end_ns.is_none_or(|end_ns| end_ns > span.begin_ns)
        };
        let waker = wait.waker.filter(|by| by.context == Context::Task).map(|by| by.pid);
        let of_task = |pid: i32| {
            let task = known.line.tasks.get(&pid)?;
            self.looked(task.handles.len() as u64);
            task.handles.iter().filter(open).min_by_key(|handle| handle.begin_ns).map(|h| (pid, *h))
        };
        let holder = waker.and_then(of_task).or_else(|| match locked {
            Some((device, tid)) => {
                let all = known.index.handles(&known.line, device, tid);
                let all = all.inspect(|_| self.looked(1)).filter(|(_, handle)| open(handle));
                all.min_by_key(|(_, handle)| handle.begin_ns).map(|(pid, handle)| (pid, *handle))
            }
            None => {
                let all = known.line.tasks.keys().filter_map(|pid| {
                    self.looked(1);
                    of_task(*pid)
                });
                all.min_by_key(|(_, handle)| handle.begin_ns)
            }
        });
        let Some((pid, handle)) = holder else {
            self.follow_waker(one, wait, span);
            return;
        };
        let call = self.call_of(pid, span.end_ns.saturating_sub(1));
        let call = call.map_or(String::new(), |call| format!(" in {call}()"));
        let open_ns = handle.end_ns.unwrap_or(span.end_ns).saturating_sub(handle.begin_ns);
        add(
            &mut one.evidence,
            &format!(
                "held open by {}{call} for {}, {} blocks changed",
                known.who(pid),
                baro_show::duration(open_ns),
                handle.dirtied_blocks
            ),
        );
        one.children = self.of_another(pid, span);
    }

    /// A wait of the journal's thread in a commit, by the stage that the commit was in.
    fn refine_commit(&self, thread: i32, span: Span, layers: &mut Vec<(Cause, String)>) {
        let known = self.known;
        let Some(device) = known.index.journal_of_thread(thread) else { return };
        let committing = known.index.committing(&known.line, device, span.begin_ns);
        let Some(transaction) = committing else { return };
        let has = |layers: &[(Cause, String)], cause| layers.iter().any(|(one, _)| *one == cause);
        match transaction.stage(span.begin_ns) {
            Some(Stage::Starting | Stage::Locked) if layers.is_empty() => {
                layers.push((Cause::OpenHandles, "jbd2_journal_commit_transaction".to_owned()));
            }
            Some(Stage::Logging) if layers.is_empty() => {
                layers.push((Cause::JournalWrite, "jbd2_journal_commit_transaction".to_owned()));
            }
            Some(Stage::Flushing | Stage::Logging)
                if has(layers, Cause::Writeback) && !has(layers, Cause::OrderedData) =>
            {
                layers
                    .insert(0, (Cause::OrderedData, "jbd2_journal_commit_transaction".to_owned()));
            }
            Some(Stage::Flushing)
                if !has(layers, Cause::OrderedData) && !has(layers, Cause::JournalWrite) =>
            {
                layers
                    .insert(0, (Cause::OrderedData, "jbd2_journal_commit_transaction".to_owned()));
            }
            _ => {}
        }
    }

    /// A transaction that took no handles was locked, or full while it was still running.
    fn locked_or_full(&self, pid: i32, wait: &Wait) -> Cause {
        let span = Span { begin_ns: wait.begin_ns, end_ns: wait.end_ns.unwrap_or(wait.begin_ns) };
        let journal = self.journal_of(pid, wait, span);
        let running = journal.and_then(|(device, _)| {
            self.known.index.running(&self.known.line, device, wait.begin_ns)
        });
        match running.and_then(|one| one.stage(wait.begin_ns)) {
            Some(Stage::Running | Stage::Starting) => {
                // The thread sets the lock a moment after it says that it starts.
                let locking_ns = running.and_then(|one| one.locking_ns);
                let soon = locking_ns.is_some_and(|at| at < wait.begin_ns + 100_000);
                if soon { Cause::TransactionLocked } else { Cause::TransactionFull }
            }
            _ => Cause::TransactionLocked,
        }
    }

    /// The journal that a wait was about, and its thread.
    pub(super) fn journal_of(&self, pid: i32, wait: &Wait, span: Span) -> Option<(Device, i32)> {
        let line = &self.known.line;
        let by_thread = wait.waker.and_then(|waker| self.known.index.journal_of_thread(waker.pid));
        let device = by_thread.or_else(|| {
            let task = line.tasks.get(&pid)?;
            let soonest_ns = span.end_ns.saturating_sub(1_000_000);
            let from = task.handles.partition_point(|handle| handle.begin_ns < soonest_ns);
            let later = task.handles.get(from..).unwrap_or(&[]).iter();
            let handle = later.inspect(|_| self.looked(1)).find(|handle| {
                handle.asked_ns.is_some_and(|asked_ns| asked_ns <= span.begin_ns)
                    && handle.begin_ns >= soonest_ns
            });
            let before = task.syncs.partition_point(|sync| sync.begin_ns <= span.begin_ns);
            // Syncs of one task do not overlap.
            let sync = before.checked_sub(1).and_then(|last| task.syncs.get(last));
            let sync = sync.filter(|sync| sync.end_ns.is_none_or(|end_ns| end_ns >= span.end_ns));
            handle.map(|one| one.device).or(sync.map(|one| one.device))
        });
        // The only journal of a trace is that of a wait in its code, and not of any file system's.
        let device = device.or_else(|| {
            let may = self.known.place(wait.stack).is_none_or(|place| place.is_of_journal);
            let only = may && line.journals.len() == 1;
            line.journals.keys().next().copied().filter(|_| only)
        })?;
        let thread = line.journals.get(&device)?.thread.filter(|thread| *thread != pid)?;
        Some((device, thread))
    }

    /// Whether a task is one of the kernel's workers.
    pub(super) fn is_worker(&self, pid: i32) -> bool {
        let name = self.known.line.task_name(pid);
        name.is_some_and(|name| {
            [&b"kworker"[..], b"loop", b"ksoftirqd"]
                .iter()
                .any(|of| name.as_bytes().starts_with(of))
        })
    }

    /// The file system that a wait was about, if anything tells.
    fn device_of(&self, pid: i32, wait: &Wait, span: Span) -> Option<Device> {
        let journals = &self.known.line.journals;
        self.known.index.journal_of_thread(pid).or_else(|| {
            // With one journal alone the file system of a wait would be a guess.
            let (device, _) = self.journal_of(pid, wait, span)?;
            (journals.len() > 1).then_some(device)
        })
    }

    /// The call that a task is in at a time.
    pub(super) fn call_of(&self, pid: i32, time_ns: u64) -> Option<&'static str> {
        let task = self.known.line.tasks.get(&pid)?;
        let after = task.calls.partition_point(|call| call.begin_ns <= time_ns);
        let call = task.calls.get(after.checked_sub(1)?)?;
        // The waiter runs only after its waker has gone on: a moment may lie between.
        let over = call.end_ns.is_some_and(|end_ns| end_ns + 5_000_000 < time_ns);
        crate::calls::name(self.known.arch.as_deref(), call.number).filter(|_| !over)
    }

    /// What shows a cause, beside the function.
    fn evidence(&self, pid: i32, cause: Cause, wait: &Wait, span: Span) -> String {
        match cause {
            Cause::DirtyLimitGlobal | Cause::DirtyLimitDevice | Cause::DirtyLimitGroup => {
                self.limit_evidence(pid, span)
            }
            Cause::TransactionLocked | Cause::TransactionFull | Cause::Commit | Cause::LogSpace => {
                let journal = self.journal_of(pid, wait, span);
                journal.map_or(String::new(), |(device, _)| self.journal_evidence(device, span))
            }
            Cause::OrderedData => {
                let own = self.known.index.journal_of_thread(pid);
                own.map_or(String::new(), |device| self.ordered_evidence(device, span))
            }
            _ => String::new(),
        }
    }
}

pub(super) fn node(pid: i32, cause: Cause, place: &str, span: Span, evidence: String) -> Node {
    Node {
        pid,
        cause,
        place: place.to_owned(),
        ns: span.ns(),
        begin_ns: span.begin_ns,
        end_ns: span.end_ns,
        count: 1,
        evidence,
        known_by: match cause {
            Cause::Unknown => Evidence::Absence,
            _ => Evidence::Event,
        },
        detail: None,
        stack: None,
        children: Vec::new(),
    }
}

/// What the function says more exactly than the cause.
fn detail(cause: Cause, place: &Place, function: &str) -> Option<&'static str> {
    match (cause, function) {
        (Cause::DataRead, _) if place.is_swap => Some("swap_in"),
        (Cause::Lock, name) if name.contains("flock_lock") => Some("file_lock"),
        (Cause::Lock, name) if name.contains("lock_inode_wait") || name.contains("setlk") => {
            Some("file_lock")
        }
        (Cause::Lock, "do_lock_file_wait") => Some("file_lock"),
        (Cause::Lock, "__break_lease") => Some("lease"),
        (Cause::Daemon, name) if name.contains("rpc") || name.contains("nfs") => Some("nfs_server"),
        (Cause::Daemon, name) if name.contains("fuse") || name == "request_wait_answer" => {
            Some("fuse")
        }
        (Cause::DirectIo, "io_cqring_wait") => Some("io_uring"),
        (Cause::DirectIo, "read_events" | "do_io_getevents") => Some("aio"),
        (Cause::Commit, "ext4_fc_commit") => Some("fast_commit"),
        (Cause::Stopped, "do_signal_stop") => Some("signal"),
        (Cause::Stopped, "ptrace_stop") => Some("debugger"),
        (Cause::Stopped, _) => Some("freezer"),
        _ => None,
    }
}

/// Adds to an evidence.
pub(super) fn add(evidence: &mut String, more: &str) {
    if !evidence.is_empty() && !more.is_empty() {
        evidence.push_str("; ");
    }
    evidence.push_str(more);
}

/// Joins nodes of the same task and cause that are known, and those that are not, the longest first; of evidence the longest node's stays.
pub(super) fn merge(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_by(|a, b| b.ns.cmp(&a.ns).then(a.begin_ns.cmp(&b.begin_ns)));
    let mut merged: Vec<Node> = Vec::new();
    let mut places: HashMap<(i32, Cause, bool), usize> = HashMap::new();
    for node in nodes {
        // One that nothing shows leaves those that are known what they are.
        let key = (node.pid, node.cause, node.known_by == Evidence::Absence);
        let place = *places.entry(key).or_insert(merged.len());
        match merged.get_mut(place) {
            Some(one) => {
                one.ns += node.ns;
                one.count += node.count;
                one.known_by = one.known_by.max(node.known_by);
                one.detail = one.detail.or(node.detail);
                one.begin_ns = one.begin_ns.min(node.begin_ns);
                one.end_ns = one.end_ns.max(node.end_ns);
                one.children.extend(node.children);
            }
            None => merged.push(node),
        }
    }
    for one in &mut merged {
        one.children = merge(std::mem::take(&mut one.children));
    }
    merged.sort_by_key(|node| Reverse(node.ns));
    merged
}
