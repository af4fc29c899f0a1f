//! A reader with deadlines: 256 KiB past the page cache each 40 ms at random places, as a device that
//! shows or measures something needs it. What is not there before the next is due is late.
//!
//! It is this program once more, in the group: `baro-lab share-reader`.

use super::ShareExperiment;
use super::row::{Case, Figures, Late};
use super::session::{Ended, Session};
use baro_bench::error::BenchError;
use baro_bench_sys::calls;
use baro_sys::memory::AlignedBuffer;
use baro_sys::{clock, files, termination};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

const READ_BYTES: u64 = 256 << 10;
const PERIOD_NS: u64 = 40_000_000;
const SIGINT: i32 = 2;

pub(super) fn measure(
    this: &ShareExperiment,
    case: &Case,
    measured_ns: u64,
    stop: &std::sync::atomic::AtomicBool,
) -> Result<Figures, BenchError> {
    let Some((program, arguments)) = this.spec.reader.split_first() else {
        return Err(BenchError::Refused("no program is known that reads".to_owned()));
    };
    let mut session = Session::begin(&this.site, case, stop)?;
    case.load.map_or(Ok(()), |load| session.load(1, load))?;
    let before = session.warm_up()?;
    let mut command = Command::new(program);
    command.args(arguments).arg(this.site.file(0));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut ended = Ended(Some(session.start(0, command)?));
    session.run_for(measured_ns)?;
    let mut figures = session.figures(case, &before)?;
    if let Some(child) = ended.0.take() {
        let _ = termination::send(child.id(), SIGINT);
        let said = session.finish(child)?;
        let late: Late = serde_json::from_str(said.trim()).map_err(|error| {
            BenchError::Refused(format!("the reader: expected its counts, found {error}: {said}"))
        })?;
        figures.late = Some(late);
    }
    session.end(None, &mut figures)?;
    Ok(figures)
}

/// Reads until it is told to end, then says to `out` how it went.
///
/// # Errors
/// The file cannot be opened or read past the page cache.
pub fn read(path: &Path, seed: u64, out: &mut dyn Write) -> Result<(), BenchError> {
    termination::watch().map_err(BenchError::Thread)?;
    termination::end_with_parent().map_err(BenchError::Thread)?;
    let blocks = files::size_bytes(path)? / READ_BYTES;
    let file = calls::open_direct(path).map_err(BenchError::file("open", path))?;
    let (mut buffer, _) = AlignedBuffer::new(READ_BYTES as usize)?;
    let mut late = Late::default();
    let mut word = seed | 1;
    let mut due_ns = clock::monotonic_ns();
    while termination::requested().is_none() {
        word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let at = (word >> 33) % blocks.max(1) * READ_BYTES;
        files::read_at(&file, &mut buffer, at).map_err(BenchError::file("read", path))?;
        late.frames += 1;
        late.read_bytes += READ_BYTES;
        due_ns += PERIOD_NS;
        let now_ns = clock::monotonic_ns();
        if now_ns > due_ns {
            // Each period that went by without its data is one.
            let missed = (now_ns - due_ns) / PERIOD_NS + 1;
            late.late_frames += missed;
            late.frames += missed - 1;
            due_ns += (missed - 1) * PERIOD_NS;
        }
        clock::sleep_until_ns(due_ns);
    }
    let text = serde_json::to_string(&late)
        .map_err(|error| BenchError::Refused(format!("counts cannot be said: {error}")))?;
    writeln!(out, "{text}").map_err(BenchError::Thread)
}
