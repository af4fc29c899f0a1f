//! What the programs cost, as the kernel measures it while somebody asks for it.
//!
//! The kernel takes two times around each run of every program of the machine, which costs as much
//! as a small program does. So it is off unless asked for, and off again when the [`Timing`] is gone.

use crate::error::ProbeError;
use aya::sys::{Stats, enable_stats};
use std::os::fd::OwnedFd;

/// The kernel times programs as long as this is there (5.8 on).
#[derive(Debug)]
pub struct Timing {
    _open: OwnedFd,
}

impl Timing {
    /// Begins to time all programs of the machine.
    ///
    /// # Errors
    /// [`ProbeError::Rights`]: needs CAP_SYS_ADMIN.
    pub fn start() -> Result<Self, ProbeError> {
        let open = enable_stats(Stats::RunTime);
        Ok(Self { _open: open.map_err(|error| ProbeError::of("timing of programs", &error))? })
    }
}

/// How often a program ran and how long, while programs were timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStatistics {
    /// The program, by its name in the source.
    pub program: String,
    /// Runs.
    pub runs: u64,
    /// All of them together, in nanoseconds, with what timing adds.
    pub run_time_ns: u64,
}
