//! A recording as a service: what the service manager is told.
//!
//! READY=1 once the store is open, STATUS= each second, STOPPING=1 at the end, and WATCHDOG=1 only
//! while the writer makes progress or has nothing to do: a recorder that hangs is started anew,
//! and its rings are taken over. Invariant: a log that is full is no hang, it is told in STATUS.
//! Tests: below, and `tests/service.rs` with a listener.

use crate::size::{show_bytes, show_ns};
use baro_recorder::{Recorder, Trouble};
use baro_show::Shown;
use baro_sys::clock;
use baro_sys::notify::Notify;
use std::cell::{Cell, RefCell};

const STATUS_NS: u64 = 1_000_000_000;

/// What is told to the manager; silent without one.
#[derive(Debug, Default)]
pub(crate) struct Service {
    notify: Option<Notify>,
    /// When the next status is due.
    status_due_ns: Cell<u64>,
    /// When the next sign of life is due.
    alive_due_ns: Cell<u64>,
    pulse: RefCell<Pulse>,
    /// Records at the last status, and when that was.
    last: Cell<(u64, u64)>,
}

impl Service {
    /// The manager that the environment names. One that cannot be reached is complained about and
    /// then done without: a recording must not fail because of it.
    pub(crate) fn from_environment() -> Self {
        let notify = Notify::from_environment().unwrap_or_else(|error| {
            say!("note: {error}");
            None
        });
        Service { notify, ..Service::default() }
    }

    fn tell(&self, lines: &str) {
        if let Some(notify) = &self.notify {
            // Its queue is full: the next one will do.
            let _ = notify.send(lines);
        }
    }

    /// The store is open.
    pub(crate) fn ready(&self) {
        self.last.set((0, clock::monotonic_ns()));
        self.tell("READY=1\nSTATUS=recording");
    }

    /// A few times a second.
    /// `unsettled` is why nothing is settled.
    pub(crate) fn tick(&self, recorder: &Recorder, unsettled: Option<&str>) {
        let Some(notify) = &self.notify else { return };
        let now_ns = clock::monotonic_ns();
        let status = recorder.status();
        let rings = &status.rings;
        let seen = Seen {
            durable_blocks: status.durable_blocks,
            waiting: rings.iter().any(|ring| ring.used_bytes > 0),
            log_full: matches!(
                status.trouble,
                Trouble::LogFull | Trouble::Held { .. } | Trouble::Growing
            ),
        };
        let alive = self.pulse.borrow_mut().beats(seen);
        if let Some(watchdog_ns) = notify.watchdog_ns
            && alive
            && now_ns >= self.alive_due_ns.get()
        {
            self.alive_due_ns.set(now_ns + watchdog_ns / 4);
            self.tell("WATCHDOG=1");
        }
        if now_ns >= self.status_due_ns.get() {
            self.status_due_ns.set(now_ns + STATUS_NS);
            let (bytes_before, before_ns) = self.last.replace((status.payload_bytes, now_ns));
            let seconds = (now_ns.saturating_sub(before_ns)).max(1) as f64 / 1e9;
            let rate = status.payload_bytes.saturating_sub(bytes_before) as f64 / seconds;
            let lost: u64 = rings.iter().map(|ring| ring.refused_full + ring.refused_large).sum();
            let trouble = match &status.trouble {
                Trouble::None => String::new(),
                Trouble::LogFull => "; LOG FULL".to_owned(),
                trouble => format!("; {}", Shown(trouble)),
            };
            let unsettled = unsettled.map_or_else(String::new, |said| format!("; {}", Shown(said)));
            self.tell(&format!(
                "STATUS={} records, {}/s, lost {lost}, push to durable {} at most{trouble}{unsettled}",
                status.records,
                show_bytes(rate as u64),
                show_ns(status.longest_durable_ns),
            ));
        }
    }

    /// The recording ends; what the rings hold is still to be made durable.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=making durable what the rings hold");
    }
}

/// What was seen of the writer.
#[derive(Clone, Copy, Debug)]
struct Seen {
    durable_blocks: u64,
    /// Records that are not durable yet.
    waiting: bool,
    log_full: bool,
}

/// Tells a writer that works from one that hangs.
#[derive(Debug, Default)]
struct Pulse {
    durable_blocks: u64,
}

impl Pulse {
    /// Whether the writer made progress since the last call, or has nothing to do.
    fn beats(&mut self, seen: Seen) -> bool {
        let progress = seen.durable_blocks != self.durable_blocks;
        self.durable_blocks = seen.durable_blocks;
        progress || !seen.waiting || seen.log_full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_writer_that_hangs_has_no_pulse() {
        let mut pulse = Pulse::default();
        let mut beats = |durable_blocks, waiting, log_full| {
            pulse.beats(Seen { durable_blocks, waiting, log_full })
        };
        assert!(beats(0, false, false), "idle");
        assert!(!beats(0, true, false), "nothing durable, records wait");
        assert!(beats(1, true, false), "progress");
        assert!(!beats(1, true, false), "hangs");
        assert!(beats(1, true, true), "full is no hang");
        assert!(beats(1, false, false), "idle again");
    }
}
