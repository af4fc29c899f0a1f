//! `cargo xtask lab`: the lab is a program of its own, since it knows the load that it runs; here it
//! is built and started, and its short form counted as a full step.

use crate::ci::{Outcome, Report};
use crate::shell::Cmd;
use std::process::ExitCode;

/// Built as tests are: what `cargo test` has compiled is taken.
const LAB: &str = "cargo run --quiet --locked -p lab --";

/// Goes on as the lab: `lab run` ends as the program that it ran, and who ends us ends the lab.
pub(crate) fn run(args: &[&str]) -> ExitCode {
    let cmd = args.iter().fold(Cmd::new(LAB), |cmd, arg| cmd.arg(arg)).here();
    let error = cmd.replace();
    eprintln!("xtask: `{cmd}` did not start: {error}");
    ExitCode::FAILURE
}

/// The short form: each line about crash points is a check.
pub(crate) fn step() -> Outcome {
    let mut report = Report::default();
    let cmd = Cmd::new(LAB).arg("test");
    let done = cmd.lines(
        |line| {
            println!("   {line}");
            if let Some(why) = line.strip_prefix("skipped: ") {
                report.skip("power cuts in the lab", why);
            } else if line.contains(" crash points, ") {
                report.pass();
            }
        },
        |line| eprintln!("   {line}"),
    );
    match done {
        Ok(true) => Ok(report),
        Ok(false) => Err("cargo xtask lab test".to_owned()),
        Err(error) => Err(format!("cargo xtask lab test    (did not start: {error})")),
    }
}
