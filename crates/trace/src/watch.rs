//! Sees slow calls while events come, to say when a recording has caught what it was made for.
//!
//! As [`explain`](crate::explain) it counts only time in which a task slept that no signal wakes, or
//! had no processor: a read of an empty pipe is no slow call. Outside of calls it counts sleeps of
//! programs that touched memory, and of the workers that do calls of io_uring.
//!
//! Of sleeps that signals end it counts those for a lock of a file, those for the answer of a program that is a
//! file system, and those for I/O that was given to the kernel before, the last only if a disk ended a request
//! just then: a server waits for its network in the same call.
//!
//! Invariant: memory is bounded by the number of tasks. Held by
//! `a_call_that_slept_is_seen_and_one_that_idled_is_not`,
//! `what_still_waits_is_seen_before_it_ends`,
//! `a_wait_is_counted_though_the_switch_that_ended_it_is_not_told`,
//! `sleeps_that_signals_end_are_seen_if_they_are_for_storage`.

use crate::calls;
use crate::error::Result;
use crate::event_set::EventSet;
use crate::explain::{ASYNCHRONOUS, FILE_LOCKS};
use crate::ring_page::PageCursor;
use crate::schema::{KernelEvent, Schemas};
use std::collections::{HashMap, VecDeque};

/// Tasks that are watched at once; a machine with more has some unwatched for a while.
const TASKS_MAX: usize = 1 << 16;
/// Ends of requests that are kept, and sleeps that may have ended by one.
const ENDS_MAX: usize = 4_096;
const MAYBE_MAX: usize = 256;
/// A sleep ends so soon after the request that it was for.
const ENDS_WITHIN_NS: u64 = 2_000_000;
/// Clocks of two processors differ by less.
const APART_NS: u64 = 50_000;
/// States of a task that has ended: X and Z.
const GONE: i64 = 0x30;

/// A call that was slow, or is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The task.
    pub pid: i32,
    /// The call.
    pub call: &'static str,
    /// How long it waited.
    pub wait_ns: u64,
    /// When it ended; of one that waits still, when it was looked at.
    pub end_ns: u64,
    /// Whether it has ended.
    pub has_ended: bool,
}

#[derive(Clone, Copy, Debug)]
struct Now {
    /// The call; None: it is outside of any.
    number: Option<i64>,
    /// Whether it is a worker of io_uring.
    is_worker: bool,
    wait_ns: u64,
    /// Since when it does not run, if that counts.
    off_ns: Option<u64>,
    /// Since when it waits for what it gave to the kernel before.
    given_ns: Option<u64>,
    /// Whether the call asked a program that is a file system.
    has_asked: bool,
}

impl Now {
    fn in_call(number: Option<i64>, is_worker: bool) -> Self {
        let (off_ns, given_ns) = (None, None);
        Self { number, is_worker, wait_ns: 0, off_ns, given_ns, has_asked: false }
    }
}

/// Which tasks are watched, where it is not all.
#[derive(Debug)]
pub struct Only {
    /// These, their threads, and what they start.
    pub pids: Vec<i32>,
    /// Whether a task is one of these or comes from one. It is asked of calls that were slow.
    pub comes_from: fn(i32, &[i32]) -> bool,
}

/// Watches the events of a recording.
#[derive(Debug)]
pub struct Watch {
    set: EventSet,
    schemas: Schemas,
    arch: Option<String>,
    over_ns: u64,
    only: Option<Only>,
    tasks: HashMap<i32, Now>,
    /// When requests of any disk ended, the last of them.
    ends_ns: VecDeque<u64>,
    /// Sleeps that were late if a request ended when they did: it may be told in a page that comes later.
    maybe: Vec<Seen>,
}

impl Watch {
    /// Watches for calls of storage that wait `over_ns` or longer.
    ///
    /// # Errors
    /// An event lacks a field that all kernels had.
    pub fn new(set: EventSet, arch: Option<String>, over_ns: u64) -> Result<Self> {
        let schemas = Schemas::resolve(&set)?;
        let (tasks, ends_ns, maybe) = (HashMap::new(), VecDeque::new(), Vec::new());
        Ok(Self { set, schemas, arch, over_ns, only: None, tasks, ends_ns, maybe })
    }

    /// Tells of some tasks only.
    pub fn only(&mut self, only: Only) {
        self.only = Some(only);
    }

    fn counts(&self, pid: i32) -> bool {
        self.only.as_ref().is_none_or(|only| (only.comes_from)(pid, &only.pids))
    }

