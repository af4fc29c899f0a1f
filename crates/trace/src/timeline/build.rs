//! Puts events together to spans, one event at a time.
//!
//! What a task does now is in [`Now`]: the wait, call and handle that are open. An end that comes
//! without its beginning (the trace began in between, or events were lost) makes nothing; a second
//! beginning replaces the first.

mod hangs;
mod journals;
mod probes;
mod requests;
mod tasks;

pub(crate) use hangs::named_addresses;

use super::{Context, Timeline, Wait};
use crate::error::Result;
use crate::event_set::EventSet;
use crate::file::{Ending, Item, TraceFile};
use crate::record::{Device, GroupPath, Name};
use crate::schema::{KernelEvent, RqRequeue, Schemas};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{Read, Seek};

/// What is kept one by one; shorter spans are only counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Waits of a task.
    pub min_wait_ns: u64,
    /// System calls.
    pub min_call_ns: u64,
    /// Waits for a handle.
    pub min_handle_wait_ns: u64,
    /// Handles that were open this long.
    pub min_handle_open_ns: u64,
    /// Spans of all kinds that are kept at most; some hundred bytes each.
    pub spans_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            min_wait_ns: 100_000,
            min_call_ns: 100_000,
            min_handle_wait_ns: 100_000,
            min_handle_open_ns: 1_000_000,
            spans_max: 20_000_000,
        }
    }
}

/// What a task does now.
#[derive(Clone, Debug, Default)]
struct Now {
    wait: Option<Wait>,
    call: Option<super::Call>,
    /// Asked for a handle: journal and time.
    asked: Option<(Device, u64)>,
    handle: Option<super::Handle>,
    sync: Option<super::Sync>,
    reclaim_ns: Option<u64>,
    /// Which of its throttles are of this call.
    call_throttles: usize,
    /// Since when it is on a processor.
    on_ns: Option<u64>,
    /// How long it has been on one, as far as was seen.
    run_ns: u64,
    /// The call that has just returned, until the task is seen to do something else.
    returned: Option<super::Call>,
    /// Where that call is among those that are kept.
    returned_at: Option<usize>,
    /// A call that returned not long before the sleep that lasts, and is not kept.
    returned_before: Option<super::Call>,
    /// Whether a call of it was seen to begin or to end.
    has_called: bool,
    /// Up to when the task is known to have been in its call, if it was in that already when the trace began.
    in_call_ns: Option<u64>,
}

/// Makes a [`Timeline`] of events.
#[derive(Debug)]
pub struct Builder {
    limits: Limits,
    /// The machine's architecture, for names of calls.
    arch: Option<String>,
    line: Timeline,
    now: HashMap<i32, Now>,
    /// Of each processor: the task whose switch was its last event.
    switched: HashMap<u32, i32>,
    /// Requests that are not done.
    requests: requests::Requests,
    /// Sleeps that the probes told, with the calls that they were in.
    in_calls: BTreeMap<i32, Vec<probes::Slept>>,
    /// What tasks slept in when the recording began, and when it ended.
    hangs: [Vec<hangs::Hang>; 2],
    /// Those that slept when a ring saw that somebody waits, and when that was.
    hangs_at_trigger: (u64, Vec<hangs::Hang>),
    /// Addresses of functions that were told by name.
    named: HashMap<String, u64>,
    /// When the first of these was asked for.
    hangs_ns: u64,
    /// Whether each switch is recorded.
    has_switches: bool,
    /// Requests to other programs that have no answer yet: task and time.
    asks: HashMap<u64, (i32, u64)>,
    /// Transactions whose data is being sent.
    flushing: HashMap<Device, BTreeSet<u32>>,
    spans: u64,
}

