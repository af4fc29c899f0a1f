//! Calls of the program as a user makes them, and what they print.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};

pub(crate) fn baro(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baro"));
    command.args(arguments).stdin(Stdio::null());
    command
}

#[allow(dead_code, reason = "some tests have input with every call")]
pub(crate) fn run(arguments: &[&str]) -> Output {
    baro(arguments).output().unwrap()
}

#[allow(dead_code, reason = "not every test has input")]
pub(crate) fn feed(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = baro(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It may end before it has read everything.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// What was printed, by a call that must end with this code.
#[allow(dead_code, reason = "not every test looks at what is printed so")]
pub(crate) fn text(output: &Output, code: i32) -> String {
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{}{printed}", stderr(output));
    printed
}

#[allow(dead_code, reason = "not every test reads JSON")]
pub(crate) fn json(output: &Output, code: i32) -> Value {
    serde_json::from_str(&text(output, code)).unwrap()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