    /// Looks through a page of one processor; gives the slowest call that ended in it. Bytes that are
    /// no page are passed over: they are recorded all the same.
    pub fn page(&mut self, page: &[u8]) -> Option<Seen> {
        let layout = *self.set.layout();
        let mut cursor = PageCursor::new(&layout, page).ok()?;
        let mut slowest: Option<Seen> = None;
        while let Ok(Some(event)) = cursor.next(page) {
            let Ok(Some(known)) = self.schemas.decode(event.id, event.payload) else { continue };
            let Ok(pid) = self.set.pid(event.payload) else { continue };
            let seen = self.event(pid, event.time_ns, &known);
            slowest = slowest.max_by_wait(seen.filter(|seen| self.counts(seen.pid)));
        }
        slowest
    }

    /// The call that has waited longest of those that wait at `now_ns` and have so for long enough.
    #[must_use]
    pub fn waiting(&self, now_ns: u64) -> Option<Seen> {
        self.waiting_over(now_ns, self.over_ns)
    }

    /// The same, of those that wait for so long.
    #[must_use]
    pub fn waiting_over(&self, now_ns: u64, over_ns: u64) -> Option<Seen> {
        let seen = |(pid, now): (&i32, &Now)| {
            let off_ns = now_ns.saturating_sub(now.off_ns?);
            let wait_ns = now.wait_ns.saturating_add(off_ns);
            if wait_ns < over_ns {
                return None;
            }
            let call = self.call(now).filter(|_| self.counts(*pid))?;
            Some(Seen { pid: *pid, call, wait_ns, end_ns: now_ns, has_ended: false })
        };
        self.tasks.iter().filter_map(seen).max_by_key(|seen| seen.wait_ns)
    }

    /// The slowest of the sleeps for I/O that was given to the kernel before; asked when all pages of a time have
    /// been looked through.
    pub fn ended_by_disk(&mut self) -> Option<Seen> {
        let mut slowest: Option<Seen> = None;
        for seen in std::mem::take(&mut self.maybe) {
            let is_end = |at_ns: &u64| {
                *at_ns <= seen.end_ns + APART_NS && at_ns + ENDS_WITHIN_NS >= seen.end_ns
            };
            if self.ends_ns.iter().any(is_end) && self.counts(seen.pid) {
                slowest = slowest.max_by_wait(Some(seen));
            }
        }
        slowest
    }

