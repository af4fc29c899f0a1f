//! Why a call was late: for each slow call a chain of waits, down to a device, a limit or a holder.
//!
//! A call is late because its task did not run. Each of these waits has a kernel stack, which says
//! what was waited for ([`place`]), and somebody who ended it. The chain follows him: the journal's
//! thread for a transaction, the holder of a lock, the flusher for a limit of dirty data, the disk
//! for I/O. What he waited for in the same time explains this wait, and so on.
//!
//! Nothing is guessed: where neither stack nor waker tells, the time is unexplained and counted. The
//! holder of a lock is the task that woke the waiter, which is the one that gave the lock up.
//!
//! Sources: paper D's chain (dirty limit, flusher, journal space, checkpoint, ordered data, disk),
//! which its authors put together by hand.
//!
//! Invariant: the parts of a call's wait are at most the wait, and its unexplained part is what no
//! part explains. Held by `parts_of_a_wait_do_not_exceed_it`.

mod advice;
mod below;
mod calls;
mod cause;
mod chain;
mod drawn;
mod earlier;
mod group_limits;
mod history;
mod index;
mod io;
mod json;
mod limits;
mod members;
mod mounts;
pub mod place;
mod processor;
mod returned;
mod served;
mod slept;
mod soft;
mod stands;
mod suspended;
mod tasks;
#[cfg(test)]
mod tests;
mod text;
mod which_disk;

pub use advice::{Advice, Write};
pub use cause::{Cause, Evidence};
pub use drawn::drawn;
#[cfg(feature = "collect")]
pub(crate) use earlier::IN_FLIGHT;
pub use json::to_json;
pub(crate) use soft::{ASYNCHRONOUS, FILE_LOCKS};
#[cfg(feature = "collect")]
pub(crate) use tasks::{FILE_SYSTEMS, KERNEL_TASKS, takes_requests};
pub use text::describe;

use crate::file::{FOCUS, Machine, TraceFile};
use crate::record::Device;
use crate::timeline::{Request, StackId, Symbols, Timeline};
use place::Place;
use std::collections::{BTreeMap, BTreeSet};

/// What the analysis knows of a trace.
#[derive(Debug)]
pub struct Knowledge {
    /// Spans.
    pub line: Timeline,
    /// Functions.
    pub symbols: Symbols,
    /// Settings of the machine.
    pub facts: BTreeMap<String, String>,
    /// Names of devices.
    pub devices: BTreeMap<Device, String>,
    /// The machine and its clock.
    pub machine: Machine,
    /// The machine's architecture, for names of calls.
    pub arch: Option<String>,
    /// Tasks that the trace is about; empty: all.
    pub focus: BTreeSet<i32>,
    /// Places of the stacks, by their number.
    places: Vec<Place>,
    index: index::Index,
    /// Lines of `mountinfo` by device, the first of each.
    mounts: BTreeMap<String, mounts::Mount>,
    /// Tasks with a sleep of write-back.
    flushers: Vec<i32>,
    /// Tasks that slept while they served a loop device.
    loop_workers: Vec<i32>,
    /// What disks stand on.
    stands: stands::Stands,
    /// Limits of I/O that control groups have.
    group_limits: group_limits::GroupLimits,
    /// Mappings that were suspended.
    suspensions: suspended::Suspensions,
    /// Control groups whose share of processors was used up.
    held_groups: Vec<tasks::GroupQuota>,
    /// Tasks that were seen to take requests as a file system.
    file_systems: BTreeSet<i32>,
}

/// What is told.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Only calls that waited this long.
    pub over_ns: u64,
    /// The longest so many.
    pub top: usize,
}

impl Default for Question {
    fn default() -> Self {
        Self { over_ns: 10_000_000, top: 10 }
    }
}

/// Why calls were late.
#[derive(Clone, Debug, Default)]
pub struct Explanation {
    /// The calls that waited longest, the longest first.
    pub calls: Vec<SlowCall>,
    /// Calls that waited as long as was asked for, told or not.
    pub slow_calls: u64,
    /// Time that these waited, by the root of it, the longest first.
    pub causes: Vec<(Cause, u64, u64)>,
    /// What makes the answer less certain.
    pub notes: Vec<String>,
    /// What it cost: spans of the trace that were looked at, and nodes that were made of them.
    pub steps: u64,
}

/// A call that was late.
#[derive(Clone, Debug)]
pub struct SlowCall {
    /// The task.
    pub pid: i32,
    /// Its name.
    pub comm: String,
    /// The call: `write`, `fsync`, ...; `page fault` or `io_uring` where there is none.
    pub call: String,
    /// The device it was about, if known.
    pub device: Option<Device>,
    /// Where that is mounted.
    pub mount: Option<String>,
    /// When it began, in the tracer's clock.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// How long it did not run in between.
    pub wait_ns: u64,
    /// How much of that nothing explains.
    pub unexplained_ns: u64,
    /// All its waits.
    pub tree: Vec<Node>,
    /// The part of the tree that took longest, from the call to the end of it.
    pub chain: Vec<Link>,
    /// The first rule or resource that it waited for; if there is none, what is at the end of the
    /// chain.
    pub cause: Cause,
    /// The last rule or resource of the chain: what is behind the others.
    pub root: Cause,
    /// More exactly what the cause was, if that is known.
    pub cause_detail: Option<&'static str>,
    /// The same of the root.
    pub root_detail: Option<&'static str>,
    /// The least certain way in which a link of the chain is known.
    pub known_by: Evidence,
    /// Whether it had not ended when the recording did.
    pub is_open: bool,
    /// Whether it had begun before the recording.
    pub began_before: bool,
    /// What may help.
    pub advice: Vec<Advice>,
}

