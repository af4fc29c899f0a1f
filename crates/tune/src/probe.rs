//! How many journal handles write() takes in a folder: counted, not believed.
//!
//! A task that writes into blocks that were written before changes nothing but the file's times. If
//! each change of them takes a handle of the journal, each write() may wait for a commit. Whether
//! lazytime prevents that depends on the kernel, so it is counted here by the kernel's own tracer:
//! starts of handles by this task on this file system, while it writes at a steady rate; and as a
//! control, while it reads the same at the same rate.
//!
//! Invariant: the file has no name from the moment it is open, so that nothing is left however this
//! ends. Test: `tests/probe.rs`, on ext4 of a loop device.

use baro_sys::identity::FileSystem;
use baro_sys::tracefs::{TraceError, TraceInstance, TraceLine, device_filter};
use baro_sys::{clock, files, task};
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

/// What is written at once: paper A's record.
pub const PROBE_BLOCK_BYTES: u64 = 16 << 10;
/// Blocks of the file; the probe goes round.
const BLOCKS: u64 = 512;
/// A thousand a second: several in each tick of any kernel.
const PERIOD_NS: u64 = 1_000_000;
/// A tick of the slowest kernel (100 Hz), twice.
const TICKS_NS: u64 = 20_000_000;
const EVENT: &str = "jbd2/jbd2_handle_start";
const BUFFER_KIB: u64 = 1024;

/// What was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleCount {
    /// Calls of write(), and of read() for the control.
    pub calls: u64,
    /// Handles that the writes started.
    pub of_writes: u64,
    /// Handles that the reads started; with strictatime not none.
    pub of_reads: u64,
    /// Events that the tracer lost: if not 0, the counts are too low.
    pub lost_events: u64,
}

impl HandleCount {
    /// Whether write() stays out of the journal: at most one handle in two hundred writes, since
    /// even lazy times are written now and then.
    #[must_use]
    pub fn stays_out(&self) -> bool {
        self.lost_events == 0 && self.of_writes.saturating_mul(200) <= self.calls
    }
}

/// Why nothing was counted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ProbeError {
    /// Not ext4, the only file system whose handles are known.
    FileSystem {
        /// Where.
        dir: PathBuf,
        /// Its name.
        found: &'static str,
    },
    /// The tracer is not to be had.
    Trace(TraceError),
    /// A call on the file failed.
    File {
        /// What was done.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// The caller asked to stop.
    Stopped,
}

impl fmt::Display for ProbeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbeError::FileSystem { dir, found } => write!(
                out,
                "{}: expected ext4, whose journal handles are counted, found {found}",
                dir.display()
            ),
            ProbeError::Trace(error) => error.fmt(out),
            ProbeError::File { what, path, source } => {
                write!(out, "{}: {what}: {source}", path.display())
            }
            ProbeError::Stopped => write!(out, "stopped before it was done"),
        }
    }
}

impl std::error::Error for ProbeError {}

impl From<TraceError> for ProbeError {
    fn from(error: TraceError) -> Self {
        ProbeError::Trace(error)
    }
}

/// Counts in `dir` for `calls` writes and as many reads, at 1,000 a second each; takes 8 MiB of room
/// meanwhile. `stop` is asked before each call. Needs root and tracefs.
///
/// # Errors
/// Nothing could be counted, and why.
pub fn probe(dir: &Path, calls: u64, stop: &dyn Fn() -> bool) -> Result<HandleCount, ProbeError> {
    let file_error = |what, error: baro_sys::Error| {
        let source = error.source;
        ProbeError::File { what, path: dir.to_owned(), source }
    };
    let kind =
        FileSystem::of(dir).map_err(|error| file_error("find the file system", error))?.name();
    if kind != "ext4" {
        return Err(ProbeError::FileSystem { dir: dir.to_owned(), found: kind });
    }
    let filter = format!("{} && common_pid == {}", device_filter(dir)?, task::thread_id());
    // Before the file: without the right to trace nothing is written.
    let mut trace = TraceInstance::new("baro-tune", BUFFER_KIB)?;
    let file = unnamed_file(dir).map_err(|error| file_error("make a file", error))?;
    let data = vec![0x5a; PROBE_BLOCK_BYTES as usize];
    for block in 0..BLOCKS {
        files::write_at(&file, &data, block * PROBE_BLOCK_BYTES)
            .map_err(|error| file_error("fill the file", error))?;
    }
    files::sync(&file).map_err(|error| file_error("sync the file", error))?;
    trace.enable(EVENT, Some(&filter))?;
    let mut count = HandleCount { calls, ..HandleCount::default() };
    let write = |offset: u64, data: &mut [u8]| files::write_at(&file, data, offset);
    turn(calls, stop, write).map_err(|error| error.in_dir(dir, "write"))?;
    count.of_writes = handles(&mut trace)?;
    // With relatime the first read after a write changes the time of the last read.
    clock::sleep_ns(TICKS_NS);
    let read = |offset: u64, data: &mut [u8]| files::read_at(&file, data, offset);
    turn(1, stop, read).map_err(|error| error.in_dir(dir, "read"))?;
    handles(&mut trace)?;
    turn(calls, stop, read).map_err(|error| error.in_dir(dir, "read"))?;
    count.of_reads = handles(&mut trace)?;
    count.lost_events = trace.lost()?.total();
    Ok(count)
}

/// A new file whose name is gone.
fn unnamed_file(dir: &Path) -> baro_sys::Result<File> {
    let path = dir.join(format!(".baro-tune-probe-{}", std::process::id()));
    let file = files::create_new(&path)?;
    files::remove(&path)?;
    Ok(file)
}

/// Why a turn ended early.
enum Early {
    Stopped,
    Failed(baro_sys::Error),
}

impl Early {
    fn in_dir(self, dir: &Path, what: &'static str) -> ProbeError {
        match self {
            Early::Stopped => ProbeError::Stopped,
            Early::Failed(error) => {
                ProbeError::File { what, path: dir.to_owned(), source: error.source }
            }
        }
    }
}

/// Makes that many calls, one a millisecond.
fn turn(
    calls: u64,
    stop: &dyn Fn() -> bool,
    call: impl Fn(u64, &mut [u8]) -> baro_sys::Result<()>,
) -> Result<(), Early> {
    let mut data = vec![0xa5; PROBE_BLOCK_BYTES as usize];
    let start_ns = clock::monotonic_ns();
    for number in 0..calls {
        if stop() {
            return Err(Early::Stopped);
        }
        clock::sleep_until_ns(start_ns.saturating_add(number.saturating_mul(PERIOD_NS)));
        call(number % BLOCKS * PROBE_BLOCK_BYTES, &mut data).map_err(Early::Failed)?;
    }
    Ok(())
}

/// Handles since the last call.
fn handles(trace: &mut TraceInstance) -> Result<u64, ProbeError> {
    let mut lines = Vec::new();
    trace.read(&mut lines)?;
    Ok(lines.iter().filter(|line| matches!(line, TraceLine::Event(_))).count() as u64)
}
