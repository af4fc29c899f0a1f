//! What one event of the kernel's tracer costs on this machine, measured: the same system call many
//! times with an event for it and without, in turn.
//!
//! Too high rather than too low: while an event for a system call is on, the kernel takes a longer
//! way into each call. Events with a stack cost more and are not told apart; the ratio of times has
//! them.

use baro_bench::error::BenchError;
use baro_sys::clock;
use baro_sys::tracefs::TraceInstance;

/// A system call that does next to nothing, and its event.
const EVENT: &str = "syscalls/sys_enter_getppid";
const CALLS: u32 = 100_000;
/// Each with and without; the fastest of each counts, since others only add time.
const ROUNDS: u32 = 7;
const BUFFER_KIB: u64 = 256;

/// Time of one event, ns; 0 if it could not be told, as while another traces system calls: these take
/// the longer way then with and without. Needs root and tracefs; takes some tenths of a second.
///
/// # Errors
/// There is no tracefs, or no event for system calls in this kernel.
pub fn event_cost_ns() -> Result<f64, BenchError> {
    let mut trace =
        TraceInstance::new("baro-event-cost", BUFFER_KIB).map_err(BenchError::Tracer)?;
    let mut without_ns = u64::MAX;
    for _ in 0..ROUNDS {
        without_ns = without_ns.min(calls_ns());
    }
    // The buffer is written over and over, as costs the same.
    trace.enable(EVENT, None).map_err(BenchError::Tracer)?;
    let mut with_ns = u64::MAX;
    for _ in 0..ROUNDS {
        with_ns = with_ns.min(calls_ns());
    }
    Ok(with_ns.saturating_sub(without_ns) as f64 / f64::from(CALLS))
}

fn calls_ns() -> u64 {
    let begin_ns = clock::monotonic_ns();
    for _ in 0..CALLS {
        std::hint::black_box(std::os::unix::process::parent_id());
    }
    clock::monotonic_ns().saturating_sub(begin_ns)
}