/// A part of a wait, with the parts that explain it.
#[derive(Clone, Debug)]
pub struct Node {
    /// Who waited.
    pub pid: i32,
    /// For what.
    pub cause: Cause,
    /// The function in the kernel, or another place.
    pub place: String,
    /// How long, within the wait that is explained.
    pub ns: u64,
    /// From when, the first time.
    pub begin_ns: u64,
    /// Until when, the last time.
    pub end_ns: u64,
    /// How often.
    pub count: u64,
    /// What shows it.
    pub evidence: String,
    /// How that is known.
    pub known_by: Evidence,
    /// More exactly what it was for, if that is known.
    pub detail: Option<&'static str>,
    /// Where the longest of these waits was in the kernel.
    pub stack: Option<StackId>,
    /// Why it took so long.
    pub children: Vec<Node>,
}

/// A link of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// Who waited.
    pub pid: i32,
    /// His name and pid.
    pub who: String,
    /// For what.
    pub cause: Cause,
    /// The function in the kernel.
    pub place: String,
    /// How long.
    pub ns: u64,
    /// From when.
    pub begin_ns: u64,
    /// What shows it.
    pub evidence: String,
    /// How it is known.
    pub known_by: Evidence,
    /// More exactly what it was for, if that is known.
    pub detail: Option<&'static str>,
}

impl SlowCall {
    /// Whether it waited for a fast commit: the file system has these already.
    fn is_fast_commit(&self) -> bool {
        self.chain.iter().any(|link| link.detail == Some("fast_commit"))
    }
}

