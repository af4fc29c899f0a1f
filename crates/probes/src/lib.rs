//! Programs in the kernel that watch waits, handles and journals, and what they say as pages of a
//! trace.
//!
//! The tracer of tracefs writes every event and leaves all understanding to the reader; where
//! hundreds of thousands of handles a second begin and end, that costs a tenth of the machine. The
//! programs of this crate, attached to the same tracepoints, compare and count in the kernel and
//! write only what was long or is rare. They see what no event tells: the function that a task slept
//! in, the call that it is in, how full the journal is, how long a transaction's lists are.
//!
//! What they write takes the form of the tracer's own events and pages ([`formats`], [`Probes::drain`]),
//! so that a trace file has one kind of event and its readers need not know of this crate.
//! `docs/trace-probes.md` says what each program reads and costs.
//!
//! Invariant: what a record says is counted or tells its loss; nothing stays in the kernel when a
//! [`Probes`] is gone. Held by `a_ring_that_is_too_small_loses_and_says_so` and
//! `nothing_is_left_in_the_kernel`.

mod beside;
mod btf;
mod error;
mod load;
mod options;
mod probes;
mod records;
mod sorter;
mod statistics;
mod waits;

pub use error::ProbeError;
pub use options::ProbeOptions;
pub use probes::{LostRecords, ProbeSummary, Probes};
pub use records::{header_event, header_page};
pub use statistics::{ProgramStatistics, Timing, all_runs};

use baro_trace::file::CPUS_MAX;

/// The processor whose pages the probes' are in a trace: one that no machine has.
pub const PROBES_CPU: u32 = CPUS_MAX - 1;

/// System and `format` text of each event that the probes write: to be in the trace before the first
/// page.
#[must_use]
pub fn formats() -> Vec<(String, Vec<u8>)> {
    records::formats()
}
