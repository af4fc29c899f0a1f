//! Pictures of a trace: a file for the Perfetto viewer, and one HTML page.
//!
//! Both show the same [`View`]: a timeline, the machine it is of, and calls that took long with the
//! reasons that were found for them. Nothing is found out here: what is shown was measured, or says
//! that it was estimated.
//!
//! Invariant: pure, and what is written is made span by span: beside the view, memory is that of the
//! spans of one task, journal or disk. Any view is drawn, without a panic and in bounded time; the
//! page is never longer than [`PAGE_BYTES_MAX`] and names what it leaves out. Held by
//! `any_timeline_is_drawn`, `every_span_of_every_fixture_is_in_the_perfetto_trace` and
//! `a_page_of_a_huge_trace_stays_small_and_says_what_it_leaves_out`.

mod html;
mod lanes;
mod perfetto;
mod protobuf;
mod series;
mod stages;
#[cfg(test)]
mod tests;
mod text;

pub use html::{PAGE_BYTES_MAX, html};
pub use perfetto::perfetto;

use crate::file::Machine;
use crate::record::Device;
use crate::timeline::{StackId, Timeline};
use std::fmt;

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What stands above the page, as the trace file's name.
    pub title: &'a str,
    /// The machine that was traced, and its clock.
    pub machine: &'a Machine,
    /// What happened.
    pub line: &'a Timeline,
    /// Calls that took long, the worst first.
    pub slow: &'a [SlowCall],
    /// Names of what the timeline has as numbers.
    pub names: &'a dyn Names,
    /// Further remarks for the reader: what was not recorded, what was estimated.
    pub remarks: &'a [String],
}

/// Names of what a timeline has as numbers; None where a number must do. `()` knows none.
pub trait Names: fmt::Debug {
    /// A system call's name, by its number on the traced machine.
    fn call(&self, number: i64) -> Option<String> {
        let _ = number;
        None
    }

    /// Where in the kernel a task waited: a function or words, by its stack.
    fn place(&self, stack: StackId) -> Option<String> {
        let _ = stack;
        None
    }

    /// A disk's or file system's name.
    fn device(&self, device: Device) -> Option<String> {
        let _ = device;
        None
    }
}

impl Names for () {}

/// A call that took long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowCall {
    /// The task that called.
    pub pid: i32,
    /// Its name.
    pub task: String,
    /// The call's name.
    pub call: String,
    /// When it began, by the tracer's clock.
    pub begin_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// How long it did not run in between.
    pub wait_ns: u64,
    /// What of that wait no link explains.
    pub unexplained_ns: u64,
    /// Why it took long, in one sentence.
    pub sentence: String,
    /// The reasons, each after the one that it is a reason for.
    pub links: Vec<SlowLink>,
    /// What would help: command, effect, price.
    pub advice: Vec<(String, String, String)>,
}

/// One reason in the chain of a slow call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlowLink {
    /// 0: the call itself waited for it; n: it held up a link of depth n - 1.
    pub depth: usize,
    /// Who waited.
    pub who: String,
    /// Its task, if it is one.
    pub pid: Option<i32>,
    /// For what.
    pub waits_for: String,
    /// Where in the kernel.
    pub place: String,
    /// When that began, the first time.
    pub begin_ns: u64,
    /// When it ended, the last time.
    pub end_ns: u64,
    /// How long it took, all times together.
    pub ns: u64,
    /// How often.
    pub count: u64,
    /// What is known of the cause.
    pub cause: String,
}

impl View<'_> {
    fn call_name(&self, number: i64) -> String {
        self.names.call(number).unwrap_or_else(|| format!("system call {number}"))
    }

    fn device_name(&self, device: Device) -> String {
        match self.names.device(device) {
            Some(name) => format!("{name} ({device})"),
            None => device.to_string(),
        }
    }

    fn task_name(&self, pid: i32) -> String {
        self.line.task_name(pid).map_or_else(|| "task".to_owned(), |name| name.to_string())
    }
}
