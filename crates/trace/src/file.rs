//! A recorded trace as one file: texts and raw pages in chunks; see `docs/format-trace.md`.
//!
//! [`TraceWriter`] appends what was read from tracefs and looks into nothing but the length of a
//! page. [`TraceFile`] finds the whole chunks, [`Merged`] reads the events of all processors in the
//! order of time. Both work on any `Write` and `Read + Seek`: who opens files is another's matter.
//!
//! Invariant: what is written is read back, whatever was cut off its end up to the last whole chunk;
//! any other bytes are an error. Held by `a_trace_cut_anywhere_is_read_up_to_its_last_whole_chunk`,
//! `every_flipped_bit_is_found`.

mod chunk;
mod machine;
mod merge;
mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub use machine::Machine;
pub use merge::{Item, Merged};
pub use reader::{Ending, TraceFile};
pub use writer::{Preamble, TraceWriter};

/// The most processors of a trace.
pub const CPUS_MAX: u32 = 8_192;
/// The most pages of a trace: a reader keeps 8 bytes for each.
pub const PAGES_MAX: u64 = 1 << 24;
/// The most tasks that have a name.
pub const TASKS_MAX: usize = 1 << 20;
/// The most devices that have a name.
pub const DEVICES_MAX: usize = 1 << 16;
/// The most functions that have a name.
pub const SYMBOLS_MAX: usize = 1 << 18;
/// The most settings of the machine.
pub const FACTS_MAX: usize = 1 << 12;

/// The name of a fact that is no file of the machine: pids of the tasks that the trace is about.
pub const FOCUS: &str = "focus";

/// Events of one processor that were recorded by nobody, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuLosses {
    /// The processor.
    pub cpu: u32,
    /// Overwritten before they were read.
    pub overrun: u64,
    /// Not recorded, as the buffer was full or not to be had.
    pub dropped: u64,
    /// Refused since they came inside of too many others.
    pub commit_overrun: u64,
}

impl CpuLosses {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.overrun.saturating_add(self.dropped).saturating_add(self.commit_overrun)
    }
}