impl Knowledge {
    /// What is known of a trace.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn of<R: std::io::Read + std::io::Seek>(
        trace: &mut TraceFile<R>,
    ) -> crate::error::Result<Self> {
        let line = Timeline::of(trace, crate::timeline::Limits::default())?;
        let named = trace.devices().iter().map(|(device, name)| (*device, name.to_string()));
        let focus = trace.facts().get(FOCUS).map_or("", String::as_str);
        let focus = focus.lines().filter_map(|pid| pid.parse().ok()).collect();
        let machine = trace.machine().clone();
        let known = Self::new(
            line,
            trace.symbols().clone(),
            trace.facts().clone(),
            named.collect(),
            machine.arch.clone(),
            focus,
        );
        Ok(Self { machine, ..known })
    }

    /// Puts together what is known.
    #[must_use]
    pub fn new(
        mut line: Timeline,
        mut symbols: Symbols,
        facts: BTreeMap<String, String>,
        devices: BTreeMap<Device, String>,
        arch: Option<String>,
        focus: BTreeSet<i32>,
    ) -> Self {
        tasks::add_parents(&mut line, &facts);
        tasks::add_hangs(&line, &mut symbols);
        earlier::add(&mut line, &facts, &devices);
        let functions = |line: &Timeline, stack| {
            let names = line.stacks.get(stack).iter().filter_map(|one| symbols.name(*one));
            names.map(str::to_owned).collect()
        };
        returned::lengthen_calls(&mut line, &functions);
        returned::end_calls(&mut line, &functions);
        let place = |(stack, addresses): (StackId, &[u64])| {
            let names = addresses.iter().map(|one| symbols.name(*one));
            Place::cut(names, line.stacks.is_cut(stack))
        };
        let places: Vec<Place> = line.stacks.iter().map(place).collect();
        let machine = Machine { arch: arch.clone(), ..Machine::default() };
        let flushes = |wait: &crate::timeline::Wait| {
            let place = wait.stack.and_then(|stack| places.get(stack.index()));
            place.is_some_and(|place| place.is_flusher)
        };
        let flushers = line.tasks.iter().filter(|(_, task)| task.waits.iter().any(flushes));
        let flushers = flushers.map(|(pid, _)| *pid).collect();
        let serves = |wait: &crate::timeline::Wait| {
            let place = wait.stack.and_then(|stack| places.get(stack.index()));
            place.is_some_and(|place| place.is_loop_worker)
        };
        let loop_workers = line.tasks.iter().filter(|(_, task)| task.waits.iter().any(serves));
        let loop_workers = loop_workers.map(|(pid, _)| *pid).collect();
        let (index, mounts) =
            (index::Index::of(&line, arch.as_deref()), mounts::mounts_by_device(&facts));
        let stands = stands::Stands::of(&facts, &devices, &mounts);
        let held_groups = tasks::held_groups(&facts);
        let file_systems = tasks::file_systems(&line, &symbols, &facts);
        let group_limits = group_limits::GroupLimits::of(&facts, &line);
        let suspensions = suspended::Suspensions::of(&facts, &devices);
        Self {
            line,
            symbols,
            facts,
            devices,
            machine,
            arch,
            focus,
            places,
            index,
            mounts,
            flushers,
            loop_workers,
            stands,
            group_limits,
            suspensions,
            held_groups,
            file_systems,
        }
    }

    /// Explains the calls that waited longest.
    #[must_use]
    pub fn explain(&self, question: &Question) -> Explanation {
        calls::explain(self, question)
    }

    /// Whether a task, or one that it comes from, is one of those the trace is about.
    #[must_use]
    pub fn in_focus(&self, pid: i32) -> bool {
        let mut seen = BTreeSet::new();
        let mut next = Some(pid);
        while let Some(pid) = next.filter(|pid| seen.insert(*pid)) {
            if self.focus.is_empty() || self.focus.contains(&pid) {
                return true;
            }
            next = self.line.tasks.get(&pid).and_then(|task| task.parent);
        }
        false
    }

    /// All tasks in focus; each is looked at once, however long the way to where it comes from.
    #[must_use]
    pub fn all_in_focus(&self) -> BTreeSet<i32> {
        let mut known: BTreeMap<i32, bool> = BTreeMap::new();
        for pid in self.line.tasks.keys() {
            let mut way = Vec::new();
            let mut next = Some(*pid);
            let found = loop {
                let Some(pid) = next else { break false };
                if let Some(known) = known.get(&pid) {
                    break *known;
                }
                // Till the end is known, a way back to here leads nowhere.
                known.insert(pid, false);
                way.push(pid);
                if self.focus.is_empty() || self.focus.contains(&pid) {
                    break true;
                }
                next = self.line.tasks.get(&pid).and_then(|task| task.parent);
            };
            known.extend(way.into_iter().map(|pid| (pid, found)));
        }
        let found = |(pid, is): (i32, bool)| is.then_some(pid);
        let of_line = known.into_iter().filter_map(found);
        of_line.filter(|pid| self.line.tasks.contains_key(pid)).collect()
    }

    /// Name and pid of a task.
    #[must_use]
    pub fn who(&self, pid: i32) -> String {
        match self.line.task_name(pid) {
            _ if pid == 0 => "an interrupt".to_owned(),
            _ if pid == Request::BEFORE => "whoever had I/O there before the trace".to_owned(),
            Some(name) => format!("{name} (pid {pid})"),
            None => format!("pid {pid}"),
        }
    }

    /// The name of a device; of one that came and went within the trace what its journal's thread is
    /// called after, else its numbers.
    #[must_use]
    pub fn device_name(&self, device: Device) -> String {
        let listed = self.devices.get(&device).cloned();
        listed.or_else(|| self.name_by_thread(device)).unwrap_or_else(|| device.to_string())
    }

    /// The device that a file system's journal is on, if that is another. Its thread is called after it then,
    /// as `jbd2/sdb`; else after the file system and the journal's inode, as `jbd2/sda1-8`.
    fn log_of(&self, device: Device) -> Option<Device> {
        const COMM_BYTES: usize = 15;
        let name = self.line.task_name(self.line.journals.get(&device)?.thread?)?.to_string();
        // A longer one is cut, and may then look like another.
        let log = name.strip_prefix("jbd2/").filter(|_| name.len() < COMM_BYTES)?;
        let (found, _) = self.devices.iter().find(|(_, name)| *name == log)?;
        Some(*found).filter(|found| *found != device)
    }

    fn name_by_thread(&self, device: Device) -> Option<String> {
        let thread = self.line.journals.get(&device)?.thread?;
        let name = self.line.task_name(thread)?.to_string();
        // `jbd2/sda1-8`; the kernel keeps 15 bytes of it, so that a longer one is cut.
        let (device, _) = name.strip_prefix("jbd2/")?.rsplit_once('-')?;
        Some(device.to_owned())
    }

    /// Functions of a stack, the innermost first; addresses where no name is known.
    #[must_use]
    pub fn functions(&self, stack: StackId) -> Vec<String> {
        let name = |address: &u64| {
            let name = self.symbols.name(*address);
            name.map_or_else(|| format!("{address:#x}"), str::to_owned)
        };
        self.line.stacks.get(stack).iter().map(name).collect()
    }

    /// What a file of the machine held last: when the recording ended, if that was noted, else when it began.
    fn fact(&self, path: &str) -> Option<&str> {
        let last = self.facts.get(&format!("{path}{}", stands::AT_END));
        last.or_else(|| self.facts.get(path)).map(String::as_str)
    }

    /// Devices that were mounted.
    fn mounted_devices(&self) -> impl Iterator<Item = Device> {
        self.mounts.keys().filter_map(|device| stands::device_of(device))
    }

    fn place(&self, stack: Option<StackId>) -> Option<&Place> {
        stack.and_then(|id| self.places.get(id.index()))
    }
}
