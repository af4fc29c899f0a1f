//! The writing processes, seen from the one that asked for them.
//!
//! Invariant: none outlives its handle but inside one call of the kernel. Held by the run of
//! `tests/bench_files.rs`.

use super::order::{Go, Order, Report, STOP, Said};
use crate::files::Point;
use baro_bench::error::BenchError;
use baro_sys::clock;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

const POLL_NS: u64 = 10_000_000;
/// A process that was killed is gone as soon as its last request is done.
const END_TRIES: u32 = 3_000;

#[derive(Debug)]
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    said: Receiver<Said>,
    ready: bool,
    points: Vec<Point>,
    report: Option<Report>,
}

/// All writers of a cell.
#[derive(Debug)]
pub(super) struct Writers {
    processes: Vec<Process>,
}

impl Writers {
    /// Starts one for each order, and waits until all have prepared.
    pub(super) fn start(
        command: &[OsString],
        orders: &[Order],
        stop: &AtomicBool,
    ) -> Result<Self, BenchError> {
        let mut writers = Self { processes: Vec::new() };
        for order in orders {
            let mut process = Process::start(command)?;
            process.tell(&line(order)?)?;
            writers.processes.push(process);
        }
        writers.until(stop, |process| process.ready)?;
        Ok(writers)
    }

    /// A phase begins in all of them.
    pub(super) fn go(&mut self, go: Go) -> Result<(), BenchError> {
        let line = line(&go)?;
        for process in &mut self.processes {
            process.points.clear();
            process.report = None;
            process.tell(&line)?;
        }
        Ok(())
    }

    /// Points of the phase so far: those that all processes have come to, added.
    pub(super) fn points(&mut self) -> Result<Vec<Point>, BenchError> {
        let mut sums: Option<Vec<Point>> = None;
        for process in &mut self.processes {
            process.listen()?;
            sums = Some(match sums {
                None => process.points.clone(),
                Some(sums) => {
                    let both = sums.into_iter().zip(&process.points);
                    let add = |(one, two): (Point, &Point)| Point {
                        at_ns: one.at_ns.max(two.at_ns),
                        bytes: one.bytes + two.bytes,
                        rotations: one.rotations + two.rotations,
                    };
                    both.map(add).collect()
                }
            });
        }
        Ok(sums.unwrap_or_default())
    }

    /// Tells them to end the phase.
    pub(super) fn stop(&mut self) -> Result<(), BenchError> {
        self.processes.iter_mut().try_for_each(|process| process.tell(STOP))
    }

    /// Waits for the end of the phase: what all have written.
    pub(super) fn reports(&mut self, stop: &AtomicBool) -> Result<Report, BenchError> {
        self.until(stop, |process| process.report.is_some())?;
        let mut sum = Report::default();
        for report in self.processes.iter().filter_map(|process| process.report) {
            sum.written_bytes += report.written_bytes;
            sum.writes += report.writes;
            sum.rotations += report.rotations;
            sum.duration_ns = sum.duration_ns.max(report.duration_ns);
        }
        Ok(sum)
    }

    fn until(
        &mut self,
        stop: &AtomicBool,
        done: impl Fn(&Process) -> bool,
    ) -> Result<(), BenchError> {
        loop {
            self.processes.iter_mut().try_for_each(Process::listen)?;
            if self.processes.iter().all(&done) {
                return Ok(());
            }
            if stop.load(Relaxed) {
                return Err(BenchError::Stopped);
            }
            clock::sleep_ns(POLL_NS);
        }
    }
}

impl Process {
    fn start(command: &[OsString]) -> Result<Self, BenchError> {
        let lost = |what: &str| BenchError::Refused(format!("a writing process: {what}"));
        let (program, arguments) = command.split_first().ok_or_else(|| lost("no program"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| lost(&format!("{}: {error}", program.to_string_lossy())))?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        let (sender, said) = channel();
        // From here on it is ended if something fails.
        let process = Self { child, stdin, said, ready: false, points: Vec::new(), report: None };
        let stdout = stdout.ok_or_else(|| lost("no pipe"))?;
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let Ok(said) = serde_json::from_str(&line) else { break };
                if sender.send(said).is_err() {
                    break;
                }
            }
        });
        Ok(process)
    }

    fn tell(&mut self, line: &str) -> Result<(), BenchError> {
        let told = self.stdin.as_mut().map(|stdin| writeln!(stdin, "{line}"));
        match told {
            Some(Ok(())) => Ok(()),
            // What it said before it ended is worth more than that the pipe is closed.
            _ => self.listen().and(Err(ended())),
        }
    }

    fn listen(&mut self) -> Result<(), BenchError> {
        loop {
            match self.said.try_recv() {
                Ok(Said::Ready { .. }) => self.ready = true,
                Ok(Said::Point(point)) => self.points.push(point),
                Ok(Said::Report(report)) => self.report = Some(report),
                Ok(Said::Error(what)) => return Err(BenchError::Refused(what)),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => return Err(ended()),
            }
        }
    }
}

fn ended() -> BenchError {
    BenchError::ThreadLost(ENDED)
}

/// How a process is called that was killed: by the kernel, for want of memory, most likely.
pub(super) const ENDED: &str = "writing process";

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        for _ in 0..END_TRIES {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            clock::sleep_ns(POLL_NS);
        }
    }
}

fn line<T: serde::Serialize>(value: &T) -> Result<String, BenchError> {
    let failed = |error: serde_json::Error| BenchError::Refused(format!("an order: {error}"));
    serde_json::to_string(value).map_err(failed)
}
