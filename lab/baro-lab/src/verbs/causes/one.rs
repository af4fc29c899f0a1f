//! The process that makes one cause, and the other end of its pipes.
//!
//! Invariant: the stand is torn down when the pipe closes, a signal comes, or the cause is over.
//! Held by `a_run_that_is_told_to_end_leaves_nothing` in `tests/bench_causes.rs`.

use baro_bench::BenchError;
use baro_command::failure::{Outcome, Result};
use baro_lab::causes::{Account, SlowCall, find};
use baro_sys::{clock, termination};
use clap::Args;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// Makes one cause (internal).
#[derive(Debug, Args)]
pub(crate) struct One {
    name: String,
    #[arg(long)]
    dir: PathBuf,
}

/// Lines that come in, and whether they go on coming.
fn lines_of_stdin(stop: &Arc<AtomicBool>) -> Receiver<()> {
    let (line_came, lines) = channel();
    let stop = Arc::clone(stop);
    std::thread::spawn(move || {
        for line in std::io::stdin().lines() {
            if line.is_err() || line_came.send(()).is_err() {
                break;
            }
        }
        stop.store(true, Relaxed);
    });
    lines
}

/// Waits for a line; false if it is time to end.
fn line(lines: &Receiver<()>, stop: &AtomicBool) -> bool {
    loop {
        match lines.recv_timeout(Duration::from_millis(20)) {
            Ok(()) => return true,
            Err(RecvTimeoutError::Timeout) if !stop.load(Relaxed) => {}
            Err(_) => return false,
        }
    }
}

pub(crate) fn run_one(arguments: &One) -> Result<Outcome> {
    let cause = find(&arguments.name).ok_or_else(|| format!("no cause {}", arguments.name))?;
    termination::watch()?;
    let stop = Arc::new(AtomicBool::new(false));
    let lines = lines_of_stdin(&stop);
    let noted = Arc::clone(&stop);
    std::thread::spawn(move || {
        while termination::requested().is_none() {
            clock::sleep_ns(20_000_000);
        }
        noted.store(true, Relaxed);
    });
    let told = |value: Value| -> std::result::Result<(), BenchError> {
        let mut out = baro_command::exact();
        let said = writeln!(out, "{value}").and_then(|()| out.flush());
        said.map_err(|error| BenchError::Refused(format!("nobody listens: {error}")))
    };
    cause.make(
        &arguments.dir,
        &stop,
        &mut |stand| {
            told(json!({ "ready": cause.name, "journal_task": stand.journal_task() }))?;
            let go = line(&lines, &stop);
            if go { Ok(()) } else { Err(BenchError::Refused("told to end".to_owned())) }
        },
        &mut |account| {
            let slow: Vec<Value> = account.slow.iter().map(call_as_json).collect();
            told(json!({ "calls": account.calls, "slow": slow }))?;
            // Until whoever asked has seen enough of the file system.
            line(&lines, &stop);
            Ok(())
        },
    )?;
    Ok(Outcome::Done)
}

/// A slow call with its keys.
pub(super) fn call_as_json(call: &SlowCall) -> Value {
    json!({
        "pid": call.tid,
        "call": call.call,
        "begin_ns": call.begin_ns,
        "end_ns": call.end_ns,
        "wait_ns": call.wait_ns(),
        "run_delay_ns": call.run_delay_ns,
    })
}

/// That process, seen from the one that asked for it.
pub(super) struct Other {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

/// To tear a stand down: an unmount of what is dirty, on a device that is fast again.
const END_TRIES: u32 = 1_500;

impl Other {
    pub(super) fn start(name: &str, dir: &Path) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["cause", name, "--dir"])
            .arg(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or("no pipe to the cause's process")?;
        Ok(Self { child, stdin, stdout: BufReader::new(stdout) })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until all is prepared; the name of the journal's thread.
    pub(super) fn ready(&mut self) -> Result<String> {
        let value = self.said()?;
        let name = value.get("journal_task").and_then(Value::as_str);
        Ok(name.ok_or("the cause's process did not say that it is ready")?.to_owned())
    }

    /// Lets it begin, and returns the victim's account.
    pub(super) fn perform(&mut self) -> Result<Account> {
        if let Some(stdin) = &mut self.stdin {
            writeln!(stdin, "begin")?;
        }
        let value = self.said()?;
        let number = |call: &Value, key: &str| call.get(key).and_then(Value::as_u64).unwrap_or(0);
        let calls = value.get("slow").and_then(Value::as_array).into_iter().flatten();
        let slow = calls.map(|call| SlowCall {
            tid: u32::try_from(number(call, "pid")).unwrap_or(0),
            call: if call["call"] == "fsync" { "fsync" } else { "pwrite64" },
            begin_ns: number(call, "begin_ns"),
            end_ns: number(call, "end_ns"),
            run_delay_ns: number(call, "run_delay_ns"),
        });
        Ok(Account { slow: slow.collect(), calls: number(&value, "calls") })
    }

    fn said(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.stdout.read_line(&mut line)?;
        if line.is_empty() {
            return Err("the cause's process ended early".into());
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Lets it tear everything down, and waits for that.
    pub(super) fn end(mut self) -> Result<()> {
        drop(self.stdin.take());
        let mut tries = 0;
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            tries += 1;
            if tries == END_TRIES {
                // What it leaves is removed by whoever makes the next stand in that folder.
                self.child.kill()?;
            }
            clock::sleep_ns(20_000_000);
        };
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            stderr.read_to_string(&mut said)?;
        }
        if status.success() {
            baro_command::say_lines(&said);
            return Ok(());
        }
        Err(said.trim().trim_start_matches("baro-lab: ").to_owned().into())
    }
}
