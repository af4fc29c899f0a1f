//! What chains look up for each wait, found without going through all of the trace.
//!
//! A trace of ten thousand commits has ten thousand waits of its journal's thread: what asks for each
//! of them which commit was under way must not go through all of them. All of this follows from the
//! timeline and is made once.
//!
//! Invariant: each answer is that of going through all. Held by `answers_are_those_of_all`.

use super::soft::{FREEZES, THAWS};
use crate::record::Device;
use crate::timeline::{Handle, Journal, Request, Timeline, Transaction};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Index {
    journals: BTreeMap<Device, OfJournal>,
    /// Journals by their threads: of several that name one the first.
    threads: HashMap<i32, Device>,
    /// For each request of a disk, in the order of issue, when the last of it and those before is done.
    done_ns: BTreeMap<Device, Vec<u64>>,
    /// Bytes written, by disk.
    written_bytes: HashMap<Device, u64>,
    /// Handles of a transaction: task, and place among its handles.
    handles: HashMap<(Device, u32), Vec<(i32, usize)>>,
    /// When file systems were frozen or thawed, by whom, and whether it was the former, in this order.
    freezers: Vec<(u64, i32, bool)>,
    /// When requests of any disk were done, in this order.
    ended_ns: Vec<u64>,
    /// Spans in all.
    spans: u64,
}

#[derive(Debug, Default)]
struct OfJournal {
    running: Steps,
    committing: Steps,
    /// Commits by their beginning, and when the last of each and those before has ended.
    commits: Vec<(u64, u32)>,
    ended_ns: Vec<u64>,
}

/// Which transaction it is, from a time on.
#[derive(Debug, Default)]
struct Steps(Vec<(u64, Option<u32>)>);

impl Steps {
    /// Of intervals with their transactions; of several at once `choose` takes one.
    fn of(
        intervals: impl Iterator<Item = (u64, u64, u32)>,
        choose: impl Fn(&BTreeSet<u32>) -> Option<u32>,
    ) -> Self {
        let mut edges: Vec<(u64, bool, u32)> = Vec::new();
        for (from, to, tid) in intervals.filter(|(from, to, _)| from < to) {
            edges.push((from, true, tid));
            edges.push((to, false, tid));
        }
        edges.sort_unstable();
        let mut open = BTreeSet::new();
        let mut steps: Vec<(u64, Option<u32>)> = Vec::new();
        for (at, begins, tid) in edges {
            if begins {
                open.insert(tid);
            } else {
                open.remove(&tid);
            }
            let now = choose(&open);
            match steps.last_mut() {
                Some(last) if last.0 == at => last.1 = now,
                _ => steps.push((at, now)),
            }
        }
        Self(steps)
    }

    fn at(&self, time_ns: u64) -> Option<u32> {
        let after = self.0.partition_point(|(at, _)| *at <= time_ns);
        self.0.get(after.checked_sub(1)?)?.1
    }
}

/// From the first of these on; never if there is none.
fn first(times: &[Option<u64>]) -> u64 {
    times.iter().flatten().min().copied().unwrap_or(u64::MAX)
}

impl OfJournal {
    fn of(journal: &Journal) -> Self {
        let all = || journal.transactions.iter();
        // As `Transaction::stage` has it: the last stage that was reached, whatever came before.
        let running = all().map(|(tid, one)| {
            let from = first(&[one.begin_ns, one.commit_ns, one.locking_ns]);
            (from, first(&[one.end_ns, one.logging_ns, one.flushing_ns]), *tid)
        });
        let committing = all().map(|(tid, one)| {
            let from = first(&[one.commit_ns, one.locking_ns, one.flushing_ns, one.logging_ns]);
            (from, first(&[one.end_ns]), *tid)
        });
        let commits = all().filter_map(|(tid, one)| Some((one.commit_ns?, *tid)));
        let mut commits: Vec<(u64, u32)> = commits.collect();
        commits.sort_unstable();
        let ends = commits.iter().map(|(_, tid)| {
            let one = journal.transactions.get(tid);
            one.and_then(|one| one.end_ns).unwrap_or(u64::MAX)
        });
        let ended_ns = reached(ends);
        Self {
            running: Steps::of(running, |open| open.last().copied()),
            committing: Steps::of(committing, |open| open.first().copied()),
            commits,
            ended_ns,
        }
    }
}