    /// What a task is in, if that is of storage.
    fn call(&self, now: &Now) -> Option<&'static str> {
        match now.number {
            Some(number) => {
                calls::name(self.arch.as_deref(), number).filter(|call| calls::is_storage(call))
            }
            None if now.is_worker => Some("io_uring"),
            None => Some("page fault"),
        }
    }

    /// The state of a task, made if there is room.
    fn task(&mut self, pid: i32) -> Option<&mut Now> {
        if self.tasks.len() >= TASKS_MAX && !self.tasks.contains_key(&pid) {
            return None;
        }
        Some(self.tasks.entry(pid).or_insert(Now::in_call(None, false)))
    }

    /// A task of which an event is runs, also if no switch to it was told.
    fn is_on(&mut self, pid: i32, time_ns: u64, event: &KernelEvent) {
        // The stack of a switch comes behind it.
        let is_behind = matches!(event, KernelEvent::KernelStack(_));
        if let Some(now) = self.tasks.get_mut(&pid).filter(|_| !is_behind)
            && let Some(off_ns) = now.off_ns.take()
            && now.number.is_some()
        {
            now.wait_ns = now.wait_ns.saturating_add(time_ns.saturating_sub(off_ns));
        }
    }

    fn event(&mut self, pid: i32, time_ns: u64, event: &KernelEvent) -> Option<Seen> {
        self.is_on(pid, time_ns, event);
        match event {
            KernelEvent::SysEnter(enter) => {
                let now = self.task(pid)?;
                *now = Now::in_call(Some(enter.number), now.is_worker);
            }
            KernelEvent::Switch(switch) => {
                // Awake or in a sleep that no signal ends; one that signals end does not count.
                let is_hard = switch.prev_state & 0xff == 2;
                let counts = is_hard || switch.prev_state & 0xff == 0;
                if switch.prev_state & GONE != 0 {
                    self.tasks.remove(&switch.prev_pid);
                }
                if is_hard
                    && switch.prev_comm.as_bytes().starts_with(b"iou-wrk")
                    && let Some(worker) = self.task(switch.prev_pid)
                {
                    worker.is_worker = true;
                }
                let may_be_ended = switch.prev_state & 0xff == 1;
                let prev = self.tasks.get(&switch.prev_pid).filter(|_| may_be_ended);
                let call = prev.and_then(|now| self.call(now));
                if let Some(now) = self.tasks.get_mut(&switch.prev_pid) {
                    let counts = if now.number.is_some() { counts } else { is_hard };
                    let is_storage =
                        now.has_asked || call.is_some_and(|one| FILE_LOCKS.contains(&one));
                    now.off_ns = (counts || may_be_ended && is_storage).then_some(time_ns);
                    let is_given = call.is_some_and(|one| ASYNCHRONOUS.contains(&one));
                    now.given_ns = is_given.then_some(time_ns);
                }
                self.goes_on(switch.next_pid, time_ns);
                let now = self.tasks.get_mut(&switch.next_pid)?;
                let wait_ns = time_ns.saturating_sub(now.off_ns.take()?);
                if now.number.is_some() {
                    now.wait_ns = now.wait_ns.saturating_add(wait_ns);
                    return None;
                }
                // Outside of a call each sleep is by itself.
                let now = *now;
                let call = self.call(&now).filter(|_| wait_ns >= self.over_ns)?;
                let (pid, end_ns) = (switch.next_pid, time_ns);
                return Some(Seen { pid, call, wait_ns, end_ns, has_ended: true });
            }
            KernelEvent::SysExit(exit) => {
                let now = self.tasks.get_mut(&pid)?;
                let before = std::mem::replace(now, Now::in_call(None, now.is_worker));
                if before.number != Some(exit.number) || before.wait_ns < self.over_ns {
                    return None;
                }
                let (call, wait_ns, end_ns) = (self.call(&before)?, before.wait_ns, time_ns);
                return Some(Seen { pid, call, wait_ns, end_ns, has_ended: true });
            }
            KernelEvent::FuseSend(_) => {
                if let Some(now) = self.tasks.get_mut(&pid).filter(|now| now.number.is_some()) {
                    now.has_asked = true;
                }
            }
            KernelEvent::RqComplete(_) => {
                if self.ends_ns.len() == ENDS_MAX {
                    self.ends_ns.pop_front();
                }
                self.ends_ns.push_back(time_ns);
            }
            _ => {}
        }
        None
    }

    /// A task runs again that may have waited for what it gave to the kernel before.
    fn goes_on(&mut self, pid: i32, time_ns: u64) {
        let Some(now) = self.tasks.get_mut(&pid) else { return };
        let Some(given_ns) = now.given_ns.take() else { return };
        let (now, wait_ns) = (*now, time_ns.saturating_sub(given_ns));
        if wait_ns >= self.over_ns
            && self.maybe.len() < MAYBE_MAX
            && let Some(call) = self.call(&now)
        {
            self.maybe.push(Seen { pid, call, wait_ns, end_ns: time_ns, has_ended: true });
        }
    }
}

trait Slower {
    fn max_by_wait(self, other: Self) -> Self;
}

