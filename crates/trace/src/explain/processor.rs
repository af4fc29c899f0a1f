//! Tasks and processors: who could have run and did not, and how long somebody ran who was waited for.
//!
//! Invariant: only time on a processor that was counted is told as that. Held by
//! `time_that_was_not_counted_is_not_told_as_run`.

use super::chain::{Span, Walk, node};
use super::{Cause, Evidence, Node};
use crate::timeline::{Task, Wait, WaitKind};
use std::cmp::Reverse;

impl Walk<'_> {
    /// A task could have run, but did not.
    pub(super) fn ready(&self, pid: i32, wait: &Wait, span: Span) -> Node {
        let mut one = node(pid, Cause::Cpu, "scheduler", span, String::new());
        if let Some((known_by, evidence)) = self.quota_evidence(pid, wait, span) {
            (one.detail, one.known_by, one.evidence) = (Some("cpu_quota"), known_by, evidence);
            return one;
        }
        // Who had it just before is who had it last; a preempted task knows also who took it.
        let taker = taker_of(pid, wait);
        let last = wait.processor.before_pid.filter(|last| *last > 0 && *last != pid);
        if taker.or(last).is_none() {
            one.known_by = Evidence::Absence;
        }
        one.evidence = match (taker, last) {
            (Some(taker), Some(last)) if taker != last => format!(
                "{} took the processor, {} had it last",
                self.known.who(taker),
                self.known.who(last)
            ),
            (Some(taker), _) => format!("{} had the processor", self.known.who(taker)),
            (None, Some(last)) => format!("{} had the processor before it", self.known.who(last)),
            (None, None) if wait.processor.before_pid == Some(0) => {
                "it was awake and no other task had that processor: why it did not run was not \
                 recorded; a limit of its group may be it, or the machine itself did not run"
                    .to_owned()
            }
            (None, None) => {
                "it was awake, but not on a processor: who had that was not recorded".to_owned()
            }
        };
        one
    }

    /// What shows that the task's group had used up its share of the processors, and how that is known.
    fn quota_evidence(&self, pid: i32, wait: &Wait, span: Span) -> Option<(Evidence, String)> {
        let told = |quota_ns: u64, period_ns: u64, more: &str| {
            let (quota, period) = (baro_show::duration(quota_ns), baro_show::duration(period_ns));
            format!("control group may have {quota} of each {period} of the processors{more}")
        };
        if let Some(quota) = wait.processor.quota {
            // It counts what it was held for since it was asked last.
            let held = baro_show::duration(quota.throttled_ns);
            let more = format!(", and was held for that {held} in all");
            let before_ns = self.throttled_before(pid, wait);
            let is_held = quota.throttled_ns.saturating_sub(before_ns) * 2 >= span.ns();
            let told = || format!("its {}", told(quota.quota_ns, quota.period_ns, &more));
            return is_held.then(|| (Evidence::Event, told()));
        }
        // Of a task that was in no such group when anybody looked: only if its processor was idle.
        let (group, is_member) = self.known.quota_of(pid)?;
        let is_held = group.throttled_ns * 2 >= span.ns();
        if !is_held || !is_member && wait.processor.before_pid != Some(0) {
            return None;
        }
        let told = told(group.quota_ns, group.period_ns, &format!(" ({})", group.path));
        // How long it was held is known of all of the trace, and not of this wait: another, who is no task of
        // the group, may have had the processor for all of it. Tasks of the kernel have it for a moment, and one
        // that was idle when this one came back had nobody on it.
        let was_idle = wait.processor.before_pid == Some(0);
        let is_other = |pid: &i32| !was_idle && !group.has(*pid) && !self.known.is_kernels(*pid);
        Some(match (is_member, taker_of(pid, wait).filter(is_other)) {
            (true, None) => (Evidence::AbsenceAndSetting, format!("its {told}")),
            (true, Some(taker)) => {
                let taker = self.known.who(taker);
                (Evidence::Absence, format!("its {told}, but {taker} took the processor"))
            }
            (false, _) => (
                Evidence::Absence,
                format!("a {told}, and no other was held: that this task is in it was not seen"),
            ),
        })
    }

    /// How long the group had been held when the task waited last before this.
    fn throttled_before(&self, pid: i32, wait: &Wait) -> u64 {
        let Some(task) = self.known.line.tasks.get(&pid) else { return 0 };
        let before = task.waits.partition_point(|one| one.begin_ns < wait.begin_ns);
        let last = before.checked_sub(1).and_then(|index| task.waits.get(index));
        last.and_then(|last| last.processor.quota).map_or(0, |quota| quota.throttled_ns)
    }

    /// What another did while it was waited for: his waits, and that he ran, if he did much of it.
    pub(super) fn of_another(&mut self, pid: i32, span: Span) -> Vec<Node> {
        let mut nodes = self.waits(pid, span);
        let waited_ns: u64 = nodes.iter().map(|node| node.ns).sum();
        let rest_ns = span.ns().saturating_sub(waited_ns);
        let Some(task) = self.known.line.tasks.get(&pid).filter(|_| !self.path.contains(&pid))
        else {
            return nodes;
        };
        // Only time on a processor that was counted is told as that.
        let ran_ns = self.ran_ns(task, span).min(rest_ns);
        let of = |ns: u64| Span { begin_ns: span.begin_ns, end_ns: span.begin_ns + ns };
        if ran_ns * 10 > span.ns() {
            nodes.push(node(pid, Cause::Running, "", of(ran_ns), String::new()));
        }
        let unseen_ns = rest_ns - ran_ns;
        if unseen_ns * 10 > span.ns() {
            let why = match task.born_ns.filter(|born_ns| *born_ns > span.begin_ns) {
                Some(_) => "it was made only then: who had it before is not known",
                None => "neither that it ran nor that it slept was recorded",
            };
            let mut one = node(pid, Cause::Unknown, "", of(unseen_ns), why.to_owned());
            one.known_by = Evidence::Absence;
            nodes.push(one);
        }
        nodes.sort_by_key(|node| Reverse(node.ns));
        nodes
    }

    /// How long a task was on a processor within a time, as far as that was counted: the counts stand
    /// at its waits, and what lies between two of them is spread over the time between.
    fn ran_ns(&self, task: &Task, span: Span) -> u64 {
        let end_of = |wait: &Wait| wait.end_ns.unwrap_or(span.end_ns);
        let from = task.waits.partition_point(|wait| end_of(wait) <= span.begin_ns);
        let mut last = from.checked_sub(1).and_then(|index| task.waits.get(index));
        let mut ran_ns = 0_u64;
        for wait in task.waits.get(from..).unwrap_or(&[]) {
            self.looked(1);
            if let (Some(before), Some(run_ns)) = (last, wait.processor.run_ns)
                && let Some(run_before_ns) = before.processor.run_ns
            {
                let between = Span { begin_ns: end_of(before), end_ns: wait.begin_ns };
                let ran = run_ns.saturating_sub(run_before_ns).min(between.ns());
                let part = between.within(span).ns();
                ran_ns += share(ran, part, between.ns());
            } else if let (None, Some(run_ns), Some(born_ns)) =
                (last, wait.processor.run_ns, task.born_ns)
            {
                let between = Span { begin_ns: born_ns, end_ns: wait.begin_ns };
                let part = between.within(span).ns();
                ran_ns += share(run_ns.min(between.ns()), part, between.ns());
            }
            last = Some(wait);
            if wait.begin_ns >= span.end_ns {
                return ran_ns;
            }
        }
        // Behind its last wait nothing counts, unless each switch was recorded.
        if let Some(last) = last.filter(|_| self.known.line.calls_are_exact) {
            let end_ns = task.ended_ns.unwrap_or(self.known.line.end_ns);
            ran_ns += Span { begin_ns: end_of(last), end_ns }.within(span).ns();
        }
        ran_ns
    }
}

/// Who took the processor from a task that could have gone on.
fn taker_of(pid: i32, wait: &Wait) -> Option<i32> {
    let is_taken = wait.kind == WaitKind::Runnable;
    wait.next_pid.filter(|taker| is_taken && *taker > 0 && *taker != pid)
}

/// `ns` of a whole, for a part of it.
fn share(ns: u64, part: u64, whole: u64) -> u64 {
    let product = u128::from(ns) * u128::from(part);
    u64::try_from(product.checked_div(u128::from(whole)).unwrap_or(0)).unwrap_or(u64::MAX)
}
