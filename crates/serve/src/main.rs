//! baro-serve: answers what Grafana and other programs ask Prometheus for, from a store.
//!
//! # Design
//!
//! **It only reads.** Another process may record into the store meanwhile, and never waits for this one:
//! nothing is locked, nothing written. It may be killed, starved or run at idle priority without costing
//! a sample.
//!
//! **One query at a time.** A query is worked off on all processors, so a second one beside it would only
//! share them; and the memory of one is bounded, so that of the process is. Others wait for their turn, at
//! most as long as their timeout.
//!
//! **As Prometheus, or refused by name.** Answers have its form, and its errors: 400 for a parameter that is
//! none, 422 for a query that has no answer, 503 for one that takes too long. PromQL is that of
//! `baro-promql`.
//!
//! **Beside it, a page.** `live` shows in a browser what is recorded, now and in any window of time. It has
//! stores of its own, so that neither waits for the other.
//!
//! **And a socket.** `foxglove` hands out what is recorded now to programs that draw it.
//!
//! Invariant: an answer is that of the samples which any other way out shows. Held by `tests/api`
//! and `tests/page`, and `tests/foxglove`.

#[macro_use(out, say)]
extern crate baro_command;

mod api;
mod ask;
mod catalog;
mod foxglove;
mod live;
mod run;
mod source;

use baro_command::failure::{FAILED, USAGE};
use baro_command::promql::Promql;
use baro_command::serve::Serve;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Answers queries from a store, as Prometheus does.
#[derive(Debug, Parser)]
#[command(name = "baro-serve", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer queries over HTTP
    Serve(Box<Serve>),
    /// Answer one query; `baro query --promql` starts it
    #[command(hide = true)]
    Promql(Box<Promql>),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            baro_command::say_lines(&format!("baro-serve: {error}"));
            return ExitCode::from(USAGE);
        }
        Err(help) => {
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let done = match arguments.command {
        Command::Serve(serve) => run::run(&serve),
        Command::Promql(asked) => ask::run(&asked),
    };
    match baro_command::outcome(done) {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            say!("baro-serve: {failure}");
            ExitCode::from(FAILED)
        }
    }
}