impl Builder {
    /// A builder of an empty timeline.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            arch: None,
            line: Timeline::default(),
            now: HashMap::new(),
            switched: HashMap::new(),
            requests: requests::Requests::default(),
            in_calls: BTreeMap::new(),
            hangs: [Vec::new(), Vec::new()],
            hangs_at_trigger: (0, Vec::new()),
            named: HashMap::new(),
            hangs_ns: 0,
            has_switches: false,
            asks: HashMap::new(),
            flushing: HashMap::new(),
            spans: 0,
        }
    }

    /// Knows what numbers of calls mean.
    #[must_use]
    pub fn of_arch(self, arch: Option<&str>) -> Self {
        Self { arch: arch.map(str::to_owned), ..self }
    }

    /// Takes the next event. Those of kinds without a schema are only counted.
    ///
    /// # Errors
    /// The event is shorter than its format says.
    pub fn event(
        &mut self,
        set: &EventSet,
        schemas: &Schemas,
        (cpu, time_ns, id): (u32, u64, u16),
        payload: &[u8],
    ) -> Result<()> {
        if self.line.events == 0 {
            self.line.begin_ns = time_ns;
            self.begin_hangs(time_ns);
            let requeue = set.find("block", RqRequeue::EVENT);
            self.requests.tells_requeues = requeue.is_some();
        }
        self.line.events += 1;
        self.line.end_ns = self.line.end_ns.max(time_ns);
        let Some(event) = schemas.decode(id, payload)? else { return Ok(()) };
        let flags = set.flags(payload)?;
        let at = At { cpu, time_ns, pid: set.pid(payload)?, context: context(flags) };
        self.known(at, &event);
        Ok(())
    }

    fn known(&mut self, at: At, event: &KernelEvent) {
        let switched = self.switched.remove(&at.cpu);
        self.is_on(at, event);
        match event {
            KernelEvent::KernelStack(stack) => self.stack(at, switched, stack),
            KernelEvent::Switch(event) => self.switch(at, event),
            KernelEvent::Waking(event) => self.waking(at, event.pid, event.comm),
            KernelEvent::Fork(event) => {
                self.name(event.child_pid, event.child_comm);
                let child = self.line.tasks.entry(event.child_pid).or_default();
                child.parent = Some(event.parent_pid);
                child.born_ns = Some(at.time_ns);
                self.now.remove(&event.child_pid);
            }
            KernelEvent::GroupAttach(event) => {
                self.moved(at, (event.pid, event.hierarchy), &event.path);
            }
            KernelEvent::GroupTransfer(event) => {
                self.moved(at, (event.pid, event.hierarchy), &event.path);
            }
            KernelEvent::Wakeup(event) => self.name(event.pid, event.comm),
            KernelEvent::SysEnter(event) => self.enter(at, event),
            KernelEvent::SysExit(event) => self.exit(at, event),
            KernelEvent::SyncFileEnter(event) => self.sync_begins(at, event),
            KernelEvent::SyncFileExit(_) => self.sync_ends(at),
            KernelEvent::BalanceDirtyPages(event) => self.throttle(at, event),
            KernelEvent::GlobalDirtyState(event) => {
                self.dirty(at.time_ns, event.dirty, event.dirty_limit);
            }
            KernelEvent::ReclaimBegin(_) | KernelEvent::GroupReclaimBegin(_) => {
                self.now.entry(at.pid).or_default().reclaim_ns = Some(at.time_ns);
            }
            KernelEvent::ReclaimEnd(_) | KernelEvent::GroupReclaimEnd(_) => self.reclaimed(at),
            KernelEvent::FuseSend(event) => self.asked(at, event.unique),
            KernelEvent::FuseEnd(event) => self.answered(at, event.unique),
            KernelEvent::RqInsert(event) => self.queue(at, event),
            KernelEvent::RqIssue(event) => self.issue(at, event),
            KernelEvent::RqRequeue(event) => self.requeue(event),
            KernelEvent::RqComplete(event) => self.complete(at, event),
            event => {
                if !self.journal_event(at, event) {
                    self.probe_event(at, event);
                }
            }
        }
    }

    /// Names a task.
    pub fn name(&mut self, pid: i32, name: Name) {
        if pid != 0 {
            self.line.tasks.entry(pid).or_default().name = name;
        }
    }

    /// A task came to a control group.
    fn moved(&mut self, at: At, (pid, hierarchy): (i32, i32), path: &GroupPath) {
        if self.room() {
            let group = path.whole().map(str::to_owned);
            let one = super::Move { at_ns: at.time_ns, hierarchy, group };
            self.line.tasks.entry(pid).or_default().moves.push(one);
        }
    }

    /// Names a task that was met, and whose events did not say how it is called.
    fn name_if_met(&mut self, pid: i32, name: Name) {
        if let Some(task) =
            self.line.tasks.get_mut(&pid).filter(|task| task.name == Name::default())
        {
            task.name = name;
        }
    }

    /// Events were lost here.
    pub fn lost(&mut self, events: Option<u64>) {
        self.line.lost_events = self.line.lost_events.saturating_add(events.unwrap_or(0));
        self.line.lost_places += u64::from(events.is_none());
    }

    /// The spans, with those that are still open.
    #[must_use]
    pub fn finish(mut self) -> Timeline {
        self.end_hangs();
        for (pid, begin_ns) in std::mem::take(&mut self.asks).into_values() {
            let ask = super::Ask { begin_ns, end_ns: None, answered_by: None };
            self.line.tasks.entry(pid).or_default().asks.push(ask);
        }
        for (pid, now) in std::mem::take(&mut self.now) {
            self.open_at_end(pid, now);
        }
        self.add_earlier();
        self.sleeps_to_calls();
        if !self.line.calls_are_counted {
            self.count_kept_calls();
        }
        // The probes tell a sleep when it is over.
        for task in self.line.tasks.values_mut() {
            task.waits.sort_by_key(|wait| wait.begin_ns);
            task.handles.sort_by_key(|handle| handle.begin_ns);
            task.calls.sort_by_key(|call| call.begin_ns);
            task.faults.sort_unstable();
            task.asks.sort_by_key(|ask| ask.begin_ns);
        }
        self.line
    }

    fn dirty(&mut self, time_ns: u64, dirty: u64, limit: u64) {
        const EVERY_NS: u64 = 10_000_000;
        let last_ns = self.line.dirty_pages.last().map_or(0, |(time_ns, ..)| *time_ns);
        if time_ns >= last_ns.saturating_add(EVERY_NS) && self.room() {
            self.line.dirty_pages.push((time_ns, dirty, limit));
        }
    }

    /// Whether another span may be kept.
    fn room(&mut self) -> bool {
        let room = self.spans < self.limits.spans_max;
        self.spans += u64::from(room);
        self.line.dropped_spans += u64::from(!room);
        room
    }
}

