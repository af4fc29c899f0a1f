//! A reader or writer of `baro-lab bfq`: one process, one direct I/O at a time, one after the other.
//!
//! It says when its file is there and its process id, begins at the next line of its input, and ends
//! when that input does, so it never outlives whoever started it. Its buffer is one block, as an
//! application's would be: a block of 100 MiB is one call.
//!
//! Invariant: what it reports it did, calls that failed end it. Held by `a_worker_does_what_it_says`.

use baro_bench::BenchError;
use baro_sys::clock;
use baro_sys::disk::Disk;
use baro_sys::memory::AlignedBuffer;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Direct I/O wants sizes and addresses of whole pages.
const PAGE_BYTES: u64 = 4096;

/// What one worker does.
#[derive(Clone, Debug)]
pub struct WorkerSpec {
    /// Its file; made if it is not there.
    pub file: PathBuf,
    /// Size of the file; at least a block.
    pub file_bytes: u64,
    /// Bytes of one call.
    pub block_bytes: u64,
    /// Write instead of read.
    pub write: bool,
}

/// Prepares, says `ready PID`, waits for a line, works until the input ends or `stop` says so, and
/// prints `done CALLS BYTES LONGEST_NS`.
///
/// # Errors
/// The sizes are of no use, or the file cannot be made, read or written directly.
pub fn work(
    spec: &WorkerSpec,
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    stop: &dyn Fn() -> bool,
) -> Result<(), BenchError> {
    if spec.block_bytes == 0 || !spec.block_bytes.is_multiple_of(PAGE_BYTES) {
        return Err(BenchError::Specification {
            field: "block_bytes",
            found: spec.block_bytes,
            expected: "a multiple of 4096",
        });
    }
    let (folder, name) = (spec.file.parent(), spec.file.file_name().and_then(|name| name.to_str()));
    let (Some(folder), Some(name)) = (folder, name) else {
        return Err(BenchError::Refused(format!("{}: no file", spec.file.display())));
    };
    let disk = Disk::open(folder)?;
    let file_blocks = (spec.file_bytes / spec.block_bytes).max(1);
    let mut buffer = AlignedBuffer::unlocked(usize::try_from(spec.block_bytes).unwrap_or(0))?;
    buffer.fill(0x5a);
    if !baro_sys::files::exists(&spec.file) {
        drop(disk.create(name)?);
    }
    let file = disk.open(name, Access::WriteDirect)?;
    // Blocks that were never written would be allocated, or read as zeros without the device.
    for block in file.size_bytes()? / spec.block_bytes..file_blocks {
        file.write_at(block * spec.block_bytes, &buffer)?;
    }
    file.sync_data()?;
    let said = |error| BenchError::File { what: "answer", path: spec.file.clone(), source: error };
    writeln!(output, "ready {}", std::process::id()).and_then(|()| output.flush()).map_err(said)?;
    let mut lines = input.lines();
    if lines.next().is_none() {
        return Ok(());
    }
    let ended: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
    std::thread::Builder::new()
        .name("input".into())
        .spawn(move || {
            lines.for_each(drop);
            ended.store(true, Relaxed);
        })
        .map_err(BenchError::Thread)?;
    let (mut calls, mut longest_ns) = (0_u64, 0_u64);
    while !ended.load(Relaxed) && !stop() {
        let offset = calls % file_blocks * spec.block_bytes;
        let begin_ns = clock::monotonic_ns();
        if spec.write {
            file.write_at(offset, &buffer)?;
        } else {
            file.read_at(offset, &mut buffer)?;
        }
        longest_ns = longest_ns.max(clock::monotonic_ns().saturating_sub(begin_ns));
        calls += 1;
    }
    writeln!(output, "done {calls} {} {longest_ns}", calls * spec.block_bytes)
        .and_then(|()| output.flush())
        .map_err(said)
}