/// The highest of each and those before.
fn reached(times: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut most = 0;
    times
        .map(|time| {
            most = most.max(time);
            most
        })
        .collect()
}

impl Index {
    pub(super) fn of(line: &Timeline, arch: Option<&str>) -> Self {
        let mut index = Self::default();
        for (device, journal) in &line.journals {
            index.journals.insert(*device, OfJournal::of(journal));
            if let Some(thread) = journal.thread {
                index.threads.entry(thread).or_insert(*device);
            }
            index.spans += journal.transactions.len() as u64;
        }
        for (device, disk) in &line.disks {
            let done = disk.requests.iter().map(|one| one.done_ns.unwrap_or(u64::MAX));
            index.done_ns.insert(*device, reached(done));
            let written = disk.requests.iter().filter(|one| one.is_write());
            let bytes = written.fold(0, |sum: u64, one| sum.saturating_add(one.bytes.into()));
            index.written_bytes.insert(*device, bytes);
            index.ended_ns.extend(disk.requests.iter().filter_map(|one| one.done_ns));
            index.spans += disk.requests.len() as u64;
        }
        for (pid, task) in &line.tasks {
            let freezes = task.calls.iter().filter(|call| {
                [FREEZES, THAWS].contains(&call.args[1])
                    && call.ret >= 0
                    && crate::calls::name(arch, call.number) == Some("ioctl")
            });
            index
                .freezers
                .extend(freezes.map(|call| (call.begin_ns, *pid, call.args[1] == FREEZES)));
            for (place, handle) in task.handles.iter().enumerate() {
                let of_one = index.handles.entry((handle.device, handle.tid)).or_default();
                of_one.push((*pid, place));
            }
            let lists = [task.calls.len(), task.waits.len(), task.handles.len(), task.syncs.len()];
            index.spans += 1 + lists.iter().sum::<usize>() as u64;
            index.spans += (task.throttles.len() + task.reclaims.len()) as u64;
        }
        index.freezers.sort_unstable();
        index.ended_ns.sort_unstable();
        index
    }

    /// Whether a disk ended a request within two milliseconds before a time.
    pub(super) fn ends_near(&self, time_ns: u64) -> bool {
        let after = self.ended_ns.partition_point(|at_ns| *at_ns <= time_ns + 50_000);
        let last = after.checked_sub(1).and_then(|index| self.ended_ns.get(index));
        last.is_some_and(|at_ns| at_ns + 2_000_000 >= time_ns)
    }

    /// Who had a file system frozen before a time, and when; None if more than one was or it was thawed since:
    /// such a call names its file only, and not the file system.
    pub(super) fn freezer(&self, time_ns: u64) -> Option<(u64, i32)> {
        let after = self.freezers.partition_point(|(at_ns, ..)| *at_ns <= time_ns);
        let before = self.freezers.get(..after)?;
        let (at_ns, pid, _) = before.last().filter(|(.., freezes)| *freezes)?;
        let count = before.iter().filter(|(.., freezes)| *freezes).count();
        (count == 1).then_some((*at_ns, *pid))
    }

    /// How many spans the trace has.
    pub(super) fn spans(&self) -> u64 {
        self.spans
    }

    /// The first journal whose thread this is.
    pub(super) fn journal_of_thread(&self, pid: i32) -> Option<Device> {
        self.threads.get(&pid).copied()
    }

