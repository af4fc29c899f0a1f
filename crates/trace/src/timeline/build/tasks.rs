//! What tasks do: calls, waits, syncs, throttles, reclaim.
//!
//! Invariant: a sleep is not lost with the switch that ended it; of a page fault that is throttled several
//! times there is one. Held by `a_task_that_does_something_has_come`, `every_call_is_told_once`,
//! `a_fault_that_is_throttled_several_times_is_one`, `a_call_that_began_before_the_trace_is_one`.

use super::{At, Builder, Now};
use crate::record::Name;
use crate::schema::{
    BalanceDirtyPages, KernelEvent, KernelStack, Switch, SyncFileEnter, SysEnter, SysExit,
};
use crate::timeline::{Ask, Call, Processor, Sync, Task, Throttle, Wait, WaitKind, Waker};

/// States of `sched_switch` (`TASK_STATE_TO_CHAR_STR` of include/linux/sched.h): these bits have
/// meant the same since 4.14, commit efb40f588b43 "sched/tracing: Fix trace_sched_switch task-state
/// printing"; 2 includes a sleep that only a deadly signal ends.
const SLEEPS: i64 = 2;
const INTERRUPTIBLE: i64 = 1;
/// Stopped by a signal or by a debugger.
const STOPS: i64 = 4 | 8;
/// Dead tasks and zombies.
const ENDS: i64 = 16 | 32;
/// Between the event of a throttle and its sleep.
const THROTTLES_NS: u64 = 1_000_000;
/// What lies between the event of a call's return and what the kernel does on the way to the program.
const RETURNS_NS: u64 = 50_000;
/// The same of work that was left for that way, as its stack will tell.
const WORKS_NS: u64 = 10_000_000;

impl Builder {
    pub(super) fn switch(&mut self, at: At, event: &Switch) {
        self.has_switches = true;
        self.name(event.prev_pid, event.prev_comm);
        self.name(event.next_pid, event.next_comm);
        if event.prev_pid != 0 {
            self.goes(at, event);
            self.switched.insert(at.cpu, event.prev_pid);
        }
        if event.next_pid != 0 {
            self.comes(at, event.next_pid, Some(event.prev_pid));
        }
    }

    /// An event is of a task, so that it is on a processor: also if its coming was not told. Kernels leave out
    /// switches from tasks that are not to be traced, and events are lost.
    pub(super) fn is_on(&mut self, at: At, event: &KernelEvent) {
        // The stack of a switch comes behind it.
        let is_behind = matches!(event, KernelEvent::KernelStack(_));
        let is_off = || self.now.get(&at.pid).is_some_and(|now| now.wait.is_some());
        if self.has_switches && at.pid != 0 && !is_behind && is_off() {
            self.comes(at, at.pid, None);
        }
    }

    /// A task leaves its processor.
    fn goes(&mut self, at: At, event: &Switch) {
        let kind = match event.prev_state {
            state if state & ENDS != 0 => None,
            state if state & SLEEPS != 0 => Some(WaitKind::Sleep),
            state if state & INTERRUPTIBLE != 0 => Some(WaitKind::Interruptible),
            state if state & STOPS != 0 => Some(WaitKind::Stopped),
            // Running: by its own will or not, another goes first.
            state if state & 0xff == 0 => Some(WaitKind::Runnable),
            // Idle, parked.
            _ => Some(WaitKind::Interruptible),
        };
        let begin_ns = self.line.begin_ns;
        let now = self.now.entry(event.prev_pid).or_default();
        // One that was not seen to come has been there since the trace began.
        let on_ns = now.on_ns.take().unwrap_or(if now.run_ns == 0 { begin_ns } else { at.time_ns });
        now.run_ns += at.time_ns.saturating_sub(on_ns);
        if kind.is_none() {
            // `exit` does not return.
            now.call = None;
            self.line.tasks.entry(event.prev_pid).or_default().ended_ns = Some(at.time_ns);
        }
        let late = |call: &Call| call.end_ns.is_none_or(|end_ns| end_ns + RETURNS_NS < at.time_ns);
        now.returned_before = None;
        if kind == Some(WaitKind::Interruptible) || now.returned.as_ref().is_some_and(late) {
            let is_near =
                |call: &Call| call.end_ns.is_some_and(|end_ns| end_ns + WORKS_NS > at.time_ns);
            let is_sleep = kind == Some(WaitKind::Sleep) && now.returned_at.is_none();
            now.returned_before = now.returned.take().filter(|call| is_sleep && is_near(call));
        }
        let processor = Processor { run_ns: Some(now.run_ns), ..Processor::default() };
        now.wait = kind.map(|kind| Wait {
            kind,
            begin_ns: at.time_ns,
            woken_ns: None,
            end_ns: None,
            stack: None,
            waker: None,
            next_pid: Some(event.next_pid),
            processor,
        });
    }

