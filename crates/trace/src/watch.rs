//! Sees slow calls while events come, to say when a recording has caught what it was made for.
//!
//! As [`explain`](crate::explain) it counts only time in which a task slept that no signal wakes, or
//! had no processor: a read of an empty pipe is no slow call.
//!
//! Invariant: memory is bounded by the number of tasks. Held by
//! `a_call_that_slept_is_seen_and_one_that_idled_is_not`.

use crate::calls;
use crate::error::Result;
use crate::event_set::EventSet;
use crate::ring_page::PageCursor;
use crate::schema::{KernelEvent, Schemas};
use std::collections::HashMap;

/// Tasks that are watched at once; a machine with more has some unwatched for a while.
const TASKS_MAX: usize = 1 << 16;

/// A call that was slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The task.
    pub pid: i32,
    /// The call.
    pub call: &'static str,
    /// How long it waited.
    pub wait_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

#[derive(Clone, Copy, Debug)]
struct Now {
    number: i64,
    wait_ns: u64,
    /// Since when it does not run, if that counts.
    off_ns: Option<u64>,
}

/// Watches the events of a recording.
#[derive(Debug)]
pub struct Watch {
    set: EventSet,
    schemas: Schemas,
    arch: Option<String>,
    over_ns: u64,
    tasks: HashMap<i32, Now>,
}

impl Watch {
    /// Watches for calls of storage that wait `over_ns` or longer.
    ///
    /// # Errors
    /// An event lacks a field that all kernels had.
    pub fn new(set: EventSet, arch: Option<String>, over_ns: u64) -> Result<Self> {
        let schemas = Schemas::resolve(&set)?;
        Ok(Self { set, schemas, arch, over_ns, tasks: HashMap::new() })
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
            slowest = slowest.max_by_wait(seen);
        }
        slowest
    }

    fn event(&mut self, pid: i32, time_ns: u64, event: &KernelEvent) -> Option<Seen> {
        match event {
            KernelEvent::SysEnter(enter) if self.tasks.len() < TASKS_MAX => {
                let now = Now { number: enter.number, wait_ns: 0, off_ns: None };
                self.tasks.insert(pid, now);
            }
            KernelEvent::Switch(switch) => {
                // Awake or in a sleep that no signal ends; one that signals end does not count.
                let counts = matches!(switch.prev_state & 0xff, 0 | 2);
                if let Some(now) = self.tasks.get_mut(&switch.prev_pid) {
                    now.off_ns = counts.then_some(time_ns);
                }
                if let Some(now) = self.tasks.get_mut(&switch.next_pid)
                    && let Some(off_ns) = now.off_ns.take()
                {
                    now.wait_ns += time_ns.saturating_sub(off_ns);
                }
            }
            KernelEvent::SysExit(exit) => {
                let now = self.tasks.remove(&pid).filter(|now| now.number == exit.number)?;
                let call = calls::name(self.arch.as_deref(), now.number)?;
                let slow = now.wait_ns >= self.over_ns && calls::is_storage(call);
                return slow.then_some(Seen { pid, call, wait_ns: now.wait_ns, end_ns: time_ns });
            }
            _ => {}
        }
        None
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
        let seen = Seen { pid: 7, call: "write", wait_ns: 5_000, end_ns: 5_020 };
        assert_eq!(run(1, 2), Some(seen));
        assert_eq!(run(1, 0), Some(seen));
        // Asleep until a signal; and a call that is none of storage.
        assert_eq!(run(1, 1), None);
        assert_eq!(run(39, 2), None);
    }
}