    /// As [`Journal::running`].
    pub(super) fn running<'a>(
        &self,
        line: &'a Timeline,
        device: Device,
        time_ns: u64,
    ) -> Option<&'a Transaction> {
        let tid = self.journals.get(&device)?.running.at(time_ns)?;
        line.journals.get(&device)?.transactions.get(&tid)
    }

    /// As [`Journal::committing`].
    pub(super) fn committing<'a>(
        &self,
        line: &'a Timeline,
        device: Device,
        time_ns: u64,
    ) -> Option<&'a Transaction> {
        let tid = self.journals.get(&device)?.committing.at(time_ns)?;
        line.journals.get(&device)?.transactions.get(&tid)
    }

    /// Transactions whose commit began before `end_ns`, the latest first, up to where all had ended
    /// by `begin_ns`.
    pub(super) fn commits<'a>(
        &'a self,
        line: &'a Timeline,
        device: Device,
        (begin_ns, end_ns): (u64, u64),
    ) -> impl Iterator<Item = &'a Transaction> {
        let one = self.journals.get(&device);
        let commits = one.map_or(&[][..], |one| &one.commits);
        let ended_ns = one.map_or(&[][..], |one| &one.ended_ns);
        let before = commits.partition_point(|(at, _)| *at < end_ns);
        let near = commits.iter().zip(ended_ns).take(before).rev();
        let near = near.take_while(move |(_, ended_ns)| **ended_ns > begin_ns);
        let journal = line.journals.get(&device);
        near.filter_map(move |((_, tid), _)| journal?.transactions.get(tid))
    }

    /// Requests of a disk that were issued before the one at `before`, the latest first, up to where
    /// all were done by `begin_ns`.
    pub(super) fn requests<'a>(
        &'a self,
        device: Device,
        requests: &'a [Request],
        before: usize,
        begin_ns: u64,
    ) -> impl Iterator<Item = &'a Request> {
        let done_ns = self.done_ns.get(&device).map_or(&[][..], Vec::as_slice);
        let near = requests.iter().zip(done_ns).take(before).rev();
        near.take_while(move |(_, done_ns)| **done_ns > begin_ns).map(|(one, _)| one)
    }

    /// Bytes written to a disk in all of the trace.
    pub(super) fn written_bytes(&self, device: Device) -> u64 {
        self.written_bytes.get(&device).copied().unwrap_or(0)
    }

    /// Handles of a transaction, by task.
    pub(super) fn handles<'a>(
        &'a self,
        line: &'a Timeline,
        device: Device,
        tid: u32,
    ) -> impl Iterator<Item = (i32, &'a Handle)> {
        let all = self.handles.get(&(device, tid)).map_or(&[][..], Vec::as_slice);
        let found =
            |(pid, place): &(i32, usize)| Some((*pid, line.tasks.get(pid)?.handles.get(*place)?));
        all.iter().filter_map(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Journal;
    use proptest::prelude::*;

    fn time() -> impl Strategy<Value = Option<u64>> {
        prop::option::of(0_u64..40)
    }

    fn transaction() -> impl Strategy<Value = Transaction> {
        (time(), time(), time(), time(), time(), time()).prop_map(|all| Transaction {
            begin_ns: all.0,
            commit_ns: all.1,
            locking_ns: all.2,
            flushing_ns: all.3,
            logging_ns: all.4,
            end_ns: all.5,
            ..Transaction::default()
        })
    }

    proptest! {
        #[test]
        fn answers_are_those_of_all(all in prop::collection::vec(transaction(), 0..12)) {
            let device = Device(1);
            let mut line = Timeline::default();
            let mut journal = Journal { thread: Some(7), ..Journal::default() };
            for (tid, one) in all.into_iter().enumerate() {
                let tid = tid as u32;
                journal.transactions.insert(tid, Transaction { tid, ..one });
            }
            line.journals.insert(device, journal.clone());
            line.journals.insert(Device(2), journal.clone());
            let index = Index::of(&line, None);
            prop_assert_eq!(index.journal_of_thread(7), Some(device));
            let tid = |one: Option<&Transaction>| one.map(|one| one.tid);
            for at in 0..42 {
                let (running, committing) = (journal.running(at), journal.committing(at));
                prop_assert_eq!(tid(index.running(&line, device, at)), tid(running));
                prop_assert_eq!(tid(index.committing(&line, device, at)), tid(committing));
                let overlaps = |one: &&Transaction| {
                    one.commit_ns.is_some_and(|begin_ns| begin_ns < at + 5)
                        && one.end_ns.is_none_or(|end_ns| end_ns > at)
                };
                let all: Vec<u32> =
                    journal.transactions.values().filter(overlaps).map(|one| one.tid).collect();
                let near = index.commits(&line, device, (at, at + 5));
                let mut near: Vec<u32> = near.filter(overlaps).map(|one| one.tid).collect();
                near.sort_unstable();
                prop_assert_eq!(near, all);
            }
        }
    }
}
