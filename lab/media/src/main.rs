//! `media`: runs a command on a modelled slow disk below the I/O scheduler.
//!
//! A device that is really slow, on any machine and at the native speed of its processor: FUSE
//! serves one file with a rate and a latency, a loop device turns it into a block device, and the
//! whole block layer (scheduler, tags, cgroups) lies above it. blkio.throttle, by contrast, acts
//! before the scheduler.
//!
//! Invariant: the machine is left as found, however the command or this program ends; what a
//! killed run leaves is removed by the next. Held by `tests/run.rs`.
#![allow(clippy::disallowed_methods, reason = "automation, not a part of the product")]

mod board;
mod disk;
mod dismantle;
mod model;
mod options;
mod stand;

use baro_sys::clock::sleep_ns;
use baro_sys::termination;
use board::Board;
use options::Options;
use stand::Stand;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};

/// How often the command's end and our own are looked for.
const POLL_NS: u64 = 10_000_000;
/// Time for an interrupted command to end by itself.
const GRACE_POLLS: u32 = 500;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|first| first == "board").is_some() {
        return match board::parse(arguments) {
            Ok(Some(options)) => ended(run_on_board(&options)),
            Ok(None) => {
                println!("{}", board::USAGE);
                ExitCode::SUCCESS
            }
            Err(complaint) => {
                eprintln!("media: {complaint}\n{}", board::USAGE);
                ExitCode::from(2)
            }
        };
    }
    let options = match options::parse(arguments) {
        Ok(Some(options)) => options,
        Ok(None) => {
            println!("{}", options::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(complaint) => {
            eprintln!("media: {complaint}\n{}", options::USAGE);
            return ExitCode::from(2);
        }
    };
    ended(run(&options))
}

fn ended(result: Result<u8, String>) -> ExitCode {
    match result {
        Ok(code) => ExitCode::from(code),
        Err(complaint) => {
            eprintln!("media: {complaint}");
            ExitCode::FAILURE
        }
    }
}

fn run_on_board(options: &board::Options) -> Result<u8, String> {
    termination::watch().map_err(|error| format!("signals: {error}"))?;
    let board = Board::build(options)?;
    let status = board.command(options).spawn().and_then(|mut child| wait(&mut child));
    board.write_report(options)?;
    Ok(code(status.map_err(|error| format!("setpriv, taskset (of util-linux): {error}"))?))
}

fn run(options: &Options) -> Result<u8, String> {
    let owner = std::fs::metadata("/proc/self").map_err(|error| format!("/proc: {error}"))?.uid();
    if owner != 0 {
        return Err("needs root, for loop devices and mounts: run it with sudo".to_owned());
    }
    termination::watch().map_err(|error| format!("signals: {error}"))?;
    for complaint in dismantle::remove_leftovers(&options.dir) {
        eprintln!("media: {complaint}");
    }
    let stand = Stand::build(options)?;
    let Some((program, arguments)) = options.command.split_first() else {
        return Err("no command".to_owned());
    };
    stand.engage();
    let status = Command::new(program)
        .args(arguments)
        .env("MEDIA_DIR", stand.mount_dir())
        .env("MEDIA_DEVICE", stand.device())
        .spawn()
        .and_then(|mut child| wait(&mut child));
    if let Some(report) = stand.release() {
        eprintln!("media: {report}");
    }
    let status = status.map_err(|error| format!("{program}: {error}"))?;
    Ok(code(status))
}

/// A signalled command counts as shells count it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

/// Waits for the command; passes our own interruption on to it.
fn wait(child: &mut Child) -> std::io::Result<ExitStatus> {
    let mut polls_since_signal = 0;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Some(signal) = termination::requested() {
            if polls_since_signal == 0 {
                // It may just have ended; the next look tells.
                let _ = termination::send(child.id(), signal);
            } else if polls_since_signal == GRACE_POLLS {
                child.kill()?;
            }
            polls_since_signal += 1;
        }
        sleep_ns(POLL_NS);
    }
}
