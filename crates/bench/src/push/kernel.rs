//! What the kernel did for the recorder, by its own tracer: journal commits that the recorder's
//! syncs forced, block allocations, truncations, journal handles. On ext4; [`f2fs`] has what they
//! are there. Elsewhere nothing is counted, and that is said.
//!
//! A sync that needs a commit wakes the journal's thread and waits for the commit's end, when that
//! thread wakes it. If the journal's thread is awake already, busy with the commit before, only the
//! second can be seen. So a commit is taken for forced by a sync of the recorder if the recorder's
//! thread woke the journal's for it; or if it started and ended inside such a sync, nobody was seen
//! waking the journal's thread for it, and the journal's thread woke the sync's. One that a timer
//! or another task asked for is not counted.
//! (fs/jbd2/journal.c: __jbd2_log_start_commit, kjournald2, jbd2_log_wait_commit; fs/ext4/fsync.c.)

mod f2fs;

use baro_sys::identity::FileSystem;
use baro_sys::tracefs::{
    TraceError, TraceEvent, TraceInstance, TraceLine, device_filter, journal_task,
};
use std::collections::BTreeMap;
use std::path::Path;

/// Counts over one recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelCounts {
    /// Commits of the file system's journal (f2fs: checkpoints), whoever caused them.
    pub commits: u64,
    /// Those that a sync of the recorder forced.
    pub forced_commits: u64,
    /// Syncs of the recorder.
    pub syncs: u64,
    /// Blocks allocated by the recorder's threads.
    pub block_allocations: u64,
    /// Size changes (truncate, fallocate) by the recorder's threads.
    pub size_changes: u64,
    /// Journal handles started by the recorder's threads (for the file time, about once a tick).
    pub handles: u64,
    /// Blocks of inodes and their indices that the recorder's threads wrote; `None` but on f2fs.
    pub node_blocks: Option<u64>,
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
    /// How the name of the journal's thread begins; None: who wakes whom is not known.
    journal: Option<String>,
    /// The journal's thread, once it has committed.
    journal_pid: Option<u32>,
    /// Who woke the journal's thread since its last commit: (a recorder's sync?).
    woken_by_sync: Option<bool>,
    /// The commit under way: when it started, and who woke the journal's thread for it.
    running: Option<(u64, Option<bool>)>,
    /// When commits ended that a sync still under way may have forced started.
    doubtful: Vec<u64>,
    /// Syncs under way, by thread: since when, and whether the journal's thread has woken them.
    syncing: BTreeMap<u32, (u64, bool)>,
}

impl KernelWatch {
    /// Starts counting for the file system of `path` and this process's threads named `baro-*`.
    ///
    /// # Errors
    /// No tracefs, no permission, no such events in this kernel, or a file system whose events
    /// are not known.
    pub fn start(path: &Path) -> Result<Self, TraceError> {
        let kind = FileSystem::of(path).map_or("unknown", |found| found.name());
        let on_f2fs = kind == "f2fs";
        if kind != "ext4" && !on_f2fs {
            return Err(TraceError::NotCounted(kind));
        }
        let device = device_filter(path)?;
        let threads: Vec<String> = baro_sys::schedule::own_threads("baro-")
            .into_iter()
            .map(|id| format!("common_pid == {id}"))
            .collect();
        // No thread has the id 0, the idle task's, in these events.
        let threads =
            if threads.is_empty() { "common_pid == 0".to_owned() } else { threads.join(" || ") };
        let own = format!("{device} && ({threads})");
        let mut trace = TraceInstance::new("baro-bench", BUFFER_KIB)?;
        if on_f2fs {
            f2fs::enable(&mut trace, &device, &own)?;
            let mut state = State::default();
            state.counts.node_blocks = Some(0);
            return Ok(KernelWatch { trace, lines: Vec::new(), state });
        }
        for event in COMMIT_EVENTS {
            trace.enable(event, Some(&device))?;
        }
        for event in OWN_EVENTS {
            trace.enable(event, Some(&own))?;
        }
        let journal = journal_task(path);
        // Without these events every commit inside a sync is in doubt, which is said to be forced.
        let wakings = "comm ~ \"jbd2/*\" || comm ~ \"baro-*\"";
        let told = journal.is_some() && trace.enable("sched/sched_waking", Some(wakings)).is_ok();
        let state = State { journal: journal.filter(|_| told), ..State::default() };
        Ok(KernelWatch { trace, lines: Vec::new(), state })
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
            "sched_waking" => self.woken(event),
            "jbd2_start_commit" => {
                self.counts.commits += 1;
                self.journal_pid = Some(event.pid);
                self.running = Some((at, self.woken_by_sync.take()));
            }
            "jbd2_end_commit" => match self.running.take() {
                Some((_, Some(true))) => self.counts.forced_commits += 1,
                Some((started, None)) if !self.syncing.is_empty() => self.doubtful.push(started),
                _ => {}
            },
            "ext4_sync_file_enter" => {
                self.counts.syncs += 1;
                self.syncing.insert(event.pid, (at, self.journal.is_none()));
            }
            "ext4_sync_file_exit" => {
                if let Some((since, true)) = self.syncing.remove(&event.pid) {
                    let before = self.doubtful.len();
                    self.doubtful.retain(|started| *started < since);
                    self.counts.forced_commits += (before - self.doubtful.len()) as u64;
                }
                if self.syncing.is_empty() {
                    self.doubtful.clear();
                }
            }
            "ext4_allocate_blocks" => self.counts.block_allocations += 1,
            "ext4_truncate_enter" | "ext4_fallocate_enter" => self.counts.size_changes += 1,
            "jbd2_handle_start" => self.counts.handles += 1,
            _ => f2fs::take(&mut self.counts, event),
        }
    }
}