/// Names of a trace that are taken before its events are read: as many tasks as most machines have at once.
/// Of more only those that the events meet: a name takes six bytes of a file, and a task in memory some 700.
const NAMES_MAX: usize = 1 << 15;

/// Where, when and in whose context an event happened.
#[derive(Clone, Copy, Debug)]
struct At {
    cpu: u32,
    time_ns: u64,
    pid: i32,
    context: Context,
}

fn context(flags: u8) -> Context {
    // TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ of include/linux/trace_events.h, since 2.6.
    match flags {
        flags if flags & 0x08 != 0 => Context::Interrupt,
        flags if flags & 0x10 != 0 => Context::SoftInterrupt,
        _ => Context::Task,
    }
}

impl Timeline {
    /// The timeline of a recorded trace.
    ///
    /// # Errors
    /// Those of reading; an event that this kernel has in a form that is not known.
    pub fn of<R: Read + Seek>(trace: &mut TraceFile<R>, limits: Limits) -> Result<Self> {
        let set = trace.events().clone();
        let schemas = Schemas::resolve(&set)?;
        let mut builder = Builder::new(limits).of_arch(trace.machine().arch.as_deref());
        for (pid, name) in trace.tasks().iter().take(NAMES_MAX) {
            builder.name(*pid, *name);
        }
        builder.hangs_at_begin(trace.facts());
        builder.hangs_at_end(trace.facts());
        builder.line.is_cut = !matches!(trace.ending(), Ending::Finished);
        let mut merged = trace.merge()?;
        while let Some(item) = merged.next()? {
            match item {
                Item::Event { cpu, time_ns, id, payload } => {
                    builder.event(&set, &schemas, (cpu, time_ns, id), payload)?;
                }
                Item::Lost { events, .. } => builder.lost(events),
                Item::Damaged { .. } => builder.line.damaged_pages += 1,
            }
        }
        for (pid, name) in trace.tasks().iter().skip(NAMES_MAX) {
            builder.name_if_met(*pid, *name);
        }
        Ok(builder.finish())
    }
}