    /// A task gets a processor, after another.
    fn comes(&mut self, at: At, pid: i32, before_pid: Option<i32>) {
        let now = self.now.entry(pid).or_default();
        now.on_ns = Some(at.time_ns);
        let Some(mut wait) = now.wait.take() else { return };
        wait.end_ns = Some(at.time_ns);
        wait.processor.before_pid = before_pid;
        // The one that lasted when the trace began.
        if now.in_call_ns.is_some_and(|since_ns| since_ns == wait.begin_ns) {
            now.in_call_ns = Some(at.time_ns);
        }
        // A task that is stopped or held for its group's quota returns from its call and is not yet in
        // its own code: for who called the call lasts.
        if let Some(mut call) = now.returned.take() {
            let returned_ns = call.end_ns.replace(at.time_ns).unwrap_or(at.time_ns);
            let (is_long, kept_at) =
                (wait.duration_ns(0) >= self.limits.min_call_ns, now.returned_at);
            now.returned = Some(call);
            let room = is_long && (kept_at.is_some() || self.room());
            let task = self.line.tasks.entry(pid).or_default();
            let is_kept = is_long && (kept_at.is_some() || room);
            if is_kept && task.returns.last().is_none_or(|last| last.0 != call.begin_ns) {
                task.returns.push((call.begin_ns, returned_ns));
            }
            match kept_at.and_then(|index| task.calls.get_mut(index)) {
                Some(kept) if is_long => kept.end_ns = call.end_ns,
                None if room => {
                    task.calls.push(call);
                    let index = task.calls.len() - 1;
                    if let Some(now) = self.now.get_mut(&pid) {
                        now.returned_at = Some(index);
                    }
                }
                _ => {}
            }
        }
        let before = self.now.get_mut(&pid).and_then(|now| now.returned_before.take());
        if let Some(call) = before.filter(|_| wait.duration_ns(0) >= self.limits.min_call_ns)
            && self.room()
        {
            self.line.tasks.entry(pid).or_default().calls.push(call);
        }
        self.waited(pid, wait);
    }

    /// Keeps a wait that has ended.
    pub(super) fn waited(&mut self, pid: i32, wait: Wait) {
        self.fault_lasts(pid, &wait);
        if wait.duration_ns(wait.begin_ns) >= self.limits.min_wait_ns && self.room() {
            self.line.tasks.entry(pid).or_default().waits.push(wait);
        }
    }

    pub(super) fn waking(&mut self, at: At, pid: i32, name: Name) {
        self.name(pid, name);
        let call = self.now.get(&at.pid).and_then(|now| now.call).map(|call| call.number);
        let wait = self.now.get_mut(&pid).and_then(|now| now.wait.as_mut());
        if let Some(wait) = wait.filter(|wait| wait.kind != WaitKind::Runnable) {
            wait.woken_ns.get_or_insert(at.time_ns);
            wait.waker.get_or_insert(Waker { pid: at.pid, context: at.context, call });
        }
    }

