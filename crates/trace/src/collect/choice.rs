//! Which events to record, and which of each kind.
//!
//! Filters are the kernel's: what they refuse costs little and takes no room. The recorder's own
//! calls would be a load that feeds itself, so they are filtered out; its switches are not, since
//! each is also a switch of another task.
//!
//! Invariant: every event that has a schema is chosen, but for those named here with a reason. Held
//! by `all_known_events_are_chosen_but_the_frequent_one`.

use crate::schema::{GlobalDirtyState, HandleWait, KNOWN};

/// An event to record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventChoice {
    /// The system in tracefs.
    pub system: String,
    /// The event in it.
    pub event: String,
    /// Only these, in the kernel's syntax; None: all.
    pub filter: Option<String>,
}

/// All events that have a schema, but not those that come for every page.
///
/// `device_filter` limits jbd2 and ext4 to one file system (`dev == 8388609`; see
/// `baro_sys::tracefs::device_filter`). System calls of the task `own_pid` itself are left out.
#[must_use]
pub fn known_events(device_filter: Option<&str>, own_pid: u32) -> Vec<EventChoice> {
    let of_others = format!("common_pid != {own_pid}");
    let choice = |(system, event): &(&str, &str)| {
        let filter = match (*system, *event) {
            // Asked for with every page that is dirtied: hundreds of thousands a second.
            (GlobalDirtyState::SYSTEM, GlobalDirtyState::EVENT) => return None,
            // Not the kernel's own: another collector makes them.
            (HandleWait::SYSTEM, _) => return None,
            ("jbd2" | "ext4", _) => device_filter.map(str::to_owned),
            // It is not enabled: a trigger of `sched_switch` brings it.
            ("ftrace", _) => return None,
            // Of the same as sched_waking, later.
            ("sched", "sched_wakeup") => return None,
            ("raw_syscalls", _) => Some(of_others.clone()),
            _ => None,
        };
        Some(EventChoice { system: (*system).to_owned(), event: (*event).to_owned(), filter })
    };
    KNOWN.iter().filter_map(choice).collect()
}

/// Of [`known_events`] those that are rare: all but those that the probes count and compare in the
/// kernel instead.
#[must_use]
pub fn rare_events(own_pid: u32) -> Vec<EventChoice> {
    let mut events = known_events(None, own_pid);
    events.retain(|choice| match (choice.system.as_str(), choice.event.as_str()) {
        ("raw_syscalls", _) | ("sched", "sched_switch" | "sched_waking") => false,
        ("jbd2", event) => !event.starts_with("jbd2_handle_"),
        ("ext4", event) => !event.starts_with("ext4_journal_start"),
        _ => true,
    });
    events
}
