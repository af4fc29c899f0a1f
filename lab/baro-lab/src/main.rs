//! `baro-lab`: repeats the papers, makes stalls on purpose, and measures this project.
//!
//! A program of its own, since users of `baro` need none of it. Thin: one file per verb in `verbs/`,
//! each over the library. Results go to stdout, diagnostics to stderr. Exit codes: 0 ok, 1 failed,
//! 2 usage, 3 finished, but data was lost or a stated claim was not met.

#[macro_use(out)]
extern crate baro_command;

mod baro;
mod verbs;

use clap::Parser;
use std::process::ExitCode;

/// Repeats the papers, makes stalls on purpose, and measures Barograph.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    verb: verbs::Verb,
}

fn main() -> ExitCode {
    match baro_command::outcome(verbs::run(Arguments::parse().verb)) {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            if !failure.is_broken_pipe() {
                baro_command::say_lines(&format!("baro-lab: {failure}"));
            }
            ExitCode::FAILURE
        }
    }
}