    pub(super) fn stack(&mut self, at: At, switched: Option<i32>, event: &KernelStack) {
        // It belongs to the event before it on this processor, if that was a switch of this task.
        if switched != Some(at.pid) {
            return;
        }
        let size = usize::try_from(event.size).unwrap_or(0);
        let stack = self.line.stacks.add(event.frames.first(size, false));
        if let Some(wait) = self.now.get_mut(&at.pid).and_then(|now| now.wait.as_mut()) {
            wait.stack = Some(stack);
        }
    }

    pub(super) fn enter(&mut self, at: At, event: &SysEnter) {
        self.line.calls_are_exact = true;
        self.returned_before(at.pid);
        let now = self.now.entry(at.pid).or_default();
        now.has_called = true;
        now.call = Some(Call {
            number: event.number,
            args: event.args,
            begin_ns: at.time_ns,
            end_ns: None,
            ret: 0,
        });
        now.call_throttles = 0;
        now.returned = None;
    }

    /// The event of a call's return comes before the work that is left for the way back, as that of `umount`
    /// (`task_work_run`): a call that a task slept in when the trace began may have had it. It ended with that sleep,
    /// if nothing else tells.
    fn returned_before(&mut self, pid: i32) {
        let Some(now) = self.now.get_mut(&pid) else { return };
        let Some((end_ns, call)) = now.in_call_ns.take().zip(now.call.take()) else { return };
        let is_long = end_ns.saturating_sub(call.begin_ns) >= self.limits.min_call_ns;
        if is_long && self.room() {
            let calls = &mut self.line.tasks.entry(pid).or_default().calls;
            calls.push(Call { end_ns: Some(end_ns), ..call });
        }
    }

    pub(super) fn exit(&mut self, at: At, event: &SysExit) {
        let Some(call) = self.now.get_mut(&at.pid).and_then(|now| now.call.take()) else {
            return self.began_before(at, event);
        };
        if let Some(now) = self.now.get_mut(&at.pid) {
            (now.has_called, now.in_call_ns) = (true, None);
        }
        // A signal's handler was entered in between, or events were lost.
        if call.number != event.number {
            return;
        }
        self.line.calls_are_counted = true;
        let duration_ns = at.time_ns.saturating_sub(call.begin_ns);
        let keep = duration_ns >= self.limits.min_call_ns && self.room();
        let task = self.line.tasks.entry(at.pid).or_default();
        task.call_counts.entry(event.number).or_default().add(duration_ns, event.ret);
        let ended = Call { end_ns: Some(at.time_ns), ret: event.ret, ..call };
        if keep {
            task.calls.push(ended);
        }
        let kept_at = keep.then(|| task.calls.len() - 1);
        if let Some(now) = self.now.get_mut(&at.pid) {
            (now.returned, now.returned_at) = (Some(ended), kept_at);
        }
    }

    /// A call ends that was not seen to begin. If it is the first of its task that is told, it began before the
    /// trace: it is kept from there on, and not counted, since how long it took is not known.
    fn began_before(&mut self, at: At, event: &SysExit) {
        (self.line.calls_are_exact, self.line.calls_are_counted) = (true, true);
        let first = !std::mem::replace(&mut self.now.entry(at.pid).or_default().has_called, true);
        let is_known = self.lasted_at_begin(at.pid) && event.number >= 0;
        let begin_ns = self.line.begin_ns;
        let is_long = at.time_ns.saturating_sub(begin_ns) >= self.limits.min_call_ns;
        if !(first && is_known && is_long && self.room()) {
            return;
        }
        let (end_ns, ret) = (Some(at.time_ns), event.ret);
        let call = Call { number: event.number, args: [0; 6], begin_ns, end_ns, ret };
        let calls = &mut self.line.tasks.entry(at.pid).or_default().calls;
        calls.push(call);
        let kept_at = Some(calls.len() - 1);
        if let Some(now) = self.now.get_mut(&at.pid) {
            (now.returned, now.returned_at) = (Some(call), kept_at);
        }
    }

