//! The two scripts: one appends a stamp each period, the other writes large files as fast as it may.
//!
//! A stamp that is late is not made up for: the next one is due a period after it was written, as in
//! a script that sleeps.
//!
//! Invariant: every stamp is noted when its write has returned, and a write that has not returned
//! when the half is over is a gap until then. Held by `tests/stall.rs`.

use super::StallSpec;
use baro_bench::error::BenchError;
use baro_bench_sys::calls;
use baro_sys::{clock, files};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A stamp that was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// When its write had returned, on the monotonic clock.
    pub at_ns: u64,
    /// Time since the one before.
    pub gap_ns: u64,
}

/// What both did.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) stamps: Vec<Stamp>,
    pub(super) large_bytes: u64,
}

pub(super) const LARGE_FILES: u64 = 3;
const PIECE_BYTES: u64 = 1 << 20;
/// Between two looks at the tracer's buffers, which hold far more.
const LOOK_NS: u64 = 200_000_000;

/// What the threads share.
#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    stamps: Mutex<Vec<Stamp>>,
    large_bytes: AtomicU64,
}

/// Runs both for the length of a half, with `look` called now and then, and `end` when it is over:
/// who is in a slow call then ends when the device is fast again.
pub(super) fn run(
    spec: &StallSpec,
    dir: &Path,
    stop: &AtomicBool,
    look: &mut dyn FnMut() -> Result<(), BenchError>,
    end: &mut dyn FnMut() -> Result<(), BenchError>,
) -> Result<Written, BenchError> {
    let shared = Shared {
        stop: AtomicBool::new(false),
        stamps: Mutex::new(Vec::new()),
        large_bytes: AtomicU64::new(0),
    };
    let begin_ns = clock::monotonic_ns();
    let mut end_ns = begin_ns.saturating_add(spec.length_ns);
    std::thread::scope(|scope| {
        let shared = &shared;
        let name = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let scripts = [
            name("stamper").spawn_scoped(scope, move || stamp(spec, dir, begin_ns, shared)),
            name("load").spawn_scoped(scope, move || write_large(spec, dir, shared)),
        ];
        let running = || scripts.iter().flatten().all(|script| !script.is_finished());
        let mut looked = Ok(());
        while clock::monotonic_ns() < end_ns && !stop.load(Relaxed) && running() && looked.is_ok() {
            clock::sleep_until_ns(end_ns.min(clock::monotonic_ns() + LOOK_NS));
            looked = look();
        }
        // What has not returned by now is not waited for at the slow device's speed.
        end_ns = clock::monotonic_ns();
        shared.stop.store(true, Relaxed);
        let ended = end();
        for script in scripts {
            let joined = script.map_err(BenchError::Thread)?.join();
            joined
                .map_err(|_| BenchError::ThreadLost("script"))?
                .map_err(BenchError::file("write below", dir))?;
        }
        looked.and(ended)
    })?;
    if stop.load(Relaxed) {
        return Err(BenchError::Refused("told to end".to_owned()));
    }
    let mut stamps = shared.stamps.into_inner().unwrap_or_else(PoisonError::into_inner);
    stamps.retain(|stamp| stamp.at_ns <= end_ns);
    let last_ns = stamps.last().map_or(begin_ns, |stamp| stamp.at_ns);
    stamps.push(Stamp { at_ns: end_ns, gap_ns: end_ns.saturating_sub(last_ns) });
    Ok(Written { stamps, large_bytes: shared.large_bytes.into_inner() })
}

fn stamp(spec: &StallSpec, dir: &Path, begin_ns: u64, shared: &Shared) -> io::Result<()> {
    let file = calls::create_append(&dir.join("stamps"))?;
    let mut last_ns = begin_ns;
    while !shared.stop.load(Relaxed) {
        let line = format!("{}\n", clock::realtime_ns());
        files::write_at(&file, line.as_bytes(), 0)?;
        let at_ns = clock::monotonic_ns();
        let mut stamps = shared.stamps.lock().unwrap_or_else(PoisonError::into_inner);
        stamps.push(Stamp { at_ns, gap_ns: at_ns.saturating_sub(last_ns) });
        drop(stamps);
        last_ns = at_ns;
        clock::sleep_ns(spec.stamp_period_ns);
    }
    Ok(())
}

fn write_large(spec: &StallSpec, dir: &Path, shared: &Shared) -> io::Result<()> {
    let piece = vec![7; PIECE_BYTES as usize];
    for number in 0_u64.. {
        let file = files::create(&large(dir, number % LARGE_FILES))?;
        for at in 0..spec.file_bytes / PIECE_BYTES {
            if shared.stop.load(Relaxed) {
                return Ok(());
            }
            files::write_at(&file, &piece, at * PIECE_BYTES)?;
            shared.large_bytes.fetch_add(PIECE_BYTES, Relaxed);
        }
    }
    Ok(())
}

fn large(dir: &Path, number: u64) -> std::path::PathBuf {
    dir.join(format!("large-{number}"))
}

/// Removes the files of a half, so that the next one begins as it did.
pub(super) fn remove(dir: &Path) -> Result<(), BenchError> {
    let files = (0..LARGE_FILES).map(|number| large(dir, number)).chain([dir.join("stamps")]);
    for path in files {
        match files::remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BenchError::file("remove", &path)(error));
            }
            _ => {}
        }
    }
    Ok(())
}
