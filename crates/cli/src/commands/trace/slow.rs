//! What a ring says while it waits for slow calls, and how it sees that one has ended.
//!
//! Invariant: names of tasks are foreign text, and a line stays one. Held by `say!`, through which all goes.

use super::recording::Recording;
use crate::size;
use baro_sys::{files, task};
use baro_trace::collect::{Shortfall, sleeps_for_storage};
use baro_trace::watch::Seen;
use std::path::Path;

const COMM_BYTES_MAX: u64 = 64;

/// Says which call was slow, or is.
pub(super) fn tell_of(seen: &Seen) {
    let call =
        if seen.call == "page fault" { seen.call.to_owned() } else { format!("{}()", seen.call) };
    let (who, wait) = (who(seen.pid), size::show_ns(seen.wait_ns));
    match seen.has_ended {
        true => say!("baro: {call} of {who} waited {wait}"),
        false => say!("baro: {call} of {who} has waited {wait} and has not ended"),
    }
}

/// Says that a ring holds less than it was asked for.
pub(super) fn tell_of_memory(recording: &Recording<'_>, shortfall: &Shortfall) {
    let Some(ring) = &recording.ring else { return };
    say!(
        "baro: {} of events come in a second: {} hold the last {}, not {}; --ring-memory {}MiB would",
        size::show_bytes(shortfall.bytes_per_s),
        size::show_bytes(ring.bytes_max),
        size::show_ns(shortfall.holds_ns),
        size::show_ns(ring.keep_ns),
        shortfall.needed_bytes.div_ceil(1 << 20)
    );
}

/// Name and number of a task.
pub(super) fn who(pid: i32) -> String {
    let name = files::read_text(Path::new(&format!("/proc/{pid}/comm")), COMM_BYTES_MAX);
    name.map_or_else(|_| format!("pid {pid}"), |name| format!("{} (pid {pid})", name.trim_end()))
}

/// Whether a task sleeps so that no signal wakes it, or for storage.
pub(super) fn is_asleep(pid: i32) -> bool {
    u32::try_from(pid).is_ok_and(|pid| task::at_io(pid) == task::AtIo::Waits)
        || sleeps_for_storage(pid)
}
