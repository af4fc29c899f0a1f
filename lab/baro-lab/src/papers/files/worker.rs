//! A writing process: what `baro-lab files-worker` does with the lines it gets.
//!
//! The paper's M writers are processes, and here they must be: memory is limited by control group,
//! and of version 1 all memory of a process is charged to the group of its first thread. What lies
//! in memory before the process joins its group (the program itself) does not count; what the order
//! makes it prepare does: buffers, and the inodes and directories that the kernel keeps.
//!
//! Invariant: it ends when its input does, wherever it is but inside one call of the kernel. Held by
//! `a_worker_prepares_writes_reports_and_ends_with_its_input`.

use super::order::{Go, Kind, Order, Report, STOP, Said};
use super::sensors::StoreWriter;
use crate::files::{Files, FilesSpec, Pace, Progress};
use baro_bench::error::BenchError;
use baro_sys::{clock, files};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

/// Random data of a writer: small beside its share of the memory, however small that is.
const POOL_BYTES: u64 = 2 << 20;

enum Writer {
    Files(Files),
    Store(Box<StoreWriter>),
}

impl Writer {
    fn prepare(order: &Order) -> Result<Self, BenchError> {
        if order.kind == Kind::Store {
            return Ok(Self::Store(Box::new(StoreWriter::prepare(order)?)));
        }
        let spec = FilesSpec {
            files: order.files,
            block_bytes: order.block_bytes,
            file_bytes_max: order.file_bytes_max,
            flat: order.flat,
            sync: order.sync,
            layer: order.layer,
            pool_bytes: POOL_BYTES,
            duration_ns: None,
            bytes: None,
        };
        Ok(Self::Files(Files::prepare_in(spec, order.folder.clone())?))
    }

    fn run(
        &mut self,
        pace: Pace,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> Result<Report, BenchError> {
        match self {
            Self::Files(files) => files.run(pace, progress, stop).map(Report::from),
            Self::Store(store) => store.run(pace, progress, stop).map(Report::from),
        }
    }
}

/// Does what the lines say until there are no more. Blocks. The files stay: who asked removes them,
/// or the file system they are on.
///
/// # Errors
/// Those of the writer, which are said too; lines that are none of ours.
pub fn work(
    lines: impl Iterator<Item = std::io::Result<String>> + Send + 'static,
    out: impl Write + Send,
) -> Result<(), BenchError> {
    let out = Mutex::new(out);
    let result = obey(lines, &out);
    if let Err(error) = &result {
        // Nobody may listen any more.
        let _ = say(&out, &Said::Error(error.to_string()));
    }
    result
}

fn obey(
    lines: impl Iterator<Item = std::io::Result<String>> + Send + 'static,
    out: &Mutex<impl Write + Send>,
) -> Result<(), BenchError> {
    let stop = Arc::new(AtomicBool::new(false));
    let inbox = inbox(lines, &stop);
    let Ok(line) = inbox.recv() else { return Ok(()) };
    let order: Order = serde_json::from_str(&line).map_err(|error| wrong(&line, &error))?;
    let began_ns = clock::monotonic_ns();
    if let Some(group) = &order.group {
        files::write_setting(group, &std::process::id().to_string())?;
    }
    let mut writer = Writer::prepare(&order)?;
    say(out, &Said::Ready { prepared_ns: clock::monotonic_ns() - began_ns })?;
    while let Ok(line) = inbox.recv() {
        let go: Go = serde_json::from_str(&line).map_err(|error| wrong(&line, &error))?;
        let report = phase(&mut writer, &order, go, &stop, out)?;
        say(out, &Said::Report(report))?;
    }
    if let Writer::Files(files) = writer {
        files.keep();
    }
    Ok(())
}

fn phase(
    writer: &mut Writer,
    order: &Order,
    go: Go,
    stop: &AtomicBool,
    out: &Mutex<impl Write + Send>,
) -> Result<Report, BenchError> {
    let (progress, over) = (Progress::default(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        // A writer that waits in the kernel cannot say so itself.
        let ticker = scope.spawn(|| {
            let begin_ns = clock::monotonic_ns();
            let mut due_ns = begin_ns + order.points_every_ns;
            while !over.load(Relaxed) {
                let now_ns = clock::monotonic_ns();
                if now_ns < due_ns {
                    clock::sleep_ns((due_ns - now_ns).min(20_000_000));
                    continue;
                }
                due_ns += order.points_every_ns;
                if say(out, &Said::Point(progress.point(now_ns - begin_ns))).is_err() {
                    stop.store(true, Relaxed);
                    break;
                }
            }
        });
        let report = writer.run(Pace { bytes_per_s: go.bytes_per_s }, &progress, stop);
        over.store(true, Relaxed);
        ticker.join().map_err(|_| BenchError::ThreadLost("ticker"))?;
        report
    })
}

/// Lines but for `stop`, which sets the flag; a line that begins a phase takes it back before it is
/// handed out, so that a stop never gets lost behind it.
fn inbox(
    lines: impl Iterator<Item = std::io::Result<String>> + Send + 'static,
    stop: &Arc<AtomicBool>,
) -> Receiver<String> {
    let (sender, inbox) = channel();
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            if line == STOP {
                stop.store(true, Relaxed);
                continue;
            }
            stop.store(false, Relaxed);
            if sender.send(line).is_err() {
                break;
            }
        }
        stop.store(true, Relaxed);
    });
    inbox
}

fn say(out: &Mutex<impl Write>, said: &Said) -> Result<(), BenchError> {
    let lost = |reason: String| BenchError::Refused(format!("nobody listens: {reason}"));
    let line = serde_json::to_string(said).map_err(|error| lost(error.to_string()))?;
    let mut out = out.lock().map_err(|_| lost("a thread has panicked".to_owned()))?;
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|error| lost(error.to_string()))
}

fn wrong(line: &str, error: &serde_json::Error) -> BenchError {
    let line: String = line.chars().take(100).collect();
    BenchError::Refused(format!("expected an order of baro-lab files, found {line:?}: {error}"))
}