    /// Whether a task without a call so far that is told was there when the trace began, and nothing of it can
    /// have been lost since: then its first call that is in the trace was already made.
    pub(super) fn lasted_at_begin(&self, pid: i32) -> bool {
        let is_born = self.line.tasks.get(&pid).is_some_and(|task| task.born_ns.is_some());
        !is_born && self.line.lost_events == 0 && self.line.lost_places == 0
    }

    /// Where no call was seen to return: of those that are kept, as many as there are.
    pub(super) fn count_kept_calls(&mut self) {
        for task in self.line.tasks.values_mut() {
            for call in &task.calls {
                let Some(end_ns) = call.end_ns else { continue };
                let count = task.call_counts.entry(call.number).or_default();
                count.add(end_ns.saturating_sub(call.begin_ns), call.ret);
            }
        }
    }

    /// A request goes to the program that is a file system.
    pub(super) fn asked(&mut self, at: At, unique: u64) {
        if self.asks.len() < 1 << 16 {
            self.asks.insert(unique, (at.pid, at.time_ns));
        }
    }

    /// It has answered.
    pub(super) fn answered(&mut self, at: At, unique: u64) {
        let Some((pid, begin_ns)) = self.asks.remove(&unique) else { return };
        let is_long = at.time_ns.saturating_sub(begin_ns) >= self.limits.min_wait_ns;
        if is_long && self.room() {
            let ask = Ask { begin_ns, end_ns: Some(at.time_ns), answered_by: Some(at.pid) };
            self.line.tasks.entry(pid).or_default().asks.push(ask);
        }
    }

    pub(super) fn sync_begins(&mut self, at: At, event: &SyncFileEnter) {
        self.now.entry(at.pid).or_default().sync = Some(Sync {
            device: event.dev,
            ino: event.ino,
            data_only: event.datasync,
            begin_ns: at.time_ns,
            end_ns: None,
        });
    }

    pub(super) fn sync_ends(&mut self, at: At) {
        let sync = self.now.get_mut(&at.pid).and_then(|now| now.sync.take());
        if let Some(sync) = sync
            && self.room()
        {
            let ended = Sync { end_ns: Some(at.time_ns), ..sync };
            self.line.tasks.entry(at.pid).or_default().syncs.push(ended);
        }
    }

    pub(super) fn throttle(&mut self, at: At, event: &BalanceDirtyPages) {
        self.dirty(at.time_ns, event.dirty, event.limit);
        let Ok(pause_ms @ 1..) = u64::try_from(event.pause_ms) else { return };
        if !self.room() {
            return;
        }
        self.throttled_outside(at, event.paused_ms);
        self.line.tasks.entry(at.pid).or_default().throttles.push(Throttle {
            begin_ns: at.time_ns,
            pause_ms,
            bdi: event.bdi,
            dirty: event.dirty,
            limit: event.limit,
            setpoint: event.setpoint,
            device_dirty: event.wb_dirty,
            device_setpoint: event.wb_setpoint,
            task_rate_kbs: event.task_ratelimit_kbs,
            device_rate_kbs: event.dirty_ratelimit_kbs,
        });
    }

    /// Several sleeps of one page fault: the kernel says how long this throttling has taken so far.
    fn throttled_outside(&mut self, at: At, paused_ms: u64) {
        // The probes tell stays in the kernel, and have no switches.
        if !self.has_switches || self.now.get(&at.pid).is_none_or(|now| now.call.is_some()) {
            return;
        }
        let task = self.line.tasks.entry(at.pid).or_default();
        if paused_ms == 0 || task.faults.is_empty() {
            let begin_ns = at.time_ns.saturating_sub(paused_ms.saturating_mul(1_000_000));
            task.faults.push((begin_ns, at.time_ns));
        }
    }

