//! The kernel's log: its reports of hung tasks ("task X:7 blocked for more than 122 seconds") and its
//! dumps of tasks (sysrq-w, sysrq-t), as /dev/kmsg, dmesg, journalctl and syslog hand them out.
//!
//! Lines of others may stand between those of a stack, for several processors write at once. A stack
//! ends with the next task, and with a trace that is about something else.
//!
//! Invariant: memory is bounded by the limits here, whatever comes; no line is an error. Held by the
//! fuzz target `kernel_log` and `a_log_without_end_takes_no_more_memory`.

mod frame;
mod head;
mod prefix;

use super::{FRAMES_MAX, HeldLock, Owner, Task, When, Who, kept};
use head::Head;
use std::collections::{HashMap, HashSet};
use std::io::{self, BufRead};

/// Tasks that are kept; of more it is counted how many.
const TASKS_MAX: usize = 4_096;
/// Bytes of a line that are looked at: the kernel's own have at most 1 KiB.
const LINE_BYTES_MAX: usize = 4_096;
/// Locks of a task that are kept: the kernel follows 48.
const LOCKS_MAX: usize = 64;
/// Lines of others that may stand in a stack.
const FOREIGN_LINES_MAX: u32 = 40;

/// What a log tells of tasks that hang.
#[derive(Clone, Debug, Default)]
pub struct KernelLog {
    /// The tasks, in the order in which they were told first.
    pub tasks: Vec<Task>,
    /// Tasks beyond those that are kept.
    pub left_out: u64,
    /// Tasks of a dump that are not stuck.
    pub others: u64,
    /// Lines that were read.
    pub lines: u64,
    /// The kernel's release, of the last report.
    pub kernel: Option<String>,
    /// The kernel said that it tells of no more hung tasks.
    pub is_cut: bool,
}

/// Reads a log line by line.
#[derive(Debug, Default)]
pub struct LogReader {
    log: KernelLog,
    current: Option<Task>,
    /// Whether the current task's stack has begun.
    in_stack: bool,
    foreign_lines: u32,
    /// The caller of the last function, if its own line does not follow.
    caller: Option<String>,
    start: u64,
    last_us: u64,
    owners: HashMap<(u64, i32), Owner>,
    /// Numbers of tasks that were named as owners.
    owning: HashSet<i32>,
    /// Whose locks are listed now.
    holder: Option<Who>,
    locks: HashMap<(u64, i32), Vec<HeldLock>>,
    /// Where a task is in `tasks`: by start and number.
    known: HashMap<(u64, i32), usize>,
}

/// Reads a whole log. Lines that are too long are cut.
///
/// # Errors
/// Those of reading.
pub fn read(mut input: impl BufRead) -> io::Result<KernelLog> {
    let mut reader = LogReader::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let mut ended = false;
        let mut read_bytes = 0_usize;
        while !ended {
            let found = match input.fill_buf() {
                Ok(found) => found,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if found.is_empty() {
                break;
            }
            let end = found.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(found.len());
            let room = LINE_BYTES_MAX.saturating_sub(line.len());
            line.extend_from_slice(&found[..taken.min(room)]);
            ended = end.is_some();
            let used = taken + usize::from(ended);
            read_bytes += used;
            input.consume(used);
        }
        if read_bytes == 0 {
            return Ok(reader.finish());
        }
        reader.line(&line);
    }
}

impl LogReader {
    /// Takes a line, without its end.
    pub fn line(&mut self, line: &[u8]) {
        self.log.lines += 1;
        let line = String::from_utf8_lossy(&line[..line.len().min(LINE_BYTES_MAX)]);
        let (when, words) = prefix::split(line.trim_end());
        self.starts(&when, words);
        if let Some(head) = head::of(words) {
            self.head(head, when);
            return;
        }
        if self.lock(words) {
            return;
        }
        let Some(task) = &mut self.current else { return };
        if let Some(line) = self.in_stack.then(|| frame::line(words)).flatten() {
            self.foreign_lines = 0;
            if task.frames.len() < FRAMES_MAX {
                task.frames.push(line.frame);
            }
            self.caller = line.caller;
            return;
        }
        if let Some(work) = words.strip_prefix("Workqueue: ") {
            task.work = Some(kept(work));
        } else if let Some(number) = head::call_number(words) {
            task.call_number = number;
        } else if head::is_stack_begin(words) {
            // A second stack is another's, whose head this reader does not know.
            if self.in_stack && !task.frames.is_empty() {
                self.end_task();
            } else {
                self.in_stack = true;
            }
        } else if head::is_of_another(words) {
            self.end_task();
        } else if self.in_stack {
            self.foreign_lines += 1;
            if self.foreign_lines > FOREIGN_LINES_MAX {
                self.end_task();
            }
        }
    }