impl Slower for Option<Seen> {
    fn max_by_wait(self, other: Self) -> Self {
        let wait = |seen: &Self| seen.map_or(0, |seen| seen.wait_ns);
        if wait(&other) > wait(&self) { other } else { self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Name;
    use crate::schema::{Switch, SysEnter, SysExit};

    #[test]
    fn a_call_that_slept_is_seen_and_one_that_idled_is_not() {
        let bytes = include_bytes!("../../../testdata/trace/6.18.trace");
        let trace = crate::file::TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        let arch = Some("x86_64".to_owned());
        let mut watch = Watch::new(trace.events().clone(), arch, 1_000).unwrap();
        let switch = |prev_pid, prev_state, next_pid| {
            let (prev_comm, next_comm) = (Name::new(b"a"), Name::new(b"b"));
            let (prev_prio, next_prio) = (120, 120);
            KernelEvent::Switch(Switch {
                prev_comm,
                prev_pid,
                prev_prio,
                prev_state,
                next_comm,
                next_pid,
                next_prio,
            })
        };
        let mut run = |number, state| {
            let enter = KernelEvent::SysEnter(SysEnter { number, args: [0; 6] });
            let exit = KernelEvent::SysExit(SysExit { number, ret: 0 });
            let events =
                [(0, enter), (10, switch(7, state, 0)), (5_010, switch(0, 0, 7)), (5_020, exit)];
            events.into_iter().filter_map(|(at, event)| watch.event(7, at, &event)).next()
        };
        let seen = Seen { pid: 7, call: "write", wait_ns: 5_000, end_ns: 5_020, has_ended: true };
        assert_eq!(run(1, 2), Some(seen));
        assert_eq!(run(1, 0), Some(seen));
        // Asleep until a signal; and a call that is none of storage.
        assert_eq!(run(1, 1), None);
        assert_eq!(run(39, 2), None);
    }

    #[test]
    fn what_still_waits_is_seen_before_it_ends() {
        let bytes = include_bytes!("../../../testdata/trace/6.18.trace");
        let trace = crate::file::TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        let arch = Some("x86_64".to_owned());
        let mut watch = Watch::new(trace.events().clone(), arch, 1_000).unwrap();
        let switch = |(comm, prev_pid, prev_state): (&str, i32, i64), next_pid| {
            KernelEvent::Switch(Switch {
                prev_comm: Name::new(comm.as_bytes()),
                prev_pid,
                prev_prio: 120,
                prev_state,
                next_comm: Name::new(b"b"),
                next_pid,
                next_prio: 120,
            })
        };
        let enter = |number| KernelEvent::SysEnter(SysEnter { number, args: [0; 6] });
        let exit = |number| KernelEvent::SysExit(SysExit { number, ret: 0 });
        let told = |seen: Option<Seen>| seen.map(|seen| (seen.call, seen.wait_ns, seen.has_ended));
        // A write that waits in two sleeps.
        assert_eq!(watch.event(7, 0, &enter(1)), None);
        assert_eq!(watch.event(7, 100, &switch(("a", 7, 2), 0)), None);
        assert_eq!(watch.event(0, 700, &switch(("idle", 0, 0), 7)), None);
        assert_eq!(watch.event(7, 800, &switch(("a", 7, 2), 0)), None);
        assert_eq!(told(watch.waiting(1_100)), None);
        assert_eq!(told(watch.waiting(1_300)), Some(("write", 1_100, false)));
        assert_eq!(watch.event(0, 2_000, &switch(("idle", 0, 0), 7)), None);
        assert_eq!(told(watch.event(7, 2_100, &exit(1))), Some(("write", 1_800, true)));
        // It touches memory; a sleep that a signal ends is none of that.
        assert_eq!(watch.event(7, 3_000, &switch(("a", 7, 1), 0)), None);
        assert_eq!(told(watch.waiting(9_000)), None);
        assert_eq!(watch.event(0, 9_000, &switch(("idle", 0, 0), 7)), None);
        assert_eq!(watch.event(7, 9_100, &switch(("a", 7, 2), 0)), None);
        assert_eq!(told(watch.waiting(11_000)), Some(("page fault", 1_900, false)));
        let ended = watch.event(0, 12_000, &switch(("idle", 0, 0), 7));
        assert_eq!(told(ended), Some(("page fault", 2_900, true)));
        // A worker of io_uring makes no calls; a thread of the kernel is nobody's call.
        assert_eq!(watch.event(8, 13_000, &switch(("iou-wrk-7", 8, 2), 0)), None);
        assert_eq!(watch.event(9, 13_000, &switch(("kworker/0:1", 9, 2), 0)), None);
        assert_eq!(told(watch.waiting(15_000)), Some(("io_uring", 2_000, false)));
        // Who has ended waits no more.
        assert_eq!(watch.event(8, 15_000, &switch(("iou-wrk-7", 8, 0x20), 0)), None);
        assert_eq!(told(watch.waiting(99_000)), None);
    }

    #[test]
    fn a_wait_is_counted_though_the_switch_that_ended_it_is_not_told() {
        let bytes = include_bytes!("../../../testdata/trace/6.18.trace");
        let trace = crate::file::TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        let arch = Some("x86_64".to_owned());
        let mut watch = Watch::new(trace.events().clone(), arch, 1_000).unwrap();
        let asleep = KernelEvent::Switch(Switch {
            prev_comm: Name::new(b"a"),
            prev_pid: 7,
            prev_prio: 120,
            prev_state: 2,
            next_comm: Name::new(b"b"),
            next_pid: 0,
            next_prio: 120,
        });
        let enter = KernelEvent::SysEnter(SysEnter { number: 1, args: [0; 6] });
        assert_eq!(watch.event(7, 0, &enter), None);
        assert_eq!(watch.event(7, 100, &asleep), None);
        // It runs, as it sleeps again.
        assert_eq!(watch.event(7, 1_900, &asleep), None);
        let exit = KernelEvent::SysExit(SysExit { number: 1, ret: 0 });
        let seen = watch.event(7, 2_100, &exit).unwrap();
        assert_eq!((seen.wait_ns, seen.has_ended), (2_000, true));
        assert_eq!(watch.waiting(9_000), None);
    }

    #[test]
    fn sleeps_that_signals_end_are_seen_if_they_are_for_storage() {
        let bytes = include_bytes!("../../../testdata/trace/6.18.trace");
        let trace = crate::file::TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        let arch = Some("x86_64".to_owned());
        let mut watch = Watch::new(trace.events().clone(), arch, 1_000_000).unwrap();
        let switch = |prev_pid, prev_state, next_pid| {
            let (prev_comm, next_comm) = (Name::new(b"a"), Name::new(b"b"));
            let (prev_prio, next_prio) = (120, 120);
            KernelEvent::Switch(Switch {
                prev_comm,
                prev_pid,
                prev_prio,
                prev_state,
                next_comm,
                next_pid,
                next_prio,
            })
        };
        const MS: u64 = 1_000_000;
        const READ: i64 = 0;
        const FLOCK: i64 = 73;
        const URING: i64 = 426;
        let mut told = |number, asks: bool, disk_ns: Option<u64>| {
            let enter = KernelEvent::SysEnter(SysEnter { number, args: [0; 6] });
            watch.event(7, 0, &enter);
            if asks {
                watch.event(7, 1, &KernelEvent::FuseSend(crate::schema::FuseSend { unique: 2 }));
            }
            watch.event(7, 10, &switch(7, 1, 0));
            let hangs = watch.waiting(20 * MS).map(|seen| seen.call);
            watch.event(0, 50 * MS, &switch(0, 0, 7));
            let exit = KernelEvent::SysExit(SysExit { number, ret: 0 });
            let ended = watch.event(7, 50 * MS + 10, &exit);
            if let Some(at_ns) = disk_ns {
                watch.ends_ns.push_back(at_ns);
            }
            let ended = ended.or_else(|| watch.ended_by_disk());
            watch.ends_ns.clear();
            (hangs, ended.map(|seen| (seen.call, seen.wait_ns / MS)))
        };
        // A pipe; a lock of a file; a program that is a file system.
        assert_eq!(told(READ, false, Some(49 * MS)), (None, None));
        assert_eq!(told(FLOCK, false, None), (Some("flock"), Some(("flock", 49))));
        assert_eq!(told(READ, true, None), (Some("read"), Some(("read", 49))));
        // I/O of a disk, or of a network: which it was is known when it ends.
        assert_eq!(told(URING, false, Some(49 * MS)), (None, Some(("io_uring_enter", 49))));
        assert_eq!(told(URING, false, Some(10 * MS)), (None, None));
        assert_eq!(told(URING, false, None), (None, None));
    }

    #[test]
    fn only_what_is_asked_for_is_seen() {
        let bytes = include_bytes!("../../../testdata/trace/6.18.trace");
        let trace = crate::file::TraceFile::open(std::io::Cursor::new(&bytes[..])).unwrap();
        let mut watch =
            Watch::new(trace.events().clone(), Some("x86_64".to_owned()), 1_000).unwrap();
        watch.only(Only { pids: vec![8], comes_from: |pid, pids| pids.contains(&pid) });
        let asleep = |prev_pid| {
            KernelEvent::Switch(Switch {
                prev_comm: Name::new(b"a"),
                prev_pid,
                prev_prio: 120,
                prev_state: 2,
                next_comm: Name::new(b"b"),
                next_pid: 0,
                next_prio: 120,
            })
        };
        for (pid, begin_ns) in [(7, 0), (8, 500)] {
            let write = KernelEvent::SysEnter(SysEnter { number: 1, args: [0; 6] });
            assert_eq!(watch.event(pid, begin_ns, &write), None);
            assert_eq!(watch.event(pid, begin_ns, &asleep(pid)), None);
        }
        // The other waits longer.
        assert_eq!(watch.waiting(1_400), None);
        assert_eq!(watch.waiting(9_000).map(|seen| (seen.pid, seen.wait_ns)), Some((8, 8_500)));
    }
}
