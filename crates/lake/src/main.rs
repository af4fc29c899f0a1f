//! baro-lake: hands over what has settled in a store to a Delta table, each sample once.
//!
//! # Design
//!
//! **Runs are handed over, not samples.** A run never changes, and its number is never used twice. The
//! table's own log says up to which number it has the runs of a store, in the action `txn`, in the same
//! commit that adds their files. So there is one truth, and a crash leaves both or neither.
//!
//! **The store waits for the table.** The file `runs/lake` keeps settling from dropping what the table has not
//! got, and from merging or rewriting what it is getting. It is written before the first file, and raised
//! after a commit has been read back (`baro_store::Handover`).
//!
//! **It is a process of its own.** Neither the recorder nor `baro` links Parquet for it or waits for it. It
//! may be killed at any time: what it leaves is files that no commit names, which no reader sees.
//!
//! Invariant: whatever dies between two steps, the table has each sample of the runs that it says it has
//! exactly once. Held by `a_kill_at_every_step_loses_and_doubles_nothing`.

#[macro_use(out, say)]
extern crate baro_command;

mod delta;
mod error;
mod handover;
mod names;
mod parquet_file;
mod place;
mod rows;
mod run;
#[cfg(test)]
mod scene;

use baro_command::failure::{FAILED, USAGE};
use baro_command::lake::Lake;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Hands over what has settled in a store to a Delta table.
#[derive(Debug, Parser)]
#[command(name = "baro-lake", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Hand over what has settled to a Delta table
    Lake(Box<Lake>),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            baro_command::say_lines(&format!("baro-lake: {error}"));
            return ExitCode::from(USAGE);
        }
        Err(help) => {
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let Command::Lake(lake) = arguments.command;
    match baro_command::outcome(run::run(&lake)) {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            say!("baro-lake: {failure}");
            ExitCode::from(FAILED)
        }
    }
}