    /// Takes the machine's start into account: numbers of tasks begin anew.
    fn starts(&mut self, when: &When, words: &str) {
        const BACK_US: u64 = 60_000_000;
        let began_anew = when.boot_us.is_some_and(|us| us + BACK_US < self.last_us);
        if words.starts_with("Linux version ") || began_anew {
            self.end_task();
            self.start += 1;
            self.last_us = 0;
            self.holder = None;
            if let Some(release) = words.strip_prefix("Linux version ") {
                self.log.kernel = release.split_whitespace().next().map(kept);
            }
        }
        self.last_us = when.boot_us.unwrap_or(self.last_us);
    }

    fn head(&mut self, head: Head, when: When) {
        match head {
            Head::Hung { who, waited_s } => {
                self.end_task();
                let waited_s = Some(waited_s);
                self.begin_task(Task { who, waited_s, ..Task::default() }, when);
            }
            Head::Kernel(release) => self.log.kernel = Some(release),
            Head::Dumped { who, state } => {
                // A report's own line, which follows its first.
                let same = |task: &&mut Task| task.state.is_none() && task.who.pid == who.pid;
                match self.current.as_mut().filter(same) {
                    Some(task) => task.state = Some(state),
                    None => {
                        self.end_task();
                        let state = Some(state);
                        self.begin_task(Task { who, state, ..Task::default() }, when);
                    }
                }
                self.in_stack = true;
                self.foreign_lines = 0;
            }
            Head::Owned { pid, owner } => {
                self.end_task();
                if self.owners.len() < TASKS_MAX {
                    self.owning.extend(owner.who.as_ref().map(|who| who.pid));
                    self.owners.insert((self.start, pid), owner);
                }
            }
            Head::Holder(who) => {
                self.end_task();
                if self.locks.len() < TASKS_MAX {
                    self.locks.insert((self.start, who.pid), Vec::new());
                    self.holder = Some(who);
                }
            }
            Head::Cut => self.log.is_cut = true,
        }
    }

    fn begin_task(&mut self, task: Task, when: When) {
        let (first, last) = (when.clone(), when);
        self.holder = None;
        self.in_stack = false;
        self.foreign_lines = 0;
        self.current = Some(Task { first, last, times: 1, start: self.start, ..task });
    }

    /// A line of a list of locks: ` #0: ffff888012345678 (sb_writers#3){.+.+}-{0:0}, at: ksys_write+0x65/0xe0`.
    fn lock(&mut self, words: &str) -> bool {
        let Some(who) = &self.holder else { return false };
        let Some(lock) = head::lock(words) else {
            return false;
        };
        if let Some(locks) = self.locks.get_mut(&(self.start, who.pid))
            && locks.len() < LOCKS_MAX
        {
            locks.push(lock);
        }
        true
    }

    /// Keeps the current task, if it is one to tell of. The same once more is counted.
    fn end_task(&mut self) {
        let caller = self.caller.take();
        self.in_stack = false;
        let Some(mut task) = self.current.take() else { return };
        if let Some(function) = caller
            && task.frames.len() < FRAMES_MAX
        {
            task.frames.push(super::Frame { function: Some(function), is_sure: true });
        }
        if !task.is_stuck() {
            // It may be the holder of a lock, whom the kernel adds to a report.
            if !self.owning.contains(&task.who.pid) || task.frames.is_empty() {
                self.log.others += 1;
                return;
            }
        }
        let key = (task.start, task.who.pid);
        let seen = self.known.get(&key).and_then(|index| self.log.tasks.get_mut(*index));
        if let Some(seen) = seen.filter(|seen| seen.goes_on_in(&task)) {
            seen.times += 1;
            seen.last = task.last;
            seen.waited_s = seen.waited_s.max(task.waited_s);
            seen.state = task.state.or(seen.state);
            return;
        }
        if self.log.tasks.len() == TASKS_MAX {
            self.log.left_out += 1;
            return;
        }
        self.known.insert(key, self.log.tasks.len());
        self.log.tasks.push(task);
    }

    /// What was told.
    #[must_use]
    pub fn finish(mut self) -> KernelLog {
        self.end_task();
        for task in &mut self.log.tasks {
            let key = (task.start, task.who.pid);
            task.owner = self.owners.get(&key).cloned();
            task.locks = self.locks.get(&key).cloned().unwrap_or_default();
        }
        self.log
    }
}

impl Task {
    /// Whether `later`, of the same number, is the same wait told again: a later report of the kernel has
    /// a longer time, a dump has none.
    fn goes_on_in(&self, later: &Self) -> bool {
        let longer = match (self.waited_s, later.waited_s) {
            (Some(before), Some(now)) => now >= before,
            _ => true,
        };
        longer && self.who == later.who && self.functions().eq(later.functions())
    }
}