    /// A sleep right behind a throttle is of the page fault that was throttled.
    fn fault_lasts(&mut self, pid: i32, wait: &Wait) {
        let end_ns = wait.end_ns.unwrap_or(self.line.end_ns);
        let Some(task) = self.line.tasks.get_mut(&pid).filter(|_| self.has_switches) else {
            return;
        };
        let throttled_ns = task.throttles.last().map_or(u64::MAX, |one| one.begin_ns);
        let is_of_it = wait.begin_ns.checked_sub(throttled_ns).is_some_and(|ns| ns < THROTTLES_NS);
        if let Some((begin_ns, last_ns)) = task.faults.last_mut()
            && is_of_it
            && *begin_ns <= throttled_ns
        {
            *last_ns = end_ns;
        }
    }

    pub(super) fn reclaimed(&mut self, at: At) {
        let begin_ns = self.now.get_mut(&at.pid).and_then(|now| now.reclaim_ns.take());
        if let Some(begin_ns) = begin_ns
            && self.room()
        {
            let task = self.line.tasks.entry(at.pid).or_default();
            task.reclaims.push((begin_ns, at.time_ns));
        }
    }

    /// Keeps what a task was doing when the trace ended.
    pub(super) fn open_at_end(&mut self, pid: i32, now: Now) {
        let end_ns = self.line.end_ns;
        let long = |begin_ns: u64, limit_ns: u64| end_ns.saturating_sub(begin_ns) >= limit_ns;
        let limits = self.limits;
        if let Some(wait) = &now.wait {
            self.fault_lasts(pid, wait);
        }
        let task: &mut Task = self.line.tasks.entry(pid).or_default();
        task.waits.extend(now.wait.filter(|wait| long(wait.begin_ns, limits.min_wait_ns)));
        task.calls.extend(now.call.filter(|call| long(call.begin_ns, limits.min_call_ns)));
        task.handles
            .extend(now.handle.filter(|open| long(open.begin_ns, limits.min_handle_open_ns)));
        task.syncs.extend(now.sync);
        task.reclaims.extend(now.reclaim_ns.map(|begin_ns| (begin_ns, end_ns)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Frames;
    use crate::schema::Waking;
    use crate::timeline::{Context, Limits};

    fn switch(prev_pid: i32, prev_state: i64, next_pid: i32) -> KernelEvent {
        KernelEvent::Switch(Switch {
            prev_comm: Name::new(b"a"),
            prev_pid,
            prev_prio: 120,
            prev_state,
            next_comm: Name::new(b"b"),
            next_pid,
            next_prio: 120,
        })
    }

    #[test]
    fn a_fault_that_is_throttled_several_times_is_one() {
        const MS: u64 = 1_000_000;
        let told = |in_a_call: bool| {
            let mut builder = Builder::new(Limits::default());
            let mut at = |at_ms: u64, event: KernelEvent| {
                let at = At { cpu: 0, time_ns: at_ms * MS, pid: 7, context: Context::Task };
                builder.known(at, &event);
                builder.line.end_ns = at.time_ns;
            };
            if in_a_call {
                at(1, KernelEvent::SysEnter(SysEnter { number: 1, args: [0; 6] }));
            }
            // Of the second fault the end is not in the trace.
            for (at_ms, paused_ms, end_ms) in
                [(10, 0, 110), (110, 100, 210), (210, 200, 300), (310, 0, 410), (410, 100, 0)]
            {
                let throttle = BalanceDirtyPages {
                    bdi: Name::new(b"8:0"),
                    limit: 0,
                    setpoint: 0,
                    dirty: 0,
                    wb_setpoint: 0,
                    wb_dirty: 0,
                    dirty_ratelimit_kbs: 0,
                    task_ratelimit_kbs: 0,
                    dirtied: 0,
                    dirtied_pause: 0,
                    paused_ms,
                    pause_ms: 100,
                    period_ms: 100,
                    think_ms: 0,
                    cgroup_ino: 1,
                };
                at(at_ms, KernelEvent::BalanceDirtyPages(throttle));
                at(at_ms, switch(7, SLEEPS, 9));
                if end_ms != 0 {
                    at(end_ms, switch(9, 0, 7));
                }
            }
            at(600, switch(9, 0, 8));
            let faults = builder.finish().tasks.remove(&7).unwrap().faults;
            faults.iter().map(|(from, to)| (from / MS, to / MS)).collect::<Vec<_>>()
        };
        assert_eq!(told(false), [(10, 300), (310, 600)]);
        assert_eq!(told(true), []);
    }

    #[test]
    fn a_task_that_does_something_has_come() {
        const MS: u64 = 1_000_000;
        let stack = KernelStack { size: 1, frames: Frames::new([7]) };
        let waking = Waking { comm: Name::new(b"a"), pid: 7, prio: 120, target_cpu: 0 };
        let told = |shows: KernelEvent| {
            let mut builder = Builder::new(Limits::default());
            // The switch to it is not told.
            for (at_ms, pid, event) in [
                (1, 7, KernelEvent::SysEnter(SysEnter { number: 1, args: [0; 6] })),
                (2, 7, switch(7, SLEEPS, 9)),
                (2, 7, KernelEvent::KernelStack(stack)),
                (40, 9, KernelEvent::Waking(waking)),
                (50, 7, shows),
                (90, 8, switch(8, SLEEPS, 9)),
            ] {
                let at = At { cpu: 0, time_ns: at_ms * MS, pid, context: Context::Task };
                builder.known(at, &event);
                builder.line.end_ns = at.time_ns;
            }
            let task = builder.finish().tasks.remove(&7).unwrap();
            let waits = task.waits.iter().map(|one| {
                let ms = |ns: Option<u64>| ns.map(|ns| ns / MS);
                (one.begin_ns / MS, ms(one.woken_ns), ms(one.end_ns), one.stack.is_some())
            });
            waits.collect::<Vec<_>>()
        };
        let whole = (2, Some(40), Some(50), true);
        assert_eq!(told(KernelEvent::SysExit(SysExit { number: 1, ret: 0 })), [whole]);
        // It sleeps again.
        assert_eq!(told(switch(7, SLEEPS, 8)), [whole, (50, None, None, false)]);
    }

    #[test]
    fn a_call_that_began_before_the_trace_is_one() {
        const MS: u64 = 1_000_000;
        let told = |before: &[KernelEvent], lost: bool, end: KernelEvent| {
            let mut builder = Builder::new(Limits::default());
            builder.line.begin_ns = MS;
            if lost {
                builder.lost(None);
            }
            let sleeps = [(10, switch(7, SLEEPS, 9)), (110, switch(9, 0, 7))];
            let again = [(120, switch(7, SLEEPS, 9)), (320, switch(9, 0, 7)), (321, end)];
            let before = before.iter().map(|event| (5, *event));
            for (at_ms, event) in before.chain(sleeps).chain(again) {
                let at = At { cpu: 0, time_ns: at_ms * MS, pid: 7, context: Context::Task };
                builder.known(at, &event);
                builder.line.end_ns = at.time_ns;
            }
            let task = builder.finish().tasks.remove(&7).unwrap();
            let ms = |one: &Call| (one.number, one.begin_ns / MS, one.end_ns.map(|ns| ns / MS));
            (task.calls.iter().map(ms).collect::<Vec<_>>(), task.call_counts.len())
        };
        let ends = |number| KernelEvent::SysExit(SysExit { number, ret: 0 });
        assert_eq!(told(&[], false, ends(166)), (vec![(166, 1, Some(321))], 0));
        // A signal's handler has ended, not a call.
        assert_eq!(told(&[], false, ends(-1)), (vec![], 0));
        // Its beginning may have been lost within the trace; or it made another call in between.
        assert_eq!(told(&[], true, ends(166)).0, []);
        let other = KernelEvent::SysEnter(SysEnter { number: 1, args: [0; 6] });
        // That one is kept, since the sleep soon behind it may be its work.
        assert_eq!(told(&[other, ends(1)], false, ends(166)).0, [(1, 5, Some(5))]);
    }
}
