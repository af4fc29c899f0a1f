//! Tasks that hang, by their stacks at one moment: from the kernel's own reports in its log ([`log`]),
//! or as a recording found them.
//!
//! A stack says what a task is in and what it sleeps for; not who is behind it. So each link from one
//! task to another says how it is known: told by the kernel, the only one that can be meant among those
//! listed, or possible. What one moment cannot tell is said as not known.
//!
//! Invariant: names of tasks and functions are foreign text: kept short here, made harmless where they
//! are shown. Held by `names_of_others_move_no_cursor`; any bytes give tasks or none, by the fuzz target
//! `kernel_log`.

mod behind;
mod call;
pub mod log;
#[cfg(test)]
mod tests;
mod told;

pub use told::{describe, to_json};

use crate::explain::place::Place;

/// Functions of a stack that are kept: a kernel's stack of 16 KiB has fewer.
pub const FRAMES_MAX: usize = 128;
/// Bytes of a name that are kept: a worker's may be longer than the 15 of a process.
const NAME_BYTES_MAX: usize = 64;

/// A function in a stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its name; None: only its address is told.
    pub function: Option<String>,
    /// Whether the kernel was sure of it: what it marks with `?` was on the stack, and may be a rest of
    /// an earlier call.
    pub is_sure: bool,
}

/// A task and its number, as the kernel writes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// The name.
    pub name: String,
    /// The number.
    pub pid: i32,
}

/// Who has the lock that a task waits for, by the kernel's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The holder; None: the kernel found none.
    pub who: Option<Who>,
    /// Kind of lock: `mutex`, `rw-semaphore`, `semaphore`.
    pub lock: String,
}

/// A lock in the kernel's list of those that a task holds or is about to take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// Its address, as it is told: equal ones are the same lock.
    pub address: String,
    /// Its class: `&sb->s_type->i_mutex_key#9`.
    pub class: String,
    /// The function that took it.
    pub function: String,
}

/// When a line was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// Microseconds since the machine's start.
    pub boot_us: Option<u64>,
    /// A date, as it stands there.
    pub wall: Option<String>,
}

/// A task that did not go on.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// Who.
    pub who: Who,
    /// Its state, as ps(1) has it.
    pub state: Option<char>,
    /// How long it had waited, as the kernel tells; it is not told of each task.
    pub waited_s: Option<u64>,
    /// When it was told first.
    pub first: When,
    /// When it was told last.
    pub last: When,
    /// How often the same was told.
    pub times: u64,
    /// The number of the system call, if registers are told.
    pub call_number: Option<i64>,
    /// Its stack, the innermost function first.
    pub frames: Vec<Frame>,
    /// What a worker of the kernel works at.
    pub work: Option<String>,
    /// Who has the lock that it waits for.
    pub owner: Option<Owner>,
    /// Locks that it has or is about to take.
    pub locks: Vec<HeldLock>,
    /// Which start of the machine it is of, counted in the log: numbers of tasks mean the same only
    /// within one.
    pub start: u64,
}

impl Task {
    /// Its stack as functions that the kernel was sure of; if it was sure of none, all.
    pub fn functions(&self) -> impl Iterator<Item = Option<&str>> {
        let sure = self.frames.iter().any(|frame| frame.is_sure);
        let frames = self.frames.iter().filter(move |frame| frame.is_sure || !sure);
        // arm64 prints it below the scheduler: it is where every task sleeps.
        let names = frames.map(|frame| frame.function.as_deref());
        names.filter(|name| *name != Some("__switch_to"))
    }

    /// Where it is.
    #[must_use]
    pub fn place(&self) -> Place {
        Place::of(self.functions())
    }

    /// Whether a function of the stack has one of these names.
    fn is_in(&self, names: &[&str]) -> bool {
        self.functions().flatten().any(|name| names.contains(&plain(name)))
    }

    /// Whether it is one to tell of: it was told as hung, or it sleeps where no signal wakes it, or for
    /// storage.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        if self.waited_s.is_some() {
            return true;
        }
        // A thread of the kernel that has nothing to do sleeps as I, or in its own loop.
        match self.state {
            Some('D') => true,
            Some('S' | 'I' | 'R' | 'T' | 'Z' | 'X') | None => {
                let place = self.place();
                self.state != Some('I')
                    && (place.is_io || !place.layers.is_empty())
                    && !self.is_in(IDLE)
            }
            Some(_) => false,
        }
    }
}

/// Loops of threads that wait for work, although a function in them has a name of the table.
const IDLE: &[&str] = &["worker_thread", "do_nanosleep", "hrtimer_nanosleep", "fuse_dev_do_read"];

/// A function's name without what the compiler put behind it.
fn plain(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// A name that others gave, no longer than names are.
fn kept(name: &str) -> String {
    let mut end = name.len().min(NAME_BYTES_MAX);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default().to_owned()
}
