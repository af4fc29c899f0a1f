//! The loads: fio, unmodified, ended by a signal so that what is measured is chosen here.
//!
//! fio runs with threads instead of processes and ends with the process that started it: a run that
//! is killed leaves no load behind.

use super::row::{Direction, Load};
use baro_bench::error::BenchError;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

/// fio ends by itself after this, whatever happens to us.
const RUN_S: u64 = 3_600;

/// What is missing without which nothing can be measured, with the command that installs it.
#[must_use]
pub(super) fn missing_program(program: &str) -> Option<String> {
    let found = Command::new(program)
        .arg(if program == "ffmpeg" { "-version" } else { "--version" })
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    found.is_err().then(|| format!("{program} is not installed: apt-get install {program}"))
}

/// A program that gets SIGKILL when the one that starts it ends.
pub(super) fn bound_to_us(program: &str) -> Command {
    let mut command = Command::new(program);
    baro_sys::termination::kill_with_us(command.stdin(Stdio::null()));
    command
}

/// fio on a file of `file_bytes` that is there.
pub(super) fn command(load: Load, file: &Path, file_bytes: u64) -> Command {
    let mut command = bound_to_us("fio");
    // Whole blocks: the last part of a file would be an I/O of another size.
    let bytes = file_bytes / load.block_bytes() * load.block_bytes();
    let mut filename = std::ffi::OsString::from("--filename=");
    filename.push(file);
    command.args(["--name=load", "--thread", "--iodepth=1", "--time_based"]);
    command.args(["--output-format=json", "--fallocate=none", "--file_service_type=sequential"]);
    command.arg(filename).args([
        format!("--rw={}", load.direction.name()),
        format!("--bs={}", load.block_bytes()),
        format!("--size={bytes}"),
        format!("--ioengine={}", load.engine()),
        format!("--direct={}", u8::from(load.direct)),
        format!("--runtime={RUN_S}"),
    ]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// fio's own figure, MB/s over all of its time.
///
/// # Errors
/// What it said instead.
pub(super) fn rate(said: &str, direction: Direction) -> Result<f64, BenchError> {
    // Notes may come before: of a signal, of options.
    let json = said.find('{').and_then(|at| said.get(at..)).unwrap_or_default();
    let value: Value = serde_json::from_str(json).map_err(|error| {
        let begin: String = said.chars().take(300).collect();
        BenchError::Refused(format!("fio: expected its report in JSON, found {error}: {begin}"))
    })?;
    let job = value.pointer("/jobs/0").cloned().unwrap_or_default();
    let error = job.get("error").and_then(Value::as_i64).unwrap_or(0);
    // ETIMEDOUT, EINTR: it was told to end.
    if ![0, 4, 110].contains(&error) {
        return Err(BenchError::Refused(format!("fio: its load failed with error {error}")));
    }
    let number = |name: &str| job.pointer(&format!("/{}/{name}", direction.name()));
    let number = |name: &str| number(name).and_then(Value::as_f64);
    let (bytes, ms) = number("io_bytes").zip(number("runtime")).ok_or_else(|| {
        BenchError::Refused("fio: expected io_bytes and runtime in its report".to_owned())
    })?;
    Ok(bytes / ms.max(1.0) / 1e3)
}
