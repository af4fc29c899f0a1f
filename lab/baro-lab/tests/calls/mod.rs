//! Calls of the program as a user makes them, what they print, and where `baro` is.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

#[allow(dead_code, reason = "some tests call it by themselves")]
pub(crate) fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baro-lab"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[allow(dead_code, reason = "not every test waits for a whole call")]
pub(crate) fn run(arguments: &[&str]) -> Output {
    lab(arguments).output().unwrap()
}

/// The program of another package lies beside ours once it was built, as with `cargo test --workspace`.
#[allow(dead_code, reason = "not every test needs both programs")]
pub(crate) fn baro() -> Option<PathBuf> {
    let baro = Path::new(env!("CARGO_BIN_EXE_baro-lab")).with_file_name("baro");
    if baro.is_file() {
        return Some(baro);
    }
    println!("skipped: needs {} (cargo build -p baro-cli)", baro.display());
    None
}

/// What was printed, by a call that must end with this code.
#[allow(dead_code, reason = "not every test reads what was printed")]
pub(crate) fn text(output: &Output, code: i32) -> String {
    assert_eq!(output.status.code(), Some(code), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[allow(dead_code, reason = "not every test reads JSON")]
pub(crate) fn json(output: &Output, code: i32) -> Value {
    serde_json::from_str(&text(output, code)).unwrap()
}

#[allow(dead_code, reason = "not every test reads what was said")]
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
