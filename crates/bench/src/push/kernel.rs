//! What the kernel did for the recorder, by its own tracer: journal commits that the recorder's
//! syncs forced, block allocations, truncations, journal handles.
//!
//! A commit is taken for forced by a sync if it started and ended while one of the recorder's
//! threads was inside fdatasync: a sync that forces a commit waits for its end. A timer's commit
//! that falls into a long sync is counted too, so the figure is an upper bound; on a file system
//! mounted with a long commit interval it is exact.

use baro_sys::tracefs::{TraceError, TraceEvent, TraceInstance, TraceLine, device_filter};
use std::collections::BTreeMap;
use std::path::Path;

/// Counts over one recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Commits of the file system's journal, whoever caused them.
    pub commits: u64,
    /// Those that started and ended inside a sync of the recorder.
    pub forced_commits: u64,
    /// Syncs of the recorder.
    pub syncs: u64,
    /// Blocks allocated by the recorder's threads.
    pub block_allocations: u64,
    /// Size changes (truncate, fallocate) by the recorder's threads.
    pub size_changes: u64,
    /// Journal handles started by the recorder's threads (for the file time, about once a tick).
    pub handles: u64,
    /// Events that the tracer lost: if not 0, the counts are too low.
    pub lost_events: u64,
}

const COMMIT_EVENTS: [&str; 2] = ["jbd2/jbd2_start_commit", "jbd2/jbd2_end_commit"];
const OWN_EVENTS: [&str; 6] = [
    "ext4/ext4_sync_file_enter",
    "ext4/ext4_sync_file_exit",
    "ext4/ext4_allocate_blocks",
    "ext4/ext4_truncate_enter",
    "ext4/ext4_fallocate_enter",
    "jbd2/jbd2_handle_start",
];
const BUFFER_KIB: u64 = 4096;

/// A running count.
#[derive(Debug)]
pub struct KernelWatch {
    trace: TraceInstance,
    lines: Vec<TraceLine>,
    state: State,
}

#[derive(Debug, Default)]
struct State {
    counts: KernelCounts,
    /// Commits started and not ended, by transaction: when.
    running: BTreeMap<u64, u64>,
    /// Ended commits that a sync still under way may have forced: (started, ended).
    ended: Vec<(u64, u64)>,
    /// Syncs under way, by thread: since when.
    syncing: BTreeMap<u32, u64>,
}

impl KernelWatch {
    /// Starts counting for the file system of `path` and this process's threads named `baro-*`.
    ///
    /// # Errors
    /// No tracefs, no permission, or no such events in this kernel.
    pub fn start(path: &Path) -> Result<Self, TraceError> {
        let device = device_filter(path)?;
        let threads: Vec<String> = baro_sys::schedule::own_threads("baro-")
            .into_iter()
            .map(|id| format!("common_pid == {id}"))
            .collect();
        let own = format!("{device} && ({})", threads.join(" || "));
        let mut trace = TraceInstance::new("baro-bench", BUFFER_KIB)?;
        for event in COMMIT_EVENTS {
            trace.enable(event, Some(&device))?;
        }
        for event in OWN_EVENTS {
            trace.enable(event, Some(&own))?;
        }
        Ok(KernelWatch { trace, lines: Vec::new(), state: State::default() })
    }

    /// Takes what the tracer has: to be called often enough for its buffer.
    pub fn read(&mut self) {
        self.lines.clear();
        if self.trace.read(&mut self.lines).is_err() {
            self.state.counts.lost_events += 1;
        }
        // Events of several processors come a page at a time, not in order of time.
        let mut events = Vec::new();
        for line in self.lines.drain(..) {
            match line {
                TraceLine::Event(event) => events.push(event),
                TraceLine::Lost { events, .. } => {
                    self.state.counts.lost_events += events.unwrap_or(1);
                }
            }
        }
        events.sort_by_key(|event| event.time_ns);
        events.iter().for_each(|event| self.state.take(event));
    }

    /// Stops and returns the counts.
    #[must_use]
    pub fn finish(mut self) -> KernelCounts {
        let _ = self.trace.set_recording(false);
        self.read();
        self.state.counts
    }
}

impl State {
    fn take(&mut self, event: &TraceEvent) {
        let at = event.time_ns;
        match event.event.as_str() {
            "jbd2_start_commit" => {
                self.counts.commits += 1;
                self.running.insert(event.number("transaction").unwrap_or(0), at);
            }
            "jbd2_end_commit" => {
                let started = self.running.remove(&event.number("transaction").unwrap_or(0));
                if let (Some(started), false) = (started, self.syncing.is_empty()) {
                    self.ended.push((started, at));
                }
            }
            "ext4_sync_file_enter" => {
                self.counts.syncs += 1;
                self.syncing.insert(event.pid, at);
            }
            "ext4_sync_file_exit" => {
                if let Some(since) = self.syncing.remove(&event.pid) {
                    let forced = |(started, _): &(u64, u64)| *started >= since;
                    self.counts.forced_commits +=
                        self.ended.iter().filter(|commit| forced(commit)).count() as u64;
                    self.ended.retain(|commit| !forced(commit));
                }
                if self.syncing.is_empty() {
                    self.ended.clear();
                }
            }
            "ext4_allocate_blocks" => self.counts.block_allocations += 1,
            "ext4_truncate_enter" | "ext4_fallocate_enter" => self.counts.size_changes += 1,
            "jbd2_handle_start" => self.counts.handles += 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_ns: u64, pid: u32, name: &str, transaction: Option<u64>) -> TraceEvent {
        let fields = transaction
            .map(|number| ("transaction".to_owned(), number.to_string()))
            .into_iter()
            .collect();
        let (task, text) = ("x".to_owned(), String::new());
        TraceEvent { task, pid, cpu: 0, time_ns, event: name.to_owned(), fields, text }
    }

    #[test]
    fn only_commits_inside_a_sync_are_forced() {
        let mut state = State::default();
        for (at, pid, name, transaction) in [
            (1, 9, "jbd2_start_commit", Some(1)),
            (2, 7, "ext4_sync_file_enter", None),
            (3, 9, "jbd2_end_commit", Some(1)),
            (4, 9, "jbd2_start_commit", Some(2)),
            (5, 9, "jbd2_end_commit", Some(2)),
            (6, 9, "jbd2_start_commit", Some(3)),
            (7, 7, "ext4_sync_file_exit", None),
            (8, 9, "jbd2_end_commit", Some(3)),
            (9, 7, "ext4_sync_file_enter", None),
            (10, 7, "ext4_sync_file_exit", None),
            (11, 7, "jbd2_handle_start", Some(4)),
        ] {
            state.take(&event(at, pid, name, transaction));
        }
        assert_eq!((state.counts.commits, state.counts.forced_commits), (3, 1));
        assert_eq!((state.counts.syncs, state.counts.handles), (2, 1));
    }
}
