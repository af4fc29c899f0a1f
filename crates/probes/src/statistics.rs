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

/// Runs of all programs of the machine that are loaded now, and their time in nanoseconds, as far as
/// they were timed.
///
/// # Errors
/// The kernel does not tell: needs CAP_SYS_ADMIN.
pub fn all_runs() -> Result<(u64, u64), ProbeError> {
    let mut sums = (0, 0);
    for program in aya::programs::loaded_programs() {
        // One that went meanwhile has no statistics any more.
        let Ok(program) = program else { continue };
        let ns = u64::try_from(program.run_time().as_nanos()).unwrap_or(u64::MAX);
        sums = (sums.0 + program.run_count(), u64::saturating_add(sums.1, ns));
    }
    Ok(sums)
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
