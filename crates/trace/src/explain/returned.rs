//! Whether a task that was stopped, or slept, behind the event of a call's return was in the call still.
//!
//! A signal that comes within a call stops the task on the way back to the program, behind the event of the call's
//! return: for who called the call lasts. One that comes a moment later stops it in the program's own code, by an
//! interrupt. The times are alike; the stack tells them apart.
//!
//! Work that a call leaves for the way back is done behind that event as well: what `umount` and the last `close`
//! of a file wait for. Its stack says so.
//!
//! A page fault may come right behind a return too: it is of no call.
//!
//! Invariant: a stop that came by an interrupt is of no call. Held by `a_stop_behind_a_call_is_of_no_call`. Nor is
//! a page fault. Held by `a_page_fault_behind_a_call_is_of_no_call`. Work of the way
//! back is of the call. Held by `work_on_the_way_back_is_of_its_call`.

use crate::timeline::{StackId, Timeline, Wait, WaitKind};
use std::collections::BTreeSet;

/// Functions by which the kernel is entered from a program other than by a call, or beginnings of their names:
/// x86, arm64, arm.
const INTERRUPTS: [&str; 7] = [
    "irqentry_exit",
    "asm_sysvec_",
    "asm_common_interrupt",
    "asm_exc_",
    "el0t_64_irq",
    "el0_interrupt",
    "__irq_usr",
];

/// A function that all page faults go through. Within a call one ends before the event of the call's return.
const FAULT: &str = "handle_mm_fault";

/// What does the work that was left for the way back.
const WORK: &str = "task_work_run";
/// Between a call's return and the first sleep of that work a task runs no longer than this: the work may be that of
/// another call, which was not recorded.
const WORKS_NS: u64 = 10_000_000;
/// Between two sleeps of the same work it may run longer.
const WORKS_ON_NS: u64 = 200_000_000;

/// Lets calls last as long as the work that they left for the way back.
pub(super) fn lengthen_calls(
    line: &mut Timeline,
    functions: &dyn Fn(&Timeline, StackId) -> Vec<String>,
) {
    let stacks = line.stacks.iter().map(|(stack, _)| stack);
    let of_work: BTreeSet<StackId> =
        stacks.filter(|stack| functions(line, *stack).iter().any(|name| name == WORK)).collect();
    if of_work.is_empty() {
        return;
    }
    for task in line.tasks.values_mut() {
        let works = |wait: &&Wait| wait.stack.is_some_and(|stack| of_work.contains(&stack));
        let mut worked = None;
        for wait in task.waits.iter().filter(works) {
            let before = task.calls.partition_point(|call| call.begin_ns <= wait.begin_ns);
            let Some(last) = before.checked_sub(1) else { continue };
            let Some(call) = task.calls.get_mut(last) else { continue };
            let Some(end_ns) = call.end_ns.filter(|end_ns| *end_ns < wait.begin_ns) else {
                continue;
            };
            let most_ns = if worked == Some(last) { WORKS_ON_NS } else { WORKS_NS };
            if wait.begin_ns - end_ns < most_ns {
                (call.end_ns, worked) = (wait.end_ns, Some(last));
            }
        }
    }
}

/// Ends calls at their return where the stop behind it was of none.
pub(super) fn end_calls(
    line: &mut Timeline,
    functions: &dyn Fn(&Timeline, StackId) -> Vec<String>,
) {
    let mut ends = Vec::new();
    for (pid, task) in &line.tasks {
        for (begin_ns, returned_ns) in &task.returns {
            let call = task.calls.partition_point(|call| call.begin_ns < *begin_ns);
            let end_ns = task.calls.get(call).and_then(|call| call.end_ns).unwrap_or(*returned_ns);
            let from = task.waits.partition_point(|wait| wait.begin_ns < *returned_ns);
            let mut behind = task.waits.iter().skip(from).take_while(|wait| wait.begin_ns < end_ns);
            // It may have waited for a processor before it was stopped or slept.
            let kinds = [WaitKind::Stopped, WaitKind::Sleep];
            let stop = behind.find(|wait| kinds.contains(&wait.kind));
            let stack = stop.and_then(|wait| wait.stack);
            let names = stack.map_or_else(Vec::new, |stack| functions(line, stack));
            let is_interrupt = |name: &String| INTERRUPTS.iter().any(|one| name.starts_with(one));
            let is_fault = |name: &String| name == FAULT;
            if names.iter().any(|name| is_interrupt(name) || is_fault(name)) {
                ends.push((*pid, *begin_ns, *returned_ns));
            }
        }
    }
    for (pid, begin_ns, returned_ns) in ends {
        let Some(task) = line.tasks.get_mut(&pid) else { continue };
        let index = task.calls.partition_point(|call| call.begin_ns < begin_ns);
        if let Some(call) = task.calls.get_mut(index).filter(|call| call.begin_ns == begin_ns) {
            call.end_ns = Some(returned_ns);
        }
    }
}
