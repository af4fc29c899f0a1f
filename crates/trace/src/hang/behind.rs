//! Who is behind a task that hangs, among those that are listed with it.
//!
//! A moment's stacks show who waits and for what kind of thing, not for which one. So a link is
//! *told* where the kernel names the holder, or where names of a thread and a device agree; *only one*
//! where the thing that is waited for has one doer and one such is listed; *possible* where several
//! could be meant. More is not said.
//!
//! Invariant: a link leads to another listed task of the same start of the machine. Held by
//! `links_stay_among_listed_tasks`.

use super::Task;
use crate::explain::Cause;

/// Links to several tasks of which one is meant: so many are named.
const POSSIBLE_MAX: usize = 8;

/// How a link is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// The kernel names him, or both have the name of one thing.
    Told,
    /// Of those listed it can be no other, if it is one of them.
    OnlyOne,
    /// It may be he, or another.
    Possible,
}

impl How {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Told => "told",
            Self::OnlyOne => "only_one_listed",
            Self::Possible => "possible",
        }
    }
}

/// A task that is behind another: its place in the list, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: usize,
    pub(super) how: How,
    pub(super) because: &'static str,
}

/// What is known of a task beside its own words, made once for all.
#[derive(Debug)]
pub(super) struct Looked {
    /// What it waits for, the innermost; None: its stack has no place of the table.
    pub(super) cause: Option<Cause>,
    /// The function that tells.
    pub(super) function: Option<String>,
    /// All layers.
    pub(super) layers: Vec<(Cause, String)>,
    /// The call.
    pub(super) call: Option<String>,
    is_commit: bool,
    is_flusher: bool,
    /// Whether it is a loop device's worker.
    is_loop: bool,
    waits_for_device: bool,
}

/// Functions of a worker that does a loop device's requests.
const LOOP: &[&str] = &[
    "loop_process_work",
    "loop_workfn",
    "loop_rootcg_workfn",
    "loop_queue_work",
    "loop_handle_cmd",
    "lo_rw_aio",
    "lo_req_flush",
];

impl Looked {
    pub(super) fn of(task: &Task) -> Self {
        let place = task.place();
        let last = place.layers.last();
        let layers = place.layers.iter().map(|one| (one.cause, one.function.clone())).collect();
        // Where what waits for the journal's blocks is inlined in the commit.
        let commits = (place.is_commit && place.is_io).then_some(Cause::JournalWrite);
        let cause = last.map(|layer| layer.cause).or(commits);
        let is_loop = task.is_in(LOOP);
        Self {
            cause,
            function: last.map(|layer| layer.function.clone()).or(place.innermost),
            layers,
            call: super::call::of(task),
            is_commit: place.is_commit,
            is_flusher: place.is_flusher,
            is_loop,
            waits_for_device: !is_loop
                && (cause.is_some_and(Cause::is_io)
                    || place.is_io && cause.is_none_or(|cause| !cause.is_structural())),
        }
    }
}

/// Who is behind the task at `index`; several only as possible ones.
pub(super) fn of(tasks: &[Task], looked: &[Looked], index: usize) -> Vec<Link> {
    let (Some(task), Some(look)) = (tasks.get(index), looked.get(index)) else { return Vec::new() };
    let others = || {
        let same_start = |(at, one): &(usize, &Task)| *at != index && one.start == task.start;
        tasks.iter().enumerate().filter(same_start)
    };
    let link = |index, how, because| Link { index, how, because };
    if let Some(owner) = task.owner.as_ref().and_then(|owner| owner.who.as_ref()) {
        let found = others().find(|(_, one)| one.who.pid == owner.pid);
        return found
            .map(|(at, _)| link(at, How::Told, "the kernel names it as the lock's likely owner"))
            .into_iter()
            .collect();
    }
    if let Some(wanted) = task.locks.last() {
        // Who is about to take a lock has it as his last.
        let holds = |one: &Task| {
            let (last, before) = one
                .locks
                .split_last()
                .map_or((None, &[][..]), |(last, before)| (Some(last), before));
            before.iter().any(|lock| lock.address == wanted.address)
                || last.is_some_and(|lock| {
                    lock.address == wanted.address && !waits_at(one, &lock.function)
                })
        };
        if waits_at(task, &wanted.function)
            && let Some((at, _)) = others().find(|(_, one)| holds(one))
        {
            return vec![link(at, How::Told, "the kernel's list of locks has it with this lock")];
        }
    }
    let candidates = |is: &dyn Fn(&Looked) -> bool| -> Vec<usize> {
        let is = |(at, _): &(usize, &Task)| looked.get(*at).is_some_and(is);
        others().filter(is).map(|(at, _)| at).collect()
    };
    let (found, because) = match look.cause {
        // It does itself what others wait for.
        _ if look.waits_for_device => {
            let own = device(task);
            let workers = candidates(&|one| one.is_loop);
            let named =
                workers.iter().find(|at| own.is_some() && own == tasks.get(**at).and_then(device));
            if let Some(at) = named {
                return vec![link(*at, How::Told, "it does the requests of the same loop device")];
            }
            (
                if own.is_some() { Vec::new() } else { workers },
                "it does the requests of a loop device",
            )
        }
        Some(
            Cause::Handle
            | Cause::TransactionLocked
            | Cause::TransactionFull
            | Cause::LogSpace
            | Cause::Commit
            | Cause::JournalBuffer,
        ) if !look.is_commit => (candidates(&|one| one.is_commit), "it commits a journal"),
        Some(Cause::DirtyLimitGlobal | Cause::DirtyLimitDevice | Cause::DirtyLimitGroup) => {
            (candidates(&|one| one.is_flusher), "it writes dirty data")
        }
        // Who waits for the same kind of lock has it not.
        Some(cause) if cause.is_lock() && !matches!(cause, Cause::FolioLock | Cause::Lock) => {
            let same_call = |one: &Looked| {
                one.cause != Some(cause) && one.call.is_some() && one.call == look.call
            };
            let found = candidates(&same_call);
            let because = "it is in the same call, past this lock";
            return some(found, How::Possible, because);
        }
        _ => return Vec::new(),
    };
    let how = if found.len() == 1 { How::OnlyOne } else { How::Possible };
    some(found, how, because)
}

fn some(found: Vec<usize>, how: How, because: &'static str) -> Vec<Link> {
    found.into_iter().take(POSSIBLE_MAX).map(|index| Link { index, how, because }).collect()
}

/// Whether a task's stack ends in the function that takes a lock.
fn waits_at(task: &Task, function: &str) -> bool {
    let place = task.place();
    !function.is_empty()
        && place.layers.last().is_some_and(|layer| layer.cause.is_lock())
        && task.is_in(&[super::plain(function)])
}

/// The device that a task's name or work has: of `jbd2/loop1-8`, of a worker `loop1 loop_workfn`.
fn device(task: &Task) -> Option<&str> {
    if let Some(name) = task.who.name.strip_prefix("jbd2/") {
        return Some(name.rsplit_once('-').map_or(name, |(device, _)| device));
    }
    let first = task.work.as_deref()?.split_whitespace().next()?;
    first.starts_with("loop").then_some(first)
}
