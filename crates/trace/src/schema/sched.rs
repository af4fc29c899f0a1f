//! Events of the scheduler: who runs, who was woken by whom.
//!
//! All have the `common_pid` of the task that was running: of a wakeup, who woke, unless it was an
//! interrupt.

use super::events;
use crate::record::Name;

events! {
    "sched";
    /// A processor goes from one task to another.
    "sched_switch" => Switch, SwitchSchema {
        /// Name of the task that stops.
        prev_comm: Name = "prev_comm",
        /// The task that stops.
        prev_pid: i32 = "prev_pid",
        /// Its priority as the kernel counts: below 100 is real-time.
        prev_prio: i32 = "prev_prio",
        /// Why it stops: 0 it would go on, 1 sleeps, 2 sleeps and cannot be interrupted (D); 0x80
        /// idle, which is no load. The bit above all states means preempted: see `print fmt`.
        prev_state: i64 = "prev_state",
        /// Name of the task that begins.
        next_comm: Name = "next_comm",
        /// The task that begins.
        next_pid: i32 = "next_pid",
        /// Its priority.
        next_prio: i32 = "next_prio",
    }
    /// A task may run from now on.
    "sched_wakeup" => Wakeup, WakeupSchema {
        /// Its name.
        comm: Name = "comm",
        /// The task.
        pid: i32 = "pid",
        /// Its priority.
        prio: i32 = "prio",
        /// Where it will run.
        target_cpu: i32 = "target_cpu",
    }
    /// A task is being woken, in the context of who does it.
    "sched_waking" => Waking, WakingSchema {
        /// Its name.
        comm: Name = "comm",
        /// The task.
        pid: i32 = "pid",
        /// Its priority.
        prio: i32 = "prio",
        /// Where it ran last.
        target_cpu: i32 = "target_cpu",
    }
    /// A task makes another.
    "sched_process_fork" => Fork, ForkSchema {
        /// The task that makes it.
        parent_pid: i32 = "parent_pid",
        /// The new one.
        child_pid: i32 = "child_pid",
        /// Its name, which it has from its parent.
        child_comm: Name = "child_comm",
    }
}