impl State {
    fn woken(&mut self, event: &TraceEvent) {
        let ours = |name: &String| event.text.split("comm=").any(|text| text.starts_with(name));
        // During a commit the thread is woken by the completion of its writes.
        if self.running.is_none() && self.journal.as_ref().is_some_and(ours) {
            let by_sync = !event.interrupt && self.syncing.contains_key(&event.pid);
            // Several may wake it before it runs: the recorder's counts.
            self.woken_by_sync = Some(by_sync || self.woken_by_sync == Some(true));
        }
        let target = event.number("pid").and_then(|pid| u32::try_from(pid).ok());
        if !event.interrupt
            && Some(event.pid) == self.journal_pid
            && let Some((_, woken)) = target.and_then(|pid| self.syncing.get_mut(&pid))
        {
            *woken = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOURNAL: u32 = 9;
    const SYNC: u32 = 7;
    const OTHER: u32 = 5;

    fn counts(events: &[(u64, u32, &str)]) -> KernelCounts {
        let mut state = State { journal: Some("jbd2/sda1-".to_owned()), ..State::default() };
        for (time_ns, pid, name) in events {
            let (interrupt, name) = match name.strip_prefix("irq ") {
                Some(name) => (true, name),
                None => (false, *name),
            };
            // Wakings of the sync's thread are written "woken".
            let (comm, target, name) = match name {
                "woken" => ("baro-sync", SYNC, "sched_waking"),
                name => ("jbd2/sda1-8", JOURNAL, name),
            };
            let fields = BTreeMap::from([("pid".to_owned(), target.to_string())]);
            let text = format!("comm={comm} pid={target} prio=120");
            let (task, event) = ("x".to_owned(), name.to_owned());
            let (pid, time_ns) = (*pid, *time_ns);
            state.take(&TraceEvent { task, pid, cpu: 0, interrupt, time_ns, event, fields, text });
        }
        state.counts
    }

    #[test]
    fn a_commit_for_which_the_sync_woke_the_journal_is_forced() {
        let found = counts(&[
            (1, SYNC, "ext4_sync_file_enter"),
            (2, SYNC, "sched_waking"),
            (3, JOURNAL, "jbd2_start_commit"),
            (4, OTHER, "sched_waking"),
            (5, JOURNAL, "jbd2_end_commit"),
            (6, SYNC, "ext4_sync_file_exit"),
            (7, SYNC, "jbd2_handle_start"),
        ]);
        assert_eq!((found.commits, found.forced_commits), (1, 1));
        assert_eq!((found.syncs, found.handles), (1, 1));
    }

    #[test]
    fn a_commit_that_others_asked_for_is_not_even_inside_a_sync() {
        for waker in [(3, OTHER, "sched_waking"), (3, SYNC, "irq sched_waking")] {
            let found = counts(&[
                (2, SYNC, "ext4_sync_file_enter"),
                waker,
                (4, JOURNAL, "jbd2_start_commit"),
                (5, OTHER, "irq sched_waking"),
                (6, JOURNAL, "jbd2_end_commit"),
                (7, SYNC, "ext4_sync_file_exit"),
            ]);
            assert_eq!((found.commits, found.forced_commits), (1, 0), "{waker:?}");
        }
    }

    #[test]
    fn in_doubt_a_commit_inside_a_sync_is_forced_if_the_sync_waited_for_it() {
        for (waker, forced) in
            [((5, JOURNAL, "woken"), 1), ((5, JOURNAL, "irq woken"), 0), ((5, OTHER, "woken"), 0)]
        {
            let found = counts(&[
                (1, JOURNAL, "jbd2_start_commit"),
                (2, SYNC, "ext4_sync_file_enter"),
                (3, JOURNAL, "jbd2_end_commit"),
                (4, JOURNAL, "jbd2_start_commit"),
                waker,
                (6, JOURNAL, "jbd2_end_commit"),
                (7, JOURNAL, "jbd2_start_commit"),
                (8, SYNC, "ext4_sync_file_exit"),
                (9, JOURNAL, "jbd2_end_commit"),
                (10, SYNC, "ext4_sync_file_enter"),
                (11, SYNC, "ext4_sync_file_exit"),
            ]);
            assert_eq!((found.commits, found.forced_commits, found.syncs), (3, forced, 2));
        }
    }
}
